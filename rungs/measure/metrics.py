"""What counts as found, and every metric over it.

Judging knows nothing of chunks. A label is a span of lines; the hits, in order, uncover lines of it; it is found at the
rank where at least half of its lines, or 20 of them, have been shown. Lines shown twice count once. So whole functions,
their parts and fixed windows are measured by the same rule.

Where the usual definitions allow, the numbers come from ``ir_measures`` (trec_eval underneath): reciprocal rank,
precision, success, and recall and nDCG of questions in which no hit completes more than one label. The rest is ours,
because there a document-by-document definition does not exist:

- Relevance is not a property of a hit. Three windows may uncover a function only together; the one that brings the
  share to a half is the rank at which it is found, and carries the gain.
- One hit can complete two labels. Its gain is then two, and standard nDCG would normalise by an ideal made of this very
  packing, so that a system which finds both labels at rank 2 could score below one which finds the second at rank 3.
  Ours divides by one label per rank, whatever the chunks, and is cut off at 1.
- ``tokens_to_answer``, ``file_recall@8`` and the abstention pair have no standard form.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import ir_measures
from ir_measures import RR, P, R, Success, nDCG
from llama_index.core.utils import get_tokenizer

from rungs.measure.golden import Label, Question
from rungs.measure.intervals import estimate
from rungs.measure.locate import Location

__all__ = [
    "METRICS",
    "Judged",
    "Judgement",
    "aggregate",
    "count_tokens",
    "enough_shown",
    "judge",
    "ndcg_at",
    "recall_at",
    "score",
]

METRICS = (
    "recall@8",
    "recall@40",
    "mrr",
    "ndcg@10",
    "precision@8",
    "all_recall@8",
    "hit@8",
    "file_recall@8",
    "tokens_to_answer",
    "abstain_rate",
    "false_weak_rate",
)
_ENOUGH_LINES = 20
Ranks = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """One question's hits held against its labels. Ranks are 1-based, ``None`` for a label never found.

    Attributes
    ----------
    found
        Rank of each label of ``expect``.
    found_also
        Rank of each label of ``also``; empty in a strict judgement.
    file_found
        Rank at which each of these labels' paths first appears.
    ranks
        The answers that recall and nDCG count: the first label alone where any suffices, else each label of ``expect``.
    file_ranks
        The same at file level.
    relevant
        Per hit, whether it shares a line with any label.
    """

    found: Ranks
    found_also: Ranks
    file_found: Ranks
    ranks: Ranks
    file_ranks: Ranks
    relevant: tuple[bool, ...]

    @property
    def first(self) -> int | None:
        """Rank of the first label found."""
        return _earliest((*self.found, *self.found_also))


def judge(question: Question, hits: Sequence[Location], *, pooled: bool = False) -> Judgement:
    """Hold ranked hits against a question's labels.

    Parameters
    ----------
    question
        With its labels resolved.
    hits
        Where each hit lies, best first.
    pooled
        Count ``also`` too: as further answers where any suffices; where all are needed, as right places for the first
        rank and for precision, without adding to what is needed.

    Examples
    --------
    >>> label = Label("a.py::f", "a.py", "f", ((1, 10),))
    >>> question = Question("q1", "what is f?", (label,), "any", "prose-en")
    >>> judge(question, [Location("a.py", 8, 12), Location("a.py", 7, 8), Location("a.py", 1, 1)]).found
    (3,)
    """
    also = question.also if pooled else ()
    labels = (*question.expect, *also)
    found = tuple(_rank_found(label, hits) for label in labels)
    file_found = tuple(_rank_of_file(label, hits) for label in labels)
    own = len(question.expect)
    any_suffices = question.mode == "any" and own > 0
    return Judgement(
        found=found[:own],
        found_also=found[own:],
        file_found=file_found,
        ranks=(_earliest(found),) if any_suffices else found[:own],
        file_ranks=(_earliest(file_found),) if any_suffices else file_found[:own],
        relevant=tuple(any(_shares_line(label, hit) for label in labels) for hit in hits),
    )


def _earliest(ranks: Ranks) -> int | None:
    return min((rank for rank in ranks if rank is not None), default=None)


def _rank_of_file(label: Label, hits: Sequence[Location]) -> int | None:
    return next((rank for rank, hit in enumerate(hits, start=1) if hit.path == label.path), None)


def _rank_found(label: Label, hits: Sequence[Location]) -> int | None:
    if not label.symbol:
        return _rank_of_file(label, hits)
    return _earliest(tuple(_rank_uncovered(label.path, span, hits) for span in label.spans))


def _rank_uncovered(path: str, span: tuple[int, int], hits: Sequence[Location]) -> int | None:
    """The rank by which half of the span's lines, or 20, have been shown."""
    shown: set[int] = set()
    for rank, hit in enumerate(hits, start=1):
        shown.update(_shared_lines(path, span, hit))
        if enough_shown(span, len(shown)):
            return rank
    return None


def enough_shown(span: tuple[int, int], lines: int) -> bool:
    """Whether so many lines of a span are enough to call it found: half of them, or 20."""
    return 2 * lines >= span[1] - span[0] + 1 or lines >= _ENOUGH_LINES


def _shared_lines(path: str, span: tuple[int, int], hit: Location) -> range:
    if hit.path != path or hit.start_line is None or hit.end_line is None:
        return range(0)
    return range(max(span[0], hit.start_line), min(span[1], hit.end_line) + 1)


def _shares_line(label: Label, hit: Location) -> bool:
    if not label.symbol:
        return hit.path == label.path
    return any(_shared_lines(label.path, span, hit) for span in label.spans)


def recall_at(ranks: Ranks, k: int) -> float:
    """Fraction of answers found by rank ``k``.

    Examples
    --------
    >>> recall_at((2, 2, None), 8)
    0.6666666666666666
    """
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


def ndcg_at(ranks: Ranks, k: int) -> float:
    """nDCG whose gain at a hit is the number of answers it completes; the ideal finds one answer per rank.

    Cut off at 1, which only a hit that completes several answers can exceed.

    Examples
    --------
    One of two answers at rank 1, the other at rank 3: (1 + 1/2) / (1 + 1/log2 3).

    >>> round(ndcg_at((1, 3), 10), 4)
    0.9197
    """
    gained = sum(1 / math.log2(1 + rank) for rank in ranks if rank is not None and rank <= k)
    ideal = sum(1 / math.log2(1 + rank) for rank in range(1, min(len(ranks), k) + 1))
    return min(1.0, gained / ideal)


@dataclass(frozen=True, slots=True)
class Judged:
    """What `score` needs of one question: its judgement, the text that was read, and whether the system abstained."""

    question: Question
    judgement: Judgement
    texts: Sequence[str]
    abstained: bool


def score(judged: Sequence[Judged], *, tokens: Callable[[str], int] | None = None) -> list[dict[str, float | None]]:
    """Every metric of every question, in order.

    Parameters
    ----------
    judged
        One per question.
    tokens
        Counts the tokens of a text; LlamaIndex's bundled tokenizer unless given.

    Returns
    -------
    list of dict
        By the names in `METRICS`; ``None`` where a metric does not apply (recall of a negative), ``inf`` for the
        ``tokens_to_answer`` of a miss.
    """
    positives = {str(i): one.judgement for i, one in enumerate(judged) if not one.question.negative}
    standard = _standard(positives)
    return [_one(row, standard.get(str(i)), tokens or count_tokens) for i, row in enumerate(judged)]


def _one(row: Judged, standard: Mapping[str, float] | None, tokens: Callable[[str], int]) -> dict[str, float | None]:
    figures: dict[str, float | None] = dict.fromkeys(METRICS)
    if standard is None:
        figures["abstain_rate"] = float(row.abstained)
        return figures
    figures |= standard
    figures["all_recall@8"] = float(recall_at(row.judgement.found, 8) == 1)
    figures["file_recall@8"] = recall_at(row.judgement.file_ranks, 8)
    figures["tokens_to_answer"] = _tokens_read(row.texts, row.judgement.first, tokens)
    figures["false_weak_rate"] = float(row.abstained)
    return figures


def _tokens_read(texts: Sequence[str], first: int | None, tokens: Callable[[str], int]) -> float:
    return math.inf if first is None else float(sum(tokens(text) for text in texts[:first]))


@lru_cache(maxsize=8192)  # configurations that share candidates read the same texts
def count_tokens(text: str) -> int:
    """Tokens of a text by LlamaIndex's default tokenizer, which ships inside the package and needs no network."""
    return len(get_tokenizer()(text))


def _standard(judgements: Mapping[str, Judgement]) -> dict[str, dict[str, float]]:
    """The metrics with a standard form, by ``ir_measures``; ours where a hit completes several answers."""
    run = {key: {str(r): -float(r) for r in range(1, len(j.relevant) + 1)} for key, j in judgements.items()}
    figures: dict[str, dict[str, float]] = {key: {} for key in judgements}
    _measure(figures, run, {k: (j.first,) for k, j in judgements.items()}, {RR: "mrr", Success @ 8: "hit@8"})
    _measure(figures, run, {k: _ranks_of(j.relevant) for k, j in judgements.items()}, {P @ 8: "precision@8"})
    names = {R @ 8: "recall@8", R @ 40: "recall@40", nDCG @ 10: "ndcg@10"}
    _measure(figures, run, {k: j.ranks for k, j in judgements.items()}, names)
    for key, judgement in judgements.items():
        if _packed(judgement.ranks):
            figures[key] |= {"recall@8": recall_at(judgement.ranks, 8), "recall@40": recall_at(judgement.ranks, 40)}
            figures[key]["ndcg@10"] = ndcg_at(judgement.ranks, 10)
    return figures


def _ranks_of(relevant: Sequence[bool]) -> Ranks:
    return tuple(rank for rank, is_relevant in enumerate(relevant, start=1) if is_relevant) or (None,)


def _packed(ranks: Ranks) -> bool:
    at = [rank for rank in ranks if rank is not None]
    return len(set(at)) < len(at)


def _measure(
    figures: dict[str, dict[str, float]],
    run: Mapping[str, Mapping[str, float]],
    ranks: Mapping[str, Ranks],
    names: Mapping[Any, str],
) -> None:
    """Hits are documents named by their rank; an answer never found is a relevant document the run does not hold."""
    qrels = {k: {str(r) if r else f"missing-{i}": 1 for i, r in enumerate(each)} for k, each in ranks.items()}
    for key in figures:
        figures[key] |= dict.fromkeys(names.values(), 0.0)
    for metric in ir_measures.iter_calc(list(names), qrels, run) if figures else ():
        figures[metric.query_id][names[metric.measure]] = float(metric.value)


def aggregate(rows: Iterable[Mapping[str, float | None]]) -> dict[str, dict[str, Any]]:
    """Each metric over the questions it applies to, with its interval: ``tokens_to_answer`` as a median, else means."""
    rows = list(rows)
    return {
        name: estimate([row[name] for row in rows if row[name] is not None], _statistic(name))  # type: ignore[misc]
        for name in METRICS
    }


def _statistic(metric: str) -> Literal["mean", "median"]:
    return "median" if metric == "tokens_to_answer" else "mean"

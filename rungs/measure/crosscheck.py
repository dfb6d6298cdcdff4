"""Our retrieval figures beside those of ragas, on the same report.

Two of ragas' metrics compare sets of ids and have no notion of lines. Given the right ids they are our ``recall@8`` and
``precision@8``, and `cross_check` shows that they agree to 1e-9. The ids:

- **Recall** (``IDBasedContextRecall``: share of reference ids that were retrieved). The reference ids are the labels of
  ``expect``; retrieved are the labels found by rank 8. For ``all`` this is ours as it stands. For ``any`` ours is 1 once
  one label is found, where ragas would ask for every one: the labels (and, in a pooled report, ``also``) are given one
  id in common.
- **Precision** (``IDBasedContextPrecision``: share of distinct retrieved ids that are reference ids). Retrieved are the
  ids of the first 8 hits, the reference those of them that share a line with a label. Ours divides by 8 however few hits
  there are (trec_eval's P@8), ragas by the hits there are, and no hits are NaN: ranks left empty are filled with ids
  that no reference holds.

What this shows is that the arithmetic is right. It cannot show that the right hits were judged to hold a label: which
labels a list of hits has uncovered is settled by `rungs.measure.metrics.judge`, and ids have nothing to say about it (a
function that two windows show only together has no hit whose id is its own).

Where the definitions differ, and both values are given:

- ``id_recall_every_label``: the same without the common id. Below ours wherever an ``any`` question has several labels
  and not all were found.
- ``id_precision_of_hits``: the same without the filling. Above ours where a system returned fewer than 8 hits; None
  where it returned none (ragas says NaN).
- ``non_llm_recall`` (``NonLLMContextRecall``): share of reference texts that some hit resembles, by normalised
  Levenshtein similarity above 0.5. It knows texts, not lines: a window that holds a short function whole is unlike it by
  its length alone, and a similar function elsewhere is like it.
- ``non_llm_precision`` (``NonLLMContextPrecisionWithReference``): average precision over hits that resemble a reference
  text by 0.5 or more, so it depends on the order of the hits, which the id metrics and ours do not, and it divides by
  the hits that were right rather than by 8.

All of ragas' id metrics work on sets: an id returned twice counts once (here a node returned twice makes the report
FAILED before this), and 1 and "1" are the same id.

Source: ragas 0.4, ``metrics/_context_recall.py`` and ``metrics/_context_precision.py``.
"""

import asyncio
import math
import os
import warnings
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar

from rungs.errors import RunError
from rungs.measure.golden import Golden, Label, Question
from rungs.measure.report import Report
from rungs.measure.table import Table

if TYPE_CHECKING:
    import pandas as pd

    from rungs.corpus import Corpus

__all__ = ["AT", "TOLERANCE", "CrossCheck", "cross_check"]

AT = 8
"""The rank at which figures are held against each other."""

TOLERANCE = 1e-9

_SAME = (("recall@8", "id_recall"), ("precision@8", "id_precision"))
_DIFFERENT = (
    ("recall@8", "id_recall_every_label", "every label of an `any` question is asked for"),
    ("precision@8", "id_precision_of_hits", "divided by the hits there are, not by 8"),
    ("recall@8", "non_llm_recall", "by likeness of texts, above 0.5"),
    ("precision@8", "non_llm_precision", "average precision, by likeness of texts, 0.5 or more"),
)
Row = dict[str, Any]
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class CrossCheck:
    """What `cross_check` returns.

    Attributes
    ----------
    name
        Of the golden file.
    ragas
        The version that was asked.
    rows
        One a question with an answer: ``id``, ``mode``, our figures and those of ragas, by the names in this module's
        description; ``non_llm_…`` only where texts were at hand.
    """

    name: str
    ragas: str
    rows: tuple[Row, ...]

    @property
    def disagreements(self) -> dict[str, tuple[float, str]]:
        """Largest difference between a figure of ours and the same one by ragas, and the question it is on."""
        return {ours: _largest(self.rows, ours, theirs) for ours, theirs in _SAME}

    @property
    def agrees(self) -> bool:
        """Whether all that should be equal is, to 1e-9."""
        return all(gap <= TOLERANCE for gap, _ in self.disagreements.values())

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        gaps = {
            ours: {"largest": gap if math.isfinite(gap) else None, "question": id}
            for ours, (gap, id) in self.disagreements.items()
        }
        head = {"golden": self.name, "ragas": self.ragas, "at": AT, "n": len(self.rows), "agrees": self.agrees}
        return head | {"tolerance": TOLERANCE, "disagreements": gaps, "rows": [dict(row) for row in self.rows]}

    def to_frame(self) -> "pd.DataFrame":
        """One row a question."""
        import pandas as pd

        return pd.DataFrame([dict(row) for row in self.rows])

    def table(self) -> Table:
        """Means over the questions: first what must be equal, then what is defined differently."""
        rows = [[*self._figures(ours, theirs), self._verdict(ours)] for ours, theirs in _SAME]
        rows += [
            [*self._figures(ours, theirs), f"differs: {why}"]
            for ours, theirs, why in _DIFFERENT
            if theirs in self.rows[0]
        ]
        title = (
            f"{self.name}: ours beside ragas {self.ragas}, {len(self.rows)} questions with an answer, first {AT} hits"
        )
        return Table(title, ("ours", "mean", "ragas", "mean", "largest gap", ""), rows, tuple(self._notes()))

    def _figures(self, ours: str, theirs: str) -> list[str]:
        return [
            ours,
            _mean(self.rows, ours),
            theirs,
            _mean(self.rows, theirs),
            f"{_largest(self.rows, ours, theirs)[0]:.2g}",
        ]

    def _verdict(self, ours: str) -> str:
        gap, question = self.disagreements[ours]
        return "agree" if gap <= TOLERANCE else f"DISAGREE, most on {question}"

    def _notes(self) -> Iterator[str]:
        blank = sum(row["id_precision_of_hits"] is None for row in self.rows)
        if blank:
            yield f"id_precision_of_hits is over {len(self.rows) - blank} questions: {blank} got no hit, which ragas calls NaN"
        if "non_llm_recall" not in self.rows[0]:
            yield "figures by likeness of texts need the golden file: cross_check(report, golden)"

    def summary(self) -> str:
        """Lines for a terminal."""
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()


def cross_check(report: Report, golden: Golden | None = None) -> CrossCheck:
    """Compute ragas' metrics that need no language model on a report, beside ours.

    Parameters
    ----------
    report
        From `rungs.measure.evaluate`.
    golden
        The questions it was measured on; with it, the metrics by likeness of texts too. Texts are read from the corpus
        at the lines of each hit and label: a hit of which only the file is known counts as the file, and a name that is
        defined several times as its longest definition.

    Raises
    ------
    RunError
        When the report is FAILED, holds no question with an answer, or is not of this golden file.

    Examples
    --------
    >>> cross_check(report, golden).disagreements  # doctest: +SKIP
    {'recall@8': (0.0, 'p001'), 'precision@8': (0.0, 'p001')}
    """
    if report.status != "ok":
        raise RunError(f"the report is FAILED on {len(report.failures)} of {report.n} questions; mend that first")
    cases = [case for case in report.cases if case["expect"]]
    if not cases:
        raise RunError("no question of the report has an answer; there is no recall or precision to check")
    if golden is not None:
        check_same_questions(report, golden)
    rows = run_async(lambda: _rows(cases, golden, report.pooled))
    return CrossCheck(report.golden["name"], version("ragas"), tuple(rows))


def check_same_questions(report: Report, golden: Golden) -> None:
    """Raise RunError unless a report was measured on exactly this golden file and corpus."""
    for what, mine in (("golden", golden.sha256), ("corpus", golden.corpus.sha256)):
        theirs = getattr(report, what)["sha256"]
        if mine != theirs:
            raise RunError(
                f"the report is of another version of the {what} ({theirs[:12]}…, not {mine[:12]}…); measure again"
            )


async def _rows(cases: Sequence[Mapping[str, Any]], golden: Golden | None, pooled: bool) -> list[Row]:
    rows = await _by_id(cases)
    if golden is not None:
        questions = {question.id: question for question in golden.questions}
        await _add_by_text(rows, cases, questions, golden.corpus, pooled)
    return rows


# --- by id


async def _by_id(cases: Sequence[Mapping[str, Any]]) -> list[Row]:
    recall, precision = ragas_metric("IDBasedContextRecall"), ragas_metric("IDBasedContextPrecision")
    rows = []
    for case in cases:
        found, labels = _labels_found(case), _labels(case)
        hits, right = _hit_ids(case), _right_ids(case)
        filled = [*hits, *(f"no hit at rank {rank}" for rank in range(len(hits) + 1, AT + 1))]
        rows.append(
            {
                "id": case["id"],
                "mode": case["mode"],
                "hits": len(hits),
                "recall@8": case["metrics"]["recall@8"],
                "id_recall": await _score(recall, _one_id(found, case), _one_id(labels, case)),
                "id_recall_every_label": await _score(recall, found, case["expect"]),
                "precision@8": case["metrics"]["precision@8"],
                "id_precision": await _score(precision, filled, right),
                "id_precision_of_hits": await _score(precision, hits, right) if hits else None,
            }
        )
    return rows


def _labels(case: Mapping[str, Any]) -> list[str]:
    """What counts towards recall: ``also`` as further answers where any suffices, and only if it was judged."""
    also = [label for label in case["also"] if label in case["found"]] if case["mode"] == "any" else []
    return [*case["expect"], *also]


def _labels_found(case: Mapping[str, Any]) -> list[str]:
    ranks = {label: case["found"][label] for label in _labels(case)}
    return [label for label, rank in ranks.items() if rank is not None and rank <= AT]


def _one_id(labels: Sequence[str], case: Mapping[str, Any]) -> list[str]:
    return list(labels) if case["mode"] == "all" else ["any of the labels"] * bool(labels)


def _hit_ids(case: Mapping[str, Any]) -> list[str]:
    return [hit["id"] for hit in case["hits"][:AT]]


def _right_ids(case: Mapping[str, Any]) -> list[str]:
    return [hit["id"] for hit in case["hits"][:AT] if hit["relevant"]]


async def _score(metric: Any, retrieved: Sequence[str], reference: Sequence[str]) -> float:
    from ragas.dataset_schema import SingleTurnSample

    sample = SingleTurnSample(retrieved_context_ids=list(retrieved), reference_context_ids=list(reference))
    return float(await metric.single_turn_ascore(sample))


# --- by likeness of texts


async def _add_by_text(
    rows: Sequence[Row],
    cases: Sequence[Mapping[str, Any]],
    questions: Mapping[str, Question],
    corpus: "Corpus",
    pooled: bool,
) -> None:
    from ragas.dataset_schema import SingleTurnSample

    recall, precision = ragas_metric("NonLLMContextRecall"), ragas_metric("NonLLMContextPrecisionWithReference")
    for row, case in zip(rows, cases, strict=True):
        hits = [source_text(corpus, hit["path"], hit["start_line"], hit["end_line"]) for hit in case["hits"][:AT]]
        wanted = expected_texts(questions[case["id"]], corpus, pooled=pooled)
        sample = SingleTurnSample(retrieved_contexts=hits, reference_contexts=wanted)
        # of no hits at all ragas takes a maximum, which raises; nothing was recalled
        row["non_llm_recall"] = float(await recall.single_turn_ascore(sample)) if hits else 0.0
        row["non_llm_precision"] = float(await precision.single_turn_ascore(sample)) if hits else 0.0


def expected_texts(question: Question, corpus: "Corpus", *, pooled: bool = False) -> list[str]:
    """The source of every label, as it stands in the corpus: the longest definition of a name, a bare path's file."""
    labels = (*question.expect, *question.also) if pooled else question.expect
    return [source_text(corpus, label.path, *_longest_span(label)) for label in labels]


def _longest_span(label: Label) -> tuple[int | None, int | None]:
    return max(label.spans, key=lambda span: span[1] - span[0], default=(None, None))


def source_text(corpus: "Corpus", path: str, start_line: int | None, end_line: int | None) -> str:
    """The lines of a file, 1-based and inclusive; all of it where no lines are known."""
    file = corpus.get(path)
    if file is None:
        raise RunError(f"corpus {corpus.name!r} does not hold {path!r}; measure again on this corpus")
    if start_line is None or end_line is None:
        return file.text
    return "\n".join(file.text.split("\n")[start_line - 1 : end_line])


# --- ragas


def ragas_metric(name: str, **arguments: Any) -> Any:
    """One of ragas' metrics by name, imported when first needed (seconds), without telemetry."""
    os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")
    with warnings.catch_warnings():
        # ragas announces a new home of its metrics, in which these want a model even where none is used
        warnings.simplefilter("ignore", DeprecationWarning)
        import ragas.metrics

        return getattr(ragas.metrics, name)(**arguments)


def run_async(start: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
    """Run a coroutine to its end, also where a loop is running already (Jupyter): then in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(start())
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(start())).result()


# --- figures


def _largest(rows: Sequence[Row], ours: str, theirs: str) -> tuple[float, str]:
    gaps = [(_gap(row[ours], row[theirs]), row["id"]) for row in rows if row[theirs] is not None]
    return max(gaps, key=lambda gap: gap[0], default=(0.0, ""))


def _gap(ours: float, theirs: float) -> float:
    return math.inf if math.isnan(theirs) else abs(ours - theirs)


def _mean(rows: Sequence[Row], name: str) -> str:
    values = [row[name] for row in rows if row[name] is not None]
    return f"{sum(values) / len(values):.4f}" if values else "no data"

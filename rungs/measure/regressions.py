"""Which questions got worse, what stands in the answer's place now, and which step put it there.

An average hides its losers. A change that gains three questions and loses two is not "+1": it is two regressions to
understand, and often one cause. `find_regressions` lists them with the step that lost each one, whatever steps there
are.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llama_index.core.base.base_retriever import BaseRetriever
from tqdm.auto import tqdm

from rungs.measure.compare import check_comparable, shown_rank
from rungs.measure.evaluate import evaluate, evaluate_all
from rungs.measure.explain import Loss, described, explain
from rungs.measure.golden import Golden
from rungs.measure.locate import Locator
from rungs.measure.report import Report
from rungs.measure.table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Regression", "Regressions", "find_regressions"]

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Regression:
    """One question that got worse.

    Attributes
    ----------
    id, q, kind
        The question.
    before, after
        Rank of the first right place; None where it was not found.
    lost
        Whether less of the answer is within the first ``k`` than before.
    silenced
        Whether the system now says that there may be no answer, and did not before.
    replaced_by
        What stands at or above the old rank now and did not before, best first.
    loss
        The step that lost the right place or set it back; None where the order is as good as before and only the
        system's own doubt is new.
    """

    id: str
    q: str
    kind: str
    before: int | None
    after: int | None
    lost: bool
    silenced: bool
    replaced_by: tuple[str, ...]
    loss: Loss | None


@dataclass(frozen=True)
class Regressions:
    """What `find_regressions` returns: the questions that got worse, worst first.

    Attributes
    ----------
    questions
        One a question.
    n
        Questions with an answer that were compared.
    k
        How many hits somebody reads.
    """

    questions: tuple[Regression, ...]
    n: int
    k: int

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def by_step(self) -> dict[str, int]:
        """How many questions each step set back, by step and how; most first."""
        counts = Counter(f"{r.loss.how}: {r.loss.step}" if r.loss else "marked weak" for r in self.questions)
        return dict(counts.most_common())

    def table(self) -> Table:
        """One row a question."""
        rows = [
            (r.id, r.kind, f"{shown_rank(r.before)} → {shown_rank(r.after)}", _reason(r), "; ".join(r.replaced_by), r.q)
            for r in self.questions
        ]
        lost = sum(r.lost for r in self.questions)
        title = f"{len(self)} of {self.n} questions got worse, {lost} of them lost from the top {self.k}"
        causes = [f"{count} × {cause}" for cause, count in self.by_step.items()]
        return Table(title, ("id", "kind", "rank", "where it was lost", "in its place", "question"), rows, causes)

    def summary(self) -> str:
        """Lines for a terminal."""
        return self.table().text()

    def to_frame(self) -> "pd.DataFrame":
        """One row a question."""
        return self.table().frame()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "n": self.n,
            "k": self.k,
            "by_step": self.by_step,
            "questions": [
                {name: getattr(r, name) for name in Regression.__slots__ if name != "loss"}
                | {"loss": None if r.loss is None else {name: getattr(r.loss, name) for name in Loss.__slots__}}
                for r in self.questions
            ],
        }

    def _repr_html_(self) -> str:
        return self.table().html()


def find_regressions(
    before: BaseRetriever | Report,
    after: BaseRetriever,
    golden: Golden,
    *,
    k: int = 8,
    progress: bool = True,
) -> Regressions:
    """Find the questions that a change made worse, and the step that did it.

    Parameters
    ----------
    before
        The retriever as it was, or a report of it on the same questions.
    after
        The retriever as it is; with a ``trace`` method its losses are told by step.
    golden
        The questions.
    k
        How many hits somebody reads.
    progress
        Show bars on stderr.

    Raises
    ------
    RunError
        When a run is FAILED, or ``before`` is of other questions, labels or corpus.

    Examples
    --------
    >>> find_regressions(bench.funnel(), bench.funnel(search_mode="bm25"), golden).by_step  # doctest: +SKIP
    {'ranked low: bm25': 21, 'not in the pool: bm25': 9}
    """
    old, new = _reports(before, after, golden, progress)
    check_comparable("before", old, "after", new)
    pairs = zip(old.cases, new.cases, strict=True)
    worse = [(a, b) for a, b in pairs if a["expect"] and _got_worse(a, b, k)]
    locator, questions = Locator(golden.corpus), {q.id: q for q in golden.questions}
    found = []
    for a, b in tqdm(worse, desc="explaining", unit="question", leave=False, disable=not progress):
        moved = _value(b["first_rank"]) < _value(a["first_rank"]) or _lost(a, b, k)
        loss = explain(after, questions[a["id"]], golden, k=k, locator=locator).loss if moved else None
        found.append(_regression(a, b, loss, k))
    found.sort(key=lambda r: (not r.lost, _value(r.after) - _value(r.before), r.id))
    return Regressions(tuple(found), sum(bool(case["expect"]) for case in new.cases), k)


def _reports(
    before: BaseRetriever | Report, after: BaseRetriever, golden: Golden, progress: bool
) -> tuple[Report, Report]:
    if isinstance(before, Report):
        return before, evaluate(after, golden, pooled=before.pooled, latency=False, progress=progress)
    both = evaluate_all({"before": before, "after": after}, golden, latency=False, progress=progress)
    return both["before"], both["after"]


def _got_worse(a: dict[str, Any], b: dict[str, Any], k: int) -> bool:
    return _value(b["first_rank"]) < _value(a["first_rank"]) or _lost(a, b, k) or _silenced(a, b)


def _lost(a: dict[str, Any], b: dict[str, Any], k: int) -> bool:
    return _answered(b, k) < _answered(a, k)


def _answered(case: dict[str, Any], k: int) -> int:
    """How many of the places that are needed are within the first ``k``."""
    within = sum(rank is not None and rank <= k for rank in case["found"].values())
    return within if case["mode"] == "all" else min(within, 1)


def _silenced(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return b["abstained"] and not a["abstained"]


def _value(rank: int | None) -> float:
    return 0.0 if rank is None else 1 / rank


def _regression(a: dict[str, Any], b: dict[str, Any], loss: Loss | None, k: int) -> Regression:
    return Regression(
        id=a["id"],
        q=a["q"],
        kind=a["kind"],
        before=a["first_rank"],
        after=b["first_rank"],
        lost=_lost(a, b, k),
        silenced=_silenced(a, b),
        replaced_by=_in_its_place(a, b),
        loss=loss,
    )


def _in_its_place(a: dict[str, Any], b: dict[str, Any]) -> tuple[str, ...]:
    """What is at or above the right place's old rank now; first what was not there before."""
    reach = a["first_rank"] or 0
    wrong = [hit for hit in b["hits"][:reach] if not hit["relevant"]]
    there = {hit["id"] for hit in a["hits"][:reach]}
    new = [hit for hit in wrong if hit["id"] not in there] or wrong
    if reach and not new:
        return ("parts of the right place, together not yet half of it",)
    return tuple(described(hit["path"] or hit["id"], hit["symbol"], hit.get("category")) for hit in new[:_SHOWN])


def _reason(r: Regression) -> str:
    parts: Sequence[str] = [str(r.loss)] if r.loss else []
    return "; ".join([*parts, "marked weak"] if r.silenced else parts)

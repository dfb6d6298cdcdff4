"""Where did the answer go? One question followed through every step of a search.

A retriever with ``trace`` (a `rungs.funnel.Funnel`) says what its list was after each channel, each stage and the final
cut. Nothing here knows which stages exist: a step is its name, the steps it was made from and its list. So whatever
joins the funnel later is explained the day it joins. A retriever without ``trace`` is one step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore

from rungs.errors import GoldenError
from rungs.measure.compare import shown_rank
from rungs.measure.golden import Golden, Question
from rungs.measure.locate import Locator
from rungs.measure.metrics import judge
from rungs.measure.table import Table

__all__ = ["Explanation", "Loss", "StepView", "explain"]

_TOP = 8
_SHOWN = 3


class _Step(Protocol):
    name: str
    inputs: tuple[str, ...]
    hits: list[NodeWithScore]
    note: str


@runtime_checkable
class _Traced(Protocol):
    def trace(self, query: str, top_k: int | None = None) -> Sequence[_Step]: ...


@dataclass(frozen=True)
class _Whole:
    """A retriever that says nothing of its steps."""

    name: str
    hits: list[NodeWithScore]
    inputs: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class StepView:
    """One step as seen by a question.

    Attributes
    ----------
    name, inputs
        The step, and those it was made from.
    size
        Hits in its list.
    first
        Rank at which the first right place is found; None if it is not.
    found
        Rank of each label, by its text.
    before
        The best rank among the steps it was made from; None for a channel, or if none of them had it.
    above
        What stands before the right place, or at the top where there is none: ``path · symbol (category)``.
    cut
        Whether the step only shortens its input.
    note
        Why the step did nothing, where it failed.
    """

    name: str
    inputs: tuple[str, ...]
    size: int
    first: int | None
    found: dict[str, int | None]
    before: int | None
    above: tuple[str, ...]
    cut: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Loss:
    """The step at which the right place was lost, or set back.

    Attributes
    ----------
    step
        Its name.
    how
        ``not in the pool``, ``ranked low``, ``demoted`` or ``dropped``.
    before, after
        Rank of the first right place; None where it was not there.
    """

    step: str
    how: str
    before: int | None
    after: int | None

    def __str__(self) -> str:
        if self.how == "not in the pool":
            return f"not in the pool of {self.step}"
        if self.how == "ranked low":
            return f"ranked {self.after} by {self.step}"
        if self.how == "dropped":
            return f"dropped by {self.step} (was at {self.before})"
        return f"demoted by {self.step}, {self.before} → {self.after}"


@dataclass(frozen=True)
class Explanation:
    """What `explain` returns.

    Attributes
    ----------
    question
        As asked.
    steps
        In order.
    loss
        Where the right place was lost or set back most; None where it is at rank 1, or for a question without answer.
    """

    question: Question
    steps: tuple[StepView, ...]
    loss: Loss | None

    @property
    def verdict(self) -> str:
        """One line: where the answer is, or where it went."""
        if self.question.negative:
            return f"the corpus has no answer; {self.steps[-1].size} hits came back"
        last = self.steps[-1]
        place = "not found" if last.first is None else f"found at rank {last.first}"
        return place if self.loss is None else f"{place}: {self.loss}"

    def table(self) -> Table:
        """One row a step."""
        labels = [label.text for label in self.question.expect]
        header = ("step", "from", "hits", *(f"rank of {label}" for label in labels), "standing above it")
        rows = [
            (
                step.name,
                ", ".join(step.inputs),
                str(step.size),
                *(shown_rank(step.found[label]) for label in labels),
                step.note or "; ".join(step.above),
            )
            for step in self.steps
        ]
        return Table(f"{self.question.id}: {self.question.q}", header, rows, (self.verdict,))

    def summary(self) -> str:
        """Lines for a terminal: what stands above the right place has a line of its own."""
        lines = [f"{self.question.id} ({self.question.kind}): {self.question.q}"]
        for step in self.steps:
            source = f" from {', '.join(step.inputs)}" if step.inputs else ""
            lines.append(f"  {step.name}{source}: {step.size} hits{f' ({step.note})' if step.note else ''}")
            lines += [f"    {shown_rank(rank):>9}  {label}" for label, rank in step.found.items()]
            lines += [f"      above: {where}" for where in step.above]
        return "\n".join([*lines, f"  {self.verdict}"])

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "id": self.question.id,
            "q": self.question.q,
            "verdict": self.verdict,
            "loss": None if self.loss is None else {n: getattr(self.loss, n) for n in Loss.__slots__},
            "steps": [{name: getattr(step, name) for name in StepView.__slots__} for step in self.steps],
        }

    def _repr_html_(self) -> str:
        return self.table().html()


def explain(
    retriever: BaseRetriever, question: Question | str, golden: Golden, *, k: int = _TOP, locator: Locator | None = None
) -> Explanation:
    """Follow one question through every step of a search.

    Parameters
    ----------
    retriever
        Any LlamaIndex retriever; with a ``trace`` method, step by step.
    question
        Of ``golden``, or its id.
    golden
        The questions, with their corpus.
    k
        How many hits somebody reads: the last step is cut there.
    locator
        To place many questions' hits with one.

    Raises
    ------
    GoldenError
        When there is no question of that id.

    Examples
    --------
    >>> print(explain(bench.funnel(), "c017", golden).verdict)  # doctest: +SKIP
    found at rank 12: ranked 12 by dense
    """
    asked = question if isinstance(question, Question) else _by_id(golden, question)
    steps = _steps(retriever, asked.q, k)
    views: list[StepView] = []
    for step in steps:
        views.append(_view(step, asked, locator or Locator(golden.corpus), steps, views))
    return Explanation(asked, tuple(views), None if asked.negative else find_loss(views, k))


def _by_id(golden: Golden, id: str) -> Question:
    found = next((question for question in golden.questions if question.id == id), None)
    if found is None:
        raise GoldenError(f"{golden.path}: there is no question {id!r}; give one of its {len(golden)} ids")
    return found


def _steps(retriever: BaseRetriever, query: str, k: int) -> Sequence[_Step]:
    if isinstance(retriever, _Traced):
        return retriever.trace(query, k)
    hits = retriever.retrieve(query)
    return [_Whole("retrieve", hits), _Whole(f"top {k}", hits[:k], ("retrieve",))]


def _view(
    step: _Step, question: Question, locator: Locator, steps: Sequence[_Step], views: Sequence[StepView]
) -> StepView:
    judgement = judge(question, [locator.locate(hit.node) for hit in step.hits])
    ranks = [view.first for view in views if view.name in step.inputs and view.first is not None]
    ids = [hit.node.node_id for hit in step.hits]
    sources = [[hit.node.node_id for hit in one.hits] for one in steps if one.name in step.inputs]
    # up to the right place, or the head of the list; what is right itself is not "above" it
    reach = len(step.hits) if judgement.first is None else judgement.first - 1
    above = [where(hit) for hit, right in zip(step.hits[:reach], judgement.relevant, strict=False) if not right]
    return StepView(
        name=step.name,
        inputs=tuple(step.inputs),
        size=len(ids),
        first=judgement.first,
        found=dict(zip((label.text for label in question.expect), judgement.found, strict=True)),
        before=min(ranks, default=None),
        above=tuple(above[:_SHOWN]),
        cut=len(sources) == 1 and ids == sources[0][: len(ids)],
        note=step.note,
    )


def where(hit: NodeWithScore) -> str:
    """``path · symbol (category)``, as much of it as the hit says."""
    data = hit.node.metadata
    return described(data.get("path") or hit.node.node_id, data.get("symbol"), data.get("category"))


def described(path: str, symbol: str | None, category: str | None) -> str:
    """``path · symbol (category)``, as much of it as there is."""
    return f"{path}{f' · {symbol}' if symbol else ''}{f' ({category})' if category else ''}"


def find_loss(steps: Sequence[StepView], k: int) -> Loss | None:
    """The step that cost the right place most.

    The last step at which it fell out of the first ``k`` is what kept it from the reader; where it never did, the one
    that set it back furthest. A final cut loses nothing by itself: what it cuts was low already.
    """
    if steps[-1].first == 1:
        return None
    channels = [step for step in steps if not step.inputs]
    if all(step.first is None for step in channels):
        return Loss(" and ".join(step.name for step in channels), "not in the pool", None, None)
    setbacks = [s for s in steps if s.inputs and not s.cut and s.before is not None and _worth(s.first) < 1 / s.before]
    crossings = [s for s in setbacks if s.before is not None and s.before <= k and (s.first is None or s.first > k)]
    worst = (
        crossings[-1] if crossings else max(setbacks, key=lambda s: _worth(s.before) - _worth(s.first), default=None)
    )
    if worst is not None:
        return Loss(worst.name, "dropped" if worst.first is None else "demoted", worst.before, worst.first)
    best = max(channels, key=lambda step: _worth(step.first))
    return Loss(best.name, "ranked low", None, best.first)


def _worth(rank: int | None) -> float:
    return 0.0 if rank is None else 1 / rank

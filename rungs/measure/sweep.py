"""One setting over a range of values, on the questions it is tuned for and on those it could harm.

A sweep on questions that cannot see a setting's harm always looks good: demote tests as far as you like, and a golden
file without a single test among its answers will never object. So a sweep wants controls, says when they are too few
for what the setting moved, and shows both sides of every value. It marks what is as good as the best as far as these
questions can tell, and it never picks.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from llama_index.core.base.base_retriever import BaseRetriever

from rungs.errors import GoldenError, RunError
from rungs.measure.compare import MARGIN, Comparison, Difference, compare
from rungs.measure.evaluate import evaluate_all
from rungs.measure.golden import Golden, Question
from rungs.measure.report import Report
from rungs.measure.table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Blindness", "Sweep", "sweep"]

_TOP = 8
_MOVED = 0.02
"""Share of all top-8 slots that a category must win or lose before a sweep must be able to see its harm."""
_FEWEST = 5
"""Questions with an answer in such a category that it takes to see anything at all."""


@dataclass(frozen=True, slots=True)
class Blindness:
    """A category that the setting moved in or out of the first hits while next to no question has its answer there.

    Attributes
    ----------
    category
        ``code``, ``test``, ``doc`` or ``config``.
    fewest, most
        Slots it holds among the first eight hits of all questions, at the value that gives it fewest, and most.
    slots
        All such slots.
    questions
        How many questions have an answer in it.
    """

    category: str
    fewest: int
    most: int
    slots: int
    questions: int

    def __str__(self) -> str:
        return (
            f"BLIND to {self.category}: the setting moves it between {self.fewest} and {self.most} of {self.slots} slots, "
            f"and {self.questions} questions have an answer there; add controls of that kind"
        )


@dataclass(frozen=True)
class Sweep:
    """What `sweep` returns.

    Attributes
    ----------
    setting, values
        What was varied; values in the order given.
    baseline
        The value that the others are held against.
    metrics
        What is shown; the first decides the plateau.
    reports
        By value, as text: the whole run.
    groups
        Question ids by group: ``golden`` (what the setting is tuned for), then each control kind.
    best
        The value with the highest point estimate of the first metric. A description, not a choice.
    plateau
        The run of neighbours around ``best`` that are not readably worse than it; empty where the sweep is blind.
    blind
        Categories whose harm these questions cannot see.
    inert
        Values whose every ranking equals the baseline's.
    margin
        Half-width of what counts as equivalent.
    """

    setting: str
    values: tuple[Any, ...]
    baseline: Any
    metrics: tuple[str, ...]
    reports: dict[str, Report]
    groups: dict[str, frozenset[str]]
    comparisons: dict[str, Comparison]
    best: Any
    plateau: tuple[Any, ...]
    blind: tuple[Blindness, ...]
    inert: tuple[Any, ...]
    margin: float = MARGIN

    def figures(self, value: Any, group: str = "golden") -> dict[str, Any]:
        """Every metric of one value on one group, as in a report."""
        return self.reports[str(value)].only(self.groups[group]).metrics

    def difference(self, value: Any, group: str = "golden", metric: str | None = None) -> Difference | None:
        """One value against the baseline on one group; None for the baseline itself."""
        wanted = (str(value), metric or self.metrics[0])
        found = self.comparisons[group].differences
        return next((d for d in found if (d.system, d.metric) == wanted), None)

    def harms(self, value: Any) -> dict[str, Difference]:
        """Control groups on which a value is readably worse, or lower by more than the margin."""
        found = {group: self.difference(value, group) for group in self.groups if group != "golden"}
        return {
            group: d
            for group, d in found.items()
            if d is not None and d.value is not None and (d.verdict == "worse" or d.value < -self.margin)
        }

    def table(self) -> Table:
        """One row a value: golden and controls side by side, with what marks it."""
        header = [self.setting]
        for group, ids in self.groups.items():
            header += [
                f"{group} {metric} (n={len(ids)})"
                for metric in (self.metrics if group == "golden" else self.metrics[:1])
            ]
        rows = [[str(value), *self._cells(value), self._marks(value)] for value in self.values]
        return Table(f"{self.setting} over {len(self.values)} values", [*header, "marks"], rows, self._notes())

    def summary(self) -> str:
        """Lines for a terminal."""
        return self.table().text()

    def to_frame(self) -> "pd.DataFrame":
        """One row a value, group and metric: ``value, low, high, n``, ``difference`` to the baseline and its verdict."""
        import pandas as pd

        rows = []
        for value in self.values:
            for group in self.groups:
                figures = self.figures(value, group)
                for metric in self.metrics:
                    d = self.difference(value, group, metric)
                    verdict = {"difference": d.value if d else 0.0, "verdict": d.verdict if d else "baseline"}
                    rows.append({self.setting: value, "group": group, "metric": metric, **figures[metric], **verdict})
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "setting": self.setting,
            "values": list(self.values),
            "baseline": self.baseline,
            "best": self.best,
            "plateau": list(self.plateau),
            "inert": list(self.inert),
            "blind": [{name: getattr(b, name) for name in Blindness.__slots__} for b in self.blind],
            "groups": {group: len(ids) for group, ids in self.groups.items()},
            "figures": {
                str(value): {g: {m: self.figures(value, g)[m] for m in self.metrics} for g in self.groups}
                for value in self.values
            },
            "against_baseline": {group: comparison.to_dict() for group, comparison in self.comparisons.items()},
        }

    def _repr_html_(self) -> str:
        return self.table().html()

    def _cells(self, value: Any) -> list[str]:
        cells = []
        for group in self.groups:
            figures = self.figures(value, group)
            for metric in self.metrics if group == "golden" else self.metrics[:1]:
                d = self.difference(value, group, metric)
                moved = "" if d is None or d.value is None else f" ({d.value:+.3f}, {d.verdict})"
                cells.append(f"{_figure(figures[metric])}{moved}")
        return cells

    def _marks(self, value: Any) -> str:
        marks = ["baseline"] if value == self.baseline else []
        if value in self.inert:
            marks.append("inert: no ranking changed")
        if value in self.plateau:
            marks.append("plateau")
        if value == self.best and value in (self.values[0], self.values[-1]) and len(self.values) > 1:
            marks.append("edge")
        for group, d in self.harms(value).items():
            marks.append(f"harms {group}" if d.verdict == "worse" else f"may harm {group} ({d.verdict})")
        return "; ".join(marks)

    def _notes(self) -> list[str]:
        notes = [str(b) for b in self.blind]
        if self.blind:
            return [*notes, "no plateau is marked: what looks flat here may be harm that nothing measures"]
        if len(self.inert) == len(self.values) - 1:
            return [f"inert: {self.setting} changes nothing at any value; check that it reaches the stage it is for"]
        if len(self.plateau) == len(self.values):
            notes.append(f"every value is on the plateau: these questions cannot tell them apart ({self._readable()})")
        if self.best in (self.values[0], self.values[-1]):
            notes.append(f"the highest figure is at the edge of the range ({self.setting} = {self.best}); widen it")
        return [*notes, "nothing is picked: choose inside a plateau, away from its ends, where no control is harmed"]

    def _readable(self) -> str:
        shown = [
            d.readable for d in self.comparisons["golden"].differences if d.metric == self.metrics[0] and d.readable
        ]
        return f"readable from about {max(shown):.3f}" if shown else "no question moved"


def sweep(
    setting: str,
    values: Sequence[Any],
    golden: Golden,
    controls: Collection[str] | Golden,
    *,
    make: Callable[..., BaseRetriever],
    metrics: Sequence[str] = ("recall@8", "mrr"),
    baseline: Any = None,
    margin: float = MARGIN,
    progress: bool = True,
) -> Sweep:
    """Measure a setting at several values, with everything they share done once.

    Parameters
    ----------
    setting
        Its name, as ``make`` takes it.
    values
        Two or more, in order; neighbours are what a plateau is made of.
    golden
        The tuning questions. A held-out file is refused: a setting chosen on it has no questions left to report on.
    controls
        Kinds of question in ``golden`` that the setting could harm and is not tuned for, or another golden file of
        such questions.
    make
        Builds the retriever: ``make(**{setting: value})``, as `rungs.workbench.Workbench.funnel` does.
    metrics
        From `rungs.measure.compare.COMPARED`; the first decides the plateau.
    baseline
        The value the others are held against; the first by default.
    margin
        Half-width of what counts as equivalent.
    progress
        Show bars on stderr.

    Raises
    ------
    GoldenError
        When a file is held out, a control kind has no questions, or nothing but controls is left.
    RunError
        When there are fewer than two different values, or a run is FAILED.

    Examples
    --------
    >>> sweep("candidates", [8, 40, 100], golden, ["doc", "test"], make=bench.funnel).plateau  # doctest: +SKIP
    (8, 40, 100)
    """
    names = [str(value) for value in values]
    if len(names) < 2 or len(set(names)) < len(names):
        raise RunError(f"a sweep needs two different values or more, not {', '.join(names) or 'none'}")
    base = values[0] if baseline is None else baseline
    if base not in values:
        raise RunError(f"the baseline {base!r} is not among the values {', '.join(names)}; add it")
    joined, groups = _groups(golden, controls)
    retrievers = {name: make(**{setting: value}) for name, value in zip(names, values, strict=True)}
    reports = evaluate_all(retrievers, joined, latency=False, progress=progress)
    parts = {group: {name: report.only(ids) for name, report in reports.items()} for group, ids in groups.items()}
    options = {"metrics": metrics, "margin": margin}
    comparisons = {group: compare(part, baseline=str(base), **options) for group, part in parts.items()}
    blind = _blindness(joined, reports)
    best = max(values, key=lambda value: parts["golden"][str(value)].metrics[metrics[0]]["value"] or 0.0)
    whole = compare(reports, baseline=str(base), **options)
    return Sweep(
        setting=setting,
        values=tuple(values),
        baseline=base,
        metrics=tuple(metrics),
        reports=reports,
        groups=groups,
        comparisons=comparisons,
        best=best,
        plateau=() if blind else _plateau(values, best, parts["golden"], metrics[0], margin),
        blind=blind,
        inert=tuple(value for value in values if str(value) in whole.inert),
        margin=margin,
    )


def _groups(golden: Golden, controls: Collection[str] | Golden) -> tuple[Golden, dict[str, frozenset[str]]]:
    """The questions that are asked, and which of them with an answer belong to what the setting is tuned for."""
    for file in (golden, controls) if isinstance(controls, Golden) else (golden,):
        if file.held_out:
            raise GoldenError(f"{file.path} is held out: it only reports; sweep on the tuning file")
    if isinstance(controls, Golden):
        tuned, held = golden.questions, controls.questions
        joined = _joined(golden, controls)
    else:
        missing = [kind for kind in controls if not any(q.kind == kind and not q.negative for q in golden.questions)]
        if missing or not controls:
            what = f"no {missing[0]!r} question with an answer" if missing else "no controls"
            raise GoldenError(f"{golden.path}: {what}; without questions it could harm, any setting looks harmless")
        tuned = tuple(q for q in golden.questions if q.kind not in controls)
        held = tuple(q for q in golden.questions if q.kind in controls)
        joined = golden
    own = _ids(tuned)
    if not own:
        raise GoldenError(f"{golden.path}: every question with an answer is a control; leave some to tune for")
    kinds = dict.fromkeys(q.kind for q in held if not q.negative)
    return joined, {"golden": own} | {kind: _ids([q for q in held if q.kind == kind]) for kind in kinds}


def _joined(golden: Golden, controls: Golden) -> Golden:
    if golden.corpus.sha256 != controls.corpus.sha256:
        raise GoldenError(f"{controls.path} was read against another corpus than {golden.path}; use one")
    known = {question.id for question in golden.questions}
    if twice := [question.id for question in controls.questions if question.id in known]:
        raise GoldenError(f"{controls.path}: id {twice[0]!r} is in {golden.path} too; give it another")
    if all(question.negative for question in controls.questions):
        raise GoldenError(f"{controls.path}: no question has an answer; controls must be able to get worse")
    both = (*golden.questions, *controls.questions)
    return replace(
        golden, name=f"{golden.name}+{controls.name}", sha256=golden.sha256 + controls.sha256, questions=both
    )


def _ids(questions: Sequence[Question]) -> frozenset[str]:
    return frozenset(question.id for question in questions if not question.negative)


def _plateau(
    values: Sequence[Any], best: Any, parts: Mapping[str, Report], metric: str, margin: float
) -> tuple[Any, ...]:
    """The neighbours of the best value, on both sides, up to the first that is readably worse than it."""
    against = compare(parts, baseline=str(best), metrics=(metric,), margin=margin)
    flat = {d.system for d in against.differences if d.verdict != "worse"} | {str(best)}
    start = end = list(values).index(best)
    while start > 0 and str(values[start - 1]) in flat:
        start -= 1
    while end + 1 < len(values) and str(values[end + 1]) in flat:
        end += 1
    return tuple(values[start : end + 1])


def _blindness(golden: Golden, reports: Mapping[str, Report]) -> tuple[Blindness, ...]:
    """Categories that the values move, and that next to no question has its answer in."""
    category = {file.path: file.category for file in golden.corpus.files}
    answers = Counter(c for q in golden.questions for c in {category[label.path] for label in q.expect})
    slots = {name: _slots(report, category) for name, report in reports.items()}
    total = max(sum(counts.values()) for counts in slots.values())
    found = []
    for name in sorted({c for counts in slots.values() for c in counts}):
        held = [counts[name] for counts in slots.values()]
        if max(held) - min(held) > _MOVED * total and answers[name] < _FEWEST:
            found.append(Blindness(name, min(held), max(held), total, answers[name]))
    return tuple(found)


def _slots(report: Report, category: Mapping[str, str]) -> Counter[str]:
    """Categories of the first hits of every question that has an answer."""
    hits = [hit for case in report.cases if case["expect"] for hit in case["hits"][:_TOP]]
    return Counter(category[hit["path"]] for hit in hits if hit["path"] in category)


def _figure(estimate: Mapping[str, Any]) -> str:
    return (
        "no data" if not estimate["n"] else f"{estimate['value']:.3f} [{estimate['low']:.3f}, {estimate['high']:.3f}]"
    )

"""Did it help? Two or more reports on the same questions, paired question by question.

The rows of a table answer the same questions, so what matters is each question's difference, not whether two intervals
overlap. A comparison says for every metric how large the mean difference is, how far it could be off (95% paired
bootstrap), how often chance alone would make one as large (permutation of signs, Holm-corrected over the systems), and
one of four verdicts. It also says the smallest difference these questions could have shown: what is below it was never
going to be seen, whatever its truth.

Sources: Smucker, Allan and Carterette (2007), "A comparison of statistical significance tests for information retrieval
evaluation"; Holm (1979), Scandinavian Journal of Statistics 6; Sakai (2014), SIGIR Forum 48.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rungs.errors import RunError
from rungs.measure.intervals import estimate
from rungs.measure.report import Report
from rungs.measure.table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "COMPARED",
    "MARGIN",
    "Change",
    "Comparison",
    "Difference",
    "compare",
    "compare_kinds",
    "power",
    "smallest_readable",
]

MARGIN = 0.03
"""Differences inside plus or minus this are as good as none."""

COMPARED = ("recall@8", "recall@40", "mrr", "ndcg@10", "all_recall@8", "abstain_rate", "false_weak_rate")
"""Metrics that are means over questions; a median of tokens has no mean difference."""

_LOWER_IS_BETTER = frozenset({"false_weak_rate"})
_ALPHA = 0.05
_PERMUTATIONS = 10_000
_SETTINGS = 6
_MOVED = 10
"""Questions shown each way."""
_SEED = 20_240_502
_POWER = 0.8

Verdict = Literal["better", "worse", "equivalent"] | str


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric of one system against the baseline.

    Attributes
    ----------
    system, metric
        What is compared.
    value, low, high
        Mean difference (system minus baseline) and its 95% interval.
    p
        Chance of a difference at least as large if the two were the same, Holm-corrected over the systems.
    n
        Questions the metric applies to.
    readable
        The smallest difference that these questions would have shown four times out of five; None where there is
        none (see `smallest_readable`).
    verdict
        ``better``, ``worse``, ``equivalent``, ``not readable at n=…`` or ``no data``.
    """

    system: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    n: int
    readable: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Change:
    """A question that a system answers better or worse than the baseline, by the rank of the first right hit."""

    system: str
    id: str
    q: str
    kind: str
    before: int | None
    after: int | None

    @property
    def better(self) -> bool:
        """Whether the right hit moved up."""
        return _rank(self.after) < _rank(self.before)


@dataclass(frozen=True)
class Comparison:
    """What `compare` returns.

    Attributes
    ----------
    baseline
        The report that the others are held against, by name.
    differences
        One a system and metric.
    changes
        Questions whose first right hit moved, largest move first.
    inert
        Systems whose every ranking equals the baseline's: whatever was changed did nothing.
    settings
        For each system, the settings that differ from the baseline's, as (baseline's, its own).
    floor
        Largest absolute difference of each metric in the control arm, below which no difference counts; empty without.
    """

    baseline: str
    differences: tuple[Difference, ...]
    changes: tuple[Change, ...]
    inert: tuple[str, ...]
    settings: dict[str, dict[str, tuple[Any, Any]]]
    floor: dict[str, float]
    margin: float = MARGIN

    def verdict(self, metric: str, system: str | None = None) -> Verdict:
        """The verdict on one metric; ``system`` may be left out where there is only one."""
        found = [d for d in self.differences if d.metric == metric and system in (None, d.system)]
        if len(found) != 1:
            raise RunError(f"{len(found)} systems have a verdict on {metric!r}; name one of them")
        return found[0].verdict

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "baseline": self.baseline,
            "margin": self.margin,
            "differences": [{name: getattr(d, name) for name in Difference.__slots__} for d in self.differences],
            "better": [_change(c) for c in self.changes if c.better],
            "worse": [_change(c) for c in self.changes if not c.better],
            "inert": list(self.inert),
            "settings": {s: {k: list(v) for k, v in changed.items()} for s, changed in self.settings.items()},
            "floor": self.floor,
        }

    def to_frame(self) -> "pd.DataFrame":
        """One row a system and metric."""
        import pandas as pd

        return pd.DataFrame([{name: getattr(d, name) for name in Difference.__slots__} for d in self.differences])

    def tables(self) -> list[Table]:
        """The differences, then the questions that moved, better and worse."""
        shown = [self._differences()]
        for title, better in (("better", True), ("worse", False)):
            moved = [c for c in self.changes if c.better is better]
            rows = [
                (c.system, c.id, c.kind, f"{shown_rank(c.before)} → {shown_rank(c.after)}", c.q) for c in moved[:_MOVED]
            ]
            more = [f"and {len(moved) - _MOVED} more"] if len(moved) > _MOVED else []
            header = ("system", "id", "kind", "rank", "question")
            shown.append(Table(f"{len(moved)} questions {title}", header, rows, more))
        return shown

    def summary(self) -> str:
        """Lines for a terminal."""
        return "\n".join(table.text() for table in self.tables())

    def _differences(self) -> Table:
        rows = [
            (d.system, d.metric, f"{d.value:+.3f}", f"[{d.low:+.3f}, {d.high:+.3f}]", f"{d.p:.3f}", str(d.n), d.verdict)
            if d.value is not None
            else (d.system, d.metric, "no data", "", "", "0", d.verdict)
            for d in self.differences
        ]
        header = ("system", "metric", "difference", "95% interval", "p", "n", "verdict")
        title = f"against {self.baseline}: paired intervals, p Holm-corrected over systems, margin ±{self.margin:g}"
        return Table(title, header, rows, self._notes())

    def _notes(self) -> list[str]:
        notes = []
        smallest: dict[str, float] = {}  # of several systems, what the hardest to read could have shown
        for d in self.differences:
            if d.readable is not None:
                smallest[d.metric] = max(d.readable, smallest.get(d.metric, 0.0))
        if smallest:
            said = ", ".join(f"{metric} {value:.3f}" for metric, value in smallest.items())
            notes.append(f"smallest difference that these questions could have shown: {said}")
        if self.floor:
            said = ", ".join(f"{metric} {value:.3f}" for metric, value in self.floor.items())
            notes.append(f"moved by the control arm alone, and so no difference: {said}")
        for system, changed in self.settings.items():
            said = "; ".join(f"{name} {was!r} → {now!r}" for name, (was, now) in list(changed.items())[:_SETTINGS])
            more = f"; and {len(changed) - _SETTINGS} more" if len(changed) > _SETTINGS else ""
            notes.append(f"{system} differs in {said}{more}" if said else f"{system} differs in no setting")
        notes += [
            f"{system}: changed nothing at all; check that the setting reached the stage it is for"
            for system in self.inert
        ]
        return notes

    def _repr_html_(self) -> str:
        return "\n".join(table.html() for table in self.tables() if table.rows)


def compare(
    reports: Mapping[str, Report],
    *,
    baseline: str | None = None,
    metrics: Sequence[str] = COMPARED,
    margin: float = MARGIN,
    control: tuple[Report, Report] | None = None,
    kinds: Collection[str] | None = None,
) -> Comparison:
    """Compare systems with a baseline on the same questions.

    Parameters
    ----------
    reports
        Two or more, by name.
    baseline
        Which of them the others are held against; the first by default.
    metrics
        From `COMPARED`.
    margin
        Half-width of what counts as equivalent.
    control
        Two runs of an arm that nothing under test can move. What it did between them is the floor under which no
        difference counts.
    kinds
        Compare on questions of these kinds alone. Looking at many kinds is many tests: one that is readable among ten
        may be chance.

    Raises
    ------
    RunError
        When a report is FAILED, or they are not of the same questions, labels and corpus.

    Examples
    --------
    >>> compare({"windows": before, "symbols": after}).verdict("recall@8")  # doctest: +SKIP
    'better'
    """
    if len(reports) < 2:
        raise RunError(f"a comparison needs two reports or more, not {len(reports)}")
    unknown = [m for m in metrics if m not in COMPARED]
    if unknown:
        raise RunError(f"{unknown[0]!r} cannot be compared as a mean; choose from {', '.join(COMPARED)}")
    if not 0 <= margin < 1:
        raise RunError(f"the margin is {margin:g}; give one from 0 to below 1, such as {MARGIN:g}")
    base = baseline if baseline is not None else next(iter(reports))
    if base not in reports:
        raise RunError(f"there is no report {base!r} to compare with; there is {', '.join(reports)}")
    others = {name: report for name, report in reports.items() if name != base}
    for name, report in others.items():
        check_comparable(base, reports[base], name, report)
    floor = _floor(control, metrics)
    if kinds is not None:
        ids = {case["id"] for case in reports[base].cases if case["kind"] in kinds}
        reports = {name: report.only(ids) for name, report in reports.items()}
        others = {name: report for name, report in reports.items() if name != base}
    rows = {name: {m: differences_of(reports[base], report, m) for m in metrics} for name, report in others.items()}
    differences = []
    for metric in metrics:
        ps = _holm([permutation_p(rows[name][metric]) for name in others])
        for name, p in zip(others, ps, strict=True):
            differences.append(_difference(name, metric, rows[name][metric], p, margin, floor.get(metric, 0.0)))
    changes = [c for name, report in others.items() for c in _changes(name, reports[base], report)]
    return Comparison(
        baseline=base,
        differences=tuple(sorted(differences, key=lambda d: list(others).index(d.system))),
        changes=tuple(changes),
        inert=tuple(name for name, report in others.items() if _rankings(report) == _rankings(reports[base])),
        settings={name: _changed_settings(reports[base], report) for name, report in others.items()},
        floor=floor,
        margin=margin,
    )


def compare_kinds(
    before: Report, after: Report, metric: str = "recall@8", *, margin: float = MARGIN
) -> dict[str, Difference]:
    """One metric kind by kind: a mean over all questions can rise while one kind is lost altogether.

    Parameters
    ----------
    before, after
        Reports on the same questions.
    metric
        From `COMPARED`.
    margin
        Half-width of what counts as equivalent.

    Returns
    -------
    dict
        By kind that the metric says something about. The p-values are Holm-corrected over the kinds: ten looks are ten
        chances to be lucky.

    Raises
    ------
    RunError
        As `compare`.
    """
    check_comparable("before", before, "after", after)
    kinds = dict.fromkeys(case["kind"] for case in before.cases)
    found = {kind: differences_of(before, after, metric, kind) for kind in kinds}
    found = {kind: d for kind, d in found.items() if d.size}
    ps = _holm([permutation_p(d) for d in found.values()])
    return {kind: _difference(kind, metric, d, p, margin, 0.0) for (kind, d), p in zip(found.items(), ps, strict=True)}


def check_comparable(name: str, report: Report, other_name: str, other: Report) -> None:
    """Raise RunError unless two reports are of the same questions, labels and corpus, and neither FAILED."""
    for label, one in ((name, report), (other_name, other)):
        if one.status != "ok":
            first = next(iter(one.failures.items()), ("?", "unknown"))
            raise RunError(
                f"{label} is FAILED on {len(one.failures)} of {one.n} questions ({first[0]}: {first[1]}); "
                "mend that before comparing"
            )
    for what in ("corpus", "golden"):
        mine, theirs = getattr(report, what)["sha256"], getattr(other, what)["sha256"]
        if mine != theirs:
            raise RunError(
                f"{name} and {other_name} are of different versions of the {what} ({mine[:12]}… and {theirs[:12]}…); "
                "measure both on the same one"
            )
    if report.pooled != other.pooled:
        raise RunError(f"one of {name} and {other_name} counts pooled labels, the other does not; measure both alike")
    if [case["id"] for case in report.cases] != [case["id"] for case in other.cases]:
        raise RunError(f"{name} and {other_name} hold different questions; measure both on the whole golden file")


def smallest_readable(differences: np.ndarray) -> float | None:
    """The true mean difference that the test finds in four samples out of five of this size and kind.

    Parameters
    ----------
    differences
        One a question. How many of them moved, and how far, is what is expected of the next sample.

    Returns
    -------
    float or None
        None where fewer than two questions differ, so that there is nothing to judge by, or where they are so few that
        not even a move of all of them the same way would be found.
    """
    if np.count_nonzero(differences) < 2:
        return None
    from scipy.optimize import brentq

    n, (moved, size) = differences.size, equal_moves(differences)
    if power(size, moved, n, size) < _POWER:
        return None
    return float(brentq(lambda effect: power(effect, moved, n, size) - _POWER, 0.0, size, xtol=1e-4))


def equal_moves(differences: np.ndarray) -> tuple[float, float]:
    """The share of questions that move, and how far, as if all moved equally far.

    Unequal moves act like fewer equal ones: as many as have the same variance and the same kurtosis.

    Examples
    --------
    >>> equal_moves(np.array([1.0, -1.0, 0.0, 0.0]))
    (0.5, 1.0)
    """
    squares = differences**2
    moved = float(squares.sum() ** 2 / (squares**2).sum() / differences.size)
    return moved, math.sqrt(float(squares.mean()) / moved)


def power(effect: float, moved: float, n: int, size: float = 1.0) -> float:
    """How often the test finds a true mean difference.

    The sign test is what decides where questions are found or not: however large the mean, six of six questions must
    move one way before p is below 0.05. The usual formula from the standard deviation forgets that and promises twice
    too much where few questions move.

    Parameters
    ----------
    effect
        The true mean difference, in the metric's unit.
    moved
        Share of questions expected to be answered differently, either way, 0 to 1. Raised to ``effect / size`` where
        fewer could not make up the effect.
    n
        Questions.
    size
        How far a question moves: 1 for found or not found.

    Examples
    --------
    >>> round(power(0.05, 0.10, 100), 2), round(power(0.05, 0.10, 400), 2)
    (0.24, 0.87)
    """
    from scipy.stats import binom

    moved = min(1.0, max(moved, abs(effect) / size))
    if moved == 0:
        return 0.0
    upward = min(1.0, (1 + abs(effect) / (moved * size)) / 2)
    m = np.arange(n + 1)
    critical = binom.isf(_ALPHA / 2, m, 0.5) + 1  # fewest moves one way that chance gives in less than 2.5%
    found = binom.sf(critical - 1, m, upward) + binom.cdf(m - critical, m, upward)
    return float((binom.pmf(m, n, moved) * found).sum())


def permutation_p(differences: np.ndarray) -> float | None:
    """Two-sided p-value of the mean under random signs; exact up to 16 questions that differ, sampled beyond."""
    from scipy.stats import permutation_test

    moved = differences[differences != 0]  # a zero has no sign to flip
    if differences.size == 0:
        return None
    if moved.size == 0:
        return 1.0
    if moved.size == 1:
        return 1.0  # one question alone is as likely to fall either way
    result = permutation_test(
        (moved,),
        lambda x, axis: x.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=_PERMUTATIONS,
        rng=np.random.default_rng(_SEED),
    )
    return float(result.pvalue)


def paired_difference(
    system: str, metric: str, differences: np.ndarray, *, margin: float = MARGIN, floor: float = 0.0
) -> Difference:
    """The verdict on one metric from its differences question by question, for scores that are in no report.

    Parameters
    ----------
    system, metric
        What the difference is of.
    differences
        One a question, system minus baseline, higher being better.
    margin
        Half-width of what counts as equivalent.
    floor
        Absolute difference up to which nothing counts.
    """
    return _difference(system, metric, differences, permutation_p(differences), margin, floor)


def _difference(system: str, metric: str, d: np.ndarray, p: float | None, margin: float, floor: float) -> Difference:
    if d.size == 0:
        return Difference(system, metric, None, None, None, None, 0, None, "no data")
    low, high = _interval(d)
    value = float(d.mean())
    sign = -1 if metric in _LOWER_IS_BETTER else 1
    verdict = _verdict(sign * value, *sorted((sign * low, sign * high)), p or 0.0, d.size, margin, floor)
    return Difference(system, metric, value, low, high, p, int(d.size), smallest_readable(d), verdict)


def _interval(d: np.ndarray) -> tuple[float, float]:
    """95% interval of the mean difference. Where nothing moved, the rule of three bounds how many others could."""
    if np.all(d == 0):
        bound = min(1.0, 3 / d.size)
        return -bound, bound
    if d.size == 1:
        return -1.0, 1.0
    # Shifted out of [0, 1] and back: wins alone (0 or 1) are differences here, not a proportion that stops at 0.
    e = estimate(d + 2.0)
    # every metric lies in [0, 1], so no difference is beyond 1
    return max(-1.0, float(e["low"]) - 2.0), min(1.0, float(e["high"]) - 2.0)


def _verdict(value: float, low: float, high: float, p: float, n: int, margin: float, floor: float) -> Verdict:
    if p < _ALPHA and abs(value) > floor:
        if low > 0:
            return "better"
        if high < 0:
            return "worse"
    if -margin <= low and high <= margin:
        return "equivalent"
    return f"not readable at n={n}"


def differences_of(before: Report, after: Report, metric: str, kind: str | None = None) -> np.ndarray:
    """One metric's difference (after minus before) of every question it applies to, of one kind or of all."""
    pairs = zip(before.cases, after.cases, strict=True)
    values = [(a["metrics"][metric], b["metrics"][metric]) for a, b in pairs if kind in (None, a["kind"])]
    return np.array([b - a for a, b in values if a is not None and b is not None], dtype=float)


def _holm(ps: Sequence[float | None]) -> list[float | None]:
    known = sorted((p, i) for i, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = list(ps)
    running = 0.0
    for order, (p, i) in enumerate(known):
        running = max(running, min(1.0, p * (len(known) - order)))
        adjusted[i] = running
    return adjusted


def _floor(control: tuple[Report, Report] | None, metrics: Sequence[str]) -> dict[str, float]:
    if control is None:
        return {}
    check_comparable("the control's first run", control[0], "its second", control[1])
    moved = {m: differences_of(control[0], control[1], m) for m in metrics}
    return {m: float(abs(d.mean())) for m, d in moved.items() if d.size}


def _changes(system: str, base: Report, other: Report) -> list[Change]:
    pairs = zip(base.cases, other.cases, strict=True)
    moved = [
        Change(system, a["id"], a["q"], a["kind"], a["first_rank"], b["first_rank"])
        for a, b in pairs
        if a["expect"] and a["first_rank"] != b["first_rank"]
    ]
    return sorted(moved, key=lambda c: (-abs(1 / _rank(c.after) - 1 / _rank(c.before)), c.id))


def _rankings(report: Report) -> list[list[str]]:
    return [[hit["id"] for hit in case["hits"]] for case in report.cases]


def _changed_settings(base: Report, other: Report) -> dict[str, tuple[Any, Any]]:
    """What differs in the configuration, or beside it: the model that ran, the hits that came."""
    before, after = ({**r.config, "model": r.model, "depth": r.depth} for r in (base, other))
    pairs = {name: (before.get(name), after.get(name)) for name in sorted({*before, *after})}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _rank(rank: int | None) -> float:
    return math.inf if rank is None else rank


def shown_rank(rank: int | None) -> str:
    """A rank as text."""
    return "not found" if rank is None else str(rank)


def _change(change: Change) -> dict[str, Any]:
    return {name: getattr(change, name) for name in Change.__slots__}

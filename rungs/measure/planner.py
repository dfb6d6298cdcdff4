"""How many questions does it take? From two runs at hand to the labels that would read a given difference.

What decides is how many questions a change moves at all, and how far: a change that touches one question in ten needs
far more of them than one that reshuffles everything by the same mean. Two runs of the kind that will be compared later,
on whatever questions there are, say how many move; `rungs.measure.compare.power` says the rest.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rungs.errors import RunError
from rungs.measure.compare import COMPARED, check_comparable, differences_of, equal_moves, power, smallest_readable
from rungs.measure.report import Report
from rungs.measure.table import Table

__all__ = ["Plan", "PlannedKind", "labels_needed", "plan"]

_POWER = 0.8
_MOST = 1 << 15


@dataclass(frozen=True, slots=True)
class PlannedKind:
    """One kind of question.

    Attributes
    ----------
    kind
        Its name; ``all`` for every question together.
    n
        Questions there are.
    moved
        Share of them that the two runs answer differently.
    readable
        The smallest difference they would show four times out of five; None where there is none.
    needed
        Questions it takes to read the difference asked for; None where no number that anybody would write is enough, or
        too few moved to say.
    """

    kind: str
    n: int
    moved: float
    readable: float | None
    needed: int | None


@dataclass(frozen=True)
class Plan:
    """What `plan` returns."""

    metric: str
    difference: float
    kinds: tuple[PlannedKind, ...]

    def table(self) -> Table:
        """One row a kind."""
        rows = [
            (
                k.kind,
                str(k.n),
                f"{k.moved:.0%}",
                "–" if k.readable is None else f"{k.readable:.3f}",
                "cannot say" if k.needed is None else str(k.needed),
                "" if k.needed is None else str(max(0, k.needed - k.n)),
            )
            for k in self.kinds
        ]
        header = ("kind", "questions", "moved", "readable now", f"needed for {self.difference:g}", "still to write")
        note = "read: found four times out of five by the test that `compare` makes, at 5%"
        return Table(
            f"{self.metric}: questions needed to read a difference of {self.difference:g}", header, rows, (note,)
        )

    def summary(self) -> str:
        """Lines for a terminal."""
        return self.table().text()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        kinds = [{name: getattr(k, name) for name in PlannedKind.__slots__} for k in self.kinds]
        return {"metric": self.metric, "difference": self.difference, "kinds": kinds}

    def _repr_html_(self) -> str:
        return self.table().html()


def plan(before: Report, after: Report, difference: float = 0.05, *, metric: str = "recall@8") -> Plan:
    """Say for each kind of question how many labels would read a difference.

    Parameters
    ----------
    before, after
        Two runs on the same questions that differ as the runs to come will: how many questions they move is what the
        plan rests on.
    difference
        What should be readable, in the metric's unit; above 0.
    metric
        From `rungs.measure.compare.COMPARED`.

    Raises
    ------
    RunError
        When the two are not of the same questions, the metric is no mean, or the difference is no number above 0.

    Examples
    --------
    >>> plan(Report.load("dense.json"), Report.load("bm25.json"), 0.05).summary()  # doctest: +SKIP
    """
    if not 0 < difference < math.inf:
        raise RunError(f"the difference to read is {difference:g}; give a number above 0, such as 0.05")
    if metric not in COMPARED:
        raise RunError(f"{metric!r} cannot be compared as a mean; choose from {', '.join(COMPARED)}")
    check_comparable("before", before, "after", after)
    groups = {"all": None, **dict.fromkeys(case["kind"] for case in before.cases)}
    found = []
    for name in groups:
        d = differences_of(before, after, metric, None if name == "all" else name)
        if d.size:
            found.append(_planned(name, d, difference))
    return Plan(metric, difference, tuple(found))


def _planned(kind: str, d: np.ndarray, difference: float) -> PlannedKind:
    moved = float(np.count_nonzero(d) / d.size)
    if np.count_nonzero(d) < 2:
        return PlannedKind(kind, int(d.size), moved, None, None)
    share, size = equal_moves(d)
    return PlannedKind(kind, int(d.size), moved, smallest_readable(d), labels_needed(difference, share, size))


def labels_needed(difference: float, moved: float, size: float = 1.0) -> int | None:
    """The fewest questions that read a true difference four times out of five.

    Parameters
    ----------
    difference
        The true mean difference.
    moved, size
        As for `rungs.measure.compare.power`.

    Returns
    -------
    int or None
        None where even tens of thousands would not do, as when the difference is larger than a move.

    Examples
    --------
    >>> labels_needed(0.05, 0.2), labels_needed(0.2, 0.3)
    (658, 61)
    """
    if difference > size:
        return None
    low, high = 1, 2
    while power(difference, moved, high, size) < _POWER:
        low, high = high, high * 2
        if high > _MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(difference, moved, middle, size) >= _POWER else (middle, high)
    return high

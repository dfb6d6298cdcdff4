"""Two judged runs, question by question, beside what a judge differs by from itself."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rungs.errors import RunError
from rungs.measure.compare import MARGIN, Difference, Verdict, paired_difference
from rungs.measure.judged.result import JUDGED, JudgedRun, bounds_text
from rungs.measure.table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["JudgedComparison", "compare_judged"]

_ALIKE = ("model", "api_base", "ragas", "prompt", "top_k", "reference")


@dataclass(frozen=True)
class JudgedComparison:
    """What `compare_judged` returns.

    Attributes
    ----------
    differences
        One a metric: second run minus first, question by question.
    floor
        By metric, how far the control's two runs lie apart; no difference up to that counts.
    margin
        Half-width of what counts as equivalent.
    """

    differences: tuple[Difference, ...]
    floor: dict[str, float]
    margin: float = MARGIN

    def verdict(self, metric: str) -> Verdict:
        """The verdict on one metric.

        Raises
        ------
        RunError
            When there is no such metric.
        """
        found = {d.metric: d.verdict for d in self.differences}
        if metric not in found:
            raise RunError(f"{metric!r} was not judged; choose from {', '.join(found)}")
        return found[metric]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        rows = [{name: getattr(d, name) for name in Difference.__slots__} for d in self.differences]
        return {"margin": self.margin, "floor": self.floor, "differences": rows}

    def to_frame(self) -> "pd.DataFrame":
        """One row a metric."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()["differences"])

    def table(self) -> Table:
        """Difference, interval, p, the control's drift, verdict."""
        header = ("score", "difference", "95% paired interval", "p", "control's drift", "verdict")
        rows = [
            [
                d.metric,
                f"{d.value:+.3f}",
                bounds_text(d.low, d.high, "+"),
                f"{d.p:.3f}",
                f"{self.floor[d.metric]:.3f}",
                d.verdict,
            ]
            for d in self.differences
        ]
        return Table(f"second run minus first, margin ±{self.margin:g}", header, rows)

    def summary(self) -> str:
        """Lines for a terminal."""
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()


def compare_judged(
    a: JudgedRun, b: JudgedRun, *, control: tuple[JudgedRun, JudgedRun], margin: float = MARGIN
) -> JudgedComparison:
    """Is the second run better than the first, and by more than a judge's own drift?

    Parameters
    ----------
    a, b
        What is compared; a positive difference is in favour of ``b``.
    control
        Two runs of one system, nothing changed between them, taken with the same judge. ``a`` may be one of them.
    margin
        Half-width of what counts as equivalent.

    Raises
    ------
    RunError
        When a run is FAILED, or they were not judged alike: other questions, another judge, prompt or reference; or when
        the control is no control, being one run twice or two systems.

    Examples
    --------
    >>> compare_judged(dense, fused, control=(dense, dense_again)).verdict("faithfulness")  # doctest: +SKIP
    'not readable at n=108'
    """
    first, second = control
    for name, run in (("the second run", b), ("the control's first run", first), ("the control's second run", second)):
        _check_alike(a, run, name)
    if first.taken == second.taken:
        raise RunError("the control is one run given twice, which cannot drift; judge the same system again")
    if first.config != second.config:
        raise RunError("the control's two runs are of different settings; judge one system twice")
    floor = {metric: float(abs(_paired(first, second, metric).mean())) for metric in JUDGED}
    differences = [
        paired_difference("second", metric, _paired(a, b, metric), margin=margin, floor=floor[metric])
        for metric in JUDGED
    ]
    return JudgedComparison(tuple(differences), floor, margin)


def _check_alike(a: JudgedRun, b: JudgedRun, name: str) -> None:
    for label, run in (("the first run", a), (name, b)):
        if run.status != "ok":
            raise RunError(f"{label} is FAILED on {len(run.failures)} of {run.n} questions; judge it again")
    for what, mine, theirs in (
        ("the corpus", a.corpus["sha256"], b.corpus["sha256"]),
        ("the golden file", a.golden["sha256"], b.golden["sha256"]),
        ("the questions", [case["id"] for case in a.cases], [case["id"] for case in b.cases]),
        *((f"the judge's {key}", a.judge.get(key), b.judge.get(key)) for key in _ALIKE),
    ):
        if mine != theirs:
            raise RunError(f"{what} of the first run and of {name} differ; judge both alike")


def _paired(a: JudgedRun, b: JudgedRun, metric: str) -> np.ndarray:
    pairs = zip(a.cases, b.cases, strict=True)
    return np.array([theirs["scores"][metric] - mine["scores"][metric] for mine, theirs in pairs], dtype=float)

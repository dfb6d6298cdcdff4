"""May this change go in? A saved report against a new one, over all questions and kind by kind.

The mean alone is a poor guard: keep code only, and the questions about code pay for the documents that are gone. So a
gate also stops what is readably worse on one kind of question. It lets through what cannot be read: a gate that stops
noise is soon switched off.
"""

from dataclasses import dataclass
from typing import Any

from rungs.errors import RunError
from rungs.measure.compare import MARGIN, Comparison, Difference, compare, compare_kinds
from rungs.measure.report import Report
from rungs.measure.table import Table

__all__ = ["Gate", "gate"]

_HELD_FIXED = ("chunking",)


@dataclass(frozen=True)
class Gate:
    """What `gate` returns.

    Attributes
    ----------
    comparison
        Over all questions.
    kinds
        Recall@8 by kind, Holm-corrected over the kinds.
    failures
        Questions that failed in the new run, with what went wrong; then nothing is compared.
    """

    comparison: Comparison | None
    kinds: dict[str, Difference]
    failures: dict[str, str]

    @property
    def worse(self) -> list[str]:
        """What is readably worse: metrics, and kinds."""
        metrics = [d.metric for d in self.comparison.differences if d.verdict == "worse"] if self.comparison else []
        return metrics + [f"{d.metric} on {kind}" for kind, d in self.kinds.items() if d.verdict == "worse"]

    @property
    def passed(self) -> bool:
        """Whether nothing failed and nothing is readably worse."""
        return not self.failures and not self.worse

    @property
    def verdict(self) -> str:
        """One line."""
        if self.failures:
            shown = "; ".join(f"{id}: {error}" for id, error in list(self.failures.items())[:3])
            return f"gate: FAILED on {len(self.failures)} questions ({shown})"
        return f"gate: worse on {', '.join(self.worse)}" if self.worse else "gate: passed (nothing is readably worse)"

    def tables(self) -> list[Table]:
        """The comparison, and the kinds."""
        if self.comparison is None:
            return []
        rows = [
            (kind, f"{d.value:+.3f}", f"[{d.low:+.3f}, {d.high:+.3f}]", str(d.n), d.verdict)
            for kind, d in self.kinds.items()
        ]
        header = ("kind", "recall@8", "95% interval", "n", "verdict")
        return [*self.comparison.tables(), Table("by kind, Holm-corrected over the kinds", header, rows)]

    def summary(self) -> str:
        """Lines for a terminal; the last one is the verdict."""
        return "\n".join([*(table.text() for table in self.tables()), self.verdict])

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        compared = self.comparison.to_dict() if self.comparison else {}
        kinds = {k: {name: getattr(d, name) for name in Difference.__slots__} for k, d in self.kinds.items()}
        said = "FAILED" if self.failures else "worse" if self.worse else "passed"
        return {**compared, "kinds": kinds, "failures": self.failures, "worse_on": self.worse, "gate": said}

    def _repr_html_(self) -> str:
        return "\n".join([*(t.html() for t in self.tables() if t.rows), Table(self.verdict, ("",), ()).html()])


def gate(baseline: Report, now: Report, *, margin: float = MARGIN) -> Gate:
    """Hold a new run against a saved one.

    Parameters
    ----------
    baseline
        A report that was fine.
    now
        The same questions, asked of what may go in.
    margin
        Half-width of what counts as equivalent.

    Raises
    ------
    RunError
        When the baseline is FAILED, or the two are of different questions, labels, corpus or chunking.

    Examples
    --------
    >>> result = gate(Report.load("baseline.json"), evaluate(retriever, golden))  # doctest: +SKIP
    >>> print(result.summary()); sys.exit(not result.passed)                      # doctest: +SKIP
    """
    for name in _HELD_FIXED:
        was, is_now = baseline.config.get(name), now.config.get(name)
        if None not in (was, is_now) and was != is_now:
            raise RunError(f"the baseline was measured with {name} {was}, not {is_now}; a gate holds that fixed")
    if now.status != "ok":
        return Gate(None, {}, now.failures)
    comparison = compare({"baseline": baseline, "now": now}, margin=margin)
    return Gate(comparison, compare_kinds(baseline, now, margin=margin), {})

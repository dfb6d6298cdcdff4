"""What each technique is worth: alone on the baseline, and by its absence from the stack.

The two numbers differ, and the difference is the lesson. A technique that helps alone and is not missed from the stack
does what another one does already; one that does nothing alone and is missed only works on what another one finds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llama_index.core.base.base_retriever import BaseRetriever

from rungs.errors import RunError
from rungs.measure.compare import MARGIN, Comparison, compare
from rungs.measure.evaluate import evaluate_all
from rungs.measure.golden import Golden
from rungs.measure.report import Report
from rungs.measure.table import Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Ablation", "ablate"]

_BASELINE, _STACK = "baseline", "all of them"


@dataclass(frozen=True)
class Ablation:
    """What `ablate` returns.

    Attributes
    ----------
    techniques
        Names, in order.
    metrics
        What was compared.
    reports
        ``baseline``, ``+ name`` for each technique alone, ``all of them``, ``- name`` for the stack without each.
    alone
        Each technique alone, and the stack, against the baseline.
    without
        The stack without each, against the stack; None where there is one technique only.
    """

    techniques: tuple[str, ...]
    metrics: tuple[str, ...]
    reports: dict[str, Report]
    alone: Comparison
    without: Comparison | None

    def table(self) -> Table:
        """One row a configuration, with its differences and verdicts."""
        header = ["configuration", "against", *self.metrics]
        rows = [[_BASELINE, "", *(_value(self.reports[_BASELINE], metric) for metric in self.metrics)]]
        for comparison in (self.alone, self.without):
            if comparison is not None:
                systems = dict.fromkeys(d.system for d in comparison.differences)
                rows += [self._row(comparison, system) for system in systems]
        return Table(f"{len(self.techniques)} techniques, one by one and all but one", header, rows, self._notes())

    def summary(self) -> str:
        """Lines for a terminal."""
        return self.table().text()

    def to_frame(self) -> "pd.DataFrame":
        """One row a configuration and metric, as in `Comparison.to_frame`, with what it is held ``against``."""
        import pandas as pd

        parts = [c for c in (self.alone, self.without) if c is not None]
        return pd.concat([c.to_frame().assign(against=c.baseline) for c in parts], ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        without = None if self.without is None else self.without.to_dict()
        return {"techniques": list(self.techniques), "alone": self.alone.to_dict(), "without": without}

    def _repr_html_(self) -> str:
        return self.table().html()

    def _row(self, comparison: Comparison, system: str) -> list[str]:
        found = {d.metric: d for d in comparison.differences if d.system == system}
        cells = []
        for metric in self.metrics:
            d = found[metric]
            verdict = "no data" if d.value is None else f"{d.value:+.3f} [{d.low:+.3f}, {d.high:+.3f}] {d.verdict}"
            cells.append(f"{_value(self.reports[system], metric)} {verdict}")
        return [system, comparison.baseline, *cells]

    def _notes(self) -> list[str]:
        inert = [*self.alone.inert, *(self.without.inert if self.without else ())]
        return [f"{name}: changed no ranking at all; check that it reaches its stage" for name in inert]


def ablate(
    techniques: Mapping[str, Mapping[str, Any]],
    golden: Golden,
    *,
    make: Callable[..., BaseRetriever],
    metrics: Sequence[str] = ("recall@8", "mrr"),
    margin: float = MARGIN,
    progress: bool = True,
) -> Ablation:
    """Measure techniques alone on the baseline, together, and the stack without each.

    Parameters
    ----------
    techniques
        By name, the settings that switch each on. No two may want different values of one setting.
    golden
        The questions.
    make
        Builds a retriever: ``make()`` is the baseline, ``make(**settings)`` has them on. Configurations that share
        channel objects share their work.
    metrics
        From `rungs.measure.compare.COMPARED`.
    margin
        Half-width of what counts as equivalent.
    progress
        Show bars on stderr.

    Raises
    ------
    RunError
        When there is no technique, two of them contradict each other, or a run is FAILED.

    Examples
    --------
    >>> ablate({"deep": {"candidates": 100}, "code": {"category": "code"}}, golden, make=bench.funnel)  # doctest: +SKIP
    """
    _check(techniques)
    names = tuple(techniques)
    settings: dict[str, dict[str, Any]] = {_BASELINE: {}} | {f"+ {name}": dict(techniques[name]) for name in names}
    if len(names) > 1:
        settings[_STACK] = _merged(techniques, names)
    if len(names) > 2:  # the stack of two without one is the other alone
        settings |= {f"- {name}": _merged(techniques, [n for n in names if n != name]) for name in names}
    retrievers = {name: make(**changes) for name, changes in settings.items()}
    reports = evaluate_all(retrievers, golden, latency=False, progress=progress)
    if len(names) == 2:
        reports |= {f"- {names[0]}": reports[f"+ {names[1]}"], f"- {names[1]}": reports[f"+ {names[0]}"]}
    first = [name for name in reports if not name.startswith("- ")]
    second = [_STACK, *(name for name in reports if name.startswith("- "))]
    options: dict[str, Any] = {"metrics": metrics, "margin": margin}
    return Ablation(
        techniques=names,
        metrics=tuple(metrics),
        reports=reports,
        alone=compare({name: reports[name] for name in first}, **options),
        without=compare({name: reports[name] for name in second}, **options) if len(names) > 1 else None,
    )


def _check(techniques: Mapping[str, Mapping[str, Any]]) -> None:
    if not techniques:
        raise RunError("there is no technique to take away; name one or more, each with its settings")
    seen: dict[str, tuple[str, Any]] = {}
    for name, changes in techniques.items():
        if not changes:
            raise RunError(f"technique {name!r} changes no setting; say which")
        for setting, value in changes.items():
            if seen.setdefault(setting, (name, value))[1] != value:
                raise RunError(f"{seen[setting][0]!r} and {name!r} want different values of {setting}; split them")


def _merged(techniques: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    return {setting: value for name in names for setting, value in techniques[name].items()}


def _value(report: Report, metric: str) -> str:
    estimate = report.metrics[metric]
    return "no data" if not estimate["n"] else f"{estimate['value']:.3f}"

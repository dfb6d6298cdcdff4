"""How often routers err, each way."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rungs.errors import RunError
from rungs.plots._style import (
    LINE_COLOURS,
    ROW_MARKERS,
    draw_intervals,
    new_figure,
    note,
    rows_down,
    set_figure_title,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["rates"]

_BySystem = Mapping[str, Mapping[str, Any]]  # estimates of one rate


def rates(found: Mapping[str, Mapping[str, Mapping[str, Any]]], label: str) -> "Figure":
    """Several rates of several systems, in percent, each with its 95% interval and its count.

    Parameters
    ----------
    found
        By system, then by the name of the rate, an estimate of `rungs.measure.estimate`: a mean between 0 and 1.
    label
        Under the axes: what the rates are shares of.

    Raises
    ------
    RunError
        When a rate has no data.
    """
    names = list(dict.fromkeys(name for by_name in found.values() for name in by_name))
    for system, by_name in found.items():
        for name in names:
            if name not in by_name or not by_name[name]["n"]:
                raise RunError(f"{system} has no {name}; measure it before drawing")
    by_rate = {name: {system: by_name[name] for system, by_name in found.items()} for name in names}
    figure = new_figure(1.2 + 0.36 * len(found))
    every = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    edge = max(e["high"] for by_system in by_rate.values() for e in by_system.values())
    for axes, (name, by_system) in zip(every, by_rate.items(), strict=True):
        _draw_panel(axes, by_system)
        axes.set_title(name, fontsize=9.5)
        axes.set_xlim(-0.01, edge * 1.25)
    figure.supxlabel(label, fontsize=9)
    said = "; ".join(f"{name} are fewest with {_fewest(by_system)}" for name, by_system in by_rate.items())
    set_figure_title(figure, said[0].upper() + said[1:])
    return figure


def _draw_panel(axes: "Axes", by_system: _BySystem) -> None:
    for y, (system, e) in enumerate(by_system.items()):
        look = LINE_COLOURS[y % len(LINE_COLOURS)], ROW_MARKERS[y % len(ROW_MARKERS)]
        draw_intervals(axes, [(y, e)], system, look)
        note(axes, f"{round(e['value'] * e['n'])} of {e['n']}", (e["high"], y), (6, 0), va="center", fontsize=8.5)
    rows_down(axes, list(by_system))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    tidy(axes, grid="x")


def _fewest(by_system: _BySystem) -> str:
    """Which systems have the lowest of a rate, and what it is."""
    lowest = min(e["value"] for e in by_system.values())
    systems = [system for system, e in by_system.items() if e["value"] == lowest]
    return f"{' and '.join(systems)} ({lowest:.0%})"

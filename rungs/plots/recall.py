"""The rows of the ladder beside each other, over all questions and by kind."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rungs.errors import RunError
from rungs.measure.report import Report
from rungs.plots._reports import check_ok
from rungs.plots._style import (
    draw_intervals,
    legend_below,
    new_figure,
    one_panel,
    row_looks,
    rows_down,
    set_figure_title,
    set_title,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["recall_by_kind"]

_MOST_IN_ONE_PANEL = 7
_PANELS_ACROSS = 4

_ByRow = Mapping[str, Mapping[str, Any]]  # estimates of one group of questions


def recall_by_kind(reports: Mapping[str, Report], metric: str = "recall@8") -> "Figure":
    """One metric of every row, over all questions and by kind, each with its 95% interval.

    Up to seven rows share one panel, a group of lines for each kind. More rows get a panel for each kind, with the rows
    named at the left and their values at the right.

    Parameters
    ----------
    reports
        By the name of the row, in the order of the legend.
    metric
        A metric that is a mean between 0 and 1. Kinds it says nothing about are left out.

    Raises
    ------
    RunError
        When there is no report, or one is FAILED and has no figures.
    """
    check_ok(reports)
    groups = _groups(reports, metric)
    return (_all_in_one_panel if len(reports) <= _MOST_IN_ONE_PANEL else _panel_by_kind)(groups, metric)


def _groups(reports: Mapping[str, Report], metric: str) -> dict[str, _ByRow]:
    """Estimates by group, then by row; groups the metric says nothing about left out."""
    every = {name: {"all": report.metrics, **report.by_kind} for name, report in reports.items()}
    order = list(dict.fromkeys(group for groups in every.values() for group in groups))
    nothing = {"value": None, "low": None, "high": None, "n": 0}
    found = {g: {name: groups.get(g, {}).get(metric, nothing) for name, groups in every.items()} for g in order}
    kept = {g: by_row for g, by_row in found.items() if any(e["n"] for e in by_row.values())}
    if "all" not in kept:
        raise RunError(f"no row has any {metric}; the metrics are {', '.join(next(iter(reports.values())).metrics)}")
    return kept


def _all_in_one_panel(groups: Mapping[str, _ByRow], metric: str) -> "Figure":
    """A group of lines for each group of questions, a line for each row."""
    names = list(groups["all"])
    figure, axes = one_panel(1.3 + len(groups) * (0.18 * len(names) + 0.16))
    step = 0.8 / len(names)
    looks = row_looks(names)
    for row, name in enumerate(names):
        offset = (row - (len(names) - 1) / 2) * step
        points = [(g + offset, by_row[name]) for g, by_row in enumerate(groups.values()) if by_row[name]["n"]]
        draw_intervals(axes, points, name, looks[name])
    for line in range(1, len(groups)):
        axes.axhline(line - 0.5, color="0.85", linewidth=0.8, zorder=0)
    rows_down(axes, [_named(group, by_row) for group, by_row in groups.items()])
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel(f"{metric} (share of questions, with 95% interval)")
    set_title(axes, _leaders(groups, metric))
    legend_below(figure, columns=min(len(names), 4))
    tidy(axes, grid="x")
    return figure


def _panel_by_kind(groups: Mapping[str, _ByRow], metric: str) -> "Figure":
    """A panel for each group of questions, a line for each row."""
    across = min(_PANELS_ACROSS, len(groups))
    down = -(-len(groups) // across)
    figure = new_figure(1.1 + down * (0.45 + 0.19 * len(groups["all"])))
    every = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for axes, (group, by_row) in zip(every.flat, groups.items(), strict=False):
        _draw_panel(axes, by_row)
        axes.set_title(_named(group, by_row), fontsize=9)
    for axes in list(every.flat)[len(groups) :]:
        axes.remove()
    for column in range(across):  # of a column that ends early, the last panel there is
        drawn = [row for row in range(down) if row * across + column < len(groups)]
        every[drawn[-1]][column].tick_params(labelbottom=True)
    figure.supxlabel(f"{metric}: share of questions, with 95% interval; the highest in bold", fontsize=9)
    set_figure_title(figure, _leaders(groups, metric))
    return figure


def _draw_panel(axes: "Axes", by_row: _ByRow) -> None:
    """Every row of one group with its value at the right, the highest in bold."""
    looks, names = row_looks(by_row), list(by_row)
    best = max((e["value"] for e in by_row.values() if e["n"]), default=None)
    for y, (name, e) in enumerate(by_row.items()):
        if not e["n"]:
            continue
        draw_intervals(axes, [(y, e)], name, looks[name])
        axes.annotate(
            f"{e['value']:.2f}",
            (1.02, y),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=7.5,
            fontweight="bold" if e["value"] == best else "normal",
            annotation_clip=False,
        )
    axes.set_xlim(-0.03, 1.03)
    axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    rows_down(axes, names, room=0.6)
    tidy(axes, grid="x")
    axes.tick_params(labelsize=8)


def _named(group: str, by_row: _ByRow) -> str:
    return f"{group} (n={max(e['n'] for e in by_row.values())})"


def _leaders(groups: Mapping[str, _ByRow], metric: str) -> str:
    """Who is highest where, and where that lead is outside everybody's interval."""
    values = {group: {name: e["value"] or 0.0 for name, e in by_row.items()} for group, by_row in groups.items()}
    overall = max(values["all"], key=values["all"].__getitem__)
    # where several are highest, the one that is highest overall is
    best = {group: max(found, key=lambda name: (found[name], name == overall)) for group, found in values.items()}
    title = f"{metric}: {overall} is highest over all questions ({values['all'][overall]:.2f})"
    elsewhere: dict[str, list[str]] = {}
    for group, name in best.items():
        if name != overall:
            elsewhere.setdefault(name, []).append(group)
    title += "".join(f", {name} on {' and '.join(kinds)}" for name, kinds in elsewhere.items())
    if len(groups["all"]) < 2:
        return title
    clear = [group for group, by_row in groups.items() if _clear(by_row, best[group])]
    where = ", ".join(clear) or "nowhere"
    return f"{title}\nthe lead is clear of every other row's interval on: {where}"


def _clear(by_row: _ByRow, best: str) -> bool:
    return all(by_row[best]["low"] > e["high"] for name, e in by_row.items() if name != best)

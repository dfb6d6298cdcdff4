"""What changed against a baseline, question by question, and which of it can be read."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rungs.errors import RunError
from rungs.plots._style import (
    BLUE,
    GREEN,
    GREY,
    PINK,
    RED,
    TITLE_CHARACTERS,
    draw_intervals,
    legend_below,
    one_panel,
    rows_down,
    set_title,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rungs.measure.compare import Comparison, Difference

__all__ = ["differences", "differences_by_kind"]

_VERDICT_COLOURS = {"better": GREEN, "worse": RED, "equivalent": BLUE}
_VERDICT_MARKS = {"better": " ▲", "worse": " ▼", "equivalent": " ="}
_READABLE = ("better", "worse")
_SHOWN_AS_NOTHING = 0.005  # a difference below this would be written ±0.00


def differences(comparison: "Comparison", metrics: Sequence[str] | None = None) -> "Figure":
    """What changed against the baseline, with paired intervals, the margin and the smallest readable difference.

    Everything is drawn on the scale of the metrics.

    Parameters
    ----------
    comparison
        From `rungs.measure.compare`.
    metrics
        Which to draw; by default all that have data.

    Raises
    ------
    RunError
        When none of the metrics has data.
    """
    drawn = [d for d in comparison.differences if d.value is not None and (metrics is None or d.metric in metrics)]
    if not drawn:
        raise RunError("there is no difference to draw: no metric of this comparison has data")
    several = len({d.system for d in drawn}) > 1
    figure, axes = one_panel(1.5 + 0.34 * len(drawn))
    margin = comparison.margin
    axes.axvspan(-margin, margin, color="0.92", zorder=0, label=f"as good as none (±{margin:g})")
    axes.axvline(0, color="black", linewidth=1)
    for y, d in enumerate(drawn):
        estimate = {"value": d.value, "low": d.low, "high": d.high}
        draw_intervals(axes, [(y, estimate)], None, (_VERDICT_COLOURS.get(d.verdict, GREY), "o"))
        if d.readable is not None:
            label = "smallest readable difference" if y == 0 else None
            axes.plot([-d.readable, d.readable], [y, y], "|", color=PINK, markersize=9, label=label)
        axes.annotate(f"  {d.verdict}", (1, y), xycoords=("axes fraction", "data"), va="center", fontsize=8.5)
    rows_down(axes, [f"{d.system}: {d.metric} (n={d.n})" if several else f"{d.metric} (n={d.n})" for d in drawn])
    axes.set_xlabel(f"difference to {comparison.baseline} (95% paired interval)")
    set_title(axes, _differences_title(comparison.baseline, drawn))
    legend_below(figure)
    tidy(axes, grid="x")
    return figure


def _differences_title(baseline: str, drawn: Sequence["Difference"]) -> str:
    """What is readable by name; what is not by count."""
    several = len({d.system for d in drawn}) > 1
    head = f"Against {baseline}" if several else f"{drawn[0].system} against {baseline}"
    said = []
    for verdict in ("better", "worse", "equivalent"):
        names = [f"{d.system} {d.metric}" if several else d.metric for d in drawn if d.verdict == verdict]
        if names:
            said.append(f"{verdict} on {', '.join(names)}")
    rest = sum(d.verdict.startswith("not readable") for d in drawn)
    if rest:
        said.append(f"{rest} of {len(drawn)} differences not readable")
    # names of rows and verdicts stand beside the axes, and leave less room above them
    return "\n".join(textwrap.wrap(f"{head}: {'; '.join(said)}", TITLE_CHARACTERS - 18))


def differences_by_kind(found: Mapping[str, Mapping[str, "Difference"]], baseline: str, metric: str) -> "Figure":
    """What several rows do to each kind of question against one baseline: a cell each, and which of them can be read.

    Parameters
    ----------
    found
        By row, then by kind, as `rungs.measure.compare_kinds` gives them.
    baseline
        What they are held against.
    metric
        Which metric it is; the cells are on its scale.

    Raises
    ------
    RunError
        When there is no difference to draw.
    """
    kinds = list(dict.fromkeys(kind for by_kind in found.values() for kind in by_kind))
    cells = {
        (i, j): by_kind[kind]
        for i, by_kind in enumerate(found.values())
        for j, kind in enumerate(kinds)
        if kind in by_kind and by_kind[kind].value is not None
    }
    if not cells:
        raise RunError("there is no difference to draw: no row has data")
    figure, axes = one_panel(1.6 + 0.42 * len(found))
    _shade(axes, cells, (len(found), len(kinds)))
    for at, d in cells.items():
        _write_cell(axes, at, d)
    n = {kind: next(by_kind[kind].n for by_kind in found.values() if kind in by_kind) for kind in kinds}
    axes.set_xticks(range(len(kinds)), [f"{kind}\nn={n[kind]}" for kind in kinds])
    axes.set_yticks(range(len(found)), list(found))
    axes.tick_params(length=0, labelsize=9)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(
        f"{metric} minus that of {baseline}. Framed: readable (▲ better, ▼ worse). =: as good as none. Others: not readable",
        fontsize=8.5,
    )
    verdicts = [d.verdict for d in cells.values()]
    better, worse = verdicts.count("better"), verdicts.count("worse")
    set_title(
        axes,
        f"{metric}: of {len(verdicts)} differences to {baseline}, readably better {better}, readably worse {worse}; "
        f"the other {len(verdicts) - better - worse} are none, or cannot be read",
    )
    return figure


def _shade(axes: "Axes", cells: Mapping[tuple[int, int], "Difference"], shape: tuple[int, int]) -> None:
    """Each cell in the shade of its value; one without data is left white."""
    from matplotlib.colors import LinearSegmentedColormap

    values = np.full(shape, np.nan)
    for at, d in cells.items():
        values[at] = d.value
    reach = 1.3 * max(0.1, float(np.nanmax(np.abs(values))))
    shades = LinearSegmentedColormap.from_list("worse to better", (RED, "#FFFFFF", BLUE))
    axes.imshow(values, cmap=shades, vmin=-reach, vmax=reach, aspect="auto")


def _write_cell(axes: "Axes", at: tuple[int, int], d: "Difference") -> None:
    """The value of a cell with the mark of its verdict, in bold and framed where it can be read."""
    from matplotlib.patches import Rectangle

    i, j = at
    readable = d.verdict in _READABLE
    value = f"{d.value:+.2f}" if abs(d.value) >= _SHOWN_AS_NOTHING else "0.00"
    text = f"{value}{_VERDICT_MARKS.get(d.verdict, '')}".replace("-", "−")
    look = {"fontweight": "bold", "color": "black"} if readable else {"color": "0.35"}
    axes.text(j, i, text, ha="center", va="center", fontsize=9, **look)
    if readable:
        axes.add_patch(Rectangle((j - 0.48, i - 0.46), 0.96, 0.92, fill=False, edgecolor="black", linewidth=1.2))

"""One setting over its values."""

from typing import TYPE_CHECKING

import numpy as np

from rungs.plots._style import BLUE, GREEN, ORANGE, PINK, RED, SKY, legend_below, one_panel, reach, set_title, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rungs.measure.sweep import Sweep

__all__ = ["swept"]

_LOOKS = ((BLUE, "o"), (ORANGE, "D"), (GREEN, "^"), (PINK, "v"), (RED, "P"), (SKY, "X"))


def swept(sweep: "Sweep", metric: str | None = None) -> "Figure":
    """One setting over its values: the questions it is tuned for, and each group of controls.

    Parameters
    ----------
    sweep
        From `rungs.measure.sweep`.
    metric
        One of its metrics, a mean between 0 and 1; the first by default.
    """
    metric = metric or sweep.metrics[0]
    figure, axes = one_panel(3.9)
    x = np.arange(len(sweep.values))
    plateau = [i for i, value in enumerate(sweep.values) if value in sweep.plateau]
    if plateau:
        first, last = plateau[0] - 0.5, plateau[-1] + 0.5
        axes.axvspan(first, last, color="0.93", zorder=0, label="not readably worse than the best")
    for row, group in enumerate(sweep.groups):
        estimates = [sweep.figures(value, group)[metric] for value in sweep.values]
        colour, marker = _LOOKS[row % len(_LOOKS)]
        said, style = ("tuned for", "-") if group == "golden" else (f"control: {group}", "--")
        axes.errorbar(
            x + (row - (len(sweep.groups) - 1) / 2) * 0.08,
            np.array([e["value"] for e in estimates]),
            yerr=reach(estimates),
            fmt=marker + style,
            color=colour,
            label=f"{said} (n={estimates[0]['n']})",
            markersize=5.5,
            capsize=2,
        )
    axes.set_xticks(x, [str(value) or "(none)" for value in sweep.values])
    axes.set_xlim(-0.5, len(x) - 0.5)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel(sweep.setting)
    axes.set_ylabel(f"{metric}, with 95% interval")
    set_title(axes, _title(sweep, metric))
    legend_below(figure)
    tidy(axes, grid="y")
    return figure


def _title(sweep: "Sweep", metric: str) -> str:
    if sweep.blind:
        unseen = ", ".join(blindness.category for blindness in sweep.blind)
        return f"{sweep.setting}: this sweep cannot see all the harm it may do ({unseen})"
    if len(sweep.inert) == len(sweep.values) - 1:
        return f"{sweep.setting} changes nothing at any value"
    best = sweep.figures(sweep.best)[metric]["value"]
    title = f"{sweep.setting}: {metric} is highest at {sweep.best} ({best:.2f})"
    harmed = [f"{group} moves {d.value:+.2f} ({d.verdict})" for group, d in sweep.harms(sweep.best).items()]
    if harmed:
        return f"{title}, where {' and '.join(harmed)}"
    return f"{title}, and no control is lower there by more than {sweep.margin:g}"

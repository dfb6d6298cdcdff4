"""The best score of every question: does it tell those with an answer from those without?"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rungs.errors import RunError
from rungs.measure.report import Report
from rungs.plots._reports import check_ok
from rungs.plots._style import BLUE, ORANGE, legend_below, new_figure, note, rows_down, set_title, tidy
from rungs.plots.thresholds import Threshold, best_threshold

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["top_scores"]


def top_scores(report: Report, channel: str = "dense") -> "Figure":
    """The best score of every question, of those with an answer against those without.

    Above, both distributions with the one threshold that separates them best and what it costs both ways; below, every
    question as a tick, by kind for those without an answer.

    Parameters
    ----------
    report
        What was measured.
    channel
        Whose scores: cosines of ``dense``, and of any other channel what it scores by.

    Raises
    ------
    RunError
        When the report is FAILED, or one of the two sides has no question with a score of this channel.
    """
    check_ok({"the report": report})
    scores = _top_scores(report, channel)
    positive = [score for kind, found in scores.items() if not kind.startswith("negative") for score in found]
    negative = {kind: found for kind, found in scores.items() if kind.startswith("negative")}
    pooled = [score for found in negative.values() for score in found]
    if not positive or not pooled:
        raise RunError(f"{channel} scores are not on both sides; measure questions with an answer and without one")
    cut = best_threshold(positive, pooled)
    figure = new_figure(4.4)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1.1])
    _draw_histogram(upper, positive, pooled, cut)
    _draw_ticks(lower, {"with an answer": positive, **negative}, cut)
    lower.set_xlabel(f"{'cosine' if channel == 'dense' else 'score'} of the best hit ({channel})")
    set_title(upper, _title(cut))
    legend_below(figure)
    return figure


def _top_scores(report: Report, channel: str) -> dict[str, list[float]]:
    """Best score of one channel of each question, by kind of question."""
    found: dict[str, list[float]] = {}
    for case in report.cases:
        scores = [hit["scores"][channel] for hit in case["hits"] if hit["scores"].get(channel) is not None]
        if scores:
            found.setdefault(case["kind"], []).append(max(scores))
    return found


def _draw_histogram(axes: "Axes", positive: Sequence[float], negative: Sequence[float], cut: Threshold) -> None:
    edges = np.linspace(min(*positive, *negative), max(*positive, *negative), 25)
    looks = {"color": BLUE}, {"color": ORANGE, "hatch": "//", "edgecolor": "white"}
    for scores, name, look in zip((positive, negative), ("with an answer", "without one"), looks, strict=True):
        axes.hist(scores, edges, density=True, alpha=0.6, label=f"{name} (n={len(scores)})", **look)
    axes.margins(y=0.22)
    axes.axvline(cut.value, color="black", linewidth=1.2)
    refused, admitted = f"refused: {cut.refused} of {cut.positives}", f"let through: {cut.admitted} of {cut.negatives}"
    for text, side, gap in ((refused, "right", -6), (admitted, "left", 6)):
        note(axes, text, (cut.value, 0.99), (gap, 0), xycoords=("data", "axes fraction"), ha=side, va="top")
    axes.set_ylabel("density")
    tidy(axes, grid="x")


def _draw_ticks(axes: "Axes", scores: Mapping[str, Sequence[float]], cut: Threshold) -> None:
    for row, found in enumerate(scores.values()):
        axes.plot(found, [row] * len(found), "|", color=ORANGE if row else BLUE, markersize=11, markeredgewidth=1.4)
    axes.axvline(cut.value, color="black", linewidth=1.2)
    rows_down(axes, list(scores), room=0.6)
    tidy(axes, grid="x")


def _title(cut: Threshold) -> str:
    if not cut.refused and not cut.admitted:
        return f"One threshold separates these two: {cut.value:.2f}"
    return (
        f"No single threshold separates the two: the best one, {cut.value:.2f}, refuses\n"
        f"{cut.refused} of {cut.positives} questions that have an answer and lets through "
        f"{cut.admitted} of {cut.negatives} that have none"
    )

"""How wide a 95% interval is for how many questions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rungs.measure.intervals import estimate
from rungs.plots._style import BLUE, GREY, RED, SKY, legend, note, one_panel, set_title, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["interval_width"]


def interval_width(
    values: Sequence[float],
    metric: str = "mrr",
    *,
    marks: Sequence[int] = (42, 300),
    difference: float | None = None,
) -> "Figure":
    """How wide a 95% interval is for how many questions like these.

    Parameters
    ----------
    values
        The metric of every question that was measured.
    metric
        Its name.
    marks
        Numbers of questions to read off.
    difference
        A difference somebody wants to see, on the scale of the metric; drawn as a line.

    Notes
    -----
    The line is ``2 × 1.96 × s / √n`` with ``s`` the standard deviation of ``values``. The points are intervals by
    `rungs.measure.estimate` over ``n`` values drawn from them.
    """
    values = np.asarray(values, dtype=float)
    largest = max(400, max(marks) + 50, len(values) + 50)
    grid = np.arange(8, largest)
    sizes = sorted({12, 25, *marks, 100, 200, len(values)})
    widths = {n: _drawn_width(values, n) for n in sizes}
    plain = [n for n in sizes if n not in marks]
    figure, axes = one_panel(3.6)
    axes.plot(grid, _normal_width(float(values.std(ddof=1)), grid), color=GREY, label="2 × 1.96 × s / √n")
    axes.plot(plain, [widths[n] for n in plain], "o", color=SKY, label="95% interval of n drawn questions")
    axes.plot(marks, [widths[n] for n in marks], "D", color=RED, markersize=8)
    for n in marks:
        note(axes, f"n = {n}: {widths[n]:.2f} wide", (n, widths[n]), (8, 10))
    if difference is not None:
        axes.axhline(difference, color=BLUE, linestyle="--", label=f"a difference of {difference:.3f}")
    axes.set_xlim(0, largest)
    axes.set_ylim(0, max(widths.values()) * 1.15)
    axes.set_xlabel("questions, n")
    axes.set_ylabel(f"width of the interval of {metric}")
    title = f"{metric}: " + ", ".join(f"{widths[n]:.2f} wide with {n} questions" for n in marks)
    if difference is not None:
        times = widths[min(marks)] / difference
        title += f"\nwith {min(marks)}, that is {times:.0f} times a difference of {difference:.3f}"
    set_title(axes, title)
    legend(axes)
    tidy(axes, grid="both")
    return figure


def _normal_width(spread: float, n: Any) -> Any:
    return 2 * 1.96 * spread / np.sqrt(n)


def _drawn_width(values: np.ndarray, n: int, times: int = 5) -> float:
    """Mean width of the interval over a few samples of ``n`` values; of the values themselves where there are ``n``."""
    if n == len(values):
        samples = [values]
    else:
        generator = np.random.default_rng(n)
        samples = [generator.choice(values, n) for _ in range(times)]
    found = [estimate(sample) for sample in samples]
    return float(np.mean([e["high"] - e["low"] for e in found]))

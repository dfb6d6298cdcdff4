"""How every figure looks: its size and colours, and what is drawn on all axes alike.

Colours are those of Okabe and Ito, which stay apart for readers who do not tell red from green; rows also differ by
marker.
"""

import io
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "LINE_COLOURS",
    "ORANGE",
    "PINK",
    "RED",
    "ROW_MARKERS",
    "SKY",
    "TITLE_CHARACTERS",
    "draw_intervals",
    "legend",
    "legend_below",
    "new_figure",
    "note",
    "one_panel",
    "reach",
    "row_looks",
    "rows_down",
    "set_figure_title",
    "set_title",
    "tidy",
]

BLUE, ORANGE, GREEN, PINK, SKY, RED, GREY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#6B6B6B",
)
_WINE, _OLIVE, _INDIGO, _TEAL, _BROWN = "#882255", "#8A8A2B", "#332288", "#44AA99", "#7A5230"
LINE_COLOURS = (GREY, ORANGE, BLUE, GREEN, PINK, RED)
"""For a few lines that are no rows of the ladder."""
_ROW_COLOURS = (GREY, ORANGE, BLUE, GREEN, SKY, PINK, _WINE, _OLIVE, RED, _INDIGO, _TEAL, _BROWN)
ROW_MARKERS = ("s", "D", "o", "^", "v", "P", "X", "<", "*", ">", "h", "p")
_KNOWN_ROWS = (  # keep their looks in every figure, whichever are drawn
    "grep",
    "windows",
    "dense",
    "bm25",
    "hybrid k=1",
    "hybrid k=10",
    "hybrid k=60",
    "routed by regex",
    "auto",
)
TITLE_CHARACTERS = 84
"""In a line of a title; longer ones are wrapped."""
_TITLE_POINTS = 10.5
_WIDTH = 8.0  # inches
_DPI = 100  # dots per inch


# --- figures


@cache
def _figure_class() -> "type[Figure]":
    """A figure that shows itself in Jupyter without pyplot, which keeps every figure in a list of its own."""
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        def _repr_png_(self) -> bytes:
            picture = io.BytesIO()
            self.savefig(picture, format="png", dpi=_DPI)
            return picture.getvalue()

    return ShownFigure


def new_figure(height: float) -> "Figure":
    """An empty figure, as wide as all are and this many inches high."""
    return _figure_class()(figsize=(_WIDTH, height), dpi=_DPI, layout="constrained", facecolor="white")


def one_panel(height: float) -> "tuple[Figure, Axes]":
    """A figure with one pair of axes, this many inches high."""
    figure = new_figure(height)
    return figure, figure.add_subplot()


# --- around what is drawn


def _wrapped(text: str) -> str:
    return "\n".join(part for line in text.splitlines() for part in textwrap.wrap(line, TITLE_CHARACTERS))


def set_title(axes: "Axes", text: str) -> None:
    """The title of a figure that has one panel, or whose first panel carries it."""
    axes.set_title(_wrapped(text), loc="left", fontsize=_TITLE_POINTS)


def set_figure_title(figure: "Figure", text: str) -> None:
    """The title above several panels that have titles of their own."""
    figure.suptitle(_wrapped(text), x=0.01, ha="left", fontsize=_TITLE_POINTS)


def legend(axes: "Axes", **where: Any) -> None:
    """A legend inside the axes; ``where`` is what Matplotlib takes for its place."""
    axes.legend(frameon=False, fontsize=9, **where)


def legend_below(figure: "Figure", columns: int = 2) -> None:
    """A legend under the axes."""
    figure.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize=9)


def tidy(axes: "Axes", grid: str) -> None:
    """Only the spines that carry a scale, and a pale grid along ``x``, ``y`` or ``both``."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color="0.9", linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9)


# --- rows and their intervals


def row_looks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of every row: its own if it is a known one, the next that is free if not."""
    looks = list(zip(_ROW_COLOURS, ROW_MARKERS, strict=True))
    known = dict(zip(_KNOWN_ROWS, looks, strict=False))
    names = list(names)
    free = [look for look in looks if look not in [known[name] for name in names if name in known]]
    others = [name for name in names if name not in known]
    return known | {name: free[i % len(free)] for i, name in enumerate(others)}


def rows_down(axes: "Axes", names: Sequence[str], room: float = 0.5) -> None:
    """A line of the axes for each name, the first at the top, with this share of a line above it and below the last."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 1 + room, -room)


def reach(estimates: Iterable[Mapping[str, Any]]) -> np.ndarray:
    """How far the interval of each estimate goes below its value and above it, as error bars take them."""
    return np.array([[e["value"] - e["low"], e["high"] - e["value"]] for e in estimates]).T


def draw_intervals(
    axes: "Axes", points: Sequence[tuple[float, Mapping[str, Any]]], name: str | None, look: tuple[str, str]
) -> None:
    """Estimates, each at its height, with their intervals along x.

    Parameters
    ----------
    axes
        To draw on.
    points
        Height and estimate of each.
    name
        In the legend; None leaves them out of it.
    look
        Colour and marker.
    """
    colour, marker = look
    y = [at for at, _ in points]
    value = np.array([e["value"] for _, e in points])
    xerr = reach(e for _, e in points)
    axes.errorbar(value, y, xerr=xerr, fmt=marker, color=colour, label=name, markersize=5.5, elinewidth=1.6, capsize=2)


def note(axes: "Axes", text: str, at: tuple[float, float], gap: tuple[float, float], **look: Any) -> None:
    """A text beside a point, off it by a gap in typographic points."""
    axes.annotate(text, at, xytext=gap, textcoords="offset points", **({"fontsize": 9} | look))

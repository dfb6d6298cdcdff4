"""Reciprocal Rank Fusion and its constant k: what a rank is worth, and which document is ahead."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rungs.errors import RunError
from rungs.plots._style import BLUE, LINE_COLOURS, ORANGE, legend, note, one_panel, set_title, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["contributions", "crossover", "rank_by_k"]

_FIFTH = 5
_LOOKS = tuple(zip(LINE_COLOURS, ("s", "D", "o", "^", "P", "X"), strict=True))
_EVERY_RANK = 16  # ranks up to which each has a tick
_NAME_CHARACTERS = 40


def contributions(ks: Sequence[float] = (0, 3, 10, 60), ranks: int = 20) -> "Figure":
    """What one list adds to a document by its rank, in shares of what it adds to its first.

    Parameters
    ----------
    ks
        Constants of Reciprocal Rank Fusion.
    ranks
        How far down the list.
    """
    from rungs.fusion import contribution

    figure, axes = one_panel(3.6)
    x = np.arange(1, ranks + 1)
    for i, k in enumerate(ks):
        colour, marker = _LOOKS[i % len(_LOOKS)]
        share = [contribution(int(rank), k) / contribution(1, k) for rank in x]
        axes.plot(x, share, marker=marker, color=colour, markersize=4.5)
        note(axes, f"k = {k:g}", (ranks, share[-1]), (7, 0), va="center", color=colour, annotation_clip=False)
    axes.axvline(_FIFTH, color="0.6", linewidth=1, linestyle=":")
    axes.set_ylim(0, 1.05)
    axes.set_xlim(0.5, ranks + 0.5)
    axes.set_xticks([1, _FIFTH, *range(10, ranks + 1, 5)])
    axes.set_xlabel("rank in the list")
    axes.set_ylabel("contribution, in shares\nof that of rank 1")
    low, high = min(ks), max(ks)
    fifth = {k: contribution(_FIFTH, k) / contribution(1, k) for k in (low, high)}
    set_title(
        axes,
        f"A fifth place is worth {fifth[low]:.0%} of a first place at k = {low:g}, and {fifth[high]:.0%} at k = {high:g}",
    )
    tidy(axes, grid="both")
    return figure


def crossover(first: int = 1, both: int = 5, most: int = 60) -> "Figure":
    """A document that one list likes against one that both lists find passable, over k.

    Parameters
    ----------
    first
        Rank of D, in one list only.
    both
        Rank of E, in both lists.
    most
        The largest k drawn.
    """
    from rungs.fusion import contribution

    figure, axes = one_panel(3.4)
    k = np.arange(0, most + 1)
    # in shares of what the first place of both lists is worth, so that the lines do not all fall with k
    d = np.array([contribution(first, at) / (2 * contribution(1, at)) for at in k])
    e = np.array([contribution(both, at) / contribution(1, at) for at in k])
    axes.plot(k, d, color=BLUE, label=f"D: rank {first} in one list, absent from the other")
    axes.plot(k, e, color=ORANGE, linestyle="--", label=f"E: rank {both} in both lists")
    tie = both - 2 * first  # 1 / (k + first) = 2 / (k + both)
    if 0 <= tie <= most:
        axes.plot([tie], [d[tie]], "o", color="black", markersize=7)
        note(axes, f"a tie at k = {tie}", (tie, d[tie]), (10, -14))
        title = f"D is ahead below k = {tie}, E above it; at k = {most} E has {e[-1] / d[-1]:.1f} times the score of D"
    elif tie > most:
        title = f"D is ahead of E up to k = {most} and beyond"
    else:
        title = f"E is ahead of D at every k, at k = {most} by {e[-1] / d[-1]:.1f} times"
    axes.set_ylim(0, 1)
    axes.set_xlim(0, most)
    axes.set_xlabel("k")
    axes.set_ylabel("score, in shares of a first\nplace in both lists")
    set_title(axes, title)
    legend(axes, loc="center right", bbox_to_anchor=(1, 0.3))
    tidy(axes, grid="both")
    return figure


def rank_by_k(ranks: Mapping[str, Sequence[int | None]], ks: Sequence[float], right: str, top_k: int = 8) -> "Figure":
    """Where each of some documents stands in the fused list, over k.

    Parameters
    ----------
    ranks
        By document, its rank at each k; None where it is not in the list.
    ks
        The constants, rising.
    right
        Which document is the right one.
    top_k
        Places that a reader looks at, shaded.

    Raises
    ------
    RunError
        When the right document is not among them.
    """
    if right not in ranks:
        raise RunError(f"{right!r} is not among the documents; there is {', '.join(ranks)}")
    figure, axes = one_panel(3.9)
    lowest = max(rank for found in ranks.values() for rank in found if rank is not None)
    axes.axhspan(0.4, top_k + 0.5, color="0.95", zorder=0)
    _draw_ranks(axes, ranks, range(len(ks)), right)
    axes.set_xticks(range(len(ks)), [f"{k:g}" for k in ks])
    axes.set_xlim(-0.3, len(ks) - 0.7)
    axes.set_ylim(lowest + 0.6, 0.4)
    axes.set_yticks(range(1, lowest + 1) if lowest <= _EVERY_RANK else [1, *range(5, lowest + 1, 5)])
    axes.set_xlabel("k")
    axes.set_ylabel(f"rank in the fused list (shaded: the first {top_k})")
    said = ", ".join(f"{ranks[right][end] or 'not there'} at k = {ks[end]:g}" for end in (0, -1))
    set_title(axes, f"Rank of the right place, {_short(right)}: {said}")
    tidy(axes, grid="y")
    return figure


def _draw_ranks(axes: "Axes", ranks: Mapping[str, Sequence[int | None]], x: Sequence[int], right: str) -> None:
    """A line for each document, named where it ends; that of the right one stands out."""
    for name, found in ranks.items():
        look: dict[str, Any] = {"color": "0.65", "linewidth": 1.1, "markersize": 3.5}
        if name == right:
            look = {"color": BLUE, "linewidth": 2.6, "markersize": 5, "zorder": 3}
        axes.plot(x, [np.nan if rank is None else rank for rank in found], marker="o", **look)
    for name, found in ranks.items():  # after every line, so that none is drawn over a name
        if found[-1] is None:
            continue
        weight, colour = ("bold", BLUE) if name == right else ("normal", "0.35")
        axes.annotate(
            f"  {_short(name)}",
            (x[-1], found[-1]),
            va="center",
            fontsize=8,
            fontweight=weight,
            color=colour,
            annotation_clip=False,
        )


def _short(name: str) -> str:
    """The end of a long name, which tells more than its beginning."""
    return name if len(name) <= _NAME_CHARACTERS else "…" + name[-_NAME_CHARACTERS + 1 :]

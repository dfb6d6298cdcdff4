"""Reciprocal Rank Fusion and its constant k."""

import numpy as np
import pytest

from rungs import plots
from rungs.errors import RunError

from .toys import drawn


def test_contributions_are_shares_of_the_first_place():
    figure = plots.contributions(ks=(0, 60), ranks=10)
    axes = figure.axes[0]
    first, last = axes.lines[:2]
    assert list(first.get_ydata()) == pytest.approx([1 / rank for rank in range(1, 11)])
    assert list(last.get_ydata()) == pytest.approx([61 / (60 + rank) for rank in range(1, 11)])
    assert axes.get_title(loc="left") == "A fifth place is worth 20% of a first place at k = 0, and 94% at k = 60"
    assert axes.get_xlabel() == "rank in the list" and "rank 1" in axes.get_ylabel()
    drawn(figure)


def test_every_contribution_asked_for_is_drawn():
    ks = (0, 1, 2, 3, 5, 10, 30, 60)  # more than there are colours
    axes = plots.contributions(ks).axes[0]
    assert [text.get_text() for text in axes.texts] == [f"k = {k}" for k in ks]


def test_the_crossover_is_where_the_two_are_worth_the_same():
    figure = plots.crossover()
    axes = figure.axes[0]
    d, e = (line.get_ydata() for line in axes.lines[:2])
    assert d[3] == pytest.approx(e[3]) and d[2] > e[2] and d[4] < e[4]
    assert axes.get_title(loc="left") == "D is ahead below k = 3, E above it; at k = 60 E has 1.9 times the score of D"
    assert "a tie at k = 3" in [text.get_text() for text in axes.texts]
    drawn(figure)


@pytest.mark.parametrize(("both", "said"), [(1, "E is ahead of D at every k"), (90, "D is ahead of E up to k = 60")])
def test_a_crossover_outside_the_picture_is_said(both, said):
    figure = plots.crossover(both=both)
    assert figure.axes[0].get_title(loc="left").startswith(said)
    drawn(figure)


def test_rank_by_k_follows_the_right_place():
    ranks = {"the right one": [1, 2, 9], "another": [2, 1, 1], "in one list only": [None, 3, 2]}
    figure = plots.rank_by_k(ranks, (0, 3, 60), "the right one")
    axes = figure.axes[0]
    assert axes.get_title(loc="left") == "Rank of the right place, the right one: 1 at k = 0, 9 at k = 60"
    assert list(axes.lines[0].get_ydata()) == [1, 2, 9] and np.isnan(axes.lines[2].get_ydata()[0])
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # rank 1 is at the top
    bold = [text.get_text().strip() for text in axes.texts if text.get_fontweight() == "bold"]
    assert bold == ["the right one"]
    drawn(figure)
    with pytest.raises(RunError, match="'missing' is not among the documents"):
        plots.rank_by_k(ranks, (0, 3, 60), "missing")

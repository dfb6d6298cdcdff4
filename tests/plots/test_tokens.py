"""What is counted in tokens."""

from collections.abc import Sequence

import numpy as np

from rungs import plots
from rungs.measure import Report

from .toys import case, drawn, report


def reading(tokens: Sequence[float]) -> Report:
    cases = [case(f"p{i}", "prose-en", 1.0) for i in range(len(tokens))] + [case("n", "negative-far", None)]
    for row, count in zip(cases, tokens, strict=False):
        row["metrics"]["tokens_to_answer"] = count
    return report(cases)


def test_answered_by_tokens_counts_what_is_answered_within_a_budget():
    rows = {"windows": reading([200, 900, 1500, np.inf]), "dense": reading([100, 300, 800, 5000])}
    figure = plots.answered_by_tokens(rows, budget=1000)
    axes = figure.axes[0]
    assert axes.get_title(loc="left") == "Answered by 1,000 tokens, of 4 questions: windows 50%, dense 75%"
    windows, dense = axes.lines[:2]
    assert list(windows.get_xdata()) == [200, 900, 1500, 5000] and list(windows.get_ydata()) == [0.25, 0.5, 0.75, 0.75]
    assert list(dense.get_xdata()) == [100, 300, 800, 5000, 5000] and list(dense.get_ydata()) == [0.25, 0.5, 0.75, 1, 1]
    assert "tokens" in axes.get_xlabel() and "share" in axes.get_ylabel()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["windows", "dense"]
    drawn(figure)


def test_answered_by_tokens_where_nothing_is_ever_answered():
    figure = plots.answered_by_tokens({"lost": reading([np.inf, np.inf])})
    assert figure.axes[0].get_title(loc="left").endswith("lost 0%")
    drawn(figure)


def test_window_tokens_counts_what_is_cut():
    tokens = [100, 200, 256, 300, 400]
    figure = plots.window_tokens(tokens, 256)
    axes = figure.axes[0]
    lost = (300 - 256 + 400 - 256) / sum(tokens)
    assert axes.get_title(loc="left") == (
        f"The model does not read 40% of the 5 windows to the end;\nof all that they hold, it drops {lost:.0%}"
    )
    read, cut = axes.containers
    assert sum(bar.get_height() for bar in read) == 3 and sum(bar.get_height() for bar in cut) == 2
    assert axes.get_ylabel() == "windows" and "tokens" in axes.get_xlabel()
    assert "256 tokens" in axes.texts[0].get_text()
    drawn(figure)

"""What changed against a baseline."""

import pytest

from rungs import plots
from rungs.errors import RunError
from rungs.measure import Comparison
from rungs.measure.compare import Difference

from .toys import difference, drawn


def compared(*found: Difference) -> Comparison:
    return Comparison("before", found, (), (), {}, {})


def test_differences_say_what_is_readable_by_name():
    figure = plots.differences(
        compared(difference("mrr", 0.1, "better"), difference("recall@8", 0.01, "not readable at n=100"))
    )
    title = figure.axes[0].get_title(loc="left").replace("\n", " ")
    assert title == "now against before: better on mrr; 1 of 2 differences not readable"
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["mrr (n=100)", "recall@8 (n=100)"]
    bars = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert bars == [0.1, 0.01]


def test_differences_of_several_systems_name_them():
    figure = plots.differences(compared(difference("mrr", 0.1, "better", "a"), difference("mrr", -0.1, "worse", "b")))
    title = figure.axes[0].get_title(loc="left").replace("\n", " ")
    assert title == "Against before: better on a mrr; worse on b mrr"


def test_differences_without_data_are_one_line():
    nothing = Difference("now", "mrr", None, None, None, None, 0, None, "no data")
    with pytest.raises(RunError, match="no difference to draw"):
        plots.differences(compared(nothing))


def test_differences_by_kind_frame_what_can_be_read():
    found = {
        "hybrid": {"prose": difference("prose", 0.1, "better"), "symbol": difference("symbol", -0.2, "worse")},
        "auto": {
            "prose": difference("prose", -0.001, "equivalent"),
            "symbol": difference("symbol", 0.3, "not readable"),
        },
    }
    figure = plots.differences_by_kind(found, "dense", "mrr")
    axes = figure.axes[0]
    title = axes.get_title(loc="left").replace("\n", " ")
    assert "of 4 differences to dense, readably better 1, readably worse 1; the other 2" in title
    assert [text.get_text() for text in axes.texts] == ["+0.10 ▲", "−0.20 ▼", "0.00 =", "+0.30"]
    assert [text.get_fontweight() for text in axes.texts] == ["bold", "bold", "normal", "normal"]
    assert len(axes.patches) == 2
    assert [label.get_text() for label in axes.get_xticklabels()] == ["prose\nn=100", "symbol\nn=100"]
    drawn(figure)
    nothing = Difference("now", "mrr", None, None, None, None, 0, None, "no data")
    for without in ({}, {"prose": nothing}):
        with pytest.raises(RunError, match="no difference to draw"):
            plots.differences_by_kind({"hybrid": without}, "dense", "mrr")

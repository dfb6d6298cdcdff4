"""How wide an interval is for how many questions."""

import re

import numpy as np
import pytest

from rungs import plots
from rungs.measure import estimate

from .toys import drawn


def test_interval_width_reads_off_the_marked_sizes():
    values = [0.0, 1.0, 0.5, 0.25, 0.0, 1.0, 1.0, 0.125] * 10
    figure = plots.interval_width(values, "mrr", difference=0.012)
    axes = figure.axes[0]
    notes = [text.get_text() for text in axes.texts]
    widths = [float(re.search(r"([\d.]+) wide", note)[1]) for note in notes]
    assert [note.split(":")[0] for note in notes] == ["n = 42", "n = 300"]
    for n, width in zip((42, 300), widths, strict=True):
        assert width == pytest.approx(2 * 1.96 * np.std(values, ddof=1) / n**0.5, rel=0.15)
    title = axes.get_title(loc="left")
    assert f"{widths[0]:.2f} wide with 42 questions, {widths[1]:.2f} wide with 300" in title
    assert "times a difference of 0.012" in title
    assert axes.get_xlabel() == "questions, n" and "mrr" in axes.get_ylabel()
    drawn(figure)


def test_interval_width_of_what_was_measured_is_that_of_the_report():
    values = [0.0, 1.0, 0.5, 0.25, 1.0] * 6
    figure = plots.interval_width(values, marks=(30, 60))
    expected = estimate(values)
    marked = next(line for line in figure.axes[0].lines if list(line.get_xdata()) == [30, 60])
    assert marked.get_ydata()[0] == pytest.approx(expected["high"] - expected["low"])

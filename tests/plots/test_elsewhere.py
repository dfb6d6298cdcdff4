"""Figures that others reported."""

import re

import pytest

from rungs import plots
from rungs.errors import RunError


def test_every_published_figure_names_its_source():
    figures = plots.published()
    assert len(figures) > 20
    for figure in figures:
        assert set(figure) == {"topic", "system", "metric", "value", "n", "source", "note"}
        assert isinstance(figure["value"], int | float) and (figure["n"] is None or figure["n"] > 0)
        assert len(figure["source"]) > 5 and not re.search(r"(^|\s)/\w|\.txt\b|seeds", figure["source"])


def test_published_by_topic():
    routing = plots.published("routing")
    assert [(figure["value"], figure["n"]) for figure in routing] == [(0.012, 42)]
    assert {figure["topic"] for figure in plots.published("modes", "gates")} == {"modes", "gates"}
    with pytest.raises(RunError, match=r"nothing is published under 'mode'; the topics are modes, "):
        plots.published("mode")

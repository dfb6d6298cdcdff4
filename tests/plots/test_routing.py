"""How often routers err."""

import pytest

from rungs import plots
from rungs.errors import RunError
from rungs.measure import estimate

from .toys import drawn


def test_rates_are_drawn_with_their_counts():
    found = {
        "regex": {
            "false positives": estimate([1.0] * 4 + [0.0] * 16),
            "false negatives": estimate([1.0] * 6 + [0.0] * 6),
        },
        "names": {"false positives": estimate([1.0] + [0.0] * 19), "false negatives": estimate([0.0] * 12)},
    }
    figure = plots.rates(found, "share of queries")
    left, right = figure.axes
    assert (left.get_title(), right.get_title()) == ("false positives", "false negatives")
    assert [text.get_text() for text in left.texts] == ["4 of 20", "1 of 20"]
    assert [text.get_text() for text in right.texts] == ["6 of 12", "0 of 12"]
    said = figure.get_suptitle().replace("\n", " ")
    assert said == "False positives are fewest with names (5%); false negatives are fewest with names (0%)"
    drawn(figure)
    tied = plots.rates({"regex": found["regex"], "shape": found["regex"]}, "share of queries").get_suptitle()
    assert tied.startswith("False positives are fewest with regex and shape (20%)")
    with pytest.raises(RunError, match="names has no false negatives"):
        plots.rates({"regex": found["regex"], "names": {"false positives": estimate([0.0])}}, "share")

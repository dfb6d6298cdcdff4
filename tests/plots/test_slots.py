"""Which kinds of file take the places of a ranking."""

import pytest

from rungs import plots
from rungs.errors import RunError

from .toys import case, drawn, hits, report

PATHS = {"a.py": "code", "t/test_a.py": "test", "docs/a.rst": "doc", "setup.cfg": "config"}


def test_slots_by_category_counts_places_and_answers():
    cases = [
        case("p0", "prose-en", 1.0, hits=hits(["docs/a.rst", "a.py", "docs/a.rst", "t/test_a.py"])),
        case("p1", "prose-en", 0.0, hits=hits(["a.py"] * 4), expect=["a.py::f", "docs/a.rst"]),
        case("s0", "symbol", 1.0, hits=hits(["setup.cfg"])),
    ]
    figure = plots.slots_by_category(report(cases), PATHS, k=4)
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["Code", "Tests", "Documents"]
    shares = {c.get_label(): [bar.get_height() for bar in c] for c in axes.containers}
    assert shares == {
        "of the answers": [75, 0, 25],
        "of rank 1": [50, 0, 50],
        "of the top 4": [62.5, 12.5, 25],
    }
    title = "Of the top 4 places, tests take 12%;\nof the answers, tests hold 0% (2 questions of kind prose-en)"
    assert axes.get_title(loc="left") == title
    assert axes.get_ylabel() == "share, %"
    drawn(figure)


def test_slots_by_category_says_when_nothing_is_over_its_share():
    cases = [case("p0", "prose-en", 1.0, hits=hits(["a.py"] * 4))]
    title = plots.slots_by_category(report(cases), PATHS, k=4).axes[0].get_title(loc="left")
    assert title.startswith("Places and answers are shared alike")


def test_slots_by_category_says_what_is_missing():
    cases = [case("p0", "prose-en", 1.0, hits=hits(["elsewhere.py"]))]
    with pytest.raises(RunError, match=r"'elsewhere.py' has no category"):
        plots.slots_by_category(report(cases), PATHS)
    with pytest.raises(RunError, match="no question of kind 'doc'"):
        plots.slots_by_category(report(cases), PATHS, kind="doc")

"""One setting over its values."""

from typing import Any

from rungs import plots
from rungs.measure import Sweep
from rungs.measure.compare import Difference
from rungs.measure.sweep import Blindness

from .toys import difference


def a_sweep(**changes: Any) -> Sweep:
    class Toy(Sweep):
        def figures(self, value: Any, group: str = "golden") -> dict[str, Any]:
            up = 0.4 + value / 10 if group == "golden" else 0.9 - value / 2
            return {"recall@8": {"value": up, "low": up - 0.1, "high": up + 0.1, "n": 50}}

        def harms(self, value: Any) -> dict[str, Difference]:
            return {"doc": difference("recall@8", -0.5, "worse", str(value))} if value else {}

    groups = {"golden": frozenset("ab"), "doc": frozenset("c")}
    base = {
        "setting": "prior",
        "values": (0, 1),
        "baseline": 0,
        "metrics": ("recall@8",),
        "reports": {},
        "groups": groups,
    }
    return Toy(**(base | {"comparisons": {}, "best": 1, "plateau": (1,), "blind": (), "inert": ()} | changes))


def test_a_sweep_shows_both_sides_and_says_who_is_harmed():
    figure = plots.swept(a_sweep())
    title = figure.axes[0].get_title(loc="left").replace("\n", " ")
    assert title == "prior: recall@8 is highest at 1 (0.50), where doc moves -0.50 (worse)"
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["not readably worse than the best", "tuned for (n=50)", "control: doc (n=50)"]


def test_a_blind_sweep_says_so_in_its_title():
    blind = Blindness("test", 0, 30, 400, 0)
    title = plots.swept(a_sweep(blind=(blind,), plateau=())).axes[0].get_title(loc="left")
    assert "cannot see all the harm it may do (test)" in title.replace("\n", " ")

"""How every figure looks, and what drawing it leaves alone."""

import subprocess
import sys
from collections.abc import Sequence

from rungs import plots

from .toys import drawn, row


def test_a_known_row_looks_the_same_in_every_figure(ladder):
    def looks(names: Sequence[str]) -> dict[str, tuple[str, str]]:
        containers = plots.recall_by_kind(dict.fromkeys(names, ladder["dense"])).axes[0].containers
        return {c.get_label(): (c[0].get_color(), c[0].get_marker()) for c in containers}

    every, two = looks(["grep", "windows", "dense", "bm25", "mine"]), looks(["mine", "dense"])
    assert every["dense"] == two["dense"]
    assert len(set(every.values())) == 5 and len(set(two.values())) == 2


def test_a_long_title_is_wrapped():
    names = [f"a_row_with_a_long_name_{i}" for i in range(3)]
    reports = {name: row([i == 0, 1, 1], [i == 1, 1]) for i, name in enumerate(names)}
    drawn(plots.recall_by_kind(reports))


def test_a_figure_shows_itself_in_jupyter(ladder):
    assert plots.recall_by_kind(ladder)._repr_png_().startswith(b"\x89PNG")


def test_drawing_leaves_pyplot_alone():
    program = (
        "import sys; import rungs.plots as p; assert 'matplotlib' not in sys.modules; "
        "p.window_tokens([1, 2, 300], 256)._repr_png_(); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

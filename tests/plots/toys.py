"""What the tests of this folder are made of: small made-up reports, and a check that nothing lies on top of anything."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import patch

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from rungs.measure import Report
from rungs.measure.compare import Difference
from rungs.measure.metrics import METRICS, aggregate


def hits(paths: Sequence[str], top: float | None = 0.6) -> list[dict[str, Any]]:
    """Ranked hits at these paths, the best with this dense score."""
    scores = [{} if top is None else {"dense": top - 0.01 * i} for i in range(len(paths))]
    return [
        {"rank": i + 1, "id": f"h{i}", "path": path, "symbol": "", "start_line": 1, "end_line": 2, "score": 1.0}
        | {"scores": s, "relevant": False}
        for i, (path, s) in enumerate(zip(paths, scores, strict=True))
    ]


def case(name: str, kind: str, recall: float | None, **fields: Any) -> dict[str, Any]:
    """One question's row: found or missed, or negative where ``recall`` is None."""
    figures = dict.fromkeys(METRICS) | {"recall@8": recall, "mrr": recall}
    expect = [] if recall is None else ["a.py::f"]
    row = {"id": name, "q": name, "kind": kind, "expect": expect, "error": None, "metrics": figures, "hits": []}
    return row | fields


def report(cases: Sequence[Mapping[str, Any]], status: str = "ok") -> Report:
    def figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        return aggregate(row["metrics"] for row in rows)

    kinds = list(dict.fromkeys(row["kind"] for row in cases))
    return Report(
        config={},
        corpus={"name": "toy", "sha256": "0"},
        golden={"name": "toy", "sha256": "0"},
        model=None,
        n=len(cases),
        metrics=figures(cases),
        by_kind={kind: figures([row for row in cases if row["kind"] == kind]) for kind in kinds},
        calibration={},
        latency={},
        cases=[dict(row) for row in cases],
        status=status,
        depth=8,
    )


def row(prose: Sequence[float], symbol: Sequence[float]) -> Report:
    """A report whose questions of two kinds have this recall, and one negative."""
    cases = [case(f"p{i}", "prose-en", value) for i, value in enumerate(prose)]
    cases += [case(f"s{i}", "symbol", value) for i, value in enumerate(symbol)]
    return report([*cases, case("n", "negative-far", None)])


def difference(metric: str, value: float, verdict: str, system: str = "now") -> Difference:
    return Difference(system, metric, value, value - 0.05, value + 0.05, 0.01, 100, 0.08, verdict)


def drawn(figure: Any) -> None:
    """Draw a figure and check that it fits and that no two of its texts overlap."""
    canvas, seen = FigureCanvasAgg(figure), {}
    draw = Text.draw

    def noted(text: Text, renderer: Any) -> None:
        draw(text, renderer)
        if text.get_text().strip() and text.get_visible():
            seen[text] = Text.get_window_extent(text, renderer)

    with patch.object(Text, "draw", noted):
        canvas.draw()
    width, height = canvas.get_width_height()
    for text, box in seen.items():
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
        assert inside, f"{text.get_text()!r} is cut off"
    for one, other in itertools.combinations(seen, 2):
        apart = not seen[one].shrunk(0.9, 0.9).overlaps(seen[other].shrunk(0.9, 0.9))
        assert apart, (one.get_text(), other.get_text())

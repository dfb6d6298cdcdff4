"""Figures drawn from small made-up reports: what they say, what they draw, and that nothing lies on top of anything."""

import itertools
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from rungs import plots
from rungs.errors import RunError
from rungs.measure import Comparison, Report, Sweep, estimate
from rungs.measure.compare import Difference
from rungs.measure.metrics import METRICS, aggregate
from rungs.measure.sweep import Blindness

PATHS = {"a.py": "code", "t/test_a.py": "test", "docs/a.rst": "doc", "setup.cfg": "config"}


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


@pytest.fixture
def ladder() -> dict[str, Report]:
    return {
        "grep": row([0, 0, 1, 0, 0, 0, 0, 0], [1] * 20),
        "windows": row([1, 0, 1, 0, 0, 1, 0, 1], [0, 1] + [0] * 18),
        "dense": row([1, 1, 1, 1, 0, 1, 1, 1], [0, 1, 0] + [0] * 17),
    }


def scored(positive: Sequence[float], negative: Mapping[str, Sequence[float]]) -> Report:
    """A report in which each question's best hit has this cosine."""
    cases = [case(f"p{i}", "prose-en", 1.0, hits=hits(["a.py", "a.py"], top)) for i, top in enumerate(positive)]
    for kind, tops in negative.items():
        cases += [case(f"{kind}{i}", kind, None, hits=hits(["a.py"], top)) for i, top in enumerate(tops)]
    return report(cases)


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


# --- recall by kind


def test_recall_by_kind_says_who_leads_where_and_where_that_can_be_read(ladder):
    figure = plots.recall_by_kind(ladder)
    title = figure.axes[0].get_title(loc="left")
    overall = ladder["grep"].metrics["recall@8"]["value"]
    assert f"grep is highest over all questions ({overall:.2f})" in title
    assert "dense on prose-en" in title
    assert "the lead is clear of every other row's interval on: all, symbol" in title
    drawn(figure)


def test_recall_by_kind_draws_every_estimate_with_its_interval(ladder):
    axes = plots.recall_by_kind(ladder).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["all (n=28)", "prose-en (n=8)", "symbol (n=20)"]
    assert "recall@8" in axes.get_xlabel() and "95% interval" in axes.get_xlabel()
    dense = next(c for c in axes.containers if c.get_label() == "dense")
    estimates = [ladder["dense"].metrics, *(ladder["dense"].by_kind[k] for k in ("prose-en", "symbol"))]
    assert list(dense[0].get_xdata()) == [e["recall@8"]["value"] for e in estimates]
    bars = [segment[:, 0] for segment in dense[2][0].get_segments()]
    assert np.allclose(bars, [(e["recall@8"]["low"], e["recall@8"]["high"]) for e in estimates])


def test_recall_by_kind_says_when_no_lead_can_be_read():
    same = row([1, 0, 1, 0], [1, 0])
    other = row([1, 1, 1, 0], [1, 0])
    title = plots.recall_by_kind({"a": same, "b": other}).axes[0].get_title(loc="left")
    assert "the lead is clear of every other row's interval on: nowhere" in title


def test_recall_by_kind_gives_a_tie_to_the_row_that_leads_overall():
    reports = {"a": row([1, 1, 0, 0], [0, 0]), "b": row([1, 1, 0, 0], [1, 0])}
    title = plots.recall_by_kind(reports).axes[0].get_title(loc="left")
    assert "b is highest over all questions" in title and "a on" not in title


def test_a_long_title_is_wrapped():
    names = [f"a_row_with_a_long_name_{i}" for i in range(3)]
    reports = {name: row([i == 0, 1, 1], [i == 1, 1]) for i, name in enumerate(names)}
    drawn(plots.recall_by_kind(reports))


def test_recall_by_kind_of_one_row_makes_no_comparison(ladder):
    figure = plots.recall_by_kind({"dense": ladder["dense"]}, "mrr")
    assert "clear" not in figure.axes[0].get_title(loc="left")
    assert "mrr" in figure.axes[0].get_xlabel()
    drawn(figure)


def test_a_known_row_looks_the_same_in_every_figure(ladder):
    def looks(names: Sequence[str]) -> dict[str, tuple[str, str]]:
        containers = plots.recall_by_kind(dict.fromkeys(names, ladder["dense"])).axes[0].containers
        return {c.get_label(): (c[0].get_color(), c[0].get_marker()) for c in containers}

    every, two = looks(["grep", "windows", "dense", "bm25", "mine"]), looks(["mine", "dense"])
    assert every["dense"] == two["dense"]
    assert len(set(every.values())) == 5 and len(set(two.values())) == 2


@pytest.mark.parametrize("count", [1, 4, 7])
def test_recall_by_kind_keeps_its_texts_apart(ladder, count):
    drawn(plots.recall_by_kind({f"a row named {i}": ladder["dense"] for i in range(count)}))


@pytest.mark.parametrize("count", [8, 12])
def test_many_rows_get_a_panel_for_each_kind(ladder, count):
    names = ["grep", "windows", "dense", "bm25", "hybrid k=1", "hybrid k=10", "hybrid k=60", "routed by regex", "auto"]
    names = [*names, "VectorStoreIndex", "BM25Retriever", "QueryFusionRetriever"][:count]
    figure = plots.recall_by_kind({name: ladder["grep" if i % 2 else "dense"] for i, name in enumerate(names)})
    assert [axes.get_title() for axes in figure.axes] == ["all (n=28)", "prose-en (n=8)", "symbol (n=20)"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == names
    shown = [text for text in figure.axes[2].texts if text.get_fontweight() == "bold"]
    assert [text.get_text() for text in shown] == ["1.00"] * (count // 2)  # the highest, wherever it is reached
    looks = {(c[0].get_color(), c[0].get_marker()) for c in figure.axes[0].containers}
    assert len(looks) == count
    drawn(figure)


def test_the_panels_of_eight_groups_fit_in_two_rows(ladder):
    kinds = ["prose-en", "prose-tr", "symbol", "symbol-hard", "doc", "test", "multi-hop"]
    many = report([case(f"{kind}{i}", kind, float(i % 2)) for kind in kinds for i in range(6)])
    figure = plots.recall_by_kind({f"row {i}": many for i in range(9)})
    assert len(figure.axes) == 8
    drawn(figure)


def test_a_failed_report_is_not_drawn(ladder):
    broken = report([case("p0", "prose-en", 1.0, error="TimeoutError: no answer")], status="FAILED")
    for draw in (lambda: plots.recall_by_kind(ladder | {"broken": broken}), lambda: plots.top_scores(broken)):
        with pytest.raises(RunError, match="FAILED on 1 of 1 questions"):
            draw()
    with pytest.raises(RunError, match="no report"):
        plots.recall_by_kind({})
    with pytest.raises(RunError, match="no row has any recall@9"):
        plots.recall_by_kind(ladder, "recall@9")


# --- tokens


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


# --- cosines


def test_top_scores_names_the_best_cut_and_its_cost_both_ways():
    positive, far, near = [0.45, 0.55, 0.6, 0.65, 0.7], [0.2, 0.3], [0.5, 0.58]
    figure = plots.top_scores(scored(positive, {"negative-far": far, "negative-near": near}))
    cut = plots.best_threshold(positive, far + near)
    assert (cut.refused, cut.admitted) == (2, 0)
    upper, lower = figure.axes
    assert f"{cut.value:.2f}, refuses\n2 of 5 questions that have an answer and lets through 0 of 4" in upper.get_title(
        loc="left"
    )
    labels = [label.get_text() for label in lower.get_yticklabels()]
    assert labels == ["with an answer", "negative-far", "negative-near"]
    assert [sorted(line.get_xdata()) for line in lower.lines[:3]] == [positive, far, near]
    assert lower.get_xlabel() == "cosine of the best hit (dense)"
    assert all(cut.value in line.get_xdata() for line in (upper.lines[-1], lower.lines[-1]))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["with an answer (n=5)", "without one (n=4)"]
    drawn(figure)


def test_the_densities_integrate_to_one():
    figure = plots.top_scores(scored([0.4, 0.5, 0.6, 0.7], {"negative-far": [0.3, 0.45]}))
    for container in figure.axes[0].containers:
        assert sum(bar.get_width() * bar.get_height() for bar in container) == pytest.approx(1.0)


def test_top_scores_says_when_a_threshold_does_separate():
    title = plots.top_scores(scored([0.6, 0.7], {"negative-far": [0.1, 0.2]})).axes[0].get_title(loc="left")
    assert title == "One threshold separates these two: 0.40"


def test_top_scores_needs_both_sides_and_the_channel():
    with pytest.raises(RunError, match="not on both sides"):
        plots.top_scores(scored([0.6, 0.7], {}))
    with pytest.raises(RunError, match="bm25"):
        plots.top_scores(scored([0.6, 0.7], {"negative-far": [0.1]}), channel="bm25")


def test_best_threshold_is_the_best_of_all():
    generator = np.random.default_rng(1)
    positive, negative = generator.normal(0.6, 0.1, 40).tolist(), generator.normal(0.45, 0.1, 15).tolist()
    cut = plots.best_threshold(positive, negative)
    gains = [np.mean(np.array(negative) < at) - np.mean(np.array(positive) < at) for at in np.linspace(0, 1, 5001)]
    assert cut.abstain_rate - cut.false_weak_rate == pytest.approx(max(gains))
    assert cut.refused == sum(p < cut.value for p in positive)
    assert cut.admitted == sum(n >= cut.value for n in negative)
    assert plots.best_threshold([0.5], [0.5]) == plots.Threshold(0.5, 0, 1, 1, 1)


# --- slots


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


# --- width of an interval


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


# --- windows


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


# --- fusion and routing


def test_contributions_are_shares_of_the_first_place():
    figure = plots.contributions(ks=(0, 60), ranks=10)
    axes = figure.axes[0]
    first, last = axes.lines[:2]
    assert list(first.get_ydata()) == pytest.approx([1 / rank for rank in range(1, 11)])
    assert list(last.get_ydata()) == pytest.approx([61 / (60 + rank) for rank in range(1, 11)])
    assert axes.get_title(loc="left") == "A fifth place is worth 20% of a first place at k = 0, and 94% at k = 60"
    assert axes.get_xlabel() == "rank in the list" and "rank 1" in axes.get_ylabel()
    drawn(figure)


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
    with pytest.raises(RunError, match="no difference to draw"):
        plots.differences_by_kind({"hybrid": {}}, "dense", "mrr")


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


# --- published figures


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


# --- Matplotlib itself


def test_a_figure_shows_itself_in_jupyter(ladder):
    assert plots.recall_by_kind(ladder)._repr_png_().startswith(b"\x89PNG")


def test_drawing_leaves_pyplot_alone():
    program = (
        "import sys; import rungs.plots as p; assert 'matplotlib' not in sys.modules; "
        "p.window_tokens([1, 2, 300], 256)._repr_png_(); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# --- comparisons and sweeps


def difference(metric: str, value: float, verdict: str, system: str = "now") -> Difference:
    return Difference(system, metric, value, value - 0.05, value + 0.05, 0.01, 100, 0.08, verdict)


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

"""The rows of the ladder beside each other."""

import numpy as np
import pytest

from rungs import plots
from rungs.errors import RunError

from .toys import case, drawn, report, row


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


def test_recall_by_kind_of_one_row_makes_no_comparison(ladder):
    figure = plots.recall_by_kind({"dense": ladder["dense"]}, "mrr")
    assert "clear" not in figure.axes[0].get_title(loc="left")
    assert "mrr" in figure.axes[0].get_xlabel()
    drawn(figure)


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

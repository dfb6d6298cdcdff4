"""The best score of every question."""

from collections.abc import Mapping, Sequence

import pytest

from rungs import plots
from rungs.errors import RunError
from rungs.measure import Report

from .toys import case, drawn, hits, report


def scored(positive: Sequence[float], negative: Mapping[str, Sequence[float]]) -> Report:
    """A report in which each question's best hit has this cosine."""
    cases = [case(f"p{i}", "prose-en", 1.0, hits=hits(["a.py", "a.py"], top)) for i, top in enumerate(positive)]
    for kind, tops in negative.items():
        cases += [case(f"{kind}{i}", kind, None, hits=hits(["a.py"], top)) for i, top in enumerate(tops)]
    return report(cases)


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


def test_only_dense_scores_are_called_cosines():
    measured = scored([0.6, 0.7], {"negative-far": [0.1]})
    for asked in measured.cases:
        for hit in asked["hits"]:
            hit["scores"] = {"bm25": 20 * hit["scores"]["dense"]}
    assert plots.top_scores(measured, "bm25").axes[1].get_xlabel() == "score of the best hit (bm25)"


def test_top_scores_needs_both_sides_and_the_channel():
    with pytest.raises(RunError, match="not on both sides"):
        plots.top_scores(scored([0.6, 0.7], {}))
    with pytest.raises(RunError, match="bm25"):
        plots.top_scores(scored([0.6, 0.7], {"negative-far": [0.1]}), channel="bm25")

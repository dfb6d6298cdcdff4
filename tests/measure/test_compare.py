"""Comparisons: verdicts that are right, and said no more often than they may be wrong."""

import numpy as np
import pytest

from rungs.errors import RunError
from rungs.measure.audit import false_alarms, planted
from rungs.measure.compare import (
    COMPARED,
    Difference,
    _holm,
    compare,
    paired_difference,
    permutation_p,
    power,
    smallest_readable,
)

from .toys import report


def verdict(before, after, **kwargs) -> str:
    return compare({"a": report(before), "b": report(after)}, metrics=["recall@8"], **kwargs).verdict("recall@8")


def test_the_four_verdicts():
    rng = np.random.default_rng(0)
    base = (rng.random(300) < 0.5).astype(float)
    assert verdict(base, np.where(np.arange(300) < 80, 1, base)) == "better"
    assert verdict(base, np.where(np.arange(300) < 80, 0, base)) == "worse"
    assert verdict(base, base) == "equivalent"
    flipped = base.copy()
    flipped[:6] = 1 - flipped[:6]
    assert verdict(base[:30], flipped[:30]) == "not readable at n=30"


def test_one_question_of_42_is_not_a_difference():
    """The seeds' routing row: one symbol question from rank 2 to rank 1, reported as +0.012 MRR."""
    before = report([0.5] + [1.0] * 41, metric="mrr")
    after = report([1.0] * 42, metric="mrr")
    d = compare({"dense": before, "auto": after}, metrics=["mrr"]).differences[0]
    assert d.value == pytest.approx(0.012, abs=0.0005)
    assert d.p == 1.0
    assert d.verdict == "equivalent" or d.verdict.startswith("not readable")


def test_nothing_moved_on_few_questions_is_not_called_equivalent():
    assert verdict([1, 0, 1], [1, 0, 1]) == "not readable at n=3"


def test_lower_is_better_for_false_alarms():
    n = 200
    before, after = report([1.0] * n, metric="false_weak_rate"), report([0.0] * n, metric="false_weak_rate")
    assert compare({"a": before, "b": after}, metrics=["false_weak_rate"]).verdict("false_weak_rate") == "better"


def test_questions_better_and_worse_come_with_their_ranks():
    before = report([1, 1, 0, 1], ranks=[1, 3, None, 8])
    after = report([1, 1, 1, 0], ranks=[1, 5, 2, None])
    changes = {c.id: (c.before, c.after, c.better) for c in compare({"a": before, "b": after}).changes}
    assert changes == {"q1": (3, 5, False), "q2": (None, 2, True), "q3": (8, None, False)}


def test_settings_that_differ_are_named():
    a, b = report([1], config={"mode": "dense", "k": 8}), report([1], config={"mode": "bm25", "k": 8})
    assert compare({"a": a, "b": b}).settings == {"b": {"mode": ("dense", "bm25")}}


def test_holm_by_hand():
    assert _holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert _holm([0.5, None, 0.01]) == [0.5, None, 0.02]


def test_several_systems_are_corrected_together():
    rng = np.random.default_rng(3)
    base = (rng.random(60) < 0.5).astype(float)
    after = np.where(np.arange(60) < 14, 1, base)
    alone = compare({"a": report(base), "b": report(after)}, metrics=["recall@8"]).differences[0]
    crowd = {f"c{i}": report(base) for i in range(20)}
    among = compare({"a": report(base), "b": report(after)} | crowd, metrics=["recall@8"]).differences[0]
    assert among.p == pytest.approx(min(1, alone.p * 21))


def test_the_permutation_test_is_exact_for_few():
    assert permutation_p(np.array([1.0] * 6 + [0.0] * 20)) == pytest.approx(2 / 2**6)
    assert permutation_p(np.array([0.0, 0.0])) == 1.0


def test_no_false_alarms_beyond_five_in_a_hundred():
    """200 comparisons of a system with a re-sampled copy of itself: same chances per question, fresh draws."""
    assert false_alarms(108, comparisons=200) <= 0.05


@pytest.mark.parametrize("effect", [0.05, 0.10, 0.20])
def test_planted_effects_are_found_as_often_as_promised(effect: float):
    found, promised = planted(effect, 150, comparisons=100)
    assert found == pytest.approx(promised, abs=0.13)  # three standard errors of 100 draws


@pytest.mark.parametrize("broken", ["deaf", "jumpy"])
def test_the_audit_catches_a_comparison_that_lies(broken: str, monkeypatch: pytest.MonkeyPatch):
    """One that never finds anything, and one that calls every movement a difference."""
    lie = {"deaf": lambda *a, **k: replace_verdict("equivalent"), "jumpy": lambda *a, **k: replace_verdict("better")}
    monkeypatch.setattr("rungs.measure.audit.paired_difference", lie[broken])
    found, promised = planted(0.20, 150, comparisons=20)
    assert false_alarms(108, comparisons=20) > 0.05 if broken == "jumpy" else abs(found - promised) > 0.13


def replace_verdict(verdict: str) -> Difference:
    return Difference("copy", "recall@8", 0.0, 0.0, 0.0, 0.0, 1, None, verdict)


def test_the_smallest_readable_difference_has_eighty_percent_power():
    d = np.random.default_rng(5).choice([-1.0, 0.0, 1.0], size=200, p=[0.1, 0.7, 0.2])
    assert power(smallest_readable(d), np.count_nonzero(d) / 200, 200) == pytest.approx(0.8, abs=0.01)
    assert smallest_readable(np.zeros(50)) is None


def test_too_few_questions_can_show_nothing():
    assert smallest_readable(np.array([1.0, 1.0, 0.0, 0.0, 0.0])) is None
    assert power(1.0, 1.0, 5) == 0.0
    assert power(1.0, 1.0, 6) == 1.0  # six of six is the least that chance does not explain


def test_a_graded_difference_is_found_as_often_as_promised():
    """Reciprocal ranks move by halves, thirds and crumbs: the promise must hold for them too."""
    rng = np.random.default_rng(7)
    moves = np.array([0.5, 0.5, 0.17, 0.1, 0.05, 0.9, 0.3])

    def sample(upward: float) -> np.ndarray:
        signs = np.where(rng.random(120) < upward, 1, -1)
        return np.where(rng.random(120) < 0.5, rng.choice(moves, 120) * signs, 0.0)

    readable = float(np.mean([smallest_readable(sample(0.5)) for _ in range(20)]))
    upward = (1 + readable / (0.5 * moves.mean())) / 2
    found = np.mean([paired_difference("b", "mrr", sample(upward)).verdict == "better" for _ in range(100)])
    assert found == pytest.approx(0.8, abs=0.12)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: compare({"a": report([1])}), "two reports"),
        (lambda: compare({"a": report([1]), "b": report([1])}, baseline="c"), "no report 'c'"),
        (lambda: compare({"a": report([1]), "b": report([1])}, metrics=["tokens_to_answer"]), "cannot be compared"),
        (lambda: compare({"a": report([1]), "b": report([1]), "c": report([1])}).verdict("mrr"), "2 systems"),
    ],
)
def test_misuse_is_one_line(call, says):
    with pytest.raises(RunError, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_json_and_html_are_safe():
    import json

    c = compare({"a": report([1, 0]), "<b>": report([0, 1])})
    json.dumps(c.to_dict(), allow_nan=False)
    assert "<b>" not in c._repr_html_().replace("<b></b>", "")
    assert len(c.to_frame()) == len(COMPARED)


@pytest.mark.parametrize("margin", [-1, float("nan"), 5])
def test_a_margin_that_means_nothing_is_one_line(margin: float):
    with pytest.raises(RunError, match="give one from 0 to below 1"):
        compare({"a": report([1, 0]), "b": report([0, 1])}, margin=margin)


def test_no_difference_is_beyond_one():
    d = compare({"a": report([1.0] * 7), "b": report([0.0] * 7)}, metrics=["recall@8"]).differences[0]
    assert -1 <= d.low <= d.value <= d.high <= 1

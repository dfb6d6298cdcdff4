"""Intervals that cover what they claim to cover."""

import json
import math
import time

import numpy as np
import pytest
from scipy import stats

from rungs.measure.intervals import estimate, wilson


def test_the_value_is_the_mean_or_the_median_by_hand():
    assert estimate([0.25, 0.5, 0.0, 1.0])["value"] == 0.4375
    assert estimate([30, 10, 20, 70, 50, 60], "median")["value"] == 40
    assert estimate([10, 20, 30, 40, 50, 60, 70], "median")["value"] == 40


def test_no_values_is_no_data_and_not_zero():
    nothing = {"value": None, "low": None, "high": None, "n": 0}
    assert estimate([]) == nothing == estimate([], "median")


@pytest.mark.parametrize(("hits", "n"), [(0, 12), (12, 12), (11, 13), (1, 1), (0, 1), (40, 80)])
def test_proportions_get_the_wilson_interval(hits, n):
    found = estimate([1.0] * hits + [0.0] * (n - hits))
    expected = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high))
    assert 0 <= found["low"] <= found["value"] <= found["high"] <= 1
    assert found["high"] - found["low"] > 0.1, "certainty from a dozen questions is a false claim"


def test_wilson_at_the_ends_is_exactly_0_and_1():
    assert wilson(0.0, 12)[0] == 0.0
    assert wilson(1.0, 12)[1] == 1.0


def test_equal_fractions_do_not_collapse_to_a_point():
    found = estimate([0.5, 0.5, 0.5])
    assert found["low"] < 0.3 and found["high"] > 0.7


def test_a_mean_gets_the_percentile_bootstrap():
    values = np.random.default_rng(3).uniform(size=60)
    found = estimate(values)
    other = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", random_state=1)
    interval = other.confidence_interval
    assert (found["low"], found["high"]) == pytest.approx((interval.low, interval.high), abs=0.01)


@pytest.mark.parametrize(("n", "k"), [(6, 1), (8, 1), (9, 2), (12, 3), (20, 6), (50, 18), (80, 31), (100, 40)])
def test_a_median_lies_between_the_order_statistics_that_the_tables_name(n, k):
    found = estimate(np.random.default_rng(n).permutation(n) + 1, "median")
    assert (found["low"], found["high"]) == (k, n + 1 - k)


def test_resamples_draw_n_questions_each_and_differ():
    from rungs.measure import intervals

    counts = np.concatenate(list(intervals._resamples(15)))
    assert counts.shape == (10_000, 15)
    assert (counts.sum(axis=1) == 15).all()
    assert counts.mean(axis=0) == pytest.approx(np.ones(15), abs=0.05)
    assert len(np.unique(counts, axis=0)) > 9_900


def test_same_values_in_any_order_give_the_same_interval():
    values = list(np.random.default_rng(5).uniform(size=37))
    assert estimate(values) == estimate(values[::-1]) == estimate(values)


def test_large_samples_need_no_large_memory_and_agree_with_the_normal_approximation():
    values = np.random.default_rng(6).uniform(size=2000)
    found = estimate(values)
    half = 1.96 * values.std() / math.sqrt(2000)
    assert (found["low"], found["high"]) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.002)


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_intervals_cover_the_truth_about_95_times_in_100(statistic):
    generator = np.random.default_rng(7)
    truth = {"mean": 2 / 7, "median": stats.beta(2, 5).median()}[statistic]
    for n in (8, 50):
        covered = 0
        for _ in range(600):
            found = estimate(generator.beta(2, 5, size=n), statistic)
            covered += found["low"] <= truth <= found["high"]
        # binomial(600, 0.95) stays within 0.02; a plain percentile bootstrap of eight values covers 0.87, and the exact
        # interval of a median may be wider than it need be
        assert 0.91 <= covered / 600 <= {"mean": 0.975, "median": 0.998}[statistic]


def test_proportion_intervals_cover_at_the_edge():
    generator = np.random.default_rng(8)
    covered = sum(
        found["low"] <= 0.93 <= found["high"]
        for found in (estimate((generator.uniform(size=13) < 0.93).astype(float)) for _ in range(1000))
    )
    assert covered / 1000 >= 0.92


def test_a_median_that_half_the_questions_never_reach_is_infinite():
    found = estimate([10, 20, 30, 40, math.inf, math.inf, math.inf, math.inf, math.inf], "median")
    assert found["value"] == math.inf and found["high"] == math.inf and found["low"] < math.inf
    all_missed = estimate([math.inf] * 8, "median")
    assert (all_missed["value"], all_missed["low"], all_missed["high"]) == (math.inf,) * 3


def test_a_finite_median_may_have_an_infinite_upper_end():
    found = estimate([10, 20, 30, 40, 50, 60, math.inf, math.inf, math.inf], "median")
    assert found["value"] == 50
    assert found["high"] == math.inf and found["low"] == 20


def test_too_few_values_bound_no_median():
    assert estimate([5, 6, 7, 8, 9], "median") == {"value": 7, "low": None, "high": None, "n": 5}
    assert estimate([5, 6, 7, 8, 9, 9], "median")["low"] == 5
    assert estimate([5.0]) == {"value": 5.0, "low": None, "high": None, "n": 1}


@pytest.mark.parametrize(("values", "statistic"), [([math.nan], "mean"), ([math.nan], "median"), ([math.inf], "mean")])
def test_what_has_no_mean_is_refused(values, statistic):
    with pytest.raises(ValueError, match="NaN or infinity"):
        estimate(values, statistic)


def test_estimates_are_plain_json_numbers():
    text = json.dumps([estimate([0.1, 0.7, 0.4]), estimate(range(9), "median"), estimate([1, 0])], allow_nan=False)
    assert json.loads(text)[0]["n"] == 3


def test_a_table_of_eight_systems_takes_little_time():
    generator = np.random.default_rng(9)
    groups = [generator.uniform(size=n) for n in (80, 40, 12, 12, 8, 6)] * 10
    estimate(groups[0])
    start = time.perf_counter()
    for _ in range(8):
        for values in groups:
            estimate(values)
    assert time.perf_counter() - start < 10

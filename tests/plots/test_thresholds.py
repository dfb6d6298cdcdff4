"""The cut through two sets of scores."""

import doctest

import numpy as np
import pytest

from rungs import plots
from rungs.plots import thresholds


def test_the_docstring_examples_hold():
    assert doctest.testmod(thresholds).failed == 0


def test_best_threshold_is_the_best_of_all():
    generator = np.random.default_rng(1)
    positive, negative = generator.normal(0.6, 0.1, 40).tolist(), generator.normal(0.45, 0.1, 15).tolist()
    cut = plots.best_threshold(positive, negative)
    gains = [np.mean(np.array(negative) < at) - np.mean(np.array(positive) < at) for at in np.linspace(0, 1, 5001)]
    assert cut.abstain_rate - cut.false_weak_rate == pytest.approx(max(gains))
    assert cut.refused == sum(p < cut.value for p in positive)
    assert cut.admitted == sum(n >= cut.value for n in negative)
    assert plots.best_threshold([0.5], [0.5]) == plots.Threshold(0.5, 0, 1, 1, 1)

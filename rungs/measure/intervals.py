"""How far a figure could be off: 95% intervals over questions.

Forty questions are a small sample. A recall of 0.43 over 80 questions is a statement about those 80; about the next 80
it says "somewhere between 0.32 and 0.54". Every quality figure here carries that range.

Three methods, each where it holds:

- means of values that are all 0 or 1: the Wilson score interval. A bootstrap of twelve hits out of twelve never draws a
  miss and would claim certainty.
- other means: the percentile bootstrap, 10,000 resamples of the questions, fixed seed, with the levels widened for few
  questions (Hesterberg's expanded percentiles; at 80 questions next to nothing, at 8 the step from 87% covered to 93%).
- medians: the exact interval between two order statistics, from six values on; below six no pair of observations covers
  a median with 95%. The percentile bootstrap of a median covers only 88 to 93% at the size of a small group.

Sources: Wilson (1927), JASA 22; Efron and Tibshirani (1993), An Introduction to the Bootstrap, chapter 13; Hesterberg
(2015), The American Statistician 69, section 5.3; Conover (1999), Practical Nonparametric Statistics, section 3.2.
"""

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from scipy.special import bdtr, ndtr, stdtrit  # scipy.stats takes a second to import

__all__ = ["RESAMPLES", "estimate"]

RESAMPLES = 10_000
_SEED = 20_240_501
_Z = 1.959963984540054  # the normal quantile of 0.975
_BLOCKS = 10
_KEPT_UP_TO = 400  # questions; 32 MB of counts

Estimate = dict[str, Any]


def estimate(values: Iterable[float], statistic: Literal["mean", "median"] = "mean") -> Estimate:
    """A statistic over questions with its 95% interval.

    Parameters
    ----------
    values
        One per question; no NaN. Infinities are allowed for a median. Not differences of two systems: where those are
        all 0 or 1 they would be read as a proportion; `rungs.measure.compare` is for them.
    statistic
        ``mean`` or ``median``.

    Returns
    -------
    dict
        ``value``, ``low``, ``high``, ``n``. No values: all ``None`` with ``n`` 0, which means "no data" and is not 0.
        ``low`` and ``high`` are ``None`` where so few values bound nothing: one that is outside [0, 1], or fewer than
        six for a median. A median is ``inf`` where half of the values or more are.

    Raises
    ------
    ValueError
        For a NaN, or an infinite value in a mean.

    Examples
    --------
    >>> {k: round(v, 3) for k, v in estimate([1, 1, 0, 1]).items()}
    {'value': 0.75, 'low': 0.301, 'high': 0.954, 'n': 4}
    """
    x = np.sort(np.fromiter(values, dtype=float))
    if np.isnan(x).any() or (statistic == "mean" and np.isinf(x).any()):
        raise ValueError(f"cannot take the {statistic} of values that hold NaN or infinity")
    if x.size == 0:
        return {"value": None, "low": None, "high": None, "n": 0}
    value = float(np.median(x)) if statistic == "median" else float(x.mean())
    low, high = _median_interval(x) if statistic == "median" else _mean_interval(x, value)
    return {"value": value, "low": low, "high": high, "n": int(x.size)}


def _mean_interval(x: np.ndarray, value: float) -> tuple[float | None, float | None]:
    binary = bool(np.isin(x, (0.0, 1.0)).all())
    # equal values resample to themselves; within [0, 1] no variance exceeds a proportion's, so Wilson still covers
    constant_fraction = x[0] == x[-1] and 0 <= x[0] <= 1
    if binary or constant_fraction:
        return wilson(value, x.size)
    if x.size == 1:
        return None, None
    means = np.concatenate([counts @ x for counts in _resamples(x.size)]) / x.size
    tail = ndtr(-math.sqrt(x.size / (x.size - 1)) * stdtrit(x.size - 1, 0.975))
    low, high = np.quantile(means, (tail, 1 - tail))
    return min(float(low), value), max(float(high), value)


def _median_interval(x: np.ndarray) -> tuple[float | None, float | None]:
    """The two observed values between which a median lies in at least 95 of 100 samples, whatever the distribution.

    The number of values below the true median is binomial(n, 1/2); the ``k``-th from either end, where fewer than ``k``
    happen in under 2.5% of samples, bound it. Order is all that is used, so infinities need no care.
    """
    k = int((bdtr(np.arange(x.size), x.size, 0.5) < 0.025).sum())
    return (float(x[k - 1]), float(x[-k])) if k >= 1 else (None, None)


def wilson(proportion: float, n: int) -> tuple[float, float]:
    """Wilson score interval of a proportion, 95%.

    Examples
    --------
    >>> [round(bound, 3) for bound in wilson(11 / 13, 13)]
    [0.578, 0.957]
    """
    scale = 1 + _Z**2 / n
    centre = (proportion + _Z**2 / (2 * n)) / scale
    half = _Z / scale * math.sqrt(proportion * (1 - proportion) / n + _Z**2 / (4 * n**2))
    # rounding may leave the ends a hair inside the proportion when it is 0 or 1
    return max(0.0, min(centre - half, proportion)), min(1.0, max(centre + half, proportion))


def _resamples(n: int) -> Iterable[np.ndarray]:
    """How often each of ``n`` questions is drawn, one row per resample, in blocks.

    The draws depend on ``n`` alone, so every metric, group and system of that size sees the same ones.
    """
    return _kept(n) if n <= _KEPT_UP_TO else _draw(n)


@lru_cache(maxsize=12)
def _kept(n: int) -> tuple[np.ndarray, ...]:
    return tuple(_draw(n))


def _draw(n: int) -> Iterator[np.ndarray]:
    generator = np.random.default_rng(_SEED)
    rows = RESAMPLES // _BLOCKS
    for _ in range(_BLOCKS):
        drawn = generator.integers(n, size=(rows, n)) + np.arange(rows)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(float)

"""Does the comparison itself tell the truth? Systems that are the same must not differ, and planted effects must be found.

An instrument is audited by measuring what is known. Two draws from one system have no difference, so what is called
``better`` or ``worse`` among them is false alarm; a system improved by a known amount must be found as often as `power`
promises. Run it on the questions at hand: `python -m rungs.measure.audit`.
"""

import json
import sys
from collections.abc import Sequence

import numpy as np

from rungs.measure.compare import MARGIN, paired_difference, power

__all__ = ["false_alarms", "planted"]

_SEED = 11
_MISS = 0.55
_FLIPS = 0.04


def false_alarms(n: int, *, comparisons: int = 200, margin: float = MARGIN) -> float:
    """Share of comparisons of a system with a re-sampled copy of itself that are called better or worse.

    Parameters
    ----------
    n
        Questions. Each has its own chance of being found (most are near 0 or 1, as real ones are), the same in both
        runs; what is found is drawn afresh.
    comparisons
        How many pairs of runs.
    margin
        Half-width of what counts as equivalent.
    """
    rng = np.random.default_rng(_SEED)
    chances = rng.beta(0.5, 0.5, size=n)
    runs = ((rng.random((2, n)) < chances).astype(float) for _ in range(comparisons))
    verdicts = [_verdict(before, after, margin) for before, after in runs]
    return sum(verdict in ("better", "worse") for verdict in verdicts) / comparisons


def planted(effect: float, n: int, *, comparisons: int = 100, margin: float = MARGIN) -> tuple[float, float]:
    """How often a planted effect is found, and how often `power` promises it.

    Parameters
    ----------
    effect
        Mean difference in recall: misses that become hits, with some questions flipping either way besides.
    n
        Questions.
    comparisons
        How many pairs of runs.
    margin
        Half-width of what counts as equivalent.

    Returns
    -------
    tuple of float
        Share of comparisons called better, and the share expected from how many questions move.
    """
    rng = np.random.default_rng(_SEED)
    found, moved = 0, []
    for _ in range(comparisons):
        before = (rng.random(n) < 1 - _MISS).astype(float)
        after = np.where((before == 0) & (rng.random(n) < effect / _MISS), 1.0, before)
        after = np.where(rng.random(n) < _FLIPS, (rng.random(n) < 0.5).astype(float), after)
        moved.append(float((after != before).mean()))
        found += _verdict(before, after, margin) == "better"
    return found / comparisons, power(effect, float(np.mean(moved)), n)


def _verdict(before: np.ndarray, after: np.ndarray, margin: float) -> str:
    return paired_difference("copy", "recall@8", after - before, margin=margin).verdict


def main(sizes: Sequence[str] = ("108", "300")) -> None:
    """Print both for so many questions."""
    for n in map(int, sizes):
        row = {"n": n, "false_alarms": false_alarms(n)}
        for effect in (0.05, 0.10, 0.20):
            found, promised = planted(effect, n)
            row[f"+{effect:.2f}"] = {"found": found, "promised": round(promised, 2)}
        print(json.dumps(row))


if __name__ == "__main__":
    main(sys.argv[1:] or ("108", "300"))

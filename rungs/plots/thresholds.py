"""One threshold below which "no answer" is said, and what it costs both ways."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Threshold", "best_threshold"]


@dataclass(frozen=True, slots=True)
class Threshold:
    """One cut through two overlapping sets of scores; below it, "no answer" is said.

    Attributes
    ----------
    value
        The cut, on the scale of the scores.
    refused, positives
        Questions with an answer that lie below it, and how many there are.
    admitted, negatives
        Questions without one that lie on or above it, and how many there are.
    """

    value: float
    refused: int
    positives: int
    admitted: int
    negatives: int

    @property
    def false_weak_rate(self) -> float:
        """Share of the questions with an answer that are refused, between 0 and 1."""
        return self.refused / self.positives

    @property
    def abstain_rate(self) -> float:
        """Share of the questions without an answer that are refused, between 0 and 1."""
        return 1 - self.admitted / self.negatives


def best_threshold(positive: Sequence[float], negative: Sequence[float]) -> Threshold:
    """The cut that makes abstain_rate − false_weak_rate largest; the lowest of several.

    It is chosen on the very scores it is judged by, so it flatters itself: on new questions it costs more.

    Parameters
    ----------
    positive, negative
        Best scores of questions with an answer and of those without, on one scale; at least one of each.

    Examples
    --------
    >>> best_threshold([0.5, 0.7, 0.8], [0.3, 0.6])
    Threshold(value=0.65, refused=1, positives=3, admitted=0, negatives=2)
    """
    scores = sorted({*positive, *negative})
    found = [_cut(positive, negative, (low + high) / 2) for low, high in pairwise(scores)]
    return max(found or [_cut(positive, negative, scores[0])], key=lambda c: c.abstain_rate - c.false_weak_rate)


def _cut(positive: Sequence[float], negative: Sequence[float], at: float) -> Threshold:
    refused, admitted = sum(s < at for s in positive), sum(s >= at for s in negative)
    return Threshold(round(at, 6), refused, len(positive), admitted, len(negative))

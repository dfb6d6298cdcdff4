"""Every figure the notebooks show.

Each function takes reports, or plain numbers, and returns a Matplotlib figure. Its title is made from the data, so that
it cannot outlive the numbers it was written for. A figure shows itself in Jupyter; ``figure.savefig`` writes it to a
file. Matplotlib is imported when the first figure is drawn, without pyplot and its global state.
"""

from rungs.plots.comparisons import differences, differences_by_kind
from rungs.plots.elsewhere import published
from rungs.plots.fusion import contributions, crossover, rank_by_k
from rungs.plots.intervals import interval_width
from rungs.plots.recall import recall_by_kind
from rungs.plots.routing import rates
from rungs.plots.scores import top_scores
from rungs.plots.slots import slots_by_category
from rungs.plots.sweeps import swept
from rungs.plots.thresholds import Threshold, best_threshold
from rungs.plots.tokens import answered_by_tokens, window_tokens

__all__ = [
    "Threshold",
    "answered_by_tokens",
    "best_threshold",
    "contributions",
    "crossover",
    "differences",
    "differences_by_kind",
    "interval_width",
    "published",
    "rank_by_k",
    "rates",
    "recall_by_kind",
    "slots_by_category",
    "swept",
    "top_scores",
    "window_tokens",
]

"""Which kinds of file take the places of a ranking, against which hold the answers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rungs.errors import RunError
from rungs.measure.report import Report
from rungs.plots._reports import check_ok
from rungs.plots._style import BLUE, GREY, SKY, legend, one_panel, set_title, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["slots_by_category"]

_CATEGORY_NAMES = {"code": "Code", "test": "Tests", "doc": "Documents", "config": "Configuration"}
_OVER = 0.05  # the share of places above that of answers from which a category is named


def slots_by_category(report: Report, categories: Mapping[str, str], kind: str = "prose-en", k: int = 8) -> "Figure":
    """Which kinds of file take rank 1 and the top ``k`` places, against which hold the answers; in percent.

    Parameters
    ----------
    report
        What was measured.
    categories
        Category of every file of the corpus by its path: ``{file.path: file.category for file in corpus.files}``.
    kind
        The questions looked at.
    k
        Places counted per question.

    Raises
    ------
    RunError
        When the report is FAILED or has no question of this kind.
    """
    check_ok({"the report": report})
    cases = [case for case in report.cases if case["kind"] == kind and case["expect"]]
    if not cases:
        raise RunError(f"no question of kind {kind!r} has an answer; the kinds are {', '.join(report.by_kind)}")
    answers, slots = _answer_shares(cases, categories), _slot_shares(cases, categories, k)
    shares = {"of the answers": answers, "of rank 1": _slot_shares(cases, categories, 1), f"of the top {k}": slots}
    shown = [c for c in _CATEGORY_NAMES if any(share.get(c) for share in shares.values())]
    figure, axes = one_panel(3.6)
    looks = ((GREY, ""), (SKY, "//"), (BLUE, ""))
    for i, ((label, share), (colour, hatch)) in enumerate(zip(shares.items(), looks, strict=True)):
        heights = [100 * share.get(c, 0.0) for c in shown]
        x = np.arange(len(shown)) + (i - 1) * 0.27
        bars = axes.bar(x, heights, 0.25, label=label, color=colour, hatch=hatch, edgecolor="white")
        axes.bar_label(bars, fmt="%.0f", fontsize=8.5, padding=2)
    axes.set_xticks(range(len(shown)), [_CATEGORY_NAMES[c] for c in shown])
    axes.set_ylabel("share, %")
    axes.margins(y=0.14)
    set_title(axes, _title(answers, slots, shown, k, f"({len(cases)} questions of kind {kind})"))
    legend(axes)
    tidy(axes, grid="y")
    return figure


def _answer_shares(cases: Sequence[Mapping[str, Any]], categories: Mapping[str, str]) -> dict[str, float]:
    """Share of the answers by category; every question counts once, split evenly over its labels."""
    count: Counter[str] = Counter()
    for case in cases:
        for label in case["expect"]:
            count[_category(label.partition("::")[0], categories)] += 1 / len(case["expect"])
    return {category: amount / len(cases) for category, amount in count.items()}


def _slot_shares(cases: Sequence[Mapping[str, Any]], categories: Mapping[str, str], k: int) -> dict[str, float]:
    """Share of the first ``k`` places by category, over all questions together."""
    count = Counter(_category(hit["path"], categories) for case in cases for hit in case["hits"][:k])
    return {category: amount / count.total() for category, amount in count.items()}


def _category(path: str, categories: Mapping[str, str]) -> str:
    if path not in categories:
        raise RunError(f"{path!r} has no category; pass those of the corpus that was measured")
    return categories[path]


def _title(
    answers: Mapping[str, float], slots: Mapping[str, float], shown: Sequence[str], k: int, questions: str
) -> str:
    over = {c: slots.get(c, 0.0) - answers.get(c, 0.0) for c in shown}
    named = [c for c in sorted(shown, key=over.__getitem__, reverse=True) if over[c] > _OVER]
    if not named:
        return f"Places and answers are shared alike, to {100 * _OVER:.0f} points in a hundred\n{questions}"
    take = ", ".join(f"{_CATEGORY_NAMES[c].lower()} take {slots[c]:.0%}" for c in named)
    hold = ", ".join(f"{_CATEGORY_NAMES[c].lower()} hold {answers.get(c, 0.0):.0%}" for c in named)
    return f"Of the top {k} places, {take};\nof the answers, {hold} {questions}"

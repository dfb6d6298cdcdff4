"""Every figure the notebooks show.

Each function takes reports, or plain numbers, and returns a Matplotlib figure. Its title is made from the data, so that
it cannot outlive the numbers it was written for. A figure shows itself in Jupyter; ``figure.savefig`` writes it to a
file. Matplotlib is imported when the first figure is drawn, without pyplot and its global state.

Colours are those of Okabe and Ito, which stay apart for readers who do not tell red from green; rows also differ by
marker.
"""

import io
import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rungs.errors import RunError
from rungs.measure.intervals import estimate
from rungs.measure.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rungs.measure.compare import Comparison, Difference
    from rungs.measure.sweep import Sweep

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

_BLUE, _ORANGE, _GREEN, _PINK, _SKY, _RED, _GREY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#6B6B6B",
)
_WINE, _OLIVE, _INDIGO, _TEAL, _BROWN = "#882255", "#8A8A2B", "#332288", "#44AA99", "#7A5230"
_ROW_COLOURS = (_GREY, _ORANGE, _BLUE, _GREEN, _SKY, _PINK, _WINE, _OLIVE, _RED, _INDIGO, _TEAL, _BROWN)
_ROW_MARKERS = ("s", "D", "o", "^", "v", "P", "X", "<", "*", ">", "h", "p")
_KNOWN_ROWS = (  # keep their looks in every figure, whichever are drawn
    "grep",
    "windows",
    "dense",
    "bm25",
    "hybrid k=1",
    "hybrid k=10",
    "hybrid k=60",
    "routed by regex",
    "auto",
)
_MOST_IN_ONE_PANEL = 7
_PANELS_ACROSS = 4
_CATEGORY_NAMES = {"code": "Code", "test": "Tests", "doc": "Documents", "config": "Configuration"}
_VERDICT_COLOURS = {"better": _GREEN, "worse": _RED, "equivalent": _BLUE}
_WIDTH = 8.0
_DPI = 100
_TITLE_CHARACTERS = 84


# --- figures


def recall_by_kind(reports: Mapping[str, Report], metric: str = "recall@8") -> "Figure":
    """One metric of every row, over all questions and by kind, each with its 95% interval.

    Up to seven rows share one panel, a group of lines for each kind. More rows get a panel for each kind, with the rows
    named at the left and their values at the right.

    Parameters
    ----------
    reports
        By the name of the row, in the order of the legend.
    metric
        A metric that is a mean between 0 and 1. Kinds it says nothing about are left out.

    Raises
    ------
    RunError
        When there is no report, or one is FAILED and has no figures.
    """
    _check_ok(reports)
    groups = _groups(reports, metric)
    if len(reports) > _MOST_IN_ONE_PANEL:
        return _panel_by_kind(reports, groups, metric)
    figure = _new_figure(_WIDTH, 1.3 + len(groups) * (0.18 * len(reports) + 0.16))
    axes = figure.add_subplot()
    step = 0.8 / max(len(reports), 1)
    looks = _looks(reports)
    for row, name in enumerate(reports):
        offset = (row - (len(reports) - 1) / 2) * step
        points = [(g + offset, by_row[name]) for g, by_row in enumerate(groups.values()) if by_row[name]["n"]]
        _intervals(axes, points, name, looks[name])
    for line in range(1, len(groups)):
        axes.axhline(line - 0.5, color="0.85", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(groups)), [f"{group} (n={_n(by_row)})" for group, by_row in groups.items()])
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel(f"{metric} (share of questions, with 95% interval)")
    _title(axes, _leaders(groups, metric))
    figure.legend(loc="outside lower center", ncols=min(len(reports), 4), frameon=False, fontsize=9)
    _tidy(axes, grid="x")
    return figure


def _panel_by_kind(
    reports: Mapping[str, Report], groups: Mapping[str, Mapping[str, Mapping[str, Any]]], metric: str
) -> "Figure":
    """A panel for each group of questions, a line for each row."""
    across = min(_PANELS_ACROSS, len(groups))
    down = -(-len(groups) // across)
    figure = _new_figure(_WIDTH, 1.1 + down * (0.45 + 0.19 * len(reports)))
    looks, names = _looks(reports), list(reports)
    every = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for axes, (group, by_row) in zip(every.flat, groups.items(), strict=False):
        best = max((e["value"] for e in by_row.values() if e["n"]), default=None)
        for y, name in enumerate(names):
            e = by_row[name]
            if not e["n"]:
                continue
            _intervals(axes, [(y, e)], name, looks[name])
            lead = "bold" if e["value"] == best else "normal"
            axes.annotate(
                f"{e['value']:.2f}",
                (1.02, y),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=7.5,
                fontweight=lead,
                annotation_clip=False,
            )
        axes.set_title(f"{group} (n={_n(by_row)})", fontsize=9)
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        _tidy(axes, grid="x")
        axes.tick_params(labelsize=8)
    for axes in list(every.flat)[len(groups) :]:
        axes.remove()
    for column in range(across):  # of a column that ends early, the last panel there is
        drawn = [row for row in range(down) if row * across + column < len(groups)]
        every[drawn[-1]][column].tick_params(labelbottom=True)
    figure.supxlabel(f"{metric}: share of questions, with 95% interval; the highest in bold", fontsize=9)
    lines = [part for line in _leaders(groups, metric).splitlines() for part in textwrap.wrap(line, _TITLE_CHARACTERS)]
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=10.5)
    return figure


def answered_by_tokens(reports: Mapping[str, Report], budget: int = 1000) -> "Figure":
    """How many questions are answered after reading how many tokens, for every row.

    Ranks compare rows only where their hits are equally long; this compares what is read.

    Parameters
    ----------
    reports
        By the name of the row, in the order of the legend.
    budget
        Tokens at which the title reads the rows off.

    Raises
    ------
    RunError
        When there is no report, or one is FAILED and has no figures.
    """
    _check_ok(reports)
    read = {name: _tokens_read(report) for name, report in reports.items()}
    figure = _new_figure(_WIDTH, 3.8)
    axes = figure.add_subplot()
    least = min(tokens.min(initial=budget / 10) for tokens in read.values())
    most = max(tokens[np.isfinite(tokens)].max(initial=budget) for tokens in read.values())
    looks = _looks(read)
    for name, tokens in read.items():
        found = np.sort(tokens[np.isfinite(tokens)])
        share = np.arange(1, len(found) + 1) / len(tokens)
        x, y = np.append(found, most), np.append(share, share[-1:] if len(share) else [0.0])
        colour, marker = looks[name]
        every = max(1, len(x) // 8)
        axes.step(x, y, where="post", color=colour, label=name, marker=marker, markevery=every, markersize=5.5)
    axes.axvline(budget, color="black", linewidth=1)
    axes.set_xlim(max(1, least), most * 1.05)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_ylim(0, 1)
    axes.set_xlabel("tokens read, best hit first (log scale)")
    axes.set_ylabel("share of questions answered")
    title = ", ".join(f"{name} {(tokens <= budget).mean():.0%}" for name, tokens in read.items())
    n = max(map(len, read.values()))
    _title(axes, f"Answered by {budget:,} tokens, of {n} questions: {title}")
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    _tidy(axes, grid="both")
    return figure


def top_scores(report: Report, channel: str = "dense") -> "Figure":
    """The best score of every question, of those with an answer against those without.

    Above, both distributions with the one threshold that separates them best and what it costs both ways; below, every
    question as a tick, by kind for those without an answer.

    Raises
    ------
    RunError
        When the report is FAILED, or one of the two sides has no question with a score of this channel.
    """
    _check_ok({"the report": report})
    scores = _top_scores(report, channel)
    positive = [score for kind, found in scores.items() if not kind.startswith("negative") for score in found]
    negative = {kind: found for kind, found in scores.items() if kind.startswith("negative")}
    pooled = [score for found in negative.values() for score in found]
    if not positive or not pooled:
        raise RunError(f"{channel} scores are not on both sides; measure questions with an answer and without one")
    cut = best_threshold(positive, pooled)
    figure = _new_figure(_WIDTH, 4.4)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1.1])
    _score_histogram(upper, positive, pooled, cut)
    _score_ticks(lower, {"with an answer": positive, **negative}, cut, f"cosine of the best hit ({channel})")
    _title(upper, _cut_title(cut))
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def slots_by_category(report: Report, categories: Mapping[str, str], kind: str = "prose-en", k: int = 8) -> "Figure":
    """Which kinds of file take rank 1 and the top ``k`` places, against which hold the answers.

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
    _check_ok({"the report": report})
    cases = [case for case in report.cases if case["kind"] == kind and case["expect"]]
    if not cases:
        raise RunError(f"no question of kind {kind!r} has an answer; the kinds are {', '.join(report.by_kind)}")
    shares = {
        "of the answers": _answer_shares(cases, categories),
        "of rank 1": _slot_shares(cases, categories, 1),
        f"of the top {k}": _slot_shares(cases, categories, k),
    }
    shown = [c for c in _CATEGORY_NAMES if any(share.get(c) for share in shares.values())]
    figure = _new_figure(_WIDTH, 3.6)
    axes = figure.add_subplot()
    looks = ((_GREY, ""), (_SKY, "//"), (_BLUE, ""))
    for i, ((label, share), (colour, hatch)) in enumerate(zip(shares.items(), looks, strict=True)):
        heights = [100 * share.get(c, 0.0) for c in shown]
        x = np.arange(len(shown)) + (i - 1) * 0.27
        bars = axes.bar(x, heights, 0.25, label=label, color=colour, hatch=hatch, edgecolor="white")
        axes.bar_label(bars, fmt="%.0f", fontsize=8.5, padding=2)
    axes.set_xticks(range(len(shown)), [_CATEGORY_NAMES[c] for c in shown])
    axes.set_ylabel("share, %")
    axes.margins(y=0.14)
    _title(axes, _slots_title(shares, shown, k, kind, len(cases)))
    axes.legend(frameon=False, fontsize=9)
    _tidy(axes, grid="y")
    return figure


def interval_width(
    values: Sequence[float],
    metric: str = "mrr",
    *,
    marks: Sequence[int] = (42, 300),
    difference: float | None = None,
) -> "Figure":
    """How wide a 95% interval is for how many questions like these.

    Parameters
    ----------
    values
        The metric of every question that was measured.
    metric
        Its name.
    marks
        Numbers of questions to read off.
    difference
        A difference somebody wants to see, drawn as a line.

    Notes
    -----
    The line is ``2 × 1.96 × s / √n`` with ``s`` the standard deviation of ``values``. The points are intervals by
    `rungs.measure.estimate` over ``n`` values drawn from them.
    """
    values = np.asarray(values, dtype=float)
    spread = float(values.std(ddof=1))
    largest = max(400, max(marks) + 50, len(values) + 50)
    grid = np.arange(8, largest)
    figure = _new_figure(_WIDTH, 3.6)
    axes = figure.add_subplot()
    axes.plot(grid, _normal_width(spread, grid), color=_GREY, label="2 × 1.96 × s / √n")
    sizes = sorted({12, 25, *marks, 100, 200, len(values)})
    drawn = {n: _drawn_width(values, n) for n in sizes}
    plain = [n for n in sizes if n not in marks]
    axes.plot(plain, [drawn[n] for n in plain], "o", color=_SKY, label="95% interval of n drawn questions")
    axes.plot(marks, [drawn[n] for n in marks], "D", color=_RED, markersize=8)
    for n in marks:
        axes.annotate(
            f"n = {n}: {drawn[n]:.2f} wide", (n, drawn[n]), xytext=(8, 10), textcoords="offset points", fontsize=9
        )
    if difference is not None:
        axes.axhline(difference, color=_BLUE, linestyle="--", label=f"a difference of {difference:.3f}")
    axes.set_xlim(0, largest)
    axes.set_ylim(0, max(drawn.values()) * 1.15)
    axes.set_xlabel("questions, n")
    axes.set_ylabel(f"width of the interval of {metric}")
    title = f"{metric}: " + ", ".join(f"{drawn[n]:.2f} wide with {n} questions" for n in marks)
    if difference is not None:
        times = drawn[min(marks)] / difference
        title += f"\nwith {min(marks)}, that is {times:.0f} times a difference of {difference:.3f}"
    _title(axes, title)
    axes.legend(frameon=False, fontsize=9)
    _tidy(axes, grid="both")
    return figure


def differences(comparison: "Comparison", metrics: Sequence[str] | None = None) -> "Figure":
    """What changed against the baseline, with paired intervals, the margin and the smallest readable difference.

    Parameters
    ----------
    comparison
        From `rungs.measure.compare`.
    metrics
        Which to draw; by default all that have data.

    Raises
    ------
    RunError
        When none of the metrics has data.
    """
    drawn = [d for d in comparison.differences if d.value is not None and (metrics is None or d.metric in metrics)]
    if not drawn:
        raise RunError("there is no difference to draw: no metric of this comparison has data")
    several = len({d.system for d in drawn}) > 1
    figure = _new_figure(_WIDTH, 1.5 + 0.34 * len(drawn))
    axes = figure.add_subplot()
    margin = comparison.margin
    axes.axvspan(-margin, margin, color="0.92", zorder=0, label=f"as good as none (±{margin:g})")
    axes.axvline(0, color="black", linewidth=1)
    for y, d in enumerate(drawn):
        reach = [[d.value - d.low], [d.high - d.value]]
        colour = _VERDICT_COLOURS.get(d.verdict, _GREY)
        axes.errorbar(d.value, y, xerr=reach, fmt="o", color=colour, markersize=5.5, elinewidth=1.6, capsize=2)
        if d.readable is not None:
            label = "smallest readable difference" if y == 0 else None
            axes.plot([-d.readable, d.readable], [y, y], "|", color=_PINK, markersize=9, label=label)
        axes.annotate(f"  {d.verdict}", (1, y), xycoords=("axes fraction", "data"), va="center", fontsize=8.5)
    names = [f"{d.system}: {d.metric} (n={d.n})" if several else f"{d.metric} (n={d.n})" for d in drawn]
    axes.set_yticks(range(len(drawn)), names)
    axes.set_ylim(len(drawn) - 0.5, -0.5)
    axes.set_xlabel(f"difference to {comparison.baseline} (95% paired interval)")
    _title(axes, _differences_title(comparison, drawn))
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    _tidy(axes, grid="x")
    return figure


def swept(sweep: "Sweep", metric: str | None = None) -> "Figure":
    """One setting over its values: the questions it is tuned for, and each group of controls.

    Parameters
    ----------
    sweep
        From `rungs.measure.sweep`.
    metric
        One of its metrics; the first by default.
    """
    metric = metric or sweep.metrics[0]
    figure = _new_figure(_WIDTH, 3.9)
    axes = figure.add_subplot()
    x = np.arange(len(sweep.values))
    plateau = [i for i, value in enumerate(sweep.values) if value in sweep.plateau]
    if plateau:
        axes.axvspan(
            plateau[0] - 0.5, plateau[-1] + 0.5, color="0.93", zorder=0, label="not readably worse than the best"
        )
    looks = list(zip((_BLUE, _ORANGE, _GREEN, _PINK, _RED, _SKY), ("o", "D", "^", "v", "P", "X"), strict=True))
    for row, group in enumerate(sweep.groups):
        estimates = [sweep.figures(value, group)[metric] for value in sweep.values]
        value = np.array([e["value"] for e in estimates])
        reach = np.array([[e["value"] - e["low"], e["high"] - e["value"]] for e in estimates]).T
        colour, marker = looks[row % len(looks)]
        shift = (row - (len(sweep.groups) - 1) / 2) * 0.08
        style = "-" if group == "golden" else "--"
        name = f"{'tuned for' if group == 'golden' else f'control: {group}'} (n={estimates[0]['n']})"
        axes.errorbar(
            x + shift, value, yerr=reach, fmt=marker + style, color=colour, label=name, markersize=5.5, capsize=2
        )
    axes.set_xticks(x, [str(value) or "(none)" for value in sweep.values])
    axes.set_xlim(-0.5, len(x) - 0.5)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel(sweep.setting)
    axes.set_ylabel(f"{metric}, with 95% interval")
    _title(axes, _swept_title(sweep, metric))
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    _tidy(axes, grid="y")
    return figure


def contributions(ks: Sequence[float] = (0, 3, 10, 60), ranks: int = 20) -> "Figure":
    """What one list adds to a document by its rank, in shares of what it adds to its first.

    Parameters
    ----------
    ks
        Constants of Reciprocal Rank Fusion.
    ranks
        How far down the list.
    """
    from rungs.fusion import contribution

    figure = _new_figure(_WIDTH, 3.6)
    axes = figure.add_subplot()
    x = np.arange(1, ranks + 1)
    looks = zip((_GREY, _ORANGE, _BLUE, _GREEN, _PINK, _RED), ("s", "D", "o", "^", "P", "X"), strict=True)
    for k, (colour, marker) in zip(ks, looks, strict=False):
        share = [contribution(int(rank), k) / contribution(1, k) for rank in x]
        axes.plot(x, share, marker=marker, color=colour, markersize=4.5)
        axes.annotate(
            f"k = {k:g}",
            (ranks, share[-1]),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=colour,
            annotation_clip=False,
        )
    axes.axvline(_FIFTH, color="0.6", linewidth=1, linestyle=":")
    axes.set_ylim(0, 1.05)
    axes.set_xlim(0.5, ranks + 0.5)
    axes.set_xticks([1, _FIFTH, *range(10, ranks + 1, 5)])
    axes.set_xlabel("rank in the list")
    axes.set_ylabel("contribution, in shares\nof that of rank 1")
    fifth = {k: contribution(_FIFTH, k) / contribution(1, k) for k in ks}
    low, high = min(ks), max(ks)
    _title(
        axes,
        f"A fifth place is worth {fifth[low]:.0%} of a first place at k = {low:g}, and {fifth[high]:.0%} at k = {high:g}",
    )
    _tidy(axes, grid="both")
    return figure


_FIFTH = 5


def crossover(first: int = 1, both: int = 5, most: int = 60) -> "Figure":
    """A document that one list likes against one that both lists find passable, over k.

    Parameters
    ----------
    first
        Rank of D, in one list only.
    both
        Rank of E, in both lists.
    most
        The largest k drawn.
    """
    from rungs.fusion import contribution

    figure = _new_figure(_WIDTH, 3.4)
    axes = figure.add_subplot()
    k = np.arange(0, most + 1)
    # in shares of what the first place of both lists is worth, so that the lines do not all fall with k
    d = np.array([contribution(first, at) / (2 * contribution(1, at)) for at in k])
    e = np.array([contribution(both, at) / contribution(1, at) for at in k])
    axes.plot(k, d, color=_BLUE, label=f"D: rank {first} in one list, absent from the other")
    axes.plot(k, e, color=_ORANGE, linestyle="--", label=f"E: rank {both} in both lists")
    tie = both - 2 * first  # 1 / (k + first) = 2 / (k + both)
    title = f"E is ahead of D at every k, at k = {most} by {e[-1] / d[-1]:.1f} times"
    if 0 <= tie <= most:
        at = contribution(first, tie) / (2 * contribution(1, tie))
        axes.plot([tie], [at], "o", color="black", markersize=7)
        axes.annotate(f"a tie at k = {tie}", (tie, at), xytext=(10, -14), textcoords="offset points", fontsize=9)
        title = f"D is ahead below k = {tie}, E above it; at k = {most} E has {e[-1] / d[-1]:.1f} times the score of D"
    elif tie > most:
        title = f"D is ahead of E up to k = {most} and beyond"
    axes.set_ylim(0, 1)
    axes.set_xlim(0, most)
    axes.set_xlabel("k")
    axes.set_ylabel("score, in shares of a first\nplace in both lists")
    _title(axes, title)
    axes.legend(frameon=False, fontsize=9, loc="center right", bbox_to_anchor=(1, 0.3))
    _tidy(axes, grid="both")
    return figure


def rank_by_k(ranks: Mapping[str, Sequence[int | None]], ks: Sequence[float], right: str, top_k: int = 8) -> "Figure":
    """Where each of some documents stands in the fused list, over k.

    Parameters
    ----------
    ranks
        By document, its rank at each k; None where it is not in the list.
    ks
        The constants, rising.
    right
        Which document is the right one.
    top_k
        Places that a reader looks at, shaded.

    Raises
    ------
    RunError
        When the right document is not among them.
    """
    if right not in ranks:
        raise RunError(f"{right!r} is not among the documents; there is {', '.join(ranks)}")
    figure = _new_figure(_WIDTH, 3.9)
    axes = figure.add_subplot()
    x = np.arange(len(ks))
    lowest = max(rank for found in ranks.values() for rank in found if rank is not None)
    axes.axhspan(0.4, top_k + 0.5, color="0.95", zorder=0)
    for name, found in ranks.items():
        y = [np.nan if rank is None else rank for rank in found]
        look = {"color": _BLUE, "linewidth": 2.6, "zorder": 3} if name == right else {"color": "0.65", "linewidth": 1.1}
        axes.plot(x, y, marker="o", markersize=5 if name == right else 3.5, **look)
    ends = [(found[-1], name) for name, found in ranks.items() if found[-1] is not None]
    for rank, name in ends:
        weight, colour = ("bold", _BLUE) if name == right else ("normal", "0.35")
        axes.annotate(
            f"  {_short(name)}",
            (x[-1], rank),
            va="center",
            fontsize=8,
            fontweight=weight,
            color=colour,
            annotation_clip=False,
        )
    axes.set_xticks(x, [f"{k:g}" for k in ks])
    axes.set_xlim(-0.3, len(ks) - 0.7)
    axes.set_ylim(lowest + 0.6, 0.4)
    axes.set_yticks(range(1, lowest + 1) if lowest <= _EVERY_RANK else [1, *range(5, lowest + 1, 5)])
    axes.set_xlabel("k")
    axes.set_ylabel(f"rank in the fused list (shaded: the first {top_k})")
    said = [f"{rank or 'not there'} at k = {k:g}" for k, rank in ((ks[0], ranks[right][0]), (ks[-1], ranks[right][-1]))]
    _title(axes, f"Rank of the right place, {_short(right)}: {', '.join(said)}")
    _tidy(axes, grid="y")
    return figure


_EVERY_RANK = 16
_NAME_CHARACTERS = 40


def _short(name: str) -> str:
    """The end of a long name, which tells more than its beginning."""
    return name if len(name) <= _NAME_CHARACTERS else "…" + name[-_NAME_CHARACTERS + 1 :]


def differences_by_kind(found: Mapping[str, Mapping[str, "Difference"]], baseline: str, metric: str) -> "Figure":
    """What several rows do to each kind of question against one baseline: a cell each, and which of them can be read.

    Parameters
    ----------
    found
        By row, then by kind, as `rungs.measure.compare_kinds` gives them.
    baseline
        What they are held against.
    metric
        Which metric it is.

    Raises
    ------
    RunError
        When there is no difference to draw.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    kinds = list(dict.fromkeys(kind for by_kind in found.values() for kind in by_kind))
    if not kinds:
        raise RunError("there is no difference to draw: no row has data")
    values = np.full((len(found), len(kinds)), np.nan)
    for i, by_kind in enumerate(found.values()):
        for j, kind in enumerate(kinds):
            if kind in by_kind and by_kind[kind].value is not None:
                values[i, j] = by_kind[kind].value
    reach = max(0.1, float(np.nanmax(np.abs(values))))
    figure = _new_figure(_WIDTH, 1.6 + 0.42 * len(found))
    axes = figure.add_subplot()
    shades = LinearSegmentedColormap.from_list("worse to better", (_RED, "#FFFFFF", _BLUE))
    axes.imshow(values, cmap=shades, vmin=-1.3 * reach, vmax=1.3 * reach, aspect="auto")
    for i, by_kind in enumerate(found.values()):
        for j, kind in enumerate(kinds):
            if np.isnan(values[i, j]):
                continue
            readable = by_kind[kind].verdict in ("better", "worse")
            mark = {"better": " ▲", "worse": " ▼", "equivalent": " ="}.get(by_kind[kind].verdict, "")
            value = f"{values[i, j]:+.2f}" if abs(values[i, j]) >= _SHOWN_AS_NOTHING else "0.00"
            text = f"{value}{mark}".replace("-", "−")
            look = {"fontweight": "bold", "color": "black"} if readable else {"color": "0.35"}
            axes.text(j, i, text, ha="center", va="center", fontsize=9, **look)
            if readable:
                axes.add_patch(
                    Rectangle((j - 0.48, i - 0.46), 0.96, 0.92, fill=False, edgecolor="black", linewidth=1.2)
                )
    n = {kind: next(by_kind[kind].n for by_kind in found.values() if kind in by_kind) for kind in kinds}
    axes.set_xticks(range(len(kinds)), [f"{kind}\nn={n[kind]}" for kind in kinds])
    axes.set_yticks(range(len(found)), list(found))
    axes.tick_params(length=0, labelsize=9)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(
        f"{metric} minus that of {baseline}. Framed: readable (▲ better, ▼ worse). =: as good as none. Others: not readable",
        fontsize=8.5,
    )
    verdicts = [d.verdict for by_kind in found.values() for d in by_kind.values() if d.value is not None]
    better, worse = verdicts.count("better"), verdicts.count("worse")
    _title(
        axes,
        f"{metric}: of {len(verdicts)} differences to {baseline}, readably better {better}, readably worse {worse}; "
        f"the other {len(verdicts) - better - worse} are none, or cannot be read",
    )
    return figure


_SHOWN_AS_NOTHING = 0.005


def rates(found: Mapping[str, Mapping[str, Mapping[str, Any]]], label: str) -> "Figure":
    """Several rates of several systems, each with its 95% interval and its count.

    Parameters
    ----------
    found
        By system, then by the name of the rate, an estimate of `rungs.measure.estimate`.
    label
        What the rates are shares of.

    Raises
    ------
    RunError
        When a rate has no data.
    """
    names = list(dict.fromkeys(name for by_name in found.values() for name in by_name))
    for system, by_name in found.items():
        for name in names:
            if name not in by_name or not by_name[name]["n"]:
                raise RunError(f"{system} has no {name}; measure it before drawing")
    figure = _new_figure(_WIDTH, 1.2 + 0.36 * len(found))
    every = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    colours = (_GREY, _ORANGE, _BLUE, _GREEN, _PINK, _RED)
    edge = max(e["high"] for by_name in found.values() for e in by_name.values())
    for axes, name in zip(every, names, strict=True):
        for y, (system, by_name) in enumerate(found.items()):
            e = by_name[name]
            _intervals(axes, [(y, e)], system, (colours[y % len(colours)], _ROW_MARKERS[y % len(_ROW_MARKERS)]))
            axes.annotate(
                f"{round(e['value'] * e['n'])} of {e['n']}",
                (e["high"], y),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
            )
        axes.set_title(name, fontsize=9.5)
        axes.set_yticks(range(len(found)), list(found))
        axes.set_ylim(len(found) - 0.5, -0.5)
        axes.set_xlim(-0.01, edge * 1.25)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        _tidy(axes, grid="x")
    figure.supxlabel(label, fontsize=9)
    said = "; ".join(f"{name} are fewest with {_fewest(found, name)}" for name in names)
    figure.suptitle(
        "\n".join(textwrap.wrap(said[0].upper() + said[1:], _TITLE_CHARACTERS)), x=0.01, ha="left", fontsize=10.5
    )
    return figure


def _fewest(found: Mapping[str, Mapping[str, Mapping[str, Any]]], name: str) -> str:
    """Which systems have the lowest of a rate, and what it is."""
    lowest = min(by_name[name]["value"] for by_name in found.values())
    systems = [system for system, by_name in found.items() if by_name[name]["value"] == lowest]
    return f"{' and '.join(systems)} ({lowest:.0%})"


def window_tokens(tokens: Sequence[int], limit: int) -> "Figure":
    """How long chunks are for a model that reads ``limit`` tokens of each and drops the rest.

    Parameters
    ----------
    tokens
        Tokens of every chunk, as the model counts them.
    limit
        How many of them it reads.
    """
    tokens = np.asarray(tokens)
    longer = float((tokens > limit).mean())
    lost = float(np.maximum(tokens - limit, 0).sum() / tokens.sum())
    figure = _new_figure(_WIDTH, 3.2)
    axes = figure.add_subplot()
    end = max(2 * limit, int(np.quantile(tokens, 0.995)))
    edges = np.arange(0, end + 2 * limit // 16, limit // 16)
    shown = np.minimum(tokens, end)
    axes.hist(shown[tokens <= limit], edges, color=_BLUE, label="read to the end")
    axes.hist(shown[tokens > limit], edges, color=_ORANGE, hatch="//", edgecolor="white", label="cut short")
    axes.axvline(limit, color="black", linewidth=1.2)
    axes.annotate(
        f" {limit} tokens: what is\n beyond is never seen",
        (limit, 1),
        xycoords=("data", "axes fraction"),
        va="top",
        fontsize=9,
    )
    axes.set_xlabel(f"tokens in a window ({end} and more in the last bar)")
    axes.set_ylabel("windows")
    axes.set_xlim(0, edges[-1])
    axes.margins(y=0.3)
    _title(
        axes,
        f"The model does not read {longer:.0%} of the {len(tokens):,} windows to the end;\n"
        f"of all that they hold, it drops {lost:.0%}",
    )
    axes.legend(frameon=False, fontsize=9, loc="center right")
    _tidy(axes, grid="y")
    return figure


# --- thresholds


@dataclass(frozen=True, slots=True)
class Threshold:
    """One cut through two overlapping sets of scores; below it, "no answer" is said.

    Attributes
    ----------
    value
        The cut.
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
        """Share of the questions with an answer that are refused."""
        return self.refused / self.positives

    @property
    def abstain_rate(self) -> float:
        """Share of the questions without an answer that are refused."""
        return 1 - self.admitted / self.negatives


def best_threshold(positive: Sequence[float], negative: Sequence[float]) -> Threshold:
    """The cut that makes abstain_rate − false_weak_rate largest; the lowest of several.

    It is chosen on the very scores it is judged by, so it flatters itself: on new questions it costs more.

    Examples
    --------
    >>> best_threshold([0.5, 0.7, 0.8], [0.3, 0.6])
    Threshold(value=0.4, refused=0, positives=3, admitted=1, negatives=2)
    """
    scores = sorted({*positive, *negative})
    found = [_cut(positive, negative, (low + high) / 2) for low, high in pairwise(scores)]
    return max(found or [_cut(positive, negative, scores[0])], key=lambda c: c.abstain_rate - c.false_weak_rate)


def _cut(positive: Sequence[float], negative: Sequence[float], at: float) -> Threshold:
    refused, admitted = sum(s < at for s in positive), sum(s >= at for s in negative)
    return Threshold(round(at, 6), refused, len(positive), admitted, len(negative))


# --- figures reported elsewhere


def published(*topics: str) -> list[dict[str, Any]]:
    """Figures that others reported, each with its source.

    Parameters
    ----------
    topics
        Which ones; all of them if none is named.

    Returns
    -------
    list of dict
        ``topic, system, metric, value, n, source, note``; ``n`` is ``None`` where the source does not say.

    Raises
    ------
    RunError
        When a topic is not in the file.
    """
    package = Path(__file__).parent
    folder = package / "_data"  # of an installed package; a checkout has them in data/
    text = ((folder if folder.is_dir() else package.parent / "data") / "published.json").read_text(encoding="utf-8")
    data = json.loads(text)
    known = list(dict.fromkeys(figure["topic"] for figure in data["figures"]))
    for topic in topics:
        if topic not in known:
            raise RunError(f"nothing is published under {topic!r}; the topics are {', '.join(known)}")
    wanted = topics or known
    figures = [figure for figure in data["figures"] if figure["topic"] in wanted]
    return [figure | {"source": data["sources"][figure["source"]]} for figure in figures]


# --- what the titles say


def _leaders(groups: Mapping[str, Mapping[str, Mapping[str, Any]]], metric: str) -> str:
    """Who is highest where, and where that lead is outside everybody's interval."""
    values = {group: {name: e["value"] or 0.0 for name, e in by_row.items()} for group, by_row in groups.items()}
    overall = max(values["all"], key=values["all"].__getitem__)
    # where several are highest, the one that is highest overall is
    best = {group: max(found, key=lambda name: (found[name], name == overall)) for group, found in values.items()}
    title = f"{metric}: {overall} is highest over all questions ({values['all'][overall]:.2f})"
    elsewhere: dict[str, list[str]] = {}
    for group, name in best.items():
        if name != overall:
            elsewhere.setdefault(name, []).append(group)
    title += "".join(f", {name} on {' and '.join(kinds)}" for name, kinds in elsewhere.items())
    if len(next(iter(groups.values()))) < 2:
        return title
    clear = [group for group, by_row in groups.items() if _clear(by_row, best[group])]
    where = ", ".join(clear) or "nowhere"
    return f"{title}\nthe lead is clear of every other row's interval on: {where}"


def _clear(by_row: Mapping[str, Mapping[str, Any]], best: str) -> bool:
    return all(by_row[best]["low"] > e["high"] for name, e in by_row.items() if name != best)


def _cut_title(cut: Threshold) -> str:
    if not cut.refused and not cut.admitted:
        return f"One threshold separates these two: {cut.value:.2f}"
    return (
        f"No single threshold separates the two: the best one, {cut.value:.2f}, refuses\n"
        f"{cut.refused} of {cut.positives} questions that have an answer and lets through "
        f"{cut.admitted} of {cut.negatives} that have none"
    )


def _slots_title(shares: Mapping[str, Mapping[str, float]], shown: Sequence[str], k: int, kind: str, n: int) -> str:
    answers, slots = shares["of the answers"], shares[f"of the top {k}"]
    over = {c: slots.get(c, 0.0) - answers.get(c, 0.0) for c in shown}
    named = [c for c in sorted(shown, key=over.__getitem__, reverse=True) if over[c] > 0.05]
    questions = f"({n} questions of kind {kind})"
    if not named:
        return f"Places and answers are shared alike, to 5 points in a hundred\n{questions}"
    take = ", ".join(f"{_CATEGORY_NAMES[c].lower()} take {slots[c]:.0%}" for c in named)
    hold = ", ".join(f"{_CATEGORY_NAMES[c].lower()} hold {answers.get(c, 0.0):.0%}" for c in named)
    return f"Of the top {k} places, {take};\nof the answers, {hold} {questions}"


def _differences_title(comparison: "Comparison", drawn: Sequence["Difference"]) -> str:
    """What is readable by name; what is not by count."""
    several = len({d.system for d in drawn}) > 1
    head = f"Against {comparison.baseline}" if several else f"{drawn[0].system} against {comparison.baseline}"
    said = []
    for verdict in ("better", "worse", "equivalent"):
        names = [f"{d.system} {d.metric}" if several else d.metric for d in drawn if d.verdict == verdict]
        if names:
            said.append(f"{verdict} on {', '.join(names)}")
    rest = sum(d.verdict.startswith("not readable") for d in drawn)
    if rest:
        said.append(f"{rest} of {len(drawn)} differences not readable")
    return "\n".join(textwrap.wrap(f"{head}: {'; '.join(said)}", _TITLE_CHARACTERS - 18))


def _swept_title(sweep: "Sweep", metric: str) -> str:
    if sweep.blind:
        return f"{sweep.setting}: this sweep cannot see all the harm it may do ({', '.join(b.category for b in sweep.blind)})"
    if len(sweep.inert) == len(sweep.values) - 1:
        return f"{sweep.setting} changes nothing at any value"
    best = sweep.figures(sweep.best)[metric]["value"]
    title = f"{sweep.setting}: {metric} is highest at {sweep.best} ({best:.2f})"
    harmed = sweep.harms(sweep.best)
    if harmed:
        return (
            title
            + ", where "
            + " and ".join(f"{group} moves {d.value:+.2f} ({d.verdict})" for group, d in harmed.items())
        )
    return f"{title}, and no control is lower there by more than {sweep.margin:g}"


# --- drawing


@cache
def _figure_class() -> "type[Figure]":
    """A figure that shows itself in Jupyter without pyplot, which keeps every figure in a list of its own."""
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        def _repr_png_(self) -> bytes:
            picture = io.BytesIO()
            self.savefig(picture, format="png", dpi=_DPI)
            return picture.getvalue()

    return ShownFigure


def _new_figure(width: float, height: float) -> "Figure":
    return _figure_class()(figsize=(width, height), dpi=_DPI, layout="constrained", facecolor="white")


def _title(axes: "Axes", text: str) -> None:
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, _TITLE_CHARACTERS)]
    axes.set_title("\n".join(lines), loc="left", fontsize=10.5)


def _tidy(axes: "Axes", grid: str) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color="0.9", linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9)


def _looks(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of every row: its own if it is a known one, the next that is free if not."""
    looks = list(zip(_ROW_COLOURS, _ROW_MARKERS, strict=True))
    known = dict(zip(_KNOWN_ROWS, looks, strict=False))
    names = list(names)
    free = [look for look in looks if look not in [known[name] for name in names if name in known]]
    others = [name for name in names if name not in known]
    return known | {name: free[i % len(free)] for i, name in enumerate(others)}


def _intervals(
    axes: "Axes", points: Sequence[tuple[float, Mapping[str, Any]]], name: str, look: tuple[str, str]
) -> None:
    colour, marker = look
    y = [at for at, _ in points]
    value = np.array([e["value"] for _, e in points])
    reach = np.array([[e["value"] - e["low"], e["high"] - e["value"]] for _, e in points]).T
    axes.errorbar(value, y, xerr=reach, fmt=marker, color=colour, label=name, markersize=5.5, elinewidth=1.6, capsize=2)


def _score_histogram(axes: "Axes", positive: Sequence[float], negative: Sequence[float], cut: Threshold) -> None:
    low, high = min(*positive, *negative), max(*positive, *negative)
    edges = np.linspace(low, high, 25)
    axes.hist(positive, edges, density=True, color=_BLUE, alpha=0.6, label=f"with an answer (n={len(positive)})")
    axes.hist(
        negative,
        edges,
        density=True,
        color=_ORANGE,
        alpha=0.6,
        hatch="//",
        edgecolor="white",
        label=f"without one (n={len(negative)})",
    )
    axes.margins(y=0.22)
    axes.axvline(cut.value, color="black", linewidth=1.2)
    refused, admitted = f"refused: {cut.refused} of {cut.positives}", f"let through: {cut.admitted} of {cut.negatives}"
    for text, side, gap in ((refused, "right", -6), (admitted, "left", 6)):
        axes.annotate(
            text,
            (cut.value, 0.99),
            xycoords=("data", "axes fraction"),
            xytext=(gap, 0),
            textcoords="offset points",
            ha=side,
            va="top",
            fontsize=9,
        )
    axes.set_ylabel("density")
    _tidy(axes, grid="x")


def _score_ticks(axes: "Axes", scores: Mapping[str, Sequence[float]], cut: Threshold, label: str) -> None:
    for row, found in enumerate(scores.values()):
        axes.plot(found, [row] * len(found), "|", color=_ORANGE if row else _BLUE, markersize=11, markeredgewidth=1.4)
    axes.axvline(cut.value, color="black", linewidth=1.2)
    axes.set_yticks(range(len(scores)), list(scores))
    axes.set_ylim(len(scores) - 0.4, -0.6)
    axes.set_xlabel(label)
    _tidy(axes, grid="x")


# --- what is drawn


def _check_ok(reports: Mapping[str, Report]) -> None:
    if not reports:
        raise RunError("there is no report to draw; measure a row first")
    for name, report in reports.items():
        if report.status != "ok":
            raise RunError(f"{name} is FAILED on {len(report.failures)} of {report.n} questions; mend it, then draw it")


def _groups(reports: Mapping[str, Report], metric: str) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Estimates by group, then by row; groups the metric says nothing about left out."""
    every = {name: {"all": report.metrics, **report.by_kind} for name, report in reports.items()}
    order = list(dict.fromkeys(group for groups in every.values() for group in groups))
    nothing = {"value": None, "low": None, "high": None, "n": 0}
    found = {g: {name: groups.get(g, {}).get(metric, nothing) for name, groups in every.items()} for g in order}
    kept = {g: by_row for g, by_row in found.items() if any(e["n"] for e in by_row.values())}
    if "all" not in kept:
        raise RunError(f"no row has any {metric}; the metrics are {', '.join(next(iter(reports.values())).metrics)}")
    return kept


def _n(by_row: Mapping[str, Mapping[str, Any]]) -> int:
    return max(e["n"] for e in by_row.values())


def _tokens_read(report: Report) -> np.ndarray:
    """Tokens to the answer of every question that has one, infinite for a miss."""
    found = (case["metrics"]["tokens_to_answer"] for case in report.cases)
    return np.array([tokens for tokens in found if tokens is not None], dtype=float)


def _top_scores(report: Report, channel: str) -> dict[str, list[float]]:
    """Best score of one channel of each question, by kind of question."""
    found: dict[str, list[float]] = {}
    for case in report.cases:
        scores = [hit["scores"][channel] for hit in case["hits"] if hit["scores"].get(channel) is not None]
        if scores:
            found.setdefault(case["kind"], []).append(max(scores))
    return found


def _answer_shares(cases: Iterable[Mapping[str, Any]], categories: Mapping[str, str]) -> dict[str, float]:
    """Every question counts once, split evenly over its labels."""
    count: Counter[str] = Counter()
    cases = list(cases)
    for case in cases:
        for label in case["expect"]:
            count[_category(label.partition("::")[0], categories)] += 1 / len(case["expect"])
    return {category: amount / len(cases) for category, amount in count.items()}


def _slot_shares(cases: Iterable[Mapping[str, Any]], categories: Mapping[str, str], k: int) -> dict[str, float]:
    count = Counter(_category(hit["path"], categories) for case in cases for hit in case["hits"][:k])
    return {category: amount / count.total() for category, amount in count.items()}


def _category(path: str, categories: Mapping[str, str]) -> str:
    if path not in categories:
        raise RunError(f"{path!r} has no category; pass those of the corpus that was measured")
    return categories[path]


def _normal_width(spread: float, n: Any) -> Any:
    return 2 * 1.96 * spread / np.sqrt(n)


def _drawn_width(values: np.ndarray, n: int, times: int = 5) -> float:
    """Mean width of the interval over a few samples of ``n`` values; of the values themselves where there are ``n``."""
    if n == len(values):
        samples = [values]
    else:
        generator = np.random.default_rng(n)
        samples = [generator.choice(values, n) for _ in range(times)]
    found = [estimate(sample) for sample in samples]
    return float(np.mean([e["high"] - e["low"] for e in found]))

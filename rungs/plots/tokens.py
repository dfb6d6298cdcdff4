"""What is counted in tokens: how many are read until the answer, and how many of a window a model reads."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rungs.measure.report import Report
from rungs.plots._reports import check_ok
from rungs.plots._style import BLUE, ORANGE, legend, one_panel, row_looks, set_title, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["answered_by_tokens", "window_tokens"]


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
    check_ok(reports)
    read = {name: _tokens_read(report) for name, report in reports.items()}
    figure, axes = one_panel(3.8)
    least = min(tokens.min(initial=budget / 10) for tokens in read.values())
    most = max(tokens[np.isfinite(tokens)].max(initial=budget) for tokens in read.values())
    looks = row_looks(read)
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
    answered = ", ".join(f"{name} {(tokens <= budget).mean():.0%}" for name, tokens in read.items())
    n = max(map(len, read.values()))
    set_title(axes, f"Answered by {budget:,} tokens, of {n} questions: {answered}")
    legend(axes, loc="upper left")
    tidy(axes, grid="both")
    return figure


def _tokens_read(report: Report) -> np.ndarray:
    """Tokens to the answer of every question that has one, infinite for a miss."""
    found = (case["metrics"]["tokens_to_answer"] for case in report.cases)
    return np.array([tokens for tokens in found if tokens is not None], dtype=float)


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
    figure, axes = one_panel(3.2)
    end = max(2 * limit, int(np.quantile(tokens, 0.995)))
    edges = np.arange(0, end + 2 * limit // 16, limit // 16)
    shown = np.minimum(tokens, end)
    axes.hist(shown[tokens <= limit], edges, color=BLUE, label="read to the end")
    axes.hist(shown[tokens > limit], edges, color=ORANGE, hatch="//", edgecolor="white", label="cut short")
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
    set_title(
        axes,
        f"The model does not read {longer:.0%} of the {len(tokens):,} windows to the end;\n"
        f"of all that they hold, it drops {lost:.0%}",
    )
    legend(axes, loc="center right")
    tidy(axes, grid="y")
    return figure

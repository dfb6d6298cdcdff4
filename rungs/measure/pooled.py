"""Strict and pooled figures side by side, on the questions whose pool was judged.

Strict: only places that were labelled before anything was searched. Pooled: also those that were judged right afterwards,
blind (see `rungs.measure.pooling`). The gap between the two is what the labels had missed; where it differs between two
systems, the strict comparison of these two was unfair by as much.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rungs.measure.intervals import estimate
from rungs.measure.locate import Location
from rungs.measure.metrics import judge, recall_at
from rungs.measure.pooling import Judgements, judged_share

if TYPE_CHECKING:
    from rungs.measure.golden import Golden
    from rungs.measure.report import Report

__all__ = ["judgements_of", "pooled_table", "strict_and_pooled"]

_K = 8


def judgements_of(golden: "Golden") -> Judgements | None:
    """The judgements that lie next to a golden file (``celery.heldout.judgements.jsonl``), or None."""
    path: Path = golden.path.with_name(f"{golden.path.stem}.judgements.jsonl")
    return Judgements(path) if path.is_file() else None


def strict_and_pooled(report: "Report", golden: "Golden", judgements: Judgements) -> dict[str, dict[str, Any]]:
    """Recall@8 and reciprocal rank of a run on the judged questions, by both counts.

    Parameters
    ----------
    report
        A run on this golden file, strict or pooled: its hits are judged anew.
    golden, judgements
        As for `rungs.measure.pooling.judged_share`.

    Returns
    -------
    dict
        ``strict recall@8``, ``pooled recall@8``, ``strict mrr``, ``pooled mrr`` and ``judged`` (share of the first eight
        hits that was judged), each ``{"value", "low", "high", "n"}``.
    """
    ids = judgements.questions(golden)
    hits = {case["id"]: _locations(case["hits"]) for case in report.cases if case["id"] in ids}
    asked = [question for question in golden.questions if question.id in hits]
    figures: dict[str, dict[str, Any]] = {}
    for name, pooled in (("strict", False), ("pooled", True)):
        ranks = [judge(question, hits[question.id], pooled=pooled) for question in asked]
        figures[f"{name} recall@8"] = estimate(recall_at(one.ranks, _K) for one in ranks)
        figures[f"{name} mrr"] = estimate(1 / one.first if one.first else 0.0 for one in ranks)
    figures["judged"] = judged_share(report, golden, judgements)
    return figures


def pooled_table(reports: Mapping[str, "Report"], golden: "Golden") -> tuple[list[str], list[list[str]]]:
    """Header and cells of `strict_and_pooled` for several runs; no cells where nothing was judged."""
    names = ("strict recall@8", "pooled recall@8", "strict mrr", "pooled mrr", "judged")
    header = ["row", *names[:-1], "judged of the top 8"]
    judgements = judgements_of(golden)
    if judgements is None or not judgements.questions(golden):
        return header, []
    cells = []
    for name, report in reports.items():
        figures = strict_and_pooled(report, golden, judgements)
        cells.append([name, *(_shown(figures[one]) for one in names)])
    return header, cells


def _shown(figure: Mapping[str, Any]) -> str:
    if not figure["n"]:
        return "no data"
    return f"{figure['value']:.3f} [{figure['low']:.2f}, {figure['high']:.2f}]"


def _locations(hits: Sequence[Mapping[str, Any]]) -> list[Location]:
    return [Location(hit["path"], hit["start_line"], hit["end_line"]) for hit in hits]

"""Golden files, metrics, uncertainty: the instruments (rung 0)."""

from rungs.measure.ablation import Ablation, ablate
from rungs.measure.compare import Comparison, compare, compare_kinds
from rungs.measure.coverage import Coverage, coverage
from rungs.measure.crosscheck import CrossCheck, cross_check
from rungs.measure.drawing import draw_held_out, write_split
from rungs.measure.evaluate import evaluate, evaluate_all
from rungs.measure.explain import Explanation, explain
from rungs.measure.gate import Gate, gate
from rungs.measure.golden import Golden, Label, Question, find_golden, load_golden
from rungs.measure.intervals import estimate
from rungs.measure.judged import JudgedComparison, JudgedRun, compare_judged, judge_run
from rungs.measure.judging import (
    JudgingSession,
    JudgingStatus,
    judge_in_terminal,
    judge_widget,
    judging_status,
    second_sample,
)
from rungs.measure.ledger import append, heldout_looks, note_look, read
from rungs.measure.locate import Location, Locator, locate
from rungs.measure.metrics import METRICS, Judged, Judgement, judge, score
from rungs.measure.planner import Plan, labels_needed, plan
from rungs.measure.pooling import (
    Agreement,
    Item,
    Judgements,
    agreement,
    draw_questions,
    judged_share,
    places_shown,
    pool,
    with_judgements,
)
from rungs.measure.regressions import Regressions, find_regressions
from rungs.measure.report import Report
from rungs.measure.routing_set import RoutingErrors, RoutingQuery, load_routing, routing_errors
from rungs.measure.runs import load_run
from rungs.measure.sweep import Sweep, sweep
from rungs.measure.wording import Overlap, overlaps

__all__ = [
    "METRICS",
    "Ablation",
    "Agreement",
    "Comparison",
    "Coverage",
    "CrossCheck",
    "Explanation",
    "Gate",
    "Golden",
    "Item",
    "Judged",
    "JudgedComparison",
    "JudgedRun",
    "Judgement",
    "Judgements",
    "JudgingSession",
    "JudgingStatus",
    "Label",
    "Location",
    "Locator",
    "Overlap",
    "Plan",
    "Question",
    "Regressions",
    "Report",
    "RoutingErrors",
    "RoutingQuery",
    "Sweep",
    "ablate",
    "agreement",
    "append",
    "compare",
    "compare_judged",
    "compare_kinds",
    "coverage",
    "cross_check",
    "draw_held_out",
    "draw_questions",
    "estimate",
    "evaluate",
    "evaluate_all",
    "explain",
    "find_golden",
    "find_regressions",
    "gate",
    "heldout_looks",
    "judge",
    "judge_in_terminal",
    "judge_run",
    "judge_widget",
    "judged_share",
    "judging_status",
    "labels_needed",
    "load_golden",
    "load_routing",
    "load_run",
    "locate",
    "note_look",
    "overlaps",
    "places_shown",
    "plan",
    "pool",
    "read",
    "routing_errors",
    "score",
    "second_sample",
    "sweep",
    "with_judgements",
    "write_split",
]

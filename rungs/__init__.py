"""A measured ladder of retrieval techniques over a codebase and its documents.

The rungs are modules of their own (`rungs.dense`, `rungs.lexical`, …); what most programs start from is listed here and
imported when first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rungs.dense import DenseRetriever as DenseRetriever
    from rungs.funnel import Funnel as Funnel
    from rungs.funnel import SearchResult as SearchResult
    from rungs.lexical import MilvusBM25Retriever as MilvusBM25Retriever
    from rungs.lexical_bm25s import BM25sRetriever as BM25sRetriever
    from rungs.measure import Report as Report
    from rungs.measure import ablate as ablate
    from rungs.measure import compare as compare
    from rungs.measure import evaluate as evaluate
    from rungs.measure import evaluate_all as evaluate_all
    from rungs.measure import explain as explain
    from rungs.measure import find_golden as find_golden
    from rungs.measure import find_regressions as find_regressions
    from rungs.measure import gate as gate
    from rungs.measure import load_golden as load_golden
    from rungs.measure import sweep as sweep
    from rungs.settings import Settings as Settings
    from rungs.workbench import Workbench as Workbench

_HOMES = {
    "BM25sRetriever": "rungs.lexical_bm25s",
    "DenseRetriever": "rungs.dense",
    "Funnel": "rungs.funnel",
    "MilvusBM25Retriever": "rungs.lexical",
    "SearchResult": "rungs.funnel",
    "Settings": "rungs.settings",
    "Workbench": "rungs.workbench",
    "evaluate": "rungs.measure",
    "evaluate_all": "rungs.measure",
    "find_golden": "rungs.measure",
    "Report": "rungs.measure",
    "ablate": "rungs.measure",
    "compare": "rungs.measure",
    "explain": "rungs.measure",
    "find_regressions": "rungs.measure",
    "gate": "rungs.measure",
    "sweep": "rungs.measure",
    "load_golden": "rungs.measure",
}

__all__ = sorted(_HOMES)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rungs' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)

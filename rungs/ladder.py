"""The ladder: every rung measured on the same questions, as one table.

A row is a name, what it stands for, and how its retriever is made. Rows share query embeddings and first-stage
candidates; a row whose code, index, settings and questions have not changed since it was measured is read back from its
report, so asking twice costs nothing.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever

from rungs.errors import RunError
from rungs.grep import TermCountRetriever
from rungs.measure import Golden, Report, append, compare, evaluate_all
from rungs.measure.compare import Difference
from rungs.measure.evaluate import DEPTH
from rungs.measure.pooled import judgements_of, pooled_table
from rungs.workbench import Workbench

__all__ = ["ROWS", "Ladder", "Row", "climb", "figure", "markdown", "table", "write_between"]

FOOTNOTE = (
    "all-MiniLM-L6-v2 was trained on CodeSearchNet among others, so popular Python code may not be new to it; "
    "rows share that advantage."
)
_MARKERS = {False: "ladder", True: "heldout"}
"""Which block of a README holds the tables: of the tuning questions, or of the held-out ones."""


@dataclass(frozen=True)
class Row:
    """One line of the ladder.

    Attributes
    ----------
    name
        Short, unique.
    rung
        Which rung it belongs to, or ``peer``.
    about
        What it is, in a few words.
    make
        Builds the retriever from a workbench whose indexes are built.
    chunking
        The index it reads; None where it reads none of ours.
    """

    name: str
    rung: str
    about: str
    make: Callable[[Workbench], BaseRetriever]
    chunking: str | None


def _grep(bench: Workbench) -> BaseRetriever:
    return TermCountRetriever(bench.index(bench.settings.but(chunking="windows")).nodes, top_k=DEPTH)


def _funnel(bench: Workbench, **changes: Any) -> BaseRetriever:
    return bench.funnel(chunking="symbols", **changes)


ROWS: tuple[Row, ...] = (
    Row("grep", "1", "count of the question's words in a window", _grep, "windows"),
    Row(
        "windows",
        "1",
        "windows of 1000 characters, dense",
        lambda bench: bench.funnel(chunking="windows", search_mode="dense"),
        "windows",
    ),
    Row(
        "dense",
        "2",
        "chunks by symbol and section, dense",
        lambda bench: bench.funnel(chunking="symbols", search_mode="dense"),
        "symbols",
    ),
    Row(
        "bm25",
        "3",
        "the same chunks, BM25 on code-aware terms",
        lambda bench: bench.funnel(chunking="symbols", search_mode="bm25"),
        "symbols",
    ),
    *(
        Row(
            f"hybrid k={k}",
            "3",
            f"both lists fused by reciprocal rank, k={k}",
            partial(_funnel, search_mode="hybrid", rrf_k=k),
            "symbols",
        )
        for k in (1, 10, 60)
    ),
    Row(
        "routed by regex",
        "3",
        "the published router: names by shape to BM25, questions to dense",
        partial(_funnel, search_mode="auto", router="regex", prose_mode="dense"),
        "symbols",
    ),
    Row(
        "auto",
        "3",
        "names known to the corpus: definitions first, then their uses; questions to hybrid k=10",
        partial(_funnel, search_mode="auto", prose_mode="hybrid", rrf_k=10),
        "symbols",
    ),
)


@dataclass
class Ladder:
    """Measured rows, in order, with how long each step took.

    Attributes
    ----------
    rows
        What was measured.
    reports
        One a row, by name.
    golden
        The questions.
    seconds
        By step: ``embed`` counts building the indexes, ``evaluate`` the measuring.
    fresh
        Names of the rows measured now rather than read back.
    """

    rows: Sequence[Row]
    reports: dict[str, Report]
    golden: Golden
    seconds: dict[str, float] = field(default_factory=dict)
    fresh: list[str] = field(default_factory=list)

    @property
    def failed(self) -> list[str]:
        """Rows whose run is FAILED."""
        return [name for name, report in self.reports.items() if report.status != "ok"]

    def to_dict(self) -> dict[str, Any]:
        """The JSON of ``rungs ladder --json``."""
        return {
            "rows": [
                {"name": row.name, "rung": row.rung, "about": row.about, "report": self.reports[row.name].to_dict()}
                for row in self.rows
            ],
            "seconds": {step: round(s, 1) for step, s in self.seconds.items()},
        }


def climb(
    bench: Workbench,
    golden: Golden,
    rows: Sequence[Row] = ROWS,
    *,
    ledger: Path | None = None,
    again: bool = False,
    progress: bool = True,
) -> Ladder:
    """Build what the rows need and measure them.

    Parameters
    ----------
    bench
        The corpus and its models.
    golden
        The questions.
    rows
        What to measure.
    ledger
        Where each fresh row is appended; None for nowhere.
    again
        Measure every row, also those measured before.
    progress
        Show bars on stderr.
    """
    ladder = Ladder(rows, {}, golden)
    start = time.perf_counter()
    for chunking in dict.fromkeys(row.chunking for row in rows if row.chunking):
        bench.build(bench.settings.but(chunking=chunking), progress=progress)
    ladder.seconds["index"] = time.perf_counter() - start
    start = time.perf_counter()
    files = {row.name: _report_file(bench, golden, row) for row in rows}
    kept = {} if again else {name: report for name, path in files.items() if (report := _read_back(path)) is not None}
    fresh = [row for row in rows if row.name not in kept]
    measured: Mapping[str, Report] = {}
    if fresh:
        measured = evaluate_all({row.name: row.make(bench) for row in fresh}, golden, progress=progress)
    for name, report in measured.items():
        if report.status == "ok":
            report.save(files[name])
        if ledger is not None:
            append(report, ledger, label=name)
    ladder.reports = {row.name: kept.get(row.name) or measured[row.name] for row in rows}
    ladder.fresh = list(measured)
    ladder.seconds["evaluate"] = time.perf_counter() - start
    return ladder


def _report_file(bench: Workbench, golden: Golden, row: Row) -> Path:
    """Where a row's report is kept; the name says what it was measured on and by which code."""
    index = (
        bench.index(bench.settings.but(chunking=row.chunking)).manifest["self"] if row.chunking else bench.corpus.sha256
    )
    key = json.dumps([row.name, _code_sha256(), golden.sha256, index, bench.settings.to_dict()], sort_keys=True)
    name = f"{row.name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"
    return bench.home / bench.corpus.name / "reports" / name


def _read_back(path: Path) -> Report | None:
    if not path.exists():
        return None
    try:
        return Report.load(path)
    except RunError:
        return None  # damaged: measure again


_SHOWS_ONLY = frozenset({"cli", "plots", "copying"})  # modules and packages that no figure depends on


def _code_sha256() -> str:
    digest = hashlib.sha256()
    root = Path(str(resources.files("rungs")))
    for path in sorted(
        p for p in root.rglob("*.py") if p.relative_to(root).parts[0].removesuffix(".py") not in _SHOWS_ONLY
    ):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


# --- tables

PAIRED_SAYS = (
    "The same questions, paired: difference to rung 1, with its verdict (Holm-corrected over the rows) and the smallest "
    "difference that these questions could have shown"
)
POOLED_SAYS = (
    "Strict and pooled, on the {n} questions whose pool was judged, blind (`golden/README.md`); the last column says how much "
    "of a row's first eight hits was in it"
)
_COLUMNS = ("recall@8", "recall@40", "mrr", "tokens_to_answer")


def figure(estimate: Mapping[str, Any], *, interval: bool = True) -> str:
    """An estimate as text: value and 95% interval.

    >>> figure({"value": 0.4312, "low": 0.351, "high": 0.512, "n": 80})
    '0.43 [0.35, 0.51]'
    >>> figure({"value": None, "low": None, "high": None, "n": 0})
    'no data'
    """
    if not estimate["n"]:
        return "no data"
    text = _number(estimate["value"])
    if not interval or estimate["low"] is None:
        return text
    return f"{text} [{_number(estimate['low'])}, {_number(estimate['high'])}]"


def _number(value: float | None) -> str:
    if value is None or math.isinf(value):
        return "∞"
    return f"{value:.2f}" if value <= 1 else f"{value:,.0f}"


def table(ladder: Ladder) -> tuple[list[str], list[list[str]]]:
    """Header and cells of the main table."""
    header = ["rung", "row", *_COLUMNS, "p50"]
    cells = []
    for row in ladder.rows:
        report = ladder.reports[row.name]
        if report.status != "ok":
            cells.append([row.rung, row.name, f"FAILED on {len(report.failures)} of {report.n}", "", "", "", ""])
            continue
        p50 = report.latency["p50_ms"]
        figures = [figure(report.metrics[name]) for name in _COLUMNS]
        cells.append([row.rung, row.name, *figures, "" if p50 is None else f"{p50:.0f} ms"])
    return header, cells


def kind_table(ladder: Ladder, metric: str = "recall@8") -> tuple[list[str], list[list[str]]]:
    """Header and cells of one metric by kind of question; kinds the metric says nothing about are left out."""
    ok = [row for row in ladder.rows if ladder.reports[row.name].status == "ok"]
    if not ok:
        return ["row"], []
    kinds = ladder.reports[ok[0].name].by_kind
    shown = {kind: groups[metric]["n"] for kind, groups in kinds.items() if groups[metric]["n"]}
    header = ["row", *(f"{kind} (n={n})" for kind, n in shown.items())]
    cells = [[row.name, *(figure(ladder.reports[row.name].by_kind[kind][metric]) for kind in shown)] for row in ok]
    return header, cells


_AGAINST = "windows"
_PAIRED = ("recall@8", "mrr")


def paired_table(ladder: Ladder) -> tuple[list[str], list[list[str]]]:
    """Header and cells of every row's paired difference to rung 1, with its verdict."""
    ok = {row.name: ladder.reports[row.name] for row in ladder.rows if ladder.reports[row.name].status == "ok"}
    header = ["row", *(f"{metric} against {_AGAINST}" for metric in _PAIRED)]
    if _AGAINST not in ok or len(ok) < 2:
        return header, []
    found = compare(ok, baseline=_AGAINST, metrics=_PAIRED)
    cells: dict[str, list[str]] = {}
    for d in found.differences:
        shown = f"{d.value:+.2f} [{d.low:+.2f}, {d.high:+.2f}] {d.verdict}" if d.value is not None else d.verdict
        cells.setdefault(d.system, [d.system]).append(shown + _readable(d))
    return header, list(cells.values())


def _readable(difference: Difference) -> str:
    return "" if difference.readable is None else f" (from {difference.readable:.2f})"


def caption(ladder: Ladder) -> str:
    """What the figures are of."""
    report = next(iter(ladder.reports.values()))
    n = report.metrics["recall@8"]["n"]
    return (
        f"{report.corpus['name']}, {report.golden['name']} (sha256 {report.golden['sha256'][:12]}): {n} questions with an "
        f"answer, {report.n - n} without; 95% intervals; tokens_to_answer is a median"
    )


def markdown(ladder: Ladder) -> str:
    """Both tables as Markdown, with the command that makes them."""
    parts = [_markdown(*table(ladder)), f"Recall@8 by kind of question:\n\n{_markdown(*kind_table(ladder))}"]
    paired = paired_table(ladder)
    if paired[1]:
        parts.append(f"{PAIRED_SAYS}:\n\n{_markdown(*paired)}")
    pooled = pooled_table({name: r for name, r in ladder.reports.items() if r.status == "ok"}, ladder.golden)
    if pooled[1]:
        n = len(judgements_of(ladder.golden).questions(ladder.golden))  # type: ignore[union-attr]
        parts.append(f"{POOLED_SAYS.format(n=n)}:\n\n{_markdown(*pooled)}")
    about = "; ".join(f"**{row.name}**: {row.about}" for row in ladder.rows)
    return "\n\n".join([f"Made by `make readme`. {caption(ladder)}.", *parts, f"{about}.", FOOTNOTE])


def _markdown(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_between(path: Path, text: str, *, held_out: bool = False) -> None:
    """Replace what stands between the ladder's two markers in a file; the held-out tables have markers of their own.

    Raises
    ------
    RunError
        When the file has no such markers.
    """
    begins, ends = (f"<!-- {_MARKERS[held_out]}:{edge} -->" for edge in ("begin", "end"))
    content = path.read_text(encoding="utf-8") if path.is_file() else ""
    before, begin, rest = content.partition(begins)
    _, end, after = rest.partition(ends)
    if not begin or not end:
        raise RunError(f"{path} has no lines {begins} and {ends}; add them where the table belongs")
    path.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")

"""What a measurement returns, and its JSON.

Infinity is not JSON. A median ``tokens_to_answer`` that half of the questions never reach is ``inf`` in Python and
``null`` in JSON, with ``n`` above 0; ``null`` with ``n`` 0 is "no data". `Report.from_dict` restores the difference.
"""

import html
import math
import reprlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rungs.errors import RunError
from rungs.measure.split import is_held_out
from rungs.measure.textfiles import parse_json, read_text, write_json

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FORMAT", "Report"]

FORMAT = 1
_FEWEST_FOR_A_MEDIAN = 6
_SHOWN = ("recall@8", "recall@40", "mrr", "ndcg@10", "tokens_to_answer", "abstain_rate", "false_weak_rate")
Estimates = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Report:
    """One retriever measured on one golden file.

    Attributes
    ----------
    config
        Every setting in force.
    corpus, golden
        ``name`` and ``sha256`` of each.
    model
        The embedding model, where there is one.
    n
        Questions asked.
    metrics
        By name, ``{"value", "low", "high", "n"}``: 95% interval over the questions the metric applies to.
    by_kind
        The same for each kind of question.
    calibration
        Best dense scores of positives and negatives; ``None`` where no channel gave any.
    latency
        ``p50_ms``, ``p95_ms``, ``n``: one query at a time, nothing shared, after warm-up, up to 100. Where the times were a
        cache's and not the search's, ``None`` and the ``reason``.
    cases
        One row per question.
    status
        ``ok``, or ``FAILED`` when a question raised or its hits break the contract. Then no figure is averaged over the
        rest: every estimate is "no data".
    depth
        The most hits that any question got; a ``recall@40`` of a retriever that returns 10 is a recall at 10.
    pooled
        Whether labels under ``also`` counted.
    """

    config: dict[str, Any]
    corpus: dict[str, str]
    golden: dict[str, str]
    model: str | None
    n: int
    metrics: Estimates
    by_kind: dict[str, Estimates]
    calibration: dict[str, float | None]
    latency: dict[str, float | int | str | None]
    cases: list[dict[str, Any]] = field(repr=False)
    status: Literal["ok", "FAILED"]
    depth: int
    pooled: bool = False

    @property
    def failures(self) -> dict[str, str]:
        """What went wrong, by question id."""
        return {case["id"]: case["error"] for case in self.cases if case["error"]}

    @property
    def held_out(self) -> bool:
        """Whether it was measured on a held-out file, by which nothing may be chosen."""
        return is_held_out(self.golden["name"])

    def only(self, ids: Collection[str]) -> "Report":
        """The same run on some of its questions, every figure counted anew; latency and calibration are left out.

        Raises
        ------
        RunError
            When it holds none of them.
        """
        from rungs.measure.metrics import aggregate

        cases = [case for case in self.cases if case["id"] in ids]
        if not cases:
            raise RunError(f"none of the {len(ids)} questions asked for is in this report of {self.golden['name']}")
        failed = any(case["error"] for case in cases)
        rows = [] if failed else [(case["kind"], case["metrics"]) for case in cases]
        kinds = [kind for kind in self.by_kind if any(case["kind"] == kind for case in cases)]
        return replace(
            self,
            n=len(cases),
            cases=cases,
            metrics=aggregate(row for _, row in rows),
            by_kind={kind: aggregate(row for of, row in rows if of == kind) for kind in kinds},
            latency={name: 0 if name == "n" else None for name in self.latency},
            calibration=dict.fromkeys(self.calibration),
            status="FAILED" if failed else "ok",
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: plain types, no infinity, no NaN."""
        return {"format": FORMAT} | {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Report":
        """The report that `to_dict` described.

        Raises
        ------
        RunError
            When ``data`` is something else.
        """
        names = {f.name: None for f in fields(cls)}
        if not isinstance(data, Mapping) or data.get("format") != FORMAT or set(data) != {*names, "format"}:
            raise RunError(f"not a report of format {FORMAT}; measure again with this version of rungs")
        try:
            plain = {name: _plain(data[name]) for name in names}
        except RecursionError:
            raise RunError("a damaged report (nested too deep); measure again") from None
        if (damage := next(_damage(plain), None)) is not None:
            raise RunError(f"a damaged report ({damage}); measure again")
        report = cls(**plain)
        for estimates in (report.metrics, *report.by_kind.values()):
            _restore_estimate(estimates["tokens_to_answer"])
        for case in report.cases:
            _restore_case(case["metrics"])
        return report

    def save(self, path: str | Path) -> None:
        """Write the JSON form; a reader never sees half of it. Parent folders are made.

        Raises
        ------
        RunError
            When it cannot be written.
        """
        write_json(Path(path), self.to_dict(), RunError)

    @classmethod
    def load(cls, path: str | Path) -> "Report":
        """Read what `save` wrote.

        Raises
        ------
        RunError
            When the file cannot be read or is no report.
        """
        path, advice = Path(path), "give a file that `rungs eval --json` or Report.save wrote"
        data = parse_json(read_text(path, RunError), path, RunError, advice)
        try:
            return cls.from_dict(data)
        except RunError as error:
            raise RunError(f"{path}: {error}") from None

    def summary(self, look: int | None = None) -> str:
        """A few lines for a terminal.

        Parameters
        ----------
        look
            For a held-out file: the how-manieth look at it this is, as `rungs.measure.append` counts.
        """
        head = f"{self.golden['name']} on {self.corpus['name']}: {self.n} questions, {self.model or 'no model'}"
        if self.status == "FAILED":
            return "\n".join([f"{head}, FAILED on {len(self.failures)}", *self._shown_failures()])
        figures = [f"  {name:<17}{_figure(self.metrics[name])}" for name in _SHOWN]
        latency = _milliseconds(self.latency["p50_ms"], self.latency.get("reason"))
        note = [f"  held-out file, look number {look or 'unknown'}: report it, choose nothing by it"]
        return "\n".join([head, *figures, f"  {'p50':<17}{latency}", *(note if self.held_out else [])])

    def _shown_failures(self) -> list[str]:
        """One line an error, however many questions it befell."""
        ids: dict[str, list[str]] = {}
        for name, error in self.failures.items():
            ids.setdefault(error, []).append(name)
        return [
            f"  {names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {error}"
            for error, names in list(ids.items())[:5]
        ]

    def to_frame(self) -> "pd.DataFrame":
        """One row per metric and group (``all``, then each kind): ``group, metric, value, low, high, n``."""
        import pandas as pd

        groups = {"all": self.metrics} | self.by_kind
        rows = [{"group": group, "metric": metric, **e} for group, es in groups.items() for metric, e in es.items()]
        return pd.DataFrame(rows, columns=["group", "metric", "value", "low", "high", "n"])

    def _repr_html_(self) -> str:
        return "\n".join(self._html())

    def _html(self) -> Iterator[str]:
        head = f"{self.golden['name']} on {self.corpus['name']}: {self.n} questions, status {self.status}"
        yield f"<table><caption>{html.escape(head)}</caption>"
        if self.status == "FAILED":
            yield "<tr><th>question</th><th>error</th></tr>"
            for name, error in list(self.failures.items())[:20]:
                yield f"<tr><td>{html.escape(name)}</td><td>{html.escape(error)}</td></tr>"
        else:
            yield "<tr><th>metric</th><th>value</th><th>95% interval</th><th>n</th></tr>"
            for name in _SHOWN:
                estimate = self.metrics[name]
                cells = (name, _number(estimate["value"]), _interval(estimate), str(estimate["n"]))
                yield "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
        yield "</table>"


def _figure(estimate: Mapping[str, Any]) -> str:
    if not estimate["n"]:
        return "no data"
    return f"{_number(estimate['value'])}  {_interval(estimate)}  n={estimate['n']}"


def _interval(estimate: Mapping[str, Any]) -> str:
    if estimate["low"] is None or estimate["high"] is None:
        return ""
    return f"[{_number(estimate['low'])}, {_number(estimate['high'])}]"


def _number(value: float | None) -> str:
    if value is None:
        return "no data"
    if math.isinf(value):
        return "not reached"
    return f"{value:.3f}" if abs(value) <= 1 else f"{value:,.0f}"


def _milliseconds(value: Any, reason: Any = None) -> str:
    return str(reason or "not measured") if value is None else f"{value:.1f} ms"


def _plain(value: Any) -> Any:
    """Plain JSON types: infinities as ``None``, numpy scalars as numbers, anything else as its text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


# --- what a file may hold: exact types, since a bool is no number here

_NONE = type(None)
_NUMBER = (float, int, _NONE)
_WHOLE = (int, _NONE)
_PARTS = {
    "config": (dict,),
    "corpus": (dict,),
    "golden": (dict,),
    "model": (str, _NONE),
    "n": (int,),
    "metrics": (dict,),
    "by_kind": (dict,),
    "calibration": (dict,),
    "latency": (dict,),
    "cases": (list,),
    "status": (str,),
    "depth": (int,),
    "pooled": (bool,),
}
_NAMED = {"name": (str,), "sha256": (str,)}
_TIMES = {"p50_ms": _NUMBER, "p95_ms": _NUMBER, "n": (int,)}
_ESTIMATE = {"value": _NUMBER, "low": _NUMBER, "high": _NUMBER, "n": (int,)}
_CASE = {
    "id": (str,),
    "q": (str,),
    "kind": (str,),
    "mode": (str,),
    "expect": (list,),
    "also": (list,),
    "found": (dict,),
    "first_rank": _WHOLE,
    "abstained": (bool, _NONE),
    "metrics": (dict, _NONE),
    "ms": _NUMBER,
    "error": (str, _NONE),
    "hits": (list,),
}
_HIT = {
    "rank": (int,),
    "id": (str,),
    "path": (str, _NONE),
    "symbol": (str, _NONE),
    "start_line": _WHOLE,
    "end_line": _WHOLE,
    "score": _NUMBER,
    "scores": (dict,),
    "relevant": (bool, _NONE),
}
_MOST_LINES = 10_000_000
_LARGEST = 10**15
Types = tuple[type, ...]


def _damage(data: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong; only the first is true to itself, since what comes after trusts what came before."""
    yield from _misfits("", data, _PARTS)
    for name, wanted in (("corpus", _NAMED), ("golden", _NAMED), ("latency", _TIMES)):
        yield from _misfits(f"{name}: ", data[name], wanted)
    for name, group in (("metrics", data["metrics"]), *data["by_kind"].items()):
        yield from _misfits(f"{name}: ", group, dict.fromkeys((*_SHOWN, *data["metrics"]), (dict,)))
        for metric, estimate in group.items():
            yield from _misfits(f"{name}: {metric}: ", estimate, _ESTIMATE)
    if not data["cases"] or data["n"] != len(data["cases"]):
        yield f"n is {data['n']} and there are {len(data['cases'])} cases"
    metrics = dict.fromkeys(data["metrics"], _NUMBER)
    first: dict[str, int] = {}
    for number, case in enumerate(data["cases"], 1):
        yield from _case_damage(f"case {number}: ", case, metrics)
        if (before := first.setdefault(case["id"], number)) != number:
            yield f"case {number}: its id is that of case {before}"
    status = "FAILED" if any(case["error"] for case in data["cases"]) else "ok"
    if data["status"] != status:
        yield f"status is {reprlib.repr(data['status'])} and by its cases {status}"


def _case_damage(where: str, case: Any, metrics: Mapping[str, Types]) -> Iterator[str]:
    yield from _misfits(where, case, _CASE)
    for name in ("expect", "also"):
        if any(type(label) is not str for label in case[name]):
            yield f"{where}{name} is {reprlib.repr(case[name])}"
    yield from _misfits(f"{where}found: ", case["found"], dict.fromkeys(case["found"], _WHOLE))
    if not case["error"] or case["metrics"] is not None:
        yield from _misfits(f"{where}metrics: ", case["metrics"], metrics)
    for rank, hit in enumerate(case["hits"], 1):
        yield from _misfits(f"{where}hit {rank}: ", hit, _HIT)
        path, start, end = hit["path"], hit["start_line"], hit["end_line"]
        if path is None and not case["error"]:  # what could not be placed made it fail
            yield f"{where}hit {rank}: path is None"
        if (start, end) != (None, None) and not (start and end and 1 <= start <= end <= _MOST_LINES):
            yield f"{where}hit {rank}: lines are {start}-{end}"


def _misfits(where: str, row: Any, wanted: Mapping[Any, Types]) -> Iterator[str]:
    if type(row) is not dict:
        yield f"{where}{reprlib.repr(row)} is no object"
    for name, types in wanted.items():
        if name not in row:
            yield f"{where}no {name}"
        value = row[name]
        if type(value) not in types or (type(value) is int and abs(value) > _LARGEST):
            yield f"{where}{name} is {reprlib.repr(value)}"


def _restore_estimate(estimate: dict[str, Any]) -> None:
    if estimate["n"] and estimate["value"] is None:
        estimate["value"] = math.inf
    for bound in ("low", "high"):
        if estimate["n"] >= _FEWEST_FOR_A_MEDIAN and estimate[bound] is None:
            estimate[bound] = math.inf


def _restore_case(metrics: dict[str, Any] | None) -> None:
    if metrics and metrics["recall@8"] is not None and metrics["tokens_to_answer"] is None:
        metrics["tokens_to_answer"] = math.inf

"""What a judged run comes to: scores, their means, and how much hangs on where "correct" begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rungs.errors import RunError
from rungs.measure.table import Table
from rungs.measure.textfiles import parse_json, read_text, write_json

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["JUDGED", "PASS_MARKS", "JudgedRun", "bounds_text", "pass_marks", "share_near"]

JUDGED = ("faithfulness", "answer_relevancy", "context_precision", "context_recall")

PASS_MARKS = tuple(round(step * 0.05, 2) for step in range(21))
"""Where "correct" could begin: 0, 0.05, … 1."""

_FORMAT = 1
_NEAR = 0.1
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """One retriever, judged on one golden file.

    Attributes
    ----------
    taken
        When, UTC.
    config, corpus, golden, model
        As in a `Report`.
    judge
        What judged: ``api_base``, ``model``, ``timeout``, ``retries``, version of ``ragas``, ``prompt`` (sha256 of what
        this package words itself), ``top_k``, ``reference``. Never the key.
    n, negatives
        Questions judged; questions without an answer, which are not.
    mark
        The pass mark in use.
    metrics
        By the names in `JUDGED`, ``{"value", "low", "high", "n"}``; "no data" in a FAILED run.
    marks
        By metric, how many questions are "correct" at each of `PASS_MARKS`; empty in a FAILED run.
    near_mark
        By metric, the share of scores within 0.1 of ``mark``; empty in a FAILED run.
    cases
        One row a question: ``id``, ``q``, ``kind``, ``contexts`` (where the hits lie), ``answer``, ``scores``, ``error``.
    status
        ``ok``, or ``FAILED`` when one question or more could not be judged.
    """

    taken: str
    config: dict[str, Any]
    corpus: dict[str, str]
    golden: dict[str, str]
    model: str | None
    judge: dict[str, Any]
    n: int
    negatives: int
    mark: float
    metrics: dict[str, dict[str, Any]]
    marks: dict[str, list[int]]
    near_mark: dict[str, float]
    cases: list[dict[str, Any]] = field(repr=False)
    status: Literal["ok", "FAILED"]

    @property
    def failures(self) -> dict[str, str]:
        """What went wrong, by question id."""
        return {case["id"]: case["error"] for case in self.cases if case["error"]}

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"format": _FORMAT} | {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "JudgedRun":
        """The run that `to_dict` described.

        Raises
        ------
        RunError
            When ``data`` is something else.
        """
        names = {f.name for f in fields(cls)}
        if not isinstance(data, Mapping) or data.get("format") != _FORMAT or set(data) != names | {"format"}:
            raise RunError(f"not a judged run of format {_FORMAT}; judge again with this version of rungs")
        return cls(**{name: data[name] for name in names})

    def save(self, path: str | Path) -> None:
        """Write the JSON form; a reader never sees half of it. Parent folders are made.

        Raises
        ------
        RunError
            When it cannot be written.
        """
        write_json(Path(path), self.to_dict(), RunError)

    @classmethod
    def load(cls, path: str | Path) -> "JudgedRun":
        """Read what `save` wrote.

        Raises
        ------
        RunError
            When the file cannot be read or is no judged run.
        """
        path = Path(path)
        data = parse_json(read_text(path, RunError), path, RunError, "give a file that JudgedRun.save wrote")
        try:
            return cls.from_dict(data)
        except RunError as error:
            raise RunError(f"{path}: {error}") from None

    def to_frame(self) -> "pd.DataFrame":
        """One row a question: ``id``, ``kind``, a column for each score, ``error``."""
        import pandas as pd

        rows = [{"id": c["id"], "kind": c["kind"]} | c["scores"] | {"error": c["error"]} for c in self.cases]
        return pd.DataFrame(rows, columns=["id", "kind", *JUDGED, "error"])

    def sweep(self) -> Table:
        """How many questions are "correct" at each pass mark, by metric."""
        rows = [
            [f"{mark:.2f}", *(str(self.marks[name][i]) for name in JUDGED)]
            for i, mark in enumerate(PASS_MARKS)
            if self.marks
        ]
        return Table(f'"correct" of {self.n} by pass mark', ("mark", *JUDGED), rows)

    def table(self) -> Table:
        """Means, what is correct at the mark in use, and how much of it hangs on the mark; or what failed."""
        head = (
            f"{self.golden['name']} on {self.corpus['name']}, judged by {self.judge['model']}: {self.n} questions with an "
            f"answer ({self.negatives} without are not judged)"
        )
        if self.status == "FAILED":
            rows = [[name, error] for name, error in list(self.failures.items())[:20]]
            more = "" if len(self.failures) <= 20 else ", the first 20 of them here"
            notes = (f"FAILED on {len(self.failures)} of {self.n}{more}; no mean is reported",)
            return Table(f"{head}, FAILED", ("question", "reason"), rows, notes)
        at = f"correct at {self.mark:g}"
        return Table(head, ("score", "mean", "95% interval", at, "within 0.1 of it"), [self._row(m) for m in JUDGED])

    def _row(self, metric: str) -> list[str]:
        e = self.metrics[metric]
        passed = sum(_passes(case["scores"][metric], self.mark) for case in self.cases)
        bounds = bounds_text(e["low"], e["high"])
        return [metric, f"{e['value']:.3f}", bounds, f"{passed} of {self.n}", f"{self.near_mark[metric]:.0%}"]

    def summary(self) -> str:
        """Lines for a terminal."""
        tables = [self.table()] if self.status == "FAILED" else [self.table(), self.sweep()]
        return "\n".join(table.text() for table in tables)

    def _repr_html_(self) -> str:
        tables = [self.table()] if self.status == "FAILED" else [self.table(), self.sweep()]
        return "\n".join(table.html() for table in tables)


def bounds_text(low: float | None, high: float | None, sign: str = "") -> str:
    """An interval as text, or nothing where there is none."""
    return "" if low is None or high is None else f"[{low:{sign}.3f}, {high:{sign}.3f}]"


def pass_marks(scores: Sequence[float]) -> list[int]:
    """How many scores reach each of `PASS_MARKS`.

    Examples
    --------
    >>> dict(zip(PASS_MARKS, pass_marks([0.2, 0.6, 1.0])))[0.6]
    2
    """
    return [sum(_passes(score, mark) for score in scores) for mark in PASS_MARKS]


def _passes(score: float, mark: float) -> bool:
    return score >= mark - _ROUNDING


def share_near(scores: Sequence[float], mark: float) -> float:
    """The share of scores within 0.1 of a pass mark."""
    return sum(abs(score - mark) <= _NEAR + _ROUNDING for score in scores) / len(scores)

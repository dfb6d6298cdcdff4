"""The ledger: one row per measurement, never rewritten.

A better setting enters as a new row beside the old one, and the number of rows that used the held-out file is the
number of times somebody looked at it. Rows are JSON lines. Any number of processes may append at once, and a row that a
crash tore in half costs that row only.
"""

import fcntl
import json
import os
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rungs.errors import RunError
from rungs.measure.golden import Golden
from rungs.measure.report import Report

__all__ = ["append", "heldout_looks", "note_look", "read"]

_KEPT = ("status", "config", "corpus", "golden", "model", "n", "depth", "pooled", "metrics", "calibration", "latency")


def append(report: Report, path: str | Path, *, label: str) -> dict[str, Any]:
    """Add one row for a report.

    Parameters
    ----------
    report
        What was measured; a FAILED one is recorded as such.
    path
        The ledger, made if missing.
    label
        What this configuration is called.

    Returns
    -------
    dict
        The row. That of a held-out file says under ``look`` how often the file was looked at by now, this time
        included; one that was edited or renamed in between is still the same file.

    Raises
    ------
    RunError
        When the file cannot be written.
    """
    data = report.to_dict()
    return _appended({name: data[name] for name in _KEPT}, Path(path), label, held_out=report.held_out)


def note_look(golden: Golden, path: str | Path, *, label: str) -> int | None:
    """Count a look at a held-out file of which no report is kept: its questions were followed, or a gate asked them.

    Returns
    -------
    int or None
        How often it was looked at by now; None for any other file, of which nothing is written.
    """
    if not golden.held_out:
        return None
    return _appended({"golden": {"name": golden.name, "sha256": golden.sha256}}, Path(path), label, held_out=True)[
        "look"
    ]


def _appended(data: dict[str, Any], path: Path, label: str, *, held_out: bool) -> dict[str, Any]:
    row = {"label": label, "time": datetime.now(UTC).isoformat(timespec="seconds")} | data
    if held_out:
        row["look"] = heldout_looks(path, data["golden"]["sha256"], data["golden"]["name"]) + 1
    line = json.dumps(row, allow_nan=False, ensure_ascii=False).encode() + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _append_line(path, line)
    except OSError as error:
        raise RunError(f"ledger {path}: cannot be written ({error.strerror}); check the path") from None
    return row


def _append_line(path: Path, line: bytes) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # released when the descriptor is closed, also by a crash
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line  # a crash left half a row; end it, so that it spoils nothing but itself
        while line:
            line = line[os.write(descriptor, line) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: str | Path) -> list[dict[str, Any]]:
    """Every whole row, oldest first; a torn one is passed over with a warning. A missing ledger has no rows."""
    path = Path(path)
    if not path.exists():
        return []
    rows = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if isinstance(row, dict) and isinstance(row.get("golden"), dict) and {"name", "sha256"} <= set(row["golden"]):
            rows.append(row)
        else:
            warnings.warn(f"{path}:{number}: not a whole row, passed over; a crash may have torn it", stacklevel=2)
    return rows


def heldout_looks(path: str | Path, golden_sha: str, name: str | None = None) -> int:
    """How many rows were measured on the golden file with this sha256, or with this name where one is given."""
    golden = [row["golden"] for row in read(path)] if Path(path).is_file() else []
    return sum(one["sha256"] == golden_sha or (name is not None and one["name"] == name) for one in golden)

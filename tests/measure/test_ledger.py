"""Rows are added, never rewritten, by any number of processes, and a crash costs one row."""

import fcntl
import json
import multiprocessing
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from rungs.errors import RunError
from rungs.measure import Report, append, evaluate, heldout_looks, note_look, read

from .toys import Scripted, hit, line, negative


@pytest.fixture
def report(make_golden) -> Report:
    golden = make_golden(line("a"), negative("n"))
    return evaluate(Scripted({"where is a?": [hit("a", 9, 12)]}), golden, progress=False)


def test_a_row_holds_what_a_comparison_needs(report, tmp_path):
    path = tmp_path / "runs" / "ledger.jsonl"
    row = append(report, path, label="rung 2")
    assert read(path) == [row]
    assert row["label"] == "rung 2" and row["time"].endswith("+00:00")
    assert row["golden"] == report.golden and row["corpus"] == report.corpus and row["config"] == report.config
    assert row["metrics"]["mrr"] == {"value": 1, "low": pytest.approx(0.2065, abs=1e-3), "high": 1, "n": 1}
    assert "cases" not in row


def test_rows_are_appended_and_the_old_bytes_stay(report, tmp_path):
    path = tmp_path / "ledger.jsonl"
    append(report, path, label="one")
    before = path.read_bytes()
    append(report, path, label="two")
    assert path.read_bytes().startswith(before) and len(path.read_bytes()) > len(before)
    assert [row["label"] for row in read(path)] == ["one", "two"]


def test_a_torn_last_line_costs_that_row_only(report, tmp_path):
    path = tmp_path / "ledger.jsonl"
    append(report, path, label="one")
    whole = path.read_bytes()
    append(report, path, label="torn")
    path.write_bytes(path.read_bytes()[: len(whole) + 40])
    append(report, path, label="three")
    with pytest.warns(UserWarning, match=r"ledger\.jsonl:2: not a whole row"):
        assert [row["label"] for row in read(path)] == ["one", "three"]


def test_looks_at_a_golden_file_are_counted_by_its_content(report, tmp_path):
    path = tmp_path / "ledger.jsonl"
    assert heldout_looks(path, report.golden["sha256"]) == 0
    for label in ("one", "two"):
        append(report, path, label=label)
    assert heldout_looks(path, report.golden["sha256"]) == 2
    assert heldout_looks(path, "0" * 64) == 0


def test_a_look_without_a_report_is_counted_of_a_held_out_file_only(report, make_golden, tmp_path):
    path = tmp_path / "ledger.jsonl"
    golden = make_golden(line("a"))
    assert (note_look(golden, path, label="explain"), path.exists()) == (None, False)
    held = replace(golden, name="shop.heldout")
    assert [note_look(held, path, label="explain") for _ in range(2)] == [1, 2]
    append(replace(report, golden=report.golden | {"name": "shop.heldout"}), path, label="measured")
    assert [row["look"] for row in read(path)] == [1, 2, 3]


@pytest.mark.parametrize("row", ['{"golden": 5}', '{"golden": {}}', "[1]", "5"])
def test_a_row_of_another_shape_is_passed_over(report, tmp_path, row):
    path = tmp_path / "ledger.jsonl"
    path.write_text(row + "\n")
    with pytest.warns(UserWarning, match=r"ledger\.jsonl:1: not a whole row"):
        append(replace(report, golden=report.golden | {"name": "shop.heldout"}), path, label="one")
    with pytest.warns(UserWarning):
        assert [row["look"] for row in read(path)] == [1]


def test_a_failed_run_is_recorded_as_failed(make_golden, tmp_path):
    failed = evaluate(Scripted({"where is a?": ValueError("x")}), make_golden(line("a")), progress=False)
    append(failed, tmp_path / "l.jsonl", label="bad")
    (row,) = read(tmp_path / "l.jsonl")
    assert row["status"] == "FAILED" and row["metrics"]["mrr"]["value"] is None


def test_a_ledger_that_cannot_be_written_is_named(report, tmp_path):
    with pytest.raises(RunError, match="cannot be written"):
        append(report, tmp_path, label="a folder")


def test_an_append_waits_for_the_one_that_holds_the_file(report, tmp_path):
    path = tmp_path / "ledger.jsonl"
    append(report, path, label="one")
    before = path.read_bytes()
    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        job = threading.Thread(target=append, args=(report, path), kwargs={"label": "two"}, daemon=True)
        job.start()
        job.join(0.5)
        assert job.is_alive() and path.read_bytes() == before
    job.join(30)
    assert [row["label"] for row in read(path)] == ["one", "two"]


def write_many(path: Path, data: dict, worker: int, rows: int, start) -> None:
    report = Report.from_dict(data)
    start.wait()
    for i in range(rows):
        append(report, path, label=f"{worker}-{i}" + "x" * 5000)


def test_processes_append_at_once_without_losing_or_mixing_rows(report, tmp_path):
    path, rows, workers = tmp_path / "ledger.jsonl", 25, 4
    context = multiprocessing.get_context("fork")
    start = context.Barrier(workers)
    jobs = [context.Process(target=write_many, args=(path, report.to_dict(), w, rows, start)) for w in range(workers)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(60)
    assert [job.exitcode for job in jobs] == [0] * workers
    labels = {json.loads(each)["label"].rstrip("x") for each in path.read_text().splitlines()}
    assert labels == {f"{worker}-{i}" for worker in range(workers) for i in range(rows)}
    assert len(read(path)) == rows * workers

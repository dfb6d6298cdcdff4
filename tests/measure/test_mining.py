"""How subjects and titles are cleaned, and the command from a history to a golden file."""

import io
import json
import time
from pathlib import Path

import pytest

from rungs.cli import main
from rungs.measure import load_golden
from rungs.measure.mining.questions import chore, cleaned

from .mining_shop import CHECKOUT, GOOD, TO_CHECKOUT, TO_TOTAL, TOTAL, Repository, exported, first_day


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return first_day(tmp_path / "work")


# --- questions


@pytest.mark.parametrize(
    ("subject", "question"),
    [
        ("fix: Wait longer", "Wait longer"),
        ("[worker] fix(pool)!: Wait longer (#12)", "Wait longer"),
        ("Fixed #12 -- Wait longer.", "Wait longer"),
        ("Fix #12: wait longer, closes #3, #4", "wait longer"),
        ("Wait longer (GH-12)", "Wait longer"),
        ("bpo-12: Wait longer", "Wait longer"),
        ("PROJ-12: Wait longer", "Wait longer"),
        (":bug: Wait longer", "Wait longer"),
        ("🐛 Wait longer", "Wait longer"),
        ("Wait longer (see https://example.org/12)", "Wait longer"),
        ("[Bug]: Wait  longer\x1b[31m", "Wait longer\x1b[31m"),
        ("Answers in C#", "Answers in C#"),
        ("Prefixes #12", "Prefixes"),
        ("Wait longer...", "Wait longer..."),
        ("*args wait longer", "*args wait longer"),
        (".gitignore waits", ".gitignore waits"),
        ("Wait for #12 to be longer", "Wait for #12 to be longer"),
    ],
)
def test_tags_and_references_are_taken_off(subject, question):
    assert cleaned(subject) == question


@pytest.mark.parametrize(
    "piece", ["#1 ", "(#1, ", "1 ", "[x] ", ":", " ,;", "fixes #1, ", "https://", "(", "bump ", "GH-1 and ", "😀 "]
)
def test_no_subject_takes_long(piece):
    start = time.perf_counter()
    for subject in (piece * 400, "(#1, " + piece * 400 + "x", piece * 400 + "x)"):
        cleaned(subject)
        chore(subject)
    assert time.perf_counter() - start < 2


# --- the command


def test_the_command_goes_from_a_history_to_a_golden_file(repository, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    repository.edit(GOOD, TO_TOTAL)
    corpus = ("--corpus", str(repository.root))
    drafts, out = tmp_path / "drafts.jsonl", tmp_path / "mine.jsonl"
    assert main(["mine", "history", str(repository.root), *corpus, "--out", str(drafts)]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(
        "1 drafts from 2 commits (0 in words close to their label's, 0 without a label); no draft: 1 "
    )
    monkeypatch.setattr("sys.stdin", io.StringIO("k\nit adds them up\n"))
    assert main(["mine", "confirm", str(drafts), *corpus, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert f"label:    {TOTAL}" in said
    assert "1 kept, 0 dropped, 0 to go" in said
    assert [q.q for q in load_golden(out, repository.root).questions] == [GOOD]


def test_the_command_prints_drafts_and_errors_on_one_line(repository, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    corpus = ("--corpus", str(repository.root))
    issues = exported(tmp_path, {"title": "`Basket.total` is off by one"})
    assert main(["mine", "issues", str(issues), *corpus]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["expect"] == [TOTAL]
    assert main(["mine", "history", str(tmp_path), *corpus]) == 2
    assert capsys.readouterr().err == f"rungs: {tmp_path} is not a git repository; give a clone, with its history\n"
    assert main(["mine", "confirm", str(issues), *corpus]) == 2
    assert "--out FILE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "flags"),
    [
        (("issues", "--limit", "9"), "--limit"),
        (("confirm", "--prefix", "x/"), "--prefix"),
        (("issues", "--limit", "9", "--prefix", ""), "--prefix or --limit"),
    ],
)
def test_what_is_of_a_history_is_refused_elsewhere(tmp_path, capsys, argv, flags):
    what, *options = argv
    assert main(["mine", what, str(tmp_path / "x.md"), *options]) == 2
    said = f"rungs: mine {what} takes no {flags}; leave out what is of mine history alone\n"
    assert capsys.readouterr().err == said


def test_limit_and_prefix_reach_the_history(repository, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    repository.edit("Nobody may pay with half a cent", TO_TOTAL)
    repository.edit(GOOD, TO_CHECKOUT)
    argv = ("mine", "history", str(repository.root), "--corpus", str(tmp_path))
    assert main([*argv, "--limit", "1", "--prefix", "work"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["expect"] == [f"work/{CHECKOUT}"]

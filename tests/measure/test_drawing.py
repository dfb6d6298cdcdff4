"""The draw of a held-out half: exact, repeatable, and nothing that is nearly one on both sides."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from rungs.corpus import load_corpus
from rungs.errors import GoldenError
from rungs.measure import draw_held_out, load_golden, write_split
from rungs.measure.textfiles import write_lines

from .toys import GUIDE, RETRY, SEND, line, negative

WORDS = [
    "anchor basket candle",
    "dragon ember falcon",
    "garden hammer island",
    "jungle kettle lantern",
    "marble needle orchid",
    "pepper quartz ribbon",
    "saddle timber umbrella",
    "velvet willow yonder",
    "zipper breeze copper",
    "dagger fabric goblin",
]


def questions(kind: str, n: int, label: str = RETRY) -> list[dict]:
    """Questions that have no word in common."""
    return [line(f"{kind}{i}", [label], q=f"{kind} {WORDS[i]}", kind=kind) for i in range(n)]


@pytest.fixture
def rows() -> list[dict]:
    return [*questions("prose-en", 10), *questions("doc", 7, GUIDE), *questions("test", 4, SEND)]


def kinds(golden, ids) -> Counter:
    return Counter(question.kind for question in golden.questions if question.id in ids)


def test_every_kind_gets_exactly_its_share(make_golden, rows) -> None:
    golden = make_golden(*rows)
    for seed in range(5):
        assert kinds(golden, draw_held_out(golden, seed=seed)) == {"prose-en": 5, "doc": 4, "test": 2}
    drawn = draw_held_out(golden, {"prose-en": 0.3, "test": 0})
    assert kinds(golden, drawn) == {"prose-en": 3, "doc": 4}
    assert draw_held_out(golden, 0) == frozenset()
    assert len(draw_held_out(golden, 1)) == 21


def test_the_draw_hangs_on_file_and_seed_and_on_nothing_else(make_golden, rows) -> None:
    drawn = draw_held_out(make_golden(*rows), seed=7)
    assert draw_held_out(make_golden(*rows), seed=7) == drawn
    shuffled = rows.copy()
    random.Random(1).shuffle(shuffled)
    assert draw_held_out(make_golden(*shuffled), seed=7) == drawn
    assert len({draw_held_out(make_golden(*rows), seed=seed) for seed in range(10)}) == 10


def test_every_question_has_the_same_chance(make_golden) -> None:
    """Those that come in groups too; 400 draws of 30%: standard error 0.023."""
    rows = questions("prose-en", 10)
    golden = make_golden(*rows)
    pairs = [("prose-en0", "prose-en1"), ("prose-en2", "prose-en3")]
    drawn = Counter(name for seed in range(400) for name in draw_held_out(golden, 0.3, seed=seed, together=pairs))
    assert sum(drawn.values()) == 400 * 3
    for name, n in drawn.items():
        assert 0.2 < n / 400 < 0.4, name


def test_groups_fall_on_one_side(make_golden, rows) -> None:
    golden = make_golden(*rows)
    groups = [("prose-en0", "doc0"), ("doc0", "test1"), ("prose-en3", "prose-en4")]
    sides = set()
    for seed in range(40):
        drawn = draw_held_out(golden, seed=seed, together=groups)
        assert len({name in drawn for name in ("prose-en0", "doc0", "test1")}) == 1
        assert ("prose-en3" in drawn) == ("prose-en4" in drawn)
        assert kinds(golden, drawn) == {"prose-en": 5, "doc": 4, "test": 2}
        sides.add(("doc0" in drawn, "prose-en3" in drawn))
    assert len(sides) == 4  # each group is sometimes here and sometimes there


def test_groups_fill_what_single_questions_leave(make_golden) -> None:
    """Nothing but pairs: every second of them must be drawn, whatever their luck."""
    golden = make_golden(*questions("prose-en", 8))
    pairs = [(f"prose-en{i}", f"prose-en{i + 1}") for i in range(0, 8, 2)]
    for seed in range(10):
        assert len(draw_held_out(golden, seed=seed, together=pairs)) == 4
    assert len(draw_held_out(golden, 1, together=pairs)) == 8
    assert len(draw_held_out(golden, 1 / 8, together=pairs)) == 0  # no pair fits


def test_questions_that_are_nearly_one_fall_on_one_side(make_golden) -> None:
    rows = questions("prose-en", 10)
    rows[1]["q"] = rows[0]["q"] + "s"
    golden = make_golden(*rows)
    sides = set()
    for seed in range(10):
        drawn = draw_held_out(golden, seed=seed)
        assert ("prose-en0" in drawn) == ("prose-en1" in drawn)
        sides.add("prose-en0" in drawn)
    assert sides == {True, False}


def test_what_was_looked_at_stays_with_all_that_is_nearly_the_same(make_golden) -> None:
    rows = questions("prose-en", 10)
    rows[1]["q"] = rows[0]["q"] + "s"
    golden = make_golden(*rows)
    for seed in range(10):
        drawn = draw_held_out(
            golden, seed=seed, tuning=["prose-en0", "prose-en5"], together=[("prose-en5", "prose-en6")]
        )
        assert not drawn & {"prose-en0", "prose-en1", "prose-en5", "prose-en6"}
        assert len(drawn) == 5


def test_a_draw_that_cannot_be_made(make_golden, rows) -> None:
    golden = make_golden(*rows)
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(GoldenError, match=r"the held-out share of prose-en is .*; give one between 0 and 1"):
            draw_held_out(golden, share)
    with pytest.raises(GoldenError, match="has no question of kind 'prose'; it has prose-en, doc, test"):
        draw_held_out(golden, {"prose": 0.5})
    for options in ({"tuning": ["typo"]}, {"together": [("doc1", "typo")]}):
        with pytest.raises(GoldenError, match="no question has id 'typo'"):
            draw_held_out(golden, **options)


def test_nothing_is_drawn_from_a_file_that_only_reports(make_golden, rows, corpus, tmp_path: Path) -> None:
    path = make_golden(*rows).path.rename(tmp_path / "all.heldout.jsonl")
    with pytest.raises(GoldenError, match="only reports already"):
        draw_held_out(load_golden(path, corpus))


# --- the two files


def test_the_two_files_hold_every_line_as_it_stands(make_golden, rows, corpus, tmp_path: Path) -> None:
    golden = make_golden(*rows, negative("n"))
    odd = golden.path.read_text().replace('"mode": "any"', '"mode":  "any"').replace("\n", "\r\n\r\n")
    golden.path.write_bytes(b"\xef\xbb\xbf" + odd.encode())
    golden = load_golden(golden.path, corpus)
    drawn = draw_held_out(golden)
    target = tmp_path / "mine.jsonl"
    tuning, held_out = write_split(golden, drawn, target)
    assert (tuning, held_out) == (target, tmp_path / "mine.heldout.jsonl")
    lines = {path: path.read_bytes().decode().split("\n") for path in (tuning, held_out)}
    assert sorted([*lines[tuning], *lines[held_out]]) == sorted(["", "", *(x for x in odd.split("\r\n") if x.strip())])
    assert {json.loads(x)["id"] for x in lines[held_out] if x} == drawn
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    loaded = load_golden(held_out, corpus)  # held against the tuning file next to it
    assert loaded.held_out
    assert {question.id for question in loaded.questions} == drawn


def test_a_split_does_not_overwrite_unless_asked(make_golden, rows, tmp_path: Path) -> None:
    golden = make_golden(*rows)
    drawn = draw_held_out(golden)
    (tmp_path / "mine.heldout.jsonl").write_text("precious")
    with pytest.raises(GoldenError, match=r"mine\.heldout\.jsonl exists already; .*--overwrite"):
        write_split(golden, drawn, tmp_path / "mine.jsonl")
    assert (tmp_path / "mine.heldout.jsonl").read_text() == "precious"
    assert not (tmp_path / "mine.jsonl").exists()
    write_split(golden, drawn, tmp_path / "mine.jsonl", overwrite=True)
    assert len((tmp_path / "mine.heldout.jsonl").read_text().splitlines()) == len(drawn)


def test_a_split_that_would_lose_something_is_refused(make_golden, rows, tmp_path: Path) -> None:
    golden = make_golden(*rows)
    before = golden.path.read_bytes()
    drawn = draw_held_out(golden)
    with pytest.raises(GoldenError, match="is the file that is drawn from"):
        write_split(golden, drawn, golden.path, overwrite=True)
    with pytest.raises(GoldenError, match="is the name of a held-out file"):
        write_split(golden, drawn, tmp_path / "mine.heldout.jsonl")
    with pytest.raises(GoldenError, match=r"does not end in \.jsonl"):  # its held-out file would not be known for one
        write_split(golden, drawn, tmp_path / "mine")
    with pytest.raises(GoldenError, match="would hold no question"):
        write_split(golden, [], tmp_path / "mine.jsonl")
    with pytest.raises(GoldenError, match=r"cannot be written \(No such file"):
        write_split(golden, drawn, tmp_path / "no" / "mine.jsonl")
    assert golden.path.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [golden.path.name]


def test_a_write_that_fails_leaves_the_file_before(tmp_path: Path) -> None:
    path, link = tmp_path / "a.jsonl", tmp_path / "link.jsonl"
    path.write_text("before\n")
    path.chmod(0o640)
    link.symlink_to(path)

    def torn():
        yield "half"
        raise OSError(28, "No space left on device")

    with pytest.raises(GoldenError, match=r"a\.jsonl: cannot be written \(No space left"):
        write_lines(path, torn())
    assert path.read_text() == "before\n"
    write_lines(link, ["after"])
    assert (path.read_text(), link.is_symlink(), path.stat().st_mode & 0o777) == ("after\n", True, 0o640)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.jsonl", "link.jsonl"]


# --- the command


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows) -> Path:
    (tmp_path / "src/pkg").mkdir(parents=True)
    (tmp_path / "src/pkg/tasks.py").write_text(
        "class Task:\n    def retry(self):\n        pass\n\ndef send():\n    pass\n"
    )
    (tmp_path / "src/docs").mkdir()
    (tmp_path / "src/docs/guide.md").write_text("# Guide\n\nHow to retry.\n")
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    load_corpus(tmp_path / "src", tmp_path / "home")
    return tmp_path


def split(capsys, *argv: str) -> tuple[int, str, str]:
    from rungs.cli import main

    code = main(["split", "all.jsonl", "--corpus", "./src", "--out", "mine.jsonl", *argv])
    return code, *capsys.readouterr()


def test_split_writes_two_files_and_says_how_many_are_where(project: Path, capsys) -> None:
    code, out, err = split(
        capsys, "--held-out", "prose-en=0.3, doc=0", "--seed", "2", "--json", "--tuning", "test0,test1"
    )
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "tuning": "mine.jsonl",
        "held_out": "mine.heldout.jsonl",
        "questions": {
            "prose-en": {"tuning": 7, "held_out": 3},
            "doc": {"tuning": 7, "held_out": 0},
            "test": {"tuning": 2, "held_out": 2},
        },
    }
    held_out = [json.loads(x)["id"] for x in (project / "mine.heldout.jsonl").read_text().splitlines()]
    assert {"test2", "test3"} == {name for name in held_out if name.startswith("test")}
    assert split(capsys)[0] == 2  # the files are there
    code, out, _ = split(capsys, "--overwrite")
    assert code == 0
    assert [x.split() for x in out.splitlines() if x.strip() and "─" not in x] == [
        ["kind", "mine.jsonl", "mine.heldout.jsonl"],
        ["prose-en", "5", "5"],
        ["doc", "3", "4"],
        ["test", "2", "2"],
        ["all", "10", "11"],
    ]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--held-out", "half"], "--held-out cannot be 'half'"),
        (["--held-out", "doc=x"], "--held-out cannot be 'doc=x'"),
        (["--held-out", "doc=0.5,test"], "--held-out cannot be 'doc=0.5,test'"),
        (["--held-out", "docs=0.5"], "has no question of kind 'docs'"),
        (["--held-out", "1.5"], "the held-out share of prose-en is 1.5"),
        (["--tuning", "typo"], "no question has id 'typo'"),
        (["--out", "no/mine.jsonl"], "--out no/mine.jsonl: there is no folder no"),
    ],
)
def test_trouble_is_one_line(project: Path, capsys, argv, says) -> None:
    code, out, err = split(capsys, *argv)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err
    assert not list(project.glob("mine*"))

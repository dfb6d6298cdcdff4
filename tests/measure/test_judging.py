"""The judge's desk, in the terminal through the real command, and in Jupyter through its buttons."""

import io
import json
import re
from pathlib import Path

import pytest

from rungs.cli import main
from rungs.corpus import load_corpus
from rungs.errors import GoldenError
from rungs.measure import (
    Item,
    Judgements,
    JudgingSession,
    Location,
    Report,
    judge_in_terminal,
    judge_widget,
    load_golden,
    places_shown,
    second_sample,
)

from .toys import Scripted, hit, line, negative, quiet

HOSTILE = '''def send(body):
	"""<script>alert(1)</script> \x1b[31mred\x07 \u202egnp.exe"""
\treturn body
'''
SOURCES = {"basket.py": "def put(x):\n    return x\n\n\ndef take(x):\n    return x\n", "hostile.py": HOSTILE}
ROWS = [
    line("q1", ["basket.py::put"]),
    line("q2", ["basket.py::take"], q="<b>which</b> \x1b[2Jplace?"),
    negative("n"),
]
PUT = hit("put", 1, 2, path="basket.py")
TAKE = hit("take", 5, 6, path="basket.py")
SEND = hit("send", 1, 3, path="hostile.py")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a corpus, a held-out golden file, and what two systems found: three items on two questions."""
    (tmp_path / "src").mkdir()
    for name, text in SOURCES.items():
        (tmp_path / "src" / name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOGNAME", "ada")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "shop.heldout.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    golden = load_golden(path, load_corpus("./src", tmp_path / "home"))
    first, second = golden.questions[0].q, golden.questions[1].q
    answers = {"secretsystem": {first: [PUT, TAKE]}, "other": {first: [TAKE, SEND], second: [PUT]}}
    for name, found in answers.items():
        quiet(Scripted(found), golden).save(tmp_path / f"{name}.json")
    return tmp_path


def command(*argv: str) -> list[str]:
    return ["judge", "shop.heldout.jsonl", "secretsystem.json", "other.json", "--corpus", "./src", *argv]


def run(capsys, monkeypatch, *argv: str, says: str = "") -> tuple[int, str, str]:
    monkeypatch.setattr("sys.stdin", io.StringIO(says))
    code = main(command(*argv))
    return code, *capsys.readouterr()


def judged(desk: Path, name: str = "shop.heldout.judgements.jsonl") -> list[tuple[str, str, str, str]]:
    rows = [json.loads(text) for text in (desk / name).read_text(encoding="utf-8").splitlines()]
    return [(row["id"], row["place"], row["verdict"], row["judge"]) for row in rows]


def shown(out: str) -> list[str]:
    """Places in the order in which they were shown."""
    return re.findall(r"^\w+\.py::\w+$", out, re.MULTILINE)


# --- the terminal


def test_a_judge_goes_through_everything(desk, capsys, monkeypatch) -> None:
    code, out, err = run(capsys, monkeypatch, says="r\nNOT\nunsure\n")
    assert (code, err) == (0, "")
    assert [(verdict, judge) for *_, verdict, judge in judged(desk)] == [
        ("right", "ada"),
        ("not", "ada"),
        ("unsure", "ada"),
    ]
    assert [place for _, place, *_ in judged(desk)] == shown(out)
    assert sorted(shown(out)) == ["basket.py::put", "basket.py::take", "hostile.py::send"]
    assert [f"── {n} of 3 ──" in out for n in (1, 2, 3)] == [True] * 3
    assert out.endswith("everything is judged\n")
    assert "where is q1?\n\nbasket.py::take\n\n5  def take(x):\n6      return x\n" in out


def test_nothing_tells_which_system_found_it_or_at_what_rank(desk, capsys, monkeypatch) -> None:
    _, out, _ = run(capsys, monkeypatch, says="")
    for word in ("secretsystem", "other", "rank", "score", "0.9", "1.0"):
        assert word not in out
    swapped = [*command()[:2], "other.json", "secretsystem.json", "--corpus", "./src"]
    full = run(capsys, monkeypatch, "--judgements", "a.jsonl", says="n\n" * 3)[1]
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n" * 3))
    assert main([*swapped, "--judgements", "b.jsonl"]) == 0
    assert capsys.readouterr().out == full


def test_a_corpus_drives_no_terminal(desk, capsys, monkeypatch) -> None:
    _, out, _ = run(capsys, monkeypatch, says="n\nn\nn\n")
    assert set(out) - set("\n") == {c for c in out if c.isprintable()}
    assert "\\x1b[31mred\\x07 \\x202egnp.exe" in out
    assert "<b>which</b> \\x1b[2Jplace?" in out
    assert "\n3      return body\n" in out  # a tab is four columns


@pytest.mark.parametrize("says", ["r\nq\n", "r\nQuit\n", "r\n"])
def test_stopping_keeps_what_was_judged_and_starting_again_goes_on(desk, capsys, monkeypatch, says: str) -> None:
    code, out, err = run(capsys, monkeypatch, says=says)
    assert (code, err) == (0, "")
    assert out.endswith("1 of 3 judged; the same command goes on from here\n")
    first = judged(desk)
    code, again, _ = run(capsys, monkeypatch, says="n\nn\n")
    assert "── 2 of 3 ──" in again
    assert "── 1 of 3 ──" not in again
    assert judged(desk)[:1] == first
    assert sorted(place for _, place, *_ in judged(desk)) == ["basket.py::put", "basket.py::take", "hostile.py::send"]
    assert "──" not in run(capsys, monkeypatch, says="r\n")[1]
    assert len(judged(desk)) == 3


def test_ctrl_c_stops_cleanly(desk, capsys, monkeypatch) -> None:
    class Interrupted(io.StringIO):
        def readline(self, *_) -> str:
            if text := super().readline():
                return text
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", Interrupted("r\n"))
    assert main(command()) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.endswith("1 of 3 judged; the same command goes on from here\n")
    assert len(judged(desk)) == 1


def test_a_torn_last_line_is_judged_again(desk, capsys, monkeypatch) -> None:
    run(capsys, monkeypatch, says="r\nn\n")
    path = desk / "shop.heldout.judgements.jsonl"
    whole = judged(desk)
    path.write_bytes(path.read_bytes()[:-9])
    _, out, err = run(capsys, monkeypatch, says="u\nq\n")
    assert err == ""
    assert shown(out)[0] == whole[1][1]
    assert judged(desk) == [whole[0], (*whole[1][:2], "unsure", "ada")]


def test_every_answer_is_on_the_disk_before_the_next_is_asked(desk) -> None:
    path = desk / "j.jsonl"
    seen: list[int] = []

    def read(prompt: str) -> str:
        seen.append(len(path.read_text().splitlines()) if path.exists() else 0)
        return "n"

    judge_in_terminal(JudgingSession([thing(i) for i in range(3)], Judgements(path), "me"), read=read, write=str)
    assert seen == [0, 1, 2]


def test_back_judges_the_one_before_anew(desk, capsys, monkeypatch) -> None:
    _, out, _ = run(capsys, monkeypatch, says="b\nr\nback\nn\nr\nq\n")
    order = shown(out)
    assert order[0] == order[1] == order[3]
    assert order[2] == order[4] != order[0]
    verdicts = Judgements("shop.heldout.judgements.jsonl").of("ada")
    assert {place: verdict for (_, place), verdict in verdicts.items()} == {order[0]: "not", order[2]: "right"}
    _, out, _ = run(capsys, monkeypatch, says="b\nu\nq\n")  # also into what was judged the day before
    assert shown(out)[1] == order[2]
    assert judged(desk)[-1][1:3] == (order[2], "unsure")


def test_an_answer_that_is_none_is_asked_again(desk, capsys, monkeypatch) -> None:
    _, out, _ = run(capsys, monkeypatch, says="\nyes\nrn\nrigh\n1\nr\nq\n")
    assert out.count("answer r, n, u, b or q") == 5
    assert len(judged(desk)) == 1
    assert len(shown(out)) == 2


# --- who judges what


def test_several_judges_and_a_second_judging(desk, capsys, monkeypatch) -> None:
    run(capsys, monkeypatch, "--as", "bo", says="r\nn\nu\n")
    _, out, _ = run(capsys, monkeypatch, "--as", "cy", "--again", "2", says="n\n")
    assert "── 1 of 2 ──" in out
    _, rest, _ = run(capsys, monkeypatch, "--as", "cy", "--again", "2", says="n\nn\n")
    assert "── 2 of 2 ──" in rest
    second = [row for row in judged(desk) if row[3] == "cy"]
    assert len(second) == len({row[:2] for row in second}) == 2
    assert "verdict" not in out
    code, _, err = run(capsys, monkeypatch, "--as", "cy", "--again", "4")
    assert code == 2
    assert "others than 'cy' have judged 3 of these items" in err


def test_the_second_sample_is_random_whatever_was_said(tmp_path: Path) -> None:
    items = [thing(i) for i in range(30)]
    samples = []
    for verdict in ("right", "not"):
        judgements = Judgements(tmp_path / f"{verdict}.jsonl")
        for one in items[:20]:
            judgements.add(one, verdict, "bo")
        samples.append(second_sample(items, judgements, "cy", 5, seed=1))
    assert samples[0] == samples[1]
    assert set(samples[0]) <= set(items[:20])
    assert len(samples[0]) == 5
    assert second_sample(items, judgements, "cy", 5, seed=2) != samples[0]
    judgements.add(samples[0][0], "right", "cy")
    assert second_sample(items, judgements, "cy", 5, seed=1) == samples[0]
    with pytest.raises(GoldenError, match="others than 'bo' have judged 1 of"):
        second_sample(items, judgements, "bo", 2)


def test_status(desk, capsys, monkeypatch) -> None:
    _, out, _ = run(capsys, monkeypatch, "--status")
    assert out.splitlines() == ["3 items on 2 questions", "nobody has judged yet"]
    run(capsys, monkeypatch, "--as", "bo", says="r\nn\n")
    run(capsys, monkeypatch, "--as", "cy", says="r\n")
    run(capsys, monkeypatch, "--as", "\x1bdi", says="u\n")
    code, out, _ = run(capsys, monkeypatch, "--status")
    assert code == 0
    lines = out.splitlines()
    assert lines[:4] == [
        "3 items on 2 questions",
        "  bo: 2 judged, 1 open",
        "  cy: 1 judged, 2 open",
        "  \\x1bdi: 1 judged, 2 open",
    ]
    # both items of the first question are judged: all that the first run shows, and all of the second run's there
    assert lines[5].startswith("  secretsystem.json: 1.00 [")
    assert lines[5].endswith("n=1")
    assert lines[8].startswith("  bo and cy: 1.00 [")
    assert lines[8].endswith("no kappa, both gave one verdict throughout, 0 unsure left out")
    assert lines[9] == "  bo and \\x1bdi: judged nothing in common"
    data = json.loads(run(capsys, monkeypatch, "--status", "--json")[1])
    assert data["judges"] == {
        "bo": {"judged": 2, "open": 1},
        "cy": {"judged": 1, "open": 2},
        "\x1bdi": {"judged": 1, "open": 2},
    }
    assert data["runs"]["other.json"]["value"] == 1
    assert (data["agreement"][0]["judges"], data["agreement"][0]["n"]) == (["bo", "cy"], 1)
    assert data["agreement"][1] == {"judges": ["bo", "\x1bdi"], "n": 0}


def test_apply_writes_what_is_right_and_counts_no_look(desk, capsys, monkeypatch) -> None:
    _, out, _ = run(capsys, monkeypatch, says="r\nn\nr\n")
    right = {(id, place) for id, place, verdict, _ in judged(desk) if verdict == "right"}
    before = (desk / "shop.heldout.jsonl").read_text().splitlines()
    monkeypatch.setattr("sys.stdin", io.StringIO())
    argv = ["judge", "shop.heldout.jsonl", "--apply", "--corpus", "./src"]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert out.startswith("shop.heldout.jsonl: 2 places on 2 questions are right as well, of 2 questions judged")
    lines = [json.loads(text) for text in (desk / "shop.heldout.jsonl").read_text().splitlines()]
    assert {(row["id"], place) for row in lines for place in row["also"]} == right
    assert [row | {"also": []} for row in lines] == [json.loads(text) for text in before]
    assert main([*argv, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"places": 2, "questions": 2, "judged_questions": 2}
    assert not list(desk.rglob("ledger*"))
    assert [path for path in desk.iterdir() if path.name.startswith(".")] == []
    # the runs were measured before; they can still be pooled, and what is applied stays judged
    assert "  ada: 3 judged, 0 open" in run(capsys, monkeypatch, "--status")[1]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (command("--sample", "9"), "has 2 questions of kind 'prose-en'"),
        (command("--kind", "poem"), "has 0 questions of kind 'poem'"),
        (command("--sample", "0"), "--sample is 0; use at least 1"),
        (command("--depth", "0"), "--depth is 0; use at least 1"),
        (command("--again", "0"), "--again is 0; use at least 1"),
        (command("--as", " "), "--as is empty"),
        (command("--json"), "--json has nothing to say while judging"),
        (command("--judgements", "no/j.jsonl"), "--judgements no/j.jsonl: there is no folder no"),
        (command("--judgements", "shop.heldout.jsonl"), "--judgements shop.heldout.jsonl is read by this command"),
        (["judge", "shop.heldout.jsonl", "--corpus", "./src"], "nothing to pool; name one or more files"),
        (["judge", "shop.heldout.jsonl", "no.json", "--corpus", "./src"], "no.json: cannot be read"),
    ],
)
def test_trouble_is_one_line(desk, capsys, argv, says) -> None:
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err


def test_the_depth_and_the_sample_are_those_asked_for(desk, capsys, monkeypatch) -> None:
    status = ("--status", "--json")
    assert json.loads(run(capsys, monkeypatch, *status, "--depth", "1")[1])["items"] == 2
    some = json.loads(run(capsys, monkeypatch, *status, "--sample", "1")[1])
    assert some["questions"] == 1


# --- the session


def thing(i: int) -> Item:
    return Item(f"q{i}", f"question {i}?", f"a.py::f{i}", 1, f"def f{i}(): pass")


def test_a_session_shows_progress_and_ends(tmp_path: Path) -> None:
    items = [thing(i) for i in range(3)]
    judgements = Judgements(tmp_path / "j.jsonl")
    judgements.add(items[1], "right", "me")
    judgements.add(items[0], "right", "you")
    session = JudgingSession(items, judgements, "me")
    assert (session.progress, session.current, session.done) == ((1, 3), items[0], False)
    session.answer("right")
    session.answer("not")
    assert (session.progress, session.current, session.done) == ((3, 3), None, True)
    with pytest.raises(GoldenError, match="'me' has judged everything"):
        session.answer("right")
    for _ in range(9):
        session.back()
    assert (session.progress, session.current) == ((0, 3), items[1])
    assert JudgingSession(items, judgements, "me").done  # going back takes nothing back


def test_a_verdict_that_cannot_be_kept_does_not_go_on(tmp_path: Path) -> None:
    session = JudgingSession([thing(0)], Judgements(tmp_path / "no/j.jsonl"), "me")
    with pytest.raises(GoldenError, match="cannot be written"):
        session.answer("right")
    with pytest.raises(GoldenError, match="verdict 'perhaps'"):
        session.answer("perhaps")
    assert session.progress == (0, 1)


def test_a_line_of_a_megabyte_is_cut(tmp_path: Path) -> None:
    long = Item("q", "q?", "data.json", 1, "x" * 1_000_000)
    said: list[str] = []
    judge_in_terminal(JudgingSession([long], Judgements(tmp_path / "j"), "me"), read=lambda _: "q", write=said.append)
    assert len(said[0]) < 600
    assert "…" in said[0]


# --- the widget


def parts(widget) -> dict:
    bar, row, said, question, place, source = widget.children
    buttons = {button.description: button for button in row.children}
    return {"bar": bar, "q": question, "place": place, "source": source, "said": said, **buttons}


def test_the_widget_judges_by_its_buttons(tmp_path: Path) -> None:
    judgements = Judgements(tmp_path / "j.jsonl")
    seen = parts(judge_widget(JudgingSession([thing(i) for i in range(3)], judgements, "me")))
    assert (seen["bar"].value, seen["bar"].max, seen["bar"].description) == (0, 3, "0 of 3")
    assert (seen["back"].disabled, seen["right"].disabled) == (True, False)
    assert "question 0?" in seen["q"].value
    assert seen["source"].value == "<pre>1  def f0(): pass</pre>"
    seen["right"].click()
    assert ("question 1?" in seen["q"].value, "a.py::f1" in seen["place"].value, seen["bar"].value) == (True, True, 1)
    assert [row["verdict"] for row in Judgements(judgements.path).rows] == ["right"]
    seen["back"].click()
    assert "question 0?" in seen["q"].value
    for name in ("unsure", "not", "right"):
        seen[name].click()
    assert list(Judgements(judgements.path).of("me").values()) == ["unsure", "not", "right"]
    assert (seen["q"].value, seen["source"].value, seen["bar"].value) == ("everything is judged", "", 3)
    assert [seen[name].disabled for name in ("right", "not", "unsure", "back")] == [True, True, True, False]


def test_the_widget_of_an_empty_pool(tmp_path: Path) -> None:
    seen = parts(judge_widget(JudgingSession([], Judgements(tmp_path / "j.jsonl"), "me")))
    assert seen["q"].value == "everything is judged"
    assert all(seen[name].disabled for name in ("right", "not", "unsure", "back"))


def test_the_widget_escapes_everything(desk) -> None:
    golden = load_golden("shop.heldout.jsonl", load_corpus("./src", desk / "home"))
    assert places_shown(Location("hostile.py", 1, 3), golden.corpus) == ("hostile.py::send",)
    item = Item("q", '<img src=x onerror="1">', "<i>.py::send", 1, golden.corpus.get("hostile.py").text)
    seen = parts(judge_widget(JudgingSession([item], Judgements(desk / "j.jsonl"), "me")))
    assert seen["q"].value == "<strong>&lt;img src=x onerror=&quot;1&quot;&gt;</strong>"
    assert seen["place"].value == "<code>&lt;i&gt;.py::send</code>"
    inside = seen["source"].value.removeprefix("<pre>").removesuffix("</pre>")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; \\x1b[31mred\\x07 \\x202egnp.exe" in inside
    assert not set(inside) & set("<>\x1b\x07\u202e")


def test_the_widget_says_what_went_wrong(tmp_path: Path) -> None:
    folder = tmp_path / "<b>"
    seen = parts(judge_widget(JudgingSession([thing(0)], Judgements(folder / "j.jsonl"), "me")))
    seen["right"].click()
    assert "cannot be written" in seen["said"].value
    assert "&lt;b&gt;" in seen["said"].value
    assert seen["bar"].value == 0
    folder.mkdir()
    seen["right"].click()
    assert (seen["said"].value, seen["bar"].value) == ("", 1)


def test_the_module_needs_no_widgets_until_one_is_shown() -> None:
    import subprocess
    import sys

    code = "import sys, rungs.measure.judging; sys.exit('ipywidgets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_reports_are_those_of_eval(desk) -> None:
    """The runs of this file are what `rungs eval --save` writes."""
    assert Report.load(desk / "other.json").cases[0]["hits"][0]["path"] == "basket.py"

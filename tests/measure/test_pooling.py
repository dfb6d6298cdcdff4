"""Places shown by hits, the pool over several runs, the file of judgements, and what is made of it."""

import json
import random
from pathlib import Path

import pytest

from rungs.corpus import Corpus, SourceFile
from rungs.errors import GoldenError, RunError
from rungs.measure import (
    Item,
    Judgements,
    Location,
    agreement,
    draw_questions,
    evaluate,
    judge,
    judged_share,
    load_golden,
    places_shown,
    pool,
    with_judgements,
)

from .toys import LONG, RETRY, SEND, Scripted, hit, line, negative, quiet

CODE = '''"""A module."""

import os
import sys

LIMIT = 3


def one():
    return 1


def two():
    return 2


def three():
    return 3


def outer(function):
    """Wrap."""
    first = 1
    second = 2

    def inner(*args):
        a = 1
        b = 2
        c = 3
        d = 4
        e = 5
        f = 6
        g = 7
        h = 8
        return function(*args)

    return inner


class Options:
    """What can be set."""

    colour = "red"
    size = 3

    def area(self):
        a = 1
        b = 2
        c = 3
        return a + b + c + self.size


def long(n):
''' + "".join(f"    n += {i}\n" for i in range(100))
MANUAL = "# Manual\n\nThe book.\n\n## Install\n\nRun it.\n\nTwice.\n\n### Windows\n\nNo.\n\n## Use\n\n" + "".join(
    f"Line {i}.\n" for i in range(60)
)
FILES = {"code.py": CODE, "manual.md": MANUAL, "notes.txt": "remember\nthe milk\n"}


@pytest.fixture(scope="module")
def shelf() -> Corpus:
    return Corpus("shelf", Path("/nowhere"), tuple(SourceFile.from_text(*f) for f in FILES.items()), {}, "50f7")


def at(text: str, source: str = CODE) -> int:
    """The line that starts with ``text``."""
    return next(n for n, got in enumerate(source.split("\n"), 1) if got.startswith(text))


def names(shelf: Corpus, first: int | None, last: int | None, path: str = "code.py") -> set[str]:
    return {place.partition("::")[2] or place for place in places_shown(Location(path, first, last), shelf)}


# --- places


def test_a_function_is_shown_by_half_of_its_lines_and_not_by_less(shelf: Corpus) -> None:
    start = at("    def area")
    assert names(shelf, start, start + 4) == {"Options.area"}
    assert names(shelf, start, start + 2) == {"Options.area"}
    assert names(shelf, at("class Options"), start + 1) == {"Options"}  # two of five, in a hit of something else


def test_imports_and_blank_lines_show_nothing(shelf: Corpus) -> None:
    assert names(shelf, 1, 4) == set()
    assert names(shelf, at("def one") + 2, at("def two") - 1) == set()
    assert names(shelf, 4, 6) == {"LIMIT"}


def test_a_window_over_three_functions_shows_the_three(shelf: Corpus) -> None:
    assert names(shelf, at("def one"), at("def three") + 1) == {"one", "two", "three"}


def test_a_part_of_a_long_function_stands_for_it(shelf: Corpus) -> None:
    start = at("def long")
    assert names(shelf, start + 40, start + 48) == {"long"}
    assert names(shelf, start - 2, start + 8) == {"long"}  # a window that begins in the blank lines before
    assert names(shelf, start - 8, start + 1) == {"Options.area"}  # most of it is elsewhere
    assert names(shelf, start - 8, start + 19) == {"long", "Options.area"}  # twenty lines are enough


def test_of_nested_functions_the_one_whose_own_lines_are_shown(shelf: Corpus) -> None:
    outer, inner = at("def outer"), at("    def inner")
    assert names(shelf, outer, inner + 11) == {"outer"}
    assert names(shelf, inner, inner + 9) == {"outer.inner"}
    assert names(shelf, outer, outer + 3) == {"outer"}  # four of its own seven or so, nothing of the inner one
    # half of all its lines, but nearly none of its own
    assert names(shelf, inner - 1, inner + 9) == {"outer.inner"}


def test_a_class_is_its_header_and_takes_in_its_attributes(shelf: Corpus) -> None:
    start = at("class Options")
    assert names(shelf, start, start + 4) == {"Options"}
    assert names(shelf, start, start + 10) == {"Options", "Options.area"}
    assert names(shelf, start + 2, start + 4) == {"Options"}  # half of it, though attributes are most of that
    assert names(shelf, start + 4, start + 4) == {"Options.size"}


def test_sections(shelf: Corpus) -> None:
    def shown(first: str, last: str) -> set[str]:
        return names(shelf, at(first, MANUAL), at(last, MANUAL), "manual.md")

    assert shown("## Install", "No.") == {"Manual > Install", "Manual > Install > Windows"}
    assert shown("### Windows", "No.") == {"Manual > Install > Windows"}
    assert shown("# Manual", "The book.") == set()  # any of its lines would do for that label, so little shows nothing
    assert shown("Line 5.", "Line 10.") == set()
    assert shown("Line 5.", "Line 24.") == {"Manual > Use"}
    assert shown("# Manual", "Line 59.") == {"Manual > Install", "Manual > Install > Windows", "Manual > Use"}


def test_a_file_that_names_nothing_is_one_place(shelf: Corpus) -> None:
    assert places_shown(Location("notes.txt", 1, 1), shelf) == ("notes.txt",)
    assert places_shown(Location("notes.txt"), shelf) == ()
    assert places_shown(Location("code.py"), shelf) == ()
    assert places_shown(Location("gone.py", 1, 1), shelf) == ()


def test_a_place_is_found_by_the_hit_that_shows_it(shelf: Corpus, tmp_path: Path) -> None:
    """The pool and the metric must not disagree: what a hit shows by its lines alone is found by it."""
    start = at("class Options")
    for first, last in [(start, start + 10), (at("def one"), at("def three") + 1), (at("def outer"), start - 3)]:
        for place in places_shown(Location("code.py", first, last), shelf):
            path = tmp_path / "q.jsonl"
            path.write_text(json.dumps(line("q", [place])))
            question = load_golden(path, shelf).questions[0]
            assert judge(question, [Location("code.py", first, last)]).first == 1, place


# --- the pool


ANSWERS = {
    "a": [[hit("r", 9, 12), hit("s", 18, 20)], [hit("t", 5, 8), hit("l", 23, 60)]],
    "b": [[hit("s", 18, 20)], [hit("g", 1, 3, path="docs/guide.md"), hit("u", 14, 15)]],
}


def runs(golden, answers=ANSWERS):
    """Two systems' reports."""
    asked = {question.id: question.q for question in golden.questions}
    return [quiet(Scripted({asked[id]: found[i] for id, found in answers.items()}), golden) for i in (0, 1)]


@pytest.fixture
def two(make_golden):
    return make_golden(line("a"), line("b"), negative("n"))


def test_the_pool_is_what_any_run_shows_but_for_the_labels(two) -> None:
    items = pool(runs(two), two, {"a", "b"})
    assert {(item.question, item.place) for item in items} == {
        ("a", SEND),
        ("a", "pkg/tasks.py::Task"),
        ("a", LONG),
        ("b", SEND),
        ("b", "docs/guide.md::Guide"),
        ("b", "pkg/tasks.py::Task.run"),
    }
    assert [item.question for item in items] == ["a"] * 3 + ["b"] * 3
    send = next(item for item in items if item.place == SEND)
    assert (send.q, send.start_line, send.numbers) == ("where is a?", 18, (18, 19, 20))
    assert send.text == "def send(message):\n    body = encode(message)\n    return body"


def test_the_pool_says_nothing_of_who_found_what(two) -> None:
    """The same items in the same order, whichever run they come from, at whatever rank, and in whatever order of runs."""
    expected = pool(runs(two), two, {"a", "b"})
    assert pool(runs(two)[::-1], two, {"b", "a"}) == expected
    shuffled = random.Random(1)
    for _ in range(5):
        dealt = {}
        for id, found in ANSWERS.items():
            hits = [one.node for each in found for one in each]
            shuffled.shuffle(hits)
            cut = shuffled.randint(1, len(hits) - 1)
            scored = [
                hit(n.node_id, n.metadata["start_line"], n.metadata["end_line"], path=n.metadata["path"]) for n in hits
            ]
            dealt[id] = [scored[:cut], scored[cut:]]
        assert pool(runs(two, dealt), two, {"a", "b"}) == expected
    order = [item.place for item in expected]
    assert order != sorted(order)


def test_the_pool_ends_at_its_depth(two) -> None:
    deep = {"a": [[hit("r", 9, 12), hit("s", 18, 20)], []], "b": [[hit("s", 18, 20)], [hit("u", 14, 15)]]}
    places = {(item.question, item.place) for item in pool(runs(two, deep), two, {"a", "b"}, depth=1)}
    assert places == {("b", SEND), ("b", "pkg/tasks.py::Task.run")}


def test_a_label_is_not_pooled_under_another_spelling_nor_inside_a_file_any_line_of_which_will_do(make_golden) -> None:
    golden = make_golden(line("a", ["docs/guide.md"]), line("b", ["docs/guide.md::Guide"]))
    found = {"a": [[hit("g", 1, 3, path="docs/guide.md")], []], "b": [[hit("g", 1, 3, path="docs/guide.md")], []]}
    found["a"][1] = found["b"][1] = [hit("s", 18, 20)]
    assert {item.place for item in pool(runs(golden, found), golden, {"a", "b"})} == {SEND}


def test_sections_labelled_by_the_end_of_their_path_are_labels(shelf: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    path.write_text(json.dumps(line("a", ["manual.md::Windows"])))
    golden = load_golden(path, shelf)
    start = at("### Windows", MANUAL)
    reports = [quiet(Scripted({"where is a?": [hit("w", start, start + 2, path="manual.md")]}), golden)]
    assert pool(reports, golden, {"a"}) == []
    judgements = Judgements(tmp_path / "j.jsonl")
    judgements.add(item("a", "manual.md::Manual > Install > Windows"), "right", "me")
    assert json.loads(with_judgements(golden, judgements)[0])["also"] == []


def test_long_places_are_cut_and_several_definitions_keep_their_numbers(tmp_path: Path) -> None:
    source = "class A:\n    @property\n    def x(self):\n        return 1\n\n    y = 2\n\n"
    source += "    @x.setter\n    def x(self, v):\n        pass\n"
    source += "def big():\n" + "    pass\n" * 99
    corpus = Corpus("c", Path("/nowhere"), (SourceFile.from_text("a.py", source),), {}, "1")
    path = tmp_path / "g.jsonl"
    path.write_text(json.dumps(line("a", ["a.py::A.y"])))
    golden = load_golden(path, corpus)
    found = [hit("x", 2, 4, path="a.py"), hit("b", 11, 110, path="a.py")]
    items = {i.place: i for i in pool([quiet(Scripted({"where is a?": found}), golden)], golden, {"a"})}
    x, big = items["a.py::A.x"], items["a.py::big"]
    assert x.text.split("\n") == [*source.split("\n")[1:4], "⋮", *source.split("\n")[7:10]]
    assert x.numbers == (2, 3, 4, None, 8, 9, 10)
    assert big.text.split("\n")[-1] == "… 20 more lines"
    assert big.numbers == (*range(11, 91), None)


def test_runs_that_cannot_be_pooled(two, make_golden) -> None:
    good, _ = runs(two)
    reworded = make_golden(line("a", q="how is it asked now?"), line("b"))
    with pytest.raises(GoldenError, match="does not answer question 'a' as it is asked there"):
        pool([good], reworded, {"a", "b"})
    with pytest.raises(GoldenError, match="question 'zz'"):
        pool([good], two, {"zz"})
    failed = quiet(Scripted({"where is a?": RuntimeError("down")}), two)
    with pytest.raises(RunError, match="FAILED on"):
        pool([failed], two, {"b"})
    moved = type(good).from_dict(good.to_dict() | {"corpus": {"name": "small", "sha256": "other"}})
    with pytest.raises(RunError, match="another version of corpus 'small'"):
        pool([moved], two, {"b"})


def test_questions_are_drawn_by_their_kind_and_seed_whatever_the_order_of_lines(make_golden) -> None:
    rows = [line(f"q{i}") for i in range(20)] + [line("d", ["docs/guide.md"], kind="doc"), negative("n")]
    golden = make_golden(*rows)
    drawn = draw_questions(golden, "prose-en", 5, seed=3)
    assert len(drawn) == 5
    assert drawn <= {f"q{i}" for i in range(20)}
    assert draw_questions(make_golden(*rows[::-1]), "prose-en", 5, seed=3) == drawn
    assert draw_questions(golden, "prose-en", 5, seed=4) != drawn
    with pytest.raises(GoldenError, match="has 1 questions of kind 'doc'"):
        draw_questions(golden, "doc", 2)
    with pytest.raises(GoldenError, match="has 0 questions of kind 'negative-far'"):
        draw_questions(golden, "negative-far", 1)


# --- judgements


def item(question: str, place: str, q: str | None = None) -> Item:
    return Item(question, q or f"where is {question}?", place, 1, "text")


def test_judgements_are_on_the_disk_at_once_and_the_last_of_a_judge_counts(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    judgements = Judgements(path)
    judgements.add(item("a", SEND, "nerede çağrılır?"), "right", "ayşe")
    assert json.loads(path.read_text("utf-8")) == {
        "id": "a",
        "q": "nerede çağrılır?",
        "place": SEND,
        "verdict": "right",
        "judge": "ayşe",
    }
    judgements.add(item("a", SEND, "nerede çağrılır?"), "not", "ayşe")
    judgements.add(item("a", SEND, "nerede çağrılır?"), "unsure", "bo")
    read = Judgements(path)
    assert read.rows == judgements.rows
    assert len(path.read_text("utf-8").splitlines()) == 3
    assert read.of("ayşe") == {("a", SEND): "not"}
    assert read.of() == {("a", SEND): "not"}  # the first judge's
    assert read.of("bo") == {("a", SEND): "unsure"}
    assert (read.of("nobody"), read.judges) == ({}, ("ayşe", "bo"))


@pytest.mark.parametrize("torn", [b'{"id": "b", "q": "wh', b'{"id": "b", "q": "\xc3', b"{"])
def test_a_torn_last_line_is_asked_again_and_replaced(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "j.jsonl"
    Judgements(path).add(item("a", SEND), "right", "me")
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    judgements = Judgements(path)
    assert judgements.open_items([item("a", SEND), item("b", SEND)], "me") == [item("b", SEND)]
    judgements.add(item("b", SEND), "not", "me")
    assert path.read_bytes().startswith(whole + b'{"id": "b"')
    assert [row["id"] for row in Judgements(path).rows] == ["a", "b"]


def test_a_last_line_without_its_end_is_kept_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    Judgements(path).add(item("a", SEND), "right", "me")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().rstrip(b"\n"))
    Judgements(path).add(item("b", SEND), "not", "me")
    assert [row["id"] for row in Judgements(path).rows] == ["a", "b"]


GOOD = {"id": "a", "q": "x", "place": "p", "verdict": "right", "judge": "me"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"id": "b", "q": "wh\n' + json.dumps(GOOD), r"j\.jsonl:1: not a judgement \(no JSON\)"),
        ("[1]\n", r":1: not a judgement \(no JSON object\)"),
        ('{"id": "b", "q": }', r":1: not a judgement \(no JSON\)"),
        (json.dumps(GOOD) + "\n" + json.dumps(GOOD | {"verdict": "yes"}), r":2: verdict 'yes' is unknown"),
        (json.dumps(GOOD | {"judge": " "}), r":1: 'judge' is missing or empty"),
        (json.dumps(GOOD | {"place": 3}), r":1: 'place' is missing or empty"),
    ],
)
def test_a_line_that_is_no_judgement_is_named(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text(text)
    with pytest.raises(GoldenError, match=says):
        Judgements(path)


@pytest.mark.parametrize("text", ["my notes, on one line", "\x00\x01", '{"kind": "something else'])
def test_a_file_that_never_held_judgements_is_not_cut_short(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(GoldenError, match=r"notes\.txt:1: not a judgement"):
        Judgements(path)
    assert path.read_text() == text


def test_trouble_with_the_file_or_the_verdict_writes_nothing(tmp_path: Path) -> None:
    judgements = Judgements(tmp_path / "no" / "j.jsonl")
    with pytest.raises(GoldenError, match=r"cannot be written \(No such file"):
        judgements.add(item("a", SEND), "right", "me")
    with pytest.raises(GoldenError, match=r"cannot be read \(Is a directory"):
        Judgements(tmp_path)
    judgements = Judgements(tmp_path / "j.jsonl")
    for verdict, name in [("maybe", "me"), ("right", " ")]:
        with pytest.raises(GoldenError, match="a judgement: "):
            judgements.add(item("a", SEND), verdict, name)
    assert (judgements.rows, judgements.path.exists()) == ([], False)


def test_a_question_that_was_reworded_is_passed_over(two, tmp_path: Path) -> None:
    judgements = Judgements(tmp_path / "j.jsonl")
    judgements.add(item("a", SEND, "as it was asked once"), "right", "me")
    judgements.add(item("b", SEND), "right", "me")
    assert judgements.of(golden=two) == {("b", SEND): "right"}
    assert judgements.questions(two) == {"b"}
    assert [json.loads(row)["also"] for row in with_judgements(two, judgements)] == [[], [SEND], []]
    assert judgements.open_items([item("a", SEND), item("b", SEND)], "me") == [item("a", SEND)]


# --- what is made of them


def test_only_what_every_judge_called_right_is_applied(two, tmp_path: Path) -> None:
    judgements = Judgements(tmp_path / "j.jsonl")
    for place, verdicts in {
        SEND: ("right", "right"),
        LONG: ("right", "not"),
        "pkg/tasks.py::Task.run": ("unsure", "right"),
        "pkg/tasks.py::Task": ("right", None),
        "pkg/sub/tasks.py::other": ("not", None),
    }.items():
        for judge_name, verdict in zip(("me", "you"), verdicts, strict=True):
            if verdict:
                judgements.add(item("a", place), verdict, judge_name)
    lines = with_judgements(two, judgements)
    before = two.path.read_text().splitlines()
    assert json.loads(lines[0]) == json.loads(before[0]) | {"also": ["pkg/tasks.py::Task", SEND]}
    assert lines[1:] == before[1:]
    judgements.add(item("a", SEND), "not", "you")
    assert json.loads(with_judgements(two, judgements)[0])["also"] == ["pkg/tasks.py::Task"]


def test_applying_takes_back_what_is_judged_otherwise_and_keeps_what_nobody_judged(make_golden, tmp_path: Path) -> None:
    golden = make_golden(line("a", also=[LONG, SEND]), line("b", also=[SEND]))
    judgements = Judgements(tmp_path / "j.jsonl")
    judgements.add(item("a", SEND), "not", "me")
    judgements.add(item("a", RETRY), "right", "me")  # a label already
    lines = with_judgements(golden, judgements)
    assert json.loads(lines[0])["also"] == [LONG]
    assert lines[1] == golden.path.read_text().splitlines()[1]


def test_what_is_not_in_the_corpus_is_not_applied(two, tmp_path: Path) -> None:
    judgements = Judgements(tmp_path / "j.jsonl")
    judgements.add(item("a", "pkg/tasks.py::gone"), "not", "me")
    assert with_judgements(two, judgements) == two.path.read_text().splitlines()
    judgements.add(item("b", "pkg/tasks.py::gone"), "right", "me")
    with pytest.raises(GoldenError, match=r"'pkg/tasks\.py::gone' names nothing in corpus 'small'"):
        with_judgements(two, judgements)


@pytest.mark.parametrize(
    ("name", "place", "says"),
    [
        ("a", "pkg/tasks.py::", r"'pkg/tasks\.py::' names nothing"),
        ("n", SEND, r":2: question 'n' expects nothing, but .* was judged right"),
    ],
)
def test_nothing_is_applied_that_could_not_be_loaded_again(make_golden, tmp_path: Path, name, place, says) -> None:
    golden = make_golden(line("a"), negative("n"))
    texts = {question.id: question.q for question in golden.questions}
    judgements = Judgements(tmp_path / "j.jsonl")
    judgements.add(item(name, place, texts[name]), "right", "me")
    with pytest.raises(GoldenError, match=says):
        with_judgements(golden, judgements)


def test_the_share_of_hits_that_are_judged(two, tmp_path: Path) -> None:
    first, second = runs(two)
    judgements = Judgements(tmp_path / "j.jsonl")
    assert judged_share(first, two, judgements)["n"] == 0
    judgements.add(item("a", LONG), "not", "me")
    # only question a was begun: of the first run RETRY is a label and SEND is open; of the second, LONG is judged
    assert judged_share(first, two, judgements)["value"] == 0.5
    assert judged_share(second, two, judgements)["value"] == 0.5
    assert judged_share(first, two, judgements, depth=1)["value"] == 1
    judgements.add(item("b", SEND), "unsure", "me")
    share = judged_share(first, two, judgements)
    assert (share["value"], share["n"]) == (0.75, 2)  # the mean over questions
    assert judged_share(second, two, judgements)["value"] == 0.25


def test_pooled_figures_count_what_was_applied(two, tmp_path: Path, corpus: Corpus) -> None:
    judgements = Judgements(tmp_path / "j.jsonl")
    judgements.add(item("b", SEND), "right", "me")
    path = tmp_path / "applied.jsonl"
    path.write_text("\n".join(with_judgements(two, judgements)))
    applied = load_golden(path, corpus)
    found = Scripted({"where is b?": [hit("s", 18, 20)]})
    figures = [
        evaluate(found, applied, pooled=p, latency=False, progress=False).metrics["hit@8"] for p in (False, True)
    ]
    assert [figure["value"] for figure in figures] == [0, 0.5]


def judged_by_two(path: Path, table: dict[tuple[str, str], int]) -> Judgements:
    judgements = Judgements(path)
    number = 0
    for verdicts, times in table.items():
        for _ in range(times):
            number += 1
            for name, verdict in zip(("me", "you"), verdicts, strict=True):
                judgements.add(item(f"q{number}", SEND), verdict, name)
    return judgements


def test_kappa_is_that_of_cohen(tmp_path: Path) -> None:
    # Right and right 20, right and not 5, not and right 10, not and not 15: observed 35/50; by chance
    # 25/50 * 30/50 + 25/50 * 20/50 = 0.5; kappa (0.7 - 0.5) / (1 - 0.5) = 0.4.
    table = {("right", "right"): 20, ("right", "not"): 5, ("not", "right"): 10, ("not", "not"): 15}
    judgements = judged_by_two(tmp_path / "j.jsonl", table | {("unsure", "right"): 2, ("not", "unsure"): 1})
    judgements.add(item("mine alone", SEND), "right", "me")
    found = agreement(judgements, "me", "you")
    assert (found.n, found.unsure, found.right) == (50, 3, (0.5, 0.6))
    assert found.agreed["value"] == pytest.approx(0.7)
    assert found.agreed["low"] < 0.7 < found.agreed["high"]
    assert found.kappa == pytest.approx(0.4)
    assert agreement(judgements, "you", "me").kappa == pytest.approx(0.4)


def test_kappa_where_chance_alone_would_agree(tmp_path: Path) -> None:
    found = agreement(judged_by_two(tmp_path / "same.jsonl", {("not", "not"): 5}), "me", "you")
    assert (found.kappa, found.agreed["value"]) == (None, 1)
    found = agreement(judged_by_two(tmp_path / "none.jsonl", {("right", "not"): 5}), "me", "you")
    assert (found.kappa, found.agreed["value"]) == (0, 0)
    # 1 + 1 of 4 agreed; by chance 1/2 * 1/2 + 1/2 * 1/2 = 0.5: kappa 0
    four = {("right", "right"): 1, ("right", "not"): 1, ("not", "right"): 1, ("not", "not"): 1}
    assert agreement(judged_by_two(tmp_path / "four.jsonl", four), "me", "you").kappa == 0


def test_judges_without_a_common_item(two, tmp_path: Path) -> None:
    judgements = judged_by_two(tmp_path / "j.jsonl", {("unsure", "right"): 1})
    with pytest.raises(GoldenError, match="'me' and 'you' judged nothing in common"):
        agreement(judgements, "me", "you")
    judgements.add(item("a", SEND, "as it was asked once"), "right", "me")
    judgements.add(item("a", SEND, "as it was asked once"), "right", "you")
    assert agreement(judgements, "me", "you").n == 1
    with pytest.raises(GoldenError, match="nothing in common"):
        agreement(judgements, "me", "you", two)

"""A person who answers by script, over files of drafts."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rungs.corpus import Corpus, load_corpus
from rungs.errors import GoldenError
from rungs.measure import load_golden, mining
from rungs.measure.mining import Draft, confirm, confirm_file, confirmed

from .mining_shop import CHECKOUT, EMPTY, TOTAL, shop_corpus


@pytest.fixture
def shop(tmp_path: Path) -> Corpus:
    return shop_corpus(tmp_path)


def draft(id: str, q: str, *expect: str, overlap: float = 0.0) -> Draft:
    return Draft(id, q, expect, "prose-en", f"commit {id}", f"changed by commit {id}: {q}", overlap)


DRAFTS = [
    draft("one", "who counts the pieces", TOTAL),
    draft("two", "who pays", CHECKOUT),
    draft("three", "who tidies up"),
]


def script(*answers: str) -> Callable[[str], str]:
    """Somebody who answers so, and then closes the terminal."""
    left = iter(answers)

    def ask(prompt: str) -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    return ask


class Session:
    """One sitting over a file of decisions."""

    def __init__(self, corpus: Corpus, answers: Path) -> None:
        self.corpus, self.answers, self.said = corpus, answers, []

    def __call__(self, *answers: str, drafts: Sequence[Draft] = DRAFTS) -> list[dict]:
        self.said.clear()
        return confirm(drafts, self.answers, corpus=self.corpus, ask=script(*answers), say=self.said.append)

    def has(self, text: str) -> bool:
        return any(text in line for line in self.said)

    def rows(self) -> list[dict]:
        return [json.loads(line) for line in self.answers.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def sitting(shop: Corpus, tmp_path: Path) -> Session:
    return Session(shop, tmp_path / "mine.decisions.jsonl")


def loaded(rows: list[dict], corpus: Corpus, tmp_path: Path):
    path = tmp_path / "confirmed.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return load_golden(path, corpus)


def test_what_is_kept_loads_as_golden_questions(sitting, shop, tmp_path):
    decisions = sitting("k", "it does", "k", "it adds them up", "l", EMPTY, "k", "it clears the list")
    golden = loaded(confirmed(decisions), shop, tmp_path)
    assert [(q.id, q.q, q.mode, q.kind) for q in golden.questions] == [(d.id, d.q, "any", "prose-en") for d in DRAFTS]
    assert [label.text for q in golden.questions for label in q.expect] == [TOTAL, CHECKOUT, EMPTY]
    assert [q.why for q in golden.questions] == ["it does", "it adds them up", "it clears the list"]


def test_a_draft_is_shown_with_the_lines_of_its_label(sitting):
    close = draft("one", "who sums the total", TOTAL, overlap=0.6)
    sitting(drafts=[close])
    assert sitting.said[:4] == ["--- 1 of 1", f"question: {close.q}", "from:     commit one", f"why:      {close.why}"]
    assert sitting.said[4] == "kind:     prose-en"
    assert sitting.has("60% of the question's words are the label's own")
    assert f"label:    {TOTAL}" in sitting.said
    assert "       14      def total(self):" in sitting.said
    assert "       15          return sum(item.price for item in self.items)" in sitting.said
    sitting(drafts=[draft("one", "who pays", "shop/basket.py")])
    assert sitting.said[-1] == "       23      basket.items.clear()"


def test_forty_lines_of_a_label_are_shown(tmp_path):
    folder = tmp_path / "long"
    folder.mkdir()
    (folder / "long.py").write_text("def long():\n" + "".join(f"    step({n})\n" for n in range(2, 51)))
    said: list[str] = []
    long = draft("one", "who takes long", "long.py::long")
    corpus = load_corpus(folder, tmp_path / "home")
    confirm([long], tmp_path / "d.jsonl", corpus=corpus, ask=script(), say=said.append)
    assert said[-2:] == ["       40      step(40)", "           (10 more lines, to long.py:50)"]


def test_questions_and_labels_can_be_edited_before_they_are_kept(sitting):
    sitting("e", "who adds up", "e", "", "l", f" {TOTAL} ; {CHECKOUT};{TOTAL}", "keep", "", "they do")
    assert sitting.rows() == [
        {"id": "one", "decision": "keep", "q": "who adds up", "expect": [TOTAL, CHECKOUT], "mode": "any"}
        | {"kind": "prose-en", "source": "commit one", "why": "they do"}
    ]
    assert sitting.has("write what in the source makes them right")


def test_overlap_follows_the_edited_question(sitting):
    sitting("e", "total price", "e", "what does everything cost together")
    assert [line for line in sitting.said if "of the question's words" in line] == [
        "wording:  50% of the question's words are the label's own; ask it in other words"
    ]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("shop/basket.py::Basket.totl", "did you mean 'Basket.total'"),
        ("shop/nothing.py", "the corpus has no file 'shop/nothing.py'"),
        ("shop/basket.py::", "is incomplete"),
        ("::total", "is incomplete"),
    ],
)
def test_a_label_that_does_not_resolve_is_asked_for_again(sitting, typed, said):
    sitting("l", f"{CHECKOUT}; {typed}", EMPTY, "k", "it does")
    assert sitting.has(said)
    assert sitting.rows()[0]["expect"] == [EMPTY]


def test_nothing_is_kept_that_a_golden_file_refuses(sitting, shop, tmp_path):
    stale = draft("old", "who went away", "shop/basket.py::gone")
    twice = draft("again", "WHO counts the  pieces", TOTAL)
    decisions = sitting(
        "k",
        "it does",
        "k",
        "d",
        "k",
        "e",
        "who else counts",
        "k",
        "it does",
        "k",
        "d",
        drafts=[DRAFTS[0], DRAFTS[2], stale, twice],
    )
    assert sitting.has("needs a label")
    assert sitting.has("defines no 'gone'")
    assert sitting.has("one asks this already")
    assert [row["id"] for row in confirmed(decisions)] == ["one", "again"]
    assert len(loaded(confirmed(decisions), shop, tmp_path)) == 2


def test_a_session_goes_on_where_the_last_one_stopped(sitting):
    sitting("k", "it does", "q")
    assert [row["id"] for row in sitting.rows()] == ["one"]
    sitting("what?", "D")
    assert sitting.said[0] == "--- 2 of 3"
    assert sitting.has("answer k, e, l, d, b or q")
    assert not sitting.has(DRAFTS[0].q)
    assert [(row["id"], row["decision"]) for row in sitting.rows()] == [("one", "keep"), ("two", "drop")]
    sitting("d")
    assert sitting("k") == sitting.rows()
    assert sitting.said == []
    assert len(sitting.rows()) == 3


@pytest.mark.parametrize("answers", [("e",), ("l",), ("k",), ("l", "nonsense")])
def test_closing_the_terminal_in_the_middle_decides_nothing(sitting, answers):
    sitting("d", *answers)
    assert [row["id"] for row in sitting.rows()] == ["one"]


@pytest.mark.parametrize("answers", [("q",), ("e", "q"), ("l", " Q "), ("k", "q"), ("l", EMPTY, "k", "q"), ("quit",)])
def test_q_alone_quits_at_every_prompt(sitting, answers):
    sitting("d", *answers, "k", "because")
    assert [row["id"] for row in sitting.rows()] == ["one"]


@pytest.mark.parametrize("step", [("e", "b"), ("l", "b"), ("k", "b"), ("l", f"{EMPTY}; nonsense", "b")])
def test_b_goes_back_from_a_question_to_its_draft(sitting, step):
    sitting(*step, "k", "it adds them up")
    (row,) = sitting.rows()
    assert (row["id"], row["q"], row["expect"], row["why"]) == ("one", DRAFTS[0].q, [TOTAL], "it adds them up")


def test_b_decides_the_draft_before_again(sitting, shop, tmp_path):
    decisions = sitting("k", "it adds", "d", "b", "b", "e", "who sums them", "k", "", "k", "it pays", "q")
    assert [(row["id"], row["decision"]) for row in sitting.rows()] == [
        ("one", "keep"),
        ("two", "drop"),
        ("one", "keep"),
        ("two", "keep"),
    ]
    kept = loaded(confirmed(decisions), shop, tmp_path).questions
    assert [(q.id, q.q, q.why) for q in kept] == [("one", "who sums them", "it adds"), ("two", "who pays", "it pays")]
    assert sitting.has("--- 3 of 3")


def test_b_goes_back_into_an_earlier_session_and_shows_what_was_decided(sitting):
    sitting("l", f"{CHECKOUT} + {EMPTY}", "k issue", "both do", "q")
    sitting("b", "q")
    assert sitting.said[0] == "--- 2 of 3"
    again = sitting.said[sitting.said.index("--- 1 of 3") :]
    for line in ("why:      both do", "kind:     issue", f"label:    {CHECKOUT}", f"label:    {EMPTY}"):
        assert line in again
    assert "mode:     all, each of the 2 labels is needed" in again
    sitting("b", "k", "", "q")
    assert sitting.rows()[0] == sitting.rows()[1]


def test_b_before_the_first_draft_says_so(sitting):
    sitting("b", "d")
    assert sitting.has("no draft was decided before this one")
    assert [row["id"] for row in sitting.rows()] == ["one"]


def test_drafts_with_a_label_come_first(sitting):
    sitting("d", "d", "d", drafts=[DRAFTS[2], *DRAFTS[:2]])
    assert [row["id"] for row in sitting.rows()] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("typed", "expect", "mode"),
    [
        (f"{CHECKOUT} + {EMPTY}", [CHECKOUT, EMPTY], "all"),
        (f"{CHECKOUT}+{EMPTY}", [CHECKOUT, EMPTY], "all"),
        (f"{CHECKOUT}; {EMPTY}", [CHECKOUT, EMPTY], "any"),
        (f"{CHECKOUT} + {CHECKOUT}", [CHECKOUT], "any"),
        ("docs/+page.md", ["docs/+page.md"], "any"),
        (f"docs/+page.md + {EMPTY}", ["docs/+page.md", EMPTY], "all"),
    ],
)
def test_labels_joined_by_plus_are_all_needed(sitting, shop, tmp_path, typed, expect, mode):
    (tmp_path / "shop/docs/+page.md").write_text("# Page\n")
    sitting.corpus = load_corpus(tmp_path / "shop", tmp_path / "home")
    decisions = sitting("l", typed, "k", "it does", "q")
    (question,) = loaded(confirmed(decisions), sitting.corpus, tmp_path).questions
    assert ([label.text for label in question.expect], question.mode) == (expect, mode)


def test_a_mistyped_label_with_a_plus_is_named_whole(sitting):
    sitting("l", "docs/+pge.md", "l", f"{CHECKOUT}+shop/no.py")
    assert sitting.has("the corpus has no file 'docs/+pge.md'")
    sitting("l", f"{CHECKOUT}+shop/no.py")
    assert sitting.has("the corpus has no file 'shop/no.py'")


def test_the_kind_may_be_set_when_a_draft_is_kept(sitting, shop, tmp_path):
    decisions = sitting("k nonsense", "k negative-far", "d issue", "K  Issue", "", "it does", "k", "it does", "q")
    assert sitting.has("of no kind 'nonsense'; use one of prose-en, ")
    assert sitting.has("of no kind 'negative-far'")
    assert sitting.has("answer k, e, l, d, b or q")
    assert [q.kind for q in loaded(confirmed(decisions), shop, tmp_path).questions] == ["issue", "prose-en"]


def test_decisions_without_a_mode_are_still_read(sitting, shop, tmp_path):
    sitting("k", "it does", "q")
    (row,) = sitting.rows()
    del row["mode"]
    sitting.answers.write_text(json.dumps(row) + "\n")
    assert [q.mode for q in loaded(confirmed(sitting("q")), shop, tmp_path).questions] == ["any"]


def test_a_decision_is_on_disk_before_the_next_draft_is_shown(sitting):
    seen = []

    def ask(prompt: str) -> str:
        seen.append(len(sitting.rows()) if sitting.answers.exists() else 0)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return "d"

    with pytest.raises(KeyboardInterrupt):
        confirm(DRAFTS, sitting.answers, corpus=sitting.corpus, ask=ask, say=lambda line: None)
    assert seen == [0, 1, 2]
    assert len(sitting.rows()) == 2


def test_a_line_that_was_cut_off_is_decided_again(sitting):
    sitting("k", "it does", "d")
    text = sitting.answers.read_text()
    sitting.answers.write_text(text[:-20])
    sitting("k", "it does", "d")
    assert [(row["id"], row["decision"]) for row in sitting.rows()] == [
        ("one", "keep"),
        ("two", "keep"),
        ("three", "drop"),
    ]


BAD_MODE = '{"id": "1", "decision": "keep", "q": "x", "expect": [], "kind": "doc", "why": "x", "mode": "some"}'


@pytest.mark.parametrize("line", ['{"id": "one"', '{"id": "one", "decision": "maybe"}', "[]", BAD_MODE])
def test_a_damaged_file_of_decisions_is_one_line(sitting, line):
    sitting("d")
    sitting.answers.write_text(line + "\n" + sitting.answers.read_text())
    before = sitting.answers.read_bytes()
    with pytest.raises(GoldenError, match=r"mine\.decisions\.jsonl:1: "):
        sitting("d")
    assert sitting.answers.read_bytes() == before


def test_nothing_drives_the_terminal(tmp_path):
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "odd.py").write_text('def odd():\n\treturn "\x1b[31mred\x07\u202e"\n')
    corpus = load_corpus(folder, tmp_path / "home")
    said: list[str] = []
    evil = draft("one", "who \x1b]0;paints\x07 it", "odd.py::odd", "odd.py::no\x1b[2J")
    confirm(
        [evil], tmp_path / "d.jsonl", corpus=corpus, ask=script("k", "l", "\x1b[2J.py", "odd.py::odd"), say=said.append
    )
    assert any("\\x1b[31mred\\x07\\x202e" in line for line in said)
    assert any("paints" in line for line in said)
    assert len(said) > 10
    assert all(line.isprintable() for line in said)


# --- files and the command


@pytest.fixture
def drafts_file(tmp_path: Path) -> Path:
    path = tmp_path / "drafts.jsonl"
    mining.write_drafts(DRAFTS, path)
    return path


def test_drafts_come_back_as_they_were_written(drafts_file):
    assert mining.read_drafts(drafts_file) == DRAFTS


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda lines: ["{"], ":1: not valid JSON"),
        (lambda lines: [*lines, lines[0]], ":4: id 'one' stands twice"),
        (lambda lines: [lines[0], lines[1].replace('"q"', '"question"')], ":2: not a draft"),
        (lambda lines: [lines[0].replace("prose-en", "negative-far")], ":1: not a draft"),
        (lambda lines: [lines[0].replace('"expect": [', '"expect": [3, ')], ":1: not a draft"),
        (lambda lines: [], "holds no draft"),
    ],
)
def test_a_damaged_file_of_drafts_is_one_line(drafts_file, change, expected):
    drafts_file.write_text("".join(line + "\n" for line in change(drafts_file.read_text().splitlines())))
    with pytest.raises(GoldenError, match=expected):
        mining.read_drafts(drafts_file)


def test_a_golden_file_grows_with_each_session(drafts_file, tmp_path, shop):
    out = tmp_path / "mine.jsonl"
    quiet = {"corpus": shop, "say": lambda line: None}
    assert confirm_file(drafts_file, out, ask=script("d"), **quiet) == "0 kept, 1 dropped, 2 to go"
    assert not out.exists()
    said = confirm_file(drafts_file, out, ask=script("k", "it does"), **quiet)
    assert said == f"1 kept, 1 dropped, 1 to go; golden file: {out}"
    assert [q.id for q in load_golden(out, shop).questions] == ["two"]

    confirm_file(drafts_file, out, ask=script("l", EMPTY, "k", "it clears"), **quiet)
    assert [q.id for q in load_golden(out, shop).questions] == ["two", "three"]


def test_a_golden_file_follows_what_is_decided_again(drafts_file, tmp_path, shop):
    out = tmp_path / "mine.jsonl"
    quiet = {"corpus": shop, "say": lambda line: None}
    confirm_file(drafts_file, out, ask=script("k", "it does"), **quiet)
    said = confirm_file(drafts_file, out, ask=script("b", "d"), **quiet)
    assert said == "0 kept, 1 dropped, 2 to go"
    assert out.read_text() == ""
    confirm_file(drafts_file, out, ask=script("b", "k", "it does"), **quiet)
    assert [q.id for q in load_golden(out, shop).questions] == ["one"]


def test_what_was_kept_is_written_also_when_a_session_is_broken_off(drafts_file, tmp_path, shop):
    answers = iter(["k", "it does"])

    def ask(prompt: str) -> str:
        if (answer := next(answers, None)) is None:
            raise KeyboardInterrupt
        return answer

    with pytest.raises(KeyboardInterrupt):
        confirm_file(drafts_file, tmp_path / "mine.jsonl", corpus=shop, ask=ask, say=lambda line: None)
    assert [q.id for q in load_golden(tmp_path / "mine.jsonl", shop).questions] == ["one"]


@pytest.fixture
def confirming(drafts_file, tmp_path, shop) -> Callable[..., str]:
    def session(*answers: str) -> str:
        out = tmp_path / "mine.jsonl"
        return confirm_file(drafts_file, out, corpus=shop, ask=script(*answers), say=lambda line: None)

    return session


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def own(id: str, q: str) -> str:
    """A line somebody wrote by hand, in a layout of his own."""
    return (
        json.dumps({"kind": "doc", "id": id, "q": q, "mode": "any", "expect": ["docs/paying.md"]}, indent=None) + "  "
    )


def test_lines_of_ones_own_and_what_was_edited_stay_as_they_are(confirming, tmp_path, shop):
    out = tmp_path / "mine.jsonl"
    confirming("k", "it adds", "k", "it pays")
    first, second = out.read_text().splitlines()
    edited = json.dumps(json.loads(first) | {"also": [CHECKOUT], "q": "who counts them all"})
    text = f"{edited}\n\n{own('mine', 'which cards?')}\n{second}\n{own('too', 'who else?')}"  # and no end of line
    out.write_text(text)
    assert confirming("q").startswith("2 kept, 0 dropped, 1 to go")
    assert out.read_text() == text
    confirming("l", EMPTY, "k", "it clears")
    assert out.read_text().startswith(text + "\n")
    assert [q.id for q in load_golden(out, shop).questions] == ["one", "mine", "two", "too", "three"]


def test_a_draft_is_kept_under_an_id_that_nobody_has(confirming, tmp_path, shop):
    out = tmp_path / "mine.jsonl"
    out.write_text(own("one", "which cards?") + "\n" + own("one-2", "what else?") + "\n")
    confirming("k", "it adds", "q")
    assert [q.id for q in load_golden(out, shop).questions] == ["one", "one-2", "one-3"]
    assert confirming("b", "e", "who sums", "k", "", "q").startswith("1 kept, 0 dropped, 2 to go")
    assert [(row["id"], row["q"]) for row in rows_of(out)][2:] == [("one-3", "who sums")]
    confirming("b", "d")
    assert [row["id"] for row in rows_of(out)] == ["one", "one-2"]


def test_a_line_that_is_written_while_somebody_confirms_is_not_lost(drafts_file, tmp_path, shop):
    out = tmp_path / "mine.jsonl"

    def say(line: str) -> None:
        if line == "--- 2 of 3":  # draft one is decided
            out.write_text(own("one", "which cards?") + "\n")

    confirm_file(drafts_file, out, corpus=shop, ask=script("k", "it adds", "q"), say=say)
    assert [(row["id"], row["q"]) for row in rows_of(out)] == [("one", "which cards?"), ("one-2", DRAFTS[0].q)]
    confirm_file(drafts_file, out, corpus=shop, ask=script("q"), say=say)
    assert len(rows_of(out)) == 2


def test_what_is_decided_again_changes_no_more_of_an_edited_line(confirming, tmp_path, shop):
    out = tmp_path / "mine.jsonl"
    confirming("k", "it adds")
    (row,) = rows_of(out)
    out.write_text(json.dumps(row | {"also": [CHECKOUT, EMPTY], "q": "who counts them all"}) + "\n")
    confirming("b", "l", f"{TOTAL}; {EMPTY}", "k issue", "both do", "q")
    changed = {"expect": [TOTAL, EMPTY], "kind": "issue", "why": "both do"}
    assert rows_of(out) == [row | changed | {"also": [CHECKOUT], "q": "who counts them all"}]
    said = confirming("b", "d", "q")
    assert f"dropped, but edited since and so still in it: one; delete from {out}" in said
    assert len(rows_of(out)) == 1
    assert "still" not in confirming("q")


def test_nothing_is_kept_that_a_line_of_ones_own_asks(drafts_file, tmp_path, shop):
    out, said = tmp_path / "mine.jsonl", []
    out.write_text(own("mine", DRAFTS[0].q.upper()) + "\n")
    confirm_file(drafts_file, out, corpus=shop, ask=script("k", "q"), say=said.append)
    assert any("mine asks this already" in line for line in said)


def test_what_was_kept_is_added_after_a_crash(confirming, tmp_path):
    out = tmp_path / "mine.jsonl"
    confirming("k", "it adds")
    before = out.read_text()
    confirming("b", "e", "who sums", "k", "", "k", "it pays")
    out.write_text(before)  # as if the end of that session had never come
    confirming("q")
    assert [(row["id"], row["q"]) for row in rows_of(out)] == [("one", "who sums"), ("two", DRAFTS[1].q)]


@pytest.mark.parametrize("line", ["{", "[]", '{"id": "one", "q": "who"}'])
def test_what_is_no_golden_file_is_left_alone(confirming, tmp_path, line):
    out = tmp_path / "mine.jsonl"
    out.write_text(own("mine", "which cards?") + "\n" + line + "\n")
    before = out.read_bytes()
    with pytest.raises(GoldenError, match=r"mine\.jsonl:2: not "):
        confirming("k", "it adds")
    assert out.read_bytes() == before
    assert not (tmp_path / "mine.decisions.jsonl").exists()

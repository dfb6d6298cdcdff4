"""A second reader's answers, held against the labels."""

import json

import pytest

from rungs.errors import GoldenError
from rungs.measure.second_reader import draw_sheet, read_answers

from .toys import GUIDE, RETRY, line, negative

OTHER = "pkg/sub/core.py"


@pytest.fixture
def golden(make_golden):
    return make_golden(
        line("a", [RETRY], q="where is it tried again?"),
        line("b", [RETRY, GUIDE], q="both of them?", mode="all", kind="multi-hop"),
        line("c", [GUIDE], q="what says the guide?", kind="doc"),
        negative("n", q="where do bees live?"),
    )


def answers(tmp_path, *rows):
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_agreement_is_about_places(golden, tmp_path):
    path = RETRY.partition("::")[0]
    found = read_answers(
        answers(
            tmp_path,
            {"id": "a", "places": [GUIDE, RETRY]},  # the second of his places
            {"id": "b", "places": [RETRY]},  # one of two that are needed
            {"id": "c", "places": [path]},  # another file
            {"id": "n", "places": []},
        ),
        golden,
    )
    assert found.disagreed == ("b", "c")
    assert (found.agreed["value"], found.agreed["n"]) == (0.5, 4)
    assert (found.first["value"], found.first["n"]) == (pytest.approx(1 / 3), 3)
    assert found.by_kind["multi-hop"]["value"] == 0
    assert "agreed on 2 of 4" in found.summary()


def test_a_place_named_where_there_is_none_is_no_agreement(golden, tmp_path):
    assert read_answers(answers(tmp_path, {"id": "n", "places": [RETRY]}), golden).disagreed == ("n",)
    assert read_answers(answers(tmp_path, {"id": "a", "places": []}), golden).disagreed == ("a",)


def test_what_was_not_answered_is_named(golden, tmp_path):
    sheet = draw_sheet(golden, 1.0)
    first, second, *rest = sheet
    filled = [row | {"places": []} for row in rest]
    for left in ([first, second], [first], []):  # as they were drawn, or taken out
        found = read_answers(answers(tmp_path, *left, *filled), golden, sheet)
        assert set(found.unanswered) == {first["id"], second["id"]}
        assert found.agreed["n"] == 2
        assert found.summary().startswith("2 of 4 answered; not answered: ")
    assert read_answers(answers(tmp_path, first, *filled), golden).unanswered == (first["id"],)
    assert read_answers(answers(tmp_path, *filled), golden, [first, rest[0]]).unanswered == ()  # another sheet
    assert "answered" not in read_answers(answers(tmp_path, *filled), golden).summary()


def test_a_whole_file_is_no_way_to_name_a_part_of_it(golden, make_golden, tmp_path):
    path = RETRY.partition("::")[0]
    assert read_answers(answers(tmp_path, {"id": "a", "places": [path]}), golden).disagreed == ("a",)
    whole = make_golden(line("a", [path]))
    for place in (path, RETRY):
        assert read_answers(answers(tmp_path, {"id": "a", "places": [place]}), whole).disagreed == ()


def test_a_reading_keeps_the_labels_it_was_made_against(golden, tmp_path):
    row = {"id": "gone", "places": [GUIDE], "expect": [GUIDE], "mode": "any", "kind": "doc"}
    assert read_answers(answers(tmp_path, row), golden).agreed["value"] == 1
    mended = {"id": "a", "places": [GUIDE], "expect": [RETRY, GUIDE], "mode": "all", "kind": "prose-en"}
    assert read_answers(answers(tmp_path, mended), golden).disagreed == ("a",)
    assert read_answers(answers(tmp_path, row), golden).gone == ("gone",)
    assert "counted by their own labels: gone" in read_answers(answers(tmp_path, row), golden).summary()


def test_absent_ones_alone_have_no_first_place(golden, tmp_path):
    assert "a label on 0 of 0" in read_answers(answers(tmp_path, {"id": "n", "places": []}), golden).summary()


def test_a_question_is_answered_once(golden, tmp_path):
    blind = {row["q"]: row["id"] for row in draw_sheet(golden, 1.0)}["where is it tried again?"]
    for again in ("a", blind):
        rows = [{"id": "a", "places": [RETRY]}, {"id": again, "places": [RETRY]}]
        with pytest.raises(GoldenError, match=":2: question 'a' was answered on line 1 already"):
            read_answers(answers(tmp_path, *rows), golden)


def test_the_sheet_says_nothing_but_the_question(golden, tmp_path):
    sheet = draw_sheet(golden, 1.0)
    assert {row["q"] for row in sheet} == {question.q for question in golden.questions}
    assert all(set(row) == {"id", "q"} for row in sheet)
    assert not {row["id"] for row in sheet} & {question.id for question in golden.questions}
    told = {question.q: [label.text for label in question.expect] for question in golden.questions}
    filled = [{"id": row["id"], "places": told[row["q"]]} for row in sheet]
    assert read_answers(answers(tmp_path, *filled), golden).agreed["value"] == 1


def test_every_kind_is_drawn_from_and_the_draw_can_be_repeated(golden):
    drawn = draw_sheet(golden, 0.25, seed=3)
    assert len(drawn) == 4  # a quarter of each kind, and at least one
    assert drawn == draw_sheet(golden, 0.25, seed=3)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"id": "zz", "places": []}, "'zz' is no question of"),
        ({"id": "a"}, "not an answer"),
        ({"id": "a", "places": "here"}, "not an answer"),
        ({"id": ["a"], "q": "where?"}, "not an answer"),
        ({"id": "a", "places": ["nowhere.py::f"]}, "names no file"),
        ({"id": "a", "places": [None]}, "not an answer"),
        ({"id": "zz", "places": [], "expect": []}, "'zz' is no question of"),
        ({"id": "a", "places": [], "expect": 5}, '"expect" is no list of labels'),
        ({"id": "a", "places": [], "expect": [None]}, '"expect" is no list of labels'),
        ({"id": "a", "places": [], "mode": "most"}, "unknown mode 'most'; use one of any, all"),
        ({"id": "a", "places": [], "kind": [1]}, "unknown kind .1.; use one of"),
    ],
)
def test_bad_answers_are_one_line(golden, tmp_path, row, says):
    with pytest.raises(GoldenError, match=says) as caught:
        read_answers(answers(tmp_path, row), golden)
    assert ":1: " in str(caught.value)


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan")])
def test_a_share_is_above_zero_and_up_to_one(golden, share):
    with pytest.raises(GoldenError, match="give one above 0"):
        draw_sheet(golden, share)


def test_a_file_without_answers_or_without_json(golden, tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    with pytest.raises(GoldenError, match="holds no answer"):
        read_answers(empty, golden)
    empty.write_text("{\n")
    with pytest.raises(GoldenError, match="not valid JSON"):
        read_answers(empty, golden)
    with pytest.raises(GoldenError, match="cannot be read"):
        read_answers(tmp_path / "none.jsonl", golden)

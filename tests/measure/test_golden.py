"""Every way a golden line can be wrong is named with its file, its line and what to do."""

import hashlib
import json

import pytest

from rungs.errors import GoldenError
from rungs.measure import find_golden, load_golden

from .toys import GUIDE, LONG, RETRY, SEND, line, negative


def test_labels_are_resolved_to_the_spans_of_the_syntax_tree(make_golden):
    golden = make_golden(line("a", (RETRY, GUIDE), also=[SEND]), negative("n"))
    first, second = golden.questions
    assert [(label.path, label.symbol, label.spans) for label in first.expect] == [
        ("pkg/tasks.py", "Task.retry", ((9, 12),)),
        (GUIDE, "", ()),
    ]
    assert first.also[0].spans == ((18, 20),)
    assert (first.negative, second.negative) == (False, True)
    assert golden.kinds == ("prose-en", "negative-far")


def test_the_golden_file_of_a_corpus_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_golden("celery").parts[-2:] == ("golden", "celery.jsonl")  # the one that comes with the project
    (tmp_path / "golden").mkdir()
    own = tmp_path / "golden/celery.jsonl"
    own.touch()
    assert find_golden("celery") == own
    with pytest.raises(GoldenError, match=r"there is no golden/mine\.jsonl; name the file"):
        find_golden("mine")


def test_name_path_and_sha_describe_the_file(make_golden):
    golden = make_golden(line("a"))
    assert golden.name == "golden" and len(golden) == 1
    assert golden.sha256 == hashlib.sha256(golden.path.read_bytes()).hexdigest()
    assert golden.corpus.name == "small"


def test_byte_order_mark_blank_lines_and_windows_ends_are_tolerated(tmp_path, corpus):
    path = tmp_path / "g.jsonl"
    text = "\r\n".join(["", json.dumps(line("a")), "   ", json.dumps(line("b")), ""])
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert [q.id for q in load_golden(path, corpus).questions] == ["a", "b"]


def test_optional_fields_may_be_left_out(make_golden):
    row = line("a")
    for name in ("difficulty", "why", "also"):
        del row[name]
    assert make_golden(row).questions[0].also == ()


def test_a_line_separator_inside_a_question_does_not_shift_line_numbers(tmp_path, corpus):
    path = tmp_path / "g.jsonl"
    odd = json.dumps(line("a", q="one\u2028two"), ensure_ascii=False)
    path.write_text(odd + "\n" + "{oops\n", encoding="utf-8")
    with pytest.raises(GoldenError, match=r"g\.jsonl:2: not valid JSON"):
        load_golden(path, corpus)


def without(name: str) -> dict:
    row = line("b")
    del row[name]
    return row


BAD = {
    "missing id": (without("id"), "field 'id' is missing"),
    "missing q": (without("q"), "field 'q' is missing"),
    "missing expect": (without("expect"), "field 'expect' is missing"),
    "missing mode": (without("mode"), "field 'mode' is missing"),
    "missing kind": (without("kind"), "field 'kind' is missing"),
    "misspelt field": (line("b", expects=[]), "unknown field 'expects'; did you mean 'expect'"),
    "unknown field": (line("b", zzz=1), "unknown field 'zzz'; the fields are id, q"),
    "id a number": (line("b") | {"id": 7}, "field 'id' is a number; make it a string"),
    "q null": (line("b", q=None), "field 'q' is null; make it a string"),
    "expect a string": (line("b") | {"expect": RETRY}, "field 'expect' is a string; make it a list of strings"),
    "also an object": (line("b", also={}), "field 'also' is an object; make it a list of strings"),
    "why a boolean": (line("b", why=True), "field 'why' is a boolean; make it a string"),
    "label a number": (line("b", [3]), "label 3 is a number"),
    "also null": (line("b", also=[None]), "label null is null"),
    "empty id": (line("b") | {"id": " "}, "field 'id' is empty"),
    "empty q": (line("b", q=" \t"), "field 'q' is empty"),
    "unknown kind": (line("b", kind="prose"), "unknown kind 'prose'; use one of prose-en, prose-tr"),
    "unknown mode": (line("b", mode="some"), "unknown mode 'some'; use one of any, all"),
    "negative with expect": (line("b", kind="negative-near"), "kind 'negative-near' has labels"),
    "negative with also": (negative("b", also=[RETRY]), "kind 'negative-far' has labels"),
    "positive without": (line("b", ()), "kind 'prose-en' expects nothing; add a label"),
    "same text": (line("b", q="WHERE  is a?"), "question text was used on line 1 already"),
    "label twice": (line("b", (RETRY, RETRY)), f"label '{RETRY}' is given twice"),
    "label in both": (line("b", also=[RETRY]), f"label '{RETRY}' is given twice"),
    "foreign path": (line("b", ("pkg/task.py::x",)), "no file 'pkg/task.py'; did you mean 'pkg/tasks.py'"),
    "path without its folder": (line("b", ("guide.md",)), "no file 'guide.md'; did you mean 'docs/guide.md'"),
    "path that ends like two": (line("b", ("tasks.py",)), "did you mean 'pkg/sub/tasks.py' or 'pkg/tasks.py'"),
    "path with a folder too many": (line("b", ("repo/docs/guide.md",)), "did you mean 'docs/guide.md'"),
    "path like nothing here": (line("b", ("qqqq",)), "no file 'qqqq'; check the path"),
    "also with a foreign path": (line("b", also=["nope.py"]), "label 'nope.py'"),
    "foreign symbol": (line("b", ("pkg/tasks.py::Task.retri",)), "no 'Task.retri'"),
    "symbol near": (line("b", ("pkg/tasks.py::Task.retri",)), "did you mean 'Task.retry'"),
    "no path": (line("b", ("::Task",)), "is incomplete"),
    "no symbol": (line("b", ("pkg/tasks.py::",)), "is incomplete"),
    "empty label": (line("b", ("",)), "is incomplete"),
    "colon line": (line("b", ("pkg/tasks.py:12",)), "holds line numbers, which move"),
    "colon lines": (line("b", ("pkg/tasks.py:12-20",)), "holds line numbers, which move"),
    "github lines": (line("b", ("pkg/tasks.py#L12-L20",)), "holds line numbers, which move"),
    "symbol is a line": (line("b", ("pkg/tasks.py::12",)), "holds line numbers, which move"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_named(name, make_golden):
    row, message = BAD[name]
    with pytest.raises(GoldenError) as caught:
        make_golden(line("a"), row)
    text = str(caught.value)
    assert message in text
    assert "golden.jsonl:2: " in text and "\n" not in text


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("{oops", "not valid JSON"),
        ('["a"]', "not a JSON object"),
        ("{} {}", "not valid JSON"),
        ('{"id": "a", "id": "b"}', "field 'id' is given twice"),
        ("[" * 100_000, "not valid JSON"),
        (f'{{"id": {"1" * 5000}}}', "a number of more than 4300 digits"),
        (r'{"id": "\ud800"}', "half of a surrogate pair"),
    ],
)
def test_what_is_not_one_json_object_is_named(raw, message, tmp_path, corpus):
    path = tmp_path / "g.jsonl"
    path.write_text(f"\n{raw}\n")
    with pytest.raises(GoldenError, match=r"g\.jsonl:2: ") as caught:
        load_golden(path, corpus)
    assert message in str(caught.value)


def test_a_file_that_is_not_utf8_is_named_with_its_line(tmp_path, corpus):
    path = tmp_path / "g.jsonl"
    path.write_bytes(json.dumps(line("a")).encode() + b"\n\xff\xfe\n")
    with pytest.raises(GoldenError, match=r"g\.jsonl:2: not UTF-8"):
        load_golden(path, corpus)


def test_missing_and_empty_files_are_named(tmp_path, corpus):
    with pytest.raises(GoldenError, match=r"no\.jsonl: cannot be read"):
        load_golden(tmp_path / "no.jsonl", corpus)
    (tmp_path / "e.jsonl").write_text("\n\n")
    with pytest.raises(GoldenError, match="holds no question"):
        load_golden(tmp_path / "e.jsonl", corpus)


def test_a_long_function_is_one_span(make_golden):
    (label,) = make_golden(line("a", (LONG,))).questions[0].expect
    assert label.spans == ((23, 84),)


def test_every_line_that_cannot_be_used_is_counted(make_golden) -> None:
    """The first in full, the others by their number; a good one between them hides nothing."""
    with pytest.raises(GoldenError) as caught:
        make_golden(line("a", mode="both"), line("b"), line("b"), line("c", ["nowhere.py"]))
    said = str(caught.value)
    assert ":1: unknown mode 'both'" in said
    assert said.endswith("(also wrong: 2 lines 3, 4)")
    assert "\n" not in said

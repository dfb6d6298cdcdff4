"""How much of a question is the wording of its answer."""

import json
from pathlib import Path

import pytest

from rungs.corpus import Corpus, SourceFile
from rungs.measure import Golden, coverage, load_golden, overlaps
from rungs.measure.wording import content_words, wording_of

from .toys import line, negative

CODE = '''def resend_receipt(order):
    """Mail the proof of purchase once more.

    Nothing about telephones.
    """
    note = """Unrelated elephants."""


def bare(order):
    text = """
    Elephants again.
    """

    def inner():
        "A short docstring."


class Basket:
    """Goods
    of a customer."""

    limit = 3

    def empty(self):
        r"""Drop \\everything."""
'''
SCRIPT = "/** Opens the garage. */\nexport function openDoor() {\n  return 1\n}\n"
GUIDE = "Guide\n=====\n\nWhat changed in 5.4\n-------------------\n\nElephants.\n"
FILES = {"a.py": CODE, "b.ts": SCRIPT, "c.rst": GUIDE}


@pytest.fixture(scope="module")
def shop() -> Corpus:
    return Corpus("shop", Path("/nowhere"), tuple(SourceFile.from_text(*f) for f in FILES.items()), {}, "5409")


@pytest.fixture
def ask(tmp_path: Path, shop: Corpus):
    def make(*rows) -> Golden:
        path = tmp_path / "q.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return load_golden(path, shop)

    return make


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Where do the RetryPolicies of apply_async come from?", "apply async come policie retry"),
        ("HTTPServer2 and getURL", "http server url"),
        ("the IDs of URLs", "id url"),
        ("çöl görev ŞİFRE işçiler", "çöl görev şifre işçiler"),
        ("çokSatan", "çok satan"),
        ("is it a b c 1 22", "22"),
        ("tasks task TASKS", "task"),
        ("???", ""),
    ],
)
def test_content_words(text: str, words: str) -> None:
    from rungs.tokenizer import fold

    assert content_words(text) == {fold(word) for word in words.split()}


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("a.py::resend_receipt", "resend receipt mail proof purchase once more"),
        ("a.py::bare", "bare"),
        ("a.py::bare.inner", "inner short docstring"),
        ("a.py::Basket", "basket good customer"),
        ("a.py::Basket.empty", "empty drop everything"),
        ("a.py::Basket.limit", "limit"),
        ("b.ts::openDoor", "open door garage"),
        ("c.rst::Guide > What changed in 5.4", "changed"),
        ("c.rst::What changed in 5.4", "changed"),
        ("a.py", ""),
    ],
)
def test_the_wording_of_a_label_is_its_name_and_what_is_said_first_about_it(ask, shop, label: str, words: str) -> None:
    question = ask(line("q", [label])).questions[0]
    assert content_words(wording_of(question.expect[0], shop)) == set(words.split())


def test_overlaps(ask) -> None:
    golden = ask(
        line("half", ["a.py::Basket", "a.py::resend_receipt"], q="how is a proof mailed, the receipt of a Sale"),
        line("none", ["a.py::Basket"], q="where do articles go?"),
        line("all", ["a.py::resend_receipt"], q="Resend receipts!"),
        line("empty", ["a.py::Basket"], q="???"),
        line("name", ["a.py::resend_receipt"], q="resend_receipt", kind="symbol"),
        negative("n", q="basket"),
    )
    found = overlaps(golden)
    assert [(one.question, one.share, one.words) for one in found] == [
        ("all", 1, ("receipt", "resend")),
        ("half", 0.5, ("proof", "receipt")),
        ("empty", 0, ()),
        ("none", 0, ()),
    ]
    assert found[1].label == "a.py::resend_receipt"


def test_coverage_names_the_questions_in_the_words_of_their_answer(ask) -> None:
    found = coverage(
        ask(
            line("half", ["a.py::resend_receipt"], q="how is a proof mailed, the receipt of a Sale"),
            line("all", ["a.py::resend_receipt"], q="Resend receipts!"),
            line("none", ["a.py::Basket"], q="where do articles go?"),
        )
    )
    notes = found.summary().splitlines()
    assert "in the words of the answer: mean 0.50, at most 1.00 of a question's words, over 0.5 in 1 of 3" in notes[-2]
    assert notes[-1].split() == ["all", "1.00", "receipt,", "resend"]
    assert json.loads(json.dumps(found.to_dict()))["wording"] == {
        "n": 3,
        "mean": 0.5,
        "max": 1.0,
        "close": [{"question": "all", "label": "a.py::resend_receipt", "share": 1.0, "words": ["receipt", "resend"]}],
    }
    assert "resend" in found._repr_html_()


def test_coverage_of_nothing_but_names_says_nothing_of_wording(ask) -> None:
    found = coverage(ask(line("name", ["a.py::resend_receipt"], q="resend_receipt", kind="symbol")))
    assert "in the words" not in found.summary()
    assert found.to_dict()["wording"] == {"n": 0, "mean": None, "max": None, "close": []}

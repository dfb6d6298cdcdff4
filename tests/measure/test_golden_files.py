"""The golden files that come with the corpus: as many as they say, and not written in the words of their answers."""

import re
from collections import Counter
from pathlib import Path

import pytest

from rungs.corpus import fetch
from rungs.measure import coverage, labels_needed, load_golden
from rungs.measure.pooling import Judgements, agreement
from rungs.measure.second_reader import read_answers
from rungs.measure.wording import overlaps

GOLDEN = Path(__file__).parents[2] / "golden"
LEAST = {  # tuning, held out
    "prose-en": (100, 120),
    "symbol": (40, 40),
    "symbol-hard": (20, 20),
    "prose-tr": (30, 30),
    "doc": (16, 16),
    "test": (16, 16),
    "multi-hop": (40, 60),
    "negative-far": (20, 20),
    "negative-other": (30, 30),
    "negative-near": (40, 60),
}
LINKS = {"call", "registry", "string", "setting", "signal", "header", "environment", "entry"}
MOST_SHARED = 0.5


@pytest.fixture(scope="module")
def celery(home):
    return fetch("celery", home, progress=False)


@pytest.fixture(scope="module", params=["celery", "celery.heldout"])
def golden(request, celery):
    return load_golden(GOLDEN / f"{request.param}.jsonl", celery)


def test_there_are_enough_of_every_kind(golden):
    counted = Counter(question.kind for question in golden.questions)
    assert set(counted) == set(LEAST)
    short = {kind: n for kind, least in LEAST.items() if (n := counted[kind]) < least[golden.held_out]}
    assert not short


def test_every_line_has_its_reason_and_difficulty(golden):
    assert [q.id for q in golden.questions if len(q.why) < 20 or q.difficulty not in ("easy", "medium", "hard")] == []


def test_no_question_is_asked_in_the_words_of_its_answer(golden):
    said = [o for o in overlaps(golden) if o.share > MOST_SHARED]
    assert said == []


def test_several_places_are_linked_by_more_than_calls(golden):
    several = [q for q in golden.questions if q.kind == "multi-hop"]
    assert {q.mode for q in several} == {"all"}
    assert {len(q.expect) for q in several} <= {2, 3, 4}
    links = Counter(re.split(r"[:\s]", q.why)[0].lower() for q in several)
    assert set(links) <= LINKS
    assert links["call"] <= len(several) * 2 / 3


def test_turkish_is_written_in_turkish(golden):
    turkish = [q.q for q in golden.questions if q.kind == "prose-tr"]
    assert sum(bool(re.search("[çğıöşüÇĞİÖŞÜ]", q)) for q in turkish) >= len(turkish) / 2


def test_hard_names_are_there_or_not_there(golden):
    hard = [q for q in golden.questions if q.kind == "symbol-hard"]
    assert sum(q.negative for q in hard) >= 5
    for question in hard:
        if question.negative:
            last = re.split(r"[./]|::", re.sub(r"\(.*", "", question.q))[-1]
            assert not any(re.search(rf"\b{re.escape(last)}\b", file.text) for file in golden.corpus.files), question.q


def test_the_page_says_how_many_there_are(golden):
    page = (GOLDEN / "README.md").read_text(encoding="utf-8")
    counted = Counter(question.kind for question in golden.questions)
    shown = dict(
        re.findall(
            r"^\| `([\w-]+)` \|.*\| " + (r"\d+ \| (\d+)" if golden.held_out else r"(\d+) \| \d+") + r" \|$", page, re.M
        )
    )
    assert {kind: int(n) for kind, n in shown.items()} == counted


def test_the_page_says_how_close_the_wording_is(celery):
    page = (GOLDEN / "README.md").read_text(encoding="utf-8")
    shares = [o.share for name in LOADED for o in overlaps(load_golden(GOLDEN / f"{name}.jsonl", celery))]
    mean, largest = re.search(r"the mean is ([\d.]+) here, the largest ([\d.]+)", page).groups()
    assert float(mean) == pytest.approx(sum(shares) / len(shares), abs=0.005)
    assert float(largest) == pytest.approx(max(shares), abs=0.005)


LOADED = ("celery", "celery.heldout")


def test_the_page_says_how_the_second_reader_fared(celery):
    page = " ".join((GOLDEN / "README.md").read_text(encoding="utf-8").split())
    golden = load_golden(GOLDEN / "celery.heldout.jsonl", celery)
    found = read_answers(GOLDEN / "celery.heldout.reader.jsonl", golden)
    n, agreed = found.agreed["n"], round(found.agreed["value"] * found.agreed["n"])
    assert n >= len(golden) / 4
    assert (
        f"agreed on **{agreed} of {n}**, {found.agreed['value']:.3f} [{found.agreed['low']:.3f}, {found.agreed['high']:.3f}]"
        in page
    )


def test_what_was_judged_right_is_under_also(celery):
    golden = load_golden(GOLDEN / "celery.heldout.jsonl", celery)
    judgements = Judgements(GOLDEN / "celery.heldout.judgements.jsonl")
    right = {key for key, verdict in judgements.of("first", golden).items() if verdict == "right"}
    assert len(judgements.questions(golden)) == 60
    assert right == {(q.id, label.text) for q in golden.questions for label in q.also}


def test_the_page_says_what_was_judged(celery):
    page = " ".join((GOLDEN / "README.md").read_text(encoding="utf-8").split())
    golden = load_golden(GOLDEN / "celery.heldout.jsonl", celery)
    judgements = Judgements(GOLDEN / "celery.heldout.judgements.jsonl")
    right = [q for q in golden.questions if q.also]
    assert f"That is {len(judgements.of('first', golden)):,} places" in page
    assert f"- {sum(len(q.also) for q in right)} were right and are under `also` of five questions" in page
    assert len(right) == 5
    assert agreement(judgements, "first", "second", golden).agreed["value"] == 1
    found = agreement(judgements, "first", "third", golden)
    shown = f"{found.agreed['value']:.3f} [{found.agreed['low']:.3f}, {found.agreed['high']:.3f}]"
    assert f"agreement {shown} on the {found.n} that neither was unsure of, Cohen's kappa {found.kappa:.2f}" in page


def test_the_page_says_what_nothing_asks_about(celery):
    page = (GOLDEN / "README.md").read_text(encoding="utf-8")
    found = coverage(load_golden(GOLDEN / "celery.jsonl", celery))
    assert f"{len(found.untouched)} of the {len(found.files)} folders have no tuning label" in page


def test_the_front_page_says_how_many_labels_it_takes():
    page = (GOLDEN.parent / "README.md").read_text(encoding="utf-8")
    assert f"0.25 needs {labels_needed(0.25, 0.3)}, one of 0.08 needs {labels_needed(0.08, 0.3)}" in page

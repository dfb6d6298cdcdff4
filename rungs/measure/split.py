"""Held-out discipline: which files only report, and that no tuning question is in them.

A question that was tuned on and is then reported on measures memory. Two questions are taken for one when they use the
same words, or when they are spelled alike *and* have the same answer. Spelling is compared by the three-letter pieces
of the folded words, which survives word order, typing errors, inflection (Turkish has much of it) and letters typed
without their marks; a paraphrase in other words passes, and only a reader can see it.

The threshold is from data: of all pairs in ``golden/celery.jsonl`` that are not bare names the two most alike reach 0.38,
while copies of its questions with a greeting put before them, a word replaced, or every fourth word mistyped stay above
0.6 in 95 of 100 cases. Where the answers differ, likeness proves nothing: "where is Task.retry defined" and "where is
Task.replace defined" are two questions.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rungs.errors import GoldenError
from rungs.tokenizer import tokenize

if TYPE_CHECKING:
    from rungs.measure.golden import Golden, Question

__all__ = ["ALIKE", "alike", "check_split", "is_held_out", "nearly_one", "tuning_file"]

ALIKE = 0.6
"""Likeness from which two questions with the same answer are one."""

_PIECE = 3
_HELD_OUT = re.compile(r"(?:^|[._-])held[_-]?out(?=[._-]|$)", re.IGNORECASE)


def is_held_out(name: str) -> bool:
    """Whether a golden file of this name (without its ending) only reports.

    Examples
    --------
    >>> is_held_out("celery.heldout"), is_held_out("celery.held-out.tr"), is_held_out("celery")
    (True, True, False)
    """
    return _HELD_OUT.search(name) is not None


def tuning_file(path: Path) -> Path | None:
    """The tuning file that lies next to a held-out one: ``celery.jsonl`` next to ``celery.heldout.jsonl``."""
    name = path.name.removesuffix(".jsonl")
    rest = _HELD_OUT.sub("", name).lstrip("._-")
    if not rest or not is_held_out(name):
        return None
    sibling = path.with_name(rest + path.name.removeprefix(name))
    return sibling if sibling.is_file() else None


def check_split(tuning: "Golden", held_out: "Golden") -> None:
    """Refuse a held-out file that asks what the tuning file asks.

    `load_golden` does this for a file whose tuning file lies next to it.

    Parameters
    ----------
    tuning
        The questions that choices are made on.
    held_out
        The questions that are only reported on.

    Raises
    ------
    GoldenError
        For the first held-out question that is, but for its spelling, a tuning question; the message names both lines.
    """
    known = [_Asked.of(question) for question in tuning.questions]
    for question in held_out.questions:
        asked = _Asked.of(question)
        if (copied := next((other for other in known if _same(asked, other)), None)) is not None:
            raise GoldenError(
                f"{held_out.path}:{question.line}: question {question.id!r} is that of {tuning.path}:"
                f"{copied.question.line} ({copied.question.id!r}), word for word or nearly; ask something else here"
            )


def nearly_one(questions: "Sequence[Question]") -> "list[tuple[Question, Question]]":
    """Every pair of questions that this module takes for one."""
    asked = [_Asked.of(question) for question in questions]
    return [(a.question, b.question) for i, a in enumerate(asked) for b in asked[i + 1 :] if _same(a, b)]


def alike(a: str, b: str) -> float:
    """How alike two questions are spelled, from 0 to 1 (Dice coefficient of three-letter pieces of the folded words).

    Examples
    --------
    >>> alike("How does a task retry?", "how does a TASK retry")
    1.0
    >>> round(alike("görevler neden yeniden denenmiyor", "gorev neden yeniden denenmedi"), 2)
    0.71
    >>> round(alike("Task.retry", "Task.apply_async"), 2)
    0.26
    """
    return _dice(_pieces(_words(a)), _pieces(_words(b)))


@dataclass(frozen=True, slots=True)
class _Asked:
    question: "Question"
    answer: frozenset[str]
    words: frozenset[str]
    pieces: frozenset[str]

    @classmethod
    def of(cls, question: "Question") -> "_Asked":
        words = _words(question.q)
        labels = frozenset(label.text for label in (*question.expect, *question.also))
        # a question without letters or digits ("???") has no words; it is its text
        return cls(question, labels, frozenset(words or [question.q]), _pieces(words))


def _same(a: _Asked, b: _Asked) -> bool:
    if a.words == b.words:
        return True
    same_answer = bool(a.answer & b.answer) or (a.question.negative and b.question.negative)
    return same_answer and _dice(a.pieces, b.pieces) >= ALIKE


def _words(text: str) -> list[str]:
    """Tokens, without the marks on their letters, so that "görev" and "gorev" are one."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return tokenize(bare)


def _pieces(words: Iterable[str]) -> frozenset[str]:
    line = f" {' '.join(words)} "
    return frozenset(line[i : i + _PIECE] for i in range(len(line) - _PIECE + 1))


def _dice(a: frozenset[str], b: frozenset[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a and b else 0.0

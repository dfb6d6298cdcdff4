"""How much of a question is the wording of its own answer.

Whoever writes a question with the docstring before their eyes asks in its words, and then every search by words looks
good. The share of a question's content words that stand in the name, the heading or the first paragraph of the docstring
of what it is labelled with says how far that went. Bare names are exempt: a name *is* the wording.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from rungs.corpus import symbols
from rungs.tokenizer import fold

if TYPE_CHECKING:
    from rungs.corpus import Corpus
    from rungs.measure.golden import Golden, Label, Question

__all__ = ["Overlap", "content_words", "overlaps", "wording_of"]

_STOP = frozenset(
    "a an and any are as at be been before but by can could did do does for from get gets got had has have how i if in "
    "into is it its just like me my no not of on one only or our out over same should so some than that the their them "
    "then there these they this those to up was we were what when where which who why will with without would you your "
    "after again all also".split()
)
_WORD = re.compile(r"[^\W\d_]+|\d+")
_PLURAL = re.compile(r"(?<=[A-Z]{2})s\b")  # IDs, URLs
_PROSE = ("rst", "markdown")


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much of one question is one label's wording.

    Attributes
    ----------
    question, label
        Id, and label as written.
    share
        Shared content words over the content words of the question, 0 to 1.
    words
        The shared ones, sorted.
    """

    question: str
    label: str
    share: float
    words: tuple[str, ...]


def overlaps(golden: "Golden") -> list[Overlap]:
    """The label each question is closest to in wording, one for each question that has labels and is not a bare name.

    Parameters
    ----------
    golden
        From `rungs.measure.load_golden`.

    Returns
    -------
    list of Overlap
        The largest share first.
    """
    found = [
        max((_overlap(question, label, golden.corpus) for label in question.expect), key=lambda o: o.share)
        for question in golden.questions
        if question.expect and not question.kind.startswith("symbol")
    ]
    return sorted(found, key=lambda o: (-o.share, o.question))


def content_words(text: str) -> frozenset[str]:
    """The words of a text that say what it is about: identifiers in parts, folded, without plural s.

    Examples
    --------
    >>> sorted(content_words("Where do the RetryPolicies of apply_async come from?"))
    ['apply', 'async', 'come', 'policie', 'retry']
    """
    words = (fold(piece) for word in _WORD.findall(_PLURAL.sub("", text)) for piece in _pieces(word))
    bare = (word.removesuffix("s") if len(word) > 3 else word for word in words if word not in _STOP)
    return frozenset(word for word in bare if len(word) > 1)


def _pieces(word: str) -> list[str]:
    """A word cut where its author would: ``RetryPolicies``, ``HTTPServer``."""
    cuts = [i for i in range(1, len(word)) if word[i].isupper() and (not word[i - 1].isupper() or _opens(word, i))]
    return [word[start:end] for start, end in pairwise([0, *cuts, len(word)])]


def _opens(word: str, i: int) -> bool:
    return word[i + 1 : i + 2].islower()


def wording_of(label: "Label", corpus: "Corpus") -> str:
    """The name or heading of a label, and the first paragraph of its docstring (or of the comment above it)."""
    file = corpus.get(label.path)
    if file is None or not label.symbol:
        return ""
    separator = " > " if file.language in _PROSE else "."
    documented = (item.docstring for item in symbols(file) if item.name == label.symbol)
    return "\n".join([label.symbol.rsplit(separator, 1)[-1], *(text.strip().split("\n\n")[0] for text in documented)])


def _overlap(question: "Question", label: "Label", corpus: "Corpus") -> Overlap:
    asked = content_words(question.q)
    shared = asked & content_words(wording_of(label, corpus))
    return Overlap(question.id, label.text, len(shared) / len(asked) if asked else 0.0, tuple(sorted(shared)))

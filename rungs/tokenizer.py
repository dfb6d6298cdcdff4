"""Code-aware tokens for lexical search: the identifier whole, and in parts.

Adds to plain word splitting: ``retry_policy``, ``HTTPServer2`` and ``celery.app.task`` are kept as they are *and*
cut where their author would cut them, so that a pasted name matches exactly and a word from inside it matches too.
The same function feeds the index and the query; a difference between the two is the oldest bug of lexical search.
A mark before a name (``--no-verify``, ``$HOME``, ``.env``) is kept as one more form of it: the flag, the variable and
the file then have a term that the plain word does not. It does not stem, and it knows no synonyms: that is what the dense
channel is for.

>>> tokenize("Task.retry_policy")
['task.retry_policy', 'task', 'retry_policy', 'retry', 'policy']
>>> tokenize("HTTPServer2 was restarted")
['httpserver2', 'http', 'server', '2', 'restarted']
>>> tokenize("--no-verify $HOME")
['--no-verify', 'no-verify', 'no', 'verify', '$home', 'home']
"""

import re
import unicodedata
from functools import lru_cache

__all__ = ["TOKENIZER_VERSION", "fold", "tokenize"]

TOKENIZER_VERSION = "2"
"""Changes when the same text would give other tokens; an index built with another version is not opened."""

MAX_TOKEN_CHARS = 128
"""Longer runs (base64, minified code) say nothing as one term; only their parts are kept."""

# A run that a reader would select as one name: words joined by . _ - : / or the like, with no space inside; before it,
# where it begins a word, the mark of a flag, a variable or a hidden file.
_MARK = r"(?:(?<![\w.$\-])(?:--?|\$|\.)(?=[^\W\d]))?"
_RUN = re.compile(rf"(?P<mark>{_MARK})(?P<name>[^\W_]+(?:[._\-:/]*[_]*[^\W_]+)*|_+[^\W_]\w*)", re.UNICODE)
_JOINTS = re.compile(r"[.\-:/]+")
# Function words of English and Turkish: they are dropped where they stand alone as prose, never inside a name. Turkish
# words that are names in code (de, ne, var, en) are not among them.
_STOP = frozenset(
    "a an and are as at be but by for from had has have how if in into is it its of on or so such that the their then "
    "there these they this to was were what when where which who why will with "
    "ve bir bu şu için ile mi mı mu mü nasıl nerede nereden neden niye hangi hangisi ama çok gibi daha olan olarak "
    "kadar sonra önce değil yok".split()
)


def fold(word: str) -> str:
    """Fold case for matching; ``İ``/``ı`` fold with ``i`` so Turkish and English spellings meet.

    >>> fold("İade") == fold("iade"), fold("IŞIK") == fold("ışık"), fold("Task")
    (True, True, 'task')
    """
    # Folding every i-like letter to plain "i" is the one choice that is right for both languages without guessing
    # which one a word is in: "IŞIK", "ışık" and "Işık" meet, and so do "ID" and "id".
    folded = unicodedata.normalize("NFC", word).replace("İ", "i").replace("ı", "i").casefold()
    return folded.replace("ı", "i")


def _parts(name: str) -> list[str]:
    """Cut a name at underscores, between letters and digits, and at case boundaries of any script.

    >>> _parts("HTTPServer2"), _parts("retry_policy"), _parts("IŞIK")
    (['HTTP', 'Server', '2'], ['retry', 'policy'], ['IŞIK'])
    """
    parts: list[str] = []
    start = 0
    for i in range(1, len(name) + 1):
        if i < len(name) and not _boundary(name, i):
            continue
        part = name[start:i].strip("_")
        if part:
            parts.append(part)
        start = i
    return parts


def _boundary(name: str, i: int) -> bool:
    """Whether a part of ``name`` ends before position ``i``."""
    before, here = name[i - 1], name[i]
    if before == "_" or here == "_":
        return True
    if before.isdecimal() != here.isdecimal():
        return True
    if not here.isupper():
        return False
    after = name[i + 1 : i + 2]
    return before.islower() or (before.isupper() and after.islower())


@lru_cache(maxsize=200_000)
def _expand(run: str) -> tuple[str, ...]:
    """All tokens of one run: itself, the names between its joints, and their parts; each once, in that order."""
    tokens: dict[str, None] = {}
    if len(run) <= MAX_TOKEN_CHARS:
        tokens[fold(run)] = None
    for name in _JOINTS.split(run):
        if not name:
            continue
        if len(name) <= MAX_TOKEN_CHARS:
            tokens[fold(name)] = None
            bare = name.strip("_")
            if bare and bare != name:
                tokens[fold(bare)] = None
        for part in _parts(name):
            if len(part) <= MAX_TOKEN_CHARS:
                tokens[fold(part)] = None
    return tuple(tokens)


def tokenize(text: str) -> list[str]:
    """Split text into lexical terms, in reading order.

    Parameters
    ----------
    text
        Source code or prose, any language written with spaces.

    Returns
    -------
    list of str
        Folded terms. A name gives itself and its parts; a lone function word ("how", "the") gives nothing.
        An empty list for text without letters or digits.
    """
    tokens: list[str] = []
    for match in _RUN.finditer(text):
        mark, run = match.groups()
        if mark and len(run) < MAX_TOKEN_CHARS:
            tokens.append(mark + fold(run))
        elif run.lower() in _STOP:
            continue
        tokens.extend(_expand(run))
    return tokens

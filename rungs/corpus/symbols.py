"""Names in the source: what a file defines, and which lines a label stands for.

A label of the golden set is ``path`` or ``path::symbol``. ``label_spans`` resolves one against the syntax tree of the
file, never against chunks, so that every chunking and every peer is measured against the same lines:

- a function or method is all of it, decorators included;
- a type is its header, from its decorators to the line before its first method;
- an assignment at module or class level is its statement;
- a section of a document runs from its heading to the next heading of its level or higher;
- a bare path is the whole file.
"""

import difflib
from dataclasses import dataclass
from functools import lru_cache

from rungs.corpus.outline import Outline, Symbol, text_breaks
from rungs.corpus.prose_outline import SEPARATOR, markdown_outline, rst_outline
from rungs.corpus.python_outline import python_outline
from rungs.corpus.script_outline import SCRIPTS, script_outline
from rungs.corpus.walk import SourceFile

__all__ = ["Span", "Symbol", "label_spans", "nearest", "outline_of", "symbols"]

_TYPES = frozenset({"class", "namespace"})


@dataclass(frozen=True, slots=True)
class Span:
    """Lines of a file, 1-based and inclusive."""

    path: str
    start_line: int
    end_line: int


@lru_cache(maxsize=2048)  # chunks, names, labels and places are all cut from the same reading
def outline_of(file: SourceFile) -> Outline:
    """Read a file as its language; a language without a reader has an outline without symbols."""
    lines = file.lines
    if file.language == "python":
        return python_outline(file.text, lines)
    if file.language in SCRIPTS:
        return script_outline(file.text, lines, file.language)
    if file.language == "rst":
        return rst_outline(lines)
    if file.language == "markdown":
        return markdown_outline(lines)
    return Outline((), lambda: text_breaks(lines))


def symbols(file: SourceFile) -> list[Symbol]:
    """List everything a file names, in order, with what is nested inside."""
    return list(outline_of(file).walk())


def label_spans(file: SourceFile, symbol: str) -> list[Span]:
    """Resolve the symbol of a label to lines.

    Parameters
    ----------
    file
        The file the label names.
    symbol
        Qualified name (``Task.retry``), heading path (``Guide > Tasks``, or an end of it that no other section shares),
        or nothing for the whole file.

    Returns
    -------
    list of Span
        One per definition: a property and its setter, or the branches of an ``if``, are several. Empty if the file
        defines no such name.
    """
    if not symbol:
        return [Span(file.path, 1, max(1, len(file.lines)))]
    known = symbols(file)
    found = [item for item in known if item.name == symbol] or _sections_ending(known, symbol)
    spans = [Span(file.path, item.start_line, _label_end(item)) for item in found]
    return list(dict.fromkeys(spans))


def nearest(file: SourceFile, symbol: str, *, count: int = 3) -> list[str]:
    """Give the names in a file that are closest to one that is not there, for an error message."""
    names = list(dict.fromkeys(item.name for item in symbols(file)))
    wanted = symbol.lower()
    last = {name: name.lower().rsplit(SEPARATOR, 1)[-1].rsplit(".", 1)[-1] for name in names}
    own = wanted.rsplit(SEPARATOR, 1)[-1].rsplit(".", 1)[-1]
    return sorted(
        names,
        key=lambda name: (
            -max(
                difflib.SequenceMatcher(None, wanted, name.lower()).ratio(),
                # The right name in another place beats a similar one in the right place.
                difflib.SequenceMatcher(None, own, last[name]).ratio() * 0.95,
            ),
            name,
        ),
    )[:count]


def _sections_ending(known: list[Symbol], symbol: str) -> list[Symbol]:
    """Find the sections whose heading path ends in ``symbol``, if they all have one path."""
    found = [item for item in known if item.kind == "section" and item.name.endswith(SEPARATOR + symbol)]
    return found if len({item.name for item in found}) == 1 else []


def _label_end(item: Symbol) -> int:
    return item.header_end if item.kind in _TYPES else item.end_line

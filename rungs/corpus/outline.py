"""What the syntax of a file says about it: its symbols, and where it may be cut.

One shape for every language, so that labels, chunks and error messages all rest on the same reading of the source.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["INSIDE", "Outline", "Symbol", "text_breaks"]

INSIDE = 10.0
"""Cost of a cut in the middle of a statement or paragraph; see `Outline.breaks`."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named piece of a file. Lines are 1-based and inclusive.

    Attributes
    ----------
    name
        Qualified: ``Task.retry``, ``outer.inner``; the heading path ``Guide > Tasks`` for a section of a document.
    kind
        ``function``, ``method``, ``class``, ``interface``, ``type``, ``enum``, ``namespace``, ``constant``,
        ``assignment`` or ``section``.
    start_line, end_line
        All of it, from the first decorator; a section runs to the next heading of its level or higher.
    header_end
        Last line of a type before its first method; of a function, its signature; of a section, its heading.
    signature
        The declaration on one line, without its body; a section's own title.
    docstring
        Documentation string or comment, cleaned; empty if there is none.
    doc_end
        Last line of signature and documentation string.
    lead_line
        First line of what belongs above: comments over a declaration, anchors over a heading; else ``start_line``.
    members
        Methods with their arguments and attributes of a type.
    children
        Symbols defined inside, in order.
    """

    name: str
    kind: str
    start_line: int
    end_line: int
    header_end: int
    signature: str = ""
    docstring: str = ""
    doc_end: int = 0
    lead_line: int = 0
    members: tuple[str, ...] = ()
    children: tuple["Symbol", ...] = ()

    def walk(self) -> Iterator["Symbol"]:
        """Yield this symbol and everything inside it, in order."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class Outline:
    """The reading of one file.

    Attributes
    ----------
    symbols
        Top-level symbols in order; sections of a document are all here, nested only by their names.
    breaks
        Makes the list of what it costs to cut before each line (index 0 is line 1): 0 at a shallow statement or a
        paragraph, more the deeper the statement, `INSIDE` within one. Called only for files that must be cut.
    title
        First line of the file's documentation string.
    problem
        Why the file could not be read as its language; there are no symbols then.
    lead_shown
        Whether comments above a declaration count as part of it when it is shown (they are its documentation in
        TypeScript; in Python the docstring is).
    """

    symbols: tuple[Symbol, ...]
    breaks: Callable[[], list[float]]
    title: str = ""
    problem: str = ""
    lead_shown: bool = False

    def walk(self) -> Iterator[Symbol]:
        """Yield all symbols of the file, in order."""
        for symbol in self.symbols:
            yield from symbol.walk()


def text_breaks(lines: list[str]) -> list[float]:
    """Say where prose, settings or unknown text may be cut: best between paragraphs, then at list items.

    Returns
    -------
    list of float
        Cost of a cut before each line.
    """
    costs: list[float] = []
    after_blank = True
    announced = 0.0
    for line in lines:
        body = line.lstrip()
        depth = 0.0 if len(body) == len(line) else 1.0
        if not body:
            costs.append(INSIDE)  # blank lines stay with what they follow
            after_blank = True
            continue
        if after_blank:
            costs.append(depth + announced)
        elif body.startswith(("- ", "* ", "+ ", "#. ", ".. ")) or body[:3].rstrip(".) ").isdigit():
            costs.append(2.0 + depth)
        else:
            costs.append(4.0 + depth)
        after_blank = False
        announced = 1.5 if line.rstrip().endswith(":") else 0.0  # "as in this example:" stays with the example
    return costs

"""The bullets of a changelog, each with the release it stands under."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rungs.corpus import SourceFile, symbols

__all__ = ["Bullet", "bullets"]

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = (
    rf"(?:\d{{4}}[-/.]\d\d?[-/.]\d\d?|\d{{1,2}}(?:st|nd|rd|th)?[ ]{_MONTH},?[ ]\d{{4}}"
    rf"|{_MONTH}[ ]\d{{1,2}}(?:st|nd|rd|th)?,?[ ]\d{{4}})"
)
_NUMBER = r"v?\d+(?:\.\d+)+[\w.+-]*"
_RELEASE = re.compile(
    rf"""(?: (?:(?!python\b)[^\W\d][\w.-]*\ )?? (?:(?:version|release|changes\ in)\ )?? {_NUMBER}  # Shop 1.0.1
        | (?:version|release)\ \d+ | v\d+ | {_DATE} | unreleased
        )
        (?:\ ?[-–—,:/|]?\ ?(?:\(.{{0,60}}\) | ["“'].{{0,60}} | {_DATE} | (?:un)?released?\b.{{0,40}} | yanked | stable))* \ ?""",
    re.VERBOSE | re.IGNORECASE,
)
_CHANGES = re.compile(r"change|history|release|news|version", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)]|#\.)\s+(?=\S)")
_FENCE = ("```", "~~~")

# Markup that says how a bullet is set, or who reported it, and not what it says.
_MARKUP = (
    (re.compile(r"\(?`?:(?:gh\w*|issues?|pr|pull|bug|user|commit|cve|cwe|ticket):`?[^`\s]{1,100}`?\)?"), ""),
    (re.compile(r":[\w:+-]{2,40}:`[!~]?([^`<]{1,200}?)(?:\s?<[^`>]{1,200}>)?`"), r"`\1`"),
    (re.compile(r"`([^`<]{1,200}?)\s?<https?://[^`>]{1,200}>`__?"), r"\1"),
    (re.compile(r"\[([^\[\]]{1,200})\]\([^()\s]{1,200}\)"), r"\1"),
    (re.compile(r"\s+by @[\w-]+(?:\[bot\])?(?: in https?://\S+)?\s*$"), ""),
    (re.compile(r"``"), "`"),
    (re.compile(r"`__?(?!\w)"), "`"),
    (re.compile(r"\*\*|\\(?=\W)|(?<=`)\\"), ""),
)
_SENTENCE = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!etc\.)(?<=[.!?])\s+(?=[`\"'(\[A-Z])")


@dataclass(frozen=True, slots=True)
class Bullet:
    """One bullet: its first sentence, what follows, the line it begins on, and the heading of its release."""

    title: str
    body: str
    line: int
    release: str


def bullets(name: str, text: str) -> list[Bullet]:
    """The bullets under headings that are versions or dates; none if a file is no changelog.

    One such heading in a file that is about something else does not make it a changelog: an issue may have a section
    on the version that it was seen in.

    Parameters
    ----------
    name
        Of the file; its ending tells how headings are written.
    text
        What is in it.

    Returns
    -------
    list of Bullet
        In file order. A bullet inside another belongs to its body.
    """
    file = SourceFile.from_text(name, _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text))
    headings = [item for item in symbols(file) if item.kind == "section"]
    releases = {item.start_line: item.signature for item in headings if _is_release(item.signature)}
    if not releases:
        return []
    if len(releases) == 1 and headings[0].start_line not in releases and not _CHANGES.search(headings[0].signature):
        return []
    titles = {number for item in headings for number in range(item.start_line, item.header_end + 1)}
    found = []
    for first, lines in _items(file.lines, titles, min(releases)):
        release = releases[max(line for line in releases if line < first)]
        title, body = _said(lines)
        found.append(Bullet(title, body, first, _unmarked(release)))
    return found


def _is_release(title: str) -> bool:
    return _RELEASE.fullmatch(re.sub(r"[\[\]`*]", "", _unmarked(title)).strip()) is not None


def _items(lines: list[str], titles: set[int], start: int) -> Iterator[tuple[int, list[str]]]:
    """The outermost items of lists: the line each begins on, and its lines without the bullet."""
    first, outer, item, fenced = 0, 0, [], False
    for number, line in enumerate(lines[start - 1 :], start):
        line = line.expandtabs(4)
        indent = len(line) - len(line.lstrip())
        if line.lstrip().startswith(_FENCE):
            fenced = not fenced
        match = None if fenced or number in titles else _BULLET.match(line)
        begins = match is not None and (indent <= outer if item else indent < 4)
        goes_on = fenced or not line.strip() or indent > outer or bool(item and item[-1])
        if item and (begins or number in titles or not goes_on):
            yield first, item
            item = []
        if begins and match:
            first, outer, item = number, indent, [line[match.end() :].rstrip()]
        elif item:
            item.append(line.strip())
    if item:
        yield first, item


def _said(lines: list[str]) -> tuple[str, str]:
    """The first sentence of an item, and the rest."""
    end = next((i for i, line in enumerate(lines) if i and (not line or _BULLET.match(line))), len(lines))
    first, *others = _SENTENCE.split(_unmarked(" ".join(lines[:end])), maxsplit=1)
    return first.rstrip(" :"), "\n".join([*others, _unmarked("\n".join(lines[end:]))]).strip()


def _unmarked(text: str) -> str:
    for pattern, plain in _MARKUP:
        text = pattern.sub(plain, text)
    return text.strip()

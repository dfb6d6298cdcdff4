"""Read the headings of reStructuredText and Markdown.

A section is named by the path of headings that leads to it, joined by `` > ``. In reStructuredText the level of a
heading is told by its adornment, in the order in which the styles first appear in the file.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import partial

from rungs.corpus.outline import Outline, Symbol, text_breaks

__all__ = ["SEPARATOR", "markdown_outline", "rst_outline"]

SEPARATOR = " > "

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*[ \t]*")
_ANCHOR = re.compile(r"\.\. (?:_[^ ].*:|(?:py:)?(?:module|currentmodule)::.*|index::.*|sectionauthor::.*)\s*$")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*")
_NOT_PARAGRAPH = re.compile(r" {4,}|\t| {0,3}(?:[-*+][ \t]|\d+[.)][ \t]|>|#|\||<|\[[^\]]+\]:)")
_MARKDOWN_ANCHOR = re.compile(r"\s*(?:<a\s+(?:id|name)=[^>]*>\s*(?:</a>)?|\([^)\s]+\)=)\s*$")


@dataclass(frozen=True, slots=True)
class _Heading:
    level: int
    title: str
    first: int
    last: int


def rst_outline(lines: list[str]) -> Outline:
    """Outline a reStructuredText file by its sections."""
    return Outline(_sections(_rst_headings(lines), lines, _ANCHOR), partial(text_breaks, lines))


def markdown_outline(lines: list[str]) -> Outline:
    """Outline a Markdown file by its sections."""
    return Outline(_sections(_markdown_headings(lines), lines, _MARKDOWN_ANCHOR), partial(text_breaks, lines))


def _sections(headings: list[_Heading], lines: list[str], anchor: re.Pattern[str]) -> tuple[Symbol, ...]:
    leads = [
        _lead_line(lines, heading.first, after=previous, anchor=anchor)
        for heading, previous in zip(headings, [0, *(heading.last for heading in headings)], strict=False)
    ]
    path: list[tuple[int, str]] = []
    symbols = []
    for index, heading in enumerate(headings):
        path = [part for part in path if part[0] < heading.level] + [(heading.level, heading.title)]
        after = next((i for i in range(index + 1, len(headings)) if headings[i].level <= heading.level), None)
        end = len(lines) if after is None else leads[after] - 1
        symbols.append(
            Symbol(
                name=SEPARATOR.join(title for _, title in path),
                kind="section",
                start_line=heading.first,
                end_line=_trimmed(lines, heading.last, end),
                header_end=heading.last,
                signature=heading.title,
                doc_end=heading.last,
                lead_line=leads[index],
            )
        )
    return tuple(symbols)


def _trimmed(lines: list[str], start: int, end: int) -> int:
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end


def _lead_line(lines: list[str], heading: int, *, after: int, anchor: re.Pattern[str]) -> int:
    """Find where the anchors above a heading begin; blank lines between them do not end the search."""
    first = heading
    line = heading - 1
    while line > after and (not lines[line - 1].strip() or anchor.match(lines[line - 1])):
        if lines[line - 1].strip():
            first = line
        line -= 1
    return first


def _rst_headings(lines: list[str]) -> list[_Heading]:
    headings: list[_Heading] = []
    styles: list[tuple[str, bool]] = []
    index = 0  # of the line that may be a title's overline or a title
    while index < len(lines):
        found = _overlined(lines, index) or _underlined(lines, index, headings[-1].last if headings else 0)
        if found is None:
            index += 1
            continue
        title, last, style = found
        if style not in styles:
            styles.append(style)
        headings.append(_Heading(styles.index(style) + 1, title, index + 1, last))
        index = last
    return headings


def _overlined(lines: list[str], index: int) -> tuple[str, int, tuple[str, bool]] | None:
    """Read a title between two equal adornments that starts at ``index``."""
    if index + 2 >= len(lines) or not _starts_block(lines, index, 0):
        return None
    over, title, under = lines[index].rstrip(), lines[index + 1].strip(), lines[index + 2].rstrip()
    if not over or over != under or not _ADORNMENT.fullmatch(over) or not title:
        return None
    if _ADORNMENT.fullmatch(title) or _too_short(over, title):
        return None
    return title, index + 3, (over[0], True)


def _underlined(lines: list[str], index: int, previous: int) -> tuple[str, int, tuple[str, bool]] | None:
    """Read a title at ``index`` with an adornment below."""
    if index + 1 >= len(lines):
        return None
    title, under = lines[index].rstrip(), lines[index + 1].rstrip()
    if not under or not title or title[0].isspace() or not _ADORNMENT.fullmatch(under) or _too_short(under, title):
        return None
    if _ADORNMENT.fullmatch(title) or title.startswith((".. ", "+-", "+=", "| ", ">>> ")):
        return None
    return (title, index + 2, (under[0], False)) if _starts_block(lines, index, previous) else None


def _starts_block(lines: list[str], index: int, previous: int) -> bool:
    """Tell whether a title may stand here: a line that goes on with a paragraph is none."""
    if index == 0 or index == previous:
        return True
    above = lines[index - 1]
    return not above.strip() or above[0].isspace() or above.startswith("..")


def _too_short(adornment: str, title: str) -> bool:
    """Judge as docutils does: an adornment shorter than its title passes from four characters on."""
    width = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in title)
    return len(adornment) < width and len(adornment) < 4


def _markdown_headings(lines: list[str]) -> list[_Heading]:
    headings: list[_Heading] = []
    fence = ""
    paragraph: int | None = None  # index of the first line of the paragraph being read
    first = index = _front_matter_end(lines)
    while index < len(lines):
        line = lines[index]
        fence, fenced = _fence_state(line, fence)
        if fenced or fence:
            paragraph = None
        elif (atx := _ATX.fullmatch(line)) and atx[2]:
            headings.append(_Heading(len(atx[1]), atx[2].strip(), index + 1, index + 1))
            paragraph = None
        elif paragraph is not None and (setext := _SETEXT.fullmatch(line)):
            title = " ".join(part.strip() for part in lines[paragraph:index])
            headings.append(_Heading(1 if setext[1][0] == "=" else 2, title, paragraph + 1, index + 1))
            paragraph = None
        elif not line.strip():
            paragraph = None
        elif paragraph is None and not _NOT_PARAGRAPH.match(line) and not _SETEXT.fullmatch(line):
            starts = index == first or not lines[index - 1].strip() or _ends_heading(headings, index)
            paragraph = index if starts else None
        index += 1
    return headings


def _ends_heading(headings: list[_Heading], index: int) -> bool:
    return bool(headings) and headings[-1].last == index


def _fence_state(line: str, fence: str) -> tuple[str, bool]:
    """Follow fenced code: the fence now open, and whether this line opens or closes one."""
    match = _FENCE.fullmatch(line)
    if not match:
        return fence, False
    mark, rest = match[1], match[2]
    if not fence:
        opens = mark[0] == "~" or "`" not in rest
        return (mark, True) if opens else ("", False)
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and not rest.strip()
    return ("", True) if closes else (fence, False)


def _front_matter_end(lines: list[str]) -> int:
    """Skip the settings between two ``---`` lines that some sites put on top of a page."""
    if lines and lines[0].rstrip() == "---":
        for index in range(1, min(len(lines), 200)):
            if lines[index].rstrip() in {"---", "..."}:
                return index + 1
    return 0

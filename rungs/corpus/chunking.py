"""Rung 1 and the ground of rung 2: what is one search result?

``how="windows"`` (rung 1) cuts every file into windows of 1000 characters that overlap by 200, whatever they cut
through. ``how="symbols"`` (rung 2) cuts along what the source says: functions, methods, the header of a type, module
code between them, sections of documents. It fixes that an answer lies half in one window and half in the next, and that
a result has no name.

An embedder reads only so many tokens of a chunk and drops the rest in silence. So nothing is embedded that does not
fit: what is longer is cut at statements or paragraphs, and each later part repeats the signature or heading it belongs
to. A type also keeps one chunk for all of it: signature, docstring and the list of its members.

What it does not fix: a chunk knows nothing about what it calls or who calls it.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from rungs.corpus.cutting import cut, slices, windows
from rungs.corpus.outline import Outline, Symbol, text_breaks
from rungs.corpus.prose_outline import SEPARATOR
from rungs.corpus.symbols import outline_of
from rungs.corpus.walk import SourceFile

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

__all__ = ["CHUNKER_VERSION", "Chunk", "TokenCounter", "chunk_files"]

CHUNKER_VERSION = "1"
"""Changes whenever the same files would give other chunks; an index built with another one is rebuilt."""

TokenCounter = Callable[[list[str]], list[int]]
"""Counts the tokens of each text, with the special tokens the model adds."""

_MIN_TOKENS = 32
_SMALL_RUN = 5  # comment lines after a definition that are not worth a chunk of their own
_CLOSING = re.compile(r"[\s)\]};,]*")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Chunk:
    """One search result before it is indexed.

    Attributes
    ----------
    node
        What is shown: text exactly as in the lines its metadata names. ``id_`` is path, symbol and ordinal.
    embed_text
        What the embedder reads: path and symbol, signature, docstring, body; never longer than the model reads.
    lexical_text
        What the lexical index tokenises: path, symbol and text.
    """

    node: "TextNode"
    embed_text: str
    lexical_text: str


def chunk_files(
    files: Iterable[SourceFile],
    how: Literal["symbols", "windows"] = "symbols",
    *,
    max_tokens: int = 256,
    count_tokens: TokenCounter,
    warnings: list[str] | None = None,
) -> list[Chunk]:
    """Cut files into chunks.

    Parameters
    ----------
    files
        In the order the chunks should come.
    how
        ``"symbols"``, or ``"windows"`` for the plain windows of rung 1. Those are naive on purpose: they are embedded
        as they are, without path or name, and what the model does not read of them is lost.
    max_tokens
        Longest text the model reads, special tokens included; at least 32.
    count_tokens
        Counts tokens of a batch of texts, special tokens included, without truncation.
    warnings
        Collects one line per file that could not be read as its language and fell back to windows. They are logged
        as well.

    Returns
    -------
    list of Chunk
        By file, then by line; ids are unique and depend on nothing but path, symbol and order within the file.

    Raises
    ------
    ValueError
        If ``how`` is unknown or ``max_tokens`` is too small to hold a name and some text.
    """
    if how == "windows":
        return [chunk for file in files for chunk in _finished(file, _plain_windows(file))]
    if how != "symbols":
        raise ValueError(f"how={how!r}: choose 'symbols' or 'windows'")
    if max_tokens < _MIN_TOKENS:
        raise ValueError(f"max_tokens={max_tokens} leaves no room for text: use at least {_MIN_TOKENS}")
    budget = _Budget(max_tokens, count_tokens)
    sources = []
    for file in files:
        outline = outline_of(file)
        if outline.problem:
            _warn(f"{file.path}: {outline.problem}; cut into windows instead", warnings)
        sources.append(_Source(file, file.lines, outline))
    _count_names(sources, budget)
    planned = [piece for source in sources for piece in _plan(source, budget)]
    by_file: dict[str, list[_Piece]] = defaultdict(list)
    for piece in _fitted(planned, budget):
        by_file[piece.source.file.path].append(piece)
    return [chunk for source in sources for chunk in _finished(source.file, by_file[source.file.path])]


class _Source:
    """A file with its lines and outline; where it may be cut is worked out only if it must be."""

    def __init__(self, file: SourceFile, lines: list[str], outline: Outline) -> None:
        self.file = file
        self.lines = lines
        self.outline = outline
        self._breaks: list[float] | None = None

    @property
    def breaks(self) -> list[float]:
        if self._breaks is None:
            self._breaks = self.outline.breaks()
        return self._breaks

    def text(self, first: int, last: int) -> str:
        return "\n".join(self.lines[first - 1 : last])

    def has_text(self, first: int, last: int) -> bool:
        return any(line.strip() for line in self.lines[first - 1 : last])

    def has_code(self, first: int, last: int) -> bool:
        """Tell whether lines of Python hold more than comments."""
        return any(line.strip() and not line.lstrip().startswith("#") for line in self.lines[first - 1 : last])

    def trimmed(self, first: int, last: int) -> tuple[int, int]:
        """Leave out blank lines at both ends of a run that is not all blank."""
        while first < last and not self.lines[first - 1].strip():
            first += 1
        while last > first and not self.lines[last - 1].strip():
            last -= 1
        return first, last


@dataclass(frozen=True, slots=True)
class _Piece:
    """A chunk in the making.

    ``first`` to ``last`` are the lines it embeds, ``shown`` those it shows: comments above a Python definition or the
    brace that closes a class are embedded with it and no part of it. ``text`` overrides both for a part of one line.
    """

    source: _Source
    symbol: str
    first: int
    last: int
    shown: tuple[int, int]
    name: str = ""  # path and symbol as embedded, clipped to leave room for the body
    signature: str = ""  # repeated by later parts
    continued: bool = False
    members: str = ""  # of a type
    text: str | None = None
    embedded: str | None = None  # the whole embedded text, where it is no plain run of lines
    doc_end: int = 0
    order: int = field(default=1, compare=False)
    squeeze: float = 1.0  # shrinks the bound where a tokenizer counts lines together higher than one by one

    @property
    def embed_text(self) -> str:
        if self.embedded is not None:
            return self.embedded
        body = self.source.text(self.first, self.last) if self.text is None else self.text
        head = [self.name, self.signature] if self.continued and self.signature else [self.name]
        tail = [self.members] if self.members else []
        return "\n".join([*(part for part in head if part), body, *tail])

    @property
    def shown_text(self) -> str:
        return self.source.text(*self.shown) if self.text is None else self.text


class _Budget:
    """Counts tokens in batches and remembers lines: code repeats itself, and most lines are seen many times."""

    def __init__(self, max_tokens: int, count_tokens: TokenCounter) -> None:
        self._count = count_tokens
        self._known: dict[str, int] = {}
        self.max_tokens = max_tokens
        self.special, joined, one, other = count_tokens(["", "a\nb", "a", "b"])
        self.room = max_tokens - self.special
        # Some tokenizers count line ends: then a line is counted with its own.
        self._line_end = "\n" if joined + self.special > one + other else ""

    def totals(self, texts: list[str]) -> list[int]:
        """Count whole texts, special tokens included.

        Lines counted one by one give an estimate (exact for WordPiece, a little high for SentencePiece); only a text
        that it puts near the limit is counted whole.
        """
        self.sizes([line for text in texts for line in text.split("\n")])
        estimates = [sum(self.sizes(text.split("\n"))) + self.special for text in texts]
        near = range(int(self.max_tokens * 0.8), int(self.max_tokens * 1.3))
        unclear = [text for text, estimate in zip(texts, estimates, strict=True) if estimate in near]
        exact = dict(zip(unclear, self._count(unclear), strict=True)) if unclear else {}
        return [exact.get(text, estimate) for text, estimate in zip(texts, estimates, strict=True)]

    def sizes(self, lines: list[str]) -> list[int]:
        """Count lines without special tokens."""
        new = list({line for line in lines if line not in self._known and (self._line_end or line.strip())})
        if new:
            counts = self._count([line + self._line_end for line in new])
            self._known.update(zip(new, (count - self.special for count in counts), strict=True))
        return [self._known.get(line, 0) for line in lines]

    def clipped(self, text: str, limit: int) -> str:
        """Shorten a text to at most ``limit`` tokens, at a word if possible."""
        if len(text.encode()) <= limit or self.sizes([text])[0] <= limit:
            return text
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._count([text[:middle]])[0] - self.special <= limit else (low, middle - 1)
        space = text.rfind(" ", low // 2, low)
        return text[: space if space > 0 else low].rstrip()


def _count_names(sources: list["_Source"], budget: _Budget) -> None:
    """Count names and signatures of all files in one batch, before they are asked for one by one."""
    texts = []
    for source in sources:
        for symbol in source.outline.walk():
            texts += [f"{source.file.path} {symbol.name}", symbol.signature]
    budget.sizes([text for text in texts if len(text.encode()) > budget.room // 4])


def _warn(message: str, warnings: list[str] | None) -> None:
    _log.warning("%s", message)
    if warnings is not None:
        warnings.append(message)


# ---- What a file is made of -------------------------------------------------------------------------------------


def _plain_windows(file: SourceFile) -> list[_Piece]:
    """Rung 1: nothing but the text."""
    lines = file.lines
    source = _Source(file, lines, Outline((), lambda: text_breaks(lines)))
    return [
        _Piece(source, "", w.start_line, w.end_line, (w.start_line, w.end_line), text=w.text) for w in windows(lines)
    ]


def _plan(source: _Source, budget: _Budget) -> Iterator[_Piece]:
    """Yield the pieces a file falls into, before any is too long."""
    symbols = source.outline.symbols
    if not symbols:
        yield from _window_pieces(source, budget)
    elif symbols[0].kind == "section":
        yield from _section_pieces(source, budget)
    else:
        yield from _code_pieces(source, budget)


def _window_pieces(source: _Source, budget: _Budget) -> Iterator[_Piece]:
    if source.file.language == "python" and not source.outline.problem:
        # A Python file without definitions is all module code: statements are better places to cut than lengths.
        yield from _runs(source, budget, 1, len(source.lines), "", source.outline.title)
        return
    name = _name(source, "", budget)
    for w in windows(source.lines):
        whole = w.text == source.text(w.start_line, w.end_line)
        shown = (w.start_line, w.end_line)
        yield _Piece(source, "", *shown, shown, name=name, text=None if whole else w.text)


def _section_pieces(source: _Source, budget: _Budget) -> Iterator[_Piece]:
    sections = source.outline.symbols
    ends = [*(section.lead_line - 1 for section in sections[1:]), len(source.lines)]
    if sections[0].lead_line > 1:
        yield from _runs(source, budget, 1, sections[0].lead_line - 1, "", "")
    for section, end in zip(sections, ends, strict=True):
        yield from _runs(source, budget, section.lead_line, end, section.name, "")


def _code_pieces(source: _Source, budget: _Budget) -> Iterator[_Piece]:
    yield from _scope(source, budget, 1, len(source.lines), source.outline.symbols, "", source.outline.title)


def _scope(
    source: _Source,
    budget: _Budget,
    first: int,
    last: int,
    symbols: Iterable[Symbol],
    owner: str,
    signature: str,
) -> Iterator[_Piece]:
    """Yield the definitions in a scope and the runs of lines between them."""
    line = first
    blocks = _blocks(symbols, first)
    for position, (start, end, symbol) in enumerate(blocks):
        yield from _runs(source, budget, line, start - 1, owner, signature)
        limit = blocks[position + 1][0] - 1 if position + 1 < len(blocks) else last
        line = _end_with_trail(source, symbol.start_line, end, limit)
        yield from _definition(source, budget, start, end, line, symbol)
        line += 1
    yield from _runs(source, budget, line, last, owner, signature)


def _blocks(symbols: Iterable[Symbol], first: int) -> list[tuple[int, int, Symbol]]:
    """Give first line, last line and symbol of each definition; those that share a line become one."""
    blocks: list[tuple[int, int, Symbol]] = []
    for symbol in symbols:
        if symbol.kind == "assignment":
            continue
        if blocks and symbol.start_line <= blocks[-1][1]:
            start, end, earlier = blocks[-1]
            merged = replace(earlier, end_line=max(end, symbol.end_line), children=(), kind="function")
            blocks[-1] = (start, max(end, symbol.end_line), merged)
            continue
        above = blocks[-1][1] + 1 if blocks else first
        blocks.append((min(max(symbol.lead_line, above), symbol.start_line), symbol.end_line, symbol))
    return blocks


def _end_with_trail(source: _Source, start: int, end: int, limit: int) -> int:
    """Take in the closing brackets or last comments below a definition, which mean nothing alone."""
    python = source.file.language == "python"
    indent = _indent(source.lines[start - 1])
    last = end
    for number in range(end + 1, min(limit, end + _SMALL_RUN) + 1):
        line = source.lines[number - 1]
        if not line.strip():
            continue
        if python:
            comment = line.lstrip().startswith("#")
            belongs = comment and (_indent(line) > indent or not source.has_code(number, limit))
        else:
            belongs = bool(_CLOSING.fullmatch(line))
        if not belongs:
            break
        last = number
    return last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _definition(source: _Source, budget: _Budget, first: int, end: int, last: int, symbol: Symbol) -> Iterator[_Piece]:
    """Yield the pieces of one definition that embeds ``first`` to ``last`` and ends at ``end``."""
    start = first if source.outline.lead_shown else symbol.start_line
    name = _name(source, symbol.name, budget)
    signature = budget.clipped(symbol.signature, budget.room // 4)
    inner = [child for child in symbol.children if child.kind != "assignment"]
    is_type = symbol.kind not in {"function", "method", "constant"}
    if not is_type or (inner and min(child.lead_line for child in inner) <= symbol.start_line):
        yield _Piece(source, symbol.name, first, last, (start, end), name=name, signature=signature)
        return
    header_end = _header_end(source, inner, start, end)
    members = f"members: {', '.join(sorted(symbol.members, key=_rank))}" if symbol.members else ""
    yield _Piece(
        source,
        symbol.name,
        first,
        header_end if inner else last,
        (start, header_end),
        name=name,
        signature=signature,
        members=members,
        doc_end=min(max(symbol.doc_end, symbol.start_line), header_end),
        order=0,
    )
    if inner:
        yield from _scope(source, budget, header_end + 1, last, inner, symbol.name, signature)


def _rank(member: str) -> tuple[bool, bool]:
    """Order members so that a list cut short keeps the telling ones: public first, then methods before attributes."""
    return member.startswith(("_", "#")), "(" not in member


def _header_end(source: _Source, inner: list[Symbol], start: int, end: int) -> int:
    if not inner:
        return end
    return source.trimmed(start, max(start, min(child.lead_line for child in inner) - 1))[1]


def _runs(source: _Source, budget: _Budget, first: int, last: int, symbol: str, signature: str) -> Iterator[_Piece]:
    """Yield the lines between definitions, or a section, as one piece; nothing if they are blank."""
    if first > last or not source.has_text(first, last):
        return
    first, last = source.trimmed(first, last)
    name = _name(source, symbol, budget)
    yield _Piece(source, symbol, first, last, (first, last), name=name, signature=budget.clipped(signature, 40))


def _name(source: _Source, symbol: str, budget: _Budget) -> str:
    """Write path and symbol on one line; a long heading path keeps its end, which says most."""
    limit = budget.room // 3
    text = f"{source.file.path} {symbol}".strip()
    parts = symbol.split(SEPARATOR)
    while len(parts) > 1 and len(text.encode()) > limit and budget.sizes([text])[0] > limit:
        parts.pop(0)
        text = f"{source.file.path} {SEPARATOR.join(parts)}"
    return budget.clipped(text, limit)


# ---- Making them fit --------------------------------------------------------------------------------------------


def _fitted(planned: list[_Piece], budget: _Budget) -> list[_Piece]:
    """Cut what is too long, in rounds, so that tokens are counted in few large batches."""
    done: list[_Piece] = []
    pending = planned
    while pending:
        totals = budget.totals([piece.embed_text for piece in pending])
        long = [(piece, total) for piece, total in zip(pending, totals, strict=True) if total > budget.max_tokens]
        done += [piece for piece, total in zip(pending, totals, strict=True) if total <= budget.max_tokens]
        budget.sizes([piece.signature for piece, _ in long])
        pending = [part for piece, total in long for part in _split(piece, total, budget)]
    return done


def _split(piece: _Piece, total: int, budget: _Budget) -> list[_Piece]:
    """Make one piece that is too long into several that should fit."""
    if piece.embedded is not None:
        return [_relisted(piece, budget)]
    if piece.members:
        return _split_type(piece, budget)
    if piece.first == piece.last or piece.text is not None:
        return _split_line(piece, total, budget)
    return _split_lines(piece, piece.squeeze, budget)


def _split_type(piece: _Piece, budget: _Budget) -> list[_Piece]:
    """Make the header of a type into one chunk for the whole type, and parts for what that one has no room for."""
    source = piece.source
    taken = budget.sizes([piece.name])[0]
    documented = sum(budget.sizes(source.lines[piece.first - 1 : piece.doc_end]))
    header = documented + sum(budget.sizes(source.lines[piece.doc_end : piece.last]))
    room = budget.room - taken
    bare = replace(piece, members="", order=1)
    if header <= room * 0.9 or (documented <= room * 0.75 and not source.has_text(piece.doc_end + 1, piece.last)):
        return [_listing(piece, piece.last, room - header, budget)]
    if documented <= room * 0.75:
        whole = replace(piece, shown=(piece.shown[0], piece.doc_end))
        first, last = source.trimmed(piece.doc_end + 1, piece.last)
        rest = replace(bare, first=first, last=last, shown=_within(first, last, piece.shown), continued=True)
        return [_listing(whole, piece.doc_end, room - documented, budget), rest]
    whole = replace(piece, shown=(piece.shown[0], piece.doc_end))
    # Cut shorter than the whole type's chunk shows, so that no part is the same lines again.
    return [_summary(whole, room, budget), *_split_lines(bare, 0.7, budget)]


def _listing(piece: _Piece, last: int, room: int, budget: _Budget) -> _Piece:
    """Embed the lines up to ``last``, then as many members as there is room for."""
    members = budget.clipped(piece.members, max(0, room - 2))
    text = "\n".join([piece.name, piece.source.text(piece.first, last), members])
    return replace(piece, embedded=text, last=last, members="", squeeze=piece.squeeze * 0.8)


def _relisted(piece: _Piece, budget: _Budget) -> _Piece:
    """Shorten a type's chunk that came out too long all the same: no members, or less of the docstring."""
    lines = piece.source.text(piece.first, piece.last)
    if piece.embedded is not None and piece.embedded.startswith(f"{piece.name}\n{lines}"):
        return replace(piece, embedded=None)
    text = budget.clipped(piece.embed_text, int(budget.room * 0.9 * piece.squeeze))
    return replace(piece, embedded=text, squeeze=piece.squeeze * 0.8)


def _summary(piece: _Piece, room: int, budget: _Budget) -> _Piece:
    """Embed the beginning of a long docstring, then the members."""
    text = budget.clipped(piece.source.text(piece.first, piece.doc_end), int(room * 0.6))
    members = budget.clipped(piece.members, int(room * 0.35))
    return replace(piece, embedded="\n".join([piece.name, text, members]), members="")


def _split_lines(piece: _Piece, squeeze: float, budget: _Budget) -> list[_Piece]:
    source = piece.source
    taken = budget.sizes([piece.name, piece.signature])
    first = int((budget.room - taken[0] - (taken[1] if piece.continued else 0)) * squeeze)
    rest = int((budget.room - sum(taken)) * squeeze)
    sizes = budget.sizes(source.lines[piece.first - 1 : piece.last])
    costs = source.breaks[piece.first - 1 : piece.last]
    ranges = cut(sizes, costs, max(1, first), max(1, rest))
    parts = []
    for start, end in ranges:
        if not source.has_text(piece.first + start, piece.first + end - 1):
            continue
        a, b = source.trimmed(piece.first + start, piece.first + end - 1)
        continued = piece.continued or bool(parts)
        parts.append(
            replace(
                piece, first=a, last=b, shown=_within(a, b, piece.shown), continued=continued, squeeze=squeeze * 0.8
            )
        )
    return parts


def _within(first: int, last: int, shown: tuple[int, int]) -> tuple[int, int]:
    """Give the lines of a part that its whole shows; a part of nothing but comments shows them."""
    start, end = max(first, shown[0]), min(last, shown[1])
    return (start, end) if start <= end else (first, last)


def _split_line(piece: _Piece, total: int, budget: _Budget) -> list[_Piece]:
    """Cut a single line that is too long; the signature is left out if it takes what room there is."""
    text = piece.source.text(piece.first, piece.last) if piece.text is None else piece.text
    taken = sum(budget.sizes([piece.name, *([piece.signature] if piece.continued else [])]))
    body = max(1, total - budget.special - taken)
    size = max(1, int(len(text) * (budget.room - taken) / body * 0.9 * piece.squeeze))
    parts = slices(text, min(size, max(1, len(text) - 1)))
    if len(text) <= 1:
        return []
    return [replace(piece, text=part, squeeze=piece.squeeze * 0.8) for part in parts if part.strip()]


# ---- Finishing --------------------------------------------------------------------------------------------------


def _finished(file: SourceFile, pieces: list[_Piece]) -> list[Chunk]:
    """Number the pieces of a file and make chunks of them; the same text of the same lines is kept once."""
    from llama_index.core.schema import TextNode

    chunks: list[Chunk] = []
    ordinals: dict[str, int] = defaultdict(int)
    seen: set[tuple[int, int, str]] = set()
    for piece in sorted(pieces, key=lambda item: (item.shown[0], item.order, item.shown[1])):
        text = piece.shown_text
        if (*piece.shown, text) in seen:
            continue
        seen.add((*piece.shown, text))
        node = TextNode(
            id_=f"{file.path}::{piece.symbol}#{ordinals[piece.symbol]}",
            text=text,
            metadata={
                "path": file.path,
                "symbol": piece.symbol,
                "start_line": piece.shown[0],
                "end_line": piece.shown[1],
                "category": file.category,
                "language": file.language,
            },
        )
        ordinals[piece.symbol] += 1
        chunks.append(Chunk(node, piece.embed_text, "\n".join([file.path, piece.symbol, text])))
    return chunks

"""What a corpus calls things: which names it defines, and which words are identifiers there.

A router that can see this need not guess from the shape of a query whether it is a name. Definitions come from the same
syntax trees as chunks and labels; words count as identifiers where the code uses them as such (not in its prose: comments
and docstrings), or where a document sets them as code.
"""

import ast
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from rungs.corpus.chunking import Chunk
from rungs.corpus.outline import Symbol
from rungs.corpus.prose_outline import SEPARATOR
from rungs.corpus.symbols import symbols
from rungs.corpus.walk import SourceFile

__all__ = ["NAMES_VERSION", "Definition", "Names", "names_of"]

NAMES_VERSION = "2"
"""Changes when the same files would give other names; an index built with another version is built again."""

_WORD = re.compile(r"[^\W\d]\w*")
# A comment that never ends goes on to the end, and no text begins at an escaped quote: both keep the time linear.
_SCRIPT_PROSE = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|(?<!\\)\"(?:\\.|[^\"\\\n])*\"|(?<!\\)'(?:\\.|[^'\\\n])*'", re.DOTALL
)
# What a document sets as code. In reStructuredText single backquotes without a role are links and emphasis.
_LITERALS = {
    "rst": re.compile(r"``([^`\n]+)``|:(?!ref|doc|term|program|rfc|pypi)[\w:]{1,80}:`~?([^`\n<>]+)`"),
    "markdown": re.compile(r"``([^`\n]+)``|(?<!`)`([^`\n]+)`(?!`)"),
}
_MARKUP = re.compile(r"^(?::[\w:]+:)?`+~?([^`\s]+)`+$")
_TERM = re.compile(r"^(?:--?|\$|\.)?[^\W\d][\w.\-:/]*(?:\(\))?$")
_NAMELIKE = re.compile(r"(?<![\w.\-/_])([A-Za-z]+(?:-[A-Za-z]+)+|(?=[A-Za-z]*[a-z][A-Z])[A-Za-z]+)(?![\w\-/(=]|\.\w)")
_BOUNDARY = re.compile(r"[_.\-:/]|[a-z\d][A-Z]")
_LONGEST = 80
_FIRST = 8


class Definition(NamedTuple):
    """One place that defines a name.

    Attributes
    ----------
    module
        Dotted path of the file, as far as the path tells: ``celery.app.task``; empty for a section of a document.
    symbol
        Dotted name within it: ``Task.retry``. Of a section its heading, where that is a name: ``broker_url``.
    category
        Of its file: ``code``, ``test``, ``doc``, ``config``.
    ids
        The chunks that hold it, in order.
    """

    module: str
    symbol: str
    category: str
    ids: list[str]


@dataclass(frozen=True)
class Names:
    """What `names_of` returns.

    Attributes
    ----------
    definitions
        By file, then by line.
    identifiers
        Words that the corpus uses as names, as they are written.
    words
        Words of its documents that look like names and are none here: ``PostgreSQL``, ``real-time``.
    files
        By path: category, and the first chunks.
    """

    definitions: list[Definition]
    identifiers: list[str]
    words: list[str]
    files: list[tuple[str, str, list[str]]]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {name: getattr(self, name) for name in ("definitions", "identifiers", "words", "files")}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Names":
        """What `to_dict` described."""
        files = [(path, category, ids) for path, category, ids in data["files"]]
        return cls([Definition(*row) for row in data["definitions"]], data["identifiers"], data["words"], files)


def names_of(files: Iterable[SourceFile], chunks: Iterable[Chunk]) -> Names:
    """Collect the names of a corpus.

    Parameters
    ----------
    files
        Its files.
    chunks
        How they were cut, so that a definition can be given as chunks.

    Returns
    -------
    Names
        A type is held by the chunks of its header alone, a section by its own text without its subsections.
    """
    by_path: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_path.setdefault(chunk.node.metadata["path"], []).append(chunk)
    definitions: list[Definition] = []
    identifiers: set[str] = set()
    words: set[str] = set()
    known: list[tuple[str, str, list[str]]] = []
    for file in files:
        own = by_path.get(file.path, [])
        known.append((file.path, file.category, [chunk.node.id_ for chunk in own[:_FIRST]]))
        for item in symbols(file):
            if (symbol := _term(item.name) if item.kind == "section" else item.name) is None:
                continue
            holding = _holding(item, own)
            if holding:
                module = "" if item.kind == "section" else _module(file.path)
                definitions.append(Definition(module, symbol, file.category, holding))
        identifiers |= _identifiers(file)
        if pattern := _LITERALS.get(file.language):
            words.update(match[1] for match in _NAMELIKE.finditer(pattern.sub(" ", file.text)))
    return Names(definitions, sorted(identifiers), sorted(words - identifiers), known)


_VALUES = frozenset({"constant", "assignment"})
_ATOMS = frozenset({"function", "method", *_VALUES})


def _holding(item: Symbol, chunks: Iterable[Chunk]) -> list[str]:
    """The chunks of a definition: of a function from its head on; of an assignment the fullest first, as its first line
    may stand in a chunk of other things."""
    shared: dict[str, int] = {}
    for chunk in chunks:
        data = chunk.node.metadata
        lines = min(data["end_line"], item.end_line) - max(data["start_line"], item.start_line) + 1
        if lines > 0 and (item.kind in _ATOMS or data["symbol"] == item.name):
            shared[chunk.node.id_] = lines
    return sorted(shared, key=lambda name: -shared[name]) if item.kind in _VALUES else list(shared)


def _term(heading: str) -> str | None:
    """The title of a section, where that is one term."""
    title = heading.rsplit(SEPARATOR, 1)[-1].strip()
    marked = _MARKUP.match(title)
    term = marked[1] if marked else title
    return term if _TERM.match(term) and (marked or "_" in term) else None


def _module(path: str) -> str:
    parts = [part for part in re.sub(r"\.\w+$", "", path).split("/") if part]
    return ".".join(parts[:-1] if parts[-1] in ("__init__", "index") else parts)


def _identifiers(file: SourceFile) -> set[str]:
    if file.language == "python":
        found = _python_identifiers(file.text)
    elif file.language in _LITERALS:
        texts = (next(filter(None, match.groups())) for match in _LITERALS[file.language].finditer(file.text))
        found = {term for text in texts for term in text.split() if _TERM.match(term)}
    elif file.category == "code":
        found = set(_WORD.findall(_SCRIPT_PROSE.sub(" ", file.text)))
    else:
        found = set()
    return {word for word in found if len(word) <= _LONGEST}


def _python_identifiers(text: str) -> set[str]:
    """Names that the syntax tree holds, and string constants that are one term with a boundary in it (a setting's key)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are the corpus's business
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg) or (isinstance(node, ast.keyword) and node.arg):
            found.add(str(node.arg))
        elif isinstance(node, ast.alias):
            found.update((node.name, node.asname or node.name))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_key(node.value):
            found.add(node.value)
    return found


def _is_key(text: str) -> bool:
    return len(text) <= _LONGEST and bool(_TERM.match(text) and _BOUNDARY.search(text))

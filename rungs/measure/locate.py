"""Where in the corpus a retrieved node comes from, whoever made the node.

A golden label is a span of lines; a hit is anybody's node. Between them stands this module: our own chunks say their
lines, stock LlamaIndex nodes say a file and character offsets, others only hold a text. A node that cannot be placed is
an error that names it. It is never counted as a miss: an instrument that quietly misses everything looks like a bad
retriever.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from llama_index.core.schema import BaseNode, MetadataMode, NodeRelationship

from rungs.errors import RunError

if TYPE_CHECKING:
    from rungs.corpus import Corpus

__all__ = ["Location", "Locator", "locate"]

_PATH_KEYS = ("path", "file_path", "filename", "file_name", "source")


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the corpus: lines are 1-based and inclusive, or ``None`` when only the file is known."""

    path: str
    start_line: int | None = None
    end_line: int | None = None


def locate(node: BaseNode, corpus: "Corpus") -> Location:
    """Place one node; use a `Locator` for many.

    Examples
    --------
    A node with metadata ``{"path": "a.py", "start_line": 3, "end_line": 9}`` is at ``Location("a.py", 3, 9)``.
    """
    return Locator(corpus).locate(node)


class Locator:
    """Places nodes in one corpus.

    In this order: the lines in the node's metadata (``path``, ``start_line``, ``end_line``); the file it names and its
    character offsets, where the file's text at those offsets is the node's text; the node's text wherever it stands in
    that file, exactly or but for white space; the offsets alone; the file alone. A path may be absolute, or shorter
    than the corpus' own: it is matched by its ending, and among several candidates the one that holds the text is
    taken; where more than one does, that is an error. A file that lies in the folder but is not searched here (an empty
    one, say) is a place where nothing right can be.

    Parameters
    ----------
    corpus
        What was searched.
    """

    def __init__(self, corpus: "Corpus") -> None:
        self._corpus = corpus
        self._endings: dict[str, list[str]] = {}
        for file in corpus.files:
            self._endings.setdefault(file.path.rsplit("/", 1)[-1], []).append(file.path)
        self._text = cache(self._read)
        self._squeeze = lru_cache(maxsize=16)(_squeeze)  # several times as large as the text itself

    def locate(self, node: BaseNode) -> Location:
        """Where ``node`` comes from.

        Raises
        ------
        RunError
            When it names no file of the corpus, several, or lines its file does not have.
        """
        content = node.get_content(metadata_mode=MetadataMode.NONE)
        path = node.metadata.get("path")
        stated = (node.metadata.get("start_line"), node.metadata.get("end_line"))
        if path and stated != (None, None):
            return self._stated(node, str(path), content)
        named = list(dict.fromkeys(_named_paths(node)))
        if not named:
            raise RunError(
                f"hit {node.node_id!r} says nothing about its file; give its metadata a 'path' (or 'file_path') "
                f"inside corpus {self._corpus.name!r}"
            )
        for name in named:
            candidates = self._candidates(name) or self._trimmed(name)
            places = [place for c in candidates if (place := self._within(c, node, content)) is not None]
            if len(places) > 1:
                raise self._foreign(node, name)
            if places:
                return places[0]
            if len(self._candidates(name)) == 1:
                return self._file_only(candidates[0], node, content)
        if (left_out := self._left_out(named)) is not None:
            return left_out
        raise self._foreign(node, named[0])

    def _stated(self, node: BaseNode, path: str, content: str) -> Location:
        known = self._candidates(path) or [t for t in self._trimmed(path) if self._text(t).opens(content)]
        if len(known) != 1:
            raise self._foreign(node, path)
        start, end, last = node.metadata.get("start_line"), node.metadata.get("end_line"), self._text(known[0]).lines
        if not (_is_line(start) and _is_line(end) and 1 <= start <= end <= last):
            raise RunError(
                f"hit {node.node_id!r} claims lines {start!r}-{end!r} of {known[0]}, which has {last}; "
                "index the corpus again"
            )
        return Location(known[0], start, end)

    def _within(self, path: str, node: BaseNode, content: str) -> Location | None:
        """The lines of ``path`` whose text is the node's; where the text occurs twice, the offsets decide."""
        if not content.strip():
            return None
        file, offsets = self._text(path), _offsets(node)
        if offsets and file.text[slice(*offsets)].strip() == content.strip():
            return file.location(*offsets)
        found = file.find(content) or file.find_squeezed(content, self._squeeze(file.text))
        return file.location(*found) if found else None

    def _file_only(self, path: str, node: BaseNode, content: str) -> Location:
        """The text is not in the one file that is meant: believe the offsets, or the name."""
        file, offsets = self._text(path), _offsets(node)
        # a text that was rewritten (a summary, a context line put before it) still has its source's offsets
        if offsets and content.strip() and offsets[1] <= len(file.text):
            return file.location(*offsets)
        return Location(path)

    def _left_out(self, named: list[str]) -> Location | None:
        """A file that lies in the corpus' folder and is none of its files, being empty or generated: no label is in it."""
        root = self._corpus.root.resolve()
        for path in ((root / name).resolve() for name in named if "\0" not in name):
            if path.is_relative_to(root) and path.is_file() and not self._candidates(path.relative_to(root).as_posix()):
                return Location(path.relative_to(root).as_posix())
        return None

    def _foreign(self, node: BaseNode, path: str) -> RunError:
        several = len(self._candidates(path))
        trouble = f"could be any of {several} files of" if several else "is not a file of"
        return RunError(
            f"hit {node.node_id!r} names {path!r}, which {trouble} corpus {self._corpus.name!r}; "
            "search the same corpus, and give paths relative to it"
        )

    def _candidates(self, path: str) -> list[str]:
        """Corpus paths that ``path`` may mean: itself, else those that end in it."""
        if self._corpus.get(path) is not None:  # as it is: a file name may hold a backslash
            return [path]
        parts = _parts(path)
        if self._corpus.get("/".join(parts)) is not None:
            return ["/".join(parts)]
        ending = "/" + "/".join(parts)
        return [known for known in self._endings.get(parts[-1], ()) if known.endswith(ending)] if parts else []

    def _trimmed(self, path: str) -> list[str]:
        """The corpus path that is the longest proper ending of ``path`` (absolute, or under one more folder).

        A file outside the corpus can end alike (any ``README.md``), so this is believed only where the text agrees.
        """
        parts = _parts(path)
        tails = ("/".join(parts[start:]) for start in range(1, len(parts)))
        return [tail for tail in tails if self._corpus.get(tail) is not None][:1]

    def _read(self, path: str) -> "_Text":
        file = self._corpus.get(path)
        if file is None:
            raise RunError(f"corpus {self._corpus.name!r} does not hold {path!r}; index that corpus")
        return _Text(path, file.text)


class _Text:
    """A file's text and where its lines start."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.lines = text.count("\n") + 1

    @cached_property
    def _starts(self) -> array:
        return array("L", (0, *(match.end() for match in re.finditer("\n", self.text))))

    def location(self, start: int, end: int) -> Location:
        """The lines of the non-blank characters in ``[start, end)``."""
        piece = self.text[start:end]
        lead = len(piece) - len(piece.lstrip())
        first, last = start + lead, start + max(len(piece.rstrip()), lead + 1) - 1
        return Location(self.path, bisect_right(self._starts, first), bisect_right(self._starts, last))

    def find(self, content: str) -> tuple[int, int] | None:
        """Where ``content`` stands but for blank edges, or ``None``."""
        wanted = content.strip()
        at = self.text.find(wanted)
        return (at, at + len(wanted)) if at >= 0 else None

    def find_squeezed(self, content: str, squeezed: tuple[str, array]) -> tuple[int, int] | None:
        """Where ``content`` stands but for white space anywhere, or ``None``."""
        kept, positions = squeezed
        wanted = "".join(content.split())
        at = kept.find(wanted)
        return (positions[at], positions[at + len(wanted) - 1] + 1) if at >= 0 else None

    def opens(self, content: str) -> bool:
        """Whether the first line of ``content`` stands somewhere in this file."""
        lines = content.strip().splitlines()
        return bool(lines) and lines[0].strip() in self.text


def _squeeze(text: str) -> tuple[str, array]:
    """The characters of a text that are not white space, and where each stands."""
    kept = [(i, c) for i, c in enumerate(text) if not c.isspace()]
    return "".join(c for _, c in kept), array("L", (i for i, _ in kept))


def _parts(path: str) -> list[str]:
    return [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]


def _is_line(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _offsets(node: BaseNode) -> tuple[int, int] | None:
    start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    return (start, end) if isinstance(start, int) and isinstance(end, int) and 0 <= start < end else None


def _named_paths(node: BaseNode) -> Iterator[str]:
    """Every name the node, or the document it was cut from, gives its file; the likeliest first."""
    source = node.relationships.get(NodeRelationship.SOURCE)
    for metadata in (node.metadata, getattr(source, "metadata", None) or {}):
        for key in _PATH_KEYS:
            if isinstance(metadata.get(key), str) and metadata[key].strip("/. "):
                yield metadata[key]
    for name in (node.ref_doc_id, node.node_id) if hasattr(node, "ref_doc_id") else (node.node_id,):
        # SimpleDirectoryReader(filename_as_id=True) names documents "path_part_0"; ours start with the path as well
        if name and ("/" in name or "." in name):
            yield name.rsplit("_part_", 1)[0]

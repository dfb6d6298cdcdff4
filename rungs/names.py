"""Looking a name up: exactly first, then ever more loosely.

Adds to rung 3: what the corpus itself calls things. A name that is defined is found where it is defined, whatever case it is
typed in, misspelt by a letter or two, or known only in part; a path gives its file; one that is not there is known not to be.

Does not fix: names that are made at run time, and what somebody calls a thing that the code calls otherwise.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

from rungs.tokenizer import fold, tokenize

__all__ = ["QUOTES", "Found", "NameTable", "bare_name"]


@dataclass(frozen=True, slots=True)
class Found:
    """What a name was found to mean.

    Attributes
    ----------
    ids
        The chunks that hold the definitions, likeliest first: of definitions in the code the first chunk of each, the
        second of each, and so on; then the same of those in documents, and in tests.
    how
        ``exact``, ``folded`` (but for case and separators), ``owner`` (that name, but of another class), ``part`` (a run
        of its words), ``alike`` (spelled nearly so), or ``absent``.
    names
        The dotted names that matched, for the reader.
    """

    ids: tuple[str, ...] = ()
    how: Literal["exact", "folded", "owner", "part", "alike", "absent"] = "absent"
    names: tuple[str, ...] = ()


_ORDER = {"code": 0, "doc": 1, "config": 2, "test": 3}
_PLACE = re.compile(r"(:\d+){1,2}$")  # task.py:625, as tools print it
_SEPARATORS = re.compile(r"::|->|[.#/]")
_NAMES_SHOWN = 3


class NameTable:
    """The definitions and identifiers of a corpus, for looking names up.

    Parameters
    ----------
    definitions
        Rows ``(module, symbol, category, chunk ids)``, as `rungs.corpus.names` makes them; any other source will do.
    identifiers
        Further words that are names in the corpus, as written there.
    words
        Words that only look like names, and stand in the prose of the corpus.
    files
        Rows ``(path, category, chunk ids)``: a path, or its ending, is a name too.

    Raises
    ------
    ValueError
        When a definition has not those four parts.

    Examples
    --------
    Without the rest of this project rows come from whatever lists definitions, say ``ast.walk`` over each file: module and
    symbol are dotted names, the category is ``code``, ``doc``, ``config`` or ``test``, and the ids are what your own chunks
    that hold the definition are called.

    >>> rows = [("app.task", "Task.retry", "code", ["task.py#4"]), ("app.pool", "Pool", "code", ["pool.py#1", "pool.py#2"])]
    >>> table = NameTable(rows)
    >>> table.find("task_retry")
    Found(ids=('task.py#4',), how='folded', names=('app.task.Task.retry',))
    >>> table.find("Pool").ids
    ('pool.py#1', 'pool.py#2')
    """

    def __init__(
        self,
        definitions: Iterable[tuple[str, str, str, Sequence[str]]] = (),
        identifiers: Collection[str] = (),
        words: Collection[str] = (),
        files: Iterable[tuple[str, str, Sequence[str]]] = (),
    ) -> None:
        rows = list(definitions)
        for row in rows:
            if len(row) != 4:
                raise ValueError(f"not a row (module, symbol, category, chunk ids): {row!r}; give all four parts")
        self._rows = [
            (f"{module}.{symbol}".lstrip("."), category, tuple(ids)) for module, symbol, category, ids in rows
        ]
        self._nesting = [symbol.count(".") for _, symbol, _, _ in rows]
        self._parts = [tuple(_SEPARATORS.split(name)) for name, _, _ in self._rows]
        self._identifiers = frozenset(identifiers)
        self.words = frozenset(words)
        self._exact: dict[str, list[int]] = {}
        self._folded: dict[str, list[int]] = {}
        for row, parts in enumerate(self._parts):
            self._exact.setdefault(parts[-1], []).append(row)
            self._folded.setdefault(_squeeze(parts[-1]), []).append(row)
        self._files: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {}
        for path, category, ids in files:
            self._files.setdefault(_last(path), []).append((path, category, tuple(ids)))
        self._endings = frozenset(_ending(name) for name in self._files) - {""}
        self._remembered = lru_cache(maxsize=4096)(self._look_up)  # a loose look-up takes some milliseconds

    @property
    def empty(self) -> bool:
        """Whether there is no name in it, so that none can be told to be absent."""
        return not (self._rows or self._identifiers)

    def knows(self, term: str) -> bool:
        """Whether the corpus defines or uses this word as a name, written exactly so."""
        bare = bare_name(term)
        used = bare in self._identifiers or term in self._identifiers
        return bool(bare) and (used or self.defines(bare) or bool(self._paths(bare)))

    def defines(self, term: str) -> bool:
        """Whether a definition is called so, exactly."""
        return bool(self._suffixed(_SEPARATORS.split(bare_name(term)), self._exact, str))

    def leads(self, term: str) -> bool:
        """Whether the code itself has a definition of this name at the top level of a module."""
        rows = self._exact.get(bare_name(term), [])
        return any(self._nesting[row] == 0 and _ORDER.get(self._rows[row][1]) == 0 for row in rows)

    def find(self, name: str) -> Found:
        """Look a name up: exactly, then ever more loosely; the first way that finds anything decides.

        Parameters
        ----------
        name
            Dotted or not, with or without ``()``, in any case; or a path, or the ending of one.
        """
        return self._remembered(name)

    def _look_up(self, name: str) -> Found:
        bare = bare_name(name)
        parts = [part for part in _SEPARATORS.split(bare) if part]
        if not parts:
            return Found()
        if rows := self._suffixed(parts, self._exact, str):
            return self._found(rows, "exact")
        if paths := self._paths(bare):
            return _found_files(paths)
        if rows := self._suffixed(parts, self._folded, _squeeze) or self._joined(bare):
            return self._found(rows, "folded")
        if bare in self._identifiers or name in self._identifiers:
            return Found()  # a name, only not one that is defined here
        if self._is_file_name(bare):
            return Found()  # a file, only not one of these
        if rows := self._alike(parts):
            return self._found(rows, "alike")
        if len(parts) > 1 and (rows := self._exact.get(parts[-1], [])):
            return self._found(rows, "owner")
        if rows := self._partial(parts):
            return self._found(rows, "part", keep_order=True)
        return Found()

    def _found(self, rows: Sequence[int], how: Any, keep_order: bool = False) -> Found:
        order = list(rows)
        if not keep_order:
            order.sort(key=self._rank)
        by_category: dict[str, list[tuple[str, ...]]] = {}
        for row in order:
            by_category.setdefault(self._rows[row][1], []).append(self._rows[row][2])
        tiers = sorted(by_category, key=lambda category: _ORDER.get(category, len(_ORDER)))
        ids = dict.fromkeys(name for category in tiers for name in _round_robin(by_category[category]))
        names = dict.fromkeys(self._rows[row][0] for row in order)
        return Found(tuple(ids), how, tuple(names)[:_NAMES_SHOWN])

    def _rank(self, row: int) -> tuple[int, int, str]:
        """Code before documents before tests; what stands at module level before what is nested."""
        name, category, _ = self._rows[row]
        return (_ORDER.get(category, len(_ORDER)), self._nesting[row], name)

    def _suffixed(self, parts: Sequence[str], by_last: Mapping[str, list[int]], key: Callable[[str], str]) -> list[int]:
        """Definitions whose name ends in these parts, or holds them in this order and ends in the last."""
        wanted = [key(part) for part in parts]
        rows = by_last.get(wanted[-1], []) if wanted and wanted[-1] else []  # of "--" nothing is left when it is folded
        if len(wanted) == 1:
            return list(rows)
        known = {row: [key(part) for part in self._parts[row]] for row in rows}
        ending = [row for row in rows if known[row][-len(wanted) :] == wanted]
        return ending or [row for row in rows if _in_order(wanted, known[row])]

    def _paths(self, bare: str) -> list[tuple[str, str, tuple[str, ...]]]:
        """Files of this path, or whose path ends in it."""
        wanted = _PLACE.sub("", bare.removeprefix("./"))
        return [file for file in self._files.get(_last(wanted), ()) if f"/{file[0]}".endswith(f"/{wanted}")]

    def _is_file_name(self, bare: str) -> bool:
        """Whether it ends as files here do, and nothing in the code is called like the ending, as in ``response.json``."""
        ending = _ending(_last(_PLACE.sub("", bare)))
        # not in documents: a heading that is a path ends so too
        called = any(self._rows[row][1] != "doc" for row in self._exact.get(ending[1:], ()))
        return ending in self._endings and not called

    def _joined(self, bare: str) -> list[int]:
        """``Task-retry`` or ``task_retry`` for ``Task.retry``: two last parts written as one."""
        squeezed = _squeeze(bare)
        return self._pairs.get(squeezed, []) if squeezed else []  # of "--" nothing is left

    @cached_property
    def _pairs(self) -> dict[str, list[int]]:
        pairs: dict[str, list[int]] = {}
        for row, parts in enumerate(self._parts):
            if len(parts) > 1:
                pairs.setdefault(_squeeze("".join(parts[-2:])), []).append(row)
        return pairs

    # loosely

    def _partial(self, parts: Sequence[str]) -> list[int]:
        """Definitions whose last part holds all words of the name, side by side; the fullest match first."""
        words = _words(parts[-1])
        if len("".join(words)) < _FEWEST_LETTERS:
            return []
        found = []
        for last in self._holding(words):
            known = self._word_lists[last]
            if _side_by_side(words, known):
                found.append((len(words) / len(known), last))
        best = sorted(found, key=lambda one: (-one[0], one[1]))
        return [row for _, last in best for row in sorted(self._exact[last], key=self._rank)]

    @cached_property
    def _word_lists(self) -> dict[str, list[str]]:
        return {last: _words(last) for last in self._exact}

    @cached_property
    def _by_word(self) -> dict[str, set[str]]:
        index: dict[str, set[str]] = {}
        for last, words in self._word_lists.items():
            for word in words:
                index.setdefault(word, set()).add(last)
        return index

    def _holding(self, words: Sequence[str]) -> set[str]:
        sets = [self._by_word.get(word, set()) for word in words]
        return set.intersection(*sets) if sets else set()

    def _alike(self, parts: Sequence[str]) -> list[int]:
        """Definitions spelled almost so: a letter or two wrong, more in a long name."""
        depth = min(len(parts), 2)
        wanted = ".".join(parts[-depth:])
        folded = fold(wanted)
        if len(folded) > _LONGEST:
            return []  # comparing two of those letter by letter takes minutes, and nobody mistyped one
        allowed = min(3, len(folded) // 7)
        if not allowed:
            return []
        near = _nearest(folded, self._trigrams(depth))
        distances = {name: _edits(folded, name, allowed) for name in near}
        best = min(distances.values(), default=allowed + 1)
        if best > allowed:
            return []
        spellings = self._spellings(depth)
        return [row for name, distance in distances.items() if distance == best for row in spellings[name]]

    def _spellings(self, depth: int) -> dict[str, list[int]]:
        return self._by_spelling[depth]

    @cached_property
    def _by_spelling(self) -> dict[int, dict[str, list[int]]]:
        found: dict[int, dict[str, list[int]]] = {1: {}, 2: {}}
        for row, parts in enumerate(self._parts):
            found[1].setdefault(fold(parts[-1]), []).append(row)
            if len(parts) > 1:
                found[2].setdefault(fold(".".join(parts[-2:])), []).append(row)
        return found

    def _trigrams(self, depth: int) -> dict[str, list[str]]:
        return self._by_trigram[depth]

    @cached_property
    def _by_trigram(self) -> dict[int, dict[str, list[str]]]:
        found: dict[int, dict[str, list[str]]] = {}
        for depth, spellings in self._by_spelling.items():
            index = found.setdefault(depth, {})
            for name in spellings:
                for piece in _pieces(name):
                    index.setdefault(piece, []).append(name)
        return found


_FEWEST_LETTERS = 6
_LONGEST = 256
_NEAREST = 40
QUOTES = "`'\"“”‘’«»<>[]{},;!?"
_AROUND = QUOTES + "()"
_SUFFIX = re.compile(r"['’]\w*$")  # what Turkish and English put after a name: Task.retry'nin, Celery's


def bare_name(term: str) -> str:
    """A term without quotes, parentheses, calls, a trailing full stop, or an ending after an apostrophe.

    >>> [bare_name(term) for term in ("`Task.retry`'nin", "(Task.retry)", "Task.retry(exc=e).", "@task")]
    ['Task.retry', 'Task.retry', 'Task.retry', 'task']
    """
    text = term.strip().strip(_AROUND).rstrip(".:")
    text = _SUFFIX.sub("", text).strip(_AROUND)
    return text.partition("(")[0].rstrip(".:").removeprefix("@")


def _squeeze(name: str) -> str:
    return re.sub(r"[\W_]+", "", fold(name))


def _words(name: str) -> list[str]:
    """The words inside one name, folded: ``HTTPServer_port`` is http, server, port."""
    return [token for token in tokenize(name.strip("_")) if "_" not in token][-_count(name) :]


def _count(name: str) -> int:
    """How many words a name has: `tokenize` gives the whole first where there is more than one."""
    tokens = [token for token in tokenize(name.strip("_")) if "_" not in token]
    return max(1, len(tokens) - 1) if len(tokens) > 1 and tokens[0] == "".join(tokens[1:]) else max(1, len(tokens))


def _in_order(wanted: Sequence[str], known: Sequence[str]) -> bool:
    left = iter(known)
    return known[-1] == wanted[-1] and all(part in left for part in wanted)


def _side_by_side(words: Sequence[str], known: Sequence[str]) -> bool:
    n = len(words)
    return any(list(known[i : i + n]) == list(words) for i in range(len(known) - n + 1))


def _pieces(name: str) -> set[str]:
    line = f" {name} "
    return {line[i : i + 3] for i in range(len(line) - 2)}


def _nearest(name: str, index: Mapping[str, Sequence[str]]) -> list[str]:
    """The names that share most three-letter pieces with this one."""
    shared: dict[str, int] = {}
    for piece in _pieces(name):
        for other in index.get(piece, ()):
            shared[other] = shared.get(other, 0) + 1
    likeness = {other: 2 * n / (len(other) + len(name)) for other, n in shared.items()}
    return sorted(likeness, key=lambda other: (-likeness[other], other))[:_NEAREST]


def _edits(a: str, b: str, most: int) -> int:
    """Letters to insert, drop, change or swap with their neighbour (optimal string alignment); ``most + 1`` for more."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        row = [i]
        for j, y in enumerate(b, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return min(last[-1], most + 1)


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _ending(name: str) -> str:
    """``.py`` of ``task.py``; nothing of ``.env``."""
    stem, dot, ending = name.rpartition(".")
    return dot + ending if stem else ""


def _found_files(files: Sequence[tuple[str, str, tuple[str, ...]]]) -> Found:
    """Their first chunks: of one file in order, of several the first of each, and so on; the code before the rest."""
    order = sorted(files, key=lambda file: (_ORDER.get(file[1], len(_ORDER)), file[0]))
    ids = order[0][2] if len(order) == 1 else _round_robin([ids for _, _, ids in order])
    return Found(tuple(ids), "exact", tuple(path for path, _, _ in order)[:_NAMES_SHOWN])


_CHUNKS_EACH = 4


def _round_robin(places: Sequence[Sequence[str]]) -> list[str]:
    """The head of every definition, then the second chunk of each, and so on."""
    rows = (place[i] for i in range(_CHUNKS_EACH) for place in places if i < len(place))
    return list(dict.fromkeys(rows))

"""Rung 3, the decision between its halves: which channel a query belongs to.

Adds to the channels: names are looked up, questions are searched. `looks_like_symbol` decides by the shape of the query
alone. A `Router` that has been given the names of the corpus need not guess where it can know: a word that the code
defines is a name, however it looks, and ``real-time`` is none. It falls back to shape only for words it has never seen.

The two errors are not alike. A question taken for a name loses its answer; a name taken for a question only gains less
than it could. So what is doubtful is a question.

Does not fix: a name among questions that means something else there, and a question asked in one word.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle

from rungs.fusion import reciprocal_rank_fusion
from rungs.hits import make_hit
from rungs.tokenizer import fold, tokenize

__all__ = [
    "Answer",
    "DefinitionRetriever",
    "Found",
    "NameTable",
    "RegexRouter",
    "Route",
    "RoutedRetriever",
    "Router",
    "answer_routed",
    "definitions_first",
    "looks_like_symbol",
    "shaped_like_a_name",
]

_ONE_TERM = re.compile(r"[A-Za-z_][\w.\-/:]*")
_INNER = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9_][_.\-/:]")


def looks_like_symbol(query: str) -> bool:
    """Whether a query is one term with a boundary in it, or all capitals: the rule of the published router, a baseline.

    A single term of letters, digits and ``_ . - / :`` that begins with a letter or underscore, and holds a change from
    small to capital letters, one of those marks, or nothing but capitals.

    Examples
    --------
    >>> [looks_like_symbol(q) for q in ("handleAuthCallback", "retry_policy", "ENOENT", "how are tasks retried")]
    [True, True, True, False]
    >>> [looks_like_symbol(q) for q in ("--no-verify", "foo.bar()", ".env", "Retriever", "real-time", "iPhone")]
    [False, False, False, False, True, True]
    """
    term = query.strip()
    if not _ONE_TERM.fullmatch(term):
        return False
    return bool(_INNER.search(term)) or (len(term) > 1 and term.isupper())


_NAME = r"[^\W\d]\w*"
_SHAPES = (
    re.compile(r"--?[^\W\d_][\w\-]*(=\S*)?"),  # --no-verify, -Q, --pool=gevent
    re.compile(rf"\$\{{?{_NAME}\}}?|%{_NAME}%"),  # $HOME, ${HOME}, %PATH%
    re.compile(r"\.[^\W\d][\w\-]*(\.\w+)*"),  # .env, .eslintrc.json
    re.compile(rf"{_NAME}([.:]+{_NAME})*\(.*\)"),  # foo.bar(), run(x)
    re.compile(rf"{_NAME}(::{_NAME}|->{_NAME}|\#{_NAME})+"),  # A::b, a->b, A#b
    re.compile(rf"{_NAME}(\.{_NAME})+"),  # a.b.c
    # looked for first, then read: a run that could be cut in many places must not be tried at each of them
    re.compile(r"(?=\w*[^\W_]_)\w+|_+[^\W\d_]\w*"),  # retry_policy, _private
    re.compile(r"(?=[^\W\d_]{2,}[a-z0-9][A-Z])\w+|[A-Z][a-z0-9]+[A-Z]\w*|[a-z]{2,}[A-Z]\w*"),  # handleAuth, BufferMap
    re.compile(r"(?=.*\d)[A-Z][A-Z0-9]{2,}"),  # SHA256
    re.compile(r"[\w.\-]*(/[\w.\-]+){2,}/?|[\w.\-]+(/[\w.\-]+)*\.[A-Za-z]\w{0,4}"),  # a/b/c, setup.cfg
)
_ABBREVIATION = re.compile(r"(?:[^\W\d_]\.){2,}|[a-z]\.[a-z]")  # e.g., i.e., U.S.


def shaped_like_a_name(term: str) -> bool:
    """Whether a term can hardly be anything but a name: what is left to go by where the corpus does not know it.

    Examples
    --------
    >>> [shaped_like_a_name(t) for t in ("--no-verify", "foo.bar()", ".env", "$HOME", "a.b.c", "BufferMap", "src/x.py")]
    [True, True, True, True, True, True, True]
    >>> [shaped_like_a_name(t) for t in ("real-time", "and/or", "iPhone", "e.g.", "TODO", "24/7", "C++", "Retriever")]
    [False, False, False, False, False, False, False, False]
    """
    return not _ABBREVIATION.fullmatch(term) and any(shape.fullmatch(term) for shape in _SHAPES)


# --- what the corpus calls things


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
    """

    def __init__(
        self,
        definitions: Iterable[tuple[str, str, str, Sequence[str]]] = (),
        identifiers: Collection[str] = (),
        words: Collection[str] = (),
    ) -> None:
        rows = list(definitions)
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

    @property
    def empty(self) -> bool:
        """Whether there is no name in it, so that none can be told to be absent."""
        return not (self._rows or self._identifiers)

    def knows(self, term: str) -> bool:
        """Whether the corpus defines or uses this word as a name, written exactly so."""
        bare = _bare(term)
        return bool(bare) and (bare in self._identifiers or term in self._identifiers or self.defines(bare))

    def defines(self, term: str) -> bool:
        """Whether a definition is called so, exactly."""
        return bool(self._suffixed(_SEPARATORS.split(_bare(term)), self._exact, str))

    def leads(self, term: str) -> bool:
        """Whether the code itself has a definition of this name at the top level of a module."""
        rows = self._exact.get(_bare(term), [])
        return any(self._nesting[row] == 0 and _ORDER.get(self._rows[row][1]) == 0 for row in rows)

    def find(self, name: str) -> Found:
        """Look a name up: exactly, then ever more loosely; the first way that finds anything decides.

        Parameters
        ----------
        name
            Dotted or not, with or without ``()``, in any case.
        """
        bare = _bare(name)
        parts = [part for part in _SEPARATORS.split(bare) if part]
        if not parts:
            return Found()
        if rows := self._suffixed(parts, self._exact, str):
            return self._found(rows, "exact")
        if rows := self._suffixed(parts, self._folded, _squeeze) or self._joined(bare):
            return self._found(rows, "folded")
        if bare in self._identifiers or name in self._identifiers:
            return Found()  # a name, only not one that is defined here
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

    def _joined(self, bare: str) -> list[int]:
        """``Task-retry`` or ``task_retry`` for ``Task.retry``: two last parts written as one."""
        return self._pairs.get(_squeeze(bare), [])

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
_NEAREST = 40
_QUOTES = "`'\"“”‘’«»<>[]{},;!?"
_AROUND = _QUOTES + "()"
_SUFFIX = re.compile(r"['’]\w*$")  # what Turkish and English put after a name: Task.retry'nin, Celery's


def _bare(term: str) -> str:
    """A term without quotes, parentheses, calls, a trailing full stop, or an ending after an apostrophe.

    >>> [_bare(term) for term in ("`Task.retry`'nin", "(Task.retry)", "Task.retry(exc=e).", "@task")]
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


# --- the router


@dataclass(frozen=True, slots=True)
class Route:
    """Where a query goes.

    Attributes
    ----------
    to
        ``symbol`` (look it up) or ``prose`` (search).
    reason
        Why, in a few words.
    names
        The names in it: of a symbol the query itself, of a question the identifiers that the corpus knows.
    """

    to: Literal["symbol", "prose"]
    reason: str
    names: tuple[str, ...] = ()


_DECLARES = frozenset("def class function func fn method import interface type struct const".split())
_DISTINCT = re.compile(r"[^\W_]_|_[^\W_]|[a-z\d][A-Z]|[A-Z]{2}[a-z]|\w\.\w|::|\(\)|^--|^\$|\w-\w+-\w|^\w-\w")


class Router:
    """Tells names from questions.

    Parameters
    ----------
    names
        The names of the corpus; an empty table leaves it to go by shape.
    """

    def __init__(self, names: NameTable | None = None) -> None:
        self.names = names or NameTable()

    def route(self, query: str) -> Route:
        """Decide for one query.

        Examples
        --------
        >>> router = Router(NameTable([("app.task", "Task.retry", "code", ["1"]), ("app", "Retriever", "code", ["2"])]))
        >>> [router.route(q).to for q in ("Retriever", "real-time", "retry_policy", "how is a task retried")]
        ['symbol', 'prose', 'symbol', 'prose']
        >>> router.route("why does Task.retry raise?").names
        ('Task.retry',)
        """
        terms = query.split()
        if len(terms) == 2 and terms[0] in _DECLARES and self._one(terms[1]).to == "symbol":
            terms = terms[1:]  # "class Task": as it is written where it is made
        if len(terms) == 1:
            return self._one(terms[0])
        found = [self._named(term) for term in terms]
        named = dict.fromkeys(filter(None, found))
        if named and all(found):
            return Route("symbol", "nothing but names", tuple(named))
        return Route("prose", "a question" + (" that names " + ", ".join(named) if named else ""), tuple(named))

    def _one(self, term: str) -> Route:
        bare = _bare(term)
        if not bare or not any(c.isalpha() for c in bare):
            return Route("prose", "no name in it")
        plain = bare.islower() and bare.isalpha()
        if self.names.defines(bare) and (not plain or self.names.leads(bare)):
            return Route("symbol", "defined here", (bare,))
        if not plain and self.names.knows(term):
            return Route("symbol", "a name here", (bare,))
        if bare not in self.names.words and shaped_like_a_name(term.strip(_QUOTES)):
            return Route("symbol", "shaped like a name", (bare,))
        return Route("prose", "a word")

    def _named(self, term: str) -> str:
        bare = _bare(term)
        if len(bare) > 2 and _DISTINCT.search(term.strip(_QUOTES)) and self.names.knows(bare):
            return bare
        return ""


class RegexRouter:
    """The published router: `looks_like_symbol`, and nothing else. A baseline."""

    def route(self, query: str) -> Route:
        """Decide for one query.

        >>> RegexRouter().route("iPhone").to, RegexRouter().route("Retriever").to
        ('symbol', 'prose')
        """
        if looks_like_symbol(query):
            return Route("symbol", "matches the regex", (query.strip(),))
        return Route("prose", "does not match the regex")


# --- retrievers


class DefinitionRetriever(BaseRetriever):
    """The definitions of a name, or of the names in a question; nothing where there are none.

    Parameters
    ----------
    names
        The names of the corpus.
    fetch
        Gives the nodes of these ids that pass the filters in force, in any order.
    router
        Finds the names in a query; one over ``names`` by default.
    top_k
        How many hits to return at most.

    Raises
    ------
    ValueError
        When ``top_k`` is less than 1.
    """

    def __init__(
        self,
        names: NameTable,
        fetch: Callable[[Sequence[str]], Sequence[BaseNode]],
        *,
        router: Router | None = None,
        top_k: int = 8,
    ) -> None:
        if top_k < 1:
            raise ValueError(f"top_k is {top_k}; it must be at least 1")
        super().__init__()
        self.names = names
        self.fetch = fetch
        self.router = router or Router(names)
        self.top_k = top_k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        route = self.router.route(query_bundle.query_str)
        found = [self.names.find(name) for name in route.names]
        if route.to == "prose":  # a name inside a question counts only as it is written
            found = [one for one in found if one.how == "exact"]
        order = list(dict.fromkeys(name for one in found for name in one.ids))[: _FETCHED * self.top_k]
        nodes = {node.node_id: node for node in self.fetch(order)} if order else {}
        present = [name for name in order if name in nodes][: self.top_k]
        return [make_hit(nodes[name], "definition", 1 / rank) for rank, name in enumerate(present, start=1)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


_FETCHED = 3  # filters may take some away
_CHUNKS_EACH = 4


def _round_robin(places: Sequence[Sequence[str]]) -> list[str]:
    """The head of every definition, then the second chunk of each, and so on."""
    rows = (place[i] for i in range(_CHUNKS_EACH) for place in places if i < len(place))
    return list(dict.fromkeys(rows))


def definitions_first(definitions: Sequence[NodeWithScore], uses: Sequence[NodeWithScore]) -> list[NodeWithScore]:
    """The definitions, then the other hits in their order.

    Parameters
    ----------
    definitions, uses
        Best first. Not changed.

    Returns
    -------
    list of NodeWithScore
        Each node once, scored ``1 / rank`` under ``scores["name"]``, with what either list said of it.
    """
    said: dict[str, dict[str, float]] = {}
    for hit in (*definitions, *uses):
        said.setdefault(hit.node.node_id, {}).update(hit.node.metadata.get("scores", {}))
    firsts = {hit.node.node_id: hit for hit in reversed((*definitions, *uses))}
    merged = []
    for rank, name in enumerate(dict.fromkeys(hit.node.node_id for hit in (*definitions, *uses)), start=1):
        node = firsts[name].node
        plain = node.model_copy(update={"metadata": {**node.metadata, "scores": said[name]}})
        merged.append(make_hit(plain, "name", 1 / rank))
    return merged


@dataclass(frozen=True, slots=True)
class Answer:
    """A routed search: the hits, and how they came about.

    Attributes
    ----------
    hits
        Best first.
    route
        What answered: ``bm25``, ``dense``, ``hybrid``.
    reason
        Why that.
    weak
        Whether the query is a name that the corpus does not have.
    """

    hits: list[NodeWithScore]
    route: str
    reason: str
    weak: bool = False


def answer_routed(
    query: str,
    router: Any,
    ask: Callable[[str], list[NodeWithScore]],
    *,
    names: NameTable | None = None,
    prose: str = "dense",
    blend: float = 0.0,
) -> Answer:
    """Send a query where it belongs, and fall back where that finds nothing.

    Parameters
    ----------
    query
        As asked.
    router
        Any object with ``route(query) -> Route``.
    ask
        Gives the hits of a channel by name: ``definition`` (only with ``names``), ``bm25``, and whatever ``prose`` is.
    names
        The names of the corpus; without them there are no definitions to put first, and no name is known to be absent.
    prose
        The channel that answers questions.
    blend
        How much say the definitions of names *inside* a question have beside the prose channel (a weight in Reciprocal
        Rank Fusion; 0 for none).
    """
    route = router.route(query)
    if route.to == "prose":
        hits = ask(prose)
        if blend and names is not None and route.names and (defined := ask("definition")):
            hits = reciprocal_rank_fusion({prose: hits, "definition": defined}, weights={"definition": blend})
        return Answer(hits, prose, route.reason)
    defined = ask("definition") if names is not None else []
    uses = ask("bm25")
    absent = names is not None and not defined and not any(names.knows(name) for name in route.names)
    if not defined and not uses:
        return Answer(ask(prose), prose, f"{route.reason}, but bm25 found nothing", weak=absent)
    reason = "no such name here" if absent else route.reason
    return Answer(definitions_first(defined, uses) if names is not None else uses, "bm25", reason, weak=absent)


class RoutedRetriever(BaseRetriever):
    """A name goes to its definitions and BM25, a question to the prose channel.

    Parameters
    ----------
    channels
        ``bm25``, the prose channel under its own name, and with ``names`` a `DefinitionRetriever` as ``definition``.
    router
        Decides; any object with ``route(query) -> Route``.
    top_k
        How many hits to return at most.
    names, prose, blend
        As for `answer_routed`.

    Raises
    ------
    ValueError
        When a channel is missing, or ``top_k`` is less than 1.
    """

    def __init__(
        self,
        channels: Mapping[str, BaseRetriever],
        router: Any,
        *,
        top_k: int = 8,
        names: NameTable | None = None,
        prose: str = "dense",
        blend: float = 0.0,
    ) -> None:
        if top_k < 1:
            raise ValueError(f"top_k is {top_k}; it must be at least 1")
        needed = {"bm25", prose} | ({"definition"} if names is not None else set())
        if missing := needed - set(channels):
            raise ValueError(f"there is no channel {min(missing)!r}; there is {', '.join(channels) or 'none'}")
        super().__init__()
        self.channels = dict(channels)
        self.router, self.top_k, self.names, self.prose, self.blend = router, top_k, names, prose, blend

    def answer(self, query: QueryBundle | str) -> Answer:
        """Answer, and say how."""
        bundle = QueryBundle(query) if isinstance(query, str) else query
        return answer_routed(
            bundle.query_str,
            self.router,
            lambda name: self.channels[name].retrieve(bundle),
            names=self.names,
            prose=self.prose,
            blend=self.blend,
        )

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.answer(query_bundle).hits[: self.top_k]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)

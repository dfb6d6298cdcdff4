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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle

from rungs.fusion import reciprocal_rank_fusion
from rungs.hits import make_hit, scores_of
from rungs.names import QUOTES, NameTable, bare_name

__all__ = [
    "Answer",
    "DefinitionRetriever",
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
        bare = bare_name(term)
        if not bare or not any(c.isalpha() for c in bare):
            return Route("prose", "no name in it")
        plain = bare.islower() and bare.isalpha()
        if self.names.defines(bare) and (not plain or self.names.leads(bare)):
            return Route("symbol", "defined here", (bare,))
        if not plain and self.names.knows(term):
            return Route("symbol", "a name here", (bare,))
        if bare not in self.names.words and shaped_like_a_name(term.strip(QUOTES)):
            return Route("symbol", "shaped like a name", (bare,))
        return Route("prose", "a word")

    def _named(self, term: str) -> str:
        bare = bare_name(term)
        if len(bare) > 2 and _DISTINCT.search(term.strip(QUOTES)) and self.names.knows(bare):
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
        said.setdefault(hit.node.node_id, {}).update(scores_of(hit.node))
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
    reason = "no such name here" if absent else route.reason + _read_as(route, names)
    return Answer(definitions_first(defined, uses) if names is not None else uses, "bm25", reason, weak=absent)


def _read_as(route: Route, names: NameTable | None) -> str:
    """What a name was taken for that is not written so."""
    found = [] if names is None else [names.find(name) for name in route.names]
    read = [one.names[0] for one in found if one.names and one.how != "exact"]
    return f", read as {', '.join(read)}" if read else ""


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

    def with_channels(self, channels: Mapping[str, BaseRetriever]) -> "RoutedRetriever":
        """The same routes to other retrievers, under the same names."""
        return RoutedRetriever(
            channels, self.router, top_k=self.top_k, names=self.names, prose=self.prose, blend=self.blend
        )

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

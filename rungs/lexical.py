"""Rung 3, first half: BM25. Chunks that contain the query's words, weighted by how rare each word is.

Adds to rung 2: exact identity. A pasted name, error code or setting is found because it is there, not because it is near.
Does not fix: synonyms, another language, anything reworded; and every mention of a name counts like its definition.

Two engines with one interface give the same hits, scores and order: `MilvusBM25Retriever` searches a sparse field that
Milvus itself derives from terms, in the same collection as the vectors; `BM25sRetriever` keeps everything in this process
and needs no Milvus. Both want terms that `rungs.tokenizer` has split, so the query must be split by the same function.

Source of the method: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), in the form
Lucene uses (k1 = 1.2, b = 0.75): the sum over the query's terms, each once, of
``ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / mean length))``.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.core.vector_stores.utils import metadata_dict_to_node

from rungs.hits import make_hit
from rungs.tokenizer import tokenize as code_tokens

if TYPE_CHECKING:
    from rungs.lexical_bm25s import BM25sRetriever as BM25sRetriever

__all__ = ["BM25sRetriever", "MilvusBM25Retriever", "best_first", "check_filters", "nodes_by_id"]

K1 = 1.2
"""How soon further occurrences of a term stop counting."""
B = 0.75
"""How much a long chunk must pay for its length, from 0 to 1."""

SAME_SCORE = 1e-6
"""Scores nearer than this, relatively, are one score: both engines add 32-bit numbers, each in its own order."""

MILVUS_LIMIT = 16_384

_OPERATORS = {
    FilterOperator.EQ: "==",
    FilterOperator.NE: "!=",
    FilterOperator.GT: ">",
    FilterOperator.GTE: ">=",
    FilterOperator.LT: "<",
    FilterOperator.LTE: "<=",
    FilterOperator.IN: "in",
    FilterOperator.NIN: "not in",
}
_CONDITIONS = {FilterCondition.AND: " and ", FilterCondition.OR: " or "}
_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*", re.ASCII)

Item = TypeVar("Item")


def __getattr__(name: str) -> Any:
    # In a module of its own: its base class loads bm25s and a stemmer, which a Milvus user may not even have.
    if name == "BM25sRetriever":
        from rungs.lexical_bm25s import BM25sRetriever

        return BM25sRetriever
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class MilvusBM25Retriever(BaseRetriever):
    """BM25 over the collection's own sparse field.

    Parameters
    ----------
    vector_store
        A LlamaIndex ``MilvusVectorStore`` with Milvus' BM25 Function on a field of white-space separated terms.
    top_k
        How many hits to return at most; fewer come back when fewer chunks share a term with the query. Milvus itself
        returns 16,384 at most.
    filters
        Only chunks whose metadata match (see `rungs.hits.metadata_filters`, and `check_filters` for what is possible).
    tokenize
        How the query is split; the function the chunks were split with. No term may contain white space.
    k1
        What the collection's index was made with (``bm25_k1``, 1.2 where nothing was said). Milvus' own scores are
        ``k1 + 1`` times as large as Lucene's and are divided by it.

    Raises
    ------
    ValueError
        When ``top_k`` is less than 1, or for filters that cannot be kept to.
    """

    def __init__(
        self,
        vector_store: Any,
        *,
        top_k: int = 8,
        filters: MetadataFilters | None = None,
        tokenize: Callable[[str], list[str]] = code_tokens,
        k1: float = K1,
    ) -> None:
        if top_k < 1:
            raise ValueError(f"top_k is {top_k}; it must be at least 1")
        check_filters(filters)
        super().__init__()
        self.vector_store = vector_store
        self.top_k = top_k
        self.filters = filters
        self.tokenize = tokenize
        self.k1 = k1
        self._filled = False

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        # A term counts once however often the question repeats it.
        terms = " ".join(dict.fromkeys(self.tokenize(query_bundle.query_str)))
        if not terms or self._is_empty():
            return []
        found = self._search_past_ties(terms)
        best = best_first(((score, node.node_id, node) for score, node in found), self.top_k)
        return [make_hit(node, "bm25", score) for score, node in best]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)

    def _is_empty(self) -> bool:
        """Whether the collection has no rows: the mean length is then 0/0, and Milvus fails on it."""
        if not self._filled:
            store = self.vector_store
            rows = store.client.query(store.collection_name, filter="", output_fields=["count(*)"])
            self._filled = rows[0]["count(*)"] > 0
        return not self._filled

    def _search_past_ties(self, terms: str) -> list[tuple[float, BaseNode]]:
        """The best, and as many more as tie with the last of them: which of those come first is not for Milvus to say."""
        limit = min(self.top_k + 1, MILVUS_LIMIT)
        while True:
            found = self._search(terms, limit)
            if len(found) < limit or limit == MILVUS_LIMIT:
                return found
            if found[-1][0] < found[self.top_k - 1][0] * (1 - SAME_SCORE):
                return found
            limit = min(2 * limit, MILVUS_LIMIT)

    def _search(self, terms: str, limit: int) -> list[tuple[float, BaseNode]]:
        """Scores and nodes, best first.

        Not through the store's own ``query``: that drops the most frequent fifth of the terms of every query of five or
        more (``drop_ratio_search``), leaves out filters that it has no word for, and escapes no backslash.
        """
        store = self.vector_store
        [found] = store.client.search(
            store.collection_name,
            [terms],
            anns_field=store.sparse_embedding_field,
            limit=limit,
            filter=_expression(self.filters) if self.filters else "",
            output_fields=["_node_content", "_node_type", store.text_key],
            search_params={"params": {"drop_ratio_search": 0.0}},
        )
        scale = self.k1 + 1
        return [(hit["distance"] / scale, _node(hit["entity"], store.text_key)) for hit in found if hit["distance"] > 0]


def nodes_by_id(vector_store: Any, ids: Sequence[str], filters: MetadataFilters | None = None) -> list[BaseNode]:
    """The nodes of these ids that pass the filters, in any order.

    Not through the store's own ``get_nodes``: that takes ids or filters, not both, and puts ids into its query unquoted.
    """
    parts = [f"id in {_literal(list(ids))}", *([_expression(filters)] if filters else [])]
    text_key = vector_store.text_key
    rows = vector_store.client.query(
        vector_store.collection_name,
        filter=" and ".join(filter(None, parts)),
        output_fields=["_node_content", "_node_type", text_key],
    )
    return [_node(row, text_key) for row in rows]


def _node(entity: dict[str, Any], text_key: str) -> BaseNode:
    """A node as the LlamaIndex store wrote it: all but its text in one field, its text in another."""
    return metadata_dict_to_node(
        {"_node_content": entity.get("_node_content"), "_node_type": entity.get("_node_type")}, entity.get(text_key)
    )


def best_first(scored: Iterable[tuple[float, str, Item]], top_k: int) -> list[tuple[float, Item]]:
    """The best of many by score; what has the same score, by node id.

    Parameters
    ----------
    scored
        Score, node id, and whatever goes with them, in any order.
    top_k
        How many to keep.

    Returns
    -------
    list of tuple
        Score and item. Scores within `SAME_SCORE` of the best of their kind are given as that one.

    Examples
    --------
    >>> best_first([(1.0, "b", "B"), (2.0, "c", "C"), (1.0000001, "d", "D"), (1.0, "a", "A")], 3)
    [(2.0, 'C'), (1.0000001, 'A'), (1.0000001, 'B')]
    """
    one_score: list[tuple[float, str, Item]] = []
    lead = float("inf")
    for score, name, item in sorted(scored, key=lambda one: -one[0]):
        if score < lead * (1 - SAME_SCORE):
            lead = score
        one_score.append((lead, name, item))
    one_score.sort(key=lambda one: (-one[0], one[1]))
    return [(score, item) for score, _, item in one_score[:top_k]]


def check_filters(filters: MetadataFilters | None) -> None:
    """Refuse what one of the engines could not keep to, in place of leaving it out.

    Possible are ``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``in`` and ``nin`` on a chunk's metadata, joined by AND or OR,
    to any depth. A chunk without the key, or with a value of another type, matches only ``!=`` and ``nin``.

    Raises
    ------
    ValueError
        Says which filter it is.
    """
    if filters is None or not filters.filters:
        return
    if filters.condition not in _CONDITIONS:
        raise ValueError(f"filters cannot be joined by {filters.condition}; join them by AND or OR")
    for one in filters.filters:
        if isinstance(one, MetadataFilter):
            _check_filter(one)
        elif one.filters:
            check_filters(one)
        else:
            raise ValueError("a group of filters inside the filters is empty; leave it out")


def _check_filter(one: MetadataFilter) -> None:
    what = f"the filter on {one.key!r}"
    if one.operator not in _OPERATORS:
        raise ValueError(f"{what} has the operator {one.operator.value!r}; use one of {', '.join(_OPERATORS.values())}")
    if one.value is None:
        raise ValueError(f"{what} has no value")
    many = one.operator in (FilterOperator.IN, FilterOperator.NIN)
    if many != isinstance(one.value, list) or one.value == []:
        raise ValueError(
            f"{what} compares by {one.operator.value!r}: give it {'a list of values' if many else 'one value'}"
        )


def _expression(filters: MetadataFilters) -> str:
    """Filters in Milvus' own language.

    >>> _expression(MetadataFilters(filters=[MetadataFilter(key="category", value=["code"], operator="in")]))
    '(category in ["code"])'
    """
    parts = [
        f"{_key(one.key)} {_OPERATORS[one.operator]} {_literal(one.value)}"
        if isinstance(one, MetadataFilter)
        else _expression(one)
        for one in filters.filters
    ]
    return f"({_CONDITIONS[filters.condition].join(parts)})" if parts else ""


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else f"$meta[{_literal(key)}]"


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if not isinstance(value, str):
        return repr(value)
    if "\n" in value or "\r" in value:
        raise ValueError(f"Milvus cannot compare with a text of several lines: {value[:40]!r}")
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

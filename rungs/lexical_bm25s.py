"""Rung 3, first half, without Milvus: the same BM25 in memory, by bm25s, as a LlamaIndex ``BM25Retriever``.

Adds to LlamaIndex's own class: terms that fit code, filters that really filter, only real matches, and a folder on disk
from which everything comes back. Same hits, scores and order as `rungs.lexical.MilvusBM25Retriever`.
Does not fix what BM25 itself cannot do (see `rungs.lexical`); and every process holds all terms in memory.

>>> from llama_index.core.schema import TextNode
>>> nodes = [TextNode(id_="a", text="def retryPolicy(): ..."), TextNode(id_="b", text="def close_pool(): ...")]
>>> hits = BM25sRetriever(nodes).retrieve("where is the retry policy")
>>> [(hit.node.node_id, round(hit.score, 2)) for hit in hits]
[('a', 0.63)]
"""

import asyncio
import hashlib
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle
from llama_index.core.storage.docstore.utils import doc_to_json, json_to_doc
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.retrievers.bm25 import BM25Retriever

from rungs.hits import make_hit
from rungs.lexical import K1, SAME_SCORE, B, best_first, check_filters
from rungs.tokenizer import TOKENIZER_VERSION
from rungs.tokenizer import tokenize as code_tokens

if TYPE_CHECKING:
    import bm25s

__all__ = ["BM25sRetriever"]

FORMAT_VERSION = 1
_SETTINGS = "retriever.json"
_NODES = "nodes.jsonl"


class BM25sRetriever(BM25Retriever):
    """BM25 over terms kept in memory.

    Parameters
    ----------
    nodes
        What is searched.
    tokens
        The lexical terms of every node, in the same order, where they are not those of its text (`rungs.index.Index` has
        them, with path and symbol). Without them the nodes' text is split here.
    top_k
        How many hits to return at most; fewer come back when fewer nodes share a term with the query.
    filters
        Only nodes whose metadata match (see `rungs.hits.metadata_filters`, and `rungs.lexical.check_filters` for what is
        possible). May be assigned anew later, as ``top_k`` may.
    tokenize
        How the query is split; the function the nodes were split with.
    k1, b
        Of the formula (see `rungs.lexical`); a Milvus index has 1.2 and 0.75 where nothing was said.
    existing_bm25
        The ``bm25`` of another retriever over the same nodes, in place of ``tokens``: nothing is indexed twice.

    Raises
    ------
    ValueError
        When ``top_k`` is less than 1, for a ``k1`` or ``b`` that is no weight, when there are not as many nodes as terms,
        or for filters that cannot be kept to.
    """

    def __init__(
        self,
        nodes: Sequence[BaseNode],
        tokens: Sequence[Sequence[str]] | None = None,
        *,
        top_k: int = 8,
        filters: MetadataFilters | None = None,
        tokenize: Callable[[str], list[str]] = code_tokens,
        k1: float = K1,
        b: float = B,
        existing_bm25: "bm25s.BM25 | None" = None,
    ) -> None:
        if not (0 <= k1 < math.inf and 0 <= b <= 1):
            raise ValueError(f"k1 is {k1} and b is {b}; k1 must be at least 0, b between 0 and 1")
        if existing_bm25 is None:
            if tokens is None:
                tokens = [tokenize(node.get_content(metadata_mode=MetadataMode.NONE)) for node in nodes]
            existing_bm25 = _index(tokens, k1, b)
        if existing_bm25.scores["num_docs"] != len(nodes):
            raise ValueError(
                f"{len(nodes)} nodes, but the terms of {existing_bm25.scores['num_docs']}; give one list a node"
            )
        # The number is set afterwards: the base class would lower it to that of the nodes, and log a warning.
        super().__init__(existing_bm25=existing_bm25, similarity_top_k=1)
        self.top_k = top_k
        self.nodes = list(nodes)
        self.tokenize = tokenize
        self.filters = filters

    @classmethod
    def from_defaults(
        cls, index: Any = None, nodes: Any = None, docstore: Any = None, **settings: Any
    ) -> "BM25sRetriever":
        """Over the nodes themselves, or those of a LlamaIndex index or document store; settings as for the class."""
        if sum(one is not None for one in (index, nodes, docstore)) != 1:
            raise ValueError("give exactly one of index, nodes and docstore")
        if nodes is None:
            nodes = (index.docstore if docstore is None else docstore).docs.values()
        return cls(list(nodes), **settings)

    @property
    def top_k(self) -> int:
        """How many hits to return at most; the base class calls it ``similarity_top_k``."""
        return self.similarity_top_k

    @top_k.setter
    def top_k(self, top_k: int) -> None:
        if top_k < 1:
            raise ValueError(f"top_k is {top_k}; it must be at least 1")
        self.similarity_top_k = top_k

    @property
    def filters(self) -> MetadataFilters | None:
        """Only nodes whose metadata match."""
        return self._filters

    @filters.setter
    def filters(self, filters: MetadataFilters | None) -> None:
        check_filters(filters)
        self._filters = filters
        self._left_out = None
        if filters is not None and filters.filters:
            self._left_out = np.array([not _matches(node.metadata, filters) for node in self.nodes], dtype=bool)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        # A term counts once however often the question repeats it.
        terms = self.bm25.get_tokens_ids(list(dict.fromkeys(self.tokenize(query_bundle.query_str))))
        if not terms:
            return []
        scores = self.bm25.get_scores_from_ids(terms)
        if self._left_out is not None:
            scores[self._left_out] = 0.0
        rows = _candidates(scores, self.top_k)
        best = best_first(((float(scores[row]), self.nodes[row].node_id, row) for row in rows), self.top_k)
        return [make_hit(self.nodes[row], "bm25", score) for score, row in best]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)

    def persist(self, path: str | Path) -> None:
        """Write everything to a folder: terms, nodes and settings, as JSON and plain arrays.

        A ``tokenize`` of your own is written by name only, and must be given again to `from_persist_dir`.
        """
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _SETTINGS).unlink(missing_ok=True)  # what is half written has no settings and is not opened
        nodes = "".join(json.dumps(doc_to_json(node)) + "\n" for node in self.nodes)
        (folder / _NODES).write_text(nodes, encoding="utf-8", newline="\n")
        self.bm25.save(folder, show_progress=False)
        settings = {
            "format": FORMAT_VERSION,
            "tokenizer": _name(self.tokenize),
            "k1": self.bm25.k1,
            "b": self.bm25.b,
            "top_k": self.top_k,
            "filters": self.filters.model_dump(mode="json") if self.filters is not None else None,
            "files": {p.name: _sha256(p.read_bytes()) for p in sorted(folder.iterdir()) if _is_ours(p)},
        }
        settings["self"] = _sha256_of(settings)
        (folder / _SETTINGS).write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def from_persist_dir(
        cls, path: str | Path, *, tokenize: Callable[[str], list[str]] = code_tokens
    ) -> "BM25sRetriever":
        """Open what `persist` wrote.

        Raises
        ------
        ValueError
            When the folder is damaged, or its terms were made by another tokenizer: the query would be split otherwise.
        """
        folder = Path(path)
        settings = _read_settings(folder)
        if settings["format"] != FORMAT_VERSION:
            raise ValueError(
                f"{folder} has format {settings['format']}, this program {FORMAT_VERSION}; persist it again"
            )
        if settings["tokenizer"] != _name(tokenize):
            raise ValueError(
                f"{folder} has terms by tokenizer {settings['tokenizer']}, not {_name(tokenize)}; persist it again, "
                "or give tokenize= the function it was made with"
            )
        _check_files(folder, settings["files"])
        import bm25s

        lines = (folder / _NODES).read_text(encoding="utf-8").split("\n")[:-1]
        return cls(
            [json_to_doc(json.loads(line)) for line in lines],
            top_k=settings["top_k"],
            filters=MetadataFilters.model_validate(settings["filters"]) if settings["filters"] else None,
            tokenize=tokenize,
            existing_bm25=bm25s.BM25.load(folder, allow_pickle=False, show_progress=False),
        )


def _index(tokens: Sequence[Sequence[str]], k1: float, b: float) -> "bm25s.BM25":
    """bm25s over our own terms, numbered in the order in which they are met."""
    import bm25s

    engine = bm25s.BM25(method="lucene", k1=k1, b=b)
    vocabulary: dict[str, int] = {}
    numbers = [[vocabulary.setdefault(term, len(vocabulary)) for term in terms] for terms in tokens]
    if vocabulary:
        engine.index((numbers, vocabulary), create_empty_token=False, show_progress=False)
        return engine
    # An empty corpus, or one of stop words only: bm25s would take the mean of nothing and warn.
    nothing = {
        "data": np.zeros(0, engine.dtype),
        "indices": np.zeros(0, engine.int_dtype),
        "indptr": np.zeros(1, "int64"),
    }
    engine.scores = {**nothing, "num_docs": len(numbers)}
    engine.vocab_dict, engine.unique_token_ids_set, engine.nonoccurrence_array = vocabulary, set(), None
    return engine


def _candidates(scores: np.ndarray, top_k: int) -> np.ndarray:
    """Rows of the best ``top_k`` positive scores, shape (n,), and of all that tie with the last of them."""
    rows = np.flatnonzero(scores > 0)
    if len(rows) <= top_k:
        return rows
    found = scores[rows]
    return rows[found >= np.partition(found, -top_k)[-top_k] * (1 - SAME_SCORE)]


def _matches(metadata: dict[str, Any], filters: MetadataFilters) -> bool:
    """Whether metadata satisfy filters that `check_filters` let pass, read as Milvus reads them.

    >>> _matches({"n": 3}, MetadataFilters(filters=[MetadataFilter(key="n", value=2, operator=">")]))
    True
    """
    joined = all if filters.condition == FilterCondition.AND else any
    return joined(
        _compare(metadata.get(one.key), one.operator, one.value)
        if isinstance(one, MetadataFilter)
        else _matches(metadata, one)
        for one in filters.filters
    )


def _compare(have: Any, operator: FilterOperator, want: Any) -> bool:
    match operator:
        case FilterOperator.EQ:
            return _comparable(have, want) and have == want
        case FilterOperator.NE:
            return not _compare(have, FilterOperator.EQ, want)
        case FilterOperator.IN:
            return any(_compare(have, FilterOperator.EQ, one) for one in want)
        case FilterOperator.NIN:
            return not _compare(have, FilterOperator.IN, want)
        case FilterOperator.GT:
            return _comparable(have, want) and have > want
        case FilterOperator.GTE:
            return _comparable(have, want) and have >= want
        case FilterOperator.LT:
            return _comparable(have, want) and have < want
        case FilterOperator.LTE:
            return _comparable(have, want) and have <= want
    raise ValueError(f"a filter cannot compare by {operator.value!r}")


def _comparable(have: Any, want: Any) -> bool:
    """Texts compare with texts and numbers with numbers; true and false are neither."""
    if isinstance(want, str):
        return isinstance(have, str)
    return isinstance(have, int | float) and not isinstance(have, bool)


def _name(tokenize: Callable[[str], list[str]]) -> str:
    """What is written of a tokenizer: the version of ours, the name of any other."""
    if tokenize is code_tokens:
        return TOKENIZER_VERSION
    return f"{getattr(tokenize, '__module__', '')}.{getattr(tokenize, '__qualname__', type(tokenize).__qualname__)}"


def _is_ours(path: Path) -> bool:
    return path.name == _NODES or ".index." in path.name


def _read_settings(folder: Path) -> dict[str, Any]:
    try:
        settings = json.loads((folder / _SETTINGS).read_bytes())
        intact = settings["self"] == _sha256_of(settings)
    except (OSError, ValueError, KeyError, TypeError):
        intact = False
    if not intact:
        raise ValueError(f"{folder / _SETTINGS} is missing or damaged; persist the retriever again")
    return settings


def _check_files(folder: Path, files: dict[str, str]) -> None:
    for name, expected in files.items():
        path = folder / name
        if not path.is_file() or _sha256(path.read_bytes()) != expected:
            raise ValueError(f"{path} is missing or damaged; persist the retriever again")


def _sha256_of(settings: dict[str, Any]) -> str:
    rest = {key: value for key, value in settings.items() if key != "self"}
    return _sha256(json.dumps(rest, sort_keys=True).encode())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

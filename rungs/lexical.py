"""Rung 3, first half: BM25. Chunks that contain the query's words, weighted by how rare each word is.

Adds to rung 2: exact identity. A pasted name, error code or setting is found because it is there, not because it is near.
Does not fix: synonyms, another language, anything reworded; and every mention of a name counts like its definition.

Both channels live in one Milvus collection: the sparse vectors are derived by Milvus' own BM25 Function from a field of
terms that `rungs.tokenizer` has already split, so the query must be split by the same function.

Source of the method: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), in the form
Lucene uses (k1 = 1.2, b = 0.75).
"""

import asyncio
from collections.abc import Callable
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores.types import MetadataFilters, VectorStoreQuery, VectorStoreQueryMode

from rungs.hits import make_hit
from rungs.tokenizer import tokenize as code_tokens

__all__ = ["MilvusBM25Retriever"]


class MilvusBM25Retriever(BaseRetriever):
    """BM25 over the collection's own sparse field.

    Parameters
    ----------
    vector_store
        A LlamaIndex ``MilvusVectorStore`` with Milvus' BM25 Function on a field of white-space separated terms.
    top_k
        How many hits to return at most; fewer come back when fewer chunks share a term with the query.
    filters
        Only chunks whose metadata match (see `rungs.hits.metadata_filters`).
    tokenize
        How the query is split; the function the chunks were split with.

    Raises
    ------
    ValueError
        When ``top_k`` is less than 1.
    """

    def __init__(
        self,
        vector_store: Any,
        *,
        top_k: int = 8,
        filters: MetadataFilters | None = None,
        tokenize: Callable[[str], list[str]] = code_tokens,
    ) -> None:
        if top_k < 1:
            raise ValueError(f"top_k is {top_k}; it must be at least 1")
        super().__init__()
        self.vector_store = vector_store
        self.top_k = top_k
        self.filters = filters
        self.tokenize = tokenize

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        # A term counts once however often the question repeats it: the store drops a query's lightest terms when
        # weights differ, and would then lose the very words that were said only once.
        terms = list(dict.fromkeys(self.tokenize(query_bundle.query_str)))
        if not terms:
            return []
        result = self.vector_store.query(
            VectorStoreQuery(
                query_str=" ".join(terms),
                similarity_top_k=self.top_k,
                filters=self.filters,
                mode=VectorStoreQueryMode.TEXT_SEARCH,
            )
        )
        pairs = zip(result.nodes or [], result.similarities or [], strict=True)
        hits = [make_hit(node, "bm25", score) for node, score in pairs if score > 0]
        return sorted(hits, key=lambda hit: (-(hit.score or 0.0), hit.node.node_id))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)

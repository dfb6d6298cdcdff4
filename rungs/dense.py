"""Rung 2: dense vectors. The nearest chunks to the query by cosine similarity.

Adds to rung 1: chunks that are whole symbols or sections, embedded with their path and name, searched in a vector store.
Fixes: a question need not use the words of its answer.
Does not fix: a bare name is not "about" anything, so identifiers are found by luck; documents and tests read more like a
question than the code they describe, and outrank it; and the nearest chunk always exists, also when there is no answer.

Source of the method: bi-encoder retrieval as in Karpukhin et al., "Dense Passage Retrieval" (2020), with the sentence
embeddings of Reimers and Gurevych (2019).

>>> from llama_index.core.vector_stores.types import BasePydanticVectorStore   # any store that keeps text
>>> retriever = DenseRetriever(store, embed_model, top_k=8)                    # doctest: +SKIP
>>> retriever.retrieve("how does a task retry")[0].metadata["scores"]          # doctest: +SKIP
{'dense': 0.62}
"""

import asyncio
from collections.abc import Sequence

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores.types import BasePydanticVectorStore, MetadataFilters, VectorStoreQuery

from rungs.hits import make_hit, store_filters

__all__ = ["DenseRetriever"]


class DenseRetriever(BaseRetriever):
    """Nearest chunks by cosine similarity.

    Parameters
    ----------
    vector_store
        Any LlamaIndex store that keeps text and whose similarity is the cosine.
    embed_model
        The model that embedded the chunks; it embeds the query.
    top_k
        How many hits to return, at least 1.
    filters
        Only chunks whose metadata match (see `rungs.hits.metadata_filters`).

    Raises
    ------
    ValueError
        When ``top_k`` is less than 1.
    """

    def __init__(
        self,
        vector_store: BasePydanticVectorStore,
        embed_model: BaseEmbedding,
        *,
        top_k: int = 8,
        filters: MetadataFilters | None = None,
    ) -> None:
        if top_k < 1:
            raise ValueError(f"top_k is {top_k}; it must be at least 1")
        super().__init__()
        self.vector_store = vector_store
        self.embed_model = embed_model
        self.top_k = top_k
        self.filters = filters

    def retrieve_batch(self, queries: Sequence[str]) -> list[list[NodeWithScore]]:
        """Retrieve for many queries; each distinct one is embedded and searched once.

        Returns
        -------
        list of list of NodeWithScore
            One list a query, in order; repeated queries get hits of their own, not shared ones.
        """
        found = {query: self.retrieve(query) for query in dict.fromkeys(queries)}
        return [
            [NodeWithScore(node=h.node.model_copy(deep=True), score=h.score) for h in found[query]] for query in queries
        ]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        embedding = query_bundle.embedding
        if embedding is None:
            if not query_bundle.query_str.strip():
                return []
            embedding = self.embed_model.get_query_embedding(query_bundle.query_str)
        return self._search(embedding)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        # Embedding and a local store both compute; a thread keeps the event loop free without a second client.
        return await asyncio.to_thread(self._retrieve, query_bundle)

    def _search(self, embedding: list[float]) -> list[NodeWithScore]:
        result = self.vector_store.query(
            VectorStoreQuery(
                query_embedding=embedding,
                similarity_top_k=self.top_k,
                filters=store_filters(self.filters, self.vector_store),
            )
        )
        if result.nodes is None or result.similarities is None:
            raise ValueError(
                f"{type(self.vector_store).__name__} returned ids without text or scores; use a store that keeps text"
            )
        hits = [make_hit(node, "dense", s) for node, s in zip(result.nodes, result.similarities, strict=True)]
        # Ties in a store's order may change from run to run; the id makes a list repeatable.
        return sorted(hits, key=lambda hit: (-(hit.score or 0.0), hit.node.node_id))

"""LlamaIndex's own defaults with the same weights, for comparison. Not rungs: nothing here is tuned or mended."""

from functools import lru_cache

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import Document, MetadataMode

from rungs.index import embed_texts
from rungs.ladder import Row
from rungs.measure.evaluate import DEPTH
from rungs.workbench import StageBars, Workbench

__all__ = ["PEERS"]


class _Defaults:
    """One corpus split and embedded by LlamaIndex's defaults, once for all peers."""

    def __init__(self, bench: Workbench) -> None:
        from llama_index.core import VectorStoreIndex
        from llama_index.core.node_parser import SentenceSplitter

        documents = [Document(text=file.text, metadata={"file_path": file.path}) for file in bench.corpus.files]
        self.nodes = SentenceSplitter().get_nodes_from_documents(documents)
        texts = [node.get_content(metadata_mode=MetadataMode.EMBED) for node in self.nodes]
        with StageBars(enabled=True) as bars:  # what VectorStoreIndex would do itself, but remembered between runs
            vectors, _ = embed_texts(texts, bench.embedder(), bars.report)
        for node, vector in zip(self.nodes, vectors, strict=True):
            node.embedding = vector.tolist()
        self.index = VectorStoreIndex(self.nodes, embed_model=bench.embedder())

    def vector(self) -> BaseRetriever:
        return self.index.as_retriever(similarity_top_k=DEPTH)

    def bm25(self) -> BaseRetriever:
        from llama_index.retrievers.bm25 import BM25Retriever

        return BM25Retriever.from_defaults(nodes=self.nodes, similarity_top_k=DEPTH)

    def fusion(self) -> BaseRetriever:
        from llama_index.core.llms import MockLLM
        from llama_index.core.retrievers import QueryFusionRetriever

        return QueryFusionRetriever(
            [self.vector(), self.bm25()],
            llm=MockLLM(),  # asked for nothing: one query, no rewriting
            mode="reciprocal_rerank",
            similarity_top_k=DEPTH,
            num_queries=1,
            use_async=False,
        )


@lru_cache(maxsize=1)
def _shared(bench: Workbench) -> _Defaults:
    return _Defaults(bench)


PEERS: tuple[Row, ...] = (
    Row(
        "VectorStoreIndex",
        "peer",
        "LlamaIndex VectorStoreIndex with SentenceSplitter, both at their defaults, same weights",
        lambda bench: _shared(bench).vector(),
        None,
    ),
    Row(
        "BM25Retriever",
        "peer",
        "LlamaIndex BM25Retriever at its defaults, same nodes",
        lambda b: _shared(b).bm25(),
        None,
    ),
    Row(
        "QueryFusionRetriever",
        "peer",
        "LlamaIndex QueryFusionRetriever (reciprocal rank) over those two",
        lambda bench: _shared(bench).fusion(),
        None,
    ),
)

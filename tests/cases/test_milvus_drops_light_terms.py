"""My question has eight words, and a chunk that holds one of them is not found, or scored as if it held fewer."""

from pathlib import Path

import numpy as np
import pytest
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

from rungs.index import _entry, _release, _store
from rungs.lexical import BM25sRetriever, MilvusBM25Retriever

# "task" is in every chunk, the others in one each: the lightest term of the question
TEXTS = ["task", *(f"task {word}" for word in ("retry", "policy", "pool", "queue", "beat", "worker"))]
QUESTION = "task retry policy pool queue beat worker"


@pytest.fixture
def store(tmp_path: Path):
    store = _store(str(tmp_path / "m.db"), "chunks", 4, lexical=True, overwrite=True)
    rows = [_entry(node, np.ones(4, dtype=np.float32), node.text) for node in nodes()]
    store.client.insert("chunks", rows)
    store.client.flush("chunks")
    yield store
    _release(store, tmp_path / "m.db")


def nodes() -> list[TextNode]:
    return [TextNode(id_=str(n), text=text) for n, text in enumerate(TEXTS)]


def test_stock_leaves_out_the_most_frequent_fifth_of_the_terms(still, store):
    query = VectorStoreQuery(query_str=QUESTION, similarity_top_k=10, mode=VectorStoreQueryMode.TEXT_SEARCH)
    found = {node.text for node in store.query(query).nodes}
    still("task" not in found, "MilvusVectorStore asks Milvus for all terms (drop_ratio_search)")
    assert found == set(TEXTS[1:])


def test_ours_asks_for_all_of_them(store):
    hits = MilvusBM25Retriever(store, top_k=10).retrieve(QUESTION)
    assert {hit.node.text for hit in hits} == set(TEXTS)
    by_bm25s = BM25sRetriever(nodes(), top_k=10).retrieve(QUESTION)
    assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in by_bm25s], rel=1e-5)

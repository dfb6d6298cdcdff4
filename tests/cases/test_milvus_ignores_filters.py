"""I ask for everything but tests, and get tests."""

from pathlib import Path

import numpy as np
import pytest
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters, VectorStoreQuery

from rungs.index import _entry, _release, _store
from rungs.lexical import BM25sRetriever, MilvusBM25Retriever

NODES = [
    TextNode(id_="test", text="retry", metadata={"category": "test"}),
    TextNode(id_="code", text="retry", metadata={"category": "code"}),
]
IS_TEST = MetadataFilter(key="category", value="test")
NO_TEST = MetadataFilters(filters=[IS_TEST], condition="not")
NO_VALUE = MetadataFilters(filters=[MetadataFilter(key="category", value=None)])


@pytest.fixture
def store(tmp_path: Path):
    store = _store(str(tmp_path / "m.db"), "chunks", 4, lexical=True, overwrite=True)
    store.client.insert("chunks", [_entry(node, np.ones(4, dtype=np.float32), node.text) for node in NODES])
    store.client.flush("chunks")
    yield store
    _release(store, tmp_path / "m.db")


def stock(store, filters):
    query = VectorStoreQuery(query_embedding=[1.0] * 4, similarity_top_k=9, filters=filters)
    return {node.node_id for node in store.query(query).nodes}


def test_stock_leaves_the_not_out(still, store):
    still(stock(store, NO_TEST) == {"test"}, "MilvusVectorStore honours, or refuses, a condition NOT")


def test_stock_leaves_a_filter_without_a_value_out(still, store):
    still(stock(store, NO_VALUE) == {"test", "code"}, "MilvusVectorStore honours, or refuses, a filter without a value")


@pytest.mark.parametrize("filters", [NO_TEST, NO_VALUE])
def test_ours_refuses_what_it_cannot_keep_to(store, filters):
    with pytest.raises(ValueError, match="filter"):
        MilvusBM25Retriever(store, filters=filters)
    with pytest.raises(ValueError, match="filter"):
        BM25sRetriever(NODES, filters=filters)


def test_ours_has_another_word_for_it(store):
    filters = MetadataFilters(filters=[MetadataFilter(key="category", value="test", operator="!=")])
    for retriever in (MilvusBM25Retriever(store, filters=filters), BM25sRetriever(NODES, filters=filters)):
        assert [hit.node.node_id for hit in retriever.retrieve("retry")] == ["code"]

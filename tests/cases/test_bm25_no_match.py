"""I search for a word that is nowhere, and get a full page of results."""

import pytest
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from rungs.lexical import BM25sRetriever

NODES = [TextNode(id_=str(n), text=text) for n, text in enumerate(("retry a task", "close the pool", "read a file"))]


@pytest.mark.parametrize("query", ["xylophone", "the", ""])
def test_stock_returns_zero_score_filler(still, query):
    hits = BM25Retriever(nodes=NODES, similarity_top_k=2).retrieve(query)
    still(len(hits) == 2, "BM25Retriever returns nothing where nothing matches")
    assert [hit.score for hit in hits] == [0.0, 0.0]


def test_stock_fills_up_a_page_that_one_hit_would_do_for(still):
    hits = BM25Retriever(nodes=NODES, similarity_top_k=3).retrieve("retry")
    still([hit.score > 0 for hit in hits] == [True, False, False], "BM25Retriever returns real matches only")


@pytest.mark.parametrize("query", ["xylophone", "the", ""])
def test_ours_returns_nothing(query):
    assert BM25sRetriever(NODES, top_k=2).retrieve(query) == []


def test_ours_returns_the_one_hit():
    assert [hit.node.node_id for hit in BM25sRetriever(NODES, top_k=3).retrieve("retry")] == ["0"]

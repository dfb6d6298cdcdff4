"""My corpus is small, and asking for ten results raises."""

import logging

import bm25s
import pytest
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from rungs.lexical import BM25sRetriever

TEXTS = ["retry a task", "close the pool"]
NODES = [TextNode(id_=str(n), text=text) for n, text in enumerate(TEXTS)]


def test_bm25s_raises(still):
    engine = bm25s.BM25()
    engine.index([text.split() for text in TEXTS], show_progress=False)
    try:
        engine.retrieve([["retry"]], k=10, show_progress=False)
        raised = False
    except ValueError:
        raised = True
    still(raised, "bm25s returns what there is where k exceeds the corpus")


def test_stock_lowers_the_setting_itself(still, caplog):
    with caplog.at_level(logging.WARNING):
        stock = BM25Retriever(nodes=NODES, similarity_top_k=10)
    still(stock.similarity_top_k == 2, "BM25Retriever keeps the similarity_top_k that it was given")


@pytest.mark.parametrize("top_k", [2, 10, 10_000])
def test_ours_returns_what_there_is(top_k):
    ours = BM25sRetriever(NODES, top_k=top_k)
    assert ours.top_k == top_k
    assert {hit.node.node_id for hit in ours.retrieve("retry pool")} == {"0", "1"}

"""I look for "policy" and do not find retryPolicy, whatever pattern I give."""

import pytest
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from rungs.lexical import BM25sRetriever

NODES = [TextNode(id_="camel", text="def retryPolicy(): ..."), TextNode(id_="other", text="def closePool(): ...")]


@pytest.mark.parametrize("pattern", [r"[A-Z]?[a-z]+", r"[a-z]+|[A-Z][a-z]*"])
def test_stock_lowers_the_text_before_the_pattern_sees_it(still, pattern):
    stock = BM25Retriever(nodes=NODES, skip_stemming=True, token_pattern=pattern, similarity_top_k=1)
    still(stock.retrieve("policy")[0].score == 0.0, "BM25Retriever applies token_pattern to the text as it was written")


@pytest.mark.parametrize("query", ["policy", "Policy", "retry policy", "retryPolicy", "retrypolicy"])
def test_ours_finds_the_parts_and_the_whole(query):
    assert [hit.node.node_id for hit in BM25sRetriever(NODES).retrieve(query)] == ["camel"]

"""I pass my own tokenizer, and the search is the same as without it."""

import logging

from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from rungs.lexical import BM25sRetriever

NODES = [TextNode(id_="a", text="retry/policy"), TextNode(id_="b", text="close/pool")]


def by_slash(text: str) -> list[str]:
    return [f"<{part}>" for part in text.split("/")]


def test_stock_takes_it_and_does_not_use_it(still, caplog):
    with caplog.at_level(logging.WARNING):
        stock = BM25Retriever.from_defaults(nodes=NODES, tokenizer=by_slash, similarity_top_k=2)
    still("<retry>" not in stock.bm25.vocab_dict, "BM25Retriever.from_defaults uses the tokenizer it is given")
    still("deprecated" in caplog.text, "BM25Retriever.from_defaults says nothing of a tokenizer it does not use")


def test_ours_uses_it_for_nodes_and_query():
    ours = BM25sRetriever.from_defaults(nodes=NODES, tokenize=by_slash)
    assert set(ours.bm25.vocab_dict) == {"<retry>", "<policy>", "<close>", "<pool>"}
    assert [hit.node.node_id for hit in ours.retrieve("retry")] == ["a"]
    assert ours.retrieve("retry policy") == []

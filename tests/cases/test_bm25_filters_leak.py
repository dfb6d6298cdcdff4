"""I filter for documents, and tests come back at the end of the list."""

from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from rungs.hits import metadata_filters
from rungs.lexical import BM25sRetriever

NODES = [
    TextNode(id_="doc", text="retry a task", metadata={"category": "doc"}),
    TextNode(id_="test", text="retry a task twice", metadata={"category": "test"}),
    TextNode(id_="code", text="close the pool", metadata={"category": "code"}),
]
FILTERS = metadata_filters(["doc"])


def test_stock_returns_what_the_filter_left_out(still):
    hits = BM25Retriever(nodes=NODES, similarity_top_k=3, filters=FILTERS).retrieve("retry")
    categories = {hit.node.metadata["category"] for hit in hits}
    still(categories == {"doc", "test", "code"}, "BM25Retriever keeps to its filters")
    assert {hit.score for hit in hits if hit.node.node_id != "doc"} == {0.0}


def test_ours_keeps_to_the_filter():
    hits = BM25sRetriever(NODES, top_k=3, filters=FILTERS).retrieve("retry")
    assert [hit.node.node_id for hit in hits] == ["doc"]
    assert hits[0].score > 0


def test_stock_refuses_a_filter_that_nothing_passes_and_ours_finds_nothing(still):
    try:
        raised = not BM25Retriever(nodes=NODES, filters=metadata_filters(["config"]))
    except ValueError:
        raised = True
    still(raised, "BM25Retriever can be made with a filter that nothing passes")
    assert BM25sRetriever(NODES, filters=metadata_filters(["config"])).retrieve("retry") == []

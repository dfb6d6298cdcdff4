"""The word search finds nothing, and yet the merged list is not the one of the vector search."""

import pytest
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from rungs.fusion import reciprocal_rank_fusion
from rungs.lexical import BM25sRetriever

NODES = [TextNode(id_=name, text=f"text of {name}") for name in "abcd"]
DENSE = "dcba"


@pytest.fixture
def dense(hits):
    return hits(*DENSE)


def test_stock_filler_is_fused_as_if_it_had_been_found(still, fused, dense):
    lexical = BM25Retriever(nodes=NODES, similarity_top_k=4).retrieve("xylophone")
    merged = fused(dense, lexical)
    alone = {hit.node.node_id: hit.score for hit in fused(dense)}
    still(
        any(hit.score > alone[hit.node.node_id] for hit in merged),
        "a BM25Retriever that finds nothing has no vote in QueryFusionRetriever",
    )


def test_ours_has_no_vote_where_it_found_nothing(fused, dense):
    lexical = BM25sRetriever(NODES, top_k=4).retrieve("xylophone")
    ours = reciprocal_rank_fusion({"dense": dense, "bm25": lexical})
    assert [hit.node.node_id for hit in ours] == list(DENSE)
    assert [hit.score for hit in ours] == [hit.score for hit in reciprocal_rank_fusion({"dense": dense})]
    assert all("bm25" not in hit.node.metadata["scores"] for hit in ours)
    assert [hit.node.node_id for hit in fused(dense, lexical)] == list(DENSE)

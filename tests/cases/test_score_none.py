"""A retriever that gives no scores is put behind one filter, and its whole list is gone."""

import pytest
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

from rungs.fusion import reciprocal_rank_fusion
from rungs.lexical import BM25sRetriever


@pytest.fixture
def unscored():
    return [NodeWithScore(node=TextNode(id_=name, text=name)) for name in "ba"]


def test_stock_drops_what_has_no_score_and_keeps_what_scores_zero(still, unscored):
    zero = [NodeWithScore(node=TextNode(id_="z", text="z"), score=0.0)]
    kept = SimilarityPostprocessor(similarity_cutoff=0.0).postprocess_nodes([*unscored, *zero])
    still([hit.node.node_id for hit in kept] == ["z"], "SimilarityPostprocessor tells no score from a low one")


def test_stock_orders_what_has_no_score_as_if_it_were_zero(still, fused, hits, unscored):
    """Fused with a hit of a negative score, as a cross-encoder gives, the list is turned round."""
    below = NodeWithScore(node=TextNode(id_="first", text="first"), score=-2.0)
    merged = fused([below, *unscored])
    still(merged[-1].node.node_id == "first", "QueryFusionRetriever keeps the order of a list that has no scores")


def test_ours_goes_by_rank_and_scores_every_hit(unscored):
    below = NodeWithScore(node=TextNode(id_="first", text="first"), score=-2.0)
    fused = reciprocal_rank_fusion({"any": [below, *unscored]})
    assert [hit.node.node_id for hit in fused] == ["first", "b", "a"]
    assert "any" not in fused[1].node.metadata["scores"]
    for hit in BM25sRetriever([TextNode(text="retry"), TextNode(text="pool")]).retrieve("retry pool"):
        assert hit.score is not None
        assert hit.score > 0

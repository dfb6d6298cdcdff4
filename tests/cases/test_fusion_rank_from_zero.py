"""The fused scores are not those of the paper, nor of any other search engine."""

import pytest

from rungs.fusion import reciprocal_rank_fusion


def test_stock_counts_ranks_from_zero(still, fused, hits):
    scores = [hit.score for hit in fused(hits("a", "b"))]
    still(scores[0] == pytest.approx(1 / 60), "QueryFusionRetriever counts ranks from 1")
    assert scores == pytest.approx([1 / 60, 1 / 61])


def test_ours_counts_them_from_one(hits):
    ours = reciprocal_rank_fusion({"one": hits("a", "b")})
    assert [hit.score for hit in ours] == pytest.approx([1 / 61, 1 / 62])
    assert [hit.node.metadata["ranks"] for hit in ours] == [{"one": 1}, {"one": 2}]
    assert ours[0].node.metadata["scores"]["rrf"] == ours[0].score

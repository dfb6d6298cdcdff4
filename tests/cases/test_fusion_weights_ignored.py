"""I give one retriever nine tenths of the weight, and nothing changes."""

import pytest

from rungs.fusion import reciprocal_rank_fusion


def ids(found):
    return [(hit.node.node_id, hit.score) for hit in found]


def test_stock_ignores_the_weights(still, fused, hits):
    def lists():
        return hits("a", "b"), hits("b", "c", "a")

    one = ids(fused(*lists(), retriever_weights=[0.9, 0.1]))
    other = ids(fused(*lists(), retriever_weights=[0.1, 0.9]))
    still(one == other, "QueryFusionRetriever weighs ranks by retriever_weights")


@pytest.mark.parametrize(("weights", "first"), [({"left": 9}, "a"), ({"right": 9}, "b")])
def test_ours_weighs(hits, weights, first):
    ours = reciprocal_rank_fusion({"left": hits("a", "b"), "right": hits("b", "c", "a")}, weights=weights)
    assert ours[0].node.node_id == first

"""After fusing, the scores of the first retriever are gone; asked again, it returns fused ones."""

import pytest

from rungs.fusion import reciprocal_rank_fusion


@pytest.mark.parametrize("mode", ["reciprocal_rerank", "relative_score", "dist_based_score"])
def test_stock_writes_into_the_hits_it_was_given(still, fused, hits, mode):
    given = hits("a", "b")
    before = [hit.score for hit in given]
    fused(given, hits("b"), mode=mode)
    still([hit.score for hit in given] != before, f"QueryFusionRetriever leaves scores alone in mode {mode}")


def test_ours_leaves_them_alone(hits):
    given = {"left": hits("a", "b"), "right": hits("b", "a")}
    before = {name: [hit.model_dump() for hit in one] for name, one in given.items()}
    ours = reciprocal_rank_fusion(given)
    assert {name: [hit.model_dump() for hit in one] for name, one in given.items()} == before
    ours[0].node.metadata["path"] = "changed"
    ours[0].score = -1.0
    assert {name: [hit.model_dump() for hit in one] for name, one in given.items()} == before


def test_ours_keeps_every_channels_own_score(hits):
    [best, _] = reciprocal_rank_fusion({"left": hits("a", "b"), "right": hits("a")})
    assert set(best.node.metadata["scores"]) == {"left", "right", "rrf"}

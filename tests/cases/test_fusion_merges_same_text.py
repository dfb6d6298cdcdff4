"""Two files hold the same function, and only one of them is found, above what was really best."""

from rungs.fusion import reciprocal_rank_fusion

SAME = {"ours.py": "def close(): pass", "theirs.py": "def close(): pass"}


def test_stock_takes_the_same_text_for_the_same_chunk(still, fused, hits):
    merged = fused(hits("best", "ours.py", texts=SAME), hits("other", "theirs.py", texts=SAME))
    names = [hit.node.node_id for hit in merged]
    still(len({"ours.py", "theirs.py"} & set(names)) == 1, "QueryFusionRetriever tells nodes apart by id")
    assert names[0] in SAME  # second in one list each, and first of all by the votes of both


def test_ours_tells_chunks_apart_by_id(hits):
    lists = {"left": hits("best", "ours.py", texts=SAME), "right": hits("other", "theirs.py", texts=SAME)}
    assert [hit.node.node_id for hit in reciprocal_rank_fusion(lists)] == ["best", "other", "ours.py", "theirs.py"]

"""I fuse two lists for one query, with nothing to rewrite, and am asked for an OpenAI key."""

import pytest
from llama_index.core import Settings
from llama_index.core.retrievers import QueryFusionRetriever

from rungs.fusion import FusionRetriever


@pytest.fixture
def without_a_model(monkeypatch):
    for name in ("OPENAI_API_KEY", "IS_TESTING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Settings, "_llm", None)


def test_stock_wants_a_language_model_for_a_single_query(still, fixed, hits, without_a_model):
    try:
        QueryFusionRetriever([fixed(hits("a"))], num_queries=1, mode="reciprocal_rerank", use_async=False)
        raised = False
    except (ValueError, ImportError) as error:
        raised = "key" in str(error) or "llm" in str(error).lower()
    still(raised, "QueryFusionRetriever asks for a language model only where it rewrites the query")


def test_ours_has_no_use_for_one(fixed, hits, without_a_model):
    ours = FusionRetriever({"left": fixed(hits("a", "b")), "right": fixed(hits("b", "a"))})
    assert [hit.node.node_id for hit in ours.retrieve("anything")] == ["a", "b"]

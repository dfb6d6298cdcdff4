"""The funnel: results that say how they came about, stages that may fail, nothing shared between hits."""

import asyncio
import json

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import TextNode

from rungs.errors import SettingsError
from rungs.funnel import Funnel
from rungs.hits import make_hit

NODES = [
    TextNode(
        id_=f"n{i}",
        text=f"<b>text {i}</b>\x1b[31m",
        metadata={
            "path": f"src/<f{i}>.py",
            "symbol": f"f{i}",
            "start_line": 1,
            "end_line": 2,
            "category": "code",
            "language": "python",
        },
    )
    for i in range(5)
]


class Fixed(BaseRetriever):
    """Returns the five nodes, best first."""

    def _retrieve(self, query_bundle):
        return [make_hit(node, "dense", 1 - i / 10) for i, node in enumerate(NODES)]


class Reverse(BaseNodePostprocessor):
    def _postprocess_nodes(self, nodes, query_bundle=None):
        return nodes[::-1]


class Broken(BaseNodePostprocessor):
    def _postprocess_nodes(self, nodes, query_bundle=None):
        nodes.clear()
        raise RuntimeError("model\nnot there")


def funnel(*stages, **kwargs) -> Funnel:
    return Funnel({"dense": Fixed()}, mode="dense", stages=stages, **kwargs)


def ids(hits) -> list[str]:
    return [hit.node.node_id for hit in hits]


def test_a_funnel_is_a_retriever_and_returns_top_k():
    f = funnel(top_k=2)
    assert isinstance(f, BaseRetriever)
    assert ids(f.retrieve("q")) == ids(f.search("q").hits) == ["n0", "n1"]
    assert ids(asyncio.run(f.aretrieve("q"))) == ["n0", "n1"]


def test_a_longer_list_begins_with_the_shorter_one():
    f = funnel(("reverse", Reverse()))
    assert ids(f.search("q", top_k=5).hits)[:2] == ids(f.search("q", top_k=2).hits) == ["n4", "n3"]


def test_a_failing_optional_stage_is_skipped_and_reported():
    result = funnel(("broken", Broken()), ("reverse", Reverse())).search("q")
    assert ids(result.hits) == ["n4", "n3", "n2", "n1", "n0"]
    assert result.degraded == [{"stage": "broken", "reason": "RuntimeError: model not there"}]


def test_a_failing_channel_raises():
    class Down(BaseRetriever):
        def _retrieve(self, query_bundle):
            raise ConnectionError("no server")

    with pytest.raises(ConnectionError):
        Funnel({"dense": Down()}, mode="dense").search("q")


def test_timings_name_every_stage():
    assert set(funnel(("reverse", Reverse())).search("q").timings_ms) == {"dense", "reverse"}


def test_changing_a_hit_changes_nothing_else():
    f = funnel()
    hit = f.search("q").hits[0]
    hit.node.metadata["scores"]["dense"] = -1
    hit.node.metadata["path"] = "elsewhere"
    hit.score = -1
    again = f.search("q").hits[0]
    assert again.node.metadata["scores"] == {"dense": 1.0}
    assert again.node.metadata["path"] == NODES[0].metadata["path"] == "src/<f0>.py"
    assert "scores" not in NODES[0].metadata


def test_scores_are_not_shown_to_a_language_model():
    from llama_index.core.schema import MetadataMode

    assert "scores" not in funnel().search("q").hits[0].node.get_content(metadata_mode=MetadataMode.LLM)


def test_json_has_the_contracts_keys():
    data = json.loads(json.dumps(funnel(top_k=1).search("q").to_dict(), allow_nan=False))
    assert set(data) == {"query", "route", "reason", "weak_match", "dropped", "degraded", "timings_ms", "hits"}
    assert data["hits"] == [
        {
            "rank": 1,
            "path": "src/<f0>.py",
            "symbol": "f0",
            "start_line": 1,
            "end_line": 2,
            "category": "code",
            "score": 1.0,
            "scores": {"dense": 1.0},
            "text": "<b>text 0</b>\x1b[31m",
        }
    ]


def test_html_escapes_everything_from_corpus_and_query():
    page = funnel().search("<script>alert(1)</script>")._repr_html_()
    assert "<script>" not in page
    assert "<b>text" not in page
    assert "src/<f0>" not in page
    assert "&lt;b&gt;text 0" in page


@pytest.mark.parametrize("top_k", [0, -1])
def test_a_senseless_top_k_is_refused(top_k: int):
    with pytest.raises(ValueError, match="at least 1"):
        funnel().search("q", top_k=top_k)


def test_a_mode_without_a_channel_is_refused():
    with pytest.raises(SettingsError, match="no channel"):
        Funnel({"dense": Fixed()}, mode="hybrid")


def test_with_channels_keeps_everything_else():
    f = funnel(("reverse", Reverse()), top_k=3, settings={"corpus": "celery"})
    g = f.with_channels({"dense": Fixed()})
    assert (g.config(), g.stages) == (f.config(), f.stages)

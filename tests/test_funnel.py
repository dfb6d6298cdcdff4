"""The funnel: results that say how they came about, stages that may fail, nothing shared between hits."""

import asyncio
import json
from pathlib import Path

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import TextNode

from rungs.corpus import register
from rungs.errors import SettingsError
from rungs.funnel import Funnel, Routing, channels_of
from rungs.fusion import reciprocal_rank_fusion
from rungs.hits import make_hit
from rungs.names import NameTable
from rungs.routing import DefinitionRetriever, RegexRouter
from rungs.settings import Settings
from rungs.workbench import Workbench

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


@pytest.mark.parametrize("mode", ["hybrid", "auto", "bm25"])
def test_a_mode_without_a_channel_is_refused(mode: str):
    with pytest.raises(SettingsError, match=f"mode '{mode}' wants channel 'bm25'; there is dense"):
        Funnel({"dense": Fixed()}, mode=mode)


def test_names_want_the_channel_of_their_definitions():
    channels = {"dense": Fixed(), "bm25": Fixed()}
    assert Funnel(channels, mode="auto").mode == "auto"
    with pytest.raises(SettingsError, match="wants channel 'definition'"):
        Funnel(channels, mode="auto", routing=Routing(NameTable()))


def test_with_channels_keeps_everything_else():
    f = funnel(("reverse", Reverse()), top_k=3, settings={"corpus": "celery"})
    g = f.with_channels({"dense": Fixed()})
    assert (g.config(), g.stages) == (f.config(), f.stages)


# --- modes


class Channel(BaseRetriever):
    """Returns some of the nodes, and notes what it was asked."""

    def __init__(self, name: str, order: str):
        super().__init__()
        self.name, self.order, self.asked = name, order, []

    def _retrieve(self, query_bundle):
        self.asked.append(query_bundle)
        return [make_hit(NODES[int(i)], self.name, 1 - rank / 10) for rank, i in enumerate(self.order)]


class Embedder:
    """Counts; a funnel asks it for nothing else."""

    def __init__(self):
        self.queries = []

    def get_query_embedding(self, query):
        self.queries.append(query)
        return [1.0, 0.0]


TABLE = NameTable([("src.f", "f4", "code", ["n4"]), ("src.f", "Pool.f3", "code", ["n3"])], ["used_here"], ["real-time"])


def modal(mode: str, dense: str = "01", bm25: str = "12", **routing) -> Funnel:
    """A funnel over two scripted channels, and over definitions where there are names."""
    channels = {"dense": Channel("dense", dense), "bm25": Channel("bm25", bm25)}
    if (names := routing.get("names")) is not None:
        channels["definition"] = DefinitionRetriever(names, lambda ids: [node for node in NODES if node.node_id in ids])
    return Funnel(channels, mode=mode, embed_model=Embedder(), routing=Routing(**{"prose": "dense", **routing}))


def asked(f: Funnel) -> list[str]:
    """The channels that were asked, and the embedder."""
    counts = {name: len(f.channels[name].asked) for name in ("dense", "bm25")} | {"embed": len(f.embed_model.queries)}
    assert max(counts.values()) <= 1, "nothing is to be asked twice"
    return [name for name, n in counts.items() if n]


def test_hybrid_fuses_both_channels():
    f = modal("hybrid", k=10)
    result = f.search("any words")
    assert ids(result.hits) == ["n1", "n0", "n2"]
    assert [hit.score for hit in result.hits] == pytest.approx([1 / 12 + 1 / 11, 1 / 11, 1 / 12])
    assert result.hits[0].node.metadata["scores"] == {"dense": 0.9, "bm25": 1.0, "rrf": result.hits[0].score}
    assert (result.route, result.reason) == ("hybrid", "mode is hybrid")
    assert list(result.timings_ms) == ["embed", "dense", "bm25", "fusion"]
    assert asked(f) == ["dense", "bm25", "embed"]


def test_hybrid_weighs_bm25_as_told():
    assert ids(modal("hybrid", k=10, bm25_weight=0.0).search("q").hits) == ["n0", "n1"]
    assert ids(modal("hybrid", dense="01", bm25="23", k=10, bm25_weight=2.0).search("q").hits) == [
        "n2",
        "n3",
        "n0",
        "n1",
    ]


def test_the_query_is_embedded_once_and_only_for_the_channel_that_needs_it():
    f = modal("hybrid")
    f.search("how")
    assert f.channels["dense"].asked[0].embedding == [1.0, 0.0]
    assert f.channels["bm25"].asked[0].embedding is None
    for mode, embedded in {"dense": ["how"], "bm25": []}.items():
        f = modal(mode)
        f.search("how")
        assert f.embed_model.queries == embedded


def test_an_empty_query_is_not_embedded():
    f = modal("hybrid")
    f.search("  ")
    assert f.embed_model.queries == []


@pytest.mark.parametrize(
    ("routing", "query", "route", "reason", "wanted", "used"),
    [
        ({"names": TABLE}, "f4", "bm25", "defined here", "n4 n1 n2", "bm25"),
        ({"names": TABLE}, "Pool.f3", "bm25", "defined here", "n3 n1 n2", "bm25"),
        ({"names": TABLE}, "used_here", "bm25", "a name here", "n1 n2", "bm25"),
        ({"names": TABLE}, "real-time", "dense", "a word", "n0 n1", "dense embed"),
        ({"names": TABLE}, "what is Pool.f3", "dense", "a question that names Pool.f3", "n0 n1", "dense embed"),
        ({"names": TABLE, "prose": "hybrid"}, "what is it", "hybrid", "a question", "n1 n0 n2", "dense bm25 embed"),
        (
            {"names": TABLE, "blend": 9.0},
            "on Pool.f3",
            "dense",
            "a question that names Pool.f3",
            "n3 n0 n1",
            "dense embed",
        ),
        ({}, "f4_g", "bm25", "shaped like a name", "n1 n2", "bm25"),
        ({}, "f4", "dense", "a word", "n0 n1", "dense embed"),
        ({"regex": True}, "real-time", "bm25", "matches the regex", "n1 n2", "bm25"),
        ({"regex": True}, "--pool", "dense", "does not match the regex", "n0 n1", "dense embed"),
        ({"regex": True, "prose": "hybrid"}, "--pool", "hybrid", "does not match", "n1 n0 n2", "dense bm25 embed"),
    ],
)
def test_auto_sends_a_query_where_it_belongs(routing, query, route, reason, wanted, used):
    """The embedding is not computed for a name: that is most of what routing saves."""
    f = modal("auto", **routing)
    result = f.search(query)
    assert (result.route, ids(result.hits)) == (route, wanted.split())
    assert reason in result.reason
    assert not result.weak_match
    assert asked(f) == used.split()
    stages = {"embed", "dense", "bm25"} & set(result.timings_ms)
    assert stages == set(used.split())
    assert ("definition" in result.timings_ms) == (
        bool(routing.get("names")) and (route == "bm25" or "blend" in routing)
    )
    assert ("fusion" in result.timings_ms) == (route == "hybrid")
    assert all(ms >= 0 for ms in result.timings_ms.values())


def test_a_name_that_is_not_here_is_a_weak_match():
    result = modal("auto", names=TABLE).search("no_such_name")
    assert (result.weak_match, result.reason, ids(result.hits)) == (True, "no such name here", ["n1", "n2"])
    assert json.loads(json.dumps(result.to_dict()))["weak_match"] is True


@pytest.mark.parametrize(
    ("routing", "query", "steps", "wanted"),
    [
        ({}, "how is it", [("dense", ())], "n0 n1"),
        ({}, "f4_g", [("bm25", ())], "n1 n2"),
        (
            {"prose": "hybrid"},
            "how is it",
            [("dense", ()), ("bm25", ()), ("hybrid", ("dense", "bm25"))],
            "n1 n0 n2",
        ),
        (
            {"names": TABLE},
            "f4",
            [("definition", ()), ("bm25", ()), ("routed", ("definition", "bm25"))],
            "n4 n1 n2",
        ),
        (
            {"names": TABLE, "prose": "hybrid", "blend": 9.0},
            "on Pool.f3",
            [
                ("dense", ()),
                ("bm25", ()),
                ("hybrid", ("dense", "bm25")),
                ("definition", ()),
                ("routed", ("hybrid", "definition")),
            ],
            "n3 n1 n0 n2",
        ),
    ],
)
def test_a_trace_says_which_list_was_made_from_which(routing, query, steps, wanted):
    f = modal("auto", **routing)
    traced = f.trace(query)
    assert [(step.name, step.inputs) for step in traced[:-1]] == steps
    assert (traced[-1].name, traced[-1].inputs) == ("top 8", (steps[-1][0],))
    assert ids(traced[-1].hits) == ids(traced[-2].hits) == wanted.split()
    assert ids(f.search(query).hits) == wanted.split()


def test_where_bm25_finds_nothing_the_question_goes_on_and_is_asked_nothing_twice():
    f = modal("auto", bm25="", names=TABLE, prose="hybrid")
    result = f.search("no_such_name")
    assert (result.route, result.weak_match, ids(result.hits)) == ("hybrid", True, ["n0", "n1"])
    assert result.reason == "shaped like a name, but bm25 found nothing"
    assert asked(f) == ["dense", "bm25", "embed"]
    steps = modal("auto", bm25="", names=TABLE, prose="hybrid").trace("no_such_name")
    assert [(step.name, step.inputs) for step in steps] == [
        ("definition", ()),
        ("bm25", ()),
        ("dense", ()),
        ("hybrid", ("dense", "bm25")),
        ("routed", ("definition", "hybrid")),
        ("top 8", ("routed",)),
    ]


def test_stages_work_on_whatever_the_mode_answers():
    for mode in ("dense", "bm25", "hybrid", "auto"):
        plain = modal(mode, names=TABLE)
        staged = Funnel(plain.channels, mode=mode, stages=[("reverse", Reverse())], routing=plain.routing)
        assert ids(staged.search("f4").hits) == ids(plain.search("f4").hits)[::-1]
        assert staged.trace("f4")[-1].inputs == ("reverse",)


def test_steps_and_hits_share_nothing():
    f = modal("auto", names=TABLE, prose="hybrid", blend=1.0)
    traced = f.trace("on Pool.f3")
    for step in traced:
        for hit in step.hits:
            hit.node.metadata["scores"]["dense"] = -1
            hit.node.metadata["path"] = "elsewhere"
    assert all("scores" not in node.metadata and node.metadata["path"].startswith("src/") for node in NODES)
    again = f.trace("on Pool.f3")
    assert all(hit.node.metadata["path"] != "elsewhere" for step in again for hit in step.hits)


def test_a_routing_that_nobody_described_is_that_of_the_settings():
    assert Routing() == Routing.from_settings(Settings(), None)


def test_with_channels_keeps_the_routing():
    f = modal("auto", names=TABLE)
    again = f.with_channels(f.channels)
    assert again.routing is f.routing
    assert ids(again.search("f4").hits) == ["n4", "n1", "n2"]


def test_settings_say_how_to_route():
    s = Settings(rrf_k=3, bm25_weight=0.5, name_weight=0.25, prose_mode="dense")
    made = Routing.from_settings(s, TABLE)
    assert (made.names, made.prose, made.blend, made.k, made.bm25_weight, made.regex) == (
        TABLE,
        "dense",
        0.25,
        3,
        0.5,
        False,
    )
    shape = Routing.from_settings(s.but(router="shape"), TABLE)
    assert (shape.names, shape.regex) == (None, False)
    assert shape.router.route("f4").to == "prose"
    assert isinstance(Routing.from_settings(s.but(router="regex"), TABLE).router, RegexRouter)
    lists = {"dense": modal("dense").search("q").hits, "bm25": modal("bm25").search("q").hits}
    assert [hit.score for hit in made.fuse(lists)] == [
        hit.score for hit in reciprocal_rank_fusion(lists, k=3, weights={"bm25": 0.5})
    ]


def test_a_mode_opens_no_channel_that_it_never_asks():
    s = Settings()
    assert channels_of("dense", s) == ("dense",)
    assert channels_of("bm25", s) == ("bm25",)
    assert channels_of("hybrid", s) == ("dense", "bm25")
    assert channels_of("auto", s) == ("dense", "bm25", "definition")
    for router in ("shape", "regex"):
        assert channels_of("auto", s.but(router=router)) == ("dense", "bm25")
    assert channels_of("auto", Routing(TABLE)) == ("dense", "bm25", "definition")
    assert channels_of("auto", Routing()) == ("dense", "bm25")


# --- over an index


@pytest.fixture
def shop(small_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: Path) -> Workbench:
    """The small corpus, indexed with the untrained model: what is found by meaning is anybody's guess."""
    monkeypatch.setenv("RAG_CACHE_DIR", str(tmp_path / "cache"))
    register(small_corpus, "small", tmp_path / "home")
    bench = Workbench(Settings(corpus="small", embed_model=str(tiny_model)), tmp_path / "home")
    bench.build(progress=False)
    return bench


def test_funnels_of_one_workbench_share_their_channels(shop: Workbench):
    auto, hybrid, dense, bm25 = (shop.funnel(search_mode=mode) for mode in ("auto", "hybrid", "dense", "bm25"))
    assert set(auto.channels) == {"dense", "bm25", "definition"}
    assert set(hybrid.channels) == {"dense", "bm25"}
    assert auto.channels["dense"] is hybrid.channels["dense"] is dense.channels["dense"]
    assert auto.channels["bm25"] is hybrid.channels["bm25"] is bm25.channels["bm25"]
    other = shop.funnel(rrf_k=60, bm25_weight=2.0, name_weight=1.0, prose_mode="dense", router="shape", top_k=3)
    assert other.channels["bm25"] is auto.channels["bm25"]
    filtered = shop.funnel(category="code")
    assert all(filtered.channels[name] is not auto.channels[name] for name in auto.channels)
    assert shop.funnel(candidates=7).channels["bm25"] is not auto.channels["bm25"]
    assert bm25.embed_model is None


def test_names_of_an_index_are_looked_up_under_the_filters_in_force(shop: Workbench):
    result = shop.funnel().search("Pool.acquire")
    assert (result.route, result.reason, result.weak_match) == ("bm25", "defined here", False)
    first = result.hits[0].node.metadata
    assert (first["path"], first["symbol"]) == ("app/pool.py", "Pool.acquire")
    assert {"definition", "bm25", "name"} <= set(first["scores"])
    assert [hit.score for hit in result.hits] == [1 / rank for rank in range(1, len(result.hits) + 1)]
    tests = shop.funnel(category="test").search("retry_policy")
    assert {hit.node.metadata["category"] for hit in tests.hits} == {"test"}
    assert not tests.weak_match
    elsewhere = shop.funnel(path_prefix="docs/").search("Pool.acquire")
    assert {hit.node.metadata["path"] for hit in elsewhere.hits} == {"docs/guide.rst"}
    assert not elsewhere.weak_match
    assert shop.funnel().search("no_such_name").weak_match


def test_a_question_of_an_index_is_answered_by_both_channels(shop: Workbench):
    result = shop.funnel().search("why is a failed call tried again")
    assert result.route == "hybrid"
    assert set(result.timings_ms) == {"embed", "dense", "bm25", "fusion"}
    found = next(hit for hit in result.hits if hit.node.metadata["path"] == "docs/guide.rst")
    assert {"dense", "bm25", "rrf"} == set(found.node.metadata["scores"])


def test_windows_know_no_names_and_go_by_shape(shop: Workbench):
    shop.build(shop.settings.but(chunking="windows"), progress=False)
    result = shop.funnel(chunking="windows").search("retry_policy")
    assert (result.route, result.reason, result.weak_match) == ("bm25", "shaped like a name", False)
    assert "definition" not in result.timings_ms


def test_ids_that_need_quoting_are_fetched(shop: Workbench, small_corpus: Path):
    """A path may hold anything but a slash; it stands in the id."""
    odd = """app/it's "quoted" \\ and ünlü.py"""
    (small_corpus / odd).write_text("def oddly_placed():\n    return 1\n", encoding="utf-8")
    register(small_corpus, "small", shop.home)
    bench = Workbench(shop.settings, shop.home)
    bench.build(progress=False)
    [first, *_] = bench.funnel().search("oddly_placed").hits
    assert first.node.metadata["path"] == odd
    assert "definition" in first.node.metadata["scores"]


def test_a_workbench_has_the_router_of_its_settings(shop: Workbench):
    assert shop.router().route("Pool").to == "symbol"
    assert shop.router(router="shape").route("Pool").to == "prose"
    assert isinstance(shop.router(router="regex"), RegexRouter)

"""Whole measurements over scripted retrievers, and everything that must make one FAILED."""

import asyncio
import json
import time

import numpy as np
import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import (
    ImageNode,
    Node,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from rungs.errors import RunError
from rungs.measure import METRICS, evaluate, evaluate_all
from rungs.measure.shared import Memo, share

from .toys import LONG, RETRY, SEND, TASKS, Scripted, Searching, answers, hit, line, quiet


def test_figures_by_hand(golden):
    report = quiet(Scripted(answers()), golden)
    assert report.status == "ok" and report.n == 5
    values = {name: report.metrics[name]["value"] for name in METRICS}
    assert values["recall@8"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert values["mrr"] == pytest.approx((0.5 + 1 + 1) / 3)
    assert values["all_recall@8"] == pytest.approx(2 / 3)
    assert values["precision@8"] == pytest.approx(3 / 24)
    assert values["file_recall@8"] == 1
    assert (values["abstain_rate"], report.metrics["abstain_rate"]["n"]) == (0.5, 2)
    assert (values["false_weak_rate"], report.metrics["false_weak_rate"]["n"]) == (0, 3)
    assert report.by_kind["symbol"]["mrr"]["value"] == 1
    assert report.by_kind["negative-near"]["abstain_rate"]["value"] == 1
    assert report.by_kind["symbol"]["abstain_rate"]["n"] == 0
    assert list(report.by_kind) == ["prose-en", "symbol", "multi-hop", "negative-far", "negative-near"]


def test_calibration_uses_the_best_dense_score_of_each_question(golden):
    assert quiet(Scripted(answers()), golden).calibration == {
        "positive_min_top_dense": 0.6,
        "positive_median_top_dense": pytest.approx(0.7),
        "negative_median_top_dense": 0.5,
        "negative_max_top_dense": 0.5,
    }
    lexical = Scripted({q: [hit("a", 1, 2, scores={"bm25": 1.0})] for q in answers()})
    assert set(quiet(lexical, golden).calibration.values()) == {None}


def test_cases_say_what_happened_question_by_question(golden):
    case, _, both, resort, _ = quiet(Scripted(answers()), golden).cases
    assert (case["id"], case["kind"], case["expect"], case["first_rank"]) == ("retry", "prose-en", [RETRY], 2)
    assert case["found"] == {RETRY: 2} and both["found"] == {SEND: 1, LONG: None}
    assert case["metrics"]["mrr"] == 0.5 and case["error"] is None and case["ms"] is None
    first, second = case["hits"]
    assert (first["rank"], first["id"], first["relevant"], second["relevant"]) == (1, "run", False, True)
    assert (second["path"], second["start_line"], second["end_line"]) == ("pkg/tasks.py", 9, 12)
    assert (second["score"], second["scores"]) == (0.8, {"dense": 0.8, "b": 3})
    assert (resort["first_rank"], resort["abstained"]) == (None, False)


def test_what_was_measured_is_named(golden, corpus):
    report = quiet(Searching({"a": Scripted(answers())}), golden)
    assert report.corpus == {"name": "small", "sha256": corpus.sha256}
    assert report.golden == {"name": "golden", "sha256": golden.sha256}
    assert report.model == "toy" and report.config["top_k"] == 8


def test_a_stock_retriever_is_described_without_its_secrets(golden):
    retriever = Scripted(answers())
    retriever._similarity_top_k, retriever._api_key = 7, "s3cret"
    config = quiet(retriever, golden).config
    assert config["similarity_top_k"] == 7 and config["retriever"].endswith("Scripted")
    assert "s3cret" not in json.dumps(config)


def test_search_is_asked_for_the_depth_and_its_signals_are_kept(golden):
    funnel = Searching({"a": Scripted(answers())}, weak_match=True, dropped=3)
    report = quiet(funnel, golden, depth=12)
    assert funnel.depths == [12] * 5
    assert report.metrics["abstain_rate"]["value"] == report.metrics["false_weak_rate"]["value"] == 1
    assert (report.cases[0]["route"], report.cases[0]["dropped"]) == ("all", 3)


def test_a_plain_retriever_is_cut_at_the_depth_and_the_report_says_how_deep_it_went(golden):
    many = [hit(f"n{i}", 1, 2, score=100 - i) for i in range(60)]
    assert quiet(Scripted({"where is send?": many}), golden).depth == 40
    few = Scripted({"where is send?": many[:10], "where is retry?": many[:3]})
    report = quiet(few, golden)
    assert report.depth == 10
    assert len(report.cases[1]["hits"]) == 10


def test_pooled_is_a_parameter_and_stands_in_the_report(make_golden):
    golden = make_golden(line("a", also=[SEND]))
    retriever = Scripted({"where is a?": [hit("send", 18, 20)]})
    strict, pooled = quiet(retriever, golden), quiet(retriever, golden, pooled=True)
    assert (strict.metrics["mrr"]["value"], pooled.metrics["mrr"]["value"]) == (0, 1)
    assert (strict.pooled, pooled.pooled) == (False, True)
    assert pooled.cases[0]["found"] == {RETRY: None, SEND: 1}


def test_context_is_counted_over_the_texts_read(make_golden):
    texts = ["alpha beta", "gamma delta epsilon", "unread"]
    hits = [hit("a", 1, 2, 3.0), hit("b", 9, 12, 2.0), hit("c", 14, 15, 1.0)]
    for found, text in zip(hits, texts, strict=True):
        found.node.set_content(text)
    report = quiet(Scripted({"where is a?": hits}), make_golden(line("a")))
    from rungs.measure.metrics import count_tokens

    assert report.cases[0]["metrics"]["tokens_to_answer"] == count_tokens(texts[0]) + count_tokens(texts[1])


def test_a_stock_llama_index_retriever_works_as_it_is(golden):
    document = Document(text=TASKS, metadata={"file_path": "/src/pkg/tasks.py"})
    index = VectorStoreIndex.from_documents([document], embed_model=MockEmbedding(embed_dim=4))
    report = quiet(index.as_retriever(similarity_top_k=3), golden)
    assert report.status == "ok", report.failures
    assert report.metrics["file_recall@8"]["value"] == 1
    assert report.config["similarity_top_k"] == 3


# --- what is measured all the same


def test_equal_scores_and_no_scores_are_in_order(golden):
    for scores in ((0.5, 0.5), (None, None), (1.0, None)):
        fine = Scripted({"where is send?": [hit("x", 1, 2, scores[0]), hit("y", 3, 4, scores[1])]})
        assert quiet(fine, golden).status == "ok"


@pytest.mark.parametrize("thing", [object(), "index", None])
def test_what_is_no_retriever_is_refused(thing, golden):
    with pytest.raises(RunError, match="not a LlamaIndex BaseRetriever"):
        evaluate(thing, golden)


def test_a_depth_below_one_is_refused(golden):
    with pytest.raises(RunError, match="depth is 0"):
        evaluate(Scripted({}), golden, depth=0)


# --- latency


class Slow(Scripted):
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        time.sleep(0.08 if query_bundle.query_str == "where is send?" else 0.002)
        return super()._retrieve(query_bundle)


def test_latency_is_a_pass_of_its_own_over_every_question_after_warm_up(golden):
    retriever = Slow(answers())
    report = evaluate(retriever, golden, progress=False)
    questions = [question.q for question in golden.questions]
    assert retriever.asked[3:8] == retriever.asked[-5:] == questions, "timed before they are asked for quality"
    warm_up, probes = retriever.asked[:3], retriever.asked[8:-5]
    assert not set(warm_up + probes) & set(questions), "either would fill a cache with the questions"
    assert report.latency["n"] == 5
    assert 2 <= report.latency["p50_ms"] < 40 < report.latency["p95_ms"]
    assert report.cases[1]["ms"] >= 80 > report.cases[0]["ms"] >= 2


def test_latency_can_be_left_out(golden):
    retriever = Scripted(answers())
    assert quiet(retriever, golden).latency == {"p50_ms": None, "p95_ms": None, "n": 0}
    assert len(retriever.asked) == 5


def test_a_retriever_that_raises_only_while_timed_fails(golden):
    class Moody(Scripted):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            hits = super()._retrieve(query_bundle)
            if query_bundle.query_str == "where is send?" and self.asked.count("where is send?") == 1:
                raise TimeoutError("busy")
            return hits

    report = evaluate(Moody(answers()), golden, progress=False)
    assert report.status == "FAILED"
    assert report.failures == {"send": "while timed: TimeoutError: busy"}
    assert report.latency["n"] == 0


# --- shared work


def halve(hits: list[NodeWithScore]) -> list[NodeWithScore]:
    """A rude stage: it changes the hits it was given."""
    for found in hits:
        found.score /= 2
        found.node.metadata["scores"]["rude"] = 1.0
        found.node.metadata["path"] = "pkg/sub/tasks.py"
        found.node.metadata |= {"start_line": 1, "end_line": 2}
        found.node.set_content(f"rewritten {found.node_id}")
    return hits


def test_a_channel_shared_by_many_is_asked_each_question_once(golden):
    channel, other = Scripted(answers()), Scripted({})
    systems = {f"s{i}": Searching({"a": channel, "b": other}) for i in range(8)} | {"plain": channel}
    reports = evaluate_all(systems, golden, latency=False, progress=False)
    assert channel.asked == other.asked == [question.q for question in golden.questions]
    assert [report.metrics["mrr"]["value"] for report in reports.values()] == [pytest.approx(2.5 / 3)] * 9


def test_a_stage_that_changes_its_hits_harms_no_other_system(golden):
    channel = Scripted(answers())
    systems = {
        "rude": Searching({"a": channel}, halve),
        "polite": Searching({"a": channel}),
        "rude again": Searching({"a": channel}, halve),
    }
    shared = evaluate_all(systems, golden, latency=False, progress=False)
    alone = {name: quiet(Searching({"a": Scripted(answers())}, s._stage), golden) for name, s in systems.items()}
    for name in systems:
        assert shared[name].to_dict() == alone[name].to_dict()
    assert shared["rude"].metrics["mrr"]["value"] == 0 < shared["polite"].metrics["mrr"]["value"]


def test_latency_shares_nothing(golden):
    channel = Slow(answers())
    systems = {"one": Searching({"a": channel}), "two": Searching({"a": channel})}
    reports = evaluate_all(systems, golden, progress=False)
    assert channel.asked.count("where is send?") == 2 + 1, "timed for each system, measured once for both"
    assert all(report.cases[1]["ms"] >= 80 for report in reports.values())


def test_config_is_that_of_the_retriever_and_not_of_its_stand_in(golden):
    channel = Scripted(answers())
    reports = evaluate_all({"a": channel, "b": channel}, golden, latency=False, progress=False)
    assert reports["a"].config["retriever"].endswith("Scripted")


def test_a_searcher_without_channels_keeps_its_signals_when_shared(golden):
    class Closed(BaseRetriever):
        def search(self, query: str, top_k: int | None = None):
            return Searching({"a": Scripted(answers())}, weak_match=True).search(query, top_k)

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            raise AssertionError("asked through search")

    closed = Closed()
    reports = evaluate_all({"a": closed, "b": closed}, golden, latency=False, progress=False)
    assert reports["b"].status == "ok" and reports["b"].metrics["abstain_rate"]["value"] == 1


def test_what_a_memo_returns_is_nobody_elses():
    node = TextNode(id_="a", text="t", metadata={"scores": {"dense": 0.5}})
    inner = Scripted({"q": [NodeWithScore(node=node, score=1)]})
    memo = Memo(inner)
    first = memo.retrieve("q")
    first[0].score = -1
    first[0].node.metadata["scores"]["dense"] = 9
    first[0].node.set_content("changed")
    first.clear()
    inner._answers["q"][0].node.metadata["scores"]["dense"] = 7  # the channel's own node is not remembered either
    for again in (memo.retrieve("q"), asyncio.run(memo.aretrieve("q"))):
        assert (again[0].score, again[0].node.metadata["scores"]["dense"], again[0].node.get_content()) == (1, 0.5, "t")
    assert inner.asked == ["q"]


@pytest.mark.parametrize("kind", [TextNode, ImageNode, Node])
def test_every_part_of_a_remembered_node_is_a_copy(kind):
    def make():
        source = RelatedNodeInfo(node_id="d", metadata={"file_path": "a.py", "tags": ["x"]})
        node = kind(
            id_="a",
            metadata={"scores": {"dense": 0.5}, "list": [[1]], "vector": np.arange(2.0), "call": len, "pair": ([1],)},
            embedding=[0.1, 0.2],
            relationships={NodeRelationship.SOURCE: source, NodeRelationship.CHILD: [source]},
            excluded_llm_metadata_keys=["scores"],
        )
        node.set_content("text")
        return NodeWithScore(node=node, score=0.5)

    memo = Memo(Scripted({"q": [make()]}))
    rude, other = memo.retrieve("q")[0].node, memo.retrieve("q")[0].node
    assert type(rude) is kind and rude.metadata["call"] is len
    for a, b in zip(mutable_parts(rude), mutable_parts(other), strict=True):
        assert a == b and a is not b
    assert not np.shares_memory(rude.metadata["vector"], other.metadata["vector"])
    rude.set_content("changed")
    assert memo.retrieve("q")[0].node.get_content() == make().node.get_content() == "text"


def mutable_parts(node):
    source, (child,) = node.relationships[NodeRelationship.SOURCE], node.relationships[NodeRelationship.CHILD]
    metadata = node.metadata
    yield from (metadata["scores"], metadata["list"], metadata["list"][0], metadata["pair"][0], node.embedding)
    yield from (node.relationships, source, child, source.metadata, source.metadata["tags"])
    yield node.excluded_llm_metadata_keys


def test_a_memo_tells_queries_apart_and_remembers_no_failure():
    inner = Scripted({"q": ValueError("down"), "p": [hit("p", 1, 2)]})
    memo = Memo(inner)
    for _ in range(2):
        with pytest.raises(ValueError, match="down"):
            memo.retrieve("q")
    assert [found.node_id for found in memo.retrieve("p")] == ["p"]
    embedded = [QueryBundle("p", embedding=[1.0, 0.0]), QueryBundle("p", embedding=[0.0, 1.0]), QueryBundle("p")]
    for bundle in embedded * 2:
        memo.retrieve(bundle)
    assert inner.asked == ["q", "q", "p", "p", "p"]


def test_a_query_is_embedded_once_for_all_systems_and_the_originals_stay(golden):
    class Counting(MockEmbedding):
        asked: list[str] = []  # noqa: RUF012 -- a pydantic field

        def _get_query_embedding(self, query: str) -> list[float]:
            self.asked.append(query)
            return super()._get_query_embedding(query)

    class Embedding(Searching):
        embed_model = Counting(embed_dim=2)

        def with_channels(self, channels):
            return Embedding(channels, self._stage, **self._signals)

        def search(self, query: str, top_k: int | None = None):
            vector = self.embed_model.get_query_embedding(query)
            assert vector == [0.5, 0.5]
            vector[0] = 9.0
            return super().search(query, top_k)

    systems = {name: Embedding({"a": Scripted(answers())}) for name in "abc"}
    reports = evaluate_all(systems, golden, latency=False, progress=False)
    assert {report.status for report in reports.values()} == {"ok"}
    assert Embedding.embed_model.asked == [question.q for question in golden.questions]
    assert all(type(system.embed_model) is Counting for system in systems.values())


def test_one_object_gets_one_memo_and_two_objects_two():
    channel, twin = Scripted(answers()), Scripted(answers())
    shared = share({"a": Searching({"x": channel, "y": twin}), "b": Searching({"z": channel}), "c": twin})
    assert shared["a"].channels["x"] is shared["b"].channels["z"]
    assert shared["a"].channels["y"] is shared["c"]
    assert shared["a"].channels["x"] is not shared["a"].channels["y"]


def test_progress_goes_to_stderr(golden, capsys):
    evaluate(Scripted(answers()), golden, latency=False, progress=True)
    streams = capsys.readouterr()
    assert streams.out == "" and "measuring" in streams.err

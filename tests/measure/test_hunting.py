"""Explanations, regressions, ablations and sweeps over a toy funnel; every loss is planted, so its place is known."""

from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from rungs.errors import GoldenError, RunError
from rungs.funnel import Funnel
from rungs.measure import Golden, ablate, explain, find_regressions, sweep
from rungs.measure.explain import StepView, find_loss
from rungs.measure.table import Table

from .toys import GUIDE, RETRY, SEND, Scripted, hit, line, negative


class Demote(BaseNodePostprocessor):
    """Scales the scores of some hits and sorts again, as a prior does; 0 drops them, as a band does."""

    word: str
    factor: float = 1.0

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        scaled = [
            NodeWithScore(node=n.node, score=n.score * (self.factor if self.word in n.node.metadata["path"] else 1.0))
            for n in nodes
        ]
        return sorted((n for n in scaled if n.score), key=lambda n: -n.score)


def listing(*places: str) -> list[NodeWithScore]:
    """Hits with falling scores: ``retry``, ``send``, ``guide``, or a filler by any other name."""
    spans = {"retry": (9, 12), "send": (18, 20)}
    hits = []
    for rank, name in enumerate(places):
        score = 1.0 - rank / 100
        if name == "guide":
            hits.append(hit(name, 1, 3, score, GUIDE, category="doc"))
        elif name in spans:
            hits.append(hit(name, *spans[name], score, category="code", symbol=name))
        else:
            hits.append(hit(name, 1, 1, score, "pkg/sub/tasks.py", category="code"))
    return hits


FILLERS = [f"filler{i}" for i in range(12)]


@pytest.fixture
def golden(make_golden: Callable[..., Golden]) -> Golden:
    return make_golden(
        line("code", [RETRY]),
        line("both", [RETRY, SEND], mode="all"),
        *(line(f"guide{i}", [GUIDE], kind="doc") for i in range(5)),
        negative("none"),
    )


def make(golden: Golden, **factors: float) -> Funnel:
    """A funnel whose stages demote by path: ``docs=0.5``, ``pkg=0.1``."""
    answers = {"code": ("retry", "guide"), "both": ("send", "guide", "retry"), "none": ("guide",)}
    answers |= {f"guide{i}": ("guide", *FILLERS) for i in range(5)}
    script = {q.q: listing(*answers[q.id]) for q in golden.questions}
    stages = [(f"{word} prior", Demote(word=word, factor=factor)) for word, factor in factors.items()]
    return Funnel({"dense": Scripted(script)}, mode="dense", stages=stages, settings=factors)


def test_explains_where_the_answer_stands_after_every_step(golden: Golden) -> None:
    found = explain(make(golden, docs=0.5), "guide0", golden)
    assert [(s.name, s.size, s.first, s.cut) for s in found.steps] == [
        ("dense", 13, 1, False),
        ("docs prior", 13, 13, False),
        ("top 8", 8, None, True),
    ]
    assert found.verdict == "not found: demoted by docs prior, 1 → 13"
    assert found.steps[1].above[0] == "pkg/sub/tasks.py (code)"
    assert found.to_dict()["loss"] == {"step": "docs prior", "how": "demoted", "before": 1, "after": 13}


def test_explains_a_question_that_needs_two_places(golden: Golden) -> None:
    found = explain(make(golden), "both", golden)
    assert found.steps[0].found == {RETRY: 3, SEND: 1}
    assert found.loss is None
    assert "docs/guide.md (doc)" not in found.steps[0].above, "nothing stands above rank 1"


def test_explains_a_question_without_an_answer(golden: Golden) -> None:
    assert explain(make(golden), "none", golden).verdict == "the corpus has no answer; 1 hits came back"


def test_explains_a_retriever_that_tells_no_steps(golden: Golden) -> None:
    plain = Scripted({q.q: listing(*FILLERS, "retry") for q in golden.questions})
    assert explain(plain, "code", golden).verdict == "not found: ranked 13 by retrieve"


def test_says_which_id_is_missing(golden: Golden) -> None:
    with pytest.raises(GoldenError, match="there is no question 'c999'"):
        explain(make(golden), "c999", golden)


def test_a_stage_that_failed_is_named_in_the_explanation(golden: Golden) -> None:
    class Broken(Demote):
        def _postprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
            raise ValueError("no such model")

    funnel = Funnel(make(golden).channels, mode="dense", stages=[("rerank", Broken(word="x"))])
    assert explain(funnel, "code", golden).steps[1].note == "ValueError: no such model"


def test_a_stage_that_writes_into_its_input_does_not_rewrite_the_trace(golden: Golden) -> None:
    class Rude(Demote):
        def _postprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
            for node in nodes:
                node.score = 0.0
                node.node.metadata["path"] = "gone"
            return nodes

    funnel = Funnel(make(golden).channels, mode="dense", stages=[("rude", Rude(word="x"))])
    first, second, _ = funnel.trace("where is code?")
    assert [h.node.metadata["path"] for h in first.hits] == ["pkg/tasks.py", GUIDE]
    assert first.hits[0].score == 1.0
    assert second.hits[0].score == 0.0


def step(
    name: str, inputs: tuple[str, ...], first: int | None, before: int | None = None, cut: bool = False
) -> StepView:
    return StepView(name, inputs, 40, first, {}, before, (), cut)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([step("dense", (), None), step("bm25", (), None), step("rrf", ("dense", "bm25"), None)],
         "not in the pool of dense and bm25"),
        ([step("dense", (), 2), step("bm25", (), None), step("rrf", ("dense", "bm25"), 11, 2)],
         "demoted by rrf, 2 → 11"),
        ([step("dense", (), 2), step("rerank", ("dense",), 5, 2), step("band", ("rerank",), None, 5)],
         "dropped by band (was at 5)"),
        ([step("dense", (), 3), step("prior", ("dense",), 20, 3), step("rerank", ("prior",), 4, 20),
          step("diversity", ("rerank",), 9, 4), step("top 8", ("diversity",), None, 9, cut=True)],
         "demoted by diversity, 4 → 9"),
        ([step("dense", (), 30), step("top 8", ("dense",), None, 30, cut=True)], "ranked 30 by dense"),
        ([step("dense", (), 1), step("rerank", ("dense",), 2, 1), step("prior", ("rerank",), 5, 2)],
         "demoted by rerank, 1 → 2"),
        ([step("dense", (), 1), step("top 8", ("dense",), 1, 1, cut=True)], "None"),
    ],
)  # fmt: skip
def test_finds_the_step_that_lost_the_answer(steps: list[StepView], said: str) -> None:
    assert str(find_loss(steps, 8)) == said


def test_lists_what_got_worse_with_the_step_that_did_it(golden: Golden) -> None:
    found = find_regressions(make(golden), make(golden, docs=0.5), golden, progress=False)
    assert [r.id for r in found.questions] == [f"guide{i}" for i in range(5)]
    assert found.by_step == {"demoted: docs prior": 5}
    assert found.questions[0].lost
    assert (found.questions[0].before, found.questions[0].after) == (1, 13)
    assert found.questions[0].replaced_by == ("pkg/sub/tasks.py (code)",)
    assert "5 of 7 questions got worse, 5 of them lost from the top 8" in found.summary()


def test_hunts_from_a_report_too(golden: Golden) -> None:
    from rungs.measure import evaluate

    report = evaluate(make(golden), golden, latency=False, progress=False)
    found = find_regressions(report, make(golden, docs=0.0), golden, progress=False)
    assert found.by_step == {"dropped: docs prior": 5}


def test_losing_one_of_two_needed_places_is_a_regression(golden: Golden) -> None:
    class DropRetry(Demote):
        def _postprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
            return [n for n in nodes if n.node.node_id != "retry"]

    funnel = Funnel(make(golden).channels, mode="dense", stages=[("band", DropRetry(word=""))])
    found = find_regressions(make(golden), funnel, golden, progress=False)
    assert {r.id: (r.before, r.after, r.lost) for r in found.questions} == {
        "code": (1, None, True),
        "both": (1, 1, True),
    }


def test_nothing_got_worse(golden: Golden) -> None:
    assert len(find_regressions(make(golden), make(golden), golden, progress=False)) == 0


def test_ablation_measures_each_alone_and_the_stack_without_each(golden: Golden) -> None:
    techniques = {"docs": {"docs": 0.5}, "code": {"pkg": 0.9}, "idle": {"nowhere": 0.1}}
    found = ablate(techniques, golden, make=lambda **f: make(golden, **f), progress=False)
    assert list(found.reports) == [
        "baseline",
        "+ docs",
        "+ code",
        "+ idle",
        "all of them",
        "- docs",
        "- code",
        "- idle",
    ]
    alone = {d.system: d.value for d in found.alone.differences if d.metric == "recall@8"}
    assert alone["+ docs"] == pytest.approx(-5 / 7)
    assert alone["+ idle"] == 0
    assert found.alone.inert == ("+ idle",)
    assert found.without is not None
    assert "- idle" in found.without.inert
    assert "changed no ranking at all" in found.summary()
    assert set(found.to_frame()["against"]) == {"baseline", "all of them"}


def test_ablation_of_two_does_not_measure_the_same_thing_twice(golden: Golden) -> None:
    made: list[dict[str, float]] = []

    def counted(**factors: float) -> Funnel:
        made.append(factors)
        return make(golden, **factors)

    found = ablate({"a": {"docs": 0.5}, "b": {"pkg": 0.5}}, golden, make=counted, progress=False)
    assert len(made) == 4
    assert found.reports["- a"] is found.reports["+ b"]


def test_ablation_refuses_techniques_that_contradict(golden: Golden) -> None:
    with pytest.raises(RunError, match="'a' and 'b' want different values of docs"):
        ablate({"a": {"docs": 0.5}, "b": {"docs": 0.9}}, golden, make=lambda **f: make(golden, **f))


def test_a_sweep_shows_golden_and_controls_side_by_side(golden: Golden) -> None:
    found = sweep("docs", [1.0, 0.9, 0.5], golden, ["doc"], make=lambda **f: make(golden, **f), progress=False)
    assert found.groups == {"golden": frozenset({"code", "both"}), "doc": frozenset(f"guide{i}" for i in range(5))}
    assert found.figures(1.0, "doc")["recall@8"]["value"] == 1
    assert found.figures(0.5, "doc")["recall@8"]["value"] == 0
    assert found.figures(0.5)["recall@8"]["value"] == 1
    assert list(found.harms(0.5)) == ["doc"]
    assert found.table().header[-2:] == ["doc recall@8 (n=5)", "marks"]
    assert "harm doc" in found.table().rows[2][-1]


def test_a_sweep_marks_the_plateau_and_the_edge_and_picks_nothing(make_golden: Callable[..., Golden]) -> None:
    docs = (line(f"guide{i}", [GUIDE], kind="doc") for i in range(9))
    golden = make_golden(*docs, *(line(f"code{i}") for i in range(5)))

    def retriever(first: int) -> Scripted:
        before = listing(*FILLERS[: first - 1], "guide")
        return Scripted({q.q: before if q.kind == "doc" else listing("retry") for q in golden.questions})

    found = sweep("first", [9, 3, 2, 1], golden, ["prose-en"], make=retriever, metrics=("mrr",), progress=False)
    assert found.best == 1
    assert found.plateau == (1,), "every doc question is readably higher at 1"
    assert "edge" in found.table().rows[3][-1]
    assert "widen it" in found.summary()
    assert not hasattr(found, "picked")


def test_a_sweep_that_could_not_see_the_harm_says_so(make_golden: Callable[..., Golden]) -> None:
    """A prior against documents, swept on questions none of which has a document as its answer: it can only look good."""
    golden = make_golden(
        *(line(f"code{i}") for i in range(6)), *(line(f"send{i}", [SEND], kind="issue") for i in range(6))
    )
    script = {q.q: listing(*["guide", *FILLERS, "send", "retry"]) for q in golden.questions}

    def demoted(docs: float) -> Funnel:
        return Funnel({"dense": Scripted(script)}, mode="dense", stages=[("prior", Demote(word="docs", factor=docs))])

    found = sweep("docs", [1.0, 0.5], golden, ["issue"], make=demoted, progress=False)
    assert [(b.category, b.fewest, b.most, b.questions) for b in found.blind] == [("doc", 0, 12, 0)]
    assert found.plateau == ()
    assert "BLIND to doc: the setting moves it between 0 and 12 of 96 slots, and 0 questions" in found.summary()


def test_a_sweep_that_changes_nothing_says_so(golden: Golden) -> None:
    found = sweep("nowhere", [1.0, 0.1], golden, ["doc"], make=lambda **f: make(golden, **f), progress=False)
    assert found.inert == (1.0, 0.1)[1:]
    assert "inert: nowhere changes nothing at any value" in found.summary()


def test_a_sweep_measures_what_its_values_share_once(golden: Golden) -> None:
    shared = make(golden).channels["dense"]

    def over(docs: float) -> Funnel:
        return Funnel({"dense": shared}, mode="dense", stages=[("prior", Demote(word="docs", factor=docs))])

    sweep("docs", [1.0, 0.9, 0.8], golden, ["doc"], make=over, progress=False)
    assert len(shared.asked) == len(golden)


def test_controls_may_be_a_file_of_their_own(golden: Golden, make_golden: Callable[..., Golden]) -> None:
    controls = make_golden(*(line(f"extra{i}", [GUIDE], kind="doc") for i in range(5)))
    both = {q.q: listing("guide") for q in controls.questions} | {q.q: listing("retry") for q in golden.questions}
    found = sweep("value", [1, 2], golden, controls, make=lambda value: Scripted(both), progress=False)
    assert found.groups["doc"] == frozenset(f"extra{i}" for i in range(5))
    assert "guide0" in found.groups["golden"]


def test_a_controls_file_must_not_repeat_ids(golden: Golden) -> None:
    with pytest.raises(GoldenError, match="id 'code' is in"):
        sweep("v", [1, 2], golden, golden, make=lambda v: make(golden), progress=False)


@pytest.mark.parametrize(("values", "said"), [([1], "not 1"), ([1, 1], "not 1, 1"), ([], "not none")])
def test_a_sweep_needs_two_values(golden: Golden, values: list[int], said: str) -> None:
    with pytest.raises(RunError, match=said):
        sweep("v", values, golden, ["doc"], make=lambda v: make(golden))


def test_a_table_cuts_long_cells_and_keeps_control_characters_out() -> None:
    shown = Table("t", ("a", "b"), [("x" * 100, "\x1b[31mred\nnext")]).text()
    assert "x" * 71 + "…" in shown
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 3
    assert "<td style='text-align:left'>&lt;b&gt;</td>" in Table("t", ("a",), [("<b>",)]).html()

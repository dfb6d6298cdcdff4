"""Fusion: ranks are added as the paper adds them, nothing else decides, and nothing handed in is changed."""

import asyncio
import copy
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode

from rungs.fusion import FusionRetriever, contribution, reciprocal_rank_fusion, relative_score_fusion
from rungs.hits import make_hit
from rungs.measure.shared import share


def hits(names: Sequence[str], channel: str = "", scores: Sequence[float] = ()) -> list[NodeWithScore]:
    """A ranked list; with a channel as the rungs return it, without as any other retriever does."""
    values = scores or [1 - i / 100 for i in range(len(names))]
    nodes = [TextNode(id_=name, text=f"text of {name}", metadata={"path": f"{name}.py"}) for name in names]
    if not channel:
        return [NodeWithScore(node=node, score=value) for node, value in zip(nodes, values, strict=True)]
    return [make_hit(node, channel, value) for node, value in zip(nodes, values, strict=True)]


def ids(found: Sequence[NodeWithScore]) -> list[str]:
    return [hit.node.node_id for hit in found]


class Fixed(BaseRetriever):
    """Returns one list, whatever is asked."""

    def __init__(self, found: list[NodeWithScore]) -> None:
        super().__init__()
        self.found = found

    def _retrieve(self, query_bundle):
        return self.found


# --- the arithmetic


def test_the_worked_example():
    """bm25 says A B C, dense says C A B: A = 1/61 + 1/62, C = 1/63 + 1/61, B = 1/62 + 1/63."""
    fused = reciprocal_rank_fusion({"bm25": hits("ABC"), "dense": hits("CAB")})
    assert [(hit.node.node_id, round(hit.score, 6)) for hit in fused] == [
        ("A", 0.032522),
        ("C", 0.032266),
        ("B", 0.032002),
    ]


@pytest.mark.parametrize(("k", "first", "fifth"), [(0, 1.0, 0.2), (10, 0.0909, 0.0667), (60, 0.0164, 0.0154)])
def test_what_k_makes_of_a_first_and_a_fifth_place(k: int, first: float, fifth: float):
    assert (round(contribution(1, k), 4), round(contribution(5, k), 4)) == (first, fifth)
    fused = reciprocal_rank_fusion({"one": hits("ABCDE")}, k=k)
    assert (round(fused[0].score, 4), round(fused[4].score, 4)) == (first, fifth)


def first_and_agreed(k: float) -> list[str]:
    """D is first in one list and in no other, E fifth in both."""
    lists = {"one": hits(["D", "p", "q", "r", "E"]), "two": hits(["s", "t", "u", "v", "E"])}
    return [name for name in ids(reciprocal_rank_fusion(lists, k=k)) if name in "DE"]


@pytest.mark.parametrize(
    ("k", "order"), [(0, "DE"), (2, "DE"), (2.999, "DE"), (3.001, "ED"), (4, "ED"), (10, "ED"), (60, "ED")]
)
def test_agreement_outweighs_being_first_from_k_3_on(k: float, order: str):
    """1/(k+1) = 2/(k+5) at k = 3."""
    assert first_and_agreed(k) == list(order)


def test_at_k_3_they_are_equal_and_the_better_rank_decides():
    assert contribution(1, 3) == 2 * contribution(5, 3)
    assert first_and_agreed(3) == ["D", "E"]


@pytest.mark.parametrize("rank", [0, -1])
def test_ranks_count_from_one(rank: int):
    with pytest.raises(ValueError, match="ranks count from 1"):
        contribution(rank)
    assert reciprocal_rank_fusion({"one": hits("A")}, k=0)[0].score == 1.0


def test_the_same_text_in_two_files_stays_two_hits():
    node = {"text": "def setUp(self): pass"}
    lists = {
        "bm25": [NodeWithScore(node=TextNode(id_="a.py#1", **node), score=2.0)],
        "dense": [NodeWithScore(node=TextNode(id_="b.py#1", **node), score=0.5)],
    }
    assert ids(reciprocal_rank_fusion(lists)) == ["a.py#1", "b.py#1"]


def test_of_a_document_listed_twice_the_better_rank_counts():
    [a, b] = reciprocal_rank_fusion({"one": hits("ABA")}, k=0)
    assert (a.node.node_id, a.score, a.node.metadata["ranks"]) == ("A", 1.0, {"one": 1})
    assert (b.node.node_id, b.score) == ("B", 0.5)


# --- weights


def test_a_weight_multiplies_what_its_list_says():
    lists = {"bm25": hits("AB"), "dense": hits("BC")}
    plain = {hit.node.node_id: hit.score for hit in reciprocal_rank_fusion(lists, k=1)}
    assert plain == pytest.approx({"A": 1 / 2, "B": 1 / 3 + 1 / 2, "C": 1 / 3})
    heavy = {hit.node.node_id: hit.score for hit in reciprocal_rank_fusion(lists, k=1, weights={"bm25": 3})}
    assert heavy == pytest.approx({"A": 3 / 2, "B": 3 / 3 + 1 / 2, "C": 1 / 3})


def test_a_list_without_a_say_changes_neither_hits_nor_order():
    """Also not through the rule for ties: there b, first in a list, stands before a and c, which are second in two."""
    lists = {"p": hits("bax"), "q": hits("yaz"), "r": hits("c")}
    tied = {"p": hits("xa"), "q": hits("ya"), "r": hits("b")}
    for one in (lists, tied):
        without = reciprocal_rank_fusion(one, k=0)
        silent = reciprocal_rank_fusion({**one, "z": hits("anew")}, k=0, weights={"z": 0})
        assert [(hit.node.node_id, hit.score) for hit in silent] == [(hit.node.node_id, hit.score) for hit in without]
    assert ids(reciprocal_rank_fusion(tied, k=0))[-1] == "a"


def test_a_list_without_a_say_still_says_what_it_thinks_of_the_others():
    fused = reciprocal_rank_fusion({"bm25": hits("AB", "bm25"), "dense": hits("BC", "dense")}, weights={"dense": 0})
    assert ids(fused) == ["A", "B"]
    assert set(fused[1].node.metadata["scores"]) == {"bm25", "dense", "rrf"}
    assert fused[1].node.metadata["ranks"] == {"bm25": 2, "dense": 1}


# --- ties


def test_ties_go_by_the_best_rank_and_then_by_id_whatever_the_channels_order():
    lists = {"bm25": hits("BX"), "dense": hits("AX"), "third": hits("CX")}
    orders = [dict(reversed(lists.items())), lists, {name: lists[name] for name in ("dense", "third", "bm25")}]
    assert [ids(reciprocal_rank_fusion(one)) for one in orders] == [["X", "A", "B", "C"]] * 3


def test_equal_sums_that_are_added_in_another_order_are_still_equal():
    """1/11 + 1/12 + 1/17 is three different numbers in three orders, for a computer that adds from the left."""
    places = {"a": (1, 2, 7), "b": (7, 1, 2), "c": (2, 7, 1)}
    lists = {}
    for i, channel in enumerate(("one", "two", "three")):
        row = [f"{channel}{rank}" for rank in range(1, 8)]
        for name, ranks in places.items():
            row[ranks[i] - 1] = name
        lists[channel] = hits(row)
    fused = reciprocal_rank_fusion(lists, k=10)
    assert ids(fused)[:3] == ["a", "b", "c"]
    assert len({hit.score for hit in fused[:3]}) == 1


# --- what a hit says, and what it leaves alone


def test_each_hit_keeps_every_channels_score_and_rank():
    lists = {"bm25": hits("AB", "bm25", [12.5, 3.5]), "dense": hits("BC", "dense", [0.75, 0.5])}
    fused = {hit.node.node_id: hit for hit in reciprocal_rank_fusion(lists, k=10)}
    b = fused["B"].node.metadata
    assert b["scores"] == {"bm25": 3.5, "dense": 0.75, "rrf": fused["B"].score}
    assert b["ranks"] == {"bm25": 2, "dense": 1}
    assert fused["A"].node.metadata["scores"] == {"bm25": 12.5, "rrf": fused["A"].score}
    assert fused["C"].node.metadata["ranks"] == {"dense": 2}
    assert fused["B"].node.metadata["path"] == "B.py"


def test_scores_of_a_retriever_that_keeps_none_are_kept_under_its_channels_name():
    [hit] = reciprocal_rank_fusion({"theirs": hits("A", scores=[7.0])}, k=0)
    assert hit.node.metadata["scores"] == {"theirs": 7.0, "rrf": 1.0}
    [unscored] = reciprocal_rank_fusion({"theirs": [NodeWithScore(node=TextNode(id_="A", text="a"))]}, k=0)
    assert unscored.node.metadata["scores"] == {"rrf": 1.0}


def test_a_language_model_sees_neither_scores_nor_ranks():
    [hit] = reciprocal_rank_fusion({"one": hits("A", "one")})
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        shown = hit.node.get_content(metadata_mode=mode)
        assert "path: A.py" in shown
        assert "scores" not in shown
        assert "ranks" not in shown


@pytest.mark.parametrize("fuse", [reciprocal_rank_fusion, relative_score_fusion])
def test_what_is_handed_in_is_not_changed(fuse):
    lists = {"bm25": hits("ABC", "bm25"), "dense": hits("CAB", "dense"), "plain": hits("BD")}
    kept = copy.deepcopy(lists)
    fused = fuse(lists, weights={"bm25": 2.0})
    for hit in fused:  # nor through what came back
        hit.node.metadata["scores"]["bm25"] = -1.0
        hit.node.metadata["ranks"]["dense"] = -1
        hit.node.metadata["path"] = "elsewhere"
        hit.node.excluded_llm_metadata_keys.append("path")
        hit.score = -1.0
    assert lists == kept
    assert [hit.score for found in lists.values() for hit in found] == [
        hit.score for found in kept.values() for hit in found
    ]


def test_nothing_fused_is_nothing():
    assert reciprocal_rank_fusion({}) == []
    assert reciprocal_rank_fusion({"bm25": [], "dense": []}) == []
    assert relative_score_fusion({"bm25": [], "dense": []}) == []
    assert ids(reciprocal_rank_fusion({"bm25": [], "dense": hits("AB")})) == ["A", "B"]


# --- properties

NAMES = [f"n{i:02}" for i in range(12)]
ranking = st.lists(st.sampled_from(NAMES), unique=True, max_size=12)
constants = st.one_of(st.integers(0, 100), st.floats(0, 1000))


def said(found: Sequence[NodeWithScore]) -> list[tuple]:
    return [
        (h.node.node_id, h.score, sorted(h.node.metadata["scores"].items()), sorted(h.node.metadata["ranks"].items()))
        for h in found
    ]


@given(
    st.dictionaries(st.sampled_from("pqrst"), st.tuples(ranking, st.floats(0, 10)), min_size=2),
    constants,
    st.randoms(use_true_random=False),
)
def test_the_order_of_the_channels_changes_nothing(drawn, k, random):
    order = list(drawn)
    random.shuffle(order)
    weights = {name: weight for name, (_, weight) in drawn.items()}
    before = reciprocal_rank_fusion({name: hits(drawn[name][0], name) for name in drawn}, k=k, weights=weights)
    after = reciprocal_rank_fusion({name: hits(drawn[name][0], name) for name in order}, k=k, weights=weights)
    assert said(before) == said(after)


@given(ranking, constants, st.floats(0.001, 1000))
def test_a_single_list_is_itself(names, k, weight):
    fused = reciprocal_rank_fusion({"one": hits(names)}, k=k, weights={"one": weight})
    assert ids(fused) == names
    assert [hit.node.metadata["ranks"] for hit in fused] == [{"one": i} for i, _ in enumerate(names, start=1)]


@given(st.dictionaries(st.sampled_from("pqrst"), st.permutations(NAMES), min_size=1), constants)
def test_what_is_better_in_every_list_is_never_below(drawn, k):
    order = ids(reciprocal_rank_fusion({name: hits(row) for name, row in drawn.items()}, k=k))
    for a in NAMES:
        for b in NAMES:
            if a != b and all(row.index(a) < row.index(b) for row in drawn.values()):
                assert order.index(a) < order.index(b)


@given(st.dictionaries(st.sampled_from("pqrst"), ranking, min_size=1), constants)
def test_every_document_comes_once_with_the_sum_of_its_ranks(drawn, k):
    fused = reciprocal_rank_fusion({name: hits(row) for name, row in drawn.items()}, k=k)
    assert sorted(ids(fused)) == sorted({name for row in drawn.values() for name in row})
    for hit in fused:
        name = hit.node.node_id
        assert hit.score == pytest.approx(sum(1 / (k + 1 + row.index(name)) for row in drawn.values() if name in row))
    assert [hit.score for hit in fused] == sorted((hit.score for hit in fused), reverse=True)


# --- relative scores, and why not


def test_relative_scores_are_stretched_from_0_to_1():
    lists = {"bm25": hits("ABC", scores=[9, 6, 3]), "dense": hits("BA", scores=[0.8, 0.2])}
    fused = relative_score_fusion(lists)
    assert [(h.node.node_id, h.score) for h in fused] == [("B", 1.5), ("A", 1.0), ("C", 0.0)]
    assert fused[0].node.metadata["scores"]["relative"] == 1.5
    weighed = {h.node.node_id: h.score for h in relative_score_fusion(lists, weights={"bm25": 0.5})}
    assert weighed == {"A": 0.5, "B": 1.25, "C": 0.0}
    assert ids(relative_score_fusion(lists, weights={"bm25": 0})) == ["B", "A"]


def test_a_list_of_equals_gets_full_marks():
    assert [hit.score for hit in relative_score_fusion({"one": hits("AB", scores=[3, 3])})] == [1.0, 1.0]


@given(st.floats(0.01, 0.85))
def test_one_more_candidate_at_the_bottom_reorders_relative_scores_and_leaves_ranks_alone(low: float):
    """X is 2nd of bm25, Y 2nd of dense. What lies below both decides which of them is worth more."""
    bm25 = hits(["P", "X", "end"], scores=[10.0, 9.0, 8.0])  # X is worth a half
    dense = hits(["Q", "Y", "end"], scores=[1.0, 0.95, low])  # Y is worth nearly everything
    longer = [*bm25, *hits(["tail"], scores=[-1000.0])]  # and now X is
    order = {}
    for name, lists in {"before": {"a": bm25, "b": dense}, "after": {"a": longer, "b": dense}}.items():
        order[name] = [one for one in ids(relative_score_fusion(lists)) if one in "XY"]
        ranked = [one for one in ids(reciprocal_rank_fusion(lists)) if one in "XY"]
        assert ranked == ["X", "Y"]
    assert order == {"before": ["Y", "X"], "after": ["X", "Y"]}


def test_a_list_in_which_nothing_fits_gets_a_full_vote_by_relative_scores():
    """The best of nothing is worth as much as the best there is."""
    bm25 = hits(["right", "next"], scores=[20.0, 2.0])
    nonsense = hits(["noise", "more"], scores=[0.011, 0.010])
    scores = {h.node.node_id: h.score for h in relative_score_fusion({"bm25": bm25, "dense": nonsense})}
    assert scores["noise"] == scores["right"] == 1.0


@pytest.mark.parametrize("own", [None, 0.5, "high", [1]])
def test_scores_that_somebody_else_keeps_under_that_name_are_no_hindrance(own):
    node = TextNode(id_="A", text="a", metadata={"scores": own})
    (fused,) = reciprocal_rank_fusion({"theirs": [NodeWithScore(node=node, score=0.9)]})
    assert fused.node.metadata["scores"] == {"theirs": 0.9, "rrf": fused.score}
    assert make_hit(node, "bm25", 2).node.metadata["scores"] == {"bm25": 2.0}
    assert node.metadata == {"scores": own}


# --- the retriever


def test_the_retriever_fuses_what_its_channels_return():
    lists = {"bm25": hits("ABC", "bm25"), "dense": hits("CAB", "dense")}
    retriever = FusionRetriever({name: Fixed(found) for name, found in lists.items()}, top_k=2)
    assert ids(retriever.retrieve("q")) == ids(asyncio.run(retriever.aretrieve("q"))) == ["A", "C"]
    assert retriever.retrieve("q")[0].score == pytest.approx(0.032522, abs=1e-6)
    assert said(retriever.fuse(lists)) == said(reciprocal_rank_fusion(lists))


def test_a_channel_that_puts_up_fewer_candidates_has_less_say():
    found = {"bm25": Fixed(hits("ABCX")), "dense": Fixed(hits("DEXF"))}
    assert ids(FusionRetriever(found, k=60).retrieve("q"))[0] == "X"
    few = FusionRetriever(found, k=60, candidates={"bm25": 2}).retrieve("q")
    assert ids(few) == ["A", "D", "B", "E", "X", "F"]


def test_with_channels_keeps_everything_else():
    options = {"top_k": 3, "k": 5, "weights": {"bm25": 2.0}, "candidates": {"bm25": 2}, "relative": True}
    other = {"bm25": Fixed(hits("A")), "dense": Fixed(hits("B"))}
    again = FusionRetriever({"bm25": Fixed([]), "dense": Fixed([])}, **options).with_channels(other)
    assert again.channels == other
    assert {name: getattr(again, name) for name in options} == options


def test_fusions_measured_together_ask_a_channel_once():
    class Counted(Fixed):
        asked = 0

        def _retrieve(self, query_bundle):
            Counted.asked += 1
            return super()._retrieve(query_bundle)

    channels = {"bm25": Counted(hits("AB")), "dense": Fixed(hits("BC"))}
    both = share({k: FusionRetriever(channels, k=k) for k in (1, 60)})
    assert [ids(retriever.retrieve("q"))[0] for retriever in both.values()] == ["B", "B"]
    assert Counted.asked == 1


def test_the_retriever_hands_on_k_weights_and_the_method():
    found = {"bm25": Fixed(hits("AB", scores=[5, 1])), "dense": Fixed(hits("BC", scores=[0.9, 0.8]))}
    assert FusionRetriever(found, k=0).retrieve("q")[0].score == 1.5
    assert ids(FusionRetriever(found, weights={"dense": 0}).retrieve("q")) == ["A", "B"]
    relative = FusionRetriever(found, relative=True).retrieve("q")
    assert [(h.node.node_id, h.score) for h in relative] == [("A", 1.0), ("B", 1.0), ("C", 0.0)]


# --- what cannot be used


@pytest.mark.parametrize("k", [-1, -0.001, float("nan"), float("inf")])
def test_a_k_that_is_none_is_refused(k: float):
    with pytest.raises(ValueError, match=r"^k is "):
        reciprocal_rank_fusion({"one": hits("A")}, k=k)


@pytest.mark.parametrize("fuse", [reciprocal_rank_fusion, relative_score_fusion])
@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf")])
def test_a_weight_that_is_none_is_refused(fuse, weight: float):
    with pytest.raises(ValueError, match=r"^the weight of one is "):
        fuse({"one": hits("A")}, weights={"one": weight})


@pytest.mark.parametrize("fuse", [reciprocal_rank_fusion, relative_score_fusion])
def test_a_weight_of_an_unknown_channel_is_refused(fuse):
    with pytest.raises(ValueError, match="'bm52', which is no channel; there is bm25"):
        fuse({"bm25": hits("A")}, weights={"bm52": 2.0})


@pytest.mark.parametrize("score", [None, float("nan"), float("inf")])
def test_relative_scores_need_scores(score):
    with pytest.raises(ValueError, match="fuse by rank"):
        relative_score_fusion({"one": [NodeWithScore(node=TextNode(id_="A", text="a"), score=score)]})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"top_k": 0}, "top_k is 0"),
        ({"candidates": {"bm25": 0}}, "candidates of bm25 is 0"),
        ({"candidates": {"dense": 3}}, "candidates for 'dense', which is no channel"),
        ({"weights": {"dense": 1.0}}, "a weight for 'dense', which is no channel"),
        ({"weights": {"bm25": -1.0}}, "the weight of bm25 is -1"),
    ],
)
def test_a_retriever_that_cannot_work_is_not_made(options, says: str):
    with pytest.raises(ValueError, match=says):
        FusionRetriever({"bm25": Fixed(hits("A"))}, **options)

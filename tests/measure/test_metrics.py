"""What counts as found, and every metric, against numbers worked out by hand and against ir_measures."""

import math
from collections.abc import Sequence

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, P, R, Success, nDCG

from rungs.measure.golden import Label, Question
from rungs.measure.locate import Location
from rungs.measure.metrics import METRICS, Judged, aggregate, count_tokens, judge, ndcg_at, recall_at, score


def label(name: str, *spans: tuple[int, int], path: str = "a.py") -> Label:
    return Label(f"{path}::{name}" if name else path, path, name, spans)


def question(*labels: Label, mode: str = "any", also: Sequence[Label] = ()) -> Question:
    return Question("q", "?", labels, mode, "prose-en" if labels else "negative-far", also=tuple(also))


def at(start: int | None, end: int | None = None, path: str = "a.py") -> Location:
    return Location(path, start, end if end is not None else start)


def elsewhere(n: int) -> list[Location]:
    return [at(1, 2, f"other{i}.py") for i in range(n)]


def figures(asked: Question, hits: Sequence[Location], *, pooled: bool = False, weak: bool = False) -> dict:
    """All metrics, every hit's text being ten tokens long."""
    judgement = judge(asked, hits, pooled=pooled)
    return score([Judged(asked, judgement, ["x"] * len(hits), weak or not hits)], tokens=lambda _: 10)[0]


F = label("f", (1, 10))
G = label("g", (101, 110))
LONG = label("long", (201, 300))


# --- what counts as found


@pytest.mark.parametrize(
    ("hits", "rank"),
    [
        ([at(1, 10)], 1),
        ([at(1, 5)], 1),  # exactly half
        ([at(1, 4)], None),
        ([at(1, 4), at(5, 5)], 2),  # parts accumulate
        ([at(1, 4), at(2, 4), at(1, 3)], None),  # shown twice counts once
        ([at(1, 4), at(4, 5)], 2),
        ([at(11, 90), at(1, 5, "b.py")], None),  # next to it, and the same lines of another file
        ([*elsewhere(3), at(0, 400)], 4),  # a chunk around it
        ([at(None)], None),  # the file alone shows no lines
        ([], None),
    ],
)
def test_half_of_the_lines_make_a_label_found(hits, rank):
    assert judge(question(F), hits).found == (rank,)


def test_half_of_an_odd_number_of_lines_is_the_larger_half():
    odd = question(label("odd", (1, 5)))
    assert judge(odd, [at(1, 2)]).found == (None,)
    assert judge(odd, [at(1, 3)]).found == (1,)


@pytest.mark.parametrize(
    ("hits", "rank"),
    [
        ([at(201, 220)], 1),  # 20 of 100 lines
        ([at(201, 219)], None),
        ([at(201, 219), at(300, 300)], 2),
        ([at(190, 219), at(205, 219)], None),
    ],
)
def test_twenty_lines_are_enough_of_a_long_one(hits, rank):
    assert judge(question(LONG), hits).found == (rank,)


def test_a_name_defined_twice_is_found_when_one_definition_is():
    twice = question(label("f", (1, 10), (51, 60)))
    assert judge(twice, [at(1, 4), at(51, 54), at(55, 55)]).found == (3,)
    assert judge(twice, [at(1, 4), at(51, 54)]).found == (None,), "four lines of each are half of neither"


def test_any_line_of_a_bare_path_will_do():
    bare = question(label("", path="doc.md"))
    judgement = judge(bare, [at(1), at(7, 7, "doc.md"), at(None, path="doc.md")])
    assert judgement.found == (2,)
    assert judgement.relevant == (False, True, True)


def test_one_hit_can_complete_two_labels():
    assert judge(question(F, G, mode="all"), [at(1, 110)]).found == (1, 1)


def test_a_hit_is_relevant_when_it_shares_one_line():
    judgement = judge(question(F, G), [at(10, 30), at(11, 30), at(90, 101), at(1, 9, "b.py")])
    assert judgement.relevant == (True, False, True, False)
    assert judgement.found == (None, None)


def test_at_file_level_the_path_suffices():
    asked = question(F, label("h", (1, 2), path="b.py"), mode="all")
    judgement = judge(asked, [*elsewhere(2), at(500), at(None, path="b.py")])
    assert judgement.found == (None, None)
    assert judgement.file_found == (3, 4)


# --- metrics by hand


def test_any_counts_the_first_label_alone():
    found = figures(question(F, G), [*elsewhere(1), at(101, 110), *elsewhere(1), at(1, 10)])
    assert found["recall@8"] == found["recall@40"] == found["hit@8"] == 1
    assert found["mrr"] == 1 / 2
    assert found["ndcg@10"] == pytest.approx(1 / math.log2(3))
    assert found["precision@8"] == 2 / 8
    assert found["all_recall@8"] == 1
    assert found["file_recall@8"] == 1
    assert found["tokens_to_answer"] == 20
    assert (found["false_weak_rate"], found["abstain_rate"]) == (0, None)


def test_any_with_one_of_two_found_is_full_recall_but_not_all_of_it():
    found = figures(question(F, G), [at(1, 10)])
    assert (found["recall@8"], found["all_recall@8"], found["ndcg@10"]) == (1, 0, 1)


def test_all_counts_every_label():
    found = figures(question(F, G, LONG, mode="all"), [at(101, 110), *elsewhere(1), at(1, 10)])
    assert found["recall@8"] == pytest.approx(2 / 3)
    assert found["all_recall@8"] == 0
    assert found["hit@8"] == 1
    assert found["mrr"] == 1
    assert found["ndcg@10"] == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3) + 1 / 2))
    assert found["precision@8"] == 2 / 8
    assert found["file_recall@8"] == 1
    assert found["tokens_to_answer"] == 10


def test_all_found_together_by_one_hit():
    found = figures(question(F, G, mode="all"), [*elsewhere(1), at(1, 110)])
    assert (found["recall@8"], found["all_recall@8"], found["mrr"]) == (1, 1, 0.5)
    assert found["ndcg@10"] == pytest.approx((2 / math.log2(3)) / (1 + 1 / math.log2(3)))
    assert figures(question(F, G, mode="all"), [at(1, 110)])["ndcg@10"] == 1


def test_finding_both_earlier_never_scores_lower():
    both = figures(question(F, G, mode="all"), [*elsewhere(1), at(1, 110)])
    later = figures(question(F, G, mode="all"), [*elsewhere(1), at(1, 10), at(101, 110)])
    assert both["ndcg@10"] > later["ndcg@10"]


@pytest.mark.parametrize(
    ("rank", "expected"),
    [
        (8, {"recall@8": 1, "hit@8": 1, "all_recall@8": 1, "recall@40": 1, "precision@8": 1 / 8, "file_recall@8": 1}),
        (9, {"recall@8": 0, "hit@8": 0, "all_recall@8": 0, "recall@40": 1, "precision@8": 0, "file_recall@8": 0}),
        (10, {"ndcg@10": 1 / math.log2(11), "mrr": 0.1}),
        (11, {"ndcg@10": 0, "mrr": 1 / 11, "tokens_to_answer": 110}),
        (40, {"recall@40": 1, "mrr": 1 / 40, "tokens_to_answer": 400}),
        (41, {"recall@40": 0, "mrr": 1 / 41}),
    ],
)
@pytest.mark.parametrize("mode", ["any", "all"])
def test_cut_offs_include_their_rank(rank, expected, mode):
    found = figures(question(F, mode=mode), [*elsewhere(rank - 1), at(1, 10)])
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_a_miss_is_zero_and_infinitely_much_to_read():
    found = figures(question(F), elsewhere(40))
    assert [found[name] for name in METRICS[:8]] == [0] * 8
    assert found["tokens_to_answer"] == math.inf
    assert figures(question(F), [])["tokens_to_answer"] == math.inf


def test_precision_counts_parts_and_divides_by_eight_even_when_fewer_came():
    assert figures(question(F), [at(1, 3), at(4, 6), at(50)])["precision@8"] == 2 / 8
    assert figures(question(F), [at(1, 3)] * 12)["precision@8"] == 1


def test_parts_are_found_where_they_add_up_and_carry_their_gain_there():
    found = figures(question(F), [at(1, 4), *elsewhere(1), at(5, 8)])
    assert found["mrr"] == pytest.approx(1 / 3)
    assert found["ndcg@10"] == pytest.approx(1 / 2)
    assert found["tokens_to_answer"] == 30


def test_negatives_have_an_abstain_rate_and_nothing_else():
    for hits, weak, expected in (([], False, 1), (elsewhere(3), False, 0), (elsewhere(3), True, 1)):
        found = figures(question(), hits, weak=weak)
        assert found.pop("abstain_rate") == expected
        assert set(found.values()) == {None}


def test_a_positive_that_is_flagged_or_empty_is_a_false_alarm():
    assert figures(question(F), [at(1, 10)], weak=True)["false_weak_rate"] == 1
    assert figures(question(F), [])["false_weak_rate"] == 1
    assert figures(question(F), elsewhere(1))["false_weak_rate"] == 0


# --- pooled


def test_strict_figures_do_not_look_at_also():
    asked = question(F, also=[G])
    assert figures(asked, [at(101, 110), at(1, 10)])["mrr"] == 0.5
    assert figures(asked, [at(101, 110)])["precision@8"] == 0


def test_pooled_any_accepts_further_places():
    found = figures(question(F, also=[G]), [at(101, 110)], pooled=True)
    assert (found["recall@8"], found["mrr"], found["ndcg@10"], found["precision@8"]) == (1, 1, 1, 1 / 8)
    assert found["all_recall@8"] == 0, "every expected place, and what is under also is not expected"


def test_pooled_all_needs_no_more_than_before():
    found = figures(question(F, LONG, mode="all", also=[G]), [at(101, 110), at(1, 10)], pooled=True)
    assert found["recall@8"] == 1 / 2
    assert (found["mrr"], found["precision@8"], found["tokens_to_answer"]) == (1, 2 / 8, 10)
    assert found["ndcg@10"] == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))


# --- against ir_measures

ranks = st.lists(st.one_of(st.none(), st.integers(1, 45)), min_size=1, max_size=6, unique_by=lambda r: r or object())


@settings(max_examples=300, deadline=None)
@given(ranks)
def test_our_recall_and_ndcg_are_the_standard_ones_where_hits_complete_one_label_each(found):
    qrels = {"q": {str(r) if r else f"missing-{i}": 1 for i, r in enumerate(found)}}
    run = {"q": {str(r): -float(r) for r in range(1, 46)}}
    standard = ir_measures.calc_aggregate([R @ 8, R @ 40, nDCG @ 10], qrels, run)
    assert recall_at(tuple(found), 8) == pytest.approx(standard[R @ 8])
    assert recall_at(tuple(found), 40) == pytest.approx(standard[R @ 40])
    assert ndcg_at(tuple(found), 10) == pytest.approx(standard[nDCG @ 10])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=0, max_size=45), st.sampled_from(["any", "all"]))
def test_scores_are_the_standard_ones_on_whole_functions(places, mode):
    """Ten one-line functions, five of them labels; a hit is a whole function, as in document retrieval."""
    labels = [label(f"f{i}", (i, i), path="w.py") for i in (1, 3, 5, 7, 9)]
    hits = [at(place, place, "w.py") for place in dict.fromkeys(places)]
    found = figures(question(*labels, mode=mode), hits)
    run = {"q": {str(hit.start_line): -float(rank) for rank, hit in enumerate(hits)}}
    qrels = {"q": {str(one.spans[0][0]): 1 for one in labels}}
    standard = ir_measures.calc_aggregate([RR, Success @ 8, P @ 8, R @ 8, R @ 40, nDCG @ 10], qrels, run)
    assert (found["mrr"], found["hit@8"], found["precision@8"]) == pytest.approx(
        (standard[RR], standard[Success @ 8], standard[P @ 8])
    )
    if mode == "all":
        assert (found["recall@8"], found["recall@40"], found["ndcg@10"]) == pytest.approx(
            (standard[R @ 8], standard[R @ 40], standard[nDCG @ 10])
        )
    else:
        assert found["recall@8"] == standard[Success @ 8]


line_ranges = st.tuples(st.integers(1, 60), st.integers(0, 30)).map(lambda pair: at(pair[0], pair[0] + pair[1]))


@settings(max_examples=300, deadline=None)
@given(st.lists(line_ranges, max_size=12), st.integers(1, 50), st.integers(0, 49))
def test_found_is_the_first_prefix_that_shows_enough(hits, start, length):
    end = start + length
    found = judge(question(label("f", (start, end))), hits).found[0]
    shown = [
        sum(any(hit.start_line <= line <= hit.end_line for hit in hits[:rank]) for line in range(start, end + 1))
        for rank in range(1, len(hits) + 1)
    ]
    enough = [rank for rank, n in enumerate(shown, start=1) if n >= 20 or n >= (length + 1) / 2]
    assert found == (enough[0] if enough else None)


@settings(max_examples=200, deadline=None)
@given(st.lists(line_ranges, max_size=12), st.sampled_from(["any", "all"]))
def test_every_figure_is_a_fraction_and_grows_with_depth(hits, mode):
    asked = question(label("f", (1, 10)), label("g", (5, 14)), label("h", (30, 60)), mode=mode)
    found = figures(asked, hits)
    fractions = [found[name] for name in METRICS[:8]]
    assert all(0 <= value <= 1 for value in fractions)
    assert found["recall@8"] <= found["recall@40"]
    assert found["all_recall@8"] <= found["recall@8"] <= found["hit@8"]
    assert found["recall@8"] <= found["file_recall@8"]


# --- several questions


def test_questions_are_scored_apart_and_in_order():
    rows = [
        Judged(question(F), judge(question(F), hits), ["x"] * len(hits), False)
        for hits in ([at(1, 10)], [], [*elsewhere(3), at(1, 10)])
    ]
    rows.insert(1, Judged(question(), judge(question(), elsewhere(2)), ["x"] * 2, False))
    assert [row["mrr"] for row in score(rows, tokens=len)] == [1, None, 0, 0.25]
    assert score([]) == []


def test_aggregates_leave_out_what_does_not_apply():
    rows = [figures(question(F), [at(1, 10)]), figures(question(F), elsewhere(2)), figures(question(), [])]
    found = aggregate(rows)
    assert list(found) == list(METRICS)
    assert (found["recall@8"]["value"], found["recall@8"]["n"]) == (0.5, 2)
    assert (found["abstain_rate"]["value"], found["abstain_rate"]["n"]) == (1, 1)
    assert (found["false_weak_rate"]["value"], found["false_weak_rate"]["n"]) == (0, 2)
    assert aggregate(rows[:2])["abstain_rate"] == {"value": None, "low": None, "high": None, "n": 0}


def test_tokens_to_answer_is_a_median_over_all_positives_misses_included():
    hits = [[at(1, 10)], [*elsewhere(2), at(1, 10)], elsewhere(5)]
    assert aggregate([figures(question(F), each) for each in hits])["tokens_to_answer"]["value"] == 30
    assert aggregate([figures(question(F), each) for each in hits[2:] * 3])["tokens_to_answer"]["value"] == math.inf


def test_tokens_are_llama_indexs_own_and_special_words_are_plain_text():
    from llama_index.core.utils import get_tokenizer

    text = "def retry(self, delay):\n    return <|endoftext|>\n"
    assert count_tokens(text) == len(get_tokenizer()(text)) > 8
    assert count_tokens("") == 0

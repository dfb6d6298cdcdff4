"""Instruments that report success while they measure nothing: each defect is planted here, and must be seen.

One test a defect, named after it. What stands in for a rung that does not exist yet is a toy stage.
"""

import json
import math
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from llama_index.core.schema import NodeWithScore, QueryBundle

from rungs.corpus import Corpus, SourceFile
from rungs.errors import GoldenError, RunError
from rungs.measure import append, compare, evaluate, evaluate_all, gate, load_golden, load_run, sweep
from rungs.measure.latency import Times, time_questions
from rungs.measure.split import alike, check_split

from .toys import GUIDE, LONG, SEND, TASKS, Scripted, Searching, answers, hit, line, negative, quiet, report

NO_DATA = {"value": None, "low": None, "high": None, "n": 0}


# --- a run that did not measure every question


def broken(*hits: NodeWithScore, **config: str) -> Searching:
    """A searcher that returns exactly these hits to one question; LlamaIndex's `retrieve` would drop repeated nodes."""
    funnel = Searching({"a": Scripted(answers())})
    usual = funnel.search

    def search(query: str, top_k: int | None = None):
        result = usual(query, top_k)
        if query == "where is send?":
            result.hits = list(hits)
        return result

    funnel.search = search
    if config:
        funnel.config = lambda: {"search_mode": "dense", **config}
    return funnel


def twin(id: str, score: float) -> NodeWithScore:
    found = hit(id, 18, 20, score)
    found.node.set_content("def send(message):")
    return found


CODE = {"category": "code", "language": "python"}
UNMEASURABLE = {
    "a question raises": (
        Scripted(answers() | {"where is send?": ValueError("no\nluck")}),
        "ValueError: no luck",
    ),
    "a stage failed and was skipped": (
        Searching({"a": Scripted(answers())}, degraded=[{"stage": "rerank", "reason": "no\nmodel"}]),
        "a stage failed and was skipped (rerank: no model)",
    ),
    "the same node twice": (
        broken(hit("x", 1, 2, 0.5), hit("y", 3, 4, 0.4), hit("x", 1, 2, 0.3)),
        "'x' is at ranks 1 and 3",
    ),
    "the same chunk under two ids": (
        broken(twin("old", 0.5), hit("y", 3, 4, 0.4), twin("new", 0.3)),
        "the same text of the same lines is at ranks 1 and 3 under two ids",
    ),
    "scores out of order": (
        broken(hit("x", 1, 2, 0.5), hit("y", 3, 4, 0.6)),
        "rank 2 (0.6) is above the one before (0.5)",
    ),
    "scores out of order past a missing one": (
        broken(hit("x", 1, 2, 0.5), hit("y", 3, 4, None), hit("z", 3, 4, 0.6)),
        "rank 3 (0.6)",
    ),
    "a score that is no number": (broken(hit("x", 1, 2, 0.5), hit("y", 3, 4, math.nan)), "rank 2 is NaN"),
    "a first score that is no number": (broken(hit("x", 1, 2, math.nan)), "rank 1 is NaN"),
    "a file that is not in the corpus": (broken(hit("x", 1, 2, path="gone.py")), "'x' names 'gone.py'"),
    "lines of an older version of a file": (broken(hit("x", 900, 901)), "claims lines 900-901"),
    "a category filter that never reached the search": (
        broken(hit("x", 1, 2, **CODE), category="doc,config"),
        "the hit at rank 1 is 'code', and category allows 'doc,config' only",
    ),
    "a language filter that one channel ignored": (
        broken(hit("x", 1, 2, 0.9, **CODE), hit("y", 3, 4, 0.8, language="rst"), language="python"),
        "the hit at rank 2 is 'rst', and language allows 'python' only",
    ),
    "a path filter that never reached the search": (
        broken(hit("x", 1, 2, **CODE), path_prefix="docs/"),
        "the hit at rank 1 is 'pkg/tasks.py', and path_prefix allows 'docs/' only",
    ),
}


@pytest.mark.parametrize("defect", UNMEASURABLE)
def test_a_question_that_cannot_be_measured_fails_the_run_and_is_not_averaged_away(defect, golden):
    retriever, message = UNMEASURABLE[defect]
    failed = quiet(retriever, golden)
    assert failed.status == "FAILED"
    assert message in failed.cases[1]["error"] and "\n" not in failed.cases[1]["error"]
    assert "send" in failed.failures
    assert all(estimate == NO_DATA for estimate in failed.metrics.values())
    assert all(estimate == NO_DATA for kind in failed.by_kind.values() for estimate in kind.values())
    assert set(failed.calibration.values()) == {None}
    assert len(failed.cases) == 5 and failed.cases[1]["metrics"] is None and failed.cases[1]["first_rank"] is None


def test_the_other_questions_of_a_failed_run_are_still_answered(golden):
    failed = quiet(UNMEASURABLE["a question raises"][0], golden)
    assert set(failed.failures) == {"send"}
    assert failed.cases[0]["metrics"]["mrr"] == 0.5 and failed.cases[2]["found"][SEND] == 1


def test_a_filter_that_is_obeyed_is_no_defect(make_golden):
    golden = make_golden(line("send", (SEND,)))
    foreign = broken(hit("x", 18, 20, **CODE))
    foreign.config = lambda: {"category": "a retriever's own word for something else"}
    assert quiet(foreign, golden).status == "ok"
    for config in ({"category": "doc, code"}, {"language": "python"}, {"path_prefix": "pkg/"}, {"category": ""}):
        assert quiet(broken(hit("x", 18, 20, **CODE), **config), golden).status == "ok"


def test_pieces_of_one_long_line_are_not_the_same_chunk(make_golden):
    pieces = broken(hit("a", 5, 5, 0.9), hit("b", 5, 5, 0.8))
    assert quiet(pieces, make_golden(line("send", (SEND,)))).status == "ok"


def test_a_run_that_stopped_before_the_last_question(golden, tmp_path):
    path = tmp_path / "run.jsonl"
    done = [{"id": question.id, "hits": [{"path": GUIDE}]} for question in golden.questions[:3]]
    path.write_text("".join(json.dumps(row) + "\n" for row in done))
    failed = quiet(load_run(path, golden), golden)
    assert failed.status == "FAILED" and set(failed.failures) == {"resort", "kafka"}
    assert failed.metrics["mrr"] == NO_DATA


def test_a_search_that_silently_finds_nothing_for_any_question(golden):
    for silent in (Scripted({}), Searching({"a": Scripted({})}), Scripted({"where is resort?": [hit("g", 1, 2)]})):
        failed = quiet(silent, golden)
        assert failed.status == "FAILED" and set(failed.failures) == {"retry", "send", "both"}
        assert failed.metrics["false_weak_rate"] == NO_DATA
        said = failed.summary().splitlines()
        assert len(said) == 2 and "no hits for any of the 3 questions with an answer" in said[1]


def test_an_empty_list_that_is_accounted_for_is_an_abstention(golden, make_golden):
    for signal in ({"weak_match": True}, {"dropped": 7}):
        strict = quiet(Searching({"a": Scripted({})}, **signal), golden)
        assert strict.status == "ok" and strict.metrics["false_weak_rate"]["value"] == 1
    assert quiet(Scripted({}), make_golden(negative("resort"))).status == "ok", "nothing is the right answer there"


def test_a_run_that_failed_has_no_place_in_a_comparison(golden):
    sound, failed = quiet(Scripted(answers()), golden), quiet(UNMEASURABLE["a question raises"][0], golden)
    with pytest.raises(RunError, match="after is FAILED on 1 of 5 questions"):
        compare({"before": sound, "after": failed})


# --- questions that no longer measure what they say


def test_an_expectation_that_left_the_corpus(tmp_path, corpus):
    path = tmp_path / "golden.jsonl"
    path.write_text(json.dumps(line("a")) + "\n" + json.dumps(line("b", (SEND,))) + "\n")
    assert len(load_golden(path, corpus)) == 2
    renamed = [SourceFile.from_text("pkg/tasks.py", TASKS.replace("def send(", "def publish("))]
    moved = [SourceFile.from_text("pkg/jobs.py", TASKS)]
    for files, says in ((renamed, r"defines no 'send'"), (moved, r"has no file 'pkg/tasks\.py'")):
        with pytest.raises(GoldenError, match=rf"golden\.jsonl:[12]: label .*{says}"):
            load_golden(path, Corpus("small", Path("/nowhere"), files, {}, "c0ffef"))


def test_two_questions_under_one_id(make_golden):
    with pytest.raises(GoldenError, match=r"golden\.jsonl:2: id 'a' was used on line 1 already; give this one another"):
        make_golden(line("a"), line("a", q="another"))


def test_one_question_answered_twice_in_a_run(golden, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text('{"id": "send", "hits": []}\n' * 2)
    with pytest.raises(RunError, match=r"run\.jsonl:2: question 'send' stands twice"):
        load_run(path, golden)


# --- a held-out file that is none


def pair(tmp_path: Path, corpus: Corpus, tuning: list, held_out: list, name: str = "shop.heldout.jsonl"):
    for path, lines in ((tmp_path / "shop.jsonl", tuning), (tmp_path / name, held_out)):
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in lines), encoding="utf-8")
    return load_golden(tmp_path / name, corpus)


ASKED = "how long does a task wait before it is sent again?"
COPIES = {
    "word for word": ASKED,
    "in capitals and without its mark": "HOW LONG DOES A TASK WAIT BEFORE IT IS SENT AGAIN",
    "in another order": "before it is sent again, how long does a task wait?",
    "with a greeting": "Hi, a quick question: " + ASKED,
    "with a word replaced": "how long does a job wait before it is sent again?",
    "mistyped": "how logn does a task wait befoer it is sent again?",
    "inflected": "how long do tasks wait before they are sent again?",
}


@pytest.mark.parametrize("copy", COPIES)
def test_a_tuning_question_in_the_held_out_file(copy, tmp_path, corpus):
    with pytest.raises(GoldenError) as caught:
        pair(tmp_path, corpus, [line("x"), line("a", q=ASKED)], [line("z", q=COPIES[copy])])
    text = str(caught.value)
    assert "shop.heldout.jsonl:1: question 'z' is that of" in text and "shop.jsonl:2 ('a')" in text
    assert "\n" not in text


def test_a_tuning_question_with_another_answer_in_the_held_out_file(tmp_path, corpus):
    with pytest.raises(GoldenError, match="'z' is that of"):
        pair(tmp_path, corpus, [line("a", q=ASKED)], [line("z", (SEND,), q=COPIES["in another order"])])


def test_a_near_copy_of_a_negative_in_the_held_out_file(tmp_path, corpus):
    before, after = "Compress message bodies with Snappy", "Compress the message body with Snappy"
    with pytest.raises(GoldenError, match="'z' is that of"):
        pair(tmp_path, corpus, [line("x"), negative("a", q=before)], [negative("z", q=after)])


@pytest.mark.parametrize(
    "copy", ["gorev neden yeniden denenmiyor", "GÖREV NEDEN YENİDEN DENENMİYOR?", "görevler neden yeniden denenmiyor"]
)
def test_a_turkish_tuning_question_in_the_held_out_file(copy, tmp_path, corpus):
    asked = line("a", q="Görev neden yeniden denenmiyor?", kind="prose-tr")
    with pytest.raises(GoldenError, match="'z' is that of"):
        pair(tmp_path, corpus, [asked], [line("z", q=copy, kind="prose-tr")])


@pytest.mark.parametrize(
    ("tuned", "held"),
    [
        (line("a", q="Task.retry", kind="symbol"), line("z", (SEND,), q="Task.apply_async", kind="symbol")),
        (line("a", q="where is Task.retry defined?"), line("z", (SEND,), q="where is Task.replace defined?")),
        (line("a", q="pool_start_method", kind="symbol"), line("z", (SEND,), q="pool_restart_method", kind="symbol")),
        (
            line("a", q="in redis, where is a message restored?"),
            line("z", (SEND,), q="in SQS, where is a message sent?"),
        ),
        (line("a", q=ASKED), line("z", q="what computes the delay between two attempts?")),
        (line("a", q="???"), line("z", (SEND,), q="!!!")),
    ],
)
def test_another_question_in_the_held_out_file_is_no_copy(tuned, held, tmp_path, corpus):
    assert pair(tmp_path, corpus, [tuned], [held]).held_out


def test_a_held_out_file_under_a_name_spelled_otherwise(tmp_path, corpus):
    for name in ("shop.held-out.jsonl", "shop_heldout.jsonl", "shop.HELDOUT.jsonl", "heldout.shop.jsonl"):
        with pytest.raises(GoldenError, match="'z' is that of"):
            pair(tmp_path, corpus, [line("a", q=ASKED)], [line("z", q=ASKED)], name)
    assert not load_golden(tmp_path / "shop.jsonl", corpus).held_out


def test_a_held_out_file_without_its_ending_or_behind_a_link(tmp_path, corpus):
    held = pair(tmp_path, corpus, [line("x", q="where is it tuned?")], [line("y")])
    (tmp_path / "shop.heldout").write_bytes(held.path.read_bytes())
    (tmp_path / "mine.jsonl").symlink_to(held.path)
    assert load_golden(tmp_path / "shop.heldout", corpus).held_out
    linked = load_golden(tmp_path / "mine.jsonl", corpus)
    assert (linked.held_out, linked.name) == (True, "shop.heldout")


def test_a_pair_that_lies_in_two_folders_is_checked_by_hand(tmp_path, corpus):
    (tmp_path / "b").mkdir()
    held = pair(tmp_path / "b", corpus, [line("x")], [line("z", q=ASKED)])
    pair(tmp_path, corpus, [line("a", q=ASKED)], [line("y")])
    with pytest.raises(GoldenError, match="'z' is that of"):
        check_split(load_golden(tmp_path / "shop.jsonl", corpus), held)


def test_the_threshold_lies_between_the_questions_of_the_tuning_file_and_their_copies():
    """The closest two of its questions are far below it, a copy with one word in six replaced is above it."""
    path = Path(__file__).parents[2] / "golden/celery.jsonl"
    rows = [json.loads(row) for row in path.read_text(encoding="utf-8").splitlines()]
    texts = [row["q"] for row in rows if not row["kind"].startswith("symbol")]  # names share their pieces with names
    assert max(alike(a, b) for i, a in enumerate(texts) for b in texts[:i]) < 0.45
    long = [text.split() for text in texts if len(text.split()) >= 6]
    copies = [" ".join("other" if i % 6 == 5 else word for i, word in enumerate(words)) for words in long]
    found = sum(alike(" ".join(words), copy) >= 0.6 for words, copy in zip(long, copies, strict=True))
    assert found / len(long) > 0.95


def test_a_held_out_file_looked_at_again_and_again(tmp_path, corpus):
    golden = pair(tmp_path, corpus, [line("a", q=ASKED)], [line("z")])
    measured = quiet(Scripted({"where is z?": [hit("r", 9, 12)]}), golden)
    ledger = tmp_path / "ledger.jsonl"
    looks = [append(measured, ledger, label=label)["look"] for label in "abc"]
    assert looks == [1, 2, 3]
    edited = replace(measured, golden={**measured.golden, "sha256": "0" * 64})
    renamed = replace(measured, golden={**measured.golden, "name": "fresh.heldout"})
    assert [append(one, ledger, label="d")["look"] for one in (edited, renamed)] == [4, 4]
    assert "held-out file, look number 4" in measured.summary(look=4)
    assert "look number unknown" in measured.summary()


def test_a_tuning_file_has_no_looks(golden, tmp_path):
    measured = quiet(Scripted(answers()), golden)
    assert "look" not in append(measured, tmp_path / "ledger.jsonl", label="a")
    assert "held-out" not in measured.summary()


def test_a_sweep_with_the_held_out_file_open(tmp_path, corpus):
    held = pair(tmp_path, corpus, [line("a", q=ASKED)], [line("z"), line("t", (GUIDE,), kind="doc")])
    with pytest.raises(GoldenError, match="is held out: it only reports"):
        sweep("prior", [1.0, 0.5], held, ["doc"], make=lambda prior: Scripted(answers()), progress=False)


@pytest.mark.parametrize("controls", [["test"], ["doc", "test"], []])
def test_a_sweep_judged_without_the_controls_that_could_see_its_harm(controls, make_golden):
    golden = make_golden(line("retry"), line("guide", (GUIDE,), kind="doc"), negative("resort"))
    with pytest.raises(GoldenError, match="without questions it could harm, any setting looks harmless"):
        sweep("test_prior", [1.0, 0.5], golden, controls, make=lambda test_prior: Scripted({}), progress=False)


# --- a comparison of what is not alike


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (report([1, 0], golden="x" * 64), "different versions of the golden"),
        (report([1, 0], corpus="x" * 64), "different versions of the corpus"),
        (report([1, 0, 1]), "different questions"),
        (replace(report([1, 0]), pooled=True), "pooled labels"),
        (replace(report([1, 0]), status="FAILED"), "FAILED"),
    ],
)
def test_a_baseline_that_is_not_the_same_measurement(other, says):
    for pair in ({"a": report([1, 0]), "b": other}, {"a": other, "b": report([1, 0])}):
        with pytest.raises(RunError, match=says):
            compare(pair)


def test_a_subset_compared_with_the_whole_file(golden):
    whole = quiet(Scripted(answers()), golden)
    with pytest.raises(RunError, match="hold different questions"):
        compare({"whole": whole, "part": whole.only({"retry", "send"})})


def test_another_chunking_is_compared_and_said():
    before, after = (report([1, 0], config={"chunking": name, "top_k": 8}) for name in ("windows", "symbols"))
    compared = compare({"before": before, "after": after})
    assert compared.settings == {"after": {"chunking": ("windows", "symbols")}}
    assert compared.to_dict()["settings"] == {"after": {"chunking": ["windows", "symbols"]}}


def test_a_gate_against_a_baseline_of_another_chunking():
    before, after = (report([1, 0], config={"chunking": name}) for name in ("windows", "symbols"))
    with pytest.raises(RunError, match="the baseline was measured with chunking windows, not symbols"):
        gate(before, after)


def test_a_control_arm_that_moved():
    before, after = report([0.0] * 60 + [1.0] * 60), report([1.0] * 20 + [0.0] * 40 + [1.0] * 60)
    arms = {"before": before, "after": after}
    assert compare(arms).verdict("recall@8") == "better"
    shaken = (report([0.0] * 100 + [1.0] * 20), report([1.0] * 30 + [0.0] * 70 + [1.0] * 20))
    assert compare(arms, control=shaken).verdict("recall@8") == "not readable at n=120"


# --- a change that changes nothing


class Demotes:
    """A toy prior: a stage that multiplies the score of hits of one category, when its setting reaches it."""

    def __init__(self, prior: float) -> None:
        self.prior = prior

    def __call__(self, hits: list[NodeWithScore]) -> list[NodeWithScore]:
        for found in hits:
            found.score *= self.prior if found.node.metadata["path"] == GUIDE else 1.0
        return sorted(hits, key=lambda found: -found.score)


def prior_of(prior: float, connected: bool) -> Searching:
    hits = [hit("g", 1, 3, 0.9, path=GUIDE), hit("retry", 9, 12, 0.8)]
    return Searching({"a": Scripted({"where is a?": hits})}, Demotes(prior if connected else 1.0))


@pytest.mark.parametrize("connected", [True, False])
def test_a_setting_that_never_reached_its_stage(connected, make_golden):
    systems = {f"prior {prior}": prior_of(prior, connected) for prior in (1.0, 0.5)}
    compared = compare(evaluate_all(systems, make_golden(line("a")), latency=False, progress=False))
    assert compared.inert == (() if connected else ("prior 0.5",))
    assert ("changed nothing at all" in compared.summary()) is not connected


def test_a_change_that_did_nothing():
    same = {"a": report([1, 0]), "b": report([1, 0])}
    assert compare(same).inert == ("b",)
    assert "changed nothing at all" in compare(same).summary()
    moved = {"a": report([1, 0]), "b": report([1, 0], hits=[["x"], ["y"]])}
    assert compare(moved).inert == ()


# --- a figure that means something else


def test_a_metric_on_an_empty_group(golden):
    measured = quiet(Scripted(answers()), golden)
    assert measured.by_kind["symbol"]["abstain_rate"] == measured.by_kind["negative-far"]["recall@8"] == NO_DATA
    d = compare({"a": report([None] * 5), "b": report([None] * 5)}, metrics=["recall@8"]).differences[0]
    assert (d.verdict, d.value, d.n) == ("no data", None, 0)


def test_many_chunks_of_one_place_are_one_place(make_golden):
    golden = make_golden(line("both", (SEND, LONG), mode="all", kind="multi-hop"))
    parts = [hit(f"p{i}", 23 + 5 * i, 27 + 5 * i, 1 - i / 10) for i in range(8)]
    figures = quiet(Scripted({"where is both?": parts}), golden).cases[0]["metrics"]
    assert (figures["recall@8"], figures["all_recall@8"]) == (0.5, 0)


def test_the_right_file_is_not_the_right_place(make_golden):
    wrong = Scripted({"where is a?": [hit("run", 14, 15)]})
    figures = quiet(wrong, make_golden(line("a"))).cases[0]["metrics"]
    assert (figures["file_recall@8"], figures["recall@8"]) == (1, 0)


def test_a_chunk_that_is_right_because_it_is_everything(make_golden):
    golden = make_golden(line("a"))
    narrow, whole = hit("narrow", 9, 12), hit("whole", 1, 84)
    narrow.node.set_content("\n".join(TASKS.splitlines()[8:12]))
    whole.node.set_content(TASKS)
    figures = [quiet(Scripted({"where is a?": [one]}), golden).cases[0]["metrics"] for one in (narrow, whole)]
    assert figures[0]["recall@8"] == figures[1]["recall@8"] == 1
    assert figures[1]["tokens_to_answer"] > 10 * figures[0]["tokens_to_answer"]


def test_a_pass_mark_inside_the_mass_of_scores(golden):
    """No threshold on this score tells questions with an answer from those without; the report shows the overlap."""
    tops = {"retry": 0.52, "send": 0.61, "both": 0.70, "resort": 0.58, "kafka": 0.66}
    hits = {f"where is {id}?": [hit("r", 9, 12, top, scores={"dense": top})] for id, top in tops.items()}
    mass = quiet(Scripted(hits), golden).calibration
    assert mass["positive_min_top_dense"] < mass["negative_median_top_dense"] < mass["negative_max_top_dense"]
    assert mass["negative_max_top_dense"] > mass["positive_median_top_dense"]


def test_a_depth_that_was_never_reached(golden):
    assert quiet(Scripted(answers()), golden).depth == 2, "a recall@40 of two hits is a recall at 2, and says so"


# --- a latency that is a memory's


class Remembers(Scripted):
    """A retriever of 12 ms that keeps what it found for the last texts it was asked."""

    def __init__(self, keeps: int = 10_000, ms: float = 12.0) -> None:
        super().__init__(answers())
        self._keeps, self._seconds = keeps, ms / 1000
        self._memory: dict[str, list[NodeWithScore]] = {}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        text = query_bundle.query_str
        if text not in self._memory:
            time.sleep(self._seconds)
            self._memory[text] = super()._retrieve(query_bundle)
            while len(self._memory) > self._keeps:
                del self._memory[next(iter(self._memory))]
        return self._memory[text]


def test_a_latency_measured_on_cached_results(golden):
    retriever = Remembers()
    first, second = (evaluate(retriever, golden, progress=False) for _ in range(2))
    assert first.status == second.status == "ok", "what a cache returns is right; only its speed is not the search's"
    assert first.latency["p50_ms"] >= 12 and "reason" not in first.latency
    assert (second.latency["p50_ms"], second.latency["n"]) == (None, 0)
    assert second.latency["reason"].startswith("cached: ") and "cached: " in second.summary()
    assert {case["ms"] for case in second.cases} == {None}
    assert second.metrics == first.metrics


def test_a_latency_measured_on_results_read_from_a_file(golden, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps({"id": q.id, "hits": [{"path": GUIDE}]}) + "\n" for q in golden.questions))
    measured = evaluate(load_run(path, golden), golden, progress=False)
    assert measured.status == "ok" and measured.latency["p50_ms"] is None
    assert measured.latency["reason"].startswith("replayed: ")


@pytest.mark.parametrize("keeps", [10_000, 2])
def test_a_cache_that_does_not_know_the_questions_yet_is_no_defect(keeps, golden):
    assert time_questions(Remembers(keeps), golden.questions).reason is None


def test_a_cache_too_small_to_hold_the_questions_is_no_defect(golden):
    retriever = Remembers(keeps=2)
    assert time_questions(retriever, golden.questions).reason is None
    assert time_questions(retriever, golden.questions).reason is None


def test_a_noisy_machine_is_no_cache(make_golden):
    """Times that jump by a factor of up to ten, and first answers that are slow half of the time."""

    class Noisy(Scripted):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            time.sleep(0.0015 * (10 if os.urandom(1)[0] < 64 else 1))
            return super()._retrieve(query_bundle)

    questions = make_golden(*(line(f"q{i}") for i in range(10))).questions
    assert [time_questions(Noisy({}), questions).reason for _ in range(5)] == [None] * 5


def test_too_few_questions_to_tell_a_cache_from_chance(make_golden):
    questions = make_golden(line("retry"), line("send")).questions
    retriever = Remembers()
    assert [time_questions(retriever, questions).reason for _ in range(2)] == [None, None]


def test_a_latency_that_was_never_measured_is_no_number(golden):
    assert quiet(Scripted(answers()), golden).latency == Times().summary() == {"p50_ms": None, "p95_ms": None, "n": 0}

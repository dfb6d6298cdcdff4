"""Run files: somebody else's results, measured as if they were a retriever's."""

import json
from pathlib import Path

import pytest

from rungs.corpus import load_corpus
from rungs.errors import RunError
from rungs.measure import evaluate, load_golden, load_run


@pytest.fixture
def golden(small_corpus: Path, tmp_path: Path):
    rest = {"mode": "any", "difficulty": "easy", "why": "read it", "also": []}
    rows = [
        {"id": "a", "q": "how long between attempts", "expect": ["app/retry.py::retry_policy"], "kind": "prose-en"},
        {"id": "b", "q": "giving connections back", "expect": ["app/pool.py::Pool.release"], "kind": "prose-en"},
        {"id": "c", "q": "llamas", "expect": [], "kind": "negative-far"},
    ]
    path = tmp_path / "golden.jsonl"
    path.write_text("".join(json.dumps({**row, **rest}) + "\n" for row in rows))
    return load_golden(path, load_corpus(small_corpus, tmp_path / "home"))


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "run"
    path.write_text(text)
    return path


JSON_RUN = """{"id": "a", "hits": [{"path": "app/pool.py"}, {"path": "app/retry.py", "start_line": 1, "end_line": 3}]}
{"id": "b", "hits": [{"path": "app/pool.py", "start_line": 9, "end_line": 10, "score": 3}]}
{"id": "c", "hits": []}
"""
TREC_RUN = """a Q0 app/retry.py:1-3 2 1.0 mine
a Q0 app/pool.py 1 2.0 mine
b Q0 app/pool.py:9-10 1 3.0 mine
c Q0 docs/guide.rst 1 0.1 mine
"""


@pytest.mark.parametrize("text", [JSON_RUN, TREC_RUN])
def test_both_formats_give_the_hand_computed_figures(golden, tmp_path, text):
    report = evaluate(load_run(write(tmp_path, text), golden), golden, latency=False, progress=False)
    assert report.status == "ok"
    assert [case["first_rank"] for case in report.cases] == [2, 1, None]
    assert report.metrics["mrr"]["value"] == pytest.approx((1 / 2 + 1) / 2)


def test_what_rungs_run_writes_can_be_read(golden, tmp_path):
    hit = {"rank": 1, "path": "app/retry.py", "symbol": "retry_policy", "start_line": 1, "end_line": 3, "category": "code",
           "score": 0.5, "scores": {"dense": 0.5}, "text": "…"}  # fmt: skip
    rows = [{"id": i, "hits": [hit], "ms": 1.0, "weak_match": False, "dropped": 0} for i in "abc"]
    run = load_run(write(tmp_path, "".join(json.dumps(row) + "\n" for row in rows)), golden)
    assert evaluate(run, golden, latency=False, progress=False).cases[0]["first_rank"] == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds no results"),
        ('{"id": "a"}', ':1: needs "id" and a list under "hits"'),
        ('{"id": "a", "hits": []}\n{broken', ":2: not valid JSON"),
        ('{"id": "a", "hits": []}\n{"id": "a", "hits": []}', ":2: question 'a' stands twice"),
        ('{"id": "zz", "hits": []}', "'zz' is no question"),
        ('{"id": "a", "hits": [{"path": "gone.py"}]}', "hit 1 names 'gone.py'"),
        ('{"id": "a", "hits": [{"path": "app/pool.py", "start_line": 3, "end_line": 99}]}', "names lines 3-99"),
        ('{"id": "a", "hits": [{"path": "app/pool.py", "start_line": "x", "end_line": 9}]}', "no whole numbers"),
        ('{"id": "a", "hits": [{"path": "app/pool.py", "score": "high"}]}', "which is no finite number"),
        (f'{{"id": "a", "hits": [{{"path": "app/pool.py", "score": {10**400}}}]}}', "which is no finite number"),
        ('{"id": "a", "hits": [{"path": "app/pool.py", "score": Infinity}]}', "has score inf, which is no finite"),
        ('{"id": "a", "hits": [{"path": "app/pool.py", "score": NaN}]}', "has score nan, which is no finite"),
        ('{"id": ' + "[" * 100_000, ":1: not valid JSON (nested too deep)"),
        (f'{{"id": {"1" * 5000}}}', ":1: not valid JSON (a number of more than 4300 digits)"),
        (f"a Q0 app/pool.py:1-{'9' * 5000} 1 2.0 tag", "which is not in corpus"),
        (f"a Q0 app/pool.py {'9' * 5000} 2.0 tag", "must be numbers"),
        ('{"id": "a", "hits": ["app/pool.py"]}', 'no text under "path"'),
        ("a Q0 app/pool.py 1", "six fields"),
        ("a Q0 app/pool.py one 2.0 tag", "must be numbers"),
        ("a Q0 app/pool.py 1 nan tag", "must be numbers"),
    ],
)
def test_a_bad_line_is_named(golden, tmp_path, text, says):
    with pytest.raises(RunError) as caught:
        load_run(write(tmp_path, text), golden)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("hits", "says"),
    [
        (["app/pool.py:1-3"] * 8 + ["app/retry.py"], "is at ranks 1 and 2"),
        (["app/pool.py", "app/retry.py", "app/pool.py"], "is at ranks 1 and 3"),
    ],
)
def test_a_run_with_a_repeat_is_failed(golden, tmp_path, hits, says):
    lines = [f"a Q0 {hit} {rank} {100 - rank} mine\n" for rank, hit in enumerate(hits, 1)]
    rest = "b Q0 app/pool.py 1 1.0 mine\nc Q0 app/pool.py 1 1.0 mine\n"
    report = evaluate(load_run(write(tmp_path, "".join(lines) + rest), golden), golden, latency=False, progress=False)
    assert (report.status, list(report.failures)) == ("FAILED", ["a"])
    assert says in report.failures["a"]


def test_scores_out_of_order_do_not_hide_behind_a_repeat(golden, tmp_path):
    hits = [
        {"path": path, "score": score} for path, score in (("app/pool.py", 1), ("app/retry.py", 0), ("app/pool.py", 2))
    ]
    rows = [{"id": "a", "hits": hits}, {"id": "b", "hits": []}, {"id": "c", "hits": []}]
    run = load_run(write(tmp_path, "".join(json.dumps(row) + "\n" for row in rows)), golden)
    assert list(evaluate(run, golden, latency=False, progress=False).failures) == ["a"]


def test_pieces_of_one_long_line_are_no_repeats(golden, tmp_path):
    line = golden.corpus.get("app/retry.py").lines[0]
    places = [{"path": "app/retry.py", "start_line": 1, "end_line": 1, "text": text} for text in (line[:5], line[5:])]
    rows = [{"id": "a", "hits": places}, {"id": "b", "hits": places[:1] * 2}, {"id": "c", "hits": []}]
    run = load_run(write(tmp_path, "".join(json.dumps(row) + "\n" for row in rows)), golden)
    assert list(evaluate(run, golden, latency=False, progress=False).failures) == ["b"]


def test_a_file_name_with_a_backslash_is_itself(small_corpus, tmp_path):
    (small_corpus / "app" / "odd\\name.py").write_text("def odd():\n    return 1\n")
    corpus = load_corpus(small_corpus, tmp_path / "home")
    path = next(f.path for f in corpus.files if "odd" in f.path)
    row = {"id": "a", "q": "odd", "expect": [path], "mode": "any", "kind": "symbol"}
    (tmp_path / "g.jsonl").write_text(json.dumps(row) + "\n")
    golden = load_golden(tmp_path / "g.jsonl", corpus)
    run = load_run(write(tmp_path, json.dumps({"id": "a", "hits": [{"path": path}]}) + "\n"), golden)
    assert evaluate(run, golden, latency=False, progress=False).cases[0]["first_rank"] == 1

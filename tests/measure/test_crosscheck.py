"""Our figures beside ragas': equal where they mean the same, and known to differ where they do not."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from llama_index.core.schema import NodeWithScore

from rungs.cli import main
from rungs.corpus import find_home, register
from rungs.errors import RunError
from rungs.measure import Golden, Report, cross_check, evaluate
from rungs.measure.crosscheck import expected_texts, source_text

from .openai_server import Reply, good, serve
from .test_judged import Letters
from .toys import GUIDE, LONG, RETRY, SEND, TASKS, Scripted, hit, line, negative

Hits = list[NodeWithScore]


def measured(make_golden: Callable[..., Golden], *cases: tuple[dict[str, Any], Hits], pooled: bool = False):
    """A report on these golden lines and what each gets, and the golden file."""
    golden = make_golden(*(row for row, _ in cases))
    retriever = Scripted({row["q"]: hits for row, hits in cases})
    return evaluate(retriever, golden, latency=False, progress=False, pooled=pooled), golden


RETRY_HIT, SEND_HIT = hit("r", 9, 12), hit("s", 18, 20)
ELSEWHERE = [hit(f"x{i}", 22 + i, 22 + i) for i in range(10)]


def cases() -> list[tuple[dict[str, Any], Hits]]:
    # halves of retry, which only together show enough of it; and twelve hits, of which eight count
    halves = [hit("r1", 8, 9), hit("r2", 11, 11)]
    return [
        (line("one"), [SEND_HIT, RETRY_HIT]),
        (line("either", (RETRY, SEND)), [SEND_HIT, *ELSEWHERE]),
        (line("both", (RETRY, SEND), mode="all", kind="multi-hop"), [SEND_HIT, *ELSEWHERE]),
        (line("three", (RETRY, SEND, LONG), mode="all", kind="multi-hop"), [RETRY_HIT, *ELSEWHERE[:6], SEND_HIT]),
        (line("late", (RETRY,)), [*ELSEWHERE, RETRY_HIT]),
        (line("parts"), [halves[0], ELSEWHERE[0], halves[1]]),
        (line("file", (GUIDE,), kind="doc"), [hit("g", 1, 3, path=GUIDE)]),
        (line("nothing"), []),
        (line("also", (RETRY,), also=[SEND]), [SEND_HIT]),
        (negative("none"), [SEND_HIT]),
    ]


@pytest.mark.parametrize("pooled", [False, True])
def test_they_agree_where_they_mean_the_same(make_golden, pooled):
    report, golden = measured(make_golden, *cases(), pooled=pooled)
    checked = cross_check(report, golden)
    assert checked.agrees
    assert all(gap <= 1e-9 for gap, _ in checked.disagreements.values())
    rows = {row["id"]: row for row in checked.rows}
    assert "none" not in rows
    recalls = {id: row["id_recall"] for id, row in rows.items()}
    assert recalls == {
        "one": 1,
        "either": 1,
        "both": 0.5,
        "three": pytest.approx(2 / 3),
        "late": 0,
        "parts": 1,
        "file": 1,
        "nothing": 0,
        "also": float(pooled),
    }
    # of `three`, five of the six further hits share a line with the long function
    right = {"one": 1, "either": 1, "both": 1, "three": 7, "late": 0, "parts": 2, "file": 1, "nothing": 0}
    assert {id: row["id_precision"] * 8 for id, row in rows.items()} == right | {"also": int(pooled)}


def test_where_they_differ_they_differ_as_described(make_golden):
    report, golden = measured(make_golden, *cases())
    rows = {row["id"]: row for row in cross_check(report, golden).rows}
    assert (rows["either"]["recall@8"], rows["either"]["id_recall_every_label"]) == (1, 0.5)
    assert rows["both"]["id_recall_every_label"] == rows["both"]["recall@8"] == 0.5
    assert (rows["one"]["precision@8"], rows["one"]["id_precision_of_hits"]) == (1 / 8, 1 / 2)
    assert rows["nothing"]["id_precision_of_hits"] is None


def test_likeness_of_texts_knows_no_lines(make_golden):
    window = hit("w", 1, 60)
    report, golden = measured(
        make_golden,
        (line("exact"), [RETRY_HIT, ELSEWHERE[0]]),
        (line("second"), [ELSEWHERE[0], RETRY_HIT]),
        (line("window"), [window]),
        (line("empty"), []),
    )
    rows = {row["id"]: row for row in cross_check(report, golden).rows}
    assert (rows["exact"]["non_llm_recall"], rows["exact"]["non_llm_precision"]) == (1, pytest.approx(1))
    assert rows["second"]["non_llm_precision"] == pytest.approx(1 / 2)  # the order counts, and not the eight
    assert (rows["window"]["recall@8"], rows["window"]["non_llm_recall"]) == (1, 0)  # found by lines, unlike by length
    assert (rows["empty"]["non_llm_recall"], rows["empty"]["non_llm_precision"]) == (0, 0)


def test_a_report_that_is_wrong_is_caught(make_golden):
    report, _ = measured(make_golden, *cases())
    bent = [dict(case, metrics=dict(case["metrics"])) for case in report.cases]
    bent[2]["metrics"]["recall@8"] += 1e-6
    checked = cross_check(replace(report, cases=bent))
    assert not checked.agrees
    assert checked.disagreements["recall@8"] == (pytest.approx(1e-6), "both")
    assert checked.disagreements["precision@8"][0] <= 1e-9
    assert "DISAGREE, most on both" in checked.summary()
    bent[2]["metrics"]["recall@8"] -= 1e-6
    bent[0]["metrics"]["precision@8"] = 0.5  # as if divided by the two hits there were
    assert cross_check(replace(report, cases=bent)).disagreements["precision@8"] == (0.375, "one")


def test_without_the_golden_file_there_are_no_texts(make_golden):
    report, golden = measured(make_golden, *cases())
    without = cross_check(report)
    assert "non_llm_recall" not in without.rows[0]
    assert "need the golden file" in without.summary()
    assert "non_llm_recall" in cross_check(report, golden).summary()
    assert "of 9 questions" not in without.summary()
    assert "over 8 questions: 1 got no hit" in without.summary()


def test_read_back_from_json_it_is_checked_just_the_same(make_golden):
    report, golden = measured(make_golden, *cases())
    again = Report.from_dict(json.loads(json.dumps(report.to_dict())))
    assert cross_check(again, golden) == cross_check(report, golden)


def test_results_can_be_shown_and_saved(make_golden):
    report, golden = measured(make_golden, (line("<b>"), [RETRY_HIT]))
    checked = cross_check(replace(report, golden={**report.golden, "name": "<i>"}), golden)
    json.dumps(checked.to_dict(), allow_nan=False)
    assert checked.to_dict()["disagreements"]["recall@8"] == {"largest": 0.0, "question": "<b>"}
    assert len(checked.to_frame()) == 1
    assert "&lt;i&gt;" in checked._repr_html_()
    assert "<i>" not in checked._repr_html_()


def test_what_cannot_be_checked_is_refused(make_golden):
    report, golden = measured(make_golden, *cases())
    with pytest.raises(RunError, match="FAILED"):
        cross_check(replace(report, status="FAILED"))
    with pytest.raises(RunError, match="another version of the golden"):
        cross_check(report, replace(golden, sha256="0" * 64))
    with pytest.raises(RunError, match="no question of the report has an answer"):
        cross_check(replace(report, cases=[case for case in report.cases if not case["expect"]]))


def test_expected_texts_are_those_of_the_corpus(make_golden, corpus):
    golden = make_golden(line("q", (SEND, GUIDE), mode="all", kind="multi-hop"))
    send, guide = expected_texts(golden.questions[0], corpus)
    assert send == "def send(message):\n    body = encode(message)\n    return body"
    assert guide == "# Guide\n\nHow to retry.\n"
    assert source_text(corpus, "pkg/tasks.py", 1, 1) == '"""Tasks."""'
    with pytest.raises(RunError, match=r"does not hold 'gone\.py'"):
        source_text(corpus, "gone.py", 1, 1)


# --- the command line


@pytest.fixture
def argv(tmp_path, monkeypatch) -> list[str]:
    """`rungs eval` of a saved run on a folder of its own: no index, no model."""
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    for name in ("API_BASE", "MODEL", "API_KEY", "TIMEOUT", "RETRIES"):
        monkeypatch.delenv(f"RAG_LLM_{name}", raising=False)
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "tasks.py").write_text(TASKS)
    register(folder, "tasks", find_home())
    rows = [line("q1", ("tasks.py::Task.retry",)), negative("q2")]
    hits = [{"path": "tasks.py", "start_line": 9, "end_line": 12, "score": 1.0}]
    golden, answers = tmp_path / "golden.jsonl", tmp_path / "run.jsonl"
    golden.write_text("".join(json.dumps(row) + "\n" for row in rows))
    answers.write_text("".join(json.dumps({"id": row["id"], "hits": hits}) + "\n" for row in rows))
    return ["eval", "--corpus", "tasks", str(golden), "--run", str(answers), "--quiet"]


def test_eval_ragas_prints_the_cross_check(argv, capsys):
    assert main([*argv, "--ragas"]) == 0
    out = capsys.readouterr().out
    assert "recall@8" in out.splitlines()[1]
    assert "ours beside ragas" in out
    assert main([*argv, "--ragas", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["ragas"]["agrees"] is True
    assert data["ragas"]["rows"][0]["id_recall"] == 1
    assert data["metrics"]["recall@8"]["value"] == 1


def test_eval_judge_without_an_endpoint_is_one_line(argv, capsys):
    assert main([*argv, "--judge"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("rungs: no language model is configured; set RAG_LLM_API_BASE")
    assert err.count("\n") == 1


def test_eval_judge_prints_the_judged_run_and_fails_with_it(argv, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("rungs.workbench.Workbench.embedder", lambda *_: Letters())
    monkeypatch.setenv("RAG_LLM_API_KEY", "sk-secret")
    saved = tmp_path / "judged.json"
    with serve() as server:
        whom = ["--judge", "--llm-api-base", server.api_base, "--llm-model", "toy", "--save-judged", str(saved)]
        assert main([*argv, *whom]) == 0
    out = capsys.readouterr().out
    assert "judged by toy: 1 questions with an answer (1 without are not judged)" in out
    assert '"correct" of 1 by pass mark' in out
    assert json.loads(saved.read_text())["metrics"]["faithfulness"]["value"] == 0.5
    assert "sk-secret" not in out + saved.read_text()
    with serve(lambda asked: Reply("") if asked.kind == "answer" else good(asked)) as server:
        monkeypatch.setenv("RAG_LLM_API_BASE", server.api_base)
        assert main([*argv, "--judge", "--llm-model", "toy", "--llm-retries", "0"]) == 1
    assert "FAILED on 1 of 1" in capsys.readouterr().out

"""A report survives its JSON, which is strict, and what it shows is escaped."""

import dataclasses
import json
import math

import pytest

from rungs.errors import RunError
from rungs.measure import Report, evaluate

from .toys import SEND, Scripted, hit, line, negative


@pytest.fixture
def report(make_golden) -> Report:
    golden = make_golden(*(line(f"q{i}") for i in range(8)), line("s", (SEND,), kind="symbol"), negative("n"))
    found = {"where is q0?": [hit("a", 9, 12, 0.5, scores={"dense": 0.5})], "where is s?": [hit("s", 18, 20)]}
    return evaluate(Scripted(found), golden, progress=False)


def test_it_survives_json_with_its_infinities(report, tmp_path):
    assert report.metrics["tokens_to_answer"]["value"] == math.inf
    assert report.cases[1]["metrics"]["tokens_to_answer"] == math.inf
    path = tmp_path / "new" / "report.json"
    report.save(path)
    assert Report.load(path) == report
    assert [each.name for each in path.parent.iterdir()] == ["report.json"]


def test_its_json_is_strict(report, tmp_path):
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    report.save(tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text(), parse_constant=refuse)
    estimate = data["metrics"]["tokens_to_answer"]
    assert (estimate["value"], estimate["n"]) == (None, 9), "null with n above 0: half of the questions never got there"
    assert data["by_kind"]["symbol"]["abstain_rate"] == {"value": None, "low": None, "high": None, "n": 0}
    assert data["by_kind"]["symbol"]["tokens_to_answer"]["value"] > 0


def test_no_data_stays_no_data_and_few_values_stay_unbounded(report):
    again = Report.from_dict(json.loads(json.dumps(report.to_dict())))
    assert again.by_kind["symbol"]["abstain_rate"]["value"] is None
    assert again.by_kind["symbol"]["tokens_to_answer"]["high"] is None
    assert again.by_kind["prose-en"]["tokens_to_answer"]["high"] == math.inf
    assert again.cases[-1]["metrics"]["tokens_to_answer"] is None, "a negative has none"


def test_a_failed_report_survives_too(make_golden):
    failed = evaluate(Scripted({"where is a?": KeyError("x")}), make_golden(line("a"), negative("n")), progress=False)
    again = Report.from_dict(json.loads(json.dumps(failed.to_dict(), allow_nan=False)))
    assert again == failed and again.status == "FAILED"
    assert "a: KeyError: 'x'" in again.summary()


def test_odd_values_from_a_config_become_plain(report):
    from pathlib import Path

    import numpy as np

    config = {"path": Path("a/b"), "weights": (1, np.float32(0.5)), "nan": math.nan, "set": {"b", "a"}, 3: np.int64(4)}
    data = dataclasses.replace(report, config=config).to_dict()["config"]
    assert data == {"path": "a/b", "weights": [1, 0.5], "nan": None, "set": ["a", "b"], "3": 4}
    json.dumps(data, allow_nan=False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "1: not valid JSON"),
        ("[" * 100_000, " not valid JSON .nested too deep"),
        ("1" * 5000, " not valid JSON .a number of more than 4300"),
        ("[]", " not a report"),
        ('{"format": 1}', " not a report"),
        ('{"format": 99}', " not a report"),
    ],
)
def test_what_is_no_report_is_named(text, message, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(RunError, match=rf"x\.json:{message}"):
        Report.load(path)
    with pytest.raises(RunError, match=r"none\.json: cannot be read"):
        Report.load(tmp_path / "none.json")


@pytest.mark.parametrize(("part", "value"), [("metrics", {}), ("by_kind", {"doc": 3}), ("cases", [{}]), ("cases", 7)])
def test_a_damaged_report_is_named(part, value, report):
    with pytest.raises(RunError, match="damaged"):
        Report.from_dict(report.to_dict() | {part: value})


@pytest.mark.parametrize(
    ("where", "value", "says"),
    [
        (("golden",), None, "golden is None"),
        (("golden",), {}, "golden: no name"),
        (("corpus",), {}, "corpus: no name"),
        (("config",), None, "config is None"),
        (("status",), "half", "status is 'half' and by its cases ok"),
        (("status",), "FAILED", "status is 'FAILED' and by its cases ok"),
        (("n",), 3, "n is 3 and there are 10 cases"),
        (("metrics", "mrr"), "high", "metrics: mrr is 'high'"),
        (("metrics", "mrr", "value"), "0.5", "metrics: mrr: value is '0.5'"),
        (("metrics", "mrr", "value"), 10**400, "metrics: mrr: value is 1000"),
        (("metrics", "mrr"), ..., "metrics: no mrr"),
        (("by_kind", "symbol", "mrr"), ..., "symbol: no mrr"),
        (("latency",), {}, "latency: no p50_ms"),
        (("cases", 2), 7, "case 3: 7 is no object"),
        (("cases", 2, "hits"), ..., "case 3: no hits"),
        (("cases", 2, "id"), "q0", "case 3: its id is that of case 1"),
        (("cases", 2, "metrics"), None, "case 3: metrics: None is no object"),
        (("cases", 2, "metrics", "mrr"), True, "case 3: metrics: mrr is True"),
        (("cases", 2, "expect"), [3], r"case 3: expect is \[3\]"),
        (("cases", 2, "error"), "late", "status is 'ok' and by its cases FAILED"),
        (("cases", 0, "hits", 0, "path"), None, "case 1: hit 1: path is None"),
        (("cases", 0, "hits", 0, "start_line"), "5", "case 1: hit 1: start_line is '5'"),
        (("cases", 0, "hits", 0, "start_line"), -5, "case 1: hit 1: lines are -5-12"),
        (("cases", 0, "hits", 0, "start_line"), None, "case 1: hit 1: lines are None-12"),
        (("cases", 0, "hits", 0, "end_line"), 10**12, "case 1: hit 1: lines are 9-1000000000000"),
    ],
)
def test_a_report_says_what_is_damaged(where, value, says, report):
    data = json.loads(json.dumps(report.to_dict()))
    *way, last = where
    part = data
    for step in way:
        part = part[step]
    if value is ...:
        del part[last]
    else:
        part[last] = value
    with pytest.raises(RunError, match=rf"a damaged report \({says}.*\); measure again"):
        Report.from_dict(data)


def test_a_config_nested_deeper_than_can_be_read_is_damage(report):
    deep = []
    for _ in range(800):
        deep = [deep]
    with pytest.raises(RunError, match="nested too deep"):
        Report.from_dict(report.to_dict() | {"config": {"deep": deep}})


def test_the_summary_shows_value_interval_and_n(report):
    lines = report.summary().splitlines()
    assert lines[0] == "golden on small: 10 questions, no model"
    assert any(line.split()[:2] == ["recall@8", "0.222"] and "n=9" in line and "[" in line for line in lines)
    assert any("tokens_to_answer" in line and "not reached" in line for line in lines)


def test_the_table_escapes_what_comes_from_outside(make_golden):
    nasty = "<script>alert(1)</script>"
    golden = make_golden(line("<b>a</b>"))
    html = evaluate(Scripted({"where is <b>a</b>?": ValueError(nasty)}), golden, progress=False)._repr_html_()
    assert "<script>" not in html and "<b>" not in html and "&lt;script&gt;" in html


def test_the_caption_escapes_names_of_files(report):
    html = dataclasses.replace(report, golden={"name": "<i>g</i>", "sha256": "0"})._repr_html_()
    assert "<i>" not in html and "&lt;i&gt;g" in html


def test_the_table_of_a_sound_report_has_a_row_per_metric(report):
    html = report._repr_html_()
    assert "<td>recall@8</td><td>0.222</td>" in html and "not reached" in html


def test_the_frame_is_long(report):
    frame = report.to_frame()
    assert list(frame.columns) == ["group", "metric", "value", "low", "high", "n"]
    row = frame[(frame.group == "all") & (frame.metric == "recall@8")].iloc[0]
    assert row.value == pytest.approx(2 / 9) and row.n == 9
    assert set(frame.group) == {"all", "prose-en", "symbol", "negative-far"}

"""The ladder's table, and that the README's figures are what the code measures."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rungs.errors import RunError
from rungs.ladder import ROWS, climb, figure, kind_table, markdown, paired_table, table, write_between
from rungs.measure import load_golden
from rungs.measure.pooled import judgements_of, pooled_table, strict_and_pooled

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def ladder(bench):
    return climb(bench, load_golden(REPOSITORY / "golden/celery.jsonl", bench.corpus), progress=False)


def test_every_row_is_measured_on_every_question(ladder):
    names = ["grep", "windows", "dense", "bm25", "hybrid k=1", "hybrid k=10", "hybrid k=60", "routed by regex", "auto"]
    assert [row.name for row in ladder.rows] == names
    assert ladder.failed == []
    assert len({report.n for report in ladder.reports.values()}) == 1
    assert len({report.golden["sha256"] for report in ladder.reports.values()}) == 1


def test_every_figure_carries_n_and_an_interval(ladder):
    for report in ladder.reports.values():
        for name in ("recall@8", "recall@40", "mrr"):
            estimate = report.metrics[name]
            assert 0 <= estimate["low"] <= estimate["value"] <= estimate["high"] <= 1
            assert estimate["n"] == sum(1 for case in report.cases if case["expect"])


def test_unchanged_rows_are_read_back_and_say_the_same(bench, ladder):
    again = climb(bench, load_golden(REPOSITORY / "golden/celery.jsonl", bench.corpus), progress=False)
    assert again.fresh == []
    assert [r.to_dict() for r in again.reports.values()] == [r.to_dict() for r in ladder.reports.values()]


def test_the_readme_shows_what_the_code_measures(ladder):
    """Up to what another processor's arithmetic may change: one question of the set."""
    text = (REPOSITORY / "README.md").read_text()
    lines = text.partition("<!-- ladder:begin -->")[2].partition("<!-- ladder:end -->")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    shown = {row[1]: row for row in rows if row[0] in ("1", "2", "3", "peer")}
    for name, report in ladder.reports.items():
        for column, metric in ((2, "recall@8"), (3, "recall@40"), (4, "mrr")):
            value = float(re.match(r"[\d.]+", shown[name][column])[0])
            n = report.metrics[metric]["n"]
            assert value == pytest.approx(report.metrics[metric]["value"], abs=1 / n + 0.005), (name, metric)
    golden = next(iter(ladder.reports.values())).golden["sha256"][:12]
    assert f"sha256 {golden}" in text, "the README's table is of another golden file; run `make readme`"


def test_markdown_has_a_row_for_each_rung_and_kind(ladder):
    text = markdown(ladder)
    assert all(f"| {row.name} |" in text for row in ROWS)
    header, cells = kind_table(ladder)
    assert len(cells) == len(ROWS)
    assert any(name.startswith("symbol (n=") for name in header)
    assert not any("negative" in name for name in header)  # recall says nothing about questions without an answer


def test_every_row_is_held_against_rung_1_with_a_verdict(ladder):
    header, cells = paired_table(ladder)
    assert [row[0] for row in cells] == [row.name for row in ROWS if row.name != "windows"]
    assert header == ["row", "recall@8 against windows", "mrr against windows"]
    assert all(re.search(r"(better|worse|equivalent|not readable at n=\d+)", cell) for row in cells for cell in row[1:])
    before, after = (ladder.reports[name].metrics["recall@8"]["value"] for name in ("windows", "dense"))
    dense = next(row for row in cells if row[0] == "dense")
    assert dense[1].startswith(f"{after - before:+.2f} [")


def test_a_failed_run_shows_no_figures(ladder):
    broken = replace(ladder.reports["dense"], status="FAILED")
    failed = type(ladder)(ladder.rows, {**ladder.reports, "dense": broken}, ladder.golden)
    row = table(failed)[1][2]
    assert row[2].startswith("FAILED")
    assert not any(re.search(r"\d\.\d", cell) for cell in row)
    assert failed.failed == ["dense"]


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        ({"value": 0.4312, "low": 0.351, "high": 0.512, "n": 80}, "0.43 [0.35, 0.51]"),
        ({"value": None, "low": None, "high": None, "n": 0}, "no data"),
        ({"value": 1234.4, "low": 900.0, "high": float("inf"), "n": 9}, "1,234 [900, ∞]"),
    ],
)
def test_figures_as_text(estimate, text):
    assert figure(estimate) == text


def test_a_file_without_markers_is_left_alone(tmp_path: Path):
    path = tmp_path / "README.md"
    path.write_text("hello")
    with pytest.raises(RunError, match="ladder:begin"):
        write_between(path, "x")
    assert path.read_text() == "hello"
    path.write_text("a\n<!-- ladder:begin -->\nold\n<!-- ladder:end -->\nz\n")
    write_between(path, "new")
    assert path.read_text() == "a\n<!-- ladder:begin -->\nnew\n<!-- ladder:end -->\nz\n"
    with pytest.raises(RunError, match="heldout:begin"):
        write_between(path, "new", held_out=True)


def test_strict_and_pooled_stand_side_by_side_where_a_pool_was_judged(bench, ladder):
    """On a report made of the labels themselves both are 1; one that shows only a place judged right gains by the pool."""
    golden = load_golden(REPOSITORY / "golden/celery.heldout.jsonl", bench.corpus)
    judgements = judgements_of(golden)
    assert judgements is not None
    pooled, place = next(
        (q, label)
        for q in golden.questions
        for label in q.also
        if label.spans and label.path not in {expected.path for expected in q.expect}
    )
    cases = []
    for question in golden.questions:
        if question.id in judgements.questions(golden):
            label = place if question.id == pooled.id else question.expect[0]
            first, last = label.spans[0] if label.spans else (1, 1)
            hit = {"path": label.path, "start_line": first, "end_line": last}
            cases.append({"id": question.id, "q": question.q, "hits": [hit]})
    made = replace(ladder.reports["dense"], golden={"name": golden.name, "sha256": golden.sha256}, cases=cases)
    figures = strict_and_pooled(made, golden, judgements)
    n = len(judgements.questions(golden))
    assert figures["pooled recall@8"] == {**figures["pooled recall@8"], "value": 1.0, "n": n}
    assert figures["strict recall@8"]["value"] == pytest.approx(1 - 1 / n)
    assert figures["judged"]["value"] == 1
    header, cells = pooled_table({"made": made}, golden)
    assert len(cells) == 1
    assert len(cells[0]) == len(header)
    assert pooled_table({"made": made}, ladder.golden)[1] == []  # the tuning file has no pool

"""What a gate stops, what it lets through, and what it refuses to compare."""

from dataclasses import replace

import pytest

from rungs.measure import Report, compare_kinds, gate

from .toys import report


def of_kinds(values: list[float], kinds: list[str], **changes: object) -> Report:
    made = report(values)
    cases = [case | {"kind": kind} for case, kind in zip(made.cases, kinds, strict=True)]
    return replace(made, cases=cases, **changes)


KINDS = ["prose-en"] * 40 + ["doc"] * 10


def test_what_did_not_change_goes_through() -> None:
    before = of_kinds([1, 0] * 25, KINDS)
    result = gate(before, before)
    assert result.passed
    assert result.summary().endswith("gate: passed (nothing is readably worse)")


def test_a_kind_that_is_lost_stops_the_gate_though_the_mean_rises() -> None:
    """Twelve questions about code found, ten about documents lost: better by the mean, and nobody finds a document."""
    before = of_kinds([0] * 40 + [1] * 10, KINDS)
    after = of_kinds([1] * 12 + [0] * 28 + [0] * 10, KINDS)
    result = gate(before, after)
    assert result.comparison is not None
    assert result.comparison.verdict("recall@8") != "worse"
    assert result.worse == ["recall@8 on doc"]
    assert not result.passed
    assert result.to_dict()["gate"] == "worse"


def test_noise_goes_through() -> None:
    before = of_kinds([1, 0] * 25, KINDS)
    after = of_kinds([0, 1] * 3 + [1, 0] * 22, KINDS)
    assert gate(before, after).passed


def test_a_failed_run_stops_the_gate() -> None:
    before = of_kinds([1] * 50, KINDS)
    broken = replace(before, status="FAILED", cases=[before.cases[0] | {"error": "timed out"}, *before.cases[1:]])
    result = gate(before, broken)
    assert not result.passed
    assert "timed out" in result.verdict
    assert result.to_dict()["gate"] == "FAILED"


def test_looking_at_many_kinds_is_corrected_for() -> None:
    """Six of six lost is p = 0.03 alone; among eight kinds it is nothing to go by."""
    kinds = [f"kind{i}" for i in range(8) for _ in range(6)]
    before = of_kinds([1] * 48, kinds)
    found = compare_kinds(before, of_kinds([0] * 6 + [1] * 42, kinds))
    assert found["kind0"].p == pytest.approx(0.25, abs=0.02)
    assert found["kind0"].verdict == "not readable at n=6"
    alone = compare_kinds(
        before.only({c["id"] for c in before.cases[:6]}),
        of_kinds([0] * 48, kinds).only({c["id"] for c in before.cases[:6]}),
    )
    assert alone["kind0"].verdict == "worse"

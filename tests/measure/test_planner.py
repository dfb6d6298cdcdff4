"""How many labels it takes, and where there are none."""

from dataclasses import replace

import numpy as np
import pytest

from rungs.errors import RunError
from rungs.measure import coverage
from rungs.measure.compare import power, smallest_readable
from rungs.measure.planner import labels_needed, plan

from .toys import GUIDE, RETRY, line, negative, report


@pytest.mark.parametrize(("difference", "moved"), [(0.05, 0.2), (0.2, 0.3), (0.1, 0.1)])
def test_as_many_as_needed_and_no_fewer(difference: float, moved: float) -> None:
    needed = labels_needed(difference, moved)
    assert needed is not None
    assert power(difference, moved, needed) >= 0.8
    assert power(difference, moved, int(needed * 0.9)) < 0.8


def test_what_no_move_can_make_up_is_never_readable() -> None:
    assert labels_needed(0.6, 0.5, size=0.5) is None


def test_a_plan_counts_kind_by_kind() -> None:
    rng = np.random.default_rng(2)
    before = (rng.random(120) < 0.5).astype(float)
    after = np.where(rng.random(120) < 0.3, 1 - before, before)
    after[60:] = before[60:]  # the second kind does not move at all
    kinds = ["prose-en"] * 60 + ["doc"] * 60

    def of_kinds(values: np.ndarray):
        made = report(list(values))
        return replace(made, cases=[c | {"kind": k} for c, k in zip(made.cases, kinds, strict=True)])

    found = {k.kind: k for k in plan(of_kinds(before), of_kinds(after), 0.1).kinds}
    assert list(found) == ["all", "prose-en", "doc"]
    assert found["prose-en"].moved == pytest.approx(np.mean(before[:60] != after[:60]))
    assert found["prose-en"].readable == smallest_readable(after[:60] - before[:60])
    assert found["prose-en"].needed == labels_needed(0.1, found["prose-en"].moved)
    assert (found["doc"].readable, found["doc"].needed) == (None, None)
    said = plan(of_kinds(before), of_kinds(after), 0.1).summary()
    assert "cannot say" in said
    assert str(found["prose-en"].needed - 60) in said


@pytest.mark.parametrize("difference", [0, -1, float("nan"), float("inf")])
def test_a_difference_to_read_is_a_number_above_zero(difference: float) -> None:
    with pytest.raises(RunError, match=f"is {difference:g}; give a number above 0"):
        plan(report([1, 0]), report([0, 1]), difference)


def test_coverage_names_the_folders_without_a_label(make_golden) -> None:
    golden = make_golden(line("a", [RETRY]), line("b", [GUIDE, RETRY], kind="doc"), negative("n"))
    found = coverage(golden)
    assert found.files == {"docs": 1, "pkg": 1, "pkg/sub": 1}
    assert found.labels == {"pkg": 2, "docs": 1}
    assert found.labelled == {"pkg": 1, "docs": 1}
    assert found.untouched == {"pkg/sub": 1}
    assert found.categories == {"code": 2, "doc": 1}
    assert (found.questions["prose-en"], found.questions["prose-tr"]) == (1, 0)
    assert "1 of 3 folders have no label (1 of 3 files)" in found.summary()

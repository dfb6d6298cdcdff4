"""Solutions to the exercises of `00_measure_first.ipynb`.

Run them with ``python notebooks/solutions/00_measure_first.py``; the tests do.
"""

import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rungs import Workbench, load_golden
from rungs.errors import GoldenError
from rungs.ladder import climb
from rungs.measure import Golden, Report


def values(report: Report, metric: str) -> np.ndarray:
    """The metric of every question it applies to, in the order of the golden file."""
    found = [case["metrics"][metric] for case in report.cases]
    return np.array([value for value in found if value is not None])


def exercise_1(bench: Workbench, golden: Golden) -> int:
    """Questions needed until the interval of A's MRR is at most 0.05 wide.

    The width is 2 × 1.96 × s / √n; solve for n. Questions like *these*: other questions scatter otherwise.
    """
    spread = values(climb(bench, golden, progress=False).reports["dense"], "mrr").std(ddof=1)
    return math.ceil((2 * 1.96 * spread / 0.05) ** 2)


def sign_flip(differences: Sequence[float], times: int = 20_000, seed: int = 1) -> float:
    """How often random signs make a sum at least as far from zero as the one observed.

    The observed signs are one of the possible draws, hence the 1 above and below: p is never 0.
    """
    d = np.asarray(differences, dtype=float)
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), size=(times, d.size))
    extreme = np.abs(signs @ d) >= abs(d.sum()) - 1e-12
    return float((extreme.sum() + 1) / (times + 1))


def exercise_2(bench: Workbench, golden: Golden) -> float:
    """The p-value of B against A on MRR."""
    reports = climb(bench, golden, progress=False).reports
    return sign_flip(values(reports["bm25"], "mrr") - values(reports["dense"], "mrr"))


def exercise_3(bench: Workbench, golden: Golden) -> tuple[str, str]:  # noqa: ARG001 - all exercises take both
    """A golden line that loads, and what is said about one that is misspelled."""
    line = {
        "id": "mine",
        "q": "how do I make a kombu pool drop all of its connections, also those that are in use?",
        "expect": ["kombu/kombu/resource.py::Resource.force_close_all"],
        "mode": "any",
        "kind": "prose-en",
        "why": "force_close_all closes what is handed out (dirty) as well as what waits in the queue.",
    }
    misspelled = line | {"expect": ["kombu/kombu/resource.py::Resource.force_close_al"]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.jsonl"
        path.write_text(json.dumps(line) + "\n", encoding="utf-8")
        (first, last), *_ = load_golden(path, bench.corpus).questions[0].expect[0].spans
        path.write_text(json.dumps(misspelled) + "\n", encoding="utf-8")
        try:
            load_golden(path, bench.corpus)
        except GoldenError as error:
            return f"lines {first} to {last}", str(error).replace(f"{path}", path.name)
    raise AssertionError("a misspelled label was accepted")


if __name__ == "__main__":
    from rungs import Settings

    bench = Workbench(Settings())
    golden = load_golden(Path(__file__).parents[2] / "golden" / "celery.jsonl", bench.corpus)
    for solve in (exercise_1, exercise_2, exercise_3):
        print(f"{solve.__name__}: {solve(bench, golden)}")

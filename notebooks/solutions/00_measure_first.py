"""Solutions to the exercises of `00_measure_first.ipynb`.

Run them with ``python notebooks/solutions/00_measure_first.py``; the tests do.
"""

import json
import math
import tempfile
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


def bootstrap(differences: np.ndarray, times: int = 10_000) -> tuple[float, float]:
    """95% interval of the mean difference."""
    drawn = np.random.default_rng(0).choice(differences, (times, len(differences)))
    low, high = np.quantile(drawn.mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


def sign_flip(differences: np.ndarray, times: int = 10_000) -> float:
    """How often random signs give a mean at least as far from zero as the one observed."""
    signs = np.random.default_rng(0).choice((-1, 1), (times, len(differences)))
    return float(np.mean(abs((signs * differences).mean(axis=1)) >= abs(differences.mean()) - 1e-12))


def exercise_2(bench: Workbench, golden: Golden) -> tuple[int, int]:  # noqa: ARG001 - all exercises take both
    """The smallest k at which the interval excludes zero, and at which the sign-flip p is below 0.05.

    The bootstrap is the rash one: it only asks how often all k movers are left out of a draw. The sign flip asks how
    often k coins fall alike, and waits for a sixth.
    """
    rows = {k: np.array([1.0] * k + [0.0] * (64 - k)) for k in range(1, 20)}
    by_interval = next(k for k, differences in rows.items() if bootstrap(differences)[0] > 0)
    by_signs = next(k for k, differences in rows.items() if sign_flip(differences) < 0.05)
    return by_interval, by_signs


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

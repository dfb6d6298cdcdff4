"""Embedding models: the packaged default against a plain float32 run, and any other through FlagEmbedding."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rungs.bert import load_bert
from rungs.errors import ModelError
from rungs.models import FlagEmbedder, MiniLMEmbedder, load_embedder, weights_sha256

TEXTS = [
    "def retry(self, exc=None):\n    raise Retry(exc)",
    "",
    "a",
    "Tasks\n=====\n\nHow a task is retried.",
    "x = 1\n" * 400,  # far beyond the window
    "ışık İade 重试",
]


@pytest.fixture(scope="module")
def plain(embedder):
    """The same weights through sentence-transformers, float32, one text at a time."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(embedder._folder), device="cpu", local_files_only=True)
    return lambda texts: np.stack([model.encode(t, normalize_embeddings=True) for t in texts])


def test_passages_agree_with_the_plain_float32_model(embedder, plain):
    cosine = (embedder.encode_passages(TEXTS) * plain(TEXTS)).sum(axis=1)
    assert cosine.min() >= 0.9999


def test_queries_agree_with_the_plain_float32_model(embedder, plain):
    ours = np.array([embedder.get_query_embedding(t) for t in TEXTS])
    assert ((ours * plain(TEXTS)).sum(axis=1)).min() >= 0.99999


def test_batches_do_not_change_a_vector(embedder):
    many = [f"text number {i} " + "word " * (i % 40) for i in range(50)]
    alone = np.stack([embedder.encode_passages([t])[0] for t in many])
    assert (embedder.encode_passages(many) * alone).sum(axis=1).min() >= 0.9999


def test_vectors_have_unit_length_and_the_stated_shape(embedder):
    vectors = embedder.encode_passages(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dim) == (len(TEXTS), 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)


def test_what_is_beyond_the_window_is_not_seen(embedder):
    start = "word " * (embedder.max_tokens - 2)
    assert embedder.count_tokens([start]) == [embedder.max_tokens]
    seen, cut = embedder.encode_passages([start, start + "something else entirely"])
    assert seen @ cut > 0.9999


def test_no_texts_give_no_vectors(embedder):
    assert embedder.encode_passages([]).shape == (0, 384)
    assert embedder.count_tokens([]) == []


def test_altered_weights_are_refused(embedder, tmp_path: Path):
    folder = tmp_path / "model"
    shutil.copytree(embedder._folder, folder)
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(5000)
        byte = file.read(1)[0]
        file.seek(5000)
        file.write(bytes([byte ^ 1]))
    with pytest.raises(ModelError, match="was altered"):
        MiniLMEmbedder(folder)


def test_a_folder_model_loads_through_flagembedding(tiny_model: Path):
    model = load_embedder(str(tiny_model))
    assert isinstance(model, FlagEmbedder)
    assert (model.dim, model.max_tokens) == (16, 64)
    vectors = model.encode_passages(["retry the task", "pool"])
    assert vectors.shape == (2, 16)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert len(model.get_query_embedding("retry")) == 16
    assert model.count_tokens(["retry the task"]) == [5]


def test_instructions_change_what_is_embedded(tiny_model: Path):
    bare = load_embedder(str(tiny_model))
    told = load_embedder(str(tiny_model), "query: ", "passage: ")
    assert np.allclose(told.get_query_embedding("retry"), bare.get_query_embedding("query: retry"), atol=1e-6)
    assert np.allclose(told.encode_passages(["pool"]), bare.encode_passages(["passage: pool"]), atol=1e-6)


def test_instructions_come_from_the_models_folder(tiny_model: Path, tmp_path: Path):
    folder = tmp_path / "prompted"
    shutil.copytree(tiny_model, folder)
    prompts = {"prompts": {"query": "query: ", "passage": "passage: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    bare = load_embedder(str(tiny_model))
    assert np.allclose(
        load_embedder(str(folder)).get_query_embedding("retry"), bare.get_query_embedding("query: retry"), atol=1e-6
    )


def test_pooling_comes_from_the_models_folder(tiny_model: Path, tmp_path: Path):
    folder = tmp_path / "cls"
    shutil.copytree(tiny_model, folder)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    mean, cls = load_embedder(str(tiny_model)), load_embedder(str(folder))
    assert not np.allclose(mean.encode_passages(["retry the pool"]), cls.encode_passages(["retry the pool"]), atol=1e-3)


def test_pickled_weights_are_never_loaded(tiny_model: Path, tmp_path: Path):
    folder = tmp_path / "pickled"
    shutil.copytree(tiny_model, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "pytorch_model.bin").write_bytes(b"not even looked at")
    with pytest.raises(ModelError, match=r"no \*\.safetensors"):
        load_embedder(str(folder))


def test_code_in_a_models_folder_is_not_run(tiny_model: Path, tmp_path: Path):
    folder = tmp_path / "hostile"
    shutil.copytree(tiny_model, folder)
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "evil"
    config["auto_map"] = {"AutoModel": "evil.Model", "AutoConfig": "evil.Config"}
    (folder / "config.json").write_text(json.dumps(config))
    witness = tmp_path / "ran"
    (folder / "evil.py").write_text(f"open({str(witness)!r}, 'w')\n")
    with pytest.raises(ModelError):
        load_embedder(str(folder))
    assert not witness.exists()


@pytest.mark.parametrize("name", ["./missing", "/nowhere/model", "a/b/c"])
def test_a_missing_folder_says_what_to_set(name: str):
    with pytest.raises(ModelError, match="RAG_EMBED_MODEL"):
        load_embedder(name)


def test_no_hub_is_one_line_that_says_what_to_set():
    with pytest.raises(ModelError, match="set RAG_EMBED_MODEL") as caught:
        load_embedder("BAAI/bge-m3")
    assert "\n" not in str(caught.value)


def test_the_identity_changes_with_the_weights(tiny_model: Path, tmp_path: Path):
    folder = tmp_path / "other"
    shutil.copytree(tiny_model, folder)
    assert weights_sha256(folder) == weights_sha256(tiny_model)
    path = folder / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert weights_sha256(folder) != weights_sha256(tiny_model)


def test_queries_need_nothing_of_the_general_model_class():
    """Importing it takes longer than the rest of a search; only documents need it."""
    code = (
        "import sys; from rungs.models import load_embedder; load_embedder().get_query_embedding('retry');"
        "sys.exit('transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


def test_what_model_it_is_can_be_asked_without_waiting_for_torch():
    code = "import sys; from rungs.models import load_embedder; e = load_embedder(); e.weights_sha256, e.dim\n"
    code += "e.count_tokens(['a']); print('torch' in sys.modules); e.load(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"], done.stderr[-1000:]


def test_the_query_encoder_refuses_another_architecture(tiny_model: Path, tmp_path: Path):
    folder = tmp_path / "other"
    shutil.copytree(tiny_model, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"hidden_act": "relu"}))
    with pytest.raises(ModelError, match="not a BERT encoder"):
        load_bert(folder)

"""The index: atomic, immutable, incremental, private copies, and damage that is always said."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rungs.corpus import register
from rungs.dense import DenseRetriever
from rungs.errors import CorpusError, StoreError
from rungs.index import Index, build_index
from rungs.lexical import MilvusBM25Retriever
from rungs.workbench import StageBars


class HashEmbedder:
    """A stand-in that costs nothing: letters to a fixed random direction. Tests of storage need no meaning."""

    model_name = "hash"
    dim = 8
    max_tokens = 256
    precision = "float32"

    def __init__(self, weights: str = "0" * 64) -> None:
        self.weights_sha256 = weights
        self.calls: list[str] = []

    def count_tokens(self, texts):
        return [len(t.split()) + 2 for t in texts]

    def encode_passages(self, texts, progress=None):
        self.calls.extend(texts)
        rows = []
        for text in texts:
            v = np.random.default_rng(int.from_bytes(text.encode()[-60:], "little") % 2**63).normal(size=self.dim)
            rows.append(v / np.linalg.norm(v))
        if progress:
            progress(len(texts))
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.dim)

    def get_query_embedding(self, query):
        return self.encode_passages([query])[0].tolist()


STORED = ["chunks.jsonl", "names.json", "tokens.txt", "vectors.npy", "milvus.db", "manifest.json"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAG_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def built(small_corpus: Path, tmp_path: Path):
    home = tmp_path / "home"
    corpus = register(small_corpus, "small", home)
    embedder = HashEmbedder()
    version = build_index(corpus, embedder, home)
    return corpus, embedder, home, version


def open_small(home: Path) -> Index:
    return Index.open(home, "small", model="hash")


def lexical_texts(index: Index, query: str) -> list[str]:
    return [h.node.get_content() for h in MilvusBM25Retriever(index.store, top_k=20).retrieve(query)]


def dense_texts(index: Index, query: str) -> list[str]:
    return [
        h.node.get_content()
        for h in DenseRetriever(index.store, HashEmbedder(), top_k=1000)._search(
            HashEmbedder().get_query_embedding(query)
        )
    ]


def test_hits_are_source_text_with_the_contracts_metadata(built):
    corpus, _, home, _ = built
    hit = MilvusBM25Retriever(open_small(home).store).retrieve("retry_policy")[0]
    data = hit.node.metadata
    assert set(data) == {"path", "symbol", "start_line", "end_line", "category", "language", "scores"}
    lines = corpus.get(data["path"]).lines
    shown = hit.node.get_content().splitlines()
    assert list(lines[data["start_line"] - 1 : data["end_line"]]) == shown
    assert data["scores"] == {"bm25": hit.score}


def test_every_channel_holds_every_chunk(built):
    _, _, home, _ = built
    index = open_small(home)
    assert len(index.nodes) == len(index.tokens) == len(index.vectors) == index.manifest["rows"]
    assert sorted(dense_texts(index, "anything")) == sorted(n.text for n in index.nodes)


def test_a_second_build_with_nothing_changed_is_the_same_version(built):
    corpus, embedder, home, version = built
    before = len(embedder.calls)
    assert build_index(corpus, embedder, home) == version
    assert len(embedder.calls) == before


def test_only_changed_chunks_are_embedded_again(built, small_corpus: Path):
    _, embedder, home, first = built
    (small_corpus / "app/retry.py").write_text("def retry_policy(attempts):\n    return 3 ** attempts\n")
    embedder.calls.clear()
    second = build_index(register(small_corpus, "small", home), embedder, home)
    assert second != first
    assert len(embedder.calls) == 1
    assert "3 ** attempts" in embedder.calls[0]


def test_texts_that_the_vector_cache_knew_are_reported(built, small_corpus: Path, tmp_path: Path, capsys):
    corpus, embedder, _, _ = built
    stages = []
    build_index(corpus, embedder, tmp_path / "other home", progress=lambda *said: stages.append(said))
    known = next(said for said in stages if said[0] == "remembered")
    assert known[1] == known[2] > 0
    assert ("embed", 0, 0) in stages
    with StageBars(True) as bars:
        for said in stages:
            bars.report(*said)
    err = capsys.readouterr().err
    assert f"{known[1]} of {known[2]} texts came from the vector cache\n" in err
    assert "embed" not in err


def test_the_tail_of_a_file_that_shrank_is_found_by_no_channel(built, small_corpus: Path):
    _, embedder, home, _ = built
    assert any("def release" in t for t in lexical_texts(open_small(home), "release"))
    text = (small_corpus / "app/pool.py").read_text()
    (small_corpus / "app/pool.py").write_text(text[: text.index("    def release")])
    build_index(register(small_corpus, "small", home), embedder, home)
    index = open_small(home)
    assert not any("def release" in t for t in lexical_texts(index, "release"))
    assert not any("def release" in t for t in dense_texts(index, "release"))
    assert not any("def release" in n.text for n in index.nodes)


def test_a_file_that_is_gone_is_gone(built, small_corpus: Path):
    _, embedder, home, _ = built
    (small_corpus / "app/retry.py").unlink()
    build_index(register(small_corpus, "small", home), embedder, home)
    assert {n.metadata["path"] for n in open_small(home).nodes}.isdisjoint({"app/retry.py"})


def test_ids_are_stable_across_rebuilds(built, small_corpus: Path):
    _, embedder, home, _ = built
    before = {n.id_ for n in open_small(home).nodes if n.metadata["path"] != "app/retry.py"}
    (small_corpus / "app/retry.py").write_text("def other():\n    return 1\n")
    build_index(register(small_corpus, "small", home), embedder, home)
    assert before <= {n.id_ for n in open_small(home).nodes}


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("where", [0.0, 0.5, 1.0])
def test_a_flipped_byte_in_any_stored_file_is_said_in_one_line(built, name: str, where: float):
    _, _, home, version = built
    path = version / name
    data = bytearray(path.read_bytes())
    at = min(int(len(data) * where), len(data) - 1)
    data[at] ^= 0x01
    path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged") as caught:
        lexical_texts(open_small(home), "retry")
    assert "\n" not in str(caught.value)
    assert "rungs index" in str(caught.value)


@pytest.mark.parametrize("name", STORED)
def test_a_missing_or_cut_file_is_said(built, name: str):
    _, _, home, version = built
    path = version / name
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(StoreError, match="damaged"):
        open_small(home)
    path.unlink()
    with pytest.raises(StoreError, match=r"missing|damaged"):
        open_small(home)


def test_a_damaged_version_is_built_again(built):
    corpus, embedder, home, version = built
    (version / "tokens.txt").write_text("nonsense\n")
    assert build_index(corpus, embedder, home) != version
    assert any("retry_policy" in t for t in lexical_texts(open_small(home), "retry_policy"))


def test_opening_what_was_never_built_says_what_to_run(tmp_path: Path):
    with pytest.raises(StoreError, match="run: rungs index small"):
        open_small(tmp_path)


def test_other_weights_are_refused(built):
    _, _, home, _ = built
    with pytest.raises(StoreError, match="model weights"):
        open_small(home).check_model(HashEmbedder("1" * 64))


def test_a_changed_corpus_is_refused(built, small_corpus: Path):
    _, _, home, _ = built
    (small_corpus / "app/new.py").write_text("x = 1\n")
    with pytest.raises(StoreError, match="has changed"):
        open_small(home).check_corpus(register(small_corpus, "small", home))


@pytest.mark.parametrize(
    ("constant", "key"),
    [
        ("CHUNKER_VERSION", "chunker_version"),
        ("TOKENIZER_VERSION", "tokenizer_version"),
        ("NAMES_VERSION", "names_version"),
        ("FORMAT_VERSION", "format"),
    ],
)
def test_a_version_from_another_program_is_refused_and_built_again(
    built, monkeypatch: pytest.MonkeyPatch, constant: str, key: str
):
    corpus, embedder, home, version = built
    monkeypatch.setattr(f"rungs.index.{constant}", "another")
    with pytest.raises(StoreError, match=f"has {key} .*, this program another; run: rungs index small$"):
        open_small(home)
    embedder.calls.clear()
    assert build_index(corpus, embedder, home) != version
    assert embedder.calls == [], "what has not changed is not embedded again"
    assert open_small(home).manifest[key] == "another"


def test_an_index_knows_the_names_of_its_corpus(built):
    _, _, home, _ = built
    index = open_small(home)
    symbols = {row.symbol: row for row in index.names.definitions}
    assert {"retry_policy", "Pool", "Pool.acquire", "Pool.limit", "test_doubles"} <= set(symbols)
    assert symbols["Pool.acquire"].module == "app.pool"
    assert symbols["test_doubles"].category == "test"
    known = {node.id_ for node in index.nodes}
    assert all(set(row.ids) <= known and row.ids for row in index.names.definitions)
    assert {"attempts", "acquire", "free"} <= set(index.names.identifiers)


def test_windows_know_no_names(small_corpus: Path, tmp_path: Path):
    corpus = register(small_corpus, "small", tmp_path / "home")
    build_index(corpus, HashEmbedder(), tmp_path / "home", chunking="windows")
    index = Index.open(tmp_path / "home", "small", chunking="windows", model="hash")
    assert (index.names.definitions, index.names.identifiers, index.names.words) == ([], [], [])


def test_a_collection_with_other_rows_than_the_manifest_is_refused(built):
    _, _, home, version = built
    manifest = json.loads((version / "manifest.json").read_text())
    from rungs.index import _manifest_sha256

    manifest["rows"] += 1
    manifest["self"] = _manifest_sha256(manifest)
    (version / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match="rows"):
        _ = open_small(home).store


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_vectors_without_a_cosine_never_get_in(small_corpus: Path, tmp_path: Path, bad: float):
    class Broken(HashEmbedder):
        def encode_passages(self, texts, progress=None):
            vectors = super().encode_passages(texts, progress)
            vectors[0] = bad
            return vectors

    with pytest.raises(StoreError, match="embedding model"):
        build_index(register(small_corpus, "small", tmp_path), Broken(), tmp_path)
    with pytest.raises(StoreError, match="no index"):
        open_small(tmp_path)


def test_a_folder_without_text_is_one_line(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError) as caught:
        build_index(register(tmp_path / "empty", "empty", tmp_path / "home"), HashEmbedder(), tmp_path / "home")
    assert "\n" not in str(caught.value)


def test_old_versions_are_pruned_and_never_modified(built, small_corpus: Path):
    _, embedder, home, first = built
    before = {p.name: p.read_bytes() for p in first.iterdir()}
    for n in range(2, 5):
        (small_corpus / "app/retry.py").write_text(f"def retry_policy():\n    return {n}\n")
        build_index(register(small_corpus, "small", home), embedder, home)
        if n == 2:
            assert {p.name: p.read_bytes() for p in first.iterdir()} == before
    kept = [p for p in first.parent.iterdir() if p.is_dir()]
    assert len(kept) == 2
    assert first not in kept


SEARCH = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_index import open_small, lexical_texts
index = open_small(Path(sys.argv[1]))
print(len(lexical_texts(index, "retry_policy")), flush=True)
if len(sys.argv) > 3:
    sys.stdin.read()
"""


def searcher(home: Path, *extra: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", SEARCH, str(home), str(Path(__file__).parent), *extra],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_two_processes_search_at_once_and_leave_nothing_behind(built):
    _, _, home, _ = built
    first, second = searcher(home, "wait"), searcher(home, "wait")
    assert first.stdout.readline() == second.stdout.readline() != ""
    assert len(list((home / "private").glob("copy-*"))) == 2
    for process in (first, second):
        process.communicate(timeout=60)
    assert list((home / "private").glob("copy-*")) == []


def test_a_killed_process_leaves_a_copy_that_the_next_one_removes(built):
    _, _, home, _ = built
    killed = searcher(home, "wait")
    killed.stdout.readline()
    killed.kill()
    killed.wait()
    assert len(list((home / "private").glob("copy-*"))) == 1
    after = searcher(home)
    assert after.communicate(timeout=60)[0].strip() != "0"
    assert list((home / "private").glob("copy-*")) == []


BUILD = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[3])
import rungs.index as index_module
from rungs.corpus import register
from test_index import HashEmbedder

class Slow(HashEmbedder):
    def encode_passages(self, texts, progress=None):
        out = []
        for text in texts:
            time.sleep(0.01)
            out.append(super().encode_passages([text], progress)[0])
        return __import__("numpy").array(out)

index_module.EMBED_BLOCK = 4
print("ready", flush=True)
build_home = Path(sys.argv[1])
index_module.build_index(register(Path(sys.argv[2]), "small", build_home), Slow(), build_home)
print("done", flush=True)
"""


def test_a_build_killed_at_any_point_leaves_the_previous_version_in_use(built, small_corpus: Path):
    _, embedder, home, first = built
    for n in range(40):
        (small_corpus / f"app/more_{n}.py").write_text(f"def brand_new_{n}():\n    return {n}\n")
    random.seed(7)
    points = [random.uniform(0.0, 3.5) for _ in range(10)]
    finished = 0
    for delay in points:
        process = subprocess.Popen(
            [sys.executable, "-c", BUILD, str(home), str(small_corpus), str(Path(__file__).parent)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stdout.readline().strip() == "ready"
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGKILL)
        finished += "done" in process.communicate()[0]
        index = open_small(home)
        assert any("retry_policy" in t for t in lexical_texts(index, "retry_policy"))
        # either nothing of the new version is visible, or all of it
        new = [n for n in index.nodes if "brand_new" in n.text]
        assert len(new) in (0, 40)
        assert (index.folder == first) == (not new)
    last = build_index(register(small_corpus, "small", home), embedder, home)
    assert sum("brand_new" in n.text for n in open_small(home).nodes) == 40
    assert [p for p in last.parent.iterdir() if p.name.startswith(".building")] == []
    assert finished < len(points), "every build finished before it was killed; the test killed nothing"


def test_a_build_in_progress_makes_a_second_one_say_so(built):
    corpus, embedder, home, version = built
    from filelock import FileLock

    with FileLock(version.parent / ".lock"), pytest.raises(StoreError, match="being built by another process"):
        build_index(corpus, embedder, home)

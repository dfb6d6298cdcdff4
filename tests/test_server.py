"""The dense channel of a real Milvus server. `make test-server` starts one and runs this."""

import os
from pathlib import Path

import numpy as np
import pytest
from test_index import HashEmbedder

from rungs.corpus import register
from rungs.dense import DenseRetriever
from rungs.errors import StoreError
from rungs.funnel import open_channel
from rungs.hits import metadata_filters
from rungs.index import Index, build_index
from rungs.settings import Settings

URI = os.environ.get("RUNGS_TEST_MILVUS", "")
needs_server = pytest.mark.skipif(not URI, reason="needs a Milvus server; run `make test-server`")


def build(small_corpus: Path, home: Path) -> Path:
    return build_index(register(small_corpus, "small", home), HashEmbedder(), home, milvus_uri=URI)


@needs_server
def test_a_server_gives_the_same_hits_as_the_vectors(small_corpus: Path, tmp_path: Path):
    build(small_corpus, tmp_path)
    index = Index.open(tmp_path, "small", model="hash")
    embedder = HashEmbedder()
    hits = DenseRetriever(index.store, embedder, top_k=100)._search(embedder.get_query_embedding("q"))
    expected = np.sort(index.vectors @ np.array(embedder.get_query_embedding("q")))[::-1]
    assert [hit.score for hit in hits] == pytest.approx(expected.tolist(), abs=1e-5)
    assert not (index.folder / "milvus.db").exists()


@needs_server
def test_filters_work_on_a_server(small_corpus: Path, tmp_path: Path):
    build(small_corpus, tmp_path)
    store = Index.open(tmp_path, "small", model="hash").store
    hits = DenseRetriever(store, HashEmbedder(), filters=metadata_filters(["test"]))._search([1.0] + [0.0] * 7)
    assert {hit.node.metadata["category"] for hit in hits} == {"test"}


@needs_server
def test_a_rebuild_replaces_what_is_gone(small_corpus: Path, tmp_path: Path):
    build(small_corpus, tmp_path)
    (small_corpus / "app/pool.py").unlink()
    build(small_corpus, tmp_path)
    index = Index.open(tmp_path, "small", model="hash")
    hits = DenseRetriever(index.store, HashEmbedder(), top_k=100)._search([1.0] + [0.0] * 7)
    assert {hit.node.metadata["path"] for hit in hits}.isdisjoint({"app/pool.py"})
    assert len(hits) == index.manifest["rows"]


@needs_server
def test_a_server_without_the_bm25_function_is_searched_from_memory(small_corpus: Path, tmp_path: Path):
    build(small_corpus, tmp_path)
    index = Index.open(tmp_path, "small", model="hash")
    if index.manifest["lexical"]:
        pytest.skip("this server has the BM25 Function")
    hits = open_channel("bm25", Settings(), index, HashEmbedder()).retrieve("retry_policy")
    assert hits[0].node.metadata["symbol"] == "retry_policy"


def test_a_server_that_is_not_there_is_one_line(small_corpus: Path, tmp_path: Path):
    corpus = register(small_corpus, "small", tmp_path)
    with pytest.raises(StoreError, match="check RAG_MILVUS_URI") as caught:
        build_index(corpus, HashEmbedder(), tmp_path, milvus_uri="http://127.0.0.1:9")
    assert "\n" not in str(caught.value)

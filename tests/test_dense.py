"""Rungs 2 and BM25 on the real index of the real corpus."""

import asyncio

import numpy as np
import pytest

from rungs.dense import DenseRetriever
from rungs.hits import metadata_filters
from rungs.lexical import MilvusBM25Retriever


@pytest.fixture(scope="module")
def index(bench):
    return bench.index()


@pytest.fixture(scope="module")
def dense(index, embedder):
    return lambda **kw: DenseRetriever(index.store, embedder, **kw)


@pytest.fixture(scope="module")
def bm25(index):
    return lambda **kw: MilvusBM25Retriever(index.store, **kw)


def test_scores_are_the_real_cosines(index, dense, embedder):
    query = "how does a task retry"
    rows = {node.id_: row for row, node in enumerate(index.nodes)}
    vector = np.array(embedder.get_query_embedding(query), dtype=np.float32)
    for hit in dense(top_k=20).retrieve(query):
        assert hit.score == hit.node.metadata["scores"]["dense"]
        assert hit.score == pytest.approx(float(index.vectors[rows[hit.node.node_id]] @ vector), abs=1e-4)


def test_nothing_nearer_was_missed(index, dense, embedder):
    query = "where are connections returned to the pool"
    scores = index.vectors @ np.array(embedder.get_query_embedding(query), dtype=np.float32)
    found = [hit.score for hit in dense(top_k=10).retrieve(query)]
    assert found == pytest.approx(sorted(scores.tolist(), reverse=True)[:10], abs=1e-4)


def test_top_k_and_order(dense):
    for k in (1, 8, 100):
        scores = [hit.score for hit in dense(top_k=k).retrieve("celery beat schedule")]
        assert len(scores) == k
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("make", ["dense", "bm25"])
@pytest.mark.parametrize(
    ("filters", "holds"),
    [
        (metadata_filters(["test"]), lambda d: d["category"] == "test"),
        (metadata_filters(["code", "doc"]), lambda d: d["category"] in {"code", "doc"}),
        (
            metadata_filters(path_prefix="kombu/kombu/transport/"),
            lambda d: d["path"].startswith("kombu/kombu/transport/"),
        ),
        (
            metadata_filters(path_prefix="celery/t/unit/app/test_"),
            lambda d: d["path"].startswith("celery/t/unit/app/test_"),
        ),
        (metadata_filters(languages=["rst"]), lambda d: d["language"] == "rst"),
        (metadata_filters(["doc"], "celery/docs/userguide"), lambda d: d["path"].startswith("celery/docs/userguide")),
    ],
)
def test_filters_filter(request, make, filters, holds):
    hits = request.getfixturevalue(make)(top_k=30, filters=filters).retrieve(
        "how is a task retried after a lost connection"
    )
    assert len(hits) == 30
    assert all(holds(hit.node.metadata) for hit in hits)


def test_an_underscore_in_a_path_prefix_means_itself(dense):
    assert dense(filters=metadata_filters(path_prefix="celery_")).retrieve("task") == []


def test_a_quote_or_backslash_in_a_filter_breaks_nothing(dense):
    for prefix in ("it's", 'say "x"', "back\\slash", "'; drop"):
        assert dense(filters=metadata_filters(path_prefix=prefix)).retrieve("task") == []


def test_async_gives_the_same(dense):
    retriever = dense(top_k=5)
    for _ in range(2):  # a second event loop must work as the first did
        hits = asyncio.run(retriever.aretrieve("task retry"))
        assert [h.node.node_id for h in hits] == [h.node.node_id for h in retriever.retrieve("task retry")]


def test_batches_give_the_same_and_share_nothing(dense):
    retriever = dense(top_k=5)
    first, second, third = retriever.retrieve_batch(["task retry", "pool", "task retry"])
    assert [h.node.node_id for h in first] == [h.node.node_id for h in third]
    assert [h.node.node_id for h in second] == [h.node.node_id for h in retriever.retrieve("pool")]
    first[0].node.metadata["path"] = "changed"
    assert third[0].node.metadata["path"] != "changed"


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_an_empty_query_finds_nothing(dense, bm25, query):
    assert dense().retrieve(query) == []
    assert bm25().retrieve(query) == []


def test_bm25_returns_only_real_matches_with_positive_scores(bm25):
    hits = bm25(top_k=40).retrieve("acks_late")
    assert hits
    assert all(hit.score > 0 and "acks_late" in hit.node.get_content() + str(hit.node.metadata) for hit in hits[:5])


def test_bm25_of_words_that_are_nowhere_is_empty(bm25):
    assert bm25().retrieve("zzyzxqqq xylophonically") == []


def test_bm25_scores_follow_the_lucene_formula(index, bm25):
    """Against the formula itself, over the stored terms, k1 = 1.2 and b = 0.75."""
    docs = index.tokens
    lengths = np.array([len(d) for d in docs], dtype=float)
    query = ["acks_late", "prefetch"]
    scores = np.zeros(len(docs))
    for term in query:
        tf = np.array([d.count(term) for d in docs], dtype=float)
        df = (tf > 0).sum()
        idf = np.log(1 + (len(docs) - df + 0.5) / (df + 0.5))
        scores += idf * tf / (tf + 1.2 * (1 - 0.75 + 0.75 * lengths / lengths.mean()))
    rows = {node.id_: row for row, node in enumerate(index.nodes)}
    hits = bm25(top_k=10, tokenize=lambda _: query).retrieve("as given")
    ours = [scores[rows[hit.node.node_id]] for hit in hits]
    assert [hit.score for hit in hits] == pytest.approx(ours, rel=1e-5)
    assert max(ours) == pytest.approx(scores.max(), rel=1e-6)


@pytest.mark.parametrize("top_k", [0, -3])
def test_a_senseless_top_k_is_refused(dense, bm25, top_k):
    for make in (dense, bm25):
        with pytest.raises(ValueError, match="at least 1"):
            make(top_k=top_k)

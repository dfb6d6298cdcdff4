"""BM25 by two engines: the same hits, scores and order, and nothing that a user would have to know of the engine."""

import asyncio
import json
import logging
import math
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import Document, TextNode
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.retrievers.bm25 import BM25Retriever

from rungs.corpus import fetch
from rungs.corpus.chunking import chunk_files
from rungs.dense import DenseRetriever
from rungs.hits import metadata_filters
from rungs.index import _entry, _release, _store
from rungs.lexical import K1, MILVUS_LIMIT, SAME_SCORE, B, MilvusBM25Retriever, best_first
from rungs.lexical_bm25s import BM25sRetriever
from rungs.tokenizer import tokenize

ENGINES = ("bm25s", "milvus")
GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="module")
def milvus(tmp_path_factory: pytest.TempPathFactory):
    """Makes a store over one collection of nodes with terms; all collections lie in one local file."""
    path = tmp_path_factory.mktemp("milvus") / "milvus.db"
    stores = []

    def make(name, nodes, tokens):
        store = _store(str(path), name, 4, lexical=True, overwrite=True)
        rows = [
            _entry(node, np.array([1, 0, 0, 0], dtype=np.float32), " ".join(terms))
            for node, terms in zip(nodes, tokens, strict=True)
        ]
        if rows:
            store.client.insert(name, rows)
        store.client.flush(name)
        stores.append(store)
        return store

    yield make
    for store in stores:
        _release(store, path)


# id, text, metadata; ids in no order, so that ties are not in order by chance
ZOO = [
    ("m1", "retry the task after a lost connection", {"category": "code", "language": "python", "path": "a/retry.py"}),
    (
        "c1",
        "retry retry retry policy of the task",
        {"category": "test", "language": "python", "path": "a/test_retry.py"},
    ),
    ("z1", "close_pool closes every connection", {"category": "code", "language": "python", "path": "ab/pool.py"}),
    ("b1", "a guide to the task queue", {"category": "doc", "language": "rst", "path": "a/docs/guide.rst", "n": 3}),
    ("k1", "task", {"category": "doc", "language": "rst", "path": "a_b/guide.rst", "n": 2.5}),
    ("x1", "task in another corner of the world", {"category": "config", "path": "it's/x.yml", "n": "3"}),
    ("y1", 'task with "quotes"', {"category": "code", "path": 'say "x"/y.py', "my key": "v", "n": True}),
    ("w1", "task on Windows", {"category": "code", "path": "back\\slash\\task.py", "n": 10}),
    ("i1", "görev İade task", {"category": "doc", "path": "ç/ışık.rst", "n": -1}),
    ("empty", "the of and", {"category": "doc", "path": "a/empty.rst"}),
    *[(f"t{n:02d}", "twin of the task runner", {"category": "code", "path": f"t/{n}.py"}) for n in (7, 3, 11, 1, 5, 9)],
    *[
        (f"t{n:02d}", "twin of the task runner", {"category": "test", "path": f"t/{n}.py"})
        for n in (2, 12, 6, 10, 4, 8)
    ],
]
NODES = [TextNode(id_=id_, text=text, metadata=metadata) for id_, text, metadata in ZOO]
TOKENS = [tokenize(node.text) for node in NODES]


@pytest.fixture(scope="module")
def zoo(milvus):
    return milvus("zoo", NODES, TOKENS)


@pytest.fixture(params=ENGINES)
def make(request, zoo):
    """A retriever over the zoo, by either engine."""
    if request.param == "milvus":
        return lambda **kw: MilvusBM25Retriever(zoo, **kw)
    return lambda **kw: BM25sRetriever(NODES, TOKENS, **kw)


def formula(query, tokens, k1=K1, b=B):
    """The formula itself, one number a document."""
    mean = sum(map(len, tokens)) / len(tokens)
    scores = [0.0] * len(tokens)
    for term in set(query):
        df = sum(term in terms for terms in tokens)
        for row, terms in enumerate(tokens):
            tf = terms.count(term)
            idf = math.log(1 + (len(tokens) - df + 0.5) / (df + 0.5))
            scores[row] += idf * tf / (tf + k1 * (1 - b + b * len(terms) / mean)) if tf else 0.0
    return scores


def ids(hits):
    return [hit.node.node_id for hit in hits]


def scores(hits):
    return [hit.score for hit in hits]


# --- scores and order -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "task",
        "retry policy",
        "connection pool",
        "retry the task policy connection close pool guide queue world runner windows",  # a store would drop a fifth
    ],
)
def test_scores_are_lucenes(make, query):
    expected = dict(zip((node.node_id for node in NODES), formula(tokenize(query), TOKENS), strict=True))
    hits = make(top_k=100).retrieve(query)
    assert {hit.node.node_id: hit.score for hit in hits} == pytest.approx(
        {name: score for name, score in expected.items() if score > 0}, rel=1e-5
    )
    assert scores(hits) == sorted(scores(hits), reverse=True)


def test_a_term_said_often_counts_once(make):
    once, often = make(top_k=100).retrieve("retry task"), make(top_k=100).retrieve("task retry Task task retry")
    assert ids(once) == ids(often)
    assert scores(once) == pytest.approx(scores(often), rel=1e-6)


def test_ties_are_ordered_by_node_id_also_where_the_list_is_cut(make):
    twins = [f"t{n:02d}" for n in range(1, 13)]
    whole = ids(make(top_k=100).retrieve("twin"))
    assert whole == twins
    for k in range(1, 14):
        assert ids(make(top_k=k).retrieve("twin")) == twins[:k]


def test_scores_that_differ_by_rounding_only_are_one_score():
    near = 1.0 - SAME_SCORE / 2
    assert best_first([(near, "a", "A"), (1.0, "b", "B")], 2) == [(1.0, "A"), (1.0, "B")]
    assert best_first([(1.0 - 3 * SAME_SCORE, "a", "A"), (1.0, "b", "B")], 2)[0] == (1.0, "B")


def test_many_near_scores_do_not_become_one():
    """Each is within reach of the next; the first and the last are not."""
    chain = [(1.0 - n * SAME_SCORE * 0.6, str(9 - n), n) for n in range(6)]
    assert len({score for score, _ in best_first(chain, 6)}) == 3


@pytest.mark.parametrize("query", ["", "   ", "\n", "how is the", "zzyzx", "?!"])
def test_nothing_found_is_an_empty_list(make, query):
    assert make().retrieve(query) == []


@pytest.mark.parametrize("top_k", [1, 3, len(NODES), len(NODES) + 1, 1000, MILVUS_LIMIT, MILVUS_LIMIT + 10])
def test_only_real_matches_however_many_are_asked_for(make, top_k):
    matching = [id_ for id_, text, _ in ZOO if "task" in tokenize(text)]
    hits = make(top_k=top_k).retrieve("task")
    assert len(hits) == min(top_k, len(matching))
    assert set(ids(hits)) <= set(matching)
    assert all(hit.score > 0 for hit in hits)


@pytest.mark.parametrize("top_k", [0, -3])
def test_a_senseless_top_k_is_refused(make, top_k):
    with pytest.raises(ValueError, match="at least 1"):
        make(top_k=top_k)


def test_turkish_letters_meet(make):
    assert ids(make().retrieve("iade")) == ids(make().retrieve("İADE")) == ["i1"]


# --- both engines, side by side ---------------------------------------------------------------------------------------


def assert_same(one, other):
    assert ids(one) == ids(other)
    assert scores(one) == pytest.approx(scores(other), rel=1e-4)


WORDS = st.sampled_from("retry task pool iade ışık 任务 x_1 a b c d e f g h".split())
# Milvus takes the mean length to be 1 where it is less: half of the chunks would have to be empty
CORPORA = st.lists(st.lists(WORDS, max_size=12), min_size=1, max_size=25).filter(lambda c: sum(map(len, c)) >= len(c))


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(corpus=CORPORA, queries=st.lists(st.lists(WORDS, max_size=12), min_size=1, max_size=8), top_k=st.integers(1, 30))
def test_both_engines_agree_on_small_corpora(milvus, corpus, queries, top_k):
    nodes = [TextNode(id_=f"n{(row * 7) % 26:02d}", text=" ".join(terms)) for row, terms in enumerate(corpus)]
    by_milvus = MilvusBM25Retriever(milvus("small", nodes, corpus), top_k=top_k, tokenize=str.split)
    by_bm25s = BM25sRetriever(nodes, corpus, top_k=top_k, tokenize=str.split)
    for query in queries:
        found = by_bm25s.retrieve(" ".join(query))
        assert_same(found, by_milvus.retrieve(" ".join(query)))
        expected = [score for score in formula(query, corpus) if score > 0]
        assert scores(found) == pytest.approx(sorted(expected, reverse=True)[:top_k], rel=1e-4)


@pytest.fixture(scope="module")
def real(milvus, home):
    """Some hundred chunks of the corpus, with terms that differ from their text."""
    corpus = fetch("celery", home, progress=False)
    files = [file for file in corpus.files if file.path.startswith(("celery/celery/app/", "celery/docs/userguide/"))]
    chunks = chunk_files(files, max_tokens=256, count_tokens=lambda texts: [len(text.split()) for text in texts])[::3]
    nodes, tokens = [chunk.node for chunk in chunks], [tokenize(chunk.lexical_text) for chunk in chunks]
    assert 300 < len(nodes) < 1500
    return tokens, BM25sRetriever(nodes, tokens), milvus("real", nodes, tokens)


FILTERS = st.sampled_from(
    [
        None,
        metadata_filters(["code"]),
        metadata_filters(["doc", "test"], "celery/docs/userguide/c"),
        metadata_filters(path_prefix="celery/celery/app/"),
        metadata_filters(languages=["rst"]),
    ]
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**6), length=st.integers(1, 14), top_k=st.sampled_from([1, 8, 40, 2000]), filters=FILTERS)
def test_both_engines_agree_on_real_chunks(real, seed, length, top_k, filters):
    tokens, by_bm25s, store = real
    rng = random.Random(seed)
    terms = [rng.choice(rng.choice(tokens) or ["task"]) for _ in range(length)]
    by_milvus = MilvusBM25Retriever(store, top_k=top_k, filters=filters, tokenize=str.split)
    by_bm25s.top_k, by_bm25s.filters, by_bm25s.tokenize = top_k, filters, str.split
    assert_same(by_bm25s.retrieve(" ".join(terms)), by_milvus.retrieve(" ".join(terms)))


def test_both_engines_agree_on_the_whole_index(bench):
    index = bench.index()
    by_bm25s = BM25sRetriever(index.nodes, index.tokens, top_k=40)
    by_milvus = MilvusBM25Retriever(index.store, top_k=40)
    questions = [json.loads(line)["q"] for line in (GOLDEN / "celery.smoke.jsonl").open(encoding="utf-8")]
    for question in [*questions, "how is a task retried after a lost connection", "def __init__(self, app=None)"]:
        assert_same(by_bm25s.retrieve(question), by_milvus.retrieve(question))


def test_the_index_says_k1_and_b_itself(zoo):
    described = zoo.client.describe_index("zoo", zoo.sparse_embedding_field)
    assert zoo.sparse_index_config == {"bm25_k1": K1, "bm25_b": B}
    assert (float(described["bm25_k1"]), float(described["bm25_b"])) == (K1, B)


# --- filters ----------------------------------------------------------------------------------------------------------


def one(key, operator, value):
    return MetadataFilters(filters=[MetadataFilter(key=key, operator=operator, value=value)])


def joined(condition, *filters):
    return MetadataFilters(filters=[f for group in filters for f in group.filters], condition=condition)


def nested(condition, *groups):
    return MetadataFilters(filters=list(groups), condition=condition)


def number(d, holds):
    n = d.get("n")
    return isinstance(n, int | float) and not isinstance(n, bool) and holds(n)


CODE, RST = one("category", "==", "code"), one("language", "==", "rst")
KEPT = {
    "in": (metadata_filters(["code"]), lambda d: d["category"] == "code"),
    "in two": (metadata_filters(["code", "doc"]), lambda d: d["category"] in {"code", "doc"}),
    "language": (metadata_filters(languages=["rst"]), lambda d: d.get("language") == "rst"),
    "prefix": (metadata_filters(path_prefix="a/"), lambda d: d["path"].startswith("a/")),
    "prefix _": (metadata_filters(path_prefix="a_"), lambda d: d["path"].startswith("a_")),
    "prefix \\": (metadata_filters(path_prefix="back\\sl"), lambda d: d["path"].startswith("back\\sl")),
    "prefix '": (metadata_filters(path_prefix="it's"), lambda d: d["path"].startswith("it's")),
    'prefix "': (metadata_filters(path_prefix='say "x"'), lambda d: d["path"].startswith('say "x"')),
    "prefix ç": (metadata_filters(path_prefix="ç/ı"), lambda d: d["path"].startswith("ç/ı")),
    "prefix none": (metadata_filters(path_prefix="'; drop"), lambda d: False),
    "and": (metadata_filters(["code", "test"], "t/1"), lambda d: d["path"].startswith("t/1")),
    "==": (CODE, lambda d: d["category"] == "code"),
    "!=": (one("category", "!=", "code"), lambda d: d["category"] != "code"),
    "!= where it may lack": (one("language", "!=", "rst"), lambda d: d.get("language") != "rst"),
    "nin": (one("category", "nin", ["code", "test"]), lambda d: d["category"] not in {"code", "test"}),
    "nin where it may lack": (one("language", "nin", ["rst"]), lambda d: d.get("language") != "rst"),
    "in \\ and '": (one("path", "in", ["back\\slash\\task.py", "it's/x.yml"]), lambda d: d["path"][:2] in {"ba", "it"}),
    "number ==": (one("n", "==", 3), lambda d: number(d, lambda n: n == 3)),
    "number == as float": (one("n", "==", 3.0), lambda d: number(d, lambda n: n == 3)),
    "number as text": (one("n", "==", "3"), lambda d: d.get("n") == "3"),
    "number !=": (one("n", "!=", 3), lambda d: not number(d, lambda n: n == 3)),
    "number >": (one("n", ">", 2), lambda d: number(d, lambda n: n > 2)),
    "number >=": (one("n", ">=", 2.5), lambda d: number(d, lambda n: n >= 2.5)),
    "number <": (one("n", "<", 3), lambda d: number(d, lambda n: n < 3)),
    "number <=": (one("n", "<=", -1), lambda d: number(d, lambda n: n <= -1)),
    "number in": (one("n", "in", [3, 10]), lambda d: number(d, lambda n: n in {3, 10})),
    "text >": (one("n", ">", "2"), lambda d: d.get("n") == "3"),
    "true is no 1": (one("n", "==", 1), lambda d: False),
    "a key with a space": (one("my key", "==", "v"), lambda d: d.get("my key") == "v"),
    "no such key": (one("nowhere", "==", "v"), lambda d: False),
    "or": (joined("or", CODE, RST), lambda d: d["category"] == "code" or d.get("language") == "rst"),
    "nested or in and": (
        nested("and", one("n", ">", 0), joined("or", one("path", "<", "b"), one("category", "==", "doc"))),
        lambda d: number(d, lambda n: n > 0) and (d["path"] < "b" or d["category"] == "doc"),
    ),
    "nested and in or": (
        nested("or", joined("and", CODE, one("n", "==", 10)), nested("and", RST)),
        lambda d: (d["category"] == "code" and d.get("n") == 10) or d.get("language") == "rst",
    ),
    "none at all": (MetadataFilters(filters=[]), lambda d: True),
}


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("top_k", [1, 4, 100])
def test_filters_come_before_the_cut(make, name, top_k):
    """As if everything had been found first, and what does not match struck out."""
    filters, holds = KEPT[name]
    everything = make(top_k=100).retrieve("task connection")
    expected = [hit for hit in everything if holds(hit.node.metadata)][:top_k]
    assert_same(make(top_k=top_k, filters=filters).retrieve("task connection"), expected)


def test_the_cases_above_tell_something():
    """Nearly every filter keeps some of the matching nodes and strikes out others."""
    matching = [metadata for _, text, metadata in ZOO if {"task", "connection"} & set(tokenize(text))]
    kept = {name: sum(holds(data) for data in matching) for name, (_, holds) in KEPT.items()}
    telling = [name for name, count in kept.items() if 0 < count < len(matching)]
    assert set(kept) - set(telling) == {"prefix none", "true is no 1", "no such key", "none at all"}


REFUSED = {
    "not": MetadataFilters(filters=CODE.filters, condition=FilterCondition.NOT),
    "no condition": MetadataFilters(filters=CODE.filters, condition=None),
    "not, nested": nested("and", CODE, MetadataFilters(filters=RST.filters, condition=FilterCondition.NOT)),
    "an empty group": nested("or", CODE, MetadataFilters(filters=[])),
    "no value": one("category", "==", None),
    "an empty list": one("category", "in", []),
    "in without a list": one("category", "in", "code"),
    "== with a list": one("category", "==", ["code"]),
    **{
        operator.value: one("category", operator, value)
        for operator, value in [
            (FilterOperator.ANY, ["code"]),
            (FilterOperator.ALL, ["code"]),
            (FilterOperator.CONTAINS, "code"),
            (FilterOperator.TEXT_MATCH, "code"),
            (FilterOperator.TEXT_MATCH_INSENSITIVE, "code"),
            (FilterOperator.IS_EMPTY, None),
        ]
    },
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_filter_that_cannot_be_kept_to_is_an_error(make, name):
    with pytest.raises(ValueError, match="filter") as caught:
        make(filters=REFUSED[name])
    assert "\n" not in str(caught.value)


def test_every_operator_is_kept_to_or_refused():
    def operators(filters):
        for f in filters.filters:
            yield from operators(f) if isinstance(f, MetadataFilters) else [f.operator]

    known = [filters for filters, _ in KEPT.values()] + list(REFUSED.values())
    assert {operator for filters in known for operator in operators(filters)} == set(FilterOperator)


def test_a_text_of_several_lines_cannot_be_asked_of_milvus(zoo):
    with pytest.raises(ValueError, match="several lines"):
        MilvusBM25Retriever(zoo, filters=one("path", "==", "a\nb")).retrieve("task")


def test_dense_reads_a_backslash_in_a_prefix_as_itself(zoo):
    dense = DenseRetriever(zoo, MockEmbedding(embed_dim=4), filters=metadata_filters(path_prefix="back\\sl"))
    assert ids(dense.retrieve("task")) == ["w1"]


# --- hits -------------------------------------------------------------------------------------------------------------


def test_hits_are_copies_with_their_own_scores(make):
    before = [node.model_dump() for node in NODES]
    retriever = make(top_k=3)
    first = retriever.retrieve("retry policy")
    for hit in first:
        assert hit.node.metadata["scores"] == {"bm25": hit.score}
        assert "scores" in hit.node.excluded_llm_metadata_keys
        hit.node.metadata["path"] = "changed"
        hit.node.metadata["scores"]["bm25"] = -1.0
        hit.score = -1.0
    second = retriever.retrieve("retry policy")
    assert all(hit.score > 0 and hit.node.metadata["path"] != "changed" for hit in second)
    assert [node.model_dump() for node in NODES] == before


def test_hits_are_the_nodes_themselves(make):
    known = {node.node_id: node for node in NODES}
    for hit in make(top_k=100).retrieve("task"):
        node = known[hit.node.node_id]
        assert (hit.node.get_content(), type(hit.node)) == (node.text, TextNode)
        assert {key: value for key, value in hit.node.metadata.items() if key != "scores"} == node.metadata


def test_async_gives_the_same(make):
    retriever = make(top_k=5)
    for _ in range(2):  # a second event loop must work as the first did
        assert_same(asyncio.run(retriever.aretrieve("task retry")), retriever.retrieve("task retry"))


# --- nothing to search ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("texts", [[], ["the of and"], ["how", "", "?!", "with the"]])
def test_a_corpus_without_terms_finds_nothing(milvus, tmp_path, texts):
    nodes = [TextNode(id_=str(n), text=text) for n, text in enumerate(texts)]
    tokens = [tokenize(text) for text in texts]
    assert not any(tokens)
    retriever = BM25sRetriever(nodes)
    retriever.persist(tmp_path)
    for one_of in (retriever, BM25sRetriever.from_persist_dir(tmp_path), BM25sRetriever(nodes, tokens)):
        for query in ("task", "the", ""):
            assert one_of.retrieve(query) == []
        one_of.filters = metadata_filters(["code"])
        assert one_of.retrieve("task") == []
    store = milvus("nothing", nodes, tokens)
    assert MilvusBM25Retriever(store).retrieve("task") == []
    assert MilvusBM25Retriever(store, filters=metadata_filters(["code"])).retrieve("task") == []


def test_an_empty_collection_that_is_filled_later_is_searched(milvus):
    retriever = MilvusBM25Retriever(milvus("later", [], []))
    assert retriever.retrieve("task") == []
    retriever.vector_store.client.insert("later", [_entry(NODES[4], np.zeros(4, dtype=np.float32) + 1, "task")])
    retriever.vector_store.client.flush("later")
    assert ids(retriever.retrieve("task")) == ["k1"]


# --- the class without Milvus -----------------------------------------------------------------------------------------


def test_it_is_a_llama_index_bm25_retriever():
    assert isinstance(BM25sRetriever(NODES), BM25Retriever)


def test_without_terms_the_text_is_split_and_not_the_metadata():
    node = TextNode(id_="a", text="def retryPolicy(): ...", metadata={"path": "secret/place.py"})
    retriever = BM25sRetriever([node, *NODES])
    assert ids(retriever.retrieve("policy")) == ["a", "c1"]
    assert retriever.retrieve("secret") == []


def test_terms_may_differ_from_the_text():
    nodes = [TextNode(id_="a", text="x = 1"), TextNode(id_="b", text="y = 2")]
    retriever = BM25sRetriever(nodes, [["retry", "x"], ["pool", "y"]])
    assert [(hit.node.node_id, hit.node.text) for hit in retriever.retrieve("retry")] == [("a", "x = 1")]


@pytest.mark.parametrize("tokens", [[], TOKENS[:-1], [*TOKENS, ["task"]]])
def test_terms_of_other_nodes_are_refused(tokens):
    with pytest.raises(ValueError, match="nodes, but the terms of"):
        BM25sRetriever(NODES, tokens)


def test_one_index_serves_several_retrievers():
    first = BM25sRetriever(NODES, TOKENS)
    second = BM25sRetriever(NODES, top_k=2, filters=metadata_filters(["test"]), existing_bm25=first.bm25)
    assert ids(second.retrieve("twin")) == ["t02", "t04"]
    assert len(first.retrieve("twin")) == 8


def test_settings_may_be_assigned_later():
    retriever = BM25sRetriever(NODES, TOKENS)
    retriever.top_k = 2
    assert len(retriever.retrieve("twin")) == retriever.similarity_top_k == 2
    retriever.filters = metadata_filters(["test"])
    assert ids(retriever.retrieve("twin")) == ["t02", "t04"]
    with pytest.raises(ValueError, match="joined"):
        retriever.filters = REFUSED["not"]
    retriever.filters = None
    assert ids(retriever.retrieve("twin")) == ["t01", "t02"]


@pytest.mark.parametrize("setting", [{"k1": -1}, {"k1": float("nan")}, {"k1": float("inf")}, {"b": 5}, {"b": -0.1}])
def test_weights_that_are_none_are_refused(setting):
    with pytest.raises(ValueError, match=r"k1 must be at least 0, b between 0 and 1"):
        BM25sRetriever(NODES, TOKENS, **setting)


def test_top_k_is_checked_when_it_is_set_later():
    retriever = BM25sRetriever(NODES, TOKENS)
    with pytest.raises(ValueError, match="top_k is 0"):
        retriever.top_k = 0


def test_k1_and_b_are_those_of_the_formula():
    for k1, b in ((0.5, 0.1), (2.0, 1.0)):
        hits = BM25sRetriever(NODES, TOKENS, top_k=100, k1=k1, b=b).retrieve("retry task")
        expected = sorted((s for s in formula(["retry", "task"], TOKENS, k1, b) if s > 0), reverse=True)
        assert scores(hits) == pytest.approx(expected, rel=1e-5)


def test_from_defaults_takes_nodes_or_a_docstore():
    from llama_index.core.storage.docstore import SimpleDocumentStore

    store = SimpleDocumentStore()
    store.add_documents(NODES)
    for retriever in (BM25sRetriever.from_defaults(nodes=NODES), BM25sRetriever.from_defaults(docstore=store, top_k=8)):
        assert ids(retriever.retrieve("twin")) == [f"t{n:02d}" for n in range(1, 9)]
    with pytest.raises(ValueError, match="exactly one"):
        BM25sRetriever.from_defaults()
    with pytest.raises(TypeError):
        BM25sRetriever.from_defaults(nodes=NODES, stemmer=None)  # what has no effect is not taken


def test_a_small_corpus_logs_nothing(caplog):
    with caplog.at_level(logging.WARNING):
        BM25sRetriever(NODES[:2], top_k=50).retrieve("task")
    assert caplog.records == []


# --- persist ----------------------------------------------------------------------------------------------------------


def words(text):
    return text.split()


@pytest.fixture
def kept(tmp_path: Path):
    """A retriever whose every setting differs from the default, and the folder it was persisted to."""
    nodes = [
        TextNode(
            id_="a", text="x = 1 # İ 任务", metadata={"n": 1}, excluded_llm_metadata_keys=["n"], embedding=[0.5, 1.0]
        ),
        Document(id_="b", text="line one\nline two\u2028three", metadata={"n": 2, "deep": {"list": [1, None, "é"]}}),
        *NODES,
    ]
    tokens = [["retry", "x"], ["retry", "pool"], *TOKENS]
    retriever = BM25sRetriever(nodes, tokens, top_k=17, filters=KEPT["nested and in or"][0], k1=0.9, b=0.4)
    retriever.persist(tmp_path / "kept")
    return retriever, tmp_path / "kept"


def test_everything_comes_back(kept):
    before, folder = kept
    after = BM25sRetriever.from_persist_dir(folder)
    assert (after.top_k, after.bm25.k1, after.bm25.b, after.bm25.method) == (17, 0.9, 0.4, "lucene")
    assert after.filters == before.filters
    assert after.tokenize is tokenize
    assert [(type(node), node.model_dump()) for node in after.nodes] == [
        (type(node), node.model_dump()) for node in before.nodes
    ]
    for filters in (before.filters, None, one("n", ">", 0)):
        before.filters = after.filters = filters
        for query in ("retry", "task pool", "nowhere", ""):
            assert scores(before.retrieve(query)) == scores(after.retrieve(query))
            assert ids(before.retrieve(query)) == ids(after.retrieve(query))


def test_another_process_finds_the_same(kept):
    before, folder = kept
    code = f"""
from rungs.lexical_bm25s import BM25sRetriever
hits = BM25sRetriever.from_persist_dir({str(folder)!r}).retrieve("task pool")
print([(hit.node.node_id, hit.score) for hit in hits])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert before.retrieve("task pool")
    assert done.stdout.strip() == str([(hit.node.node_id, hit.score) for hit in before.retrieve("task pool")])


def test_the_same_retriever_is_written_as_the_same_bytes(kept, tmp_path):
    before, folder = kept
    before.persist(tmp_path / "again")
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == {
        p.name: p.read_bytes() for p in (tmp_path / "again").iterdir()
    }


def test_persisting_again_replaces_what_was_there(kept):
    _, folder = kept
    BM25sRetriever(NODES[:3]).persist(folder)
    assert len(BM25sRetriever.from_persist_dir(folder).nodes) == 3


def test_a_folder_of_another_tokenizer_version_is_refused(kept, monkeypatch):
    monkeypatch.setattr("rungs.lexical_bm25s.TOKENIZER_VERSION", "another")
    with pytest.raises(ValueError, match="tokenizer") as caught:
        BM25sRetriever.from_persist_dir(kept[1])
    assert "\n" not in str(caught.value)


def test_a_tokenizer_of_ones_own_is_asked_for_by_name(kept, tmp_path):
    BM25sRetriever(NODES, tokenize=words).persist(tmp_path / "own")
    with pytest.raises(ValueError, match=r"test_lexical\.words"):
        BM25sRetriever.from_persist_dir(tmp_path / "own")
    with pytest.raises(ValueError, match=r"test_lexical\.words"):
        BM25sRetriever.from_persist_dir(kept[1], tokenize=words)
    assert ids(BM25sRetriever.from_persist_dir(tmp_path / "own", tokenize=words).retrieve("close_pool")) == ["z1"]


FILES = ["retriever.json", "nodes.jsonl", "data.csc.index.npy", "indices.csc.index.npy", "indptr.csc.index.npy"]
FILES += ["vocab.index.json", "params.index.json"]


def test_the_files_are_these(kept):
    assert sorted(p.name for p in kept[1].iterdir()) == sorted(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_folder_is_one_clear_error(kept, name):
    path = kept[1] / name
    whole = path.read_bytes()
    for data in (
        *(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in (0, len(whole) // 2, len(whole) - 2)),
        whole[:-2],
        b"",
        None,
    ):
        path.unlink() if data is None else path.write_bytes(data)
        with pytest.raises(ValueError, match="damaged") as caught:
            BM25sRetriever.from_persist_dir(kept[1])
        assert "\n" not in str(caught.value)
        assert name in str(caught.value)


def test_a_folder_that_holds_nothing_is_one_clear_error(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ValueError, match="missing or damaged"):
            BM25sRetriever.from_persist_dir(folder)


def test_nothing_pickled_is_ever_loaded(kept):
    """An array of objects with a right checksum: someone made it on purpose."""
    from rungs import lexical_bm25s

    _, folder = kept

    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("it was unpickled",))

    np.save(folder / "data.csc.index.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    kept_settings = json.loads((folder / "retriever.json").read_text())
    kept_settings["files"]["data.csc.index.npy"] = lexical_bm25s._sha256((folder / "data.csc.index.npy").read_bytes())
    kept_settings["self"] = lexical_bm25s._sha256_of(kept_settings)
    (folder / "retriever.json").write_text(json.dumps(kept_settings))
    with pytest.raises(ValueError, match="allow_pickle"):
        BM25sRetriever.from_persist_dir(folder)


# --- imports ----------------------------------------------------------------------------------------------------------


def test_a_milvus_user_loads_no_bm25s():
    code = """
import sys
import rungs.lexical
assert not {"bm25s", "Stemmer", "llama_index.retrievers.bm25", "pymilvus"} & set(sys.modules), "loaded too early"
from rungs.lexical import BM25sRetriever
assert "bm25s" in sys.modules
try:
    rungs.lexical.nothing_of_the_kind
except AttributeError:
    print("ok")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "ok", done.stderr[-1000:]


def test_words_of_the_zoo_are_as_the_tests_think():
    assert Counter(term for terms in TOKENS for term in terms)["twin"] == 12
    assert TOKENS[[node.node_id for node in NODES].index("empty")] == []

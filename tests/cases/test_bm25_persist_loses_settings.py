"""I save the index, load it in the service, and words that were found before are not found any more."""

from pathlib import Path

import pytest
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from rungs.hits import metadata_filters
from rungs.lexical import BM25sRetriever

NODES = [
    TextNode(id_="a", text="x running", metadata={"category": "code"}),
    TextNode(id_="b", text="y standing", metadata={"category": "doc"}),
]


@pytest.fixture
def stock(tmp_path: Path):
    before = BM25Retriever(nodes=NODES, skip_stemming=True, token_pattern=r"\w+", language="german", similarity_top_k=1)
    before.persist(str(tmp_path / "stock"))
    return before, BM25Retriever.from_persist_dir(str(tmp_path / "stock"))


@pytest.mark.parametrize("query", ["running", "x"])
def test_stock_splits_the_query_otherwise_after_loading(still, stock, query):
    before, after = stock
    assert before.retrieve(query)[0].score > 0
    still(after.retrieve(query)[0].score == 0.0, "BM25Retriever.persist keeps how text is split")


@pytest.mark.parametrize("setting", ["skip_stemming", "token_pattern"])
def test_stock_forgets(still, stock, setting):
    before, after = stock
    still(getattr(after, setting) != getattr(before, setting), f"BM25Retriever.persist keeps {setting}")


def test_stock_forgets_its_stemmer(still, tmp_path: Path):
    import Stemmer

    words = [TextNode(id_="a", text="Häuser"), TextNode(id_="b", text="Garten")]
    before = BM25Retriever(nodes=words, stemmer=Stemmer.Stemmer("german"), language="german", similarity_top_k=1)
    before.persist(str(tmp_path))
    after = BM25Retriever.from_persist_dir(str(tmp_path))
    assert before.retrieve("Hauses")[0].score > 0 or before.retrieve("Häuser")[0].score > 0
    still(after.retrieve("Häuser")[0].score == 0.0, "BM25Retriever.persist keeps its stemmer")


def test_ours_finds_the_same_before_and_after(tmp_path: Path):
    before = BM25sRetriever(NODES, top_k=1, filters=metadata_filters(["code"]), tokenize=str.split, k1=0.9, b=0.1)
    before.persist(tmp_path)
    after = BM25sRetriever.from_persist_dir(tmp_path, tokenize=str.split)
    for query in ("running", "x", "x running", "standing"):
        found = [[(hit.node.node_id, hit.score) for hit in one.retrieve(query)] for one in (before, after)]
        assert found[0] == found[1]
        assert bool(found[0]) == (query != "standing")


def test_ours_refuses_to_split_the_query_otherwise(tmp_path: Path):
    BM25sRetriever(NODES, tokenize=str.split).persist(tmp_path)
    with pytest.raises(ValueError, match="tokenizer"):
        BM25sRetriever.from_persist_dir(tmp_path)

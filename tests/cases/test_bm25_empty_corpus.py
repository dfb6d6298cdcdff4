"""The first upload is an empty file, and building the index raises."""

import pytest
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from rungs.lexical import BM25sRetriever

CORPORA = {"no nodes": [], "an empty text": [""], "only stop words": ["the", "of and the"], "only signs": ["---", "!"]}


@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_stock_raises(still, name):
    nodes = [TextNode(text=text) for text in CORPORA[name]]
    try:
        BM25Retriever(nodes=nodes).retrieve("retry")
        raised = False
    except Exception:  # of what kind depends on where it breaks
        raised = True
    still(raised, f"BM25Retriever can be made over {name}")


@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.filterwarnings("error")
def test_ours_finds_nothing(name, tmp_path):
    ours = BM25sRetriever([TextNode(text=text) for text in CORPORA[name]])
    assert ours.retrieve("retry") == []
    ours.persist(tmp_path)
    assert BM25sRetriever.from_persist_dir(tmp_path).retrieve("retry") == []

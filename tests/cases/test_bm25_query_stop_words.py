"""My documents are not in English, and searching for one of their everyday words finds nothing."""

from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from rungs.lexical import BM25sRetriever

NODES = [TextNode(id_="order", text="sipariş no ve tarih"), TextNode(id_="other", text="fatura adres")]


def test_stock_drops_english_words_from_a_query_in_any_language(still):
    stock = BM25Retriever(nodes=NODES, language="turkish", skip_stemming=True, similarity_top_k=1)
    assert "no" in stock.bm25.vocab_dict
    still(stock.retrieve("no")[0].score == 0.0, "BM25Retriever uses its language for the query as well")


def test_ours_splits_query_and_documents_by_one_function():
    assert [hit.node.node_id for hit in BM25sRetriever(NODES).retrieve("no")] == ["order"]
    whole_words = BM25sRetriever(NODES, tokenize=str.split)
    assert [hit.node.node_id for hit in whole_words.retrieve("no")] == ["order"]

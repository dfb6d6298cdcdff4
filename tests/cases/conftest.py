"""Public defects of the libraries underneath, one file each: first the library as it is, then what is done about it here."""

from collections.abc import Callable

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode


@pytest.fixture
def still() -> Callable[[bool, str], None]:
    """Asserts that a defect is still there; where it is not, says what has become of it and what to do."""

    def check(defect: bool, mended: str) -> None:
        assert defect, (
            f"mended upstream: {mended}. Say so where the docs name this defect, and drop this half of the case."
        )

    return check


class Fixed(BaseRetriever):
    """Always the same hits, the same objects every time, as a retriever that caches would give."""

    def __init__(self, hits: list[NodeWithScore]) -> None:
        super().__init__()
        self.hits = hits

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return list(self.hits)


def hits(*names: str, texts: dict[str, str] | None = None) -> list[NodeWithScore]:
    """Hits by id, best first, of distinct scores."""
    return [
        NodeWithScore(node=TextNode(id_=name, text=(texts or {}).get(name, f"text of {name}")), score=1.0 - rank / 10)
        for rank, name in enumerate(names)
    ]


@pytest.fixture
def fused():
    """LlamaIndex's own fusion of fixed lists, by reciprocal rank and with a model that is never asked."""
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever

    def fuse(*lists: list[NodeWithScore], **settings: object) -> list[NodeWithScore]:
        retriever = QueryFusionRetriever(
            [Fixed(one) for one in lists],
            **{
                "llm": MockLLM(),
                "mode": "reciprocal_rerank",
                "num_queries": 1,
                "use_async": False,
                "similarity_top_k": 10,
                **settings,
            },
        )
        return retriever.retrieve("anything")

    return fuse


@pytest.fixture(name="hits")
def _hits() -> Callable[..., list[NodeWithScore]]:
    return hits


@pytest.fixture
def fixed() -> type[Fixed]:
    return Fixed

"""Rung 1, for scale: what a patient person with ``grep`` would find.

Counts how many of the question's words stand in each chunk, without weighing rare words above common ones. It is the
floor that everything above it must beat, and on a bare name it is hard to beat.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle

from rungs.hits import make_hit
from rungs.tokenizer import tokenize as code_tokens

__all__ = ["TermCountRetriever"]


class TermCountRetriever(BaseRetriever):
    """Chunks by the number of distinct query words they contain, then by how often they occur.

    Parameters
    ----------
    nodes
        What is searched.
    top_k
        How many hits to return at most.
    tokenize
        How chunks and queries are split into words.
    """

    def __init__(
        self, nodes: Sequence[BaseNode], *, top_k: int = 8, tokenize: Callable[[str], list[str]] = code_tokens
    ) -> None:
        if top_k < 1:
            raise ValueError(f"top_k is {top_k}; it must be at least 1")
        super().__init__()
        self.nodes = nodes
        self.top_k = top_k
        self.tokenize = tokenize
        self._postings: dict[str, dict[int, int]] = defaultdict(dict)
        for row, node in enumerate(nodes):
            for word in tokenize(node.get_content()):
                self._postings[word][row] = self._postings[word].get(row, 0) + 1

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        distinct: dict[int, int] = defaultdict(int)
        total: dict[int, int] = defaultdict(int)
        for word in dict.fromkeys(self.tokenize(query_bundle.query_str)):
            for row, count in self._postings.get(word, {}).items():
                distinct[row] += 1
                total[row] += count
        best = sorted(distinct, key=lambda row: (-distinct[row], -total[row], row))[: self.top_k]
        # One number that orders as the pair does: whole words first, occurrences as the fraction.
        return [make_hit(self.nodes[row], "grep", distinct[row] + total[row] / (1 + total[row])) for row in best]

"""Solutions to the exercises of `03_lexical_and_routing.ipynb`.

Run them with ``python notebooks/solutions/03_lexical_and_routing.py``; the tests do.
"""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from Stemmer import Stemmer

from rungs import BM25sRetriever, Workbench, compare, evaluate, evaluate_all
from rungs.fusion import FusionRetriever
from rungs.ladder import climb
from rungs.measure import Golden
from rungs.measure.compare import Difference
from rungs.measure.evaluate import DEPTH
from rungs.measure.shared import Memo
from rungs.tokenizer import tokenize


def both_channels(bench: Workbench) -> dict[str, BaseRetriever]:
    """Dense and BM25, each of which remembers its answers."""
    return {name: Memo(bench.funnel(search_mode=name, top_k=DEPTH)) for name in ("dense", "bm25")}


def exercise_1(bench: Workbench, golden: Golden) -> dict[str, Difference]:
    """What stemming English words changes in recall@8, by BM25 alone and by the fusion of it with dense.

    BM25 alone finds a little more, since "retries" meets "retry"; that is readable, but only just. The fusion had those from
    dense already.
    """
    stemmer = Stemmer("english")

    def stemmed(terms: Sequence[str]) -> list[str]:
        return [
            stemmer.stemWord(term) if term.isascii() and term.isalpha() and len(term) > 3 else term for term in terms
        ]

    index, dense = bench.index(), bench.funnel(search_mode="dense", top_k=DEPTH)
    engines = {
        "plain": BM25sRetriever(index.nodes, index.tokens, top_k=DEPTH),
        "stemmed": BM25sRetriever(
            index.nodes,
            [stemmed(terms) for terms in index.tokens],
            top_k=DEPTH,
            tokenize=lambda text: stemmed(tokenize(text)),
        ),
    }
    rows: dict[str, BaseRetriever] = {f"bm25 {name}": engine for name, engine in engines.items()}
    rows |= {
        f"hybrid {name}": FusionRetriever({"dense": dense, "bm25": engine}, top_k=DEPTH, k=10)
        for name, engine in engines.items()
    }
    reports = evaluate_all(rows, golden, latency=False, progress=False)
    pairs = {row: {how: reports[f"{row} {how}"] for how in engines} for row in ("bm25", "hybrid")}
    return {row: compare(pair, metrics=["recall@8"]).differences[0] for row, pair in pairs.items()}


def exercise_2(bench: Workbench, golden: Golden) -> tuple[float, float, int]:
    """MRR of a perfect choice between the two lists, MRR of ``auto``, and on how many questions ``auto`` is above it.

    A choice gives one of two lists as it is. A fusion can put first what neither list had first, and definitions come from
    neither: so even a perfect choice is no ceiling.
    """
    reports = climb(bench, golden, progress=False).reports
    dense, bm25, auto = (
        np.array([case["metrics"]["mrr"] for case in reports[name].cases if case["expect"]])
        for name in ("dense", "bm25", "auto")
    )
    perfect = np.maximum(dense, bm25)
    return float(perfect.mean()), float(auto.mean()), int((auto > perfect).sum())


def take_turns(lists: Mapping[str, Sequence[NodeWithScore]]) -> list[NodeWithScore]:
    """The first of each list, then the second of each, every node once; scored by the rank it ends at."""
    in_turn = [hit for row in zip_longest(*lists.values()) for hit in row if hit is not None]
    once = {hit.node.node_id: hit for hit in reversed(in_turn)}  # of a node that both hold, the earlier hit
    order = dict.fromkeys(hit.node.node_id for hit in in_turn)
    return [NodeWithScore(node=once[name].node, score=1 / rank) for rank, name in enumerate(order, start=1)]


class TakingTurns(BaseRetriever):
    """Merges two retrievers by taking turns."""

    def __init__(self, retrievers: Mapping[str, BaseRetriever], top_k: int = DEPTH) -> None:
        super().__init__()
        self.retrievers = dict(retrievers)
        self.top_k = top_k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return take_turns({name: r.retrieve(query_bundle) for name, r in self.retrievers.items()})[: self.top_k]


def exercise_3(bench: Workbench, golden: Golden) -> dict[str, float]:
    """How many of its first eight taking turns shares with the fusion at k = 1 and at k = 60, on average.

    Nearer to k = 1: where being first counts nearly twice as much as being second, agreement seldom overturns the order of
    either list. At k = 60 what is in both lists comes before nearly everything that is in one.
    """
    turns = evaluate(TakingTurns(both_channels(bench)), golden, latency=False, progress=False)
    reports = climb(bench, golden, progress=False).reports
    shared = {}
    for name in ("hybrid k=1", "hybrid k=60"):
        pairs = zip(turns.cases, reports[name].cases, strict=True)
        shared[name] = float(np.mean([len(_first_eight(a) & _first_eight(b)) for a, b in pairs]))
    return shared


def _first_eight(case: Mapping[str, list[dict[str, str]]]) -> set[str]:
    return {hit["id"] for hit in case["hits"][:8]}


if __name__ == "__main__":
    from rungs import Settings, load_golden

    bench = Workbench(Settings())
    golden = load_golden(Path(__file__).parents[2] / "golden" / "celery.jsonl", bench.corpus)
    for solve in (exercise_1, exercise_2, exercise_3):
        print(f"{solve.__name__}: {solve(bench, golden)}")

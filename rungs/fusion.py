"""Rung 3, second half: Reciprocal Rank Fusion. Several ranked lists become one, by rank alone.

Adds to the channels: agreement. A chunk that two ways of searching both put near the top rises above what only one of
them likes. Scores of different channels have no common unit; ranks have none at all, so ranks can be added:
``rrf(d) = Σ weight / (k + rank of d)`` over the lists that hold d, ranks from 1.

Does not fix: a channel that has no opinion. A list of coincidences gets a full vote, and a large ``k`` lets its middle
outvote another list's first place. Whether that helps or hurts is to be measured, question by question.

Source of the method: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank
learning methods" (SIGIR 2009).
"""

import asyncio
import math
from collections.abc import Mapping, Sequence

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from rungs.hits import scores_of

__all__ = ["FusionRetriever", "contribution", "reciprocal_rank_fusion", "relative_score_fusion"]

K = 60
"""The constant of the original paper, which suits lists that are all competent."""


def contribution(rank: int, k: float = K, weight: float = 1.0) -> float:
    """What one list adds to a document at ``rank``, from 1.

    Examples
    --------
    >>> round(contribution(1), 6), round(contribution(5), 6)
    (0.016393, 0.015385)
    """
    if rank < 1:
        raise ValueError(f"rank is {rank}; ranks count from 1")
    return weight / (k + rank)


def reciprocal_rank_fusion(
    lists: Mapping[str, Sequence[NodeWithScore]], *, k: float = K, weights: Mapping[str, float] | None = None
) -> list[NodeWithScore]:
    """Fuse ranked lists by rank.

    Parameters
    ----------
    lists
        By channel, each best first. Documents are told apart by node id; of one that a list holds twice, the better
        rank counts.
    k
        At least 0. The larger, the more agreement matters beside being first.
    weights
        By channel, at least 0; 1 where not given. A list of weight 0 adds nothing, and documents that only it holds are
        left out.

    Returns
    -------
    list of NodeWithScore
        Every document once, the largest sum first; equal sums by the best rank in a list that has a say, then by node id.
        Copies: each hit's ``metadata["scores"]`` holds every channel's score of it and ``rrf``, ``metadata["ranks"]`` its
        rank in every list that holds it.

    Raises
    ------
    ValueError
        For a negative or non-finite ``k`` or weight, or a weight of an unknown channel.

    Examples
    --------
    >>> from llama_index.core.schema import TextNode
    >>> hits = lambda names: [NodeWithScore(node=TextNode(id_=n, text=n), score=1.0) for n in names]
    >>> fused = reciprocal_rank_fusion({"bm25": hits("ABC"), "dense": hits("CAB")})
    >>> [(hit.node.node_id, round(hit.score, 6)) for hit in fused]
    [('A', 0.032522), ('C', 0.032266), ('B', 0.032002)]
    """
    if not (math.isfinite(k) and k >= 0):
        raise ValueError(f"k is {k}; give a number of at least 0")
    weight = _weights(lists, weights)
    sums: dict[str, list[float]] = {}
    ranks: dict[str, dict[str, int]] = {}
    for channel, hits in lists.items():
        for rank, name in enumerate(_ids(hits), start=1):
            if name in ranks and channel in ranks[name]:
                continue
            ranks.setdefault(name, {})[channel] = rank
            sums.setdefault(name, []).append(contribution(rank, k, weight[channel]))
    # fsum: the order of the channels must not decide a tie by rounding
    totals = {name: math.fsum(parts) for name, parts in sums.items() if math.fsum(parts) > 0}
    return _merged(lists, totals, ranks, weight, "rrf")


def relative_score_fusion(
    lists: Mapping[str, Sequence[NodeWithScore]], *, weights: Mapping[str, float] | None = None
) -> list[NodeWithScore]:
    """Fuse ranked lists by score, each list's scores stretched to lie between 0 and 1.

    Kept to show why normalising is fragile: the best of a list becomes 1 and the worst 0 whatever they were, so one more
    candidate at the bottom, or a list in which nothing fits, changes what everything else is worth.

    Parameters and returned hits are those of `reciprocal_rank_fusion`, the score under ``relative``. A document that is
    last in the only list that holds it has a sum of 0 and is kept.

    Source: "relative score fusion" as in Weaviate's and LlamaIndex's hybrid search.

    Raises
    ------
    ValueError
        For a hit without a finite score, or a wrong weight.
    """
    weight = _weights(lists, weights)
    sums: dict[str, list[float]] = {}
    ranks: dict[str, dict[str, int]] = {}
    for channel, hits in lists.items():
        scores = [_finite(hit, channel) for hit in hits]
        low, high = min(scores, default=0.0), max(scores, default=0.0)
        for rank, (name, score) in enumerate(zip(_ids(hits), scores, strict=True), start=1):
            if (name in ranks and channel in ranks[name]) or weight[channel] == 0:
                continue
            ranks.setdefault(name, {})[channel] = rank
            share = (score - low) / (high - low) if high > low else 1.0
            sums.setdefault(name, []).append(weight[channel] * share)
    return _merged(lists, {name: math.fsum(parts) for name, parts in sums.items()}, ranks, weight, "relative")


class FusionRetriever(BaseRetriever):
    """Several retrievers asked together, their lists fused.

    Parameters
    ----------
    channels
        The retrievers by name.
    top_k
        How many hits to return at most.
    k, weights
        As for `reciprocal_rank_fusion`.
    candidates
        How many of a channel's hits take part, by channel; all that it returns where not given. A channel that may put up
        more candidates has more say: the balance by candidate ratio.
    relative
        Fuse by relative scores in place of ranks.

    Raises
    ------
    ValueError
        When ``top_k`` or a number of candidates is less than 1, or names an unknown channel; the first query raises what
        `reciprocal_rank_fusion` raises.
    """

    def __init__(
        self,
        channels: Mapping[str, BaseRetriever],
        *,
        top_k: int = 8,
        k: float = K,
        weights: Mapping[str, float] | None = None,
        candidates: Mapping[str, int] | None = None,
        relative: bool = False,
    ) -> None:
        for name, number in {
            "top_k": top_k,
            **{f"candidates of {c}": n for c, n in (candidates or {}).items()},
        }.items():
            if number < 1:
                raise ValueError(f"{name} is {number}; it must be at least 1")
        if unknown := set(candidates or ()) - set(channels):
            raise ValueError(f"candidates for {min(unknown)!r}, which is no channel; there is {', '.join(channels)}")
        _weights(channels, weights)
        super().__init__()
        self.channels = dict(channels)
        self.top_k = top_k
        self.k = k
        self.weights = dict(weights or {})
        self.candidates = dict(candidates or {})
        self.relative = relative

    def with_channels(self, channels: Mapping[str, BaseRetriever]) -> "FusionRetriever":
        """The same fusion of other retrievers, under the same names."""
        return FusionRetriever(
            channels,
            top_k=self.top_k,
            k=self.k,
            weights=self.weights,
            candidates=self.candidates,
            relative=self.relative,
        )

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        lists = {
            name: channel.retrieve(query_bundle)[: self.candidates.get(name)] for name, channel in self.channels.items()
        }
        return self.fuse(lists)[: self.top_k]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)

    def fuse(self, lists: Mapping[str, Sequence[NodeWithScore]]) -> list[NodeWithScore]:
        """Fuse lists at hand as this retriever would."""
        if self.relative:
            return relative_score_fusion(lists, weights=self.weights)
        return reciprocal_rank_fusion(lists, k=self.k, weights=self.weights)


def _weights(lists: Mapping[str, object], weights: Mapping[str, float] | None) -> dict[str, float]:
    if unknown := set(weights or ()) - set(lists):
        raise ValueError(f"a weight for {min(unknown)!r}, which is no channel; there is {', '.join(lists)}")
    for name, weight in (weights or {}).items():
        if not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"the weight of {name} is {weight}; give a number of at least 0")
    return {name: (weights or {}).get(name, 1.0) for name in lists}


def _ids(hits: Sequence[NodeWithScore]) -> list[str]:
    return [hit.node.node_id for hit in hits]


def _finite(hit: NodeWithScore, channel: str) -> float:
    if hit.score is None or not math.isfinite(hit.score):
        raise ValueError(f"{channel} gave {hit.node.node_id!r} the score {hit.score}; fuse by rank")
    return hit.score


def _merged(
    lists: Mapping[str, Sequence[NodeWithScore]],
    totals: Mapping[str, float],
    ranks: Mapping[str, Mapping[str, int]],
    weights: Mapping[str, float],
    name: str,
) -> list[NodeWithScore]:
    """Copies of the hits, ordered by their totals, with what every channel said of them."""
    scores: dict[str, dict[str, float]] = {}
    first: dict[str, NodeWithScore] = {}
    for channel, hits in lists.items():
        for hit in hits:
            known = scores.setdefault(hit.node.node_id, {})
            own = scores_of(hit.node) or ({channel: float(hit.score)} if hit.score is not None else {})
            known.update({key: value for key, value in own.items() if key not in known})
            first.setdefault(hit.node.node_id, hit)
    best = {one: min(rank for channel, rank in ranks[one].items() if weights[channel]) for one in totals}
    order = sorted(totals, key=lambda one: (-totals[one], best[one], one))
    return [_hit(first[one], {**scores[one], name: totals[one]}, ranks[one], totals[one]) for one in order]


def _hit(hit: NodeWithScore, scores: dict[str, float], ranks: Mapping[str, int], score: float) -> NodeWithScore:
    hidden = {"scores", "ranks"}  # for programs and tables; a language model that reads the chunk must not see them
    node = hit.node.model_copy(
        update={
            "metadata": {**hit.node.metadata, "scores": scores, "ranks": dict(ranks)},
            "excluded_llm_metadata_keys": sorted({*hit.node.excluded_llm_metadata_keys, *hidden}),
            "excluded_embed_metadata_keys": sorted({*hit.node.excluded_embed_metadata_keys, *hidden}),
        }
    )
    return NodeWithScore(node=node, score=score)

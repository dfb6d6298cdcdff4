"""First-stage work done once for many configurations.

Eight funnels over one index ask the same channels the same questions. A `Memo` stands in front of a channel and answers
a repeated query from memory, with copies: a stage that rescales a score or rewrites a text changes its own copy only.
Latency is never measured through it.
"""

import copy
import pickle
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import NodeWithScore, QueryBundle, QueryType

__all__ = ["Channelled", "Memo", "MemoEmbedding", "share"]


@runtime_checkable
class Channelled(Protocol):
    """A retriever composed of channels that can be swapped, as `rungs.funnel.Funnel` is."""

    @property
    def channels(self) -> Mapping[str, BaseRetriever]:
        """First-stage retrievers by name."""
        ...

    def with_channels(self, channels: dict[str, BaseRetriever]) -> Any:
        """The same retriever over other channels."""
        ...


class Memo(BaseRetriever):
    """Answers each query once through ``inner``, then from memory.

    Parameters
    ----------
    inner
        The channel. Its answer must depend on the query alone.
    """

    def __init__(self, inner: BaseRetriever) -> None:
        super().__init__()
        self.inner = inner
        self._answers: dict[tuple[Any, ...], Callable[[], list[NodeWithScore]]] = {}
        self._lock = threading.RLock()

    def retrieve(self, str_or_query_bundle: QueryType) -> list[NodeWithScore]:
        """As any retriever's, without events of its own: those cost more than the answer, and the channel sent them."""
        return self._retrieve(_bundle(str_or_query_bundle))

    async def aretrieve(self, str_or_query_bundle: QueryType) -> list[NodeWithScore]:
        """As `retrieve`."""
        return await self._aretrieve(_bundle(str_or_query_bundle))

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        key = _key(query_bundle)
        with self._lock:
            if key not in self._answers:
                self._answers[key] = _kept(self.inner.retrieve(query_bundle))
            return self._answers[key]()

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        # the lock is not held while waiting: at worst two tasks ask the channel the same question
        key = _key(query_bundle)
        if key not in self._answers:
            self._answers[key] = _kept(await self.inner.aretrieve(query_bundle))
        return self._answers[key]()


class MemoEmbedding(BaseEmbedding):
    """Embeds each query once through ``inner``, then answers from memory; texts go through untouched."""

    inner: BaseEmbedding
    _queries: dict[str, list[float]] = PrivateAttr(default_factory=dict)

    def get_query_embedding(self, query: str) -> list[float]:
        """As any embedding's, without events of its own."""
        return self._get_query_embedding(query)

    def _get_query_embedding(self, query: str) -> list[float]:
        if query not in self._queries:
            self._queries[query] = self.inner.get_query_embedding(query)
        return list(self._queries[query])

    async def _aget_query_embedding(self, query: str) -> list[float]:
        if query not in self._queries:
            self._queries[query] = await self.inner.aget_query_embedding(query)
        return list(self._queries[query])

    def _get_text_embedding(self, text: str) -> list[float]:
        return self.inner.get_text_embedding(text)


def share(retrievers: Mapping[str, BaseRetriever]) -> dict[str, BaseRetriever]:
    """The same retrievers, with what they have in common done once a query: each channel object, each embedding model.

    What only one of them uses is left as it is: remembering has a price. A plain retriever counts as a channel, so that
    one which also serves as a channel elsewhere is not asked twice.
    """
    desk = _Desk(channel for retriever in retrievers.values() for channel in _channels(retriever).values())
    return {name: desk.shared(retriever) for name, retriever in retrievers.items()}


def _channels(retriever: BaseRetriever) -> Mapping[str, BaseRetriever]:
    if isinstance(retriever, Channelled):
        return retriever.channels
    return {} if hasattr(retriever, "search") else {"": retriever}


class _Desk:
    """The stand-ins made so far, by the object they stand for. Each holds its object, so that the id stays its own."""

    def __init__(self, channels: Iterable[BaseRetriever]) -> None:
        self._uses = Counter(id(channel) for channel in channels)
        self._memos: dict[int, Memo] = {}
        self._embeddings: dict[int, MemoEmbedding] = {}

    def shared(self, retriever: BaseRetriever) -> BaseRetriever:
        if not isinstance(retriever, Channelled):
            return self._memo(retriever)
        other = retriever.with_channels({name: self._memo(channel) for name, channel in retriever.channels.items()})
        embed_model = getattr(other, "embed_model", None)
        if other is not retriever and isinstance(embed_model, BaseEmbedding):
            other.embed_model = self._embedding(embed_model)
        return other

    def _memo(self, channel: BaseRetriever) -> BaseRetriever:
        if self._uses[id(channel)] < 2:
            return channel
        if id(channel) not in self._memos:
            self._memos[id(channel)] = Memo(channel)
        return self._memos[id(channel)]

    def _embedding(self, embed_model: BaseEmbedding) -> MemoEmbedding:
        if id(embed_model) not in self._embeddings:
            made = MemoEmbedding(inner=embed_model, model_name=embed_model.model_name)
            self._embeddings[id(embed_model)] = made
        return self._embeddings[id(embed_model)]


def _bundle(query: QueryType) -> QueryBundle:
    return QueryBundle(query) if isinstance(query, str) else query


def _key(query: QueryBundle) -> tuple[Any, ...]:
    # taken before the channel runs: some retrievers write the embedding they computed into the bundle
    embedding = None if query.embedding is None else tuple(query.embedding)
    return query.query_str, tuple(query.custom_embedding_strs or ()), query.image_path, embedding


def _kept(hits: list[NodeWithScore]) -> Callable[[], list[NodeWithScore]]:
    """Remember hits; each call gives a copy that shares nothing with the last one.

    Pickled, because that is the quickest deep copy there is; what cannot be pickled is copied the slow way.
    """
    try:
        packed = pickle.dumps(hits, pickle.HIGHEST_PROTOCOL)
    except Exception:  # an object of somebody's own in the metadata may raise anything
        own = copy.deepcopy(hits)
        return lambda: copy.deepcopy(own)
    return lambda: pickle.loads(packed)

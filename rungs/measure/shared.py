"""First-stage work done once for many configurations.

Eight funnels over one index ask the same channels the same questions. A `Memo` stands in front of a channel and answers
a repeated query from memory, with copies: a stage that rescales a score or rewrites a text changes its own copy only.
Latency is never measured through it.
"""

import threading
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

__all__ = ["Channelled", "Memo", "share"]


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
        self._answers: dict[tuple[Any, ...], list[NodeWithScore]] = {}
        self._lock = threading.RLock()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        key = _key(query_bundle)
        with self._lock:
            if key not in self._answers:
                self._answers[key] = _copies(self.inner.retrieve(query_bundle))
            return _copies(self._answers[key])

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        # the lock is not held while waiting: at worst two tasks ask the channel the same question
        key = _key(query_bundle)
        if key not in self._answers:
            self._answers[key] = _copies(await self.inner.aretrieve(query_bundle))
        return _copies(self._answers[key])


def share(retrievers: Mapping[str, BaseRetriever]) -> dict[str, BaseRetriever]:
    """The same retrievers, with every channel object they have in common answering each query once.

    A plain retriever is remembered as a whole, so that one which also serves as a channel elsewhere is not asked twice;
    one that has ``search`` and no channels to swap is left as it is.
    """
    memos: dict[int, Memo] = {}
    return {name: _shared(retriever, memos) for name, retriever in retrievers.items()}


def _shared(retriever: BaseRetriever, memos: dict[int, Memo]) -> BaseRetriever:
    if isinstance(retriever, Channelled):
        return retriever.with_channels({name: _memo(channel, memos) for name, channel in retriever.channels.items()})
    return retriever if hasattr(retriever, "search") else _memo(retriever, memos)


def _memo(channel: BaseRetriever, memos: dict[int, Memo]) -> Memo:
    if id(channel) not in memos:
        memos[id(channel)] = Memo(channel)  # which holds the channel, so that its id stays its own
    return memos[id(channel)]


def _key(query: QueryBundle) -> tuple[Any, ...]:
    # taken before the channel runs: some retrievers write the embedding they computed into the bundle
    embedding = None if query.embedding is None else tuple(query.embedding)
    return query.query_str, tuple(query.custom_embedding_strs or ()), query.image_path, embedding


def _copies(hits: list[NodeWithScore]) -> list[NodeWithScore]:
    return [hit.model_copy(deep=True) for hit in hits]

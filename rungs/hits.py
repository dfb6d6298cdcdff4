"""Hits as every rung returns them: copies of nodes that carry each channel's own score.

Used by every retriever here; copied along with any of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.schema import BaseNode, NodeWithScore
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

__all__ = ["make_hit", "metadata_filters", "scores_of", "store_filters"]

_LAST_CHARACTER = "\U0010ffff"


def scores_of(node: BaseNode) -> dict[str, float]:
    """What the channels said of a node; nothing where its ``scores`` are somebody else's and no mapping."""
    scores = node.metadata.get("scores")
    return dict(scores) if isinstance(scores, Mapping) else {}


def make_hit(node: BaseNode, channel: str, score: float) -> NodeWithScore:
    """A hit of one channel.

    Parameters
    ----------
    node
        Left as it is; the hit holds a copy.
    channel
        The key of the score in ``metadata["scores"]``.
    score
        Also the hit's own ``score``; higher is better.
    """
    metadata = {**node.metadata, "scores": {**scores_of(node), channel: float(score)}}
    copy = node.model_copy(
        update={
            "metadata": metadata,
            "embedding": None,
            # Scores are for programs and tables; a language model that reads the chunk must not see them.
            "excluded_llm_metadata_keys": sorted({*node.excluded_llm_metadata_keys, "scores"}),
            "excluded_embed_metadata_keys": sorted({*node.excluded_embed_metadata_keys, "scores"}),
        }
    )
    return NodeWithScore(node=copy, score=float(score))


def metadata_filters(
    categories: Sequence[str] = (), path_prefix: str = "", languages: Sequence[str] = ()
) -> MetadataFilters | None:
    """Filters on a chunk's metadata, or None where nothing is filtered.

    Parameters
    ----------
    categories
        Any of ``code``, ``test``, ``doc``, ``config``.
    path_prefix
        How the path must start, compared character by character: ``_`` and ``%`` mean themselves.
    languages
        Any of these.

    Examples
    --------
    >>> metadata_filters() is None
    True
    >>> [f.key for f in metadata_filters(["code"], "celery/celery/app").filters]
    ['category', 'path', 'path']
    """
    filters: list[MetadataFilter] = []
    for key, values in (("category", categories), ("language", languages)):
        if values:
            filters.append(MetadataFilter(key=key, value=list(values), operator=FilterOperator.IN))
    if path_prefix:
        # A range, not a pattern: the store's prefix operator reads "_" as "any character".
        filters.append(MetadataFilter(key="path", value=path_prefix, operator=FilterOperator.GTE))
        filters.append(MetadataFilter(key="path", value=path_prefix + _LAST_CHARACTER, operator=FilterOperator.LT))
    if not filters:
        return None
    return MetadataFilters(filters=filters, condition=FilterCondition.AND)


def store_filters(filters: MetadataFilters | None, vector_store: Any) -> MetadataFilters | None:
    """The same filters, written so that a store reads them as they are meant.

    LlamaIndex's Milvus store puts a text into its query without doubling the backslashes in it; other stores get the
    filters as they are.
    """
    if filters is None or vector_store.class_name() != "MilvusVectorStore":
        return filters
    return MetadataFilters(filters=[_doubled(one) for one in filters.filters], condition=filters.condition)


def _doubled(one: MetadataFilter | MetadataFilters) -> MetadataFilter | MetadataFilters:
    if isinstance(one, MetadataFilters):
        return MetadataFilters(filters=[_doubled(inner) for inner in one.filters], condition=one.condition)
    if not isinstance(one.value, str):
        return one  # the store doubles those in lists
    return one.model_copy(update={"value": one.value.replace("\\", "\\\\")})

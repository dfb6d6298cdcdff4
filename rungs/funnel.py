"""Composes rungs into one retriever: a channel that finds candidates, then stages that narrow them.

A `Funnel` is a LlamaIndex retriever, so it goes wherever one does; `Funnel.search` also tells how the result came
about: which channel answered and why, how long each stage took, what was skipped.
"""

import copy
import html
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from rungs.dense import DenseRetriever
from rungs.errors import SettingsError
from rungs.fusion import reciprocal_rank_fusion
from rungs.hits import metadata_filters, scores_of
from rungs.index import Index
from rungs.lexical import MilvusBM25Retriever, nodes_by_id
from rungs.names import NameTable
from rungs.routing import Answer, DefinitionRetriever, RegexRouter, Router, answer_routed
from rungs.settings import Settings

__all__ = ["Funnel", "Routing", "SearchResult", "Step", "channels_of", "open_channel"]

_HTML_TEXT_LINES = 12


@dataclass(frozen=True)
class SearchResult:
    """What a search found, and how.

    Attributes
    ----------
    query
        The question as asked.
    route, reason
        Which channel answered, and why that one.
    hits
        Best first. Copies: changing one changes nothing else.
    dropped
        Hits removed for scoring too low.
    weak_match
        Whether the best hit scores so low that there may be no answer.
    timings_ms
        Milliseconds by stage.
    degraded
        Optional stages that failed and were skipped, each with its reason.
    """

    query: str
    route: str
    reason: str
    hits: list[NodeWithScore]
    dropped: int = 0
    weak_match: bool = False
    timings_ms: dict[str, float] = field(default_factory=dict)
    degraded: list[dict[str, str]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of ``rungs search --json``."""
        return {
            "query": self.query,
            "route": self.route,
            "reason": self.reason,
            "weak_match": self.weak_match,
            "dropped": self.dropped,
            "degraded": self.degraded,
            "timings_ms": {stage: round(ms, 3) for stage, ms in self.timings_ms.items()},
            "hits": [_hit_dict(rank, hit) for rank, hit in enumerate(self.hits, 1)],
        }

    def _repr_html_(self) -> str:
        """A table for Jupyter; everything that comes from the corpus or the query is escaped."""
        head = "".join(f"<th style='text-align:left'>{name}</th>" for name in ("", "where", "scores", "text"))
        note = " · weak match" if self.weak_match else ""
        rows = "".join(_hit_row(rank, hit) for rank, hit in enumerate(self.hits, 1))
        return (
            f"<p><b>{html.escape(self.query)}</b> · {html.escape(self.route)} ({html.escape(self.reason)}){note}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        )


@dataclass(frozen=True)
class Step:
    """The list as it stood after one step of a search; what `rungs.measure.explain` reads.

    Attributes
    ----------
    name
        Of the channel or stage.
    inputs
        The steps whose lists it was made from; none for a channel.
    hits
        Best first. Later steps do not change them.
    note
        Why the step did nothing, where it failed.
    """

    name: str
    inputs: tuple[str, ...]
    hits: list[NodeWithScore]
    note: str = ""


class Funnel(BaseRetriever):
    """Channel, then stages, then the best ``top_k``.

    Parameters
    ----------
    channels
        First-stage retrievers by name (``dense``, ``bm25``, ``definition``). Each fetches the candidates it was built to
        fetch.
    mode
        The channel that answers; ``hybrid`` for dense and BM25 fused; ``auto`` for the one a query belongs to.
    top_k
        How many hits `retrieve` returns, and `search` unless told otherwise.
    stages
        LlamaIndex postprocessors by name, applied in order to the candidates. Each is optional: one that raises is
        skipped and reported.
    embed_model
        Embeds the query once for all channels, so that its time is told apart from the search's. None leaves it to
        them.
    routing
        How mode ``auto`` routes and ``hybrid`` fuses.
    settings
        Recorded in reports.

    Raises
    ------
    SettingsError
        When a channel that ``mode`` needs is missing.
    """

    def __init__(
        self,
        channels: Mapping[str, BaseRetriever],
        *,
        mode: str,
        top_k: int = 8,
        stages: Sequence[tuple[str, BaseNodePostprocessor]] = (),
        embed_model: BaseEmbedding | None = None,
        routing: "Routing | None" = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        routing = routing or Routing()
        if missing := [name for name in channels_of(mode, routing) if name not in channels]:
            raise SettingsError(f"mode {mode!r} wants channel {missing[0]!r}; there is {', '.join(channels) or 'none'}")
        super().__init__()
        self.routing = routing
        self.channels = dict(channels)
        self.mode = mode
        self.top_k = top_k
        self.stages = tuple(stages)
        self.embed_model = embed_model
        self.settings = dict(settings or {})

    @classmethod
    def from_settings(
        cls,
        settings: Settings,
        channels: Mapping[str, BaseRetriever],
        embed_model: BaseEmbedding,
        names: NameTable | None = None,
    ) -> "Funnel":
        """The funnel that ``settings`` describe, over channels from `open_channel`."""
        return cls(
            channels,
            mode=settings.search_mode,
            top_k=settings.top_k,
            embed_model=embed_model if "dense" in channels else None,
            routing=Routing.from_settings(settings, names),
            settings=settings.to_dict(),
        )

    def with_channels(self, channels: Mapping[str, BaseRetriever]) -> "Funnel":
        """The same funnel over other retrievers, under the same names."""
        return Funnel(
            channels,
            mode=self.mode,
            top_k=self.top_k,
            stages=self.stages,
            embed_model=self.embed_model,
            routing=self.routing,
            settings=self.settings,
        )

    def config(self) -> dict[str, Any]:
        """Every setting in force."""
        return {**self.settings, "mode": self.mode, "top_k": self.top_k, "stages": [name for name, _ in self.stages]}

    def search(self, query: str, top_k: int | None = None) -> SearchResult:
        """Search, and say how.

        Parameters
        ----------
        query
            Any text; one without letters or digits finds nothing.
        top_k
            How many hits; the funnel's own number by default. The first hits of a longer list are the shorter list.

        Raises
        ------
        ValueError
            When ``top_k`` is less than 1.
        """
        wanted = self.top_k if top_k is None else top_k
        if wanted < 1:
            raise ValueError(f"top_k is {wanted}; it must be at least 1")
        return self._run(QueryBundle(query), wanted)

    def trace(self, query: str, top_k: int | None = None) -> list[Step]:
        """Search, and keep the list after every step: each channel, each stage, and the cut to ``top_k``."""
        wanted = self.top_k if top_k is None else top_k
        steps: list[Step] = []
        self._run(QueryBundle(query), wanted, steps)
        return steps

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._run(query_bundle, self.top_k).hits

    def _run(self, bundle: QueryBundle, top_k: int, steps: list[Step] | None = None) -> SearchResult:
        def note(name: str, inputs: tuple[str, ...], hits: Sequence[NodeWithScore], why: str = "") -> None:
            if steps is not None:
                steps.append(Step(name, inputs, [_snapshot(hit) for hit in hits], why))

        timings: dict[str, float] = {}
        degraded: list[dict[str, str]] = []
        answer, last = self._first_stage(bundle, timings, note)
        hits = answer.hits
        for name, stage in self.stages:
            with _timed(timings, name):
                try:
                    hits = stage.postprocess_nodes(list(hits), query_bundle=bundle)
                except Exception as error:  # whatever an optional stage raises, the result without it is still good
                    reason = " ".join(str(error).split())[:200]
                    degraded.append({"stage": name, "reason": f"{type(error).__name__}: {reason}"})
            note(name, (last,), hits, degraded[-1]["reason"] if degraded and degraded[-1]["stage"] == name else "")
            last = name
        note(f"top {top_k}", (last,), hits[:top_k])
        return SearchResult(
            query=bundle.query_str,
            route=answer.route,
            reason=answer.reason,
            hits=list(hits[:top_k]),
            weak_match=answer.weak,
            timings_ms=timings,
            degraded=degraded,
        )

    def _first_stage(
        self, bundle: QueryBundle, timings: dict[str, float], note: Callable[..., None]
    ) -> tuple[Answer, str]:
        """What the mode's channels answer, and the name of the step that holds it."""
        asked: dict[str, list[NodeWithScore]] = {}

        def ask(name: str) -> list[NodeWithScore]:
            if name in asked:  # BM25 alone found nothing, and is now to be fused
                return asked[name]
            if name == "hybrid":
                lists = {channel: ask(channel) for channel in _FUSED}
                with _timed(timings, "fusion"):
                    hits = self.routing.fuse(lists)
                note(name, _FUSED, hits)
            else:
                query = self._embedded(bundle, timings) if name == "dense" else bundle
                with _timed(timings, name):
                    hits = self.channels[name].retrieve(query)
                note(name, (), hits)
            asked[name] = hits
            return hits

        if self.mode != "auto":
            return Answer(ask(self.mode), self.mode, f"mode is {self.mode}"), self.mode
        answer = self.routing.answer(bundle.query_str, ask)
        # of a fusion the fused list, not what went into it
        inputs = tuple(name for name in asked if not ("hybrid" in asked and name in _FUSED))
        if len(inputs) > 1:
            note("routed", inputs, answer.hits, answer.reason)
        return answer, "routed" if len(inputs) > 1 else inputs[0]

    def _embedded(self, bundle: QueryBundle, timings: dict[str, float]) -> QueryBundle:
        if self.embed_model is None or bundle.embedding is not None or not bundle.query_str.strip():
            return bundle
        with _timed(timings, "embed"):
            embedding = self.embed_model.get_query_embedding(bundle.query_str)
        return QueryBundle(bundle.query_str, embedding=embedding)


_FUSED = ("dense", "bm25")
_DEFAULT = Settings()


@dataclass(frozen=True)
class Routing:
    """How a funnel fuses and routes.

    Attributes
    ----------
    names
        The names of the corpus; None where it is told by shape alone what is one.
    prose
        What answers questions: ``dense`` or ``hybrid``.
    blend
        The say of the definitions of names inside a question; see `rungs.routing.answer_routed`.
    k, bm25_weight
        Of the fusion; see `rungs.fusion.reciprocal_rank_fusion`.
    regex
        Route by the published regex.
    """

    names: NameTable | None = None
    prose: str = _DEFAULT.prose_mode
    blend: float = _DEFAULT.name_weight
    k: float = _DEFAULT.rrf_k
    bm25_weight: float = _DEFAULT.bm25_weight
    regex: bool = False

    @classmethod
    def from_settings(cls, settings: Settings, names: NameTable | None) -> "Routing":
        """As ``settings`` say."""
        # an index of windows has no names, and a name is not absent for that
        known = names if settings.router == "names" and names is not None and not names.empty else None
        weights = (settings.name_weight, settings.rrf_k, settings.bm25_weight)
        return cls(known, settings.prose_mode, *weights, regex=settings.router == "regex")

    def fuse(self, lists: Mapping[str, Sequence[NodeWithScore]]) -> list[NodeWithScore]:
        """Dense and BM25 as one list."""
        return reciprocal_rank_fusion(lists, k=self.k, weights={"bm25": self.bm25_weight})

    def answer(self, query: str, ask: Callable[[str], list[NodeWithScore]]) -> Answer:
        """Route one query; see `rungs.routing.answer_routed`."""
        return answer_routed(query, self.router, ask, names=self.names, prose=self.prose, blend=self.blend)

    @cached_property
    def router(self) -> Router | RegexRouter:
        """Decides what is a name."""
        return RegexRouter() if self.regex else Router(self.names)


def channels_of(mode: str, routing: Routing | Settings) -> tuple[str, ...]:
    """The channels that a mode asks, or may ask."""
    if mode == "hybrid":
        return _FUSED
    if mode != "auto":
        return (mode,)
    by_name = routing.router == "names" if isinstance(routing, Settings) else routing.names is not None
    return (*_FUSED, *(("definition",) if by_name else ()))


def open_channel(
    name: str, settings: Settings, index: Index, embed_model: BaseEmbedding, names: NameTable | None = None
) -> BaseRetriever:
    """One first-stage retriever over an opened index.

    Parameters
    ----------
    name
        ``dense``, ``bm25``, or ``definition``. BM25 is Milvus' own, or is kept in memory where a server has none.
    settings
        Says how many candidates it fetches and what it filters.
    names
        What ``definition`` looks names up in.
    """
    depth = max(settings.top_k, settings.candidates)
    languages = (settings.language,) if settings.language else ()
    filters = metadata_filters(settings.categories(), settings.path_prefix, languages)
    if name == "dense":
        return DenseRetriever(index.store, embed_model, top_k=depth, filters=filters)
    if name == "definition":
        fetch = partial(nodes_by_id, index.store, filters=filters)
        return DefinitionRetriever(names or NameTable(), fetch, top_k=depth)
    if index.store.enable_sparse:
        return MilvusBM25Retriever(index.store, top_k=depth, filters=filters)
    from rungs.lexical import BM25sRetriever

    return BM25sRetriever(index.nodes, index.tokens, top_k=depth, filters=filters)


def _snapshot(hit: NodeWithScore) -> NodeWithScore:
    """A hit that a later stage cannot change: stages may write into a node's metadata or text."""
    node = hit.node.model_copy(update={"metadata": copy.deepcopy(hit.node.metadata)})
    return NodeWithScore(node=node, score=hit.score)


class _timed:
    """Adds the milliseconds of a ``with`` block to a stage."""

    def __init__(self, timings: dict[str, float], stage: str) -> None:
        self._timings, self._stage = timings, stage

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        elapsed = (time.perf_counter() - self._start) * 1000
        self._timings[self._stage] = self._timings.get(self._stage, 0.0) + elapsed


def _hit_dict(rank: int, hit: NodeWithScore) -> dict[str, Any]:
    data = hit.node.metadata
    keys = ("path", "symbol", "start_line", "end_line", "category")
    return {
        "rank": rank,
        **{key: data.get(key) for key in keys},
        "score": hit.score,
        "scores": scores_of(hit.node),
        "text": hit.node.get_content(),
    }


def _hit_row(rank: int, hit: NodeWithScore) -> str:
    data = hit.node.metadata
    where = f"{data.get('path')}:{data.get('start_line')}-{data.get('end_line')}"
    scores = ", ".join(f"{name} {score:.3f}" for name, score in scores_of(hit.node).items())
    lines = hit.node.get_content().splitlines()
    text = "\n".join(lines[:_HTML_TEXT_LINES] + (["…"] if len(lines) > _HTML_TEXT_LINES else []))
    symbol = str(data.get("symbol") or "")
    place = html.escape(where) + (f"<br><code>{html.escape(symbol)}</code>" if symbol else "")
    return (
        f"<tr><td>{rank}</td><td style='text-align:left'>{place}</td><td>{html.escape(scores)}</td>"
        f"<td style='text-align:left'><pre style='background:none'>{html.escape(text)}</pre></td></tr>"
    )

"""One corpus with its models and indexes, each opened once and shared by every configuration.

What the command line and the notebooks start from:

>>> bench = Workbench()                                   # doctest: +SKIP
>>> bench.build()                                         # doctest: +SKIP
>>> bench.funnel(search_mode="bm25").search("Task.retry") # doctest: +SKIP
"""

import sys
from functools import cached_property
from pathlib import Path
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from tqdm.auto import tqdm

from rungs.corpus import Corpus, find_home, load_corpus
from rungs.errors import SettingsError
from rungs.funnel import Funnel, Routing, channels_of, open_channel
from rungs.index import Index, build_index
from rungs.models import FlagEmbedder, MiniLMEmbedder, load_embedder
from rungs.names import NameTable
from rungs.routing import RegexRouter, Router
from rungs.settings import Settings

__all__ = ["Workbench"]

_SHOWN_PATHS = 8
_NOT_OF_A_CHANNEL = ("search_mode", "prose_mode", "rrf_k", "bm25_weight", "name_weight", "router")


class Workbench:
    """A corpus, and everything that is loaded for it, loaded when first needed.

    Parameters
    ----------
    settings
        The settings every configuration starts from; by default those of the environment.
    home
        The ``.rungs`` folder; found from the working directory by default.
    """

    def __init__(self, settings: Settings | None = None, home: Path | None = None) -> None:
        self.settings = settings or Settings.from_environment()
        self.home = home or find_home()
        self._embedders: dict[tuple[str, str, str], MiniLMEmbedder | FlagEmbedder] = {}
        self._indexes: dict[tuple[str, str], Index] = {}
        self._channels: dict[tuple[str, Settings], BaseRetriever] = {}
        self._names: dict[Path, NameTable] = {}

    @cached_property
    def corpus(self) -> Corpus:
        """The files that are searched."""
        return load_corpus(self.settings.corpus, self.home)

    def embedder(self, settings: Settings | None = None) -> MiniLMEmbedder | FlagEmbedder:
        """The embedding model of ``settings``, loaded once."""
        s = settings or self.settings
        key = (s.embed_model, s.query_instruction, s.passage_instruction)
        if key not in self._embedders:
            self._embedders[key] = load_embedder(*key)
        return self._embedders[key]

    def build(self, settings: Settings | None = None, *, progress: bool = True) -> Path:
        """Build the index of ``settings``, or find it up to date; returns its version's folder."""
        s = settings or self.settings
        with StageBars(progress) as bars:
            version = build_index(
                self.corpus,
                self.embedder(s),
                self.home,
                chunking=s.chunking,
                milvus_uri=s.milvus_uri,
                progress=bars.report,
            )
        if (opened := self._indexes.get((s.chunking, s.embed_model))) is not None and opened.folder != version:
            del self._indexes[(s.chunking, s.embed_model)]
            self._channels.clear()
        return version

    def index(self, settings: Settings | None = None) -> Index:
        """The opened index of ``settings``.

        Raises
        ------
        StoreError
            When it was not built, is damaged, or was built from another state of the corpus or other weights.
        """
        s = settings or self.settings
        key = (s.chunking, s.embed_model)
        if key not in self._indexes:
            embedder = self.embedder(s)  # first: a model that is not there is better said as that than as "no index"
            index = Index.open(self.home, self.corpus, chunking=s.chunking, model=s.embed_model)
            index.check_corpus(self.corpus)
            index.check_model(embedder)
            index.check_server(s.milvus_uri)
            self._indexes[key] = index
        return self._indexes[key]

    def funnel(self, settings: Settings | None = None, **changes: Any) -> Funnel:
        """A funnel over the opened index; ``changes`` are settings by name.

        Funnels that ask the same channel the same way hold the same channel object, so that a measurement of several
        can do its work once.

        Raises
        ------
        SettingsError
            When nothing in the corpus can pass the filters.
        """
        s = (settings or self.settings).but(**changes)
        _check_filters(s, self.corpus)
        channels = {name: self._channel(name, s) for name in channels_of(s.search_mode, s)}
        names = self._name_table(s) if "definition" in channels else None
        funnel = Funnel.from_settings(s, channels, self.embedder(s), names)
        if funnel.embed_model is not None:
            self.embedder(s).load()  # so that the first query's time is its own
        return funnel

    def router(self, settings: Settings | None = None, **changes: Any) -> Router | RegexRouter:
        """What tells names from questions in mode ``auto``; opens the index only where it goes by the corpus's names."""
        s = (settings or self.settings).but(**changes)
        return Routing.from_settings(s, self._name_table(s) if s.router == "names" else None).router

    def _channel(self, name: str, settings: Settings) -> BaseRetriever:
        # What does not reach the channel is set aside, so that it does not split what could be shared.
        depth = max(settings.top_k, settings.candidates)
        plain = Settings()
        aside = {field: getattr(plain, field) for field in _NOT_OF_A_CHANNEL}
        key = (name, settings.but(**aside, top_k=1, candidates=depth))
        if key not in self._channels:
            names = self._name_table(settings) if name == "definition" else None
            self._channels[key] = open_channel(name, settings, self.index(settings), self.embedder(settings), names)
        return self._channels[key]

    def _name_table(self, settings: Settings) -> NameTable:
        """The names of an index, read once."""
        index = self.index(settings)
        if index.folder not in self._names:
            names = index.names
            self._names[index.folder] = NameTable(names.definitions, names.identifiers, names.words, names.files)
        return self._names[index.folder]


def _check_filters(settings: Settings, corpus: Corpus) -> None:
    """A filter that no file passes is a slip of the pen, and not a search that finds nothing."""
    wanted, languages = settings.language, sorted({file.language for file in corpus.files})
    if wanted and wanted not in languages:
        raise SettingsError(
            f"corpus {corpus.name!r} has no file in language {wanted!r}; it has {', '.join(filter(None, languages))} "
            "(--language, RAG_LANGUAGE)"
        )
    start = settings.path_prefix
    if start and not any(file.path.startswith(start) for file in corpus.files):
        tops = sorted({file.path.partition("/")[0] for file in corpus.files})
        shown = ", ".join(tops[:_SHOWN_PATHS]) + (", …" if len(tops) > _SHOWN_PATHS else "")
        raise SettingsError(
            f"corpus {corpus.name!r} has no path that starts with {start!r}; its paths start with {shown} "
            "(--path-prefix, RAG_PATH_PREFIX)"
        )


class StageBars:
    """A progress bar for each stage of a build that has something to do."""

    _UNITS = {"chunk": "file", "embed": "chunk", "store": "chunk"}  # noqa: RUF012

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self._stage = ""
        self._bar: Any = None

    def __enter__(self) -> "StageBars":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def report(self, stage: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` of a stage is finished."""
        if not self._enabled or total == 0:
            return
        if stage == "remembered":
            self._close()
            if done:
                tqdm.write(f"{done:,} of {total:,} texts came from the vector cache", file=sys.stderr)
            return
        if stage != self._stage:
            self._close()
            self._stage = stage
            self._bar = tqdm(total=total, desc=stage, unit=self._UNITS.get(stage, "it"), smoothing=0.05)
        self._bar.update(done - self._bar.n)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

"""Every setting, its default and its meaning, in one place.

A setting is a field of `Settings`. It can be given as a flag, as a ``RAG_*`` variable, or left at its default; a flag
beats a variable beats a default. The command line builds its flags from the fields below, so the two cannot differ.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from math import isfinite
from typing import Any
from urllib.parse import urlsplit

from rungs.errors import SettingsError

__all__ = ["DEFAULT_EMBED_MODEL", "Endpoint", "Settings"]

DEFAULT_EMBED_MODEL = "all-MiniLM-L6-v2"


def _setting(
    default: Any, help: str, *, flag: str, env: str | None = None, choices: tuple[str, ...] = (), low: int = 0
):
    """Declare one field: ``flag`` without dashes; ``env`` defaults to ``RAG_`` + the field's name in capitals."""
    return field(default=default, metadata={"help": help, "flag": flag, "env": env, "choices": choices, "low": low})


MOST_RESULTS = 16_384
"""What one Milvus search returns at most."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force for one retriever. Immutable; change one with `Settings.but`."""

    corpus: str = _setting("celery", "which corpus: a pinned name, a registered name, or a folder", flag="corpus")
    chunking: str = _setting(
        "symbols",
        "how files are cut: by symbol and section, or in fixed windows (rung 1)",
        flag="chunking",
        choices=("symbols", "windows"),
    )
    embed_model: str = _setting(
        DEFAULT_EMBED_MODEL, "embedding model: the packaged default, a local folder, or a hub name", flag="embedder"
    )
    query_instruction: str = _setting(
        "", "text put before every query when it is embedded; empty uses the model's own", flag="query-instruction"
    )
    passage_instruction: str = _setting(
        "", "text put before every chunk when it is embedded; empty uses the model's own", flag="passage-instruction"
    )
    search_mode: str = _setting(
        "auto",
        "what answers: one channel, both fused, or the one that the query belongs to",
        flag="mode",
        choices=("auto", "dense", "bm25", "hybrid"),
    )
    prose_mode: str = _setting(
        "hybrid", "what answers questions in mode auto", flag="prose-mode", choices=("dense", "hybrid")
    )
    rrf_k: int = _setting(10, "the constant of Reciprocal Rank Fusion: larger, and agreement counts more", flag="rrf-k")
    bm25_weight: float = _setting(1.0, "the say of BM25 in a fusion, where dense has 1", flag="bm25-weight")
    name_weight: float = _setting(
        0.0,
        "the say of the definitions of names inside a question, in mode auto, where its channel has 1",
        flag="name-weight",
    )
    router: str = _setting(
        "names",
        "what mode auto tells names by: those of the corpus, their shape, or the published regex",
        flag="router",
        choices=("names", "shape", "regex"),
    )
    top_k: int = _setting(8, "results returned", flag="top-k", low=1)
    candidates: int = _setting(40, "candidates the first stage fetches for the later ones", flag="candidates", low=1)
    category: str = _setting(
        "", "only results of these categories, comma-separated: code,test,doc,config", flag="category"
    )
    path_prefix: str = _setting("", "only results whose path starts with this", flag="path-prefix")
    language: str = _setting("", "only results in this language (python, rst, …)", flag="language")
    milvus_uri: str = _setting(
        "", "a Milvus server to use in place of the local file, as http://host:port", flag="milvus-uri"
    )

    def __post_init__(self) -> None:
        for f in fields(self):
            _check(getattr(self, f.name), f.metadata)
        for name in self.categories():
            if name not in CATEGORIES:
                raise SettingsError(
                    f"--category has {name!r}, which is unknown; use one or more of {', '.join(CATEGORIES)}"
                )

    @classmethod
    def from_environment(
        cls, given: Mapping[str, Any] | None = None, environ: Mapping[str, str] = os.environ
    ) -> "Settings":
        """Settings from flags, then ``RAG_*`` variables, then defaults.

        Parameters
        ----------
        given
            Values by field name, ``None`` meaning "not given".
        environ
            Where variables are read from.

        Raises
        ------
        SettingsError
            When a value has the wrong type or is not one of the choices; the message names the flag or variable.
        """
        return _made(cls, given, environ)

    def but(self, **changes: Any) -> "Settings":
        """A copy with some settings changed."""
        return replace(self, **changes)

    def categories(self) -> tuple[str, ...]:
        """The categories searched, empty for all."""
        return tuple(part.strip() for part in self.category.split(",") if part.strip())

    def to_dict(self) -> dict[str, Any]:
        """Every setting in force, for reports."""
        return asdict(self)


CATEGORIES = ("code", "test", "doc", "config")


NO_KEY = "none"
"""What is sent to a server that asks for no key: clients want one all the same."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that speaks the OpenAI protocol and answers as a language model.

    Apart from `Settings`, which every report carries: an endpoint moves no ranking, and its key belongs in no report.
    The key is read from ``RAG_LLM_API_KEY`` alone, has no flag (other users of a machine see a command's arguments), is
    not shown by ``repr`` and is not in `to_dict`.
    """

    api_base: str = _setting(
        "", "an OpenAI-compatible server, as http://host:port/v1", flag="llm-api-base", env="RAG_LLM_API_BASE"
    )
    model: str = _setting("", "the model to ask there", flag="llm-model", env="RAG_LLM_MODEL")
    timeout: float = _setting(60.0, "seconds one reply may take", flag="llm-timeout", env="RAG_LLM_TIMEOUT")
    retries: int = _setting(2, "further tries after a failed or late reply", flag="llm-retries", env="RAG_LLM_RETRIES")
    api_key: str = field(default=NO_KEY, repr=False, metadata={"env": "RAG_LLM_API_KEY"})

    def __post_init__(self) -> None:
        if not self.api_base or not self.model:
            raise SettingsError(
                "no language model is configured; set RAG_LLM_API_BASE (http://host:port/v1) and RAG_LLM_MODEL, "
                "or give --llm-api-base and --llm-model"
            )
        _check_address(self.api_base)
        if not (isfinite(self.timeout) and self.timeout > 0):
            raise SettingsError(f"--llm-timeout {self.timeout:g} is no time to wait; give seconds above 0")
        if self.retries < 0:
            raise SettingsError(f"--llm-retries {self.retries} is too small; use at least 0")

    @classmethod
    def from_environment(
        cls, given: Mapping[str, Any] | None = None, environ: Mapping[str, str] = os.environ
    ) -> "Endpoint":
        """The endpoint from flags, then ``RAG_LLM_*`` variables, then defaults; parameters as for `Settings`.

        Raises
        ------
        SettingsError
            When no server or no model is named, or a value cannot be used.
        """
        return _made(cls, given, environ)

    def to_dict(self) -> dict[str, Any]:
        """What a result may say of it: everything but the key."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "api_key"}


def _check_address(address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError("--llm-api-base is no web address; give one like http://host:port/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:  # results name the address, and must not name a secret
        raise SettingsError(
            "--llm-api-base holds a user, a query or a fragment; give the bare address, and a key in RAG_LLM_API_KEY"
        )


def _made(cls: type, given: Mapping[str, Any] | None, environ: Mapping[str, str]) -> Any:
    """An instance from what is given, then what a variable says, then the defaults."""
    flags = {name: value for name, value in (given or {}).items() if value is not None}
    set_by = {f.name: env_name(f) for f in fields(cls) if f.name not in flags and environ.get(env_name(f))}
    kinds = {f.name: type(f.default) for f in fields(cls)}
    variables = {name: _parse(environ[variable], kinds[name], variable) for name, variable in set_by.items()}
    try:
        return cls(**variables, **flags)
    except SettingsError as error:
        # the checks name the flag; what is wrong may have been set by the variable
        flag, space, rest = str(error).partition(" ")
        for f in fields(cls):
            if f.name in set_by and flag == f"--{f.metadata.get('flag')}":
                raise SettingsError(f"{set_by[f.name]}{space}{rest}") from None
        raise


def env_name(f: Any) -> str:
    """The variable that sets a field."""
    return f.metadata["env"] or f"RAG_{f.name.upper()}"


def _parse(text: str, kind: type, where: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise SettingsError(f"{where}={text!r} is not {_KINDS[kind]}; set it to one or unset it") from None


_KINDS = {int: "a whole number", float: "a number", str: "text"}


def _check(value: Any, metadata: Mapping[str, Any]) -> None:
    flag = f"--{metadata['flag']}"
    if metadata["choices"] and value not in metadata["choices"]:
        raise SettingsError(f"{flag} is {value!r}; use one of {', '.join(metadata['choices'])}")
    if isinstance(value, float) and not (isfinite(value) and value >= metadata["low"]):
        raise SettingsError(f"{flag} is {value:g}; use a number of at least {metadata['low']}")
    if isinstance(value, int) and value < metadata["low"]:
        raise SettingsError(f"{flag} is {value}; use at least {metadata['low']}")
    if isinstance(value, int) and value > MOST_RESULTS:
        raise SettingsError(f"{flag} is {value}; use at most {MOST_RESULTS}")

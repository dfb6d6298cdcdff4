"""Settings: a flag beats a variable beats a default."""

from dataclasses import fields

import pytest

from rungs.errors import SettingsError
from rungs.settings import Endpoint, Settings, env_name


def test_a_flag_beats_a_variable_beats_a_default():
    environ = {"RAG_TOP_K": "5", "RAG_SEARCH_MODE": "bm25"}
    settings = Settings.from_environment({"top_k": 3, "search_mode": None}, environ)
    assert (settings.top_k, settings.search_mode, settings.candidates) == (3, "bm25", 40)


def test_an_empty_variable_is_not_set():
    assert Settings.from_environment({}, {"RAG_TOP_K": ""}).top_k == 8


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"RAG_TOP_K": "many"}, "RAG_TOP_K='many' is not a whole number"),
        ({"RAG_TOP_K": "0"}, "^RAG_TOP_K is 0; use at least 1$"),
        ({"RAG_SEARCH_MODE": "magic"}, "^RAG_SEARCH_MODE is 'magic'; use one of auto, dense, bm25, hybrid$"),
        ({"RAG_PROSE_MODE": "bm25"}, "^RAG_PROSE_MODE is 'bm25'; use one of dense, hybrid$"),
        ({"RAG_ROUTER": "llm"}, "^RAG_ROUTER is 'llm'; use one of names, shape, regex$"),
        ({"RAG_RRF_K": "-1"}, "^RAG_RRF_K is -1; use at least 0$"),
        ({"RAG_RRF_K": "1.5"}, "RAG_RRF_K='1.5' is not a whole number"),
        ({"RAG_BM25_WEIGHT": "-0.5"}, "^RAG_BM25_WEIGHT is -0.5; use a number of at least 0$"),
        ({"RAG_BM25_WEIGHT": "nan"}, "^RAG_BM25_WEIGHT is nan; use a number of at least 0$"),
        ({"RAG_NAME_WEIGHT": "inf"}, "^RAG_NAME_WEIGHT is inf; use a number of at least 0$"),
        ({"RAG_NAME_WEIGHT": "much"}, "RAG_NAME_WEIGHT='much' is not a number"),
        ({"RAG_CATEGORY": "code,cod"}, "^RAG_CATEGORY has 'cod', which is unknown"),
    ],
)
def test_a_value_that_cannot_be_used_is_one_line(environ: dict[str, str], says: str):
    with pytest.raises(SettingsError, match=says) as caught:
        Settings.from_environment({}, environ)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["top_k", "candidates"])
def test_trouble_names_what_was_set(name: str):
    """The flag where the flag was given, also with the variable set to something good."""
    field = next(f for f in fields(Settings) if f.name == name)
    with pytest.raises(SettingsError, match=f"^--{field.metadata['flag']} is 0"):
        Settings.from_environment({name: 0}, {env_name(field): "5"})
    other = {"top_k": "candidates", "candidates": "top_k"}[name]
    with pytest.raises(SettingsError, match=f"^{env_name(field)} is 0"):
        Settings.from_environment({other: 3}, {env_name(field): "0"})


def test_a_server_that_a_variable_names_badly_is_said_by_the_variable():
    with pytest.raises(SettingsError, match=r"^RAG_LLM_API_BASE is no web address"):
        Endpoint.from_environment({"model": "m"}, {"RAG_LLM_API_BASE": "localhost"})


def test_by_default_the_query_decides_and_questions_go_to_both_channels():
    s = Settings()
    assert (s.search_mode, s.prose_mode, s.router, s.rrf_k) == ("auto", "hybrid", "names", 10)
    assert (s.bm25_weight, s.name_weight) == (1.0, 0.0)


def test_the_least_of_each_number_is_allowed():
    given = {"rrf_k": 0, "bm25_weight": 0.0, "name_weight": 0.0, "top_k": 1, "candidates": 1}
    assert Settings.from_environment({}, {f"RAG_{name.upper()}": str(value) for name, value in given.items()}) == (
        Settings(**given)
    )


def test_names_that_the_design_fixes():
    names = {f.name: (f.metadata["flag"], env_name(f)) for f in fields(Settings)}
    assert names["embed_model"] == ("embedder", "RAG_EMBED_MODEL")
    assert names["search_mode"] == ("mode", "RAG_SEARCH_MODE")
    assert names["rrf_k"] == ("rrf-k", "RAG_RRF_K")
    assert names["top_k"] == ("top-k", "RAG_TOP_K")
    assert names["candidates"] == ("candidates", "RAG_CANDIDATES")


def test_every_setting_says_what_it_means():
    assert all(f.metadata["help"] for f in fields(Settings))

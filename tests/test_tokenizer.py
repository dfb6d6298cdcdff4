"""Code-aware tokens."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rungs.tokenizer
from rungs.tokenizer import fold, tokenize


def test_the_examples_in_the_module_hold():
    assert doctest.testmod(rungs.tokenizer).failed == 0


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("handleAuthCallback", ["handleauthcallback", "handle", "auth", "callback"]),
        ("retry_policy", ["retry_policy", "retry", "policy"]),
        ("a.b.c", ["a.b.c", "a", "b", "c"]),
        ("X-Request-ID", ["x-request-id", "x", "request", "id"]),
        ("ERR_CONN_RESET", ["err_conn_reset", "err", "conn", "reset"]),
        ("--no-verify", ["--no-verify", "no-verify", "no", "verify"]),
        ("-Q", ["-q", "q"]),
        ("$HOME", ["$home", "home"]),
        ("${HOME}", ["home"]),
        (".env", [".env", "env"]),
        ("app.env", ["app.env", "app", "env"]),
        ("...foo", ["foo"]),
        ("a - b", ["b"]),
        ("görev için hangi kuyruk", ["görev", "kuyruk"]),
        ("HTTPServer2", ["httpserver2", "http", "server", "2"]),
        ("__init__", ["__init__", "init"]),
        ("foo.bar()", ["foo.bar", "foo", "bar"]),
        ("how is the task retried?", ["task", "retried"]),
        ("", []),
        ("… () {}", []),
    ],
)
def test_names_come_whole_and_in_parts(text: str, tokens: list[str]):
    assert tokenize(text) == tokens


@pytest.mark.parametrize(
    ("a", "b"), [("İade", "iade"), ("IŞIK", "ışık"), ("Task", "TASK"), ("ÉCOLE", "école"), ("ID", "id")]
)
def test_case_is_folded_for_turkish_and_english(a: str, b: str):
    assert fold(a) == fold(b)
    assert tokenize(a) == tokenize(b)


@given(st.text())
def test_any_text_gives_terms_that_survive_white_space_splitting(text: str):
    tokens = tokenize(text)
    assert all(tokens)
    assert " ".join(tokens).split() == tokens


@given(st.sampled_from(["--", "-", "$", "."]), st.from_regex(r"[a-z][a-z0-9_]{1,9}[a-z]", fullmatch=True))
def test_a_marked_name_finds_itself_and_its_bare_form(mark: str, name: str):
    assert mark + name in tokenize(f"see {mark}{name}, or not")
    assert set(tokenize(name)) <= set(tokenize(mark + name))
    assert mark + name not in tokenize(f"see {name}")


@given(st.text(alphabet="abcXYZ019_", min_size=1, max_size=30))
def test_a_name_finds_itself(name: str):
    assert set(tokenize(name)) <= set(tokenize(f"before {name} after"))


@given(st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=2, max_size=5))
def test_snake_and_camel_case_share_their_parts(words: list[str]):
    snake, camel = "_".join(words), words[0] + "".join(w.capitalize() for w in words[1:])
    assert set(words) <= set(tokenize(snake))
    assert set(words) <= set(tokenize(camel))

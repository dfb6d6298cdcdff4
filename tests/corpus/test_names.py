"""Names: what a corpus defines, where its chunks hold it, and which words are names there."""

import json
import time
import warnings
from textwrap import dedent

import pytest

from rungs.corpus import SourceFile, chunk_files
from rungs.corpus.names import Definition, Names, names_of


def read(files: dict[str, str]) -> tuple[Names, dict[str, str]]:
    """The names of some files, and the texts of their chunks by id."""
    sources = [SourceFile.from_text(path, dedent(text).lstrip("\n")) for path, text in files.items()]
    chunks = chunk_files(
        sources, "symbols", max_tokens=64, count_tokens=lambda texts: [len(t.split()) + 2 for t in texts]
    )
    return names_of(sources, chunks), {chunk.node.id_: chunk.node.text for chunk in chunks}


def one(names: Names, symbol: str) -> Definition:
    [found] = [row for row in names.definitions if row.symbol == symbol]
    return found


PYTHON = '''
"""Prose that says Elephant and elephant_walk."""
from kombu.pools import Pool as ThePool, connections
import celery.app.base

LIMIT = 3
first, second = 1, 2

# Giraffe is only in a comment
@decorated
def send(message, *, deep=False):
    """Mentions Zebra."""
    def inner(argument):
        return argument
    return inner(message).acknowledge(countdown=deep)


class Task(Base):
    """A task."""

    max_retries = 3

    def retry(self, exc=None):
        self.request.retries["task_always_eager"] = "an English sentence"
        return "plainword"

    async def aretry(self): ...

    class Inner:
        def deep(self): ...
'''


@pytest.fixture(scope="module")
def python() -> tuple[Names, dict[str, str]]:
    return read({"app/task.py": PYTHON})


@pytest.mark.parametrize(
    ("symbol", "begins"),
    [
        ("send", "@decorated\ndef send("),
        ("send.inner", "@decorated\ndef send("),  # within the chunk of what it stands in
        ("Task", "class Task(Base):"),
        ("Task.retry", "    def retry("),
        ("Task.aretry", "    async def aretry("),
        ("Task.Inner", "    class Inner:"),
        ("Task.Inner.deep", "        def deep("),
    ],
)
def test_a_definition_is_given_as_the_chunks_that_hold_it(python, symbol: str, begins: str):
    names, texts = python
    row = one(names, symbol)
    assert (row.module, row.category) == ("app.task", "code")
    assert texts[row.ids[0]].startswith(begins)
    assert symbol.rsplit(".")[-1] in texts[row.ids[0]]


def test_a_class_is_its_header_and_not_its_methods(python):
    names, texts = python
    held = [texts[name] for name in one(names, "Task").ids]
    assert all("class Task" in text for text in held)
    assert not any("def retry" in text for text in held)


def test_an_assignment_may_stand_in_a_chunk_of_other_things(python):
    names, texts = python
    for symbol in ("LIMIT", "first", "second"):
        row = one(names, symbol)
        assert symbol in texts[row.ids[0]]
    assert one(names, "first").ids == one(names, "second").ids
    assert "max_retries = 3" in texts[one(names, "Task.max_retries").ids[0]]


def test_a_long_function_is_given_from_its_head_on():
    body = "".join(f"    step_{i} = compute_step({i}, 'some more words to fill the line')\n\n" for i in range(40))
    names, texts = read({"app/long.py": f"def long(a):\n{body}    return a\n"})
    ids = one(names, "long").ids
    assert len(ids) > 2
    assert texts[ids[0]].startswith("def long")
    assert texts[ids[-1]].rstrip().endswith("return a")


def test_of_a_long_assignment_the_fullest_chunk_comes_first():
    """Its first line may end a chunk of other things."""
    rows = "".join(f"    'key_{i}': 'some words that fill line number {i} of it',\n" for i in range(7))
    before = "".join(f"BEFORE_{i} = 'a b c d'\n" for i in range(6))
    names, texts = read({"app/conf.py": f"{before}TABLE = {{\n{rows}}}\nAFTER = 2\n"})
    fullest, other = one(names, "TABLE").ids
    assert "BEFORE_5" in texts[other]
    assert texts[fullest].count("'key_") > texts[other].count("'key_") > 0


def test_a_name_defined_twice_has_two_rows():
    names, _ = read(
        {
            "a.py": "if X:\n    def where():\n        return 1\nelse:\n    def where():\n        return 2\n",
        }
    )
    rows = [row for row in names.definitions if row.symbol == "where"]
    assert len(rows) == 2


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("celery/app/task.py", "celery.app.task"),
        ("celery/app/__init__.py", "celery.app"),
        ("__init__.py", ""),
        ("setup.py", "setup"),
        ("src/index.ts", "src"),
        ("src/pool.test.ts", "src.pool.test"),
    ],
)
def test_the_module_is_what_the_path_tells(file: str, module: str):
    text = "export function f() { return 1 }\n" if file.endswith(".ts") else "def f(): ...\n"
    source = SourceFile.from_text(file, text)
    chunks = chunk_files([source], max_tokens=64, count_tokens=lambda texts: [len(t) for t in texts])
    [row] = names_of([source], chunks).definitions
    assert (row.module, row.symbol) == (module, "f")


# --- documents


RST = """
Guide
=====

``broker_url``
~~~~~~~~~~~~~~

Where the broker is; see :setting:`broker_pool_limit` and :func:`~celery.app.send_task`, not :ref:`this-guide`.

task_always_eager
~~~~~~~~~~~~~~~~~

Runs at once. See `a link` and ``--pool`` and ``two words_here`` in real-time on PostgreSQL or with the
well-known GreatThing.

:setting:`result_backend`
~~~~~~~~~~~~~~~~~~~~~~~~~

Where results go.

Retries
~~~~~~~

Not a name.
"""


def test_a_section_whose_heading_is_a_term_defines_it():
    names, texts = read({"docs/conf.rst": RST})
    assert [row.symbol for row in names.definitions] == ["broker_url", "task_always_eager", "result_backend"]
    row = one(names, "broker_url")
    assert (row.module, row.category) == ("", "doc")
    assert "Where the broker is" in texts[row.ids[0]]
    assert not any("Runs at once" in texts[name] for name in row.ids)


def test_words_set_as_code_in_a_document_are_names_and_others_only_look_like_it():
    names, _ = read({"docs/conf.rst": RST})
    assert {"broker_url", "broker_pool_limit", "celery.app.send_task", "--pool", "words_here"} <= set(names.identifiers)
    assert {"link", "this-guide", "a", "Retries"}.isdisjoint(names.identifiers)
    assert names.words == ["GreatThing", "PostgreSQL", "real-time", "this-guide", "well-known"]


def test_what_the_code_calls_so_is_no_mere_word():
    names, _ = read({"docs/conf.rst": RST, "app/a.py": "class PostgreSQL: ...\n"})
    assert "PostgreSQL" in names.identifiers
    assert "PostgreSQL" not in names.words
    assert "GreatThing" in names.words


def test_markdown_marks_code_by_single_backquotes_too():
    names, _ = read(
        {"docs/a.md": "# `pool_limit`\n\nSet `max_size` or ``RETRY_NOW`` in real-time.\n\n# Other things\n\nText.\n"}
    )
    assert [row.symbol for row in names.definitions] == ["pool_limit"]
    assert {"pool_limit", "max_size", "RETRY_NOW"} <= set(names.identifiers)
    assert names.words == ["real-time"]


# --- identifiers


def test_identifiers_are_what_the_code_says_and_not_what_it_talks_about(python):
    names, _ = python
    said = {
        "send", "message", "deep", "inner", "argument", "acknowledge", "countdown", "Task", "Base", "retry", "aretry", "Inner",
        "max_retries", "request", "retries", "exc", "LIMIT", "first", "second", "decorated", "task_always_eager",
    }  # fmt: skip
    assert said <= set(names.identifiers)
    talk = {"Elephant", "elephant_walk", "Giraffe", "Zebra", "plainword", "English", "an English sentence"}
    assert talk.isdisjoint(names.identifiers)


def test_a_re_export_makes_a_name_known_by_both_names():
    names, _ = read(
        {"app/__init__.py": "from app.task import Task\nfrom kombu import Pool as ThePool\nimport a.b as c\n"}
    )
    assert {"Task", "Pool", "ThePool", "a.b", "c"} <= set(names.identifiers)
    assert names.definitions == []


def test_a_file_that_does_not_parse_defines_nothing_and_stops_nothing():
    names, _ = read({"app/bad.py": "def broken(:\n    pass\n", "app/good.py": "def good(): ...\n"})
    assert [row.symbol for row in names.definitions] == ["good"]
    assert "broken" not in names.identifiers


@pytest.mark.parametrize("text", ["x = '\\0'\n\0", "(" * 5000, "x = " + "-" * 20_000 + "1\n", ""])
def test_a_file_that_python_itself_cannot_read_stops_nothing(text: str):
    names, _ = read({"app/bad.py": text, "app/good.py": "def good(): ...\n"})
    assert "good" in [row.symbol for row in names.definitions]


def test_what_python_warns_of_in_a_corpus_is_not_shown():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names, _ = read({"app/a.py": 'import re\n\nPATTERN = re.compile("\\d")\n'})
    assert "PATTERN" in names.identifiers


def test_names_may_be_written_in_any_script():
    names, _ = read(
        {
            "app/a.py": "class İşlemci:\n    def çalıştır(self, görev): ...\n\n\ndef 検索(): ...\n",
            "app/b.ts": "export class Öffner { öffne(tür: string) { return tür } }\n",
        }
    )
    assert {"İşlemci.çalıştır", "検索", "Öffner.öffne"} <= {row.symbol for row in names.definitions}
    assert {"çalıştır", "görev", "検索", "Öffner", "tür"} <= set(names.identifiers)


TYPESCRIPT = """
// Giraffe is only in a comment
/* and so is
   Zebra */
export interface Options { retries: number }

export const LIMIT = 3

export enum Colour { Red, Green }

export class Pool {
  size = 1
  acquire(timeout: number) {
    return open("plainword", 'Elephant', timeout)
  }
}

export function connect(url: string): Pool {
  return new Pool()
}
"""


def test_typescript_has_names_too():
    names, texts = read({"src/pool.ts": TYPESCRIPT})
    for symbol, begins in {
        "Options": "export interface Options",
        "Colour": "export enum Colour",
        "Pool": "export class Pool",
        "Pool.acquire": "acquire(timeout",
        "connect": "export function connect",
        "LIMIT": "export const LIMIT",
    }.items():
        row = one(names, symbol)
        assert row.module == "src.pool"
        assert begins in texts[row.ids[0]], symbol
    assert {"retries", "acquire", "timeout", "connect", "url", "Red"} <= set(names.identifiers)
    assert {"Giraffe", "Zebra", "Elephant", "plainword"}.isdisjoint(names.identifiers)


def test_a_comment_that_never_ends_and_an_escaped_quote_hide_no_more_than_they_should():
    names, _ = read({"src/a.ts": 'const a = "x \\" Zebra"\nconst b = /\\"/\nfunction after() {}\n/* Giraffe'})
    assert {"a", "b", "after"} <= set(names.identifiers)
    assert {"Zebra", "Giraffe"}.isdisjoint(names.identifiers)


def test_words_of_endless_length_are_no_names():
    names, _ = read({"app/a.py": f"{'x' * 80} = {'y' * 81} = 1\n"})
    assert "x" * 80 in names.identifiers
    assert "y" * 81 not in names.identifiers


# --- as a whole


def test_every_file_is_known_by_its_path_with_its_first_chunks():
    long = "".join(f"def f{i}():\n    return {'x' * i!r}\n\n\n" for i in range(30))
    names, texts = read({"src/a.py": long, "docs/b.rst": "Title\n=====\n\nText.\n", "empty.py": ""})
    assert [(path, category) for path, category, _ in names.files] == [
        ("src/a.py", "code"),
        ("docs/b.rst", "doc"),
        ("empty.py", "code"),
    ]
    assert [len(ids) for _, _, ids in names.files] == [8, 1, 0]
    assert "f0" in texts[names.files[0][2][0]]


def test_names_survive_json_and_are_sorted(python):
    names, _ = python
    assert Names.from_dict(json.loads(json.dumps(names.to_dict()))) == names
    assert names.identifiers == sorted(names.identifiers)


def test_every_chunk_that_is_named_exists(celery):
    """On the real corpus, over the files that are quick to cut."""
    files = [file for file in celery.files if file.path.startswith("celery/celery/app/")]
    chunks = chunk_files(files, "symbols", count_tokens=lambda texts: [len(t.split()) + 2 for t in texts])
    known = {chunk.node.id_: chunk.node.metadata for chunk in chunks}
    names = names_of(files, chunks)
    assert len(names.definitions) > 500
    for row in names.definitions:
        assert row.ids
        assert set(row.ids) <= set(known)
        paths = {known[name]["path"] for name in row.ids}
        assert len(paths) == 1
        assert paths.pop().removesuffix(".py").removesuffix("/__init__").replace("/", ".") == row.module
    assert "Task.retry" in {row.symbol for row in names.definitions}
    assert {"apply_async", "task_always_eager"} <= set(names.identifiers)


LONG = 100_000


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.rst", ":a" * (LONG // 2)),
        ("a.rst", ":" * LONG),
        ("a.rst", "``a" * (LONG // 3)),
        ("a.rst", "aA" * (LONG // 2) + "_"),
        ("a.rst", "a-" * (LONG // 2) + "_"),
        ("a.rst", "aB" * (LONG // 2) + "("),
        ("a.md", "`" * LONG),
        ("a.md", "`a" * (LONG // 2)),
        ("a.md", "aA" * (LONG // 2) + "1"),
        ("a.ts", "/*" * (LONG // 2)),
        ("a.ts", '\\"' * (LONG // 2)),
        ("a.ts", "'\\" * (LONG // 2)),
        ("a.ts", "'" + "\\'" * (LONG // 2)),
        ("a.ts", "//" * (LONG // 2)),
        ("a.py", "x = '" + "a." * (LONG // 2) + "'\n"),
    ],
)
def test_no_text_makes_a_rule_run_away(path: str, text: str):
    """Only the words are looked at here, not how the file is cut."""
    from rungs.corpus.names import _LITERALS, _NAMELIKE, _identifiers, _term

    file = SourceFile.from_text(path, text)
    started = time.process_time()
    _identifiers(file)
    _term(text)
    if pattern := _LITERALS.get(file.language):
        list(_NAMELIKE.finditer(pattern.sub(" ", text)))
    assert time.process_time() - started < 1

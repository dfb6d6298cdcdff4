"""Chunks: nothing is lost, nothing is invisible to the model, and every hit shows the lines it names."""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rungs.corpus import Chunk, Corpus, SourceFile, chunk_files, symbols

CountTokens = Callable[[list[str]], list[int]]
FIELDS = {"path", "symbol", "start_line", "end_line", "category", "language"}


def count_characters(texts: list[str]) -> list[int]:
    """Stand in for a tokenizer that sees every character, line ends too, and adds two of its own."""
    return [len(text) + 2 for text in texts]


def count_words(texts: list[str]) -> list[int]:
    return [len(text.split()) + 2 for text in texts]


def source(path: str, text: str) -> SourceFile:
    return SourceFile.from_text(path, dedent(text).lstrip("\n"))


def cut_up(file: SourceFile, *, max_tokens: int = 256, count: CountTokens = count_words) -> list[Chunk]:
    chunks = chunk_files([file], max_tokens=max_tokens, count_tokens=count)
    check([file], chunks, max_tokens, count)
    return chunks


def place(chunk: Chunk) -> tuple[str, int, int]:
    return chunk.node.metadata["symbol"], chunk.node.metadata["start_line"], chunk.node.metadata["end_line"]


def check(files: list[SourceFile], chunks: list[Chunk], max_tokens: int, count: CountTokens) -> None:
    """Hold chunks to everything they promise."""
    lines = {file.path: file.lines for file in files}
    embedded: dict[str, list[str]] = defaultdict(list)
    seen = set()
    for chunk in chunks:
        metadata = chunk.node.metadata
        assert set(metadata) == FIELDS
        first, last, text = metadata["start_line"], metadata["end_line"], chunk.node.text
        shown = "\n".join(lines[metadata["path"]][first - 1 : last])
        assert text == shown or (first == last and text in shown)
        assert text.strip()
        assert (metadata["path"], first, last, text) not in seen
        seen.add((metadata["path"], first, last, text))
        assert chunk.lexical_text == "\n".join([metadata["path"], metadata["symbol"], text])
        embedded[metadata["path"]].append(chunk.embed_text)
    assert len({chunk.node.id_ for chunk in chunks}) == len(chunks)
    assert max(count([chunk.embed_text for chunk in chunks]), default=0) <= max_tokens
    for path, texts in embedded.items():
        whole = {line for text in texts for line in text.split("\n")}
        rest = [line for line in lines[path] if line.strip() and line not in whole]
        missing = [line for line in rest if not visible(line, texts)]
        assert not missing, (path, missing[:3])
    for path, content in lines.items():
        assert path in embedded or not any(line.strip() for line in content)


def visible(line: str, texts: list[str]) -> bool:
    """Tell whether a line is embedded whole, or in pieces that make it up together."""
    if any(line in text for text in texts):
        return True
    covered = [False] * len(line)
    for text in texts:
        body = text.rsplit("\n", 1)[-1]
        start = line.find(body)
        while body and start >= 0:
            covered[start : start + len(body)] = [True] * len(body)
            start = line.find(body, start + 1)
    return all(seen or letter.isspace() for seen, letter in zip(covered, line, strict=True))


# ---- Python ------------------------------------------------------------------------------------------------------

MODULE = '''
    """What this is for."""
    import os

    LIMIT = 3

    # leads to the function
    @decorated
    def first(a, b=1):
        """First."""
        def nested():
            return a
        return nested

    ALIAS = first


    class Pool(Base):
        """Connections."""

        size = 3

        def acquire(self, wait):
            return wait

        kind = "x"

        def release(self):
            pass
            # the last word of release

    if __name__ == "__main__":
        def main():
            pass
        main()
'''


def test_python_by_symbol() -> None:
    chunks = cut_up(source("app/pool.py", MODULE))
    assert [place(chunk) for chunk in chunks] == [
        ("", 1, 4),
        ("first", 7, 12),
        ("", 14, 14),
        ("Pool", 17, 20),
        ("Pool.acquire", 22, 23),
        ("Pool", 25, 25),
        ("Pool.release", 27, 28),
        ("", 31, 31),
        ("main", 32, 33),
        ("", 34, 34),
    ]
    by_place = {place(chunk): chunk for chunk in chunks}
    first = by_place["first", 7, 12]
    assert first.embed_text.startswith("app/pool.py first\n# leads to the function\n@decorated\ndef first(a, b=1):\n")
    assert first.node.text.startswith("@decorated\n")
    pool = by_place["Pool", 17, 20]
    assert pool.node.text == 'class Pool(Base):\n    """Connections."""\n\n    size = 3'
    assert pool.embed_text.endswith("\nmembers: acquire(wait), release(), size, kind")
    assert by_place["Pool.release", 27, 28].embed_text.endswith("# the last word of release")
    assert [chunk.node.id_ for chunk in chunks if chunk.node.metadata["symbol"] == "Pool"] == [
        "app/pool.py::Pool#0",
        "app/pool.py::Pool#1",
    ]


def test_long_functions_are_cut_at_statements_and_repeat_their_signature() -> None:
    body = "".join(
        f"    if cond_{i}:\n        call_{i}(\n            1,\n        )\n        done()\n" for i in range(40)
    )
    file = source("a.py", f'def work(alpha, beta):\n    """Do it."""\n{body}')
    chunks = cut_up(file, max_tokens=60)
    assert len(chunks) > 3
    for chunk in chunks[1:]:
        assert chunk.embed_text.startswith("a.py work\ndef work(alpha, beta):\n")
        assert chunk.node.text.lstrip().startswith("if cond_")  # never inside a call, nor below a bare ``if``
    assert chunks[0].node.text.startswith("def work(")
    assert [place(chunk)[1] for chunk in chunks[1:]] == [place(chunk)[2] + 1 for chunk in chunks[:-1]]


def test_nested_statements_are_cut_where_they_are_shallow() -> None:
    deep = "def f():\n    with a:\n" + "".join(f"        x{i} = 1\n" for i in range(20)) + "    tail()\n" * 40
    chunks = cut_up(source("a.py", deep), max_tokens=80)
    starts = [chunk.node.text for chunk in chunks[1:]]
    assert any(text.startswith("    tail()") for text in starts)


def test_comments_stay_with_what_they_explain() -> None:
    attributes = "".join(f"    #: About {i},\n    #: in two lines.\n    option_{i} = {i}\n\n" for i in range(40))
    chunks = cut_up(source("a.py", f"class Options:\n{attributes}    def f(self): pass\n"), max_tokens=60)
    for chunk in chunks:
        if chunk.node.metadata["symbol"] == "Options" and "option_" in chunk.node.text:
            assert chunk.node.text.lstrip().startswith(("#: About", "class"))


def test_a_large_type_keeps_one_chunk_for_all_of_it() -> None:
    attributes = "".join(f"    option_{i} = {i}  # about option {i}\n" for i in range(60))
    methods = "".join(f"    def method_{i}(self, arg): pass\n" for i in range(3))
    file = source("a.py", f'class Big(Base):\n    """All the options."""\n\n{attributes}\n{methods}')
    chunks = cut_up(file, max_tokens=80)
    whole = chunks[0]
    assert place(whole) == ("Big", 1, 2)
    assert whole.node.text == 'class Big(Base):\n    """All the options."""'
    assert "members: method_0(arg), method_1(arg), method_2(arg), option_0" in whole.embed_text
    rest = [chunk for chunk in chunks[1:] if chunk.node.metadata["symbol"] == "Big"]
    assert [place(rest[0])[1], place(rest[-1])[2]] == [4, 63]
    assert all(chunk.embed_text.startswith("a.py Big\nclass Big(Base):\n") for chunk in rest)


def test_a_type_with_a_long_docstring() -> None:
    paragraphs = "".join(f"    Paragraph {i} says this and that and more\n    on two lines.\n\n" for i in range(30))
    text = f'class Big:\n    """Short.\n\n{paragraphs}    """\n\n    x = 1\n\n    def f(self): pass\n'
    chunks = cut_up(source("a.py", text), max_tokens=80)
    whole = chunks[0]
    assert place(whole) == ("Big", 1, 94)
    assert whole.embed_text.endswith("members: f(), x")
    assert len([chunk for chunk in chunks if chunk.node.metadata["symbol"] == "Big"]) > 3


def test_one_chunk_where_a_type_fits_with_its_members() -> None:
    chunks = cut_up(source("a.py", "class Small:\n    x = 1\n    y = 2\n"))
    assert [place(chunk) for chunk in chunks] == [("Small", 1, 3)]


@pytest.mark.parametrize("text", ["def broken(:\n    pass\n", "x = '''\n", "+".join(["a"] * 20_000)])
def test_broken_python_falls_back_to_windows_with_a_warning(text: str, caplog: pytest.LogCaptureFixture) -> None:
    warned: list[str] = []
    with caplog.at_level(logging.WARNING):
        chunks = chunk_files([source("bad.py", text)], count_tokens=count_words, warnings=warned)
    assert chunks
    assert len(warned) == 1
    assert warned[0].startswith("bad.py: not valid Python")
    assert caplog.messages == warned


def test_definitions_that_share_a_line() -> None:
    chunks = cut_up(source("a.js", "function a() {} function b() {\n}\nfunction c() {}\n"))
    assert [place(chunk) for chunk in chunks] == [("a", 1, 2), ("c", 3, 3)]
    assert [place(chunk) for chunk in cut_up(source("b.js", "class A { m() {} n() {} }\n"))] == [("A", 1, 1)]


def test_deep_nesting() -> None:
    text = "".join("    " * depth + f"if x{depth}:\n" for depth in range(80))
    text += "".join("    " * 80 + f"call{i}(1, 2)\n" for i in range(100))
    cut_up(source("a.py", f"def f():\n{''.join('    ' + line + chr(10) for line in text.splitlines())}"), max_tokens=64)
    script = "function f() {\n" + "if (x) {\n" * 300 + "y()\n" + "}\n" * 300 + "}\n"
    cut_up(source("a.ts", script), max_tokens=64)


# ---- Other languages ---------------------------------------------------------------------------------------------


def test_typescript_by_symbol() -> None:
    file = source(
        "src/mail.ts",
        """
        import { x } from 'y'

        /** Sends mail. */
        @Injectable()
        export class Mailer {
          limit = 3

          /** Send one. */
          @Log()
          send(to: string) {
            return to
          }
        }

        export type Options = { a: string }
        const local = 1
        """,
    )
    chunks = cut_up(file)
    assert [place(chunk) for chunk in chunks] == [
        ("", 1, 1),
        ("Mailer", 3, 6),
        ("Mailer.send", 8, 12),
        ("Options", 15, 15),
        ("", 16, 16),
    ]
    assert "members: send(to: string), limit" in chunks[1].embed_text
    assert chunks[2].embed_text.endswith("}\n}")  # the brace of the class is seen, and claimed by nobody


def test_a_long_object_is_cut_between_its_entries() -> None:
    entries = "".join(f"  {{\n    name: 'field{i}',\n    type: 'text',\n  }},\n" for i in range(60))
    chunks = cut_up(source("a.ts", f"export const fields = [\n{entries}]\n"), max_tokens=60)
    assert len(chunks) > 3
    for chunk in chunks[1:]:
        assert chunk.node.text.startswith("  {\n")


def test_sections_of_documents() -> None:
    file = source(
        "docs/guide.rst",
        """
        Before any heading.

        .. _guide:

        Guide
        =====

        Intro.

        .. _tasks:

        Tasks
        -----

        Text.
        """,
    )
    chunks = cut_up(file)
    assert [place(chunk) for chunk in chunks] == [("", 1, 1), ("Guide", 3, 8), ("Guide > Tasks", 10, 15)]
    assert chunks[2].embed_text.startswith("docs/guide.rst Guide > Tasks\n.. _tasks:\n")


def test_long_sections_are_cut_between_paragraphs_and_repeat_the_heading() -> None:
    paragraphs = "".join(f"Paragraph {i} begins here\nand ends here.\n\n" for i in range(60))
    chunks = cut_up(source("README.md", f"# Top\n\n## Long one\n\n{paragraphs}"), max_tokens=60)
    parts = [chunk for chunk in chunks if chunk.node.metadata["symbol"] == "Top > Long one"]
    assert len(parts) > 3
    assert all(chunk.embed_text.startswith("README.md Top > Long one\n") for chunk in parts)
    assert all(chunk.node.text.startswith("Paragraph") for chunk in parts[1:])


def test_very_long_names_leave_room_for_text() -> None:
    title = " ".join(f"word{i}" for i in range(200))
    text = f"# {title}\n\n## Second\n\n" + "one two three\n" * 50
    chunks = cut_up(source("a.md", text), max_tokens=64)
    assert any("> Second" not in chunk.embed_text and "Second" in chunk.embed_text for chunk in chunks)
    arguments = ", ".join(f"argument_{i}=None" for i in range(100))
    cut_up(source("a.py", f"def f({arguments}):\n" + "    x = 1\n" * 100), max_tokens=64)


def test_everything_else_by_windows() -> None:
    chunks = cut_up(source("deploy/app.yml", "key: value\n" * 300), max_tokens=256)
    assert len(chunks) > 2
    assert all(len(chunk.node.text) <= 1000 for chunk in chunks)
    assert {chunk.node.metadata["symbol"] for chunk in chunks} == {""}
    assert chunks[0].embed_text.startswith("deploy/app.yml\n")


@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.md", "a.yml", "a.rst", "a.unknown"])
@pytest.mark.parametrize("line", [" ".join(f"w{i}" for i in range(1000)), "".join(f"w{i}" for i in range(1000))])
@pytest.mark.parametrize("count", [count_characters, count_words])
def test_one_very_long_line(path: str, line: str, count: CountTokens) -> None:
    mark = "# " if path == "a.py" else "// " if path == "a.ts" else ""
    cut_up(SourceFile.from_text(path, f"first = 1\n{mark}{line}\nlast = 2\n"), max_tokens=100, count=count)


def test_a_long_line_that_repeats_itself_is_kept_once() -> None:
    chunks = cut_up(SourceFile.from_text("a.yml", "x" * 5000 + "\n"), max_tokens=100, count=count_characters)
    assert len({chunk.node.text for chunk in chunks}) == len(chunks)


# ---- Rung 1 ------------------------------------------------------------------------------------------------------


def test_plain_windows_embed_nothing_but_themselves() -> None:
    file = source("app/pool.py", MODULE * 5)
    chunks = chunk_files([file], "windows", count_tokens=count_words)
    assert len(chunks) > 1
    assert all(chunk.embed_text == chunk.node.text for chunk in chunks)
    assert all(len(chunk.node.text) <= 1000 for chunk in chunks)
    assert [chunk.node.id_ for chunk in chunks[:2]] == ["app/pool.py::#0", "app/pool.py::#1"]
    assert chunks[1].node.metadata["start_line"] <= chunks[0].node.metadata["end_line"]


# ---- Edges and properties ----------------------------------------------------------------------------------------


def test_nothing_in_nothing_out() -> None:
    assert chunk_files([], count_tokens=count_words) == []
    assert chunk_files([source("a.py", "")], count_tokens=count_words) == []
    assert chunk_files([source("a.md", "\n \n")], "windows", count_tokens=count_words) == []


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="symbols"):
        chunk_files([], "lines", count_tokens=count_words)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 32"):
        chunk_files([], max_tokens=10, count_tokens=count_words)


PIECES = st.sampled_from(
    [
        "def f(a):\n    return a\n",
        "class A:\n    x = 1\n    def m(self):\n        pass\n",
        "# note\n",
        "\n",
        "x = [\n    1,\n    2,\n]\n",
        "if a:\n    b = 1\nelse:\n    c = 2\n",
        "Title\n=====\n\nText here.\n",
        "## Head\n\ntext\n",
        "```\ncode\n```\n",
        "export function g() {\n  return 1\n}\n",
        "}\n",
        "'''\n",
        "word " * 80 + "\n",
        "\x0c\n",
        "a\u2028b\n",
    ]
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=150)
@given(st.lists(PIECES, max_size=25), st.sampled_from(["a.py", "a.ts", "a.js", "a.md", "a.rst", "a.yml", "t/a.py"]))
def test_any_text_keeps_the_promises(pieces: list[str], path: str) -> None:
    file = SourceFile.from_text(path, "".join(pieces))
    for count in (count_words, count_characters):
        check([file], chunk_files([file], max_tokens=64, count_tokens=count), 64, count)
    again = chunk_files([file], max_tokens=64, count_tokens=count_words)
    once = chunk_files([file], max_tokens=64, count_tokens=count_words)
    assert [(chunk.node.id_, chunk.node.text) for chunk in again] == [
        (chunk.node.id_, chunk.node.text) for chunk in once
    ]


# ---- The real corpus ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(celery: Corpus, count_tokens: CountTokens) -> list[Chunk]:
    return chunk_files(celery.files, count_tokens=count_tokens)


def test_the_real_corpus_keeps_the_promises(celery: Corpus, real: list[Chunk], count_tokens: CountTokens) -> None:
    """Every non-blank line is in a chunk's embedded text, within what the model reads."""
    check(list(celery.files), real, 256, count_tokens)
    assert {chunk.node.metadata["path"] for chunk in real} == {file.path for file in celery.files}


def test_the_real_corpus_is_not_cut_finer_than_it_must(celery: Corpus, real: list[Chunk]) -> None:
    functions = Counter(chunk.node.metadata["path"] for chunk in real)
    assert sum(functions.values()) < 25_000
    assert set(celery.counts()) == {chunk.node.metadata["category"] for chunk in real}


def test_ids_do_not_depend_on_other_files(celery: Corpus, real: list[Chunk], count_tokens: CountTokens) -> None:
    file = celery.get("celery/celery/canvas.py")
    assert file is not None
    alone = chunk_files([file], count_tokens=count_tokens)
    among = [chunk for chunk in real if chunk.node.metadata["path"] == file.path]
    assert [(c.node.id_, c.node.text, c.embed_text) for c in alone] == [
        (c.node.id_, c.node.text, c.embed_text) for c in among
    ]


def test_python_methods_are_exactly_their_lines(celery: Corpus, real: list[Chunk]) -> None:
    """A method in one chunk spans what a label for it spans."""
    per_symbol: dict[tuple[str, str], list[Chunk]] = defaultdict(list)
    for chunk in real:
        per_symbol[chunk.node.metadata["path"], chunk.node.metadata["symbol"]].append(chunk)
    file = celery.get("celery/celery/app/base.py")
    assert file is not None
    found = {(symbol.name, symbol.start_line, symbol.end_line) for symbol in symbols(file)}
    checked = 0
    for (path, symbol), chunks in per_symbol.items():
        if path == file.path and symbol.startswith("Celery.") and len(chunks) == 1:
            assert place(chunks[0]) in found
            checked += 1
    assert checked > 50


def test_plain_windows_of_the_real_corpus(celery: Corpus, count_tokens: CountTokens) -> None:
    chunks = chunk_files(celery.files, "windows", count_tokens=count_tokens)
    shown: dict[str, set[int]] = defaultdict(set)
    for chunk in chunks:
        shown[chunk.node.metadata["path"]].update(
            range(chunk.node.metadata["start_line"], chunk.node.metadata["end_line"] + 1)
        )
    for file in celery.files:
        assert {number for number, line in enumerate(file.lines, 1) if line.strip()} <= shown[file.path]
    assert len({chunk.node.id_ for chunk in chunks}) == len(chunks)

"""What a file defines, and the lines a label stands for."""

import ast
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rungs.corpus import Corpus, SourceFile, label_spans, nearest, symbols
from rungs.corpus.symbols import outline_of


def source(path: str, text: str) -> SourceFile:
    return SourceFile.from_text(path, dedent(text).lstrip("\n"))


def spans(file: SourceFile, symbol: str) -> list[tuple[int, int]]:
    return [(span.start_line, span.end_line) for span in label_spans(file, symbol)]


PYTHON = source(
    "app/model.py",
    '''
    """Models."""
    import sys

    LIMIT: int = 3
    first, (second, *rest) = (
        1, (2, 3))

    # about it
    @decorated(
        1,
    )
    @again
    class Model(Base, metaclass=Meta):
        """A model.

        With more to say.
        """

        size = 3

        # before the first method
        @property
        def value(self) -> int:
            """The value."""
            return 1

        @value.setter
        def value(self, new: int) -> None:
            def check(x):
                return x
            self._value = check(new)

        colour = "red"

        async def save(self, *args, deep=False, **options): ...

        class Inner:
            kind = 1

    if sys.platform == "win32":
        def where(): return "here"
        SEP = "w"
    else:
        def where():
            return "there"
        SEP = "u"
    try:
        import fast
    except ImportError:
        fast = None
    total += 1
    ''',
)


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("Model", [(9, 19)]),  # from its decorators to the last line before what leads to the first method
        ("Model.value", [(22, 25), (27, 31)]),
        ("Model.value.check", [(29, 30)]),
        ("Model.save", [(35, 35)]),
        ("Model.size", [(19, 19)]),
        ("Model.colour", [(33, 33)]),
        ("Model.Inner", [(37, 38)]),
        ("Model.Inner.kind", [(38, 38)]),
        ("where", [(41, 41), (44, 45)]),
        ("SEP", [(42, 42), (46, 46)]),
        ("LIMIT", [(4, 4)]),
        ("first", [(5, 6)]),
        ("second", [(5, 6)]),
        ("rest", [(5, 6)]),
        ("fast", [(50, 50)]),
        ("total", [(51, 51)]),
        ("", [(1, 51)]),
        ("value", []),
        ("Model.absent", []),
        ("new", []),
    ],
)
def test_python_labels(symbol: str, expected: list[tuple[int, int]]) -> None:
    assert spans(PYTHON, symbol) == expected


def test_python_details() -> None:
    found = {symbol.name: symbol for symbol in symbols(PYTHON)}
    model = found["Model"]
    assert model.kind == "class"
    assert model.signature == "class Model(Base, metaclass=Meta):"
    assert model.docstring == "A model.\n\nWith more to say."
    assert (model.lead_line, model.start_line, model.header_end, model.doc_end, model.end_line) == (8, 9, 19, 17, 38)
    assert model.members == ("size", "value()", "value(new)", "colour", "save(*args, deep, **options)", "Inner")
    assert found["Model.save"].signature == "async def save(self, *args, deep=False, **options):"
    assert found["Model.save"].kind == "method"
    assert found["where"].kind == "function"


def test_a_name_that_is_not_there_gets_suggestions() -> None:
    assert nearest(PYTHON, "Model.sav")[0] == "Model.save"
    assert nearest(PYTHON, "save")[0] == "Model.save"
    assert nearest(source("a.py", "x"), "y") == []


@pytest.mark.parametrize(
    "text",
    ["def broken(:\n", "x = '\n", "\0", "if x:\n", "(" * 300 + ")" * 300, "a" + "+a" * 50_000, "\tx\n  y\n"],
)
def test_broken_python_has_no_symbols_and_says_why(text: str) -> None:
    outline = outline_of(source("a.py", text))
    assert outline.symbols == ()
    assert "not valid Python" in outline.problem
    assert "\n" not in outline.problem


def test_long_chains_do_not_exhaust_the_stack() -> None:
    text = "if a: x = 0\n" + "".join(f"elif a == {i}: y{i} = 1\n" for i in range(150)) + "def f(): pass\n"
    assert spans(source("a.py", text), "y149") == [(151, 151)]
    assert spans(source("a.py", text), "f") == [(152, 152)]


def test_line_numbers_hold_across_odd_characters() -> None:
    file = SourceFile.from_text("a.py", "x = 'a\x0cb\u2028c'\r\n\x0c\r\ndef f():\r    return 1\r\n")
    assert spans(file, "f") == [(3, 4)]
    assert len(file.lines) == 4


SCRIPT = source(
    "src/service.ts",
    """
    import { x } from 'y'

    /**
     * Sends mail.
     */
    @Injectable({
      scope: 1,
    })
    export class Mailer<T> extends Base implements Sender {
      static limit = 3
      private queue: string[] = []

      handler = async (event: Event) => {
        return event
      }

      /** Send one. */
      @Log()
      @Retry(3)
      async send(to: string, body?: string): Promise<void> {
        const inner = () => 1
      }

      over(a: string): void
      over(a: number): void
      over(a: any) {
      }

      get size() { return 1 }
      set size(value) {}
    }

    export interface Sender { send(to: string): void; name: string }
    export type Options = {
      a: string
      b: number
    }
    export enum Level { Low, High = 2 }

    export function parse(a: string): void
    export function parse(a: number): void
    export function parse(a: any) {
      return a
    }

    export const arrow = async (x: number) => x, two = 2
    const local = 5
    export const { p, q: [r] } = x
    export default function () {
      return 1
    }
    export namespace Deep {
      export function inside() {}
    }
    declare module 'z' {
      interface Extra { a: string }
    }
    abstract class Shape { abstract area(): number }
    """,
)


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("Mailer", [(6, 11)]),
        ("Mailer.limit", [(10, 10)]),
        ("Mailer.handler", [(13, 15)]),
        ("Mailer.send", [(18, 22)]),
        ("Mailer.over", [(24, 27)]),
        ("Mailer.size", [(29, 29), (30, 30)]),
        ("Sender", [(33, 33)]),
        ("Options", [(34, 37)]),
        ("Level", [(38, 38)]),
        ("parse", [(40, 44)]),
        ("arrow", [(46, 46)]),
        ("two", [(46, 46)]),
        ("local", [(47, 47)]),
        ("p", [(48, 48)]),
        ("r", [(48, 48)]),
        ("default", [(49, 51)]),
        ("Deep.inside", [(53, 53)]),
        ("z.Extra", [(56, 56)]),
        ("Shape.area", [(58, 58)]),
        ("inner", []),
    ],
)
def test_typescript_labels(symbol: str, expected: list[tuple[int, int]]) -> None:
    assert spans(SCRIPT, symbol) == expected


def test_typescript_details() -> None:
    found = {symbol.name: symbol for symbol in symbols(SCRIPT)}
    assert found["Mailer"].docstring == "Sends mail."
    assert found["Mailer"].lead_line == 3
    assert found["Mailer"].members[:4] == ("limit", "queue", "handler(event: Event)", "send(to: string, body?: string)")
    assert found["Mailer.send"].docstring == "Send one."
    assert found["Mailer.send"].signature.endswith("async send(to: string, body?: string): Promise<void>")
    assert found["Sender"].members == ("send", "name")
    assert found["Level"].members == ("Low", "High")
    assert found["arrow"].kind == "function"
    assert found["two"].kind == "constant"
    assert found["local"].kind == "assignment"


def test_other_dialects() -> None:
    tsx = source(
        "a.tsx", "export const List = ({ rows }: Props) => {\n  return <ul>{rows.map(r => <li>{r}</li>)}</ul>\n}\n"
    )
    assert spans(tsx, "List") == [(1, 3)]
    jsx = source("a.jsx", "function App() {\n  return <b>x</b>\n}\nApp.prototype.run = function () {\n}\n")
    assert spans(jsx, "App") == [(1, 3)]
    assert spans(jsx, "App.run") == [(4, 5)]
    common = source("a.cjs", "exports.f = (x) => x\nmodule.exports = class {\n  go() {}\n}\n")
    assert spans(common, "f") == [(1, 1)]
    assert spans(common, "default.go") == [(3, 3)]


def test_typescript_with_an_error_keeps_what_is_understood() -> None:
    file = source("a.ts", "export function fine() {\n  return 1\n}\n\nconst = ;;; {{{\n")
    assert spans(file, "fine") == [(1, 3)]


RST = source(
    "docs/guide.rst",
    """
    .. _top:

    =======
     Guide
    =======

    Intro text
    goes on

    .. _names:
    .. module:: app.names

    Names
    =====

    About names. A line
    ---
    that is no heading, and a transition:

    ----

    ::

        Not a heading
        =============

    Deep
    ----

    Text.

    Short title
    ---

    A longer
    ~~~~~~~~

    .. _end:

    Names
    =====

    Again.
    """,
)


def test_rst_sections() -> None:
    found = [(s.name, s.lead_line, s.start_line, s.header_end, s.end_line) for s in symbols(RST)]
    assert found == [
        ("Guide", 1, 3, 5, 43),
        ("Guide > Names", 10, 13, 14, 36),
        ("Guide > Names > Deep", 27, 27, 28, 36),
        ("Guide > Names > Deep > A longer", 35, 35, 36, 36),
        ("Guide > Names", 38, 40, 41, 43),
    ]


def test_rst_labels() -> None:
    assert spans(RST, "Guide > Names") == [(13, 36), (40, 43)]  # two sections of one name
    assert spans(RST, "Names > Deep") == [(27, 36)]
    assert spans(RST, "A longer") == [(35, 36)]
    assert spans(RST, "longer") == []  # an end of the path, not of a word
    assert nearest(RST, "A long")[0] == "Guide > Names > Deep > A longer"


def test_an_ambiguous_end_resolves_to_nothing() -> None:
    file = source("a.rst", "A\n=\n\nNotes\n-----\n\nx\n\nB\n=\n\nNotes\n-----\n\ny\n")
    assert spans(file, "Notes") == []
    assert spans(file, "B > Notes") == [(12, 15)]


MARKDOWN = source(
    "README.md",
    """
    ---
    title: x
    ---
    Setext
    ======

    ## Install ##

    ```sh
    # not a heading
    ```

    ~~~~
    ## nor this
    ```
    ~~~~

        # nor indented code

    Long
    title
    ---

    - item
    ---

    #hashtag

    ### Deep
    # Top
    """,
)


def test_markdown_sections() -> None:
    assert [(s.name, s.start_line, s.end_line) for s in symbols(MARKDOWN)] == [
        ("Setext", 4, 29),
        ("Setext > Install", 7, 18),
        ("Setext > Long title", 20, 29),
        ("Setext > Long title > Deep", 29, 29),
        ("Top", 30, 30),
    ]


@given(
    st.text(alphabet=st.sampled_from("ab#=-~`* \n>:._"), max_size=120),
    st.sampled_from(["a.rst", "a.md", "a.py", "a.ts"]),
)
def test_any_text_can_be_outlined(text: str, path: str) -> None:
    file = SourceFile.from_text(path, text)
    count = len(file.lines)
    outline = outline_of(file)
    for symbol in outline.walk():
        assert 1 <= symbol.lead_line <= symbol.start_line <= symbol.header_end <= symbol.end_line <= count
    assert len(outline.breaks()) == count


def test_every_definition_of_the_real_corpus_resolves_to_its_own_lines(celery: Corpus) -> None:
    """An independent reading with ``ast.walk`` agrees with every span."""
    checked = 0
    for path in ("celery/celery/app/task.py", "celery/celery/canvas.py", "kombu/kombu/transport/redis.py"):
        file = celery.get(path)
        assert file is not None
        tree = ast.parse(file.text)
        found = {(symbol.name, symbol.start_line, symbol.end_line) for symbol in symbols(file)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and node in tree.body:
                    start = min([inner.lineno, *(decorator.lineno for decorator in inner.decorator_list)])
                    assert (f"{node.name}.{inner.name}", start, inner.end_lineno) in found
                    checked += 1
    assert checked > 200

"""Golden files: questions whose right places were found by reading the source.

One JSON object a line. A label is ``path`` or ``path::symbol``, never a line number: lines move, names stay. Labels
are resolved once, on load, against the syntax tree of the corpus and not against anybody's chunks, so the same file
measures every chunking and every peer. A line that cannot be used is a `GoldenError` that names ``file:line`` and what
to do; nothing is skipped.
"""

import difflib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rungs.corpus import find_home, label_spans, load_corpus, nearest
from rungs.errors import GoldenError
from rungs.measure.split import check_split, is_held_out, tuning_file
from rungs.measure.textfiles import parse_json

if TYPE_CHECKING:
    from rungs.corpus import Corpus

__all__ = ["KINDS", "Golden", "Label", "Question", "find_golden", "load_golden"]

KINDS = (
    "prose-en",
    "prose-tr",
    "symbol",
    "symbol-hard",
    "doc",
    "test",
    "multi-hop",
    "issue",
    "negative-far",
    "negative-other",
    "negative-near",
)
MODES = ("any", "all")
_MAY_BE_ABSENT = ("symbol-hard",)  # a name may be hard because it is not there
_REQUIRED = {"id": str, "q": str, "expect": list, "mode": str, "kind": str}
_OPTIONAL = {"difficulty": str, "why": str, "also": list}
_FIELDS = {**_REQUIRED, **_OPTIONAL}
_OTHERS_SHOWN = 10
_LINE_NUMBERS = r"L?\d+([-:]L?\d+)?"


@dataclass(frozen=True, slots=True)
class Label:
    """One right place, resolved.

    Attributes
    ----------
    text
        As written in the golden file.
    path, symbol
        Its two halves; ``symbol`` is empty for a bare path.
    spans
        ``(first, last)`` lines, 1-based and inclusive, one pair per definition of the name. Empty for a bare path, of
        which any line will do.
    """

    text: str
    path: str
    symbol: str = ""
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """One golden line.

    Attributes
    ----------
    id, q
        Name and text of the question.
    expect
        Labels written by reading the corpus; empty for a negative, and for a ``symbol-hard`` name that is not there.
    mode
        ``any``: one label suffices. ``all``: every one is needed.
    kind
        One of `KINDS`.
    difficulty, why
        Free text; ``why`` names what in the source makes the labels right.
    also
        Further places judged right later, from a pool of several systems' results; used only by pooled figures.
    line
        Where it stands in its file, from 1.
    """

    id: str
    q: str
    expect: tuple[Label, ...]
    mode: Literal["any", "all"]
    kind: str
    difficulty: str = ""
    why: str = ""
    also: tuple[Label, ...] = ()
    line: int = field(default=0, compare=False, repr=False)

    @property
    def negative(self) -> bool:
        """Whether the corpus holds no answer."""
        return not self.expect


@dataclass(frozen=True, slots=True)
class Golden:
    """A golden file whose every label resolved.

    Attributes
    ----------
    name
        File name without its ending.
    path
        Where it was read from.
    sha256
        Of the file's bytes: figures are comparable only between equal ones.
    questions
        In file order.
    corpus
        What the labels were resolved against.
    """

    name: str
    path: Path
    sha256: str
    questions: tuple[Question, ...]
    corpus: "Corpus" = field(repr=False)

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def held_out(self) -> bool:
        """Whether it only reports: its file name has the part ``heldout``, as in ``celery.heldout.jsonl``."""
        return is_held_out(self.name)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that occur, in the order of `KINDS`."""
        present = {question.kind for question in self.questions}
        return tuple(kind for kind in KINDS if kind in present)


def find_golden(corpus: str) -> Path:
    """Find the golden file that comes with a corpus.

    Parameters
    ----------
    corpus
        The corpus by name; ``celery.smoke`` and the like name its further files.

    Returns
    -------
    pathlib.Path
        ``golden/<corpus>.jsonl`` of the working directory, else of the checkout, else of the installed package.

    Raises
    ------
    GoldenError
        When there is none.
    """
    package = Path(__file__).parents[1]
    for folder in (Path.cwd() / "golden", package.parent / "golden", package / "_golden"):
        path = folder / f"{corpus}.jsonl"
        if path.is_file():
            return path
    raise GoldenError(f"there is no golden/{corpus}.jsonl; name the file of questions yourself")


def load_golden(path: str | Path, corpus: "Corpus | str | Path") -> Golden:
    """Read a golden file and resolve its labels.

    A held-out file (``celery.heldout.jsonl``) is checked against the tuning file next to it (``celery.jsonl``), where
    there is one: see `rungs.measure.split.check_split`.

    Parameters
    ----------
    path
        A JSONL file in UTF-8; a byte order mark and blank lines are tolerated.
    corpus
        What the questions are about: a corpus, or its name, or a folder.

    Returns
    -------
    Golden
        With at least one question.

    Raises
    ------
    GoldenError
        For the first line that is malformed, repeats an earlier one, holds a label that does not resolve, or asks in a
        held-out file what the tuning file asks.
    CorpusError
        When there is no such corpus or folder.
    """
    path = Path(path)
    if isinstance(corpus, str | Path):
        corpus = load_corpus(corpus, find_home())
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise GoldenError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise GoldenError(f"{path}:{line}: not UTF-8; save the file as UTF-8") from None
    questions = tuple(_questions(text, path, corpus))
    if not questions:
        raise GoldenError(f"{path}: holds no question; add one JSON object per line")
    golden = Golden(_name(path), path, hashlib.sha256(data).hexdigest(), questions, corpus)
    if (tuning := tuning_file(path.resolve())) is not None:
        check_split(load_golden(tuning, corpus), golden)
    return golden


def _name(path: Path) -> str:
    """What a file is called, without its ending; of a link to a held-out file that file's name, for it stays held out."""
    own, real = (one.name.removesuffix(".jsonl") for one in (path, path.resolve()))
    return real if is_held_out(real) else own


def _questions(text: str, path: Path, corpus: "Corpus") -> Iterator[Question]:
    ids: dict[str, int] = {}
    texts: dict[str, int] = {}
    problems: dict[int, GoldenError] = {}
    # not splitlines(): U+2028 and its like are legal inside a JSON string and must not shift the numbering
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            question = replace(_question(_parse(line, path, number), where, corpus), line=number)
            _first_use(ids, question.id, number, f"{where}: id {question.id!r}", "give this one another id")
            _first_use(texts, _plain(question.q), number, f"{where}: question text", "ask something else or delete one")
        except GoldenError as error:
            problems[number] = error
        else:
            yield question
    if problems:
        raise _all_of(problems)


def _all_of(problems: Mapping[int, GoldenError]) -> GoldenError:
    """The first problem in full, and where the others are: whoever mends a file wants to know of all."""
    first, *others = problems
    if not others:
        return problems[first]
    shown = ", ".join(map(str, others[:_OTHERS_SHOWN])) + (", …" if len(others) > _OTHERS_SHOWN else "")
    lines = "line" if len(others) == 1 else f"{len(others)} lines"
    return GoldenError(f"{problems[first]} (also wrong: {lines} {shown})")


def _first_use(seen: dict[str, int], key: str, number: int, what: str, advice: str) -> None:
    if key in seen:
        raise GoldenError(f"{what} was used on line {seen[key]} already; {advice}")
    seen[key] = number


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _parse(line: str, path: Path, number: int) -> dict[str, Any]:
    where = f"{path}:{number}"

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(pairs)
        if len(row) < len(pairs):
            keys = [key for key, _ in pairs]
            raise GoldenError(f"{where}: field {next(k for k in keys if keys.count(k) > 1)!r} is given twice; keep one")
        return row

    row = parse_json(line, path, GoldenError, "write one JSON object per line", number, object_pairs_hook=once)
    if not isinstance(row, dict):
        raise GoldenError(f'{where}: not a JSON object; write {{"id": ..., "q": ..., "expect": [...], ...}}')
    return row


def _question(row: Mapping[str, Any], where: str, corpus: "Corpus") -> Question:
    _check_fields(row, where)
    _check_values(row, where)
    expect = tuple(_label(text, where, corpus) for text in row["expect"])
    also = tuple(_label(text, where, corpus) for text in row.get("also", []))
    rest = {name: row[name] for name in ("difficulty", "why") if name in row}
    return Question(row["id"], row["q"].strip(), expect, row["mode"], row["kind"], also=also, **rest)


def _check_fields(row: Mapping[str, Any], where: str) -> None:
    for name in _REQUIRED:
        if name not in row:
            raise GoldenError(f"{where}: field {name!r} is missing; add it")
    for name, value in row.items():
        if name not in _FIELDS:
            close = difflib.get_close_matches(name, _FIELDS, n=1)
            advice = f"did you mean {close[0]!r}?" if close else f"the fields are {', '.join(_FIELDS)}"
            raise GoldenError(f"{where}: unknown field {name!r}; {advice}")
        if not isinstance(value, _FIELDS[name]):
            wanted = "a list of strings" if _FIELDS[name] is list else "a string"
            raise GoldenError(f"{where}: field {name!r} is {_json_type(value)}; make it {wanted}")


def _json_type(value: Any) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), "null")


def _check_values(row: Mapping[str, Any], where: str) -> None:
    for name in ("id", "q"):
        if not row[name].strip():
            raise GoldenError(f"{where}: field {name!r} is empty; fill it in")
    for name, allowed in (("kind", KINDS), ("mode", MODES)):
        if row[name] not in allowed:
            raise GoldenError(f"{where}: unknown {name} {row[name]!r}; use one of {', '.join(allowed)}")
    _check_polarity(row, where)
    labels = [*row["expect"], *row.get("also", [])]
    for label in labels:
        if not isinstance(label, str):
            advice = 'write "path" or "path::symbol"'
            raise GoldenError(f"{where}: label {json.dumps(label)} is {_json_type(label)}; {advice}")
        if labels.count(label) > 1:
            raise GoldenError(f"{where}: label {label!r} is given twice in expect and also; keep one")


def _check_polarity(row: Mapping[str, Any], where: str) -> None:
    negative = row["kind"].startswith("negative-")
    if negative and (row["expect"] or row.get("also")):
        raise GoldenError(f"{where}: kind {row['kind']!r} has labels; empty expect and also, or change the kind")
    if not negative and not row["expect"] and (row["kind"] not in _MAY_BE_ABSENT or row.get("also")):
        raise GoldenError(f"{where}: kind {row['kind']!r} expects nothing; add a label, or make it a negative-… kind")


def _label(text: str, where: str, corpus: "Corpus") -> Label:
    path, separator, symbol = text.partition("::")
    if not path or (separator and not symbol):
        raise GoldenError(f'{where}: label {text!r} is incomplete; write "path" or "path::symbol"')
    file = corpus.get(path)
    if file is None:
        if re.search(f"[:#]{_LINE_NUMBERS}$", path):
            raise _line_numbers(text, where)
        advice = _did_you_mean(_nearest_paths(path, corpus), "check the path, which is relative to the corpus")
        raise GoldenError(f"{where}: label {text!r}: corpus {corpus.name!r} has no file {path!r}; {advice}")
    if not symbol:
        return Label(text, path)
    spans = tuple((span.start_line, span.end_line) for span in label_spans(file, symbol))
    if not spans:
        if re.fullmatch(_LINE_NUMBERS, symbol):
            raise _line_numbers(text, where)
        advice = _did_you_mean(nearest(file, symbol), "name something this file defines")
        raise GoldenError(f"{where}: label {text!r}: {path} defines no {symbol!r}; {advice}")
    return Label(text, path, symbol, spans)


def _line_numbers(text: str, where: str) -> GoldenError:
    return GoldenError(f"{where}: label {text!r} holds line numbers, which move; write path::symbol")


def _did_you_mean(candidates: list[str], otherwise: str) -> str:
    return f"did you mean {' or '.join(repr(c) for c in candidates[:3])}?" if candidates else otherwise


def _nearest_paths(path: str, corpus: "Corpus") -> list[str]:
    """Paths that end alike first (a forgotten package folder), then those spelled alike."""
    known = [file.path for file in corpus.files]
    tail = path.replace("\\", "/").removeprefix("./").lstrip("/")
    ending = [k for k in known if k.endswith("/" + tail) or tail.endswith("/" + k)]
    return ending or difflib.get_close_matches(path, known, n=2, cutoff=0.7)

"""Pooled judging: places that several systems found, judged right or not without knowing who found them.

Labels written beforehand are never all there is. A system that answers with another place that is right as well is
marked wrong, and the newer the technique the likelier that is. TREC's remedy is a pool: the union of what several systems
put at the top, judged blind. Judged right, a place goes to ``also`` of its question, and figures are reported twice,
strict and pooled.

What is judged is a *place*, a function, the header of a class, a section, an assignment, and not somebody's chunk: one
judgement then serves every way of cutting the same file.

Source of the method: Voorhees and Harman, TREC: Experiment and Evaluation in Information Retrieval (2005), chapter 2.
"""

import fcntl
import hashlib
import json
import os
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rungs.corpus import label_spans, symbols
from rungs.errors import GoldenError, RunError
from rungs.measure.intervals import estimate
from rungs.measure.locate import Location
from rungs.measure.metrics import enough_shown

if TYPE_CHECKING:
    from rungs.corpus import Corpus
    from rungs.corpus.walk import SourceFile
    from rungs.measure.golden import Golden, Question
    from rungs.measure.report import Report

__all__ = [
    "VERDICTS",
    "Agreement",
    "Item",
    "Judgements",
    "agreement",
    "draw_questions",
    "judged_share",
    "places_shown",
    "pool",
    "with_judgements",
]

VERDICTS = ("right", "not", "unsure")
_TOP = 8
_SHOWN_LINES = 80
_ATTRIBUTES = ("assignment", "constant")


@dataclass(frozen=True, slots=True)
class Item:
    """One question beside one place: what a judge sees, and all a judge sees.

    Attributes
    ----------
    question, q
        Id and text of the question.
    place
        As a label is written: ``path::symbol``, or a path where the file names nothing.
    start_line
        Where ``text`` begins, 1-based.
    text
        The source of the place; of each of its definitions the first 80 lines.
    numbers
        Of each line of ``text``, where it stands in the file; None for a line that says what is left out.
    """

    question: str
    q: str
    place: str
    start_line: int
    text: str
    numbers: tuple[int | None, ...] = ()


# --- places


@dataclass(frozen=True, slots=True)
class _Named:
    """One definition of one label that a file allows."""

    name: str
    first: int
    last: int
    kind: str

    @property
    def lines(self) -> range:
        return range(self.first, self.last + 1)

    def inside(self, other: "_Named") -> bool:
        return self.lines != other.lines and other.first <= self.first and self.last <= other.last


def places_shown(hit: Location, corpus: "Corpus") -> tuple[str, ...]:
    """The places that a hit shows, as labels.

    A place is shown by the rule by which labels are found: half of its lines, or 20 of them. Where one function stands in
    another, the outer one counts if as much is shown of what is its own, and then takes in the inner one; a type takes
    in its attributes. A section counts beside those inside it if its own text is half of it, or 20 lines. A function too
    long to be shown counts where it is most of the hit. Text that no label could name (the imports of a module, between
    two sections) shows nothing.

    Parameters
    ----------
    hit
        Where it lies; one without lines shows nothing.
    corpus
        The files.
    """
    file = corpus.get(hit.path)
    if file is None or hit.start_line is None or hit.end_line is None:
        return ()
    named = _named(file)
    if not named:
        return (hit.path,)
    seen = range(hit.start_line, hit.end_line + 1)
    touched = (one for one in named if one.first <= hit.end_line and hit.start_line <= one.last)
    shown = [one for one in touched if _enough(one, (), seen)]
    own = [one for one in shown if _enough(one, [part for part in shown if part.inside(one)], seen)]
    kept = [one for one in own if one.kind == "section" or not any(one.inside(other) for other in own)]
    return tuple(dict.fromkeys(f"{hit.path}::{one.name}" for one in kept))


def _enough(one: _Named, parts: Collection[_Named], seen: range) -> bool:
    """Whether enough is seen of a place, not counting what belongs to its parts."""
    own = set(one.lines).difference(*(part.lines for part in parts if part.kind not in _ATTRIBUTES))
    shared = len(own.intersection(seen))
    if one.kind == "section":  # its label is found by any of its lines, so its own must be a good part of all
        return enough_shown((one.first, one.last), shared)
    bare = own.difference(*(part.lines for part in parts))
    return shared > 0 and (enough_shown((1, len(own)), shared) or 2 * len(bare.intersection(seen)) > len(seen))


@lru_cache(maxsize=4096)
def _named(file: "SourceFile") -> tuple[_Named, ...]:
    found = {
        _Named(item.name, span.start_line, span.end_line, item.kind)
        for item in symbols(file)
        for span in label_spans(file, item.name)
    }
    return tuple(sorted(found, key=lambda one: (one.name, one.first, one.last, one.kind)))


def _spans(place: str, corpus: "Corpus") -> tuple[tuple[int, int], ...]:
    """The lines that a place stands for, one pair a definition; none if it names nothing."""
    path, _, symbol = place.partition("::")
    file = corpus.get(path)
    return tuple((span.start_line, span.end_line) for span in label_spans(file, symbol)) if file else ()


def _checked_spans(place: str, corpus: "Corpus") -> tuple[tuple[int, int], ...]:
    if place.endswith("::") or not (spans := _spans(place, corpus)):
        raise GoldenError(
            f"{place!r} names nothing in corpus {corpus.name!r}; pool the runs again, and delete judgements of it"
        )
    return spans


def _is_label(place: str, question: "Question", corpus: "Corpus", *, also: bool = False) -> bool:
    """Whether a place is right already: a label under another spelling, or in a file any line of which will do."""
    path, spans = place.partition("::")[0], _spans(place, corpus)
    labels = (*question.expect, *question.also) if also else question.expect
    return any(label.path == path and (not label.symbol or label.spans == spans) for label in labels)


def _item(question: "Question", place: str, corpus: "Corpus") -> Item:
    lines = corpus.get(place.partition("::")[0]).lines
    shown: list[tuple[int | None, str]] = []
    spans = _checked_spans(place, corpus)
    for first, last in spans:
        shown += [(None, "⋮")] if shown else []
        end = min(last, first + _SHOWN_LINES - 1)
        shown += [(number, lines[number - 1]) for number in range(first, end + 1)]
        shown += [(None, f"… {last - end} more lines")] if last > end else []
    numbers, text = zip(*shown, strict=True)
    return Item(question.id, question.q, place, spans[0][0], "\n".join(text), numbers)


# --- the pool


def draw_questions(golden: "Golden", kind: str, n: int, *, seed: int = 0) -> frozenset[str]:
    """Draw ``n`` questions of a kind at random; the same ones for the same file and seed.

    Raises
    ------
    GoldenError
        When there are fewer.
    """
    ids = sorted(question.id for question in golden.questions if question.kind == kind and question.expect)
    if len(ids) < n:
        kinds = ", ".join(dict.fromkeys(question.kind for question in golden.questions if question.expect))
        raise GoldenError(
            f"{golden.path}: has {len(ids)} questions of kind {kind!r}; draw at most so many, or of another kind ({kinds})"
        )
    return frozenset(random.Random(seed).sample(ids, n))


def pool(reports: Sequence["Report"], golden: "Golden", ids: Collection[str], *, depth: int = _TOP) -> list[Item]:
    """Everything that any of the systems shows at the top, in an order that says nothing.

    Parameters
    ----------
    reports
        Runs on this golden file.
    golden
        The questions, with their labels: places under ``expect`` are right already and are left out.
    ids
        Questions to pool.
    depth
        How many hits of each run.

    Returns
    -------
    list of Item
        Question by question, each question's places shuffled; the same for the same places, whoever found them.

    Raises
    ------
    GoldenError
        When a report is of other questions.
    RunError
        When a report FAILED, or is of another version of the corpus.
    """
    asked = {question.id: question for question in golden.questions if question.id in ids}
    found: dict[str, set[str]] = {name: set() for name in asked}
    for report in reports:
        for case in _cases(report, golden, ids):
            for hit in case["hits"][:depth]:
                found[case["id"]] |= set(places_shown(_location(hit), golden.corpus))
    items = []
    for name, places in found.items():
        question = asked[name]
        rest = [place for place in places if not _is_label(place, question, golden.corpus)]
        items += [_item(question, place, golden.corpus) for place in sorted(rest, key=lambda p: _shuffled(name, p))]
    return items


def _shuffled(question: str, place: str) -> str:
    return hashlib.sha256(f"{question}\n{place}".encode()).hexdigest()


def _cases(report: "Report", golden: "Golden", ids: Collection[str]) -> list[dict[str, Any]]:
    """The report's rows of these questions; a row is known by its question's text, as labels may change in between."""
    run = f"a run on {report.golden['name']}"
    if report.status != "ok":
        raise RunError(f"{run} FAILED on {len(report.failures)} questions; measure it again")
    if report.corpus["sha256"] != golden.corpus.sha256:
        raise RunError(f"{run} is of another version of corpus {golden.corpus.name!r}; measure it on this one")
    texts = {question.id: question.q for question in golden.questions}
    cases = [case for case in report.cases if case["id"] in ids]
    if missing := set(ids) - {case["id"] for case in cases if case["q"] == texts.get(case["id"])}:
        raise GoldenError(
            f"{golden.path}: {run} does not answer question {min(missing)!r} as it is asked "
            "there; measure it on this file again"
        )
    return cases


def _location(hit: Mapping[str, Any]) -> Location:
    return Location(hit["path"], hit["start_line"], hit["end_line"])


# --- judgements


class Judgements:
    """A file of judgements: JSON lines ``{"id", "q", "place", "verdict", "judge"}``, one added at a time, none rewritten.

    A later line of the same judge on the same item replaces the earlier one when read. A line about a question that is
    asked differently today is passed over: it judged something else. A last line that a crash tore is none: the judge is
    asked again, and the next judgement takes its place.

    Parameters
    ----------
    path
        Made when the first judgement is added.

    Raises
    ------
    GoldenError
        When the file cannot be read, or a line is no judgement.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.rows: list[dict[str, str]] = []
        try:
            data = self.path.read_bytes() if self.path.exists() else b""
        except OSError as error:
            raise GoldenError(f"{self.path}: cannot be read ({error.strerror}); check the path") from None
        lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        for number, line in enumerate(lines, start=1):
            if line.strip() and not (number == len(lines) and _torn(line)):
                self.rows.append(_parsed(line, f"{self.path}:{number}"))

    def add(self, item: Item, verdict: str, judge: str) -> None:
        """Add one judgement; it is on the disk when this returns.

        Raises
        ------
        GoldenError
            For a verdict that is none of `VERDICTS`, a judge without a name, or a file that cannot be written.
        """
        row = {"id": item.question, "q": item.q, "place": item.place, "verdict": verdict, "judge": judge}
        _check(row, "a judgement")
        try:
            with self.path.open("ab+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # two may judge at once; released when the file is closed
                _end_whole(file)
                file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise GoldenError(f"{self.path}: cannot be written ({error.strerror}); check the folder") from None
        self.rows.append(row)

    @property
    def judges(self) -> tuple[str, ...]:
        """Names, in order of their first judgement."""
        return tuple(dict.fromkeys(row["judge"] for row in self.rows))

    def of(self, judge: str | None = None, golden: "Golden | None" = None) -> dict[tuple[str, str], str]:
        """Verdicts by ``(question, place)``: of one judge, or the first judge's on each item.

        With ``golden``, only those on questions as they are asked there.
        """
        texts = None if golden is None else {question.id: question.q for question in golden.questions}
        by_judge: dict[str, dict[tuple[str, str], str]] = {}
        for row in self.rows:
            if texts is None or texts.get(row["id"]) == row["q"]:
                by_judge.setdefault(row["judge"], {})[(row["id"], row["place"])] = row["verdict"]
        if judge is not None:
            return by_judge.get(judge, {})
        merged: dict[tuple[str, str], str] = {}
        for verdicts in by_judge.values():
            merged = {**verdicts, **merged}
        return merged

    def questions(self, golden: "Golden") -> frozenset[str]:
        """Questions that anything was judged of: those that pooled figures are reported on."""
        return frozenset(name for name, _ in self.of(golden=golden))

    def open_items(self, items: Iterable[Item], judge: str) -> list[Item]:
        """What this judge has not judged yet, in order."""
        done = {(row["id"], row["place"], row["q"]) for row in self.rows if row["judge"] == judge}
        return [item for item in items if (item.question, item.place, item.q) not in done]


def _torn(line: bytes) -> bool:
    """Whether a last line without its end is half a judgement, and not one that an editor left without a line end."""
    begin = b'{"id": "'
    if not (line.startswith(begin) or begin.startswith(line)):
        return False  # it was never going to be one
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return not line.rstrip().endswith(b"}")
    return False


def _end_whole(file: Any) -> None:
    """Make a file end with a whole line; what a crash left of one was never a judgement."""
    file.seek(0)
    whole, end, last = file.read().rpartition(b"\n")
    if last and _torn(last):
        file.truncate(len(whole) + len(end))
    elif last:
        file.write(b"\n")


def _parsed(line: bytes, where: str) -> dict[str, str]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise GoldenError(f"{where}: not a judgement (no JSON); mend or delete the line") from None
    if not isinstance(row, dict):
        raise GoldenError(f"{where}: not a judgement (no JSON object); mend or delete the line")
    _check(row, where)
    return row


def _check(row: Mapping[str, Any], where: str) -> None:
    for name in ("id", "q", "place", "verdict", "judge"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise GoldenError(f"{where}: {name!r} is missing or empty; a judgement has id, q, place, verdict and judge")
    if row["verdict"] not in VERDICTS:
        raise GoldenError(f"{where}: verdict {row['verdict']!r} is unknown; use one of {', '.join(VERDICTS)}")


def with_judgements(golden: "Golden", judgements: Judgements) -> list[str]:
    """The golden file's lines, with every place judged right under ``also``.

    Parameters
    ----------
    golden
        The file the judgements are about.
    judgements
        An item that several judged is right only if each of them said so.

    Returns
    -------
    list of str
        JSON lines, in order; only ``also`` of judged questions differs. What stands there and was judged otherwise is
        taken out, what nobody judged stays.

    Raises
    ------
    GoldenError
        When a place judged right is not in the corpus, or its question expects nothing.
    """
    asked = {question.id: question for question in golden.questions}
    right: dict[str, set[str]] = {}
    known = judgements.of(golden=golden)
    verdicts = [judgements.of(judge, golden) for judge in judgements.judges]
    for name, place in known:
        if all(each.get((name, place), "right") == "right" for each in verdicts):
            _checked_spans(place, golden.corpus)
            if not asked[name].expect:
                raise GoldenError(
                    f"{golden.path}:{asked[name].line}: question {name!r} expects nothing, but {place!r} was judged right; "
                    "give it that label and another kind, or delete the judgement"
                )
            right.setdefault(name, set()).add(place)
    lines = []
    for line in golden.path.read_text(encoding="utf-8-sig").split("\n"):
        if line.strip():
            lines.append(_with_also(line, asked, right, known, golden.corpus))
    return lines


def _with_also(
    line: str,
    asked: Mapping[str, "Question"],
    right: Mapping[str, set[str]],
    known: Collection[tuple[str, str]],
    corpus: "Corpus",
) -> str:
    row = json.loads(line)
    before = row.get("also", [])
    unjudged = {place for place in before if (row["id"], place) not in known}
    places = {p for p in right.get(row["id"], ()) if not _is_label(p, asked[row["id"]], corpus)}
    also = sorted(unjudged | places)
    return line if also == sorted(before) else json.dumps(row | {"also": also}, ensure_ascii=False)


def judged_share(report: "Report", golden: "Golden", judgements: Judgements, *, depth: int = _TOP) -> dict[str, Any]:
    """How much of what a run shows at the top has been judged.

    A hit is judged when every place it shows is, or is a label. Hits that show nothing a label could name need no
    judging: nothing could have been judged right.

    Returns
    -------
    dict
        ``value``, ``low``, ``high``, ``n``: share of hits over the judged questions, the interval over *questions* (n).
    """
    ids, known = judgements.questions(golden), judgements.of(golden=golden)
    asked = {question.id: question for question in golden.questions}
    shares = []
    for case in _cases(report, golden, ids):
        shown = [places_shown(_location(hit), golden.corpus) for hit in case["hits"][:depth]]
        done = [all(_settled(p, asked[case["id"]], known, golden.corpus) for p in places) for places in shown]
        if done:
            shares.append(sum(done) / len(done))
    return estimate(shares)


def _settled(place: str, question: "Question", known: Collection[tuple[str, str]], corpus: "Corpus") -> bool:
    return (question.id, place) in known or _is_label(place, question, corpus, also=True)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two judges agree.

    Attributes
    ----------
    n
        Items both judged right or not (those that either was unsure of are left out).
    agreed
        Share on which they agree, with its interval.
    kappa
        Cohen's kappa: agreement beyond chance; None where both gave one verdict throughout.
    right
        Share that each called right.
    unsure
        Items left out.
    """

    n: int
    agreed: dict[str, Any]
    kappa: float | None
    right: tuple[float, float]
    unsure: int


def agreement(judgements: Judgements, first: str, second: str, golden: "Golden | None" = None) -> Agreement:
    """Compare two judges on what both judged.

    Source of kappa: Cohen (1960), Educational and Psychological Measurement 20.

    Raises
    ------
    GoldenError
        When they judged nothing in common.
    """
    a, b = judgements.of(first, golden), judgements.of(second, golden)
    both = sorted(set(a) & set(b))
    pairs = [(a[key] == "right", b[key] == "right") for key in both if "unsure" not in (a[key], b[key])]
    if not pairs:
        raise GoldenError(
            f"{judgements.path}: {first!r} and {second!r} judged nothing in common; let both judge a sample"
        )
    n = len(pairs)
    observed = sum(x == y for x, y in pairs) / n
    p, q = sum(x for x, _ in pairs) / n, sum(y for _, y in pairs) / n
    expected = p * q + (1 - p) * (1 - q)
    kappa = None if expected == 1 else (observed - expected) / (1 - expected)
    return Agreement(n, estimate(float(x == y) for x, y in pairs), kappa, (p, q), len(both) - n)

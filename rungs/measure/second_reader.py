"""A second reader: somebody else answers "where is this?" from the source, without the labels.

A label that another reader does not arrive at is a question that can be read two ways, or a mistake. What is counted is
agreement on places, by the lines they share; names may differ.
"""

import hashlib
import math
import random
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rungs.corpus import label_spans
from rungs.errors import GoldenError
from rungs.measure.golden import KINDS, MODES
from rungs.measure.intervals import estimate
from rungs.measure.textfiles import json_lines

if TYPE_CHECKING:
    from rungs.corpus import Corpus
    from rungs.measure.golden import Golden

__all__ = ["Reading", "draw_sheet", "read_answers"]

_LABELS = ("expect", "mode", "kind")


@dataclass(frozen=True)
class Reading:
    """What `read_answers` returns.

    Attributes
    ----------
    agreed
        Share of the questions on which both agree, with its interval and n.
    by_kind
        The same by kind.
    first
        Share of the questions with a label whose label is the reader's *first* place.
    disagreed
        Ids of the questions on which they do not.
    gone
        Ids that the golden file no longer has, counted by the labels in their own lines.
    unanswered
        Ids of the sheet that have no answer; nothing else counts them.
    """

    agreed: dict[str, Any]
    by_kind: dict[str, dict[str, Any]]
    first: dict[str, Any]
    disagreed: tuple[str, ...]
    gone: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()

    def summary(self) -> str:
        """Lines for a terminal."""
        kinds = ", ".join(f"{kind} {_counted(one)}" for kind, one in self.by_kind.items())
        n, left = self.agreed["n"], self.unanswered
        return (
            (f"{n} of {n + len(left)} answered; not answered: {', '.join(left)}\n" if left else "")
            + f"agreed on {_counted(self.agreed)}: {self.agreed['value']:.3f} "
            f"[{self.agreed['low']:.3f}, {self.agreed['high']:.3f}]\n"
            f"by kind: {kinds}\n"
            f"the reader's first place was a label on {_counted(self.first)}\n"
            f"disagreed: {', '.join(self.disagreed) or 'none'}"
            + (
                f"\nno longer in the golden file, counted by their own labels: {', '.join(self.gone)}"
                if self.gone
                else ""
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        lists = {name: list(getattr(self, name)) for name in ("disagreed", "gone", "unanswered")}
        return {"agreed": self.agreed, "by_kind": self.by_kind, "first": self.first, **lists}


def _counted(one: dict[str, Any]) -> str:
    return f"{round((one['value'] or 0) * one['n'])} of {one['n']}"


def draw_sheet(golden: "Golden", share: float = 0.25, *, seed: int = 0) -> list[dict[str, str]]:
    """Draw questions of every kind, as lines that say nothing but what is asked.

    Returns
    -------
    list of dict
        ``id`` (made from the question, so that it says nothing) and ``q``, shuffled.

    Raises
    ------
    GoldenError
        For a share outside 0 to 1.
    """
    if not 0 < share <= 1:
        raise GoldenError(f"the share to read again is {share:g}; give one above 0 and up to 1")
    rng = random.Random(seed)
    drawn: list[str] = []
    for kind in golden.kinds:
        texts = sorted(question.q for question in golden.questions if question.kind == kind)
        drawn += rng.sample(texts, math.ceil(share * len(texts)))
    rng.shuffle(drawn)
    return [{"id": _blind(text), "q": text} for text in drawn]


def _blind(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def read_answers(path: str | Path, golden: "Golden", sheet: Sequence[Mapping[str, str]] = ()) -> Reading:
    """Compare a second reader's answers with the labels.

    Parameters
    ----------
    path
        JSON lines ``{"id", "places"}`` with the ids of `draw_sheet`, or those of the golden file. A line may hold ``expect``,
        ``mode`` and ``kind``, the labels as they stood when it was read: the agreement then stays that of the reading,
        whatever was mended because of it. A question that was taken out since has to have all three. A line of the sheet
        that was left as it was drawn is not answered.
    golden
        The labels.
    sheet
        From `draw_sheet`. Where every answer is to a question of it, those without an answer are named.

    Returns
    -------
    Reading
        Two agree on a question where any place suffices if any of the reader's shares a line with any label; where all
        are needed, if every label shares one with a place; on an absent one, if neither names a place. A whole file as
        the reader's place meets no label but that whole file.

    Raises
    ------
    GoldenError
        For a line that is no answer or answers a question again, an unknown id, or a place that names no file of the
        corpus.
    """
    known: dict[str, dict[str, Any]] = {}
    for q in golden.questions:
        row = {"id": q.id, "expect": [label.text for label in q.expect], "mode": q.mode, "kind": q.kind}
        known |= {q.id: row, _blind(q.q): row}
    values: dict[str, list[bool]] = {}
    first: list[bool] = []
    disagreed: list[str] = []
    gone: list[str] = []
    lines: dict[str, int] = {}
    unanswered: dict[str, str] = {}  # by the question's own id
    for number, line in json_lines(Path(path), GoldenError):
        where = f"{path}:{number}"
        if isinstance(line, dict) and line.keys() == {"id", "q"} and str(line["id"]) in known:
            unanswered[known[str(line["id"])]["id"]] = str(line["id"])
            continue
        answer = _answer(line, where)
        own = {name: answer[name] for name in _LABELS if name in answer}
        if answer["id"] not in known:
            if len(own) < len(_LABELS):
                raise GoldenError(f"{where}: {answer['id']!r} is no question of {golden.path}; draw the sheet again")
            gone.append(answer["id"])
        row = {**known.get(answer["id"], {"id": answer["id"]}), **own}
        if (before := lines.setdefault(row["id"], number)) != number:
            raise GoldenError(f"{where}: question {row['id']!r} was answered on line {before} already; keep one")
        places = answer["places"]
        agreed = _agree(row["expect"], places, row["mode"], golden.corpus, where)
        values.setdefault(row["kind"], []).append(agreed)
        if row["expect"] and places:
            first.append(any(_meet(places[0], label, golden.corpus, where) for label in row["expect"]))
        if not agreed:
            disagreed.append(row["id"])
    if not values:
        raise GoldenError(f"{path}: holds no answer; write one JSON object per line")
    drawn = {known[row["id"]]["id"]: row["id"] for row in sheet}
    if lines.keys() <= drawn.keys() | set(gone):
        unanswered |= drawn
    left = tuple(shown for id, shown in unanswered.items() if id not in lines)
    everything = [float(v) for group in values.values() for v in group]
    by_kind = {kind: estimate(map(float, group)) for kind, group in values.items()}
    return Reading(estimate(everything), by_kind, estimate(map(float, first)), tuple(disagreed), tuple(gone), left)


def _answer(row: Any, where: str) -> dict[str, Any]:
    if not isinstance(row, dict) or not isinstance(row.get("id"), str) or not _is_texts(row.get("places")):
        raise GoldenError(f'{where}: not an answer; write {{"id": ..., "places": ["path::symbol", ...]}}')
    if not _is_texts(row.get("expect", [])):
        raise GoldenError(f'{where}: "expect" is no list of labels; write ["path::symbol", ...] or leave it out')
    for name, allowed in (("mode", MODES), ("kind", KINDS)):
        if name in row and row[name] not in allowed:
            said = reprlib.repr(row[name])
            raise GoldenError(f"{where}: unknown {name} {said}; use one of {', '.join(allowed)}, or leave it out")
    return row


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _agree(labels: Sequence[str], places: Sequence[str], mode: str, corpus: "Corpus", where: str) -> bool:
    if not labels or not places:
        return not labels and not places
    met = [any(_meet(place, label, corpus, where) for place in places) for label in labels]
    return all(met) if mode == "all" else any(met)


def _meet(place: str, label: str, corpus: "Corpus", where: str) -> bool:
    """Whether two places share a line; a bare path is all of its file, which as a reader's place meets only itself."""
    if label.partition("::")[2] and not place.partition("::")[2]:
        _spans(place, corpus, where)
        return False
    (path, lines), (other, others) = _spans(place, corpus, where), _spans(label, corpus, where)
    return path == other and any(a <= d and c <= b for a, b in lines for c, d in others)


def _spans(place: str, corpus: "Corpus", where: str) -> tuple[str, list[tuple[int, int]]]:
    path, _, symbol = place.partition("::")
    file = corpus.get(path)
    if file is None:
        raise GoldenError(f"{where}: {place!r} names no file of corpus {corpus.name!r}; mend the path")
    last = symbol.rsplit(" > ", 1)[-1]
    # readers write a heading as they see it, with or without its markup
    for name in dict.fromkeys((symbol, last, f"``{last.strip('`')}``", last.strip("`"))):
        if spans := label_spans(file, name):
            return path, [(span.start_line, span.end_line) for span in spans]
    return path, []

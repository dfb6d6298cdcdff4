"""Drafts, their files, and the labels that are suggested in them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rungs.corpus import Corpus, label_spans, nearest
from rungs.errors import GoldenError
from rungs.measure.golden import KINDS, Label
from rungs.measure.textfiles import json_lines, write_lines
from rungs.measure.wording import content_words, wording_of

__all__ = [
    "CLOSE",
    "KEPT_KINDS",
    "Draft",
    "Drafts",
    "overlap_of",
    "read_drafts",
    "read_label",
    "resolved",
    "write_drafts",
]

CLOSE = 0.5
"""From this share of its label's own words on, a draft is marked for rewording."""

KEPT_KINDS = tuple(kind for kind in KINDS if not kind.startswith("negative"))
"""Kinds of a question that has a label."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One question that nobody has confirmed yet.

    Attributes
    ----------
    id
        The same every time the same commit, issue or bullet is mined.
    q
        Subject, title, or first sentence of a bullet, without its tags and issue numbers.
    expect
        Suggested labels, each of which resolves in the corpus; may be empty for an issue or a bullet.
    kind
        ``prose-en`` from a history or a changelog, ``issue`` from issues.
    source
        ``commit 1a2b3c4d5e``, or the issue's file, with the line or item in an export or changelog.
    why
        What suggested the labels.
    overlap
        Share of the question's content words that stand in the wording of the label closest to it, 0 to 1 (see
        `rungs.measure.wording`). From `CLOSE` on the question wants other words.
    """

    id: str
    q: str
    expect: tuple[str, ...]
    kind: str
    source: str
    why: str
    overlap: float

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self) | {"expect": list(self.expect), "overlap": round(self.overlap, 3)}


class Drafts(list[Draft]):
    """Drafts in the order they were found, and why they are not more.

    Attributes
    ----------
    seen
        What was looked at: ``200 commits``.
    dropped
        How many of those gave no draft, by reason.
    """

    def __init__(self, drafts: Iterable[Draft], seen: str, dropped: Mapping[str, int]) -> None:
        super().__init__(drafts)
        self.seen = seen
        self.dropped = dict(dropped)

    def summary(self) -> str:
        """One line for a terminal."""
        close = sum(draft.overlap >= CLOSE for draft in self)
        bare = sum(not draft.expect for draft in self)
        notes = f"{close} in words close to their label's, {bare} without a label"
        return f"{len(self)} drafts from {self.seen} ({notes}); no draft: {counts(self.dropped)}"


def write_drafts(drafts: Iterable[Draft], out: Path | None) -> None:
    """Write drafts as JSON lines, to standard output without a file.

    Raises
    ------
    GoldenError
        If the file cannot be written.
    """
    lines = [json.dumps(draft.to_dict(), ensure_ascii=False) for draft in drafts]
    if out is None:
        print("\n".join(lines))
    else:
        write_lines(out, lines)


def read_drafts(path: Path) -> list[Draft]:
    """Read what `write_drafts` wrote.

    Raises
    ------
    GoldenError
        For the first line that is not a draft or repeats an id, and if there is none.
    """
    drafts: dict[str, Draft] = {}
    for number, row in json_lines(path, GoldenError):
        draft = _as_draft(row)
        if draft is None:
            raise GoldenError(
                f"{path}:{number}: not a draft; make the file with `rungs mine history` or `rungs mine issues`"
            )
        if draft.id in drafts:
            raise GoldenError(f"{path}:{number}: id {draft.id!r} stands twice; give each draft its own")
        drafts[draft.id] = draft
    if not drafts:
        raise GoldenError(f"{path}: holds no draft; make some with `rungs mine history` or `rungs mine issues`")
    return list(drafts.values())


def _as_draft(row: Any) -> Draft | None:
    kinds = {"id": str, "q": str, "expect": list, "kind": str, "source": str, "why": str, "overlap": int | float}
    if not isinstance(row, dict) or row.keys() != kinds.keys():
        return None
    if not all(isinstance(row[name], kind) for name, kind in kinds.items()):
        return None
    usable = row["id"].strip() and row["q"].strip() and row["kind"] in KEPT_KINDS
    if not usable or not all(isinstance(text, str) for text in row["expect"]):
        return None
    return Draft(**row | {"expect": tuple(row["expect"])})


def resolved(path: str, symbol: str, corpus: Corpus) -> Label | None:
    """A label as `load_golden` reads it back from its text, or nothing."""
    file = corpus.get(path)
    if file is None or "::" in path:
        return None
    spans = tuple((span.start_line, span.end_line) for span in label_spans(file, symbol))
    text = f"{path}::{symbol}" if symbol else path
    return Label(text, path, symbol, spans if symbol else ()) if spans else None


def read_label(text: str, corpus: Corpus) -> Label | str:
    """A label that somebody typed, or what is wrong with it."""
    path, separator, symbol = text.partition("::")
    if not path or (separator and not symbol):
        return f'label {text!r} is incomplete; write "path" or "path::symbol"'
    if (file := corpus.get(path)) is None:
        return f"label {text!r}: the corpus has no file {path!r}; check the path, which is relative to the corpus"
    if (label := resolved(path, symbol, corpus)) is None:
        close = " or ".join(repr(name) for name in nearest(file, symbol))
        return f"label {text!r}: {path} defines no {symbol!r}; " + (
            f"did you mean {close}?" if close else "it has no names"
        )
    return label


def overlap_of(question: str, labels: Iterable[Label], corpus: Corpus) -> float:
    """The share of a question's content words that stand in the wording of the label closest to it."""
    asked = content_words(question)
    if not asked:
        return 0.0
    return max((len(asked & content_words(wording_of(label, corpus))) / len(asked) for label in labels), default=0.0)


def counts(counted: Mapping[str, int]) -> str:
    """Reasons and how often each held, the most frequent first."""
    most_first = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n} {reason}" for reason, n in most_first) or "none"

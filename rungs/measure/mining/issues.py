"""Drafts from issues and changelogs: a title or a bullet asks, and what it names is suggested as the answer."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rungs.corpus import Corpus, SourceFile, symbols
from rungs.errors import CorpusError, GoldenError
from rungs.measure.mining.changelog import bullets
from rungs.measure.mining.drafts import Draft, Drafts, counts, overlap_of
from rungs.measure.mining.mentions import Mentions
from rungs.measure.mining.questions import chore, cleaned, plain, storable, too_short
from rungs.measure.textfiles import json_lines, parse_json, read_text
from rungs.measure.wording import content_words
from rungs.terminal import printable

__all__ = ["mine_issues"]

_TEXTS = {".md", ".rst", ".txt"}
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)  # what a tracker's template says to whoever writes
_FENCE = re.compile(r"^---\s*$", re.MULTILINE)
_TITLE_WITHIN = 10_000


def mine_issues(path: Path, corpus: Corpus) -> list[Draft]:
    """Draft questions from issues: the title asks, and what it and the body name is suggested as the answer.

    Of a changelog, a file with versions or dates for headings, every bullet asks with its first sentence.

    Suggested are frames of tracebacks, names that look like code, and paths, where the corpus has exactly one such
    definition or file (one in its code, or else one anywhere), five at most. They are places that the issue names,
    which need not be those that answer it. A single lower-case word is such a name only where it is called: `type()`.
    A place in the tests is suggested only where the issue speaks of tests.

    Parameters
    ----------
    path
        A folder of ``.md``, ``.rst`` and ``.txt`` files, or one such file (title: first heading, or first line); or an
        export: a JSON list of objects with ``title`` and perhaps ``body``, or lines of them (``.jsonl``).
    corpus
        What the labels must resolve in.

    Returns
    -------
    Drafts
        A list of `Draft`, at least one; ``expect`` may be empty.

    Raises
    ------
    CorpusError
        If there is no such file, it cannot be read, or is not of these forms; the message names the line.
    GoldenError
        If no issue or bullet gave a draft; the message counts the reasons.
    """
    known = Mentions(corpus)
    drafts: list[Draft] = []
    dropped: Counter[str] = Counter()
    ids: set[str] = set()
    asked: set[str] = set()
    seen: Counter[str] = Counter()
    for issue in _issues(path):
        seen["bullets" if issue.kind == "prose-en" else "issues"] += 1
        question = cleaned(issue.title)
        reason = issue.unfit or ("says too little" if too_short(question, issue.kind) else "")
        if reason or plain(question) in asked:
            dropped[reason or "asked already"] += 1
            continue
        asked.add(plain(question))
        labels = known.suggested(question, issue.body)
        id = next(name for name in issue.ids() if name not in ids)
        ids.add(id)
        why = f"named in {issue.where}: {question[:200]}"
        expect = tuple(label.text for label in labels)
        drafts.append(Draft(id, question, expect, issue.kind, issue.where, why, overlap_of(question, labels, corpus)))
    if not drafts:
        found = f"no draft from {counts(seen)} ({counts(dropped)})" if seen else "holds no issue"
        advice = "give a folder of .md, .rst or .txt files, a changelog, or a JSON export with titles"
        raise GoldenError(f"{path}: {found}; {advice}")
    return Drafts(drafts, counts(seen), dropped)


@dataclass(frozen=True, slots=True)
class _Issue:
    title: str
    body: str
    where: str
    name: str
    unfit: str = ""
    kind: str = "issue"

    def ids(self) -> Iterator[str]:
        """Its own number, file name or words first; it stays the same when the file grows."""
        yield self.name
        number = 2
        while True:
            yield f"{self.name}-{number}"
            number += 1


def _issues(path: Path) -> Iterator[_Issue]:
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.suffix.lower() in _TEXTS and file.is_file() and not file.is_symlink():
                yield from _written(file, file.relative_to(path))
    elif path.suffix.lower() in _TEXTS:
        yield from _written(path, Path(path.name))
    elif path.suffix.lower() == ".jsonl":
        for number, row in json_lines(path, CorpusError, halves=True):
            yield _exported(row, f"{path}:{number}", f"{path.name}:{number}")
    elif path.suffix.lower() == ".json":
        yield from _export(path)
    else:
        read_text(path, CorpusError)  # a file that is not there is the likelier trouble
        forms = ".md, .rst, .txt, .json or .jsonl, or a folder of texts"
        raise CorpusError(f"{path}: not a form of issues known here; give {forms}")


def _written(path: Path, relative: Path) -> Iterator[_Issue]:
    """The bullets of a changelog, or the one issue that a file is."""
    text = read_text(path, CorpusError)
    title, where = "", printable(relative.as_posix())
    name = _slug(relative.with_suffix("").as_posix()) or "file"
    if found := bullets(relative.name, text):
        for bullet in found:
            own = "-".join([name, _slug(bullet.release), *sorted(content_words(cleaned(bullet.title)))[:5]])
            place, question = f"{where}:{bullet.line}", storable(bullet.title)
            yield _Issue(question, storable(bullet.body), place, own, chore(question), "prose-en")
        return
    if text.startswith("---\n") and (end := _FENCE.search(text, 4)):  # fields above the text
        title = next((line[6:].strip(" \"'") for line in text[4 : end.start()].split("\n") if line[:6] == "title:"), "")
        text = text[end.end() :]
    file = SourceFile.from_text(relative.name, _COMMENT.sub("", text[:_TITLE_WITHIN]))
    yield _Issue(title or _title(file), text, where, f"issue-{name}", "" if text.strip() or title else "no title")


def _slug(text: str) -> str:
    return re.sub(r"\W+", "-", text).strip("-")


def _title(file: SourceFile) -> str:
    """The first heading of the first level, or what stands first."""
    lines = file.lines
    first = next((number for number, line in enumerate(lines, 1) if line.strip()), 0)
    if not first:
        return ""
    sections = symbols(file)
    top = [item for item in sections if lines[item.start_line - 1].startswith("# ")]
    top += [item for item in sections[:1] if item.start_line <= first or file.path.endswith(".rst")]
    return top[0].signature if top else lines[first - 1].strip().lstrip("#")


def _export(path: Path) -> Iterator[_Issue]:
    advice = "export it again, or mend the line"
    data = parse_json(read_text(path, CorpusError), path, CorpusError, advice, halves=True)
    if isinstance(data, dict):  # a tracker's answer around its list
        data = next((data[name] for name in ("items", "issues") if isinstance(data.get(name), list)), data)
    if not isinstance(data, list):
        raise CorpusError(f'{path}: not a list of issues; write [{{"title": ..., "body": ...}}, ...]')
    for number, row in enumerate(data, 1):
        yield _exported(row, f"{path}: item {number}", f"{path.name}, item {number}")


def _exported(row: Any, where: str, source: str) -> _Issue:
    if not isinstance(row, dict) or not isinstance(row.get("title"), str):
        raise CorpusError(f'{where} has no text under "title"; write {{"title": ..., "body": ...}}')
    body = next((row[name] for name in ("body", "description") if isinstance(row.get(name), str)), "")
    number = row.get("number", row.get("iid"))
    known = isinstance(number, int) and not isinstance(number, bool)
    own = str(number) if known else "-".join(sorted(content_words(row["title"]))[:6]) or "untitled"
    unfit = "pull request" if row.get("pull_request") else "" if row["title"].strip() else "no title"
    return _Issue(row["title"], storable(body), printable(source), f"issue-{own}", unfit)

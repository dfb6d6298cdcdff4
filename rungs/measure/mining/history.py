"""Drafts from commits: the subject asks, and the definitions that the commit changed answer."""

import os
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rungs.corpus import Corpus, SourceFile, category, symbols
from rungs.corpus.prose_outline import SEPARATOR
from rungs.corpus.walk import decode
from rungs.errors import GoldenError, SettingsError
from rungs.measure.mining.commits import Change, Commit, blobs_of, commits_of, opened, shown_path
from rungs.measure.mining.drafts import Draft, Drafts, counts, overlap_of, resolved
from rungs.measure.mining.questions import chore, cleaned, plain, tidy, too_short

__all__ = ["mine_history"]

_FEW = 3  # definitions one commit may change and still be about them
_FEW_FILES = 2 * _FEW  # of code
_FEW_DOCUMENTS = 2  # a page and a changelog go with many a fix
_MOST_FILES = 12  # of any kind


def mine_history(repository: Path, corpus: Corpus, *, prefix: str = "", limit: int = 200) -> list[Draft]:
    """Draft questions from commits: the subject asks, and the definitions that the commit changed answer.

    A definition counts as changed when its own lines, without those of definitions inside it, differ between the file
    before and after the commit; a moved one does not. It is a label if today's corpus still defines the name in the
    same file, renames of the file followed.

    Left out, and counted: what bots wrote, reverts and what they revert, version and dependency bumps, housekeeping
    (typos, linters), subjects that say too little, commits that change more than three definitions or none that is
    still there. Commits that change only tests or documents are used only where no other gave a draft.

    Parameters
    ----------
    repository
        A git repository, or a folder in one, of which only that folder's history is read then.
    corpus
        What the labels must resolve in. If its folder lies in the repository, or the repository in it, paths are
        translated; otherwise they are taken to begin at ``repository``.
    prefix
        Put before the repository's paths to get those of the corpus: ``celery/`` for a pinned corpus.
    limit
        Commits to look at, newest first, merges not counted.

    Returns
    -------
    Drafts
        A list of `Draft`, newest first, at least one.

    Raises
    ------
    CorpusError
        If there is no repository, it has no commit, or git cannot read it.
    GoldenError
        If no commit gave a draft; the message counts the reasons.
    SettingsError
        If ``limit`` is below 1.
    """
    if limit < 1:
        raise SettingsError(f"the limit is {limit}; look at 1 commit or more")
    top, shallow = opened(repository)
    below, before = _translation(repository, top, corpus, prefix)
    commits = commits_of(top, below, limit)
    found: list[tuple[Draft, bool]] = []
    dropped: Counter[str] = Counter()
    reverted: set[str] = set()
    asked: set[str] = set()
    for commit in _with_todays_paths(commits, below, before):
        reverted.update(_REVERTED.findall(commit.body))
        reason = _unfit(commit, reverted, shallow)
        drafted = reason or _from_commit(commit, top, corpus)
        if isinstance(drafted, str):
            dropped[drafted] += 1
        elif (asks := plain(drafted[0].q)) in asked:
            dropped["asked already"] += 1
        else:
            asked.add(asks)
            found.append(drafted)
    drafts = [draft for draft, in_code in found if in_code]
    if drafts and (others := len(found) - len(drafts)):
        dropped["only tests or documents"] = others
    result = Drafts(drafts or [draft for draft, _ in found], f"{len(commits)} commits", dropped)
    if not result:
        raise GoldenError(_nothing(repository, commits, corpus, result, shallow))
    return result


_ABSENT = "too large, or not in this clone"
_NO_BLOB = re.compile(r"0+")
_REVERTED = re.compile(r"This reverts commit ([0-9a-f]{7,64})")
_BOT = re.compile(
    r"\[bot\]|\bbot\b|-bot\b|dependabot|renovate|pre-commit-ci|github-actions|pyup|greenkeeper|weblate|transifex",
    re.IGNORECASE,
)


def _translation(repository: Path, top: Path, corpus: Corpus, prefix: str) -> tuple[bytes, str]:
    """What is cut off the repository's paths, and what is put before them, to get those of the corpus."""
    top, here, root = top.resolve(), repository.resolve(), corpus.root.resolve()
    if not prefix and root.is_relative_to(top):
        return _folder(root, top), ""
    if not prefix and here.is_relative_to(root):
        prefix = shown_path(_folder(here, root))
    below = _folder(here, top) if here.is_relative_to(top) else b""
    return below, prefix if not prefix or prefix.endswith("/") else prefix + "/"


def _folder(inner: Path, outer: Path) -> bytes:
    return b"" if inner == outer else os.fsencode(inner.relative_to(outer).as_posix()) + b"/"


def _with_todays_paths(commits: Iterable[Commit], below: bytes, before: str) -> Iterator[Commit]:
    """Follow renames from the newest commit back: an old path is that of the file it became."""
    became: dict[bytes, bytes] = {}
    for commit in commits:
        now = {change: became.get(change.path, change.path) for change in commit.changes}
        became.update({change.old_path: now[change] for change in commit.changes if change.old_path != change.path})
        inside = [(change, path) for change, path in now.items() if path.startswith(below)]
        yield replace(
            commit,
            changes=tuple(replace(c, today=before + shown_path(path.removeprefix(below))) for c, path in inside),
        )


def _unfit(commit: Commit, reverted: set[str], shallow: bool) -> str:
    """Why no question comes of a commit, told from everything but its changes; or nothing."""
    if shallow and not commit.parents:
        return "the edge of a shallow clone"
    if _BOT.search(commit.author):
        return "by a bot"
    if reason := chore(commit.subject):
        return reason
    if any(commit.sha.startswith(sha) for sha in reverted):
        return "reverted later"
    question = cleaned(commit.subject)
    if "; " in question:  # which of them its labels answer cannot be told
        return "says several things"
    return "says too little" if too_short(question, "prose-en") else ""


def _from_commit(commit: Commit, top: Path, corpus: Corpus) -> tuple[Draft, bool] | str:
    """A draft and whether it is about code, or why there is none."""
    files = [(change, file) for change in commit.changes if (file := corpus.get(change.today)) is not None]
    if not files:
        return "no file that is in the corpus"
    code = [change for change in commit.changes if category(change.today) == "code"]
    if len(code) > _FEW_FILES or len(commit.changes) > _MOST_FILES:
        return "changes too much"
    in_code = bool(code)
    documents = sum(category(change.today) == "doc" for change in commit.changes)
    if in_code and documents > max(_FEW_DOCUMENTS, len(code)):
        return "mostly about documents"
    relevant = [pair for pair in files if (pair[1].category == "code") == in_code]
    touched = []
    for change, file in relevant[: 2 * _FEW_FILES]:
        if (names := _touched(change, file, top)) is None:
            return _ABSENT
        touched += [(file, name) for name in names]
    if in_code and not touched:  # imports, comments: then the tests or documents say what it was
        return "changes no definition"
    if len(touched) > _FEW:
        return "changes too much"
    labels = [label for file, name in touched if (label := resolved(file.path, name, corpus)) is not None]
    if not labels:
        return "changes no definition that is still there" if touched else "changes no definition"
    question = cleaned(commit.subject)
    why = f"changed by commit {commit.short}: {tidy(commit.subject)[:200]}"
    expect = tuple(label.text for label in labels)
    source = f"commit {commit.short}"
    return Draft(commit.short, question, expect, "prose-en", source, why, overlap_of(question, labels, corpus)), in_code


def _touched(change: Change, file: SourceFile, top: Path) -> list[str] | None:
    """Names that a change added, altered or removed in one file, without those inside an added or removed one.

    Nothing where the content before or after cannot be read.
    """
    wanted = [name for name in (change.before, change.after) if not _NO_BLOB.fullmatch(name)]
    blobs = blobs_of(top, wanted)
    if len(blobs) < len(set(wanted)):
        return None
    before, after = (_own_lines(file.path, blobs.get(name, b"")) for name in (change.before, change.after))
    names = [name for name in {**after, **before} if before.get(name) != after.get(name)]
    whole = {name for name in names if name not in before or name not in after}
    return [name for name in names if not _IDLE.search(name) and not whole.intersection(_owners(name))]


_IDLE = re.compile(r"^__\w+__$")  # __all__, __version__: changed by everything, about nothing


def _owners(name: str) -> list[str]:
    """The names a name lies in: ``a`` and ``a.b`` for ``a.b.c``."""
    joint = SEPARATOR if SEPARATOR in name else "."
    parts = name.split(joint)
    return [joint.join(parts[:i]) for i in range(1, len(parts))]


def _own_lines(path: str, data: bytes) -> dict[str, str]:
    """Each name a file defines with its own lines, those of definitions inside it left out."""
    text = decode(data)
    if not text:
        return {}
    file = SourceFile.from_text(path, text)
    lines = file.lines
    names: dict[tuple[int, int], list[str]] = defaultdict(list)
    innermost = [(0, 0)] * (len(lines) + 1)
    for item in symbols(file):  # what lies inside comes after what it lies in
        span = item.start_line, item.end_line
        names[span].append(item.name)
        innermost[span[0] : span[1] + 1] = [span] * (span[1] + 1 - span[0])
    own: dict[tuple[int, int], list[str]] = defaultdict(list)
    for line, span in zip(lines, innermost[1:], strict=True):
        if line.strip():
            own[span].append(line.rstrip())
    found: dict[str, str] = defaultdict(str)
    for span, defined in names.items():
        for name in defined:
            found[name] += textwrap.dedent("\n".join(own[span])) + "\n"
    return dict(found)


def _nothing(repository: Path, commits: Sequence[Commit], corpus: Corpus, result: Drafts, shallow: bool) -> str:
    advice = "look at more commits (--limit)"
    if shallow:
        advice = "the clone is shallow: run `git fetch --unshallow` in it"
    elif _ABSENT in result.dropped:
        advice = "give a clone with all of its content, made without --filter"
    elif result.dropped.get("no file that is in the corpus") == max(result.dropped.values(), default=0) > 0:
        first = next(change.path for commit in commits for change in commit.changes)
        ours = corpus.files[0].path
        advice = f"paths here are like {shown_path(first)!r}, in the corpus like {ours!r}: give --prefix"
    return f"{repository}: no draft from {result.seen} ({counts(result.dropped)}); {advice}"

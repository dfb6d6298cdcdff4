"""Mine drafts of golden questions from what people wrote anyway: commits and issues. A person confirms each.

Whoever fixed something said in a line what was wrong, and the change says where. Whoever opened an issue asked without
having read the answer. Neither is a golden question yet: a subject may be about something else than the lines it
touched, and an issue's traceback may only pass through what it names. So nothing here is measured with before `confirm`
was answered for it, line by line, with the source on the screen.

The repository may be anybody's. ``git`` is only asked to list commits and print blobs, with everything switched off by
which a repository's own settings could run a command or reach a network.
"""

import json
import os
import re
import subprocess
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rungs.corpus import Corpus, SourceFile, category, label_spans, nearest, symbols
from rungs.corpus.prose_outline import SEPARATOR
from rungs.corpus.walk import MAX_BYTES, decode
from rungs.errors import CorpusError, GoldenError, SettingsError
from rungs.measure.golden import KINDS, Label
from rungs.measure.wording import content_words, wording_of

__all__ = [
    "CLOSE",
    "Draft",
    "Drafts",
    "confirm",
    "confirm_file",
    "confirmed",
    "mine_history",
    "mine_issues",
    "read_decisions",
    "read_drafts",
    "write_drafts",
]

CLOSE = 0.5
"""From this share of its label's own words on, a draft is marked for rewording."""

_FEW = 3  # definitions one commit may change and still be about them
_FEW_FILES = 2 * _FEW  # of code
_FEW_DOCUMENTS = 2  # a page and a changelog go with many a fix
_MOST_FILES = 12  # of any kind
_FEW_LABELS = 5  # suggested for an issue
_MIN_WORDS = {"prose-en": 3, "issue": 2}
_LONGEST = 400  # characters of a subject or title
_SHOWN_LINES = 12
_TIMEOUT = 120.0


@dataclass(frozen=True, slots=True)
class Draft:
    """One question that nobody has confirmed yet.

    Attributes
    ----------
    id
        The same every time the same commit or issue is mined.
    q
        Subject or title, without its tags and issue numbers.
    expect
        Suggested labels, each of which resolves in the corpus; may be empty for an issue.
    kind
        ``prose-en`` from a history, ``issue`` from issues.
    source
        ``commit 1a2b3c4d5e``, or the issue's file, with the line or item in an export.
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
        return f"{len(self)} drafts from {self.seen} ({notes}); no draft: {_counts(self.dropped)}"


# --- history


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
    top, shallow = _opened(repository)
    below, before = _translation(repository, top, corpus, prefix)
    commits = _commits(top, below, limit)
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
        elif (plain := _plain(drafted[0].q)) in asked:
            dropped["asked already"] += 1
        else:
            asked.add(plain)
            found.append(drafted)
    drafts = [draft for draft, in_code in found if in_code]
    if drafts and (others := len(found) - len(drafts)):
        dropped["only tests or documents"] = others
    result = Drafts(drafts or [draft for draft, _ in found], f"{len(commits)} commits", dropped)
    if not result:
        raise GoldenError(_nothing(repository, commits, corpus, result, shallow))
    return result


@dataclass(frozen=True, slots=True)
class _Change:
    """One file of a commit: git's names of its content before and after (zeros: none), and its path today."""

    path: bytes
    old_path: bytes
    before: str
    after: str
    today: str = ""


@dataclass(frozen=True, slots=True)
class _Commit:
    sha: str
    parents: str
    author: str
    subject: str
    body: str
    changes: tuple[_Change, ...]

    @property
    def short(self) -> str:
        return self.sha[:10]


_ABSENT = "too large, or not in this clone"
_NO_BLOB = re.compile(r"0+")
_FILE_MODES = ("100644", "100755", "000000")  # not links, not submodules
_REVERTED = re.compile(r"This reverts commit ([0-9a-f]{7,64})")
_BOT = re.compile(
    r"\[bot\]|\bbot\b|-bot\b|dependabot|renovate|pre-commit-ci|github-actions|pyup|greenkeeper|weblate|transifex",
    re.IGNORECASE,
)
_NOT_A_QUESTION = {
    "merge": re.compile(r"merged? (?:branch|pull request|remote|tag|commit)\b|merge .{1,80} into ", re.IGNORECASE),
    "revert": re.compile(r"(?:revert|reverts|reverted|reapply|back out|backout)\b", re.IGNORECASE),
    "version or dependency bump": re.compile(
        r"""v?\d+(?:\.\d+)+\S*$ | (?:auto)?bump\w*\b (?:.*\b(?:version|from\ v?\d|dep(?:endencie)?s)\b | .*\d\.\d | \ \S+$)
        | (?:release|version|prepar(?:e|ing)|start|begin|tag|cut|set\ version)
          (?:\ (?:for|the|next|new|version|release|of|to|\(pre\)))* [\s:]* v?\d+\.\d+\S*
          (?:\ (?:dev\w*|cycle|release|branch))*\W*$
        | prepar(?:e|ing)\b .{0,20} \brelease\b | post.?release\b | \[?pre-commit\.ci\b | (?:\w{1,9}\()? deps?(?:-dev)? \)?:
        | (?:update|upgrade|pin|unpin)\b (?:.{0,60}\b(?:requirement|dependenc\w+)\b | \ \S+(?:\ from\ \S+)?\ to\ v?\d\S*$)""",
        re.IGNORECASE | re.VERBOSE,
    ),
    "housekeeping": re.compile(
        r"(?:fixup|squash|amend)!|wip\b|initial (?:commit|import)\b|(?:update|add).{0,20}\b(?:changelog|contributors|authors)\b"
        r"|.*\b(?:typos?|misspell\w*|spelling|flake8|pep-?8|pylint|mypy|ruff|isort|pyflakes|eslint|prettier|lint(?:ing|er)?"
        r"|whitespace|re-?formatted|copyright)\b",
        re.IGNORECASE,
    ),
}
_RAW = re.compile(r"\n?:(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])\d*")
_LOG = ("%H", "%P", "%an <%ae>", "%s", "%B")
# Options of `git log` that undo what a repository's settings may have switched on; the first runs a program.
_PLAIN_LOG = (
    "--no-show-signature --no-ext-diff --no-textconv --no-notes --no-mailmap --no-color --no-relative --no-abbrev"
    " --ignore-submodules=all --no-merges --encoding=UTF-8 --raw -z -M -l400"
).split()
_SETTINGS = (
    "core.quotepath=off",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "diff.external=",
    "diff.orderFile=/dev/null",
    "log.showSignature=false",
    "log.showRoot=true",
    "log.follow=false",
    "protocol.allow=never",
    "credential.helper=",
)
_OUTSIDE = {
    "GIT_ALLOW_PROTOCOL": "none",  # above the repository's own protocol.*.allow: a missing object is not fetched
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
}


def _git(folder: Path, *argv: str | bytes, feed: bytes = b"") -> bytes:
    """What git prints, or a `CorpusError` with the first line of its complaint."""
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _OUTSIDE
    try:
        done = subprocess.run(
            ["git", "--no-pager", *settings, *argv],
            cwd=folder,
            env=env,
            input=feed,
            capture_output=True,
            timeout=_TIMEOUT,
        )
    except FileNotFoundError:
        raise CorpusError("there is no git on this machine; install it") from None
    except subprocess.TimeoutExpired:
        raise CorpusError(f"{folder}: git took longer than {_TIMEOUT:.0f} s; look at fewer commits (--limit)") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0].removeprefix("fatal: ")
        raise CorpusError(f"{folder}: git cannot read this repository ({_printable(said)}); check it with `git fsck`")
    return done.stdout


def _opened(repository: Path) -> tuple[Path, bool]:
    """The repository's top folder, and whether its history is cut off."""
    if not repository.is_dir():
        raise CorpusError(f"no folder at {repository}; give the path of a git repository")
    try:
        bare = _git(repository, "rev-parse", "--is-bare-repository") == b"true\n"
        top = repository if bare else Path(os.fsdecode(_git(repository, "rev-parse", "--show-toplevel")[:-1]))
        shallow = _git(repository, "rev-parse", "--is-shallow-repository") == b"true\n"
    except CorpusError as error:
        if "not a git repository" not in str(error):
            raise
        raise CorpusError(f"{repository} is not a git repository; give a clone, with its history") from None
    try:
        _git(top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except CorpusError:
        raise CorpusError(f"{repository} has no commit yet; give a repository with a history") from None
    return top, shallow


def _translation(repository: Path, top: Path, corpus: Corpus, prefix: str) -> tuple[bytes, str]:
    """What is cut off the repository's paths, and what is put before them, to get those of the corpus."""
    top, here, root = top.resolve(), repository.resolve(), corpus.root.resolve()
    if not prefix and root.is_relative_to(top):
        return _folder(root, top), ""
    if not prefix and here.is_relative_to(root):
        prefix = _shown_path(_folder(here, root))
    below = _folder(here, top) if here.is_relative_to(top) else b""
    return below, prefix if not prefix or prefix.endswith("/") else prefix + "/"


def _folder(inner: Path, outer: Path) -> bytes:
    return b"" if inner == outer else os.fsencode(inner.relative_to(outer).as_posix()) + b"/"


def _shown_path(path: bytes) -> str:
    """A path as the corpus writes it: undecodable bytes and control characters as escapes."""
    shown = path.decode("utf-8", "backslashreplace")
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", lambda m: m[0].encode("unicode_escape").decode(), shown)


def _commits(top: Path, below: bytes, limit: int) -> list[_Commit]:
    shape = "--format=" + "".join(f"{field}%x00" for field in _LOG)
    out = _git(top, "log", *_PLAIN_LOG, f"--max-count={limit}", shape, "HEAD", "--", below or b".")
    tokens = iter(out.split(b"\0"))
    commits: list[_Commit] = []
    token = next(tokens, b"")
    while token:  # by position alone: a path may hold anything but the byte between the fields
        fields = [token, *(next(tokens) for _ in _LOG[1:])]
        sha, parents, author, subject, body = (field.decode("utf-8", "replace").strip() for field in fields)
        changes, token = _raw_changes(tokens)
        commits.append(_Commit(sha, parents, author, subject, body, changes))
    return commits


def _raw_changes(tokens: Iterator[bytes]) -> tuple[tuple[_Change, ...], bytes]:
    """The changed files of one commit, and the first field of the next."""
    changes = []
    token = next(tokens, b"")
    if not token:
        token = next(tokens, b"")  # the end of the fields; then changes, or the next commit
    while match := _RAW.fullmatch(token.decode("ascii", "replace")):
        old_mode, mode, before, after, status = match.groups()
        old_path = next(tokens)
        path = next(tokens) if status in "RC" else old_path
        if mode in _FILE_MODES and old_mode in _FILE_MODES:
            changes.append(_Change(path, old_path if status == "R" else path, before, after))
        token = next(tokens, b"")
    return tuple(changes), token


def _with_todays_paths(commits: Iterable[_Commit], below: bytes, before: str) -> Iterator[_Commit]:
    """Follow renames from the newest commit back: an old path is that of the file it became."""
    became: dict[bytes, bytes] = {}
    for commit in commits:
        now = {change: became.get(change.path, change.path) for change in commit.changes}
        became.update({change.old_path: now[change] for change in commit.changes if change.old_path != change.path})
        inside = [(change, path) for change, path in now.items() if path.startswith(below)]
        yield replace(
            commit,
            changes=tuple(replace(c, today=before + _shown_path(path.removeprefix(below))) for c, path in inside),
        )


def _unfit(commit: _Commit, reverted: set[str], shallow: bool) -> str:
    """Why no question comes of a commit, told from everything but its changes; or nothing."""
    if shallow and not commit.parents:
        return "the edge of a shallow clone"
    if _BOT.search(commit.author):
        return "by a bot"
    subject, question = _tidy(commit.subject)[:_LONGEST], _cleaned(commit.subject)
    for reason, pattern in _NOT_A_QUESTION.items():
        if pattern.match(subject) or pattern.match(question):
            return reason
    if any(commit.sha.startswith(sha) for sha in reverted):
        return "reverted later"
    if "; " in question:  # which of them its labels answer cannot be told
        return "says several things"
    return "says too little" if _too_short(question, "prose-en") else ""


def _from_commit(commit: _Commit, top: Path, corpus: Corpus) -> tuple[Draft, bool] | str:
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
    labels = [label for file, name in touched if (label := _resolved(file.path, name, corpus)) is not None]
    if not labels:
        return "changes no definition that is still there" if touched else "changes no definition"
    question = _cleaned(commit.subject)
    why = f"changed by commit {commit.short}: {_tidy(commit.subject)[:200]}"
    expect = tuple(label.text for label in labels)
    source = f"commit {commit.short}"
    return Draft(commit.short, question, expect, "prose-en", source, why, _overlap(question, labels, corpus)), in_code


def _touched(change: _Change, file: SourceFile, top: Path) -> list[str] | None:
    """Names that a change added, altered or removed in one file, without those inside an added or removed one.

    Nothing where the content before or after cannot be read.
    """
    wanted = [name for name in (change.before, change.after) if not _NO_BLOB.fullmatch(name)]
    blobs = _blobs(top, wanted)
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


def _blobs(top: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Content by git's name for it; what is missing or too large to be read is left out."""
    sizes = _git(top, "cat-file", "--batch-check", feed=_lines(names)).decode("ascii", "replace").split("\n")
    known = [row.split() for row in sizes if row]
    small = [row[0] for row in known if len(row) == 3 and row[1] == "blob" and int(row[2]) <= MAX_BYTES]
    out, blobs = _git(top, "cat-file", "--batch", feed=_lines(small)), {}
    while out:
        head, _, out = out.partition(b"\n")
        name, _, size = head.decode("ascii").split()
        blobs[name], out = out[: int(size)], out[int(size) + 1 :]
    return blobs


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode("ascii")


def _nothing(repository: Path, commits: Sequence[_Commit], corpus: Corpus, result: Drafts, shallow: bool) -> str:
    advice = "look at more commits (--limit)"
    if shallow:
        advice = "the clone is shallow: run `git fetch --unshallow` in it"
    elif _ABSENT in result.dropped:
        advice = "give a clone with all of its content, made without --filter"
    elif result.dropped.get("no file that is in the corpus") == max(result.dropped.values(), default=0) > 0:
        first = next(change.path for commit in commits for change in commit.changes)
        ours = corpus.files[0].path
        advice = f"paths here are like {_shown_path(first)!r}, in the corpus like {ours!r}: give --prefix"
    return f"{repository}: no draft from {result.seen} ({_counts(result.dropped)}); {advice}"


# --- issues

_TRACE = re.compile(r'File "([^"\n]{1,400})", line \d{1,9}, in ([^\s]{1,200})')
_TOKEN = re.compile(r"(`?)([\w./\\-]+)(\(|`)?")
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)  # what a tracker's template says to whoever writes
_FENCE = re.compile(r"^---\s*$", re.MULTILINE)
_MAX_BODY = 100_000
_TITLE_WITHIN = 10_000


def mine_issues(path: Path, corpus: Corpus) -> list[Draft]:
    """Draft questions from issues: the title asks, and what it and the body name is suggested as the answer.

    Suggested are frames of tracebacks, names that look like code, and paths, where the corpus has exactly one such
    definition or file (one in its code, or else one anywhere), five at most. They are places that the issue names,
    which need not be those that answer it.

    Parameters
    ----------
    path
        A folder of ``.md`` and ``.txt`` files, or one such file (title: first heading, or first line); or an export: a
        JSON list of objects with ``title`` and perhaps ``body``, or lines of them (``.jsonl``).
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
        If no issue gave a draft; the message counts the reasons.
    """
    known = _Names(corpus)
    drafts: list[Draft] = []
    dropped: Counter[str] = Counter()
    ids: set[str] = set()
    asked: set[str] = set()
    seen = 0
    for issue in _issues(path):
        seen += 1
        question = _cleaned(issue.title)
        reason = issue.unfit or ("says too little" if _too_short(question, "issue") else "")
        if reason or _plain(question) in asked:
            dropped[reason or "asked already"] += 1
            continue
        asked.add(_plain(question))
        labels = known.suggested(question, issue.body)
        id = next(name for name in issue.ids() if name not in ids)
        ids.add(id)
        why = f"named in {issue.where}: {question[:200]}"
        expect = tuple(label.text for label in labels)
        drafts.append(Draft(id, question, expect, "issue", issue.where, why, _overlap(question, labels, corpus)))
    if not drafts:
        found = f"no draft from {seen} issues ({_counts(dropped)})" if seen else "holds no issue"
        raise GoldenError(f"{path}: {found}; give a folder of .md or .txt files, or a JSON export with titles")
    return Drafts(drafts, f"{seen} issues", dropped)


@dataclass(frozen=True, slots=True)
class _Issue:
    title: str
    body: str
    where: str
    name: str
    unfit: str = ""

    def ids(self) -> Iterator[str]:
        """Its own number or file name first; it stays the same when the export grows."""
        yield f"issue-{self.name}"
        number = 2
        while True:
            yield f"issue-{self.name}-{number}"
            number += 1


class _Names:
    """What a corpus defines, by every name that it may be called."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.by_name: dict[str, dict[tuple[str, str], str]] = defaultdict(dict)  # name: (path, symbol): category
        self.by_file: dict[str, list[str]] = defaultdict(list)
        for file in corpus.files:
            self.by_file[file.path.rsplit("/", 1)[-1]].append(file.path)
            for item in symbols(file):
                if item.kind != "section":
                    for name in {item.name, item.name.rsplit(".", 1)[-1]}:
                        self.by_name[name][file.path, item.name] = file.category

    def suggested(self, title: str, body: str) -> list[Label]:
        """Labels for what an issue names: its title first, then the innermost frames, then the rest of its body."""
        body = body[:_MAX_BODY]
        frames = [self.frame(path, name) for path, name in reversed(_TRACE.findall(body))]
        named = self.mentions(_TRACE.sub(" ", body))
        places = [place for place in (*self.mentions(title), *frames, *named) if place]
        precise = {path for path, symbol in places if symbol}
        wanted = [place for place in dict.fromkeys(places) if place[1] or place[0] not in precise]
        labels = (_resolved(path, symbol, self.corpus) for path, symbol in wanted)
        return [label for label in labels if label is not None][:_FEW_LABELS]

    def mentions(self, text: str) -> Iterator[tuple[str, str] | None]:
        for ticked, token, after in _TOKEN.findall(text):
            token = token.rstrip(".-")
            if len(token) > 200:
                continue
            if (path := self.file(token)) is not None:
                yield path, ""
            elif _NAME.fullmatch(token) and _like_code(token, bool(ticked and after == "`") or after == "("):
                yield self.definition(token)

    def frame(self, path: str, function: str) -> tuple[str, str] | None:
        """The definition a line of a traceback is in."""
        file = self.file(path)
        name = function.split(".")[-1]
        inside = [place for place in self.by_name.get(name, ()) if place[0] == file]
        return inside[0] if len(inside) == 1 else None

    def definition(self, name: str) -> tuple[str, str] | None:
        """The one definition of a name; of a dotted one, its module or owner must fit."""
        parts = name.split(".")
        for i in range(len(parts)):
            places = self.by_name.get(".".join(parts[i:]), {})
            module = "/".join(parts[:i])
            if module:
                places = {place: kind for place, kind in places.items() if _in_module(place[0], module)}
            if places:
                return _only_one(places)
        return None

    def file(self, token: str) -> str | None:
        """The one file whose path ends as this one does, or that this one ends in; folders outside may differ."""
        parts = token.replace("\\", "/").removeprefix("./").split("/")
        candidates = self.by_file.get(parts[-1], ()) if "." in parts[-1] else ()
        shared = {path: _shared_end(parts, path.split("/")) for path in candidates}
        best = max(shared.values(), default=0)
        fits = [path for path, n in shared.items() if n == best]
        if len(fits) != 1:
            return None
        return fits[0] if best >= 2 or best in (len(parts), fits[0].count("/") + 1) else None


def _like_code(token: str, marked: bool) -> bool:
    inner = token.strip("_")
    return len(inner) > 2 and (marked or "_" in inner or "." in inner or bool(re.search(r"[a-z][A-Z]", inner)))


def _in_module(path: str, module: str) -> bool:
    stem = path.rpartition(".")[0].removesuffix("/__init__")
    return stem == module or stem.endswith("/" + module)


def _only_one(places: Mapping[tuple[str, str], str]) -> tuple[str, str] | None:
    for wanted in ([place for place, kind in places.items() if kind == "code"], list(places)):
        if wanted:
            return wanted[0] if len(wanted) == 1 else None
    return None


def _shared_end(a: Sequence[str], b: Sequence[str]) -> int:
    n = 0
    while n < min(len(a), len(b)) and a[-1 - n] == b[-1 - n]:
        n += 1
    return n


def _issues(path: Path) -> Iterator[_Issue]:
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.suffix.lower() in {".md", ".txt"} and file.is_file() and not file.is_symlink():
                yield _written(file, file.relative_to(path))
    elif path.suffix.lower() in {".md", ".txt"}:
        yield _written(path, Path(path.name))
    elif path.suffix.lower() == ".jsonl":
        for number, row in _rows(path, CorpusError):
            yield _exported(row, f"{path}:{number}", f"{path.name}:{number}")
    elif path.suffix.lower() == ".json":
        yield from _export(path)
    else:
        _text(path, CorpusError)  # a file that is not there is the likelier trouble
        raise CorpusError(
            f"{path}: not a form of issues known here; give .md, .txt, .json or .jsonl, or a folder of them"
        )


def _written(path: Path, relative: Path) -> _Issue:
    text = _text(path, CorpusError)
    title, where = "", _printable(relative.as_posix())
    if text.startswith("---\n") and (end := _FENCE.search(text, 4)):  # fields above the text
        title = next((line[6:].strip(" \"'") for line in text[4 : end.start()].split("\n") if line[:6] == "title:"), "")
        text = text[end.end() :]
    file = SourceFile.from_text(relative.name, _COMMENT.sub("", text[:_TITLE_WITHIN]))
    name = re.sub(r"\W+", "-", relative.with_suffix("").as_posix()).strip("-") or "file"
    return _Issue(title or _title(file), text, where, name, "" if text.strip() or title else "no title")


def _title(file: SourceFile) -> str:
    """The first heading of the first level, or what stands first."""
    lines = file.lines
    first = next((number for number, line in enumerate(lines, 1) if line.strip()), 0)
    if not first:
        return ""
    sections = symbols(file)
    top = [item for item in sections if lines[item.start_line - 1].startswith("# ")]
    top += [item for item in sections[:1] if item.start_line <= first]
    return top[0].signature if top else lines[first - 1].strip().lstrip("#")


def _export(path: Path) -> Iterator[_Issue]:
    text = _text(path, CorpusError)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        said = f"{error.msg} at column {error.colno}"
        raise CorpusError(
            f"{path}:{error.lineno}: not valid JSON ({said}); export it again, or mend the line"
        ) from None
    except RecursionError:
        raise CorpusError(f"{path}: not valid JSON (nested too deep); export it again") from None
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
    name = str(number) if known else "-".join(sorted(content_words(row["title"]))[:6]) or "untitled"
    unfit = "pull request" if row.get("pull_request") else "" if row["title"].strip() else "no title"
    return _Issue(row["title"], _storable(body), _printable(source), name, unfit)


# --- questions and labels

# Runs of numbers have one reading only, so that no subject, however odd, takes long.
_NUMBER = r"(?:\#|gh-|bpo-)\d{1,9}"
_NUMBERS = rf"{_NUMBER}(?:(?:,\ ?|\ and\ |\ &\ |\ ){_NUMBER})*"
_VERB = r"(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|re|see|issues?|bug|ticket|part\ of|for|from|via|in|pr)"
_TAGS = re.compile(
    rf"""(?: [\[(][^\])]{{1,40}}[\])]\ ?[:,-]?                                            # [x] (x):
        | (?:build|chore|ci|docs?|feat(?:ures?)?|(?:bug|hot)?fix(?:es|ed)?|perf|refactor|style|tests?|bugs?|question
            |regression|feature\ request|improvement|enhancement)(?:\([^)]{{0,60}}\))?!?\ ?(?::|\ ?-{{1,2}}\ )
        | (?:{_VERB}:?\ )?{_NUMBERS}\ ?(?:[:.,;]|--?(?=\ )|—|–)?
        | [A-Z][A-Z0-9]{{1,9}}-\d+\ ?[:-]?(?=\ )                                         # PROJ-12:
        | :[a-z0-9_+-]{{2,40}}:                                                          # :bug:
        | [^\w\s`"'<(\[@./$#*-]{{1,8}}(?=\ )                                             # a picture
        )\ ?""",
    re.VERBOSE | re.IGNORECASE,
)
_REFERENCES = re.compile(
    rf"""(?<!\w)(?: \(?(?:{_VERB}:?\ )?(?:issues?\ |pr\ )?{_NUMBERS}\)?
        | \[{_NUMBERS}\]
        | \(?(?:{_VERB}:?\ )?https?://\S{{1,200}}
        | \[(?:skip\ ci|ci\ skip|backport[^\]]{{0,30}})\]
        )\.?$ | (?<!\.)\.$""",
    re.VERBOSE | re.IGNORECASE,
)


def _cleaned(text: str) -> str:
    """A subject or title as a question: without tags before it and references to issues behind it.

    Examples
    --------
    >>> _cleaned("[worker] fix(pool): Lost task is retried (#123)")
    'Lost task is retried'
    >>> _cleaned("Fixed #42 -- Lost task is retried, closes #41.")
    'Lost task is retried'
    """
    text = _tidy(text)[:_LONGEST]
    while True:
        bare = text
        if match := _TAGS.match(bare):
            bare = bare[match.end() :]
        if match := _REFERENCES.search(bare):
            bare = bare[: match.start()].rstrip(" ,;:-")
        bare = bare.strip()
        if bare == text:
            return text
        text = bare


def _tidy(text: str) -> str:
    return " ".join(_storable(text).split())


def _storable(text: str) -> str:
    """Without lone surrogates, which JSON can spell and no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _too_short(question: str, kind: str) -> bool:
    unspaced = len(re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]", question))
    return len(content_words(question)) + unspaced // 3 < _MIN_WORDS[kind]


def _resolved(path: str, symbol: str, corpus: Corpus) -> Label | None:
    """A label as `load_golden` reads it back from its text, or nothing."""
    file = corpus.get(path)
    if file is None or "::" in path:
        return None
    spans = tuple((span.start_line, span.end_line) for span in label_spans(file, symbol))
    text = f"{path}::{symbol}" if symbol else path
    return Label(text, path, symbol, spans if symbol else ()) if spans else None


def _label(text: str, corpus: Corpus) -> Label | str:
    """A label that somebody typed, or what is wrong with it."""
    path, separator, symbol = text.partition("::")
    if not path or (separator and not symbol):
        return f'label {text!r} is incomplete; write "path" or "path::symbol"'
    if (file := corpus.get(path)) is None:
        return f"label {text!r}: the corpus has no file {path!r}; check the path, which is relative to the corpus"
    if (label := _resolved(path, symbol, corpus)) is None:
        close = " or ".join(repr(name) for name in nearest(file, symbol))
        return f"label {text!r}: {path} defines no {symbol!r}; " + (
            f"did you mean {close}?" if close else "it has no names"
        )
    return label


def _overlap(question: str, labels: Iterable[Label], corpus: Corpus) -> float:
    asked = content_words(question)
    if not asked:
        return 0.0
    return max((len(asked & content_words(wording_of(label, corpus))) / len(asked) for label in labels), default=0.0)


# --- confirming

_PROMPT = "[k]eep, [e]dit question, edit [l]abels, [d]rop, [q]uit? "
_CHOICES = {"k": "keep", "e": "edit", "l": "labels", "d": "drop", "q": "quit"}
_DECISIONS = ("keep", "drop")


class _Quit(Exception):
    """Whoever is asked has had enough."""


def confirm(
    drafts: Sequence[Draft],
    answers_path: Path,
    *,
    corpus: Corpus,
    ask: Callable[[str], str] = input,
    say: Callable[[str], None] = print,
) -> list[dict[str, Any]]:
    """Ask a person about each draft that is not decided yet.

    Each decision is appended to ``answers_path`` before the next draft is shown, so that whatever ends the session, the
    next one goes on behind the last decision. A draft is kept only with labels that resolve, a question that is not
    kept already, and a reason: the draft's own, or, once its labels were changed, one that is written.

    Parameters
    ----------
    drafts
        From `mine_history`, `mine_issues` or `read_drafts`.
    answers_path
        The file of decisions, made if need be; one JSON object a line.
    corpus
        Shows the source of the labels, and checks those that are typed.
    ask
        Puts a prompt and returns the answer; ``EOFError`` is taken for quitting.
    say
        Shows one line. Control characters were made visible in it.

    Returns
    -------
    list of dict
        Every decision in the file, for `confirmed`.

    Raises
    ------
    GoldenError
        If the file of decisions is damaged or cannot be written.
    """
    decisions = _mended(answers_path)
    decided = {row["id"] for row in decisions}
    waiting = [draft for draft in drafts if draft.id not in decided]
    for number, draft in enumerate(waiting, len(drafts) - len(waiting) + 1):
        say(f"--- {number} of {len(drafts)}")
        kept = {_plain(row["q"]): row["id"] for row in decisions if row["decision"] == "keep"}
        try:
            decision = _decided(draft, corpus, kept, ask, say)
        except (_Quit, EOFError):
            break
        _append(answers_path, decision)
        decisions.append(decision)
    return decisions


def confirmed(decisions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Make the golden lines of what was kept.

    Parameters
    ----------
    decisions
        From `confirm` or `read_decisions`. Of several on one draft the last counts.

    Returns
    -------
    list of dict
        In the order of the decisions; written one a line, `rungs.measure.load_golden` reads them.
    """
    last = {row["id"]: row for row in decisions}
    taken = ("id", "q", "expect", "kind", "why")
    kept = [{name: row[name] for name in taken} for row in last.values() if row["decision"] == "keep"]
    return [
        {"id": row["id"], "q": row["q"], "expect": list(row["expect"]), "mode": "any", "kind": row["kind"]}
        | {"why": row["why"], "also": []}
        for row in kept
    ]


def confirm_file(
    drafts: Path,
    out: Path,
    *,
    corpus: Corpus,
    ask: Callable[[str], str] = input,
    say: Callable[[str], None] = print,
) -> str:
    """Confirm a file of drafts and write what was kept as a golden file.

    Decisions lie next to it: ``mine.decisions.jsonl`` beside ``mine.jsonl``.

    Parameters
    ----------
    drafts
        From `write_drafts`.
    out
        The golden file; written anew from the decisions at the end of each session, also of one that was broken off.
    corpus, ask, say
        See `confirm`.

    Returns
    -------
    str
        A line that says how far it went.

    Raises
    ------
    GoldenError
        If a file is damaged, or ``out`` holds something else than earlier decisions make: it is not replaced.
    """
    found = read_drafts(drafts)
    answers = out.with_name(f"{out.stem}.decisions.jsonl")
    if out.exists() and _text(out, GoldenError) != _golden_text(read_decisions(answers)):
        raise GoldenError(f"{out} holds other lines than {answers.name} makes; name another file, or move it away")
    try:
        confirm(found, answers, corpus=corpus, ask=ask, say=say)
    finally:
        decisions = read_decisions(answers)
        if text := _golden_text(decisions):
            _write(out, text)
    kept, ids = len(confirmed(decisions)), {row["id"] for row in decisions}
    left = sum(draft.id not in ids for draft in found)
    return f"{kept} kept, {len(ids) - kept} dropped, {left} to go" + (f"; golden file: {out}" if kept else "")


def read_decisions(path: Path) -> list[dict[str, Any]]:
    """Read what was decided; nothing if there is no such file yet.

    A last line that was cut off while it was written is left out: its draft is asked about again.

    Raises
    ------
    GoldenError
        If any other line is not a decision.
    """
    if not path.exists():
        return []
    text = _text(path, GoldenError)
    rows = []
    for number, row in _rows(path, GoldenError, text[: text.rfind("\n") + 1]):
        if not _is_decision(row):
            raise GoldenError(f"{path}:{number}: not a decision; restore the line, or delete it to be asked again")
        rows.append(row)
    return rows


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
        _write(out, "".join(f"{line}\n" for line in lines))


def read_drafts(path: Path) -> list[Draft]:
    """Read what `write_drafts` wrote.

    Raises
    ------
    GoldenError
        For the first line that is not a draft or repeats an id, and if there is none.
    """
    drafts: dict[str, Draft] = {}
    for number, row in _rows(path, GoldenError):
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
    usable = row["id"].strip() and row["q"].strip() and row["kind"] in KINDS and not row["kind"].startswith("negative")
    if not usable or not all(isinstance(text, str) for text in row["expect"]):
        return None
    return Draft(**row | {"expect": tuple(row["expect"])})


def _is_decision(row: Any) -> bool:
    if not isinstance(row, dict) or row.get("decision") not in _DECISIONS:
        return False
    return isinstance(row.get("expect"), list) and all(isinstance(row.get(n), str) for n in ("id", "q", "kind", "why"))


def _decided(
    draft: Draft, corpus: Corpus, kept: Mapping[str, str], ask: Callable[[str], str], say: Callable[[str], None]
) -> dict[str, Any]:
    """Ask about one draft until it is kept or dropped."""
    now, shown = draft, None
    while True:
        if now is not shown:
            for line in _shown(now, corpus):
                say(_printable(line))
            shown = now
        choice = _choice(ask(_PROMPT))
        if choice == "quit":
            raise _Quit
        if choice == "drop":
            return _decision("drop", now, draft.why)
        if choice == "edit":
            now = _reworded(now, corpus, ask)
        elif choice == "labels":
            now = _relabelled(now, corpus, ask, say)
        elif choice != "keep":
            say("answer k, e, l, d or q")
        elif problem := _problem(now, corpus, kept):
            say(_printable(problem))
        else:
            return _decision("keep", now, _reason(draft.why if now.expect == draft.expect else "", ask, say))


def _choice(answer: str) -> str:
    word = answer.strip().lower()
    return _CHOICES.get(word, word)


def _shown(draft: Draft, corpus: Corpus) -> Iterator[str]:
    yield f"question: {draft.q}"
    yield f"from:     {draft.source}"
    yield f"why:      {draft.why}"
    if draft.overlap >= CLOSE:
        yield f"wording:  {draft.overlap:.0%} of the question's words are the label's own; ask it in other words"
    if not draft.expect:
        yield "label:    none yet; read the source, and name the place that answers (l)"
    for text in draft.expect:
        yield f"label:    {text}"
        label = _label(text, corpus)
        yield from [f"    {label}"] if isinstance(label, str) else _source_lines(label, corpus)


def _source_lines(label: Label, corpus: Corpus) -> Iterator[str]:
    file = corpus.get(label.path)
    lines = file.lines if file is not None else []
    for first, last in label.spans or ((1, len(lines)),):
        end = min(last, first + _SHOWN_LINES - 1)
        yield from (f"    {number:>5}  {lines[number - 1]}" for number in range(first, end + 1))
        if end < last:
            yield f"           ({last - end} more lines, to {label.path}:{last})"


def _reworded(draft: Draft, corpus: Corpus, ask: Callable[[str], str]) -> Draft:
    return _weighed(replace(draft, q=_tidy(ask("question (Enter leaves it): ")) or draft.q), corpus)


def _relabelled(draft: Draft, corpus: Corpus, ask: Callable[[str], str], say: Callable[[str], None]) -> Draft:
    while True:
        answer = ask("labels, path or path::symbol, a semicolon between two (Enter leaves them): ")
        texts = list(dict.fromkeys(text.strip() for text in _storable(answer).split(";") if text.strip()))
        if not texts:
            return draft
        problems = [found for text in texts if isinstance(found := _label(text, corpus), str)]
        if not problems:
            return _weighed(replace(draft, expect=tuple(texts)), corpus)
        for problem in problems:
            say(_printable(problem))


def _weighed(draft: Draft, corpus: Corpus) -> Draft:
    """With the overlap that its present words and labels have."""
    labels = [label for text in draft.expect if not isinstance(label := _label(text, corpus), str)]
    return replace(draft, overlap=_overlap(draft.q, labels, corpus))


def _problem(draft: Draft, corpus: Corpus, kept: Mapping[str, str]) -> str:
    """Why a golden file could not take a draft as it is, or nothing."""
    if not draft.expect:
        return "a question that is kept needs a label; give one (l), or drop it (d)"
    if (other := kept.get(_plain(draft.q))) is not None:
        return f"{other} asks this already; ask something else (e), or drop it (d)"
    return next((found for text in draft.expect if isinstance(found := _label(text, corpus), str)), "")


def _reason(default: str, ask: Callable[[str], str], say: Callable[[str], None]) -> str:
    while True:
        said = _tidy(ask("why are the labels right (Enter: as shown)? " if default else "why are the labels right? "))
        if said or default:
            return said or default
        say("the labels are yours now; write what in the source makes them right")


def _decision(decision: str, draft: Draft, why: str) -> dict[str, Any]:
    row = {"id": draft.id, "decision": decision, "q": draft.q, "expect": list(draft.expect)}
    return row | {"kind": draft.kind, "source": draft.source, "why": why}


def _mended(path: Path) -> list[dict[str, Any]]:
    """The decisions so far, the file cut back to its last whole line so that the next one stands alone."""
    rows = read_decisions(path)
    if path.exists():
        data = path.read_bytes()
        if not data.endswith(b"\n") and data:
            _write(path, data[: data.rfind(b"\n") + 1].decode("utf-8"))
    return rows


def _append(path: Path, row: Mapping[str, Any]) -> None:
    try:
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    except OSError as error:
        raise GoldenError(f"{path}: cannot be written ({error.strerror}); check the folder") from None


def _golden_text(decisions: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in confirmed(decisions))


# --- files and terminal


def _write(path: Path, text: str) -> None:
    """Write a file so that a reader sees all of it or none."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8", newline="\n")
        partial.replace(path)
    except OSError as error:
        raise GoldenError(f"{path}: cannot be written ({error.strerror}); check the path") from None


def _text(path: Path, trouble: type[CorpusError] | type[GoldenError]) -> str:
    try:
        data = path.read_bytes()
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise trouble(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise trouble(f"{path}:{line}: not UTF-8; save the file as UTF-8") from None


def _rows(
    path: Path, trouble: type[CorpusError] | type[GoldenError], text: str | None = None
) -> Iterator[tuple[int, Any]]:
    """The JSON value of each line that is not blank, with its number."""
    # not splitlines(): U+2028 and its like are legal inside a JSON string and must not shift the numbering
    for number, line in enumerate((_text(path, trouble) if text is None else text).split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except json.JSONDecodeError as error:
            said = f"{error.msg} at column {error.colno}"
            raise trouble(f"{path}:{number}: not valid JSON ({said}); write one JSON object per line") from None
        except RecursionError:
            raise trouble(
                f"{path}:{number}: not valid JSON (nested too deep); write one JSON object per line"
            ) from None


def _counts(counted: Mapping[str, int]) -> str:
    most_first = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n} {reason}" for reason, n in most_first) or "none"


def _printable(text: str) -> str:
    """Text from a corpus or a history as one that cannot drive the terminal: control characters become visible."""
    shown = (c if c.isprintable() else "    " if c == "\t" else f"\\x{ord(c):02x}" for c in text)
    return "".join(shown).encode("utf-8", "backslashreplace").decode("utf-8")

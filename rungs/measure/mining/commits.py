"""What git says of a repository that may be anybody's.

git is only asked to list commits and print blobs, with everything switched off by which a repository's own settings
could run a command or reach a network.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rungs.corpus.walk import MAX_BYTES
from rungs.errors import CorpusError
from rungs.terminal import printable

__all__ = ["Change", "Commit", "blobs_of", "commits_of", "opened", "shown_path"]

TIMEOUT = 120.0


@dataclass(frozen=True, slots=True)
class Change:
    """One file of a commit: git's names of its content before and after (zeros: none), and its path today."""

    path: bytes
    old_path: bytes
    before: str
    after: str
    today: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """What its log says of a commit, and the files it changed."""

    sha: str
    parents: str
    author: str
    subject: str
    body: str
    changes: tuple[Change, ...]

    @property
    def short(self) -> str:
        return self.sha[:10]


_FILE_MODES = ("100644", "100755", "000000")  # not links, not submodules
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
            timeout=TIMEOUT,
        )
    except FileNotFoundError:
        raise CorpusError("there is no git on this machine; install it") from None
    except subprocess.TimeoutExpired:
        raise CorpusError(f"{folder}: git took longer than {TIMEOUT:.0f} s; look at fewer commits (--limit)") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0].removeprefix("fatal: ")
        raise CorpusError(f"{folder}: git cannot read this repository ({printable(said)}); check it with `git fsck`")
    return done.stdout


def opened(repository: Path) -> tuple[Path, bool]:
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


def shown_path(path: bytes) -> str:
    """A path as the corpus writes it: undecodable bytes and control characters as escapes."""
    shown = path.decode("utf-8", "backslashreplace")
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", lambda m: m[0].encode("unicode_escape").decode(), shown)


def commits_of(top: Path, below: bytes, limit: int) -> list[Commit]:
    """The newest commits that are no merges, of the whole repository or of one folder."""
    shape = "--format=" + "".join(f"{field}%x00" for field in _LOG)
    out = _git(top, "log", *_PLAIN_LOG, f"--max-count={limit}", shape, "HEAD", "--", below or b".")
    tokens = iter(out.split(b"\0"))
    commits: list[Commit] = []
    token = next(tokens, b"")
    while token:  # by position alone: a path may hold anything but the byte between the fields
        fields = [token, *(next(tokens) for _ in _LOG[1:])]
        sha, parents, author, subject, body = (field.decode("utf-8", "replace").strip() for field in fields)
        changes, token = _raw_changes(tokens)
        commits.append(Commit(sha, parents, author, subject, body, changes))
    return commits


def _raw_changes(tokens: Iterator[bytes]) -> tuple[tuple[Change, ...], bytes]:
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
            changes.append(Change(path, old_path if status == "R" else path, before, after))
        token = next(tokens, b"")
    return tuple(changes), token


def blobs_of(top: Path, names: Sequence[str]) -> dict[str, bytes]:
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

"""Find the files of a corpus that a reader would call its own, and read them as text.

``walk`` goes through a folder once, in a fixed order, and keeps every text file that people wrote. What it leaves out
is counted by reason, so that a corpus that came out smaller than expected can be explained.

Two things every later line number rests on happen here. Text is decoded without ever failing, and ``\\r\\n`` and
``\\r`` become ``\\n``: those three are what editors and Python's ``ast`` end a line at. Form feeds, ``\\x0b`` or
``\\u2028`` end none, so ``str.splitlines`` must not be used on it.
"""

import codecs
import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pathspec import GitIgnoreSpec

from rungs.corpus.category import category, language
from rungs.errors import CorpusError

__all__ = ["MAX_BYTES", "SourceFile", "Walk", "decode", "split_lines", "walk"]

MAX_BYTES = 1_000_000


def _words(names: str) -> frozenset[str]:
    return frozenset(names.split())


_HISTORY = frozenset({".git", ".hg", ".svn", ".bzr", ".jj", "CVS", "_darcs"})
_VENDORED = _words(
    "node_modules bower_components jspm_packages vendor _vendor third_party third-party thirdparty 3rdparty .venv venv"
    " virtualenv site-packages dist-packages .yarn Pods Carthage"
)
_GENERATED = _words(
    "__pycache__ .tox .nox .eggs .mypy_cache .pytest_cache .ruff_cache .hypothesis .ipynb_checkpoints .cache"
    " .next .nuxt .svelte-kit .turbo .parcel-cache .gradle .terraform htmlcov .nyc_output coverage_html"
)
# These names are also given to ordinary source folders: they are output only beside a file that builds something.
_OUTPUT = frozenset({"dist", "build", "_build", "out", "target"})
_BUILDS = _words(
    "package.json pyproject.toml setup.py setup.cfg Makefile CMakeLists.txt Cargo.toml pom.xml build.gradle"
    " build.gradle.kts build.sbt conf.py"
)
_LOCKS = _words(
    "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lockb go.sum gradle.lockfile packages.lock.json"
)
_SECRETS = frozenset({".pem", ".key", ".crt", ".cer", ".p12", ".pfx", ".jks", ".asc", ".gpg"})
_BINARY = _words(
    ".png .jpg .jpeg .gif .bmp .ico .webp .avif .tif .tiff .svg .psd .pdf .ps .eps .woff .woff2 .ttf .otf .eot .mp3"
    " .mp4 .wav .ogg .webm .mov .avi .zip .gz .tgz .bz2 .xz .zst .7z .rar .tar .whl .egg .jar .war .class .pyc .pyo"
    " .pyd .so .dll .dylib .exe .o .a .lib .bin .dat .db .sqlite .sqlite3 .pkl .pickle .npy .npz .parquet .arrow"
    " .feather .h5 .onnx .pt .pth .safetensors .gguf .wasm .mo .docx .xlsx .pptx .odt"
)
_GENERATED_NAME = re.compile(
    r"(?:[.-]min\.(?:js|mjs|cjs|css)|\.bundle\.js|\.(?:js|mjs|cjs|css|ts)\.map|_pb2(?:_grpc)?\.pyi?|\.pb\.(?:go|cc|h)"
    r"|\.generated\.[a-z]+|\.snap|^PKG-INFO)$"
)
_GENERATED_MARK = re.compile(
    rb"@generated\b|code generated .{0,80}do not edit"
    rb"|(?:auto|automatically)[- ]generated.{0,120}do not (?:edit|modify)",
    re.IGNORECASE | re.DOTALL,
)
_DECLARED = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One text file of a corpus.

    Attributes
    ----------
    path
        Posix path relative to the corpus, always printable: undecodable bytes, newlines and the like are shown as
        escapes (``bad\\xff.py``), so such a path names the file in a report but does not open it.
    text
        Decoded content; lines end in ``\\n`` whatever the file used, without a byte order mark.
    category, language
        See `rungs.corpus.category`.
    sha256
        Of the bytes on disk.
    """

    path: str
    text: str
    category: str
    language: str
    sha256: str

    @property
    def lines(self) -> list[str]:
        """Lines without their ends; line ``n`` of the file is ``lines[n - 1]``."""
        return split_lines(self.text)

    @classmethod
    def from_text(cls, path: str, text: str) -> "SourceFile":
        """Make a file from a string, for tests, notebooks and sources that are not on disk."""
        clean = text.replace("\r\n", "\n").replace("\r", "\n")
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return cls(path, clean, category(path, clean), language(path, clean), digest)


@dataclass(frozen=True, slots=True)
class Walk:
    """What a walk found, files in order of their path, and how many entries it left out by reason."""

    files: tuple[SourceFile, ...]
    skipped: Mapping[str, int]


def walk(root: Path, *, max_bytes: int = MAX_BYTES) -> Walk:
    """Read every file under ``root`` that belongs to the corpus.

    Left out: what a ``.gitignore`` at any level excludes, version control, vendored and generated folders (each counted
    once, whatever it holds), links (never followed, so neither loops nor the outside can be reached), special files,
    binaries, generated and minified files, lock files, keys and certificates, empty files, and files over the limit.

    Parameters
    ----------
    root
        Folder to read. It may itself be a link.
    max_bytes
        Largest file that is read.

    Raises
    ------
    CorpusError
        If ``root`` is not a folder that can be listed.
    """
    if not root.is_dir():
        raise CorpusError(f"no folder at {root}: give the path of a folder that exists")
    skipped: Counter[str] = Counter()
    files: dict[str, SourceFile] = {}
    for entry, relative in _candidates(root, skipped):
        found = _read(entry, relative, max_bytes)
        if isinstance(found, str):
            skipped[found] += 1
        elif found.path in files:
            skipped["name clash"] += 1
        else:
            files[found.path] = found
    return Walk(tuple(files[path] for path in sorted(files)), dict(sorted(skipped.items())))


def split_lines(text: str) -> list[str]:
    """Split at ``\\n``, ``\\r\\n`` and ``\\r`` only, without a last empty line for a final line end.

    Examples
    --------
    >>> split_lines("a\\x0cb\\r\\nc\\u2028d\\n")
    ['a\\x0cb', 'c\\u2028d']
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def decode(data: bytes) -> str | None:
    """Decode a file's bytes; ``None`` if they are not text.

    Tried in this order: a byte order mark, the encoding declared in the first two lines (PEP 263), UTF-8, and
    Latin-1, which takes any byte. Line ends become ``\\n``.
    """
    text = _decode_marked(data)
    if text is None:
        if b"\0" in data:
            return None
        text = _decode_as(data, _declared_encoding(data)) or _decode_as(data, "utf-8")
    if text is None:
        if _looks_binary(data):
            return None
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _candidates(root: Path, skipped: Counter[str]) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Yield the regular files that no folder rule excludes, with their path below ``root``."""
    stack: list[tuple[str, str, tuple[tuple[str, GitIgnoreSpec], ...]]] = [(os.fspath(root), "", ())]
    while stack:
        folder, prefix, specs = stack.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            if not prefix:
                raise CorpusError(f"cannot list {root}: {error.strerror}; check its permissions") from error
            skipped["unreadable"] += 1
            continue
        names = frozenset(entry.name for entry in entries)
        if ".gitignore" in names:
            specs = (*specs, (prefix, _ignore_rules(os.path.join(folder, ".gitignore"))))  # noqa: PTH118
        for entry in entries:
            if entry.name == ".rungs":  # this package's own folder is no part of anybody's corpus, so no loss to count
                continue
            relative = prefix + entry.name
            reason = _entry_reason(entry, relative, names, specs)
            if reason:
                skipped[reason] += 1
            elif entry.is_dir(follow_symlinks=False):
                stack.append((entry.path, relative + "/", specs))
            else:
                yield entry, relative


def _entry_reason(
    entry: os.DirEntry[str], relative: str, siblings: frozenset[str], specs: tuple[tuple[str, GitIgnoreSpec], ...]
) -> str:
    """Say why an entry is left out before it is opened, or nothing."""
    name = entry.name
    if name in _HISTORY:
        return "version control"
    if entry.is_symlink():
        return "link"
    is_folder = entry.is_dir(follow_symlinks=False)
    if not is_folder and not entry.is_file(follow_symlinks=False):
        return "special file"
    if is_folder and (reason := _folder_reason(entry, siblings)):
        return reason
    if _ignored(relative + "/" if is_folder else relative, specs):
        return "ignored by .gitignore"
    return "" if is_folder else _name_reason(name)


def _folder_reason(entry: os.DirEntry[str], siblings: frozenset[str]) -> str:
    name = entry.name
    inside = Path(entry.path)
    # not Path.is_file(), which raises for a folder that may not be entered
    if name in _VENDORED or os.path.isfile(inside / "pyvenv.cfg"):  # noqa: PTH113
        return "vendored folder"
    if name in _GENERATED or name.endswith((".egg-info", ".dist-info", ".egg")):
        return "generated folder"
    # A Python package may be called ``build``; an output folder has no business holding ``__init__.py``.
    if name in _OUTPUT and siblings & _BUILDS and not os.path.isfile(inside / "__init__.py"):  # noqa: PTH113
        return "generated folder"
    return ""


def _name_reason(name: str) -> str:
    suffix = PurePosixPath(name).suffix.lower()
    if name in _LOCKS or suffix == ".lock":
        return "lock file"
    if suffix in _BINARY:
        return "binary"
    if suffix in _SECRETS:
        return "key or certificate"
    return "generated file" if _GENERATED_NAME.search(name) else ""


def _ignore_rules(path: str) -> GitIgnoreSpec:
    """Read one ``.gitignore``; a link is not followed and a malformed pattern is left out, as git does."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:  # noqa: PTH123
            lines = split_lines(stream.read(MAX_BYTES).decode("utf-8-sig", "surrogateescape"))
    except OSError:
        return GitIgnoreSpec.from_lines([])
    return GitIgnoreSpec.from_lines([line for line in lines if _valid_pattern(line)])


def _valid_pattern(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _ignored(relative: str, specs: tuple[tuple[str, GitIgnoreSpec], ...]) -> bool:
    """Ask the rules from the deepest folder up; the first that has an opinion decides, as in git."""
    for prefix, spec in reversed(specs):
        verdict = spec.check_file(relative[len(prefix) :]).include
        if verdict is not None:
            return verdict
    return False


def _read(entry: os.DirEntry[str], relative: str, max_bytes: int) -> SourceFile | str:
    """Read one file, or say why not."""
    try:
        if entry.stat(follow_symlinks=False).st_size > max_bytes:
            return f"over {max_bytes:,} bytes"
        data = _read_regular(entry.path)
    except OSError:
        return "unreadable"
    if not data.strip():
        return "empty"
    text = decode(data)
    if text is None:
        return "binary"
    if not text.strip():
        return "empty"
    path = _printable(relative)
    if _is_generated(path, data):
        return "generated file"
    return SourceFile(path, text, category(path, text), language(path, text), hashlib.sha256(data).hexdigest())


def _read_regular(path: str) -> bytes:
    """Read a file unless it was swapped for a link or a pipe since it was listed."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as stream:  # noqa: PTH123
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("not a regular file")
        return stream.read()


def _is_generated(path: str, data: bytes) -> bool:
    """Tell generated code by the note its generator leaves on top, minified code by its shape."""
    kind = language(path)
    if kind in {"text", "rst", "markdown"}:
        return False
    if _GENERATED_MARK.search(data[:1000]):
        return True
    return kind in {"javascript", "css"} and len(data) > 5_000 and len(data) / (data.count(b"\n") + 1) > 300


def _printable(relative: str) -> str:
    """Write a path so that it can be printed, stored as UTF-8 and put on one line."""
    shown = os.fsencode(relative).decode("utf-8", "backslashreplace").replace(os.sep, "/")
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), shown)


def _decode_marked(data: bytes) -> str | None:
    """Decode text that starts with a byte order mark; the longer mark first, UTF-32's begins like UTF-16's."""
    marks = (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    )
    for mark, encoding in marks:
        if data.startswith(mark):
            return _decode_as(data, encoding)
    return None


def _declared_encoding(data: bytes) -> str:
    for line in data.split(b"\n", 2)[:2]:
        if match := _DECLARED.match(line):
            return match[1].decode("ascii", "replace")
    return ""


def _decode_as(data: bytes, encoding: str) -> str | None:
    """Decode, or ``None`` if the encoding is unknown, no text encoding, or does not fit these bytes."""
    if not encoding:
        return None
    try:
        text = data.decode(encoding)
        text.encode("utf-8")  # lone surrogates could be neither tokenised nor stored
    except (LookupError, ValueError):
        return None
    # Codecs such as unicode_escape turn written escapes into line ends: line numbers would no longer be the file's.
    same_lines = encoding.startswith("utf-") or text.count("\n") == data.count(b"\n")
    return text if same_lines else None


def _looks_binary(data: bytes) -> bool:
    """Tell arbitrary bytes from text in an unknown encoding by their share of control characters."""
    head = data[:8192]
    control = sum(byte < 9 or 13 < byte < 32 or byte == 127 for byte in head)
    return control > len(head) // 20

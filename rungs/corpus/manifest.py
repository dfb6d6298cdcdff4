"""Where a corpus comes from: pinned packages, or any folder.

``fetch`` brings the archives that ``data/corpora.toml`` pins, checks their sha256 before anything is unpacked, and puts
the result under ``<home>/corpora/<name>/<package>/`` in one rename, so that an interrupted fetch leaves nothing half.
``register`` gives a folder of your own a name. ``load_corpus`` opens either.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from filelock import FileLock
from tqdm import tqdm

from rungs.corpus.archive import Archive, download, unpack, verify
from rungs.corpus.category import CATEGORIES
from rungs.corpus.walk import SourceFile, walk
from rungs.errors import CorpusError

__all__ = ["Corpus", "Pin", "fetch", "find_home", "load_corpus", "pins", "register"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_RESERVED = frozenset({"corpora", "private", "milvus-server"})  # folders that lie beside those of the corpora
_STAMP = Path(".rungs") / "fetched.json"  # inside the corpus so that one rename publishes both; the walk skips it


@dataclass(frozen=True, slots=True)
class Pin:
    """A corpus that can be fetched: its name, what it is, and the exact archives it is made of."""

    name: str
    about: str
    archives: tuple[Archive, ...]


@dataclass(frozen=True)
class Corpus:
    """The files that are searched, as they were when it was loaded.

    Attributes
    ----------
    name
        Names the index folder; letters, digits and ``-_.`` only.
    root
        Folder the files were read from.
    files
        In order of their path.
    skipped
        How many entries the walk left out, by reason.
    sha256
        Over the sorted pairs (path, sha256 of the file): equal for equal content, wherever it lies.
    """

    name: str
    root: Path
    files: tuple[SourceFile, ...]
    skipped: Mapping[str, int]
    sha256: str

    def get(self, path: str) -> SourceFile | None:
        """Find a file by its path in the corpus."""
        return self._by_path.get(path)

    def counts(self) -> dict[str, int]:
        """Count files per category, every category named."""
        found = Counter(file.category for file in self.files)
        return {name: found[name] for name in CATEGORIES}

    @cached_property
    def _by_path(self) -> dict[str, SourceFile]:
        return {file.path: file for file in self.files}


def find_home() -> Path:
    """Find the folder that corpora and indexes are kept in.

    ``RAG_HOME`` if set; otherwise the ``.rungs`` of the nearest folder, from the working directory up, that has one or
    is a checkout of this project; otherwise ``.rungs`` in the working directory.
    """
    if configured := os.environ.get("RAG_HOME"):
        return Path(configured).expanduser().resolve()
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / ".rungs").is_dir() or _is_checkout(folder):
            return folder / ".rungs"
    return here / ".rungs"


def pins() -> dict[str, Pin]:
    """Read the corpora that can be fetched by name."""
    path = _data_folder() / "corpora.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return {name: _pin(name, entry) for name, entry in table.items()}
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror}; reinstall rungs") from error
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise CorpusError(f"{path} is damaged ({error}); restore it from the repository") from error


def fetch(name: str, home: Path, *, progress: bool = True) -> Corpus:
    """Bring a pinned corpus, or open it if it is already here and unchanged.

    Parameters
    ----------
    name
        A name in ``data/corpora.toml``.
    home
        See `find_home`.
    progress
        Show a progress bar on stderr.

    Raises
    ------
    CorpusError
        If the name is unknown, a package cannot be brought, an archive is not the pinned one, or holds entries that
        reach outside its folder. Nothing of it is kept then.
    """
    pin = _pinned(name)
    root = _fetched_root(name, home)
    if _intact(root, pin):
        return _read_corpus(name, root)
    root.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(root.parent / f".{name}.lock"):
        if not _intact(root, pin):  # another process may have brought it while this one waited
            _bring(pin, root, progress=progress)
    return _read_corpus(name, root)


def register(path: Path, name: str | None, home: Path) -> Corpus:
    """Make a folder a corpus under a name of its own.

    Parameters
    ----------
    path
        Folder to search. It is read where it lies; nothing is copied.
    name
        Letters, digits and ``-_.``; the folder's own name if not given.
    home
        See `find_home`; the name is recorded in ``<home>/<name>/corpus.json``.

    Raises
    ------
    CorpusError
        If the folder is missing or holds no text, or the name is malformed or taken.
    """
    root = path.expanduser().resolve()
    name = root.name if name is None else name
    _check_name(name)
    if name in pins():
        raise CorpusError(f"the name {name!r} belongs to a corpus that is fetched: choose another name")
    known = _intact_root(name, home)
    if known is not None and known != root:
        raise CorpusError(f"the name {name!r} already stands for {known}: choose another, or remove {home / name}")
    corpus = _read_corpus(name, root)
    record = home / name / "corpus.json"
    record.parent.mkdir(parents=True, exist_ok=True)
    _write_whole(record, json.dumps({"root": os.fsdecode(root)}, indent=1))
    return corpus


def load_corpus(name_or_path: str | Path, home: Path) -> Corpus:
    """Open a fetched corpus, a registered one, or any folder.

    A folder that was never registered is named after itself and its full path, so that two folders called ``src`` do
    not share an index.

    Raises
    ------
    CorpusError
        If there is no such corpus, it is not fetched yet, or was changed since it was fetched.
    """
    name = os.fspath(name_or_path)
    if isinstance(name_or_path, str):
        if (pin := pins().get(name)) is not None:
            return _load_fetched(pin, home)
        if (root := _registered_root(name, home)) is not None:
            return _read_corpus(name, root)
    folder = Path(name).expanduser().resolve()
    if not folder.is_dir():
        if _may_name(name) and (home / name).is_dir():
            raise CorpusError(f"the record of {name!r} in {home / name} is lost: run `rungs index PATH --name {name}`")
        known = ", ".join([*pins(), *_registered_names(home)])
        raise CorpusError(f"no corpus or folder {name!r}: give a path, or one of {known}")
    return _read_corpus(_name_of(folder, home), folder)


def _is_checkout(folder: Path) -> bool:
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError):
        return False
    return isinstance(project, dict) and project.get("name") == "rungs"


def _data_folder() -> Path:
    """Give ``rungs/_data`` in an installed package, ``data`` in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "_data"
    return installed if installed.is_dir() else package.parent / "data"


def _pin(name: str, entry: Mapping[str, object]) -> Pin:
    archives = entry["archives"]
    if not isinstance(archives, list):
        raise TypeError(f"archives of {name} is not a list")
    return Pin(name, str(entry.get("about", "")), tuple(Archive(**archive) for archive in archives))


def _pinned(name: str) -> Pin:
    known = pins()
    if name not in known:
        raise CorpusError(f"no corpus {name!r} to fetch: choose one of {', '.join(known)}, or index a folder")
    return known[name]


def _fetched_root(name: str, home: Path) -> Path:
    return home / "corpora" / name


def _load_fetched(pin: Pin, home: Path) -> Corpus:
    root = _fetched_root(pin.name, home)
    if not root.is_dir():
        raise CorpusError(f"corpus {pin.name!r} is not in {home}: run `rungs fetch {pin.name}`")
    if not _intact(root, pin):
        raise CorpusError(f"{root} is not what was fetched: run `rungs fetch {pin.name}` to bring it again")
    return _read_corpus(pin.name, root)


def _read_corpus(name: str, root: Path) -> Corpus:
    found = walk(root)
    if not found.files:
        skipped = ", ".join(f"{count} {reason}" for reason, count in found.skipped.items()) or "it is empty"
        raise CorpusError(f"nothing to index under {root} ({skipped}): give a folder that holds text files")
    digest = hashlib.sha256()
    for file in found.files:
        digest.update(f"{file.path}\0{file.sha256}\n".encode())
    return Corpus(name, root, found.files, found.skipped, digest.hexdigest())


def _bring(pin: Pin, root: Path, *, progress: bool) -> None:
    """Download, verify and unpack next to ``root``, then put it in place."""
    for left_over in root.parent.glob(f".{pin.name}-*"):  # of a fetch that was killed; the lock is ours
        shutil.rmtree(left_over, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(prefix=f".{pin.name}-", dir=root.parent) as scratch,
        tqdm(total=2 + len(pin.archives), desc=f"fetch {pin.name}", unit="step", disable=not progress) as bar,
    ):
        downloads = Path(scratch) / "downloads"
        downloads.mkdir()
        files = download(pin.archives, downloads)
        bar.update()
        for archive, file in zip(pin.archives, files, strict=True):
            verify(archive, file)
        bar.update()
        fresh = Path(scratch) / "corpus"
        for archive, file in zip(pin.archives, files, strict=True):
            unpack(archive, file, fresh / archive.package)
            bar.update()
        _stamp(fresh, pin)
        _replace(root, fresh, Path(scratch) / "old")


def _replace(root: Path, fresh: Path, old: Path) -> None:
    if root.exists():
        root.rename(old)
    fresh.rename(root)


def _stamp(root: Path, pin: Pin) -> None:
    """Record what was unpacked, so that a later change to it is noticed."""
    stamp = {"archives": [asdict(archive) for archive in pin.archives], "tree": _tree_hash(root)}
    (root / _STAMP).parent.mkdir()
    (root / _STAMP).write_text(json.dumps(stamp, indent=1), encoding="utf-8")


def _intact(root: Path, pin: Pin) -> bool:
    """Tell whether ``root`` holds exactly what the pins unpack to."""
    try:
        stamp = json.loads((root / _STAMP).read_text(encoding="utf-8"))
        wanted = [asdict(archive) for archive in pin.archives]
        return stamp["archives"] == wanted and stamp["tree"] == _tree_hash(root)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _tree_hash(root: Path) -> str:
    """Hash every file below ``root`` but the stamp, whatever the walk would make of it."""
    digest = hashlib.sha256()
    for folder, folders, names in os.walk(root):
        if Path(folder) == root:
            folders[:] = [name for name in folders if name != _STAMP.parts[0]]
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            digest.update(os.fsencode(path.relative_to(root)) + b"\0" + hashlib.sha256(data).digest())
    return digest.hexdigest()


def _may_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in _RESERVED


def _check_name(name: str) -> None:
    if not _may_name(name):
        raise CorpusError(
            f"{name!r} cannot name a corpus: use up to 64 letters, digits, '-', '_' or '.', "
            "starting with a letter or digit (`--name my-api`)"
        )


def _registered_root(name: str, home: Path) -> Path | None:
    """Give the folder a name stands for, if it is registered."""
    if not _may_name(name):
        return None
    record = home / name / "corpus.json"
    try:
        return Path(json.loads(record.read_text(encoding="utf-8"))["root"])
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise CorpusError(f"{home} is no folder; set RAG_HOME to one, or leave it unset") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{record} is damaged: run `rungs index PATH --name {name}` to write it anew") from error


def _intact_root(name: str, home: Path) -> Path | None:
    """As `_registered_root`; a damaged record stands for nothing."""
    try:
        return _registered_root(name, home)
    except CorpusError:
        return None


def _registered_names(home: Path) -> list[str]:
    return sorted(record.parent.name for record in home.glob("*/corpus.json"))


def _name_of(folder: Path, home: Path) -> str:
    for name in _registered_names(home):
        if _intact_root(name, home) == folder:
            return name
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.name).lstrip("._-") or "folder"
    return f"{plain[:48]}-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:8]}"


def _write_whole(path: Path, text: str) -> None:
    """Write a small file so that a reader sees all of it or none."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)

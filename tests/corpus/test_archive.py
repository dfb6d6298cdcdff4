"""Archives are somebody else's data: nothing is written outside the folder given, and nothing before it is verified."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from rungs.corpus.archive import Archive, download, unpack, verify
from rungs.errors import CorpusError

PIN = Archive("demo", "1.0", sha256="")


def entry(
    name: str, data: bytes = b"x", kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    info.size = len(data) if kind == tarfile.REGTYPE else 0
    info.mode = 0o6777
    return info, data


def make(path: Path, *entries: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data))
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_first_folder_is_dropped(tmp_path: Path) -> None:
    archive = make(
        tmp_path / "demo.tar.gz",
        entry("demo-1.0", kind=tarfile.DIRTYPE),
        entry("demo-1.0/a.py", b"1"),
        entry("demo-1.0/pkg/b.py", b"2"),
        entry("demo-1.0/pkg/same.py", kind=tarfile.LNKTYPE, link="demo-1.0/pkg/b.py"),
        entry("demo-1.0/inner", kind=tarfile.SYMTYPE, link="pkg/b.py"),
        entry("demo-1.0/pkg/up", kind=tarfile.SYMTYPE, link="../a.py"),
    )
    unpack(PIN, archive, tmp_path / "out")
    assert files(tmp_path / "out") == {"a.py": b"1", "pkg/b.py": b"2", "pkg/same.py": b"2"}
    assert not (tmp_path / "out" / "a.py").stat().st_mode & 0o7022  # no set-uid, not writable by others


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([entry("/etc/evil")], "outside"),
        ([entry("demo/../../evil")], "outside"),
        ([entry("..")], "outside"),
        ([entry("demo\\..\\..\\evil")], "outside"),
        ([entry("C:/evil")], "outside"),
        ([entry("demo/l", kind=tarfile.SYMTYPE, link="/etc/passwd")], "outside"),
        ([entry("demo/l", kind=tarfile.SYMTYPE, link="../../evil")], "outside"),
        ([entry("demo/h", kind=tarfile.LNKTYPE, link="/etc/passwd")], "outside"),
        ([entry("demo/h", kind=tarfile.LNKTYPE, link="demo/../../evil")], "outside"),
        ([entry("demo/h", kind=tarfile.LNKTYPE, link="demo/absent")], "cannot be unpacked"),
        ([entry("demo/dev", kind=tarfile.CHRTYPE)], "device"),
        ([entry("demo/dev", kind=tarfile.BLKTYPE)], "device"),
        ([entry("demo/pipe", kind=tarfile.FIFOTYPE)], "device"),
        ([entry("loose.py")], "outside its one folder"),
        ([entry("demo/a", b"x" * 1001)], "more than"),
        ([entry("demo/a", b"x" * 600), entry("demo/b", b"x" * 600)], "more than"),
        ([entry(f"demo/{i}", b"") for i in range(11)], "more than"),
        # a link that would be followed by the next entry is never made
        ([entry("demo/l", kind=tarfile.SYMTYPE, link="/tmp"), entry("demo/l/evil")], "outside"),
    ],
)
def test_refused(tmp_path: Path, entries: list[tuple[tarfile.TarInfo, bytes]], says: str) -> None:
    archive = make(tmp_path / "demo.tar.gz", *entries)
    with pytest.raises(CorpusError, match=says) as caught:
        unpack(PIN, archive, tmp_path / "out" / "demo", max_bytes=1000, max_files=10)
    assert "\n" not in str(caught.value)
    left = {path for path in tmp_path.rglob("*") if path.is_file() or path.is_symlink()} - {archive}
    assert all(path.is_relative_to(tmp_path / "out" / "demo") and not path.is_symlink() for path in left)


def test_a_bomb_is_stopped_by_what_it_unpacks_to(tmp_path: Path) -> None:
    archive = make(tmp_path / "demo.tar.gz", entry("demo/zeros", bytes(20_000_000)))
    assert archive.stat().st_size < 50_000
    with pytest.raises(CorpusError, match="more than"):
        unpack(PIN, archive, tmp_path / "out", max_bytes=10_000_000)
    assert files(tmp_path / "out") == {}


@pytest.mark.parametrize("data", [b"", b"not an archive", b"\x1f\x8b\x08\x00broken"])
def test_damage_is_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "demo.tar.gz").write_bytes(data)
    with pytest.raises(CorpusError, match=r"demo\.tar\.gz cannot be unpacked"):
        unpack(PIN, tmp_path / "demo.tar.gz", tmp_path / "out")


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    archive = make(tmp_path / "demo.tar.gz", entry("demo/a", bytes(range(256)) * 400), entry("demo/b"))
    archive.write_bytes(archive.read_bytes()[:-200])
    with pytest.raises(CorpusError, match="cannot be unpacked"):
        unpack(PIN, archive, tmp_path / "out")


def test_a_wrong_hash_is_refused_and_deleted(tmp_path: Path) -> None:
    archive = make(tmp_path / "demo.tar.gz", entry("demo/a"))
    right = hashlib.sha256(archive.read_bytes()).hexdigest()
    verify(Archive("demo", "1.0", right), archive)
    with pytest.raises(CorpusError, match="not the pinned archive"):
        verify(Archive("demo", "1.0", "0" * 64), archive)
    assert not archive.exists()


def source_map(sources: list[str], contents: list[str | None], **more: str) -> bytes:
    return json.dumps({"version": 3, "sources": sources, "sourcesContent": contents, **more}).encode()


def test_sources_are_taken_out_of_source_maps(tmp_path: Path) -> None:
    archive = make(
        tmp_path / "demo.tgz",
        entry("package/package.json", b"{}"),
        entry("package/dist/a/x.js", b"compiled"),
        entry("package/dist/a/x.js.map", source_map(["../../src/a/x.ts"], ["export const x = 1\n"])),
        entry("package/dist/y.js.map", source_map(["y.ts", "z.ts"], ["y\n", None], sourceRoot="../src")),
        entry("package/dist/none.js.map", b'{"version": 3}'),
        entry("package/dist/broken.js.map", b"{"),
    )
    unpack(Archive("demo", "1.0", "", "npm", "source-maps"), archive, tmp_path / "out")
    assert files(tmp_path / "out") == {"package.json": b"{}", "src/a/x.ts": b"export const x = 1\n", "src/y.ts": b"y\n"}


@pytest.mark.parametrize("source", ["../../../evil.ts", "/evil.ts", "webpack://x/../../../../../../evil.ts"])
def test_a_source_map_cannot_write_outside(tmp_path: Path, source: str) -> None:
    archive = make(tmp_path / "demo.tgz", entry("package/dist/x.js.map", source_map([source], ["evil"])))
    with pytest.raises(CorpusError, match="outside"):
        unpack(Archive("demo", "1.0", "", "npm", "source-maps"), archive, tmp_path / "deep" / "out")
    assert not list(tmp_path.rglob("evil*"))


def test_source_maps_are_bounded_and_must_hold_something(tmp_path: Path) -> None:
    pin = Archive("demo", "1.0", "", "npm", "source-maps")
    two = entry("package/dist/x.js.map", source_map(["../a.ts", "../b.ts"], ["1", "2"]))
    with pytest.raises(CorpusError, match="embeds more than"):
        unpack(pin, make(tmp_path / "c.tgz", two), tmp_path / "c", max_files=1)
    with pytest.raises(CorpusError, match="embeds no sources"):
        unpack(pin, make(tmp_path / "d.tgz", entry("package/a.js")), tmp_path / "d")


def fake_client(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo 'ERROR: No matching distribution found' >&2; exit 1", "check the network"),
        ("echo 'No module named pip' >&2; exit 1", "ensurepip"),
        ("echo 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES' >&2; exit 1", "not the pinned archive"),
        ("exit 3", "no message"),
        ("exit 0", "left no archive"),
    ],
)
def test_a_failing_client_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str) -> None:
    fake_client(tmp_path, "python", script)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(CorpusError, match=says) as caught:
        download([PIN], tmp_path)
    assert "\n" not in str(caught.value)


def test_npm_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CorpusError, match="npm is not installed"):
        download([Archive("demo", "1.0", "", "npm")], tmp_path)


def test_archives_are_found_however_clients_spell_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_client(tmp_path, "python", 'while [ "$1" != --dest ]; do shift; done; touch "$2/My_Demo-1.0.tar.gz"')
    fake_client(tmp_path, "npm", 'while [ "$1" != --pack-destination ]; do shift; done; touch "$2/scope-tool-2.0.tgz"')
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    target = tmp_path / "downloads"
    target.mkdir()
    found = download([Archive("my-demo", "1.0", ""), Archive("@scope/tool", "2.0", "", "npm")], target)
    assert [path.name for path in found] == ["My_Demo-1.0.tar.gz", "scope-tool-2.0.tgz"]

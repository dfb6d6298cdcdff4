"""Fetching, registering and opening corpora."""

import hashlib
import io
import json
import multiprocessing
import shutil
import tarfile
from pathlib import Path

import pytest

from rungs.corpus import Corpus, fetch, find_home, load_corpus, manifest, pins, register
from rungs.corpus.archive import Archive
from rungs.corpus.manifest import Pin
from rungs.errors import CorpusError


def make(path: Path, name: str, data: bytes) -> Path:
    """Write an archive of one file."""
    with tarfile.open(path, "w:gz") as tar:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    return path


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pinned corpus of two archives that a stand-in for pip copies from a folder; gives that folder."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    archives = []
    for name in ("one", "two"):
        file = make(shelf / f"{name}-1.0.tar.gz", f"{name}-1.0/{name}.py", f"def {name}(): pass\n".encode())
        archives.append(Archive(name, "1.0", hashlib.sha256(file.read_bytes()).hexdigest()))
    pin = Pin("demo", "for tests", tuple(archives))

    def bring(wanted: list[Archive], folder: Path) -> list[Path]:
        return [shutil.copy(shelf / f"{archive.package}-1.0.tar.gz", folder) for archive in wanted]

    monkeypatch.setattr(manifest, "pins", lambda: {"demo": pin})
    monkeypatch.setattr(manifest, "download", lambda wanted, folder: [Path(path) for path in bring(wanted, folder)])
    return shelf


def fetch_demo(home: Path) -> Corpus:
    return fetch("demo", home, progress=False)


def leftovers(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "corpora").iterdir() if not path.name.endswith(".lock"))


def test_pins_name_what_the_project_says_it_uses() -> None:
    known = pins()
    assert [(a.package, a.version, a.ecosystem) for a in known["celery"].archives] == [
        ("celery", "5.7.0", "pypi"),
        ("kombu", "5.7.0", "pypi"),
    ]
    assert all(len(archive.sha256) == 64 for pin in known.values() for archive in pin.archives)


def test_pins_hold_no_address() -> None:
    text = (Path(__file__).parents[2] / "data" / "corpora.toml").read_text(encoding="utf-8")
    assert "http" not in text
    assert "://" not in text


@pytest.mark.usefixtures("demo")
def test_fetch_unpacks_every_package_under_its_name(tmp_path: Path) -> None:
    corpus = fetch_demo(tmp_path / "home")
    assert [file.path for file in corpus.files] == ["one/one.py", "two/two.py"]
    assert corpus.root == tmp_path / "home" / "corpora" / "demo"
    assert corpus.counts() == {"code": 2, "test": 0, "doc": 0, "config": 0}
    assert leftovers(tmp_path / "home") == ["demo"]


def test_a_second_fetch_brings_nothing(demo: Path, tmp_path: Path) -> None:
    first = fetch_demo(tmp_path / "home")
    shutil.rmtree(demo)
    assert fetch_demo(tmp_path / "home") == first


@pytest.mark.usefixtures("demo")
def test_a_changed_corpus_is_refused_and_brought_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = fetch_demo(home)
    (first.root / "one" / "one.py").write_text("changed", encoding="utf-8")
    (first.root / "extra.py").write_text("added", encoding="utf-8")
    with pytest.raises(CorpusError, match="rungs fetch demo"):
        load_corpus("demo", home)
    assert fetch_demo(home) == first
    assert leftovers(home) == ["demo"]


def test_a_wrong_archive_leaves_nothing(demo: Path, tmp_path: Path) -> None:
    make(demo / "two-1.0.tar.gz", "two-1.0/evil.py", b"x")
    with pytest.raises(CorpusError, match="not the pinned archive"):
        fetch_demo(tmp_path / "home")
    assert leftovers(tmp_path / "home") == []


@pytest.mark.usefixtures("demo")
def test_a_failed_fetch_leaves_the_old_corpus_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    fetch_demo(home)
    (home / "corpora" / "demo" / "mine.py").write_text("kept", encoding="utf-8")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(manifest, "unpack", fail)
    with pytest.raises(KeyboardInterrupt):
        fetch_demo(home)
    assert (home / "corpora" / "demo" / "mine.py").exists()
    assert leftovers(home) == ["demo"]


@pytest.mark.usefixtures("demo")
def test_what_a_killed_fetch_left_is_swept_up(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "corpora" / ".demo-killed" / "corpus").mkdir(parents=True)
    fetch_demo(home)
    assert leftovers(home) == ["demo"]


@pytest.mark.usefixtures("demo")
def test_two_processes_may_fetch_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")  # the stand-in for pip must be inherited
    workers = [context.Process(target=fetch_demo, args=(tmp_path / "home",)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert len(fetch_demo(tmp_path / "home").files) == 2


def test_an_unknown_name_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="choose one of celery"):
        fetch("celeri", tmp_path, progress=False)


def test_a_corpus_that_is_not_here_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="run `rungs fetch celery`"):
        load_corpus("celery", tmp_path)


def test_register_and_load(small_corpus: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    corpus = register(small_corpus, "my-api", home)
    assert corpus.counts() == {"code": 2, "test": 1, "doc": 1, "config": 1}
    assert json.loads((home / "my-api" / "corpus.json").read_text())["root"] == str(small_corpus)
    assert load_corpus("my-api", home) == corpus
    assert load_corpus(small_corpus, home).name == "my-api"
    assert register(small_corpus, "my-api", home) == corpus
    assert register(small_corpus, None, home).name == "corpus"


def test_register_refuses_what_would_mix_corpora_up(small_corpus: Path, tmp_path: Path) -> None:
    register(small_corpus, "mine", tmp_path)
    other = tmp_path / "other"
    shutil.copytree(small_corpus, other)
    with pytest.raises(CorpusError, match="already stands for"):
        register(other, "mine", tmp_path)
    with pytest.raises(CorpusError, match="is fetched"):
        register(other, "celery", tmp_path)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "-x", "a b", "é", "x\n", "corpora", "a" * 65])
def test_names_that_could_leave_the_folder_are_refused(small_corpus: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(CorpusError, match="cannot name a corpus") as caught:
        register(small_corpus, name, tmp_path / "home")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "home").exists()


def test_any_folder_is_a_corpus(small_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small_corpus.parent)
    by_path = load_corpus("./corpus", tmp_path / "home")
    twin = tmp_path / "elsewhere" / "corpus"
    shutil.copytree(small_corpus, twin)
    by_twin = load_corpus(twin, tmp_path / "home")
    assert by_path.name != by_twin.name  # they must not share an index
    assert by_path.sha256 == by_twin.sha256


def test_nothing_to_index_says_why(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match="it is empty"):
        load_corpus(tmp_path / "empty", tmp_path)
    (tmp_path / "empty" / "a.png").write_bytes(b"x")
    with pytest.raises(CorpusError, match="1 binary"):
        register(tmp_path / "empty", "x", tmp_path / "home")
    with pytest.raises(CorpusError, match="no corpus or folder"):
        load_corpus("nowhere", tmp_path)


def test_a_damaged_record_is_one_line(small_corpus: Path, tmp_path: Path) -> None:
    register(small_corpus, "mine", tmp_path)
    (tmp_path / "mine" / "corpus.json").write_text("{")
    with pytest.raises(CorpusError, match="is damaged: run `rungs index PATH --name mine`"):
        load_corpus("mine", tmp_path)
    assert load_corpus(small_corpus, tmp_path).name != "mine"  # and it is in nobody else's way
    assert register(small_corpus, "mine", tmp_path) == load_corpus("mine", tmp_path)  # what the line says to run helps


def test_a_lost_record_says_what_to_run(small_corpus: Path, tmp_path: Path) -> None:
    register(small_corpus, "mine", tmp_path)
    (tmp_path / "mine" / "corpus.json").unlink()
    with pytest.raises(CorpusError, match="is lost: run `rungs index PATH --name mine`"):
        load_corpus("mine", tmp_path)
    assert register(small_corpus, "mine", tmp_path) == load_corpus("mine", tmp_path)


def test_the_hash_changes_with_any_path_or_byte(small_corpus: Path, tmp_path: Path) -> None:
    before = load_corpus(small_corpus, tmp_path).sha256
    (small_corpus / "app" / "pool.py").rename(small_corpus / "app" / "pools.py")
    renamed = load_corpus(small_corpus, tmp_path).sha256
    (small_corpus / "app" / "pools.py").write_text("x = 1\n")
    assert len({before, renamed, load_corpus(small_corpus, tmp_path).sha256}) == 3


def test_get(small_corpus: Path, tmp_path: Path) -> None:
    corpus = load_corpus(small_corpus, tmp_path)
    file = corpus.get("app/retry.py")
    assert file is not None
    assert file.lines[0] == "def retry_policy(attempts):"
    assert corpus.get("app/absent.py") is None


def test_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAG_HOME", raising=False)
    deep = tmp_path / "project" / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    if not any((parent / ".rungs").is_dir() for parent in tmp_path.parents):
        assert find_home() == deep / ".rungs"
    (tmp_path / "project" / "pyproject.toml").write_text('[project]\nname = "rungs"\n')
    assert find_home() == tmp_path / "project" / ".rungs"
    (tmp_path / "project" / "a" / "pyproject.toml").write_text('[project]\nname = "other"\n')
    assert find_home() == tmp_path / "project" / ".rungs"
    (tmp_path / "project" / "a" / ".rungs").mkdir()
    assert find_home() == tmp_path / "project" / "a" / ".rungs"
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "chosen"))
    assert find_home() == tmp_path / "chosen"


def test_the_real_corpus(celery: Corpus) -> None:
    assert {file.path.split("/")[0] for file in celery.files} == {"celery", "kombu"}
    assert celery.get("celery/celery/app/task.py") is not None
    assert celery.get("kombu/docs/userguide/producers.rst") is not None
    assert len(celery.files) > 1000

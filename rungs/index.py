"""What is built once and opened many times: chunks, vectors, names, lexical terms and the Milvus collection.

An index lives in ``<home>/<corpus>/<chunking>-<model>/<version>/``. A build writes to a temporary folder and is renamed
when complete, so an interrupted build leaves the previous version in use; a published version is never modified. Every
file's sha256 is in the manifest and is checked when the index is opened. Milvus Lite allows one process per file, so each
process searches a private copy, removed when it exits and, after a crash, by the next process that opens an index.
"""

import atexit
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from llama_index.core.schema import TextNode

from rungs.corpus import Chunk, Corpus, chunk_files
from rungs.corpus.chunking import CHUNKER_VERSION
from rungs.corpus.names import NAMES_VERSION, Names, names_of
from rungs.errors import CorpusError, StoreError
from rungs.settings import DEFAULT_EMBED_MODEL as DEFAULT_MODEL
from rungs.tokenizer import TOKENIZER_VERSION, tokenize
from rungs.vectorcache import VectorCache, cache_path

__all__ = ["CHUNK_TOKENS", "Index", "build_index", "embed_texts", "index_folder"]

FORMAT_VERSION = 2
CHUNK_TOKENS = 256
"""Chunks are cut to this many tokens, or to the model's window where that is smaller."""

METRIC = "COSINE"
COLLECTION = "chunks"
TOKENS_FIELD = "tokens"
KEEP_VERSIONS = 2
EMBED_BLOCK = 128
"""Texts embedded between two writes to the cache: what a killed build can lose."""
INSERT_BLOCK = 2000
MAX_VARCHAR_BYTES = 65_535
_FILES = ("chunks.jsonl", "names.json", "tokens.txt", "vectors.npy", "milvus.db")
_VERSION = re.compile(r"^(\d{4,})-[0-9a-f]{12}$")

Report = Callable[[str, int, int], Any]
"""Progress: called with a stage, how much of it is done, and how much there is. The stage ``remembered`` is reported once:
how many of the texts the vector cache already knew."""


def index_folder(home: Path, corpus: str, chunking: str, model: str) -> Path:
    """The folder that holds the versions of one index."""
    base = re.sub(r"[^a-z0-9.]+", "-", model.rstrip("/").rsplit("/", 1)[-1].lower()).strip("-.") or "model"
    if "/" in model:
        base += "-" + hashlib.sha256(model.encode()).hexdigest()[:8]
    return home / corpus / f"{chunking}-{base}"


def build_index(
    corpus: Corpus,
    embedder: Any,
    home: Path,
    *,
    chunking: str = "symbols",
    milvus_uri: str = "",
    progress: Report | None = None,
) -> Path:
    """Build an index, or find that the newest version is already the one that would be built.

    Parameters
    ----------
    corpus
        What to index.
    embedder
        A model from `rungs.models`.
    home
        The ``.rungs`` folder.
    chunking
        ``symbols`` or ``windows``.
    milvus_uri
        A Milvus server that holds the collection in place of a local file.
    progress
        Told about each stage.

    Returns
    -------
    pathlib.Path
        The version's folder.

    Raises
    ------
    CorpusError
        When the corpus has nothing to index.
    StoreError
        When another build of the same index is running, or the server cannot be used.
    """
    folder = index_folder(home, corpus.name, chunking, embedder.model_name)
    folder.mkdir(parents=True, exist_ok=True)
    report = progress or (lambda *_: None)
    try:
        with FileLock(folder / ".lock", timeout=0):
            return _build(folder, corpus, embedder, chunking, milvus_uri, report)
    except Timeout:
        raise StoreError(f"{folder} is being built by another process; wait for it and run this again") from None


def _build(folder: Path, corpus: Corpus, embedder: Any, chunking: str, milvus_uri: str, report: Report) -> Path:
    for leftover in folder.glob(".building-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    inputs = _inputs(corpus, embedder, chunking, milvus_uri)
    newest = _newest(folder)
    if newest is not None and _same_inputs(newest, inputs):
        return newest
    started = time.perf_counter()
    report("chunk", 0, len(corpus.files))
    limit = min(CHUNK_TOKENS, embedder.max_tokens)
    chunks = chunk_files(corpus.files, chunking, max_tokens=limit, count_tokens=embedder.count_tokens)
    if not chunks:
        raise CorpusError(
            f"corpus {corpus.name!r} at {corpus.root} has no text to index; check the folder and its .gitignore"
        )
    _check_chunks(chunks)
    report("chunk", len(corpus.files), len(corpus.files))
    # windows are cut without regard to what stands in them: rung 1 knows no names
    names = names_of(corpus.files, chunks) if chunking == "symbols" else Names([], [], [], [])
    chunked = time.perf_counter()
    vectors, embedded = embed_texts([chunk.embed_text for chunk in chunks], embedder, report)
    timed = {"chunk_s": chunked - started, "embed_s": time.perf_counter() - chunked, "embedded": embedded}
    work = folder / f".building-{os.getpid()}"
    work.mkdir()
    try:
        return _write(work, folder, newest, inputs, chunks, names, vectors, milvus_uri, timed, report)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _inputs(corpus: Corpus, embedder: Any, chunking: str, milvus_uri: str) -> dict[str, Any]:
    """Everything that decides what an index holds; two builds with equal inputs are the same index."""
    return {
        "format": FORMAT_VERSION,
        "corpus": {"name": corpus.name, "sha256": corpus.sha256},
        "chunking": chunking,
        "chunk_tokens": min(CHUNK_TOKENS, embedder.max_tokens),
        "chunker_version": CHUNKER_VERSION,
        "tokenizer_version": TOKENIZER_VERSION,
        "names_version": NAMES_VERSION,
        "model": {
            "name": embedder.model_name,
            "weights_sha256": embedder.weights_sha256,
            "dim": embedder.dim,
            "passage_instruction": getattr(embedder, "passage_instruction", ""),
        },
        "metric": METRIC,
        "milvus_uri": milvus_uri,
    }


def _same_inputs(version: Path, inputs: dict[str, Any]) -> bool:
    try:
        manifest = _read_manifest(version)
        _check_files(version, manifest)
    except StoreError:
        return False  # damaged: build it again rather than keep it
    return all(manifest.get(key) == value for key, value in inputs.items())


def _check_chunks(chunks: Sequence[Chunk]) -> None:
    """Refuse at the door what Milvus would accept and later get wrong."""
    counts = Counter(chunk.node.id_ for chunk in chunks)
    repeated = next((id_ for id_, n in counts.items() if n > 1), None)
    if repeated is not None:
        raise StoreError(f"two chunks have the id {repeated!r}; this is a defect of the chunker, please report it")


def embed_texts(texts_in_order: Sequence[str], embedder: Any, report: Report) -> tuple[np.ndarray, int]:
    """Vectors of texts, shape (n, dim), and how many had to be computed: those this model never embedded before."""
    identity = "|".join(
        (
            embedder.weights_sha256,
            getattr(embedder, "precision", "float32"),
            getattr(embedder, "passage_instruction", ""),
        )
    )
    keys = [VectorCache.key(text, identity) for text in texts_in_order]
    texts = dict(zip(keys, texts_in_order, strict=True))
    cache = VectorCache(cache_path())
    try:
        known = {k: v for k, v in cache.get(texts).items() if v.shape == (embedder.dim,) and np.isfinite(v).all()}
        missing = sorted((key for key in texts if key not in known), key=lambda key: len(texts[key]), reverse=True)
        done = 0
        report("remembered", len(texts) - len(missing), len(texts))
        report("embed", 0, len(missing))
        for start in range(0, len(missing), EMBED_BLOCK):
            block = missing[start : start + EMBED_BLOCK]

            def advance(n: int) -> None:
                nonlocal done
                done += n
                report("embed", done, len(missing))

            vectors = embedder.encode_passages([texts[key] for key in block], advance)
            _check_vectors(vectors)
            fresh = dict(zip(block, vectors, strict=True))
            cache.put(fresh)
            known.update(fresh)
    finally:
        cache.close()
    return np.stack([known[key] for key in keys]), len(missing)


def _check_vectors(vectors: np.ndarray) -> None:
    if not np.isfinite(vectors).all():
        raise StoreError("the embedding model returned NaN or infinite values; check its weights")
    if (np.linalg.norm(vectors, axis=1) == 0).any():
        raise StoreError("the embedding model returned a zero vector, which has no cosine; check its weights")


def _write(
    work: Path,
    folder: Path,
    newest: Path | None,
    inputs: dict[str, Any],
    chunks: Sequence[Chunk],
    names: Names,
    vectors: np.ndarray,
    milvus_uri: str,
    timed: dict[str, Any],
    report: Report,
) -> Path:
    report("store", 0, len(chunks))
    started = time.perf_counter()
    tokens = [" ".join(tokenize(chunk.lexical_text)) for chunk in chunks]
    with (work / "chunks.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for chunk in chunks:
            node = chunk.node
            row = {"id": node.id_, "text": node.text, "metadata": node.metadata}
            file.write(json.dumps(row, ensure_ascii=True) + "\n")
    (work / "tokens.txt").write_text("".join(line + "\n" for line in tokens), encoding="utf-8", newline="\n")
    (work / "names.json").write_text(json.dumps(names.to_dict()) + "\n", encoding="utf-8")
    np.save(work / "vectors.npy", vectors)
    identity = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:12]
    collection, lexical = _fill_milvus(work, identity, inputs, chunks, vectors, tokens, milvus_uri, report)
    manifest = {
        **inputs,
        "rows": len(chunks),
        "rows_by_category": dict(sorted(Counter(chunk.node.metadata["category"] for chunk in chunks).items())),
        "collection": collection,
        "lexical": lexical,
        "timings": {**{k: round(v, 2) for k, v in timed.items()}, "store_s": round(time.perf_counter() - started, 2)},
        "files": {p.name: _file_sha256(p) for p in sorted(work.iterdir()) if p.name in _FILES},
    }
    for stray in [p for p in work.iterdir() if p.name not in _FILES]:
        stray.unlink()  # Milvus Lite's lock file
    manifest["self"] = _manifest_sha256(manifest)
    _write_durably(work / "manifest.json", json.dumps(manifest, indent=1) + "\n")
    number = 1 + (int(_VERSION.match(newest.name)[1]) if newest else 0)  # type: ignore[index]
    version = folder / f"{number:04d}-{identity}"
    work.rename(version)
    _prune(folder)
    return version


def _fill_milvus(
    work: Path,
    identity: str,
    inputs: dict[str, Any],
    chunks: Sequence[Chunk],
    vectors: np.ndarray,
    tokens: Sequence[str],
    milvus_uri: str,
    report: Report,
) -> tuple[str, bool]:
    """Put every chunk into one collection with both channels; returns its name and whether it has the lexical one."""
    name = COLLECTION
    if milvus_uri:
        name = re.sub(r"\W", "_", f"rungs_{inputs['corpus']['name']}_{inputs['chunking']}_{identity}")
    path = work / "milvus.db"
    store, lexical = _create_store(milvus_uri or str(path), name, inputs["model"]["dim"])
    try:
        done = 0
        for start in range(0, len(chunks), INSERT_BLOCK):
            rows = range(start, min(start + INSERT_BLOCK, len(chunks)))
            entries = [_entry(chunks[i].node, vectors[i], tokens[i] if lexical else None) for i in rows]
            store.client.insert(name, entries)
            done += len(entries)
            report("store", done, len(chunks))
        store.client.flush(name)
    finally:
        _release(store, None if milvus_uri else path)
    return name, lexical


def _entry(node: TextNode, vector: np.ndarray, tokens: str | None) -> dict[str, Any]:
    """One row, as the LlamaIndex store writes it, with the tokens in a field of their own."""
    from llama_index.core.vector_stores.utils import node_to_metadata_dict

    entry = node_to_metadata_dict(node, remove_text=True, text_field="text")
    entry.update({"id": node.id_, "text": node.text, "embedding": vector})
    if tokens is not None:
        entry[TOKENS_FIELD] = _fit(tokens)
    return entry


def _fit(tokens: str) -> str:
    """Cut a token line at Milvus' limit on a text field, at a token boundary."""
    if len(tokens.encode()) <= MAX_VARCHAR_BYTES:
        return tokens
    return tokens.encode()[:MAX_VARCHAR_BYTES].decode("utf-8", "ignore").rpartition(" ")[0]


def _create_store(uri: str, name: str, dim: int) -> tuple[Any, bool]:
    """A new collection; without the lexical channel where the server does not have Milvus' BM25 Function."""
    from pymilvus import MilvusException

    try:
        return _store(uri, name, dim, lexical=True, overwrite=True), True
    except MilvusException as error:
        if not uri.startswith(("http://", "https://", "tcp://")):
            raise StoreError(
                f"Milvus Lite could not create {uri} ({_one_line(error)}); check free disk space"
            ) from error
    try:
        return _store(uri, name, dim, lexical=False, overwrite=True), False
    except MilvusException as error:
        raise StoreError(
            f"the Milvus server at {uri} cannot be used ({_one_line(error)}); check RAG_MILVUS_URI"
        ) from error


def _store(uri: str, name: str, dim: int, *, lexical: bool, overwrite: bool = False) -> Any:
    """The LlamaIndex store over the collection: dense and, derived by Milvus itself from the tokens, BM25."""
    with warnings.catch_warnings():
        # milvus-lite 2.5.1 imports pkg_resources, which says that it will go; nothing a user can do about it.
        warnings.filterwarnings("ignore", message="pkg_resources is deprecated", category=UserWarning)
        import milvus_lite  # noqa: F401
    from llama_index.vector_stores.milvus import MilvusVectorStore
    from llama_index.vector_stores.milvus.utils import BM25BuiltInFunction
    from pymilvus import DataType

    sparse: dict[str, Any] = {}
    if lexical:
        sparse = {
            "enable_sparse": True,
            "sparse_embedding_function": BM25BuiltInFunction(
                input_field_names=TOKENS_FIELD,
                function_name="bm25_of_tokens",
                analyzer_params={"tokenizer": "whitespace"},
            ),
            "scalar_field_names": [TOKENS_FIELD],
            "scalar_field_types": [DataType.VARCHAR],
            # Said, so that no server's own default decides; `rungs.lexical` counts on them.
            "sparse_index_config": {"bm25_k1": 1.2, "bm25_b": 0.75},
        }
    return MilvusVectorStore(
        uri=uri,
        collection_name=name,
        dim=dim,
        similarity_metric=METRIC,
        overwrite=overwrite,
        use_async_client=False,
        batch_size=INSERT_BLOCK,
        # Only what a hit shows comes back: not the vector, not the tokens.
        output_fields=["_node_content", "_node_type"],
        # The local process refuses pymilvus' pings ("too_many_pings") and drops the connection; it needs none.
        grpc_options={"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": 0},
        **sparse,
    )


def _release(store: Any, path: Path | None) -> None:
    """Close a store and, for a local file, stop the process that serves it."""
    with contextlib.suppress(Exception):
        store.client.close()
    if path is not None:
        from milvus_lite.server_manager import server_manager_instance

        with contextlib.suppress(Exception):
            server_manager_instance.release_server(str(path))


@dataclass(frozen=True)
class Index:
    """An opened version of an index.

    Attributes
    ----------
    folder
        The version's folder.
    manifest
        What it was built from, and how many rows it has.
    home
        The ``.rungs`` folder, where the private copy goes.
    """

    folder: Path
    manifest: dict[str, Any]
    home: Path

    @classmethod
    def open(
        cls, home: Path, corpus: Corpus | str, *, chunking: str = "symbols", model: str = DEFAULT_MODEL
    ) -> "Index":
        """Open the newest version and check it against its manifest.

        Raises
        ------
        StoreError
            When there is none, a stored file was altered, or it was built by another version of this package; one line
            that says what to run.
        """
        name = corpus if isinstance(corpus, str) else corpus.name
        folder = index_folder(home, name, chunking, model)
        newest = _newest(folder)
        if newest is None:
            flags = ("" if chunking == "symbols" else f" --chunking {chunking}") + (
                "" if model == DEFAULT_MODEL else f" --embedder {model}"
            )
            raise StoreError(f"no index of {name!r} ({chunking}, {model}) in {home}; run: rungs index {name}{flags}")
        manifest = _read_manifest(newest)
        _check_versions(newest, manifest)
        _check_files(newest, manifest)
        return cls(newest, manifest, home)

    def check_corpus(self, corpus: Corpus) -> None:
        """Raise StoreError when the corpus is no longer what was indexed."""
        if self.manifest["corpus"]["sha256"] != corpus.sha256:
            raise StoreError(
                f"corpus {corpus.name!r} has changed since {self.folder} was built; run: rungs index {corpus.name}"
            )

    def check_model(self, embedder: Any) -> None:
        """Raise StoreError when queries would be embedded by other weights than the chunks were."""
        mine, other = self.manifest["model"]["weights_sha256"], embedder.weights_sha256
        if mine != other:
            raise StoreError(
                f"{self.folder} was built with model weights {mine[:12]}…, not {other[:12]}…; run rungs index again"
            )

    def check_server(self, milvus_uri: str) -> None:
        """Raise StoreError when the collection is somewhere else than the settings say."""
        mine = self.manifest["milvus_uri"]
        if mine != milvus_uri:
            where = f"on the server {mine}" if mine else "in a local file"
            raise StoreError(
                f"{self.folder} keeps its collection {where}, but RAG_MILVUS_URI is {milvus_uri!r}; run rungs index again"
            )

    @cached_property
    def store(self) -> Any:
        """The LlamaIndex Milvus store, over a private copy of the collection or on the server."""
        manifest = self.manifest
        uri = manifest["milvus_uri"]
        if not uri:
            uri = str(_private_copy(self.folder / "milvus.db", manifest["files"]["milvus.db"], self.home))
        store = _open_store(uri, manifest)
        _check_collection(store, manifest, self.folder)
        return store

    @cached_property
    def nodes(self) -> list[TextNode]:
        """Every chunk, in the order of `vectors`."""
        return [
            TextNode(id_=row["id"], text=row["text"], metadata=row["metadata"])
            for row in map(json.loads, (self.folder / "chunks.jsonl").read_text(encoding="utf-8").splitlines())
        ]

    @cached_property
    def tokens(self) -> list[list[str]]:
        """The lexical terms of every chunk, in the order of `nodes`."""
        text = (self.folder / "tokens.txt").read_text(encoding="utf-8")
        return [line.split(" ") if line else [] for line in text.removesuffix("\n").split("\n")]

    @cached_property
    def names(self) -> Names:
        """What the corpus defines and uses as names; empty for windows."""
        return Names.from_dict(json.loads((self.folder / "names.json").read_text(encoding="utf-8")))

    @cached_property
    def vectors(self) -> np.ndarray:
        """float32, shape ``(rows, dim)``, rows of unit length; read-only."""
        return np.load(self.folder / "vectors.npy", mmap_mode="r")

    def size_bytes(self) -> int:
        """Bytes on disk."""
        return sum(p.stat().st_size for p in self.folder.iterdir())


def _open_store(uri: str, manifest: dict[str, Any]) -> Any:
    from pymilvus import MilvusException

    try:
        return _store(uri, manifest["collection"], manifest["model"]["dim"], lexical=manifest["lexical"])
    except MilvusException as error:
        what = "the Milvus server" if manifest["milvus_uri"] else "Milvus Lite"
        raise StoreError(f"{what} could not open the index ({_one_line(error)}); run rungs index again") from error


def _check_collection(store: Any, manifest: dict[str, Any], folder: Path) -> None:
    """Rows and dimensions as the manifest says; Milvus itself accepts a mismatch in silence."""
    name = manifest["collection"]
    rows = store.client.query(name, filter="", output_fields=["count(*)"])[0]["count(*)"]
    if rows != manifest["rows"]:
        raise StoreError(
            f"{folder}: the collection has {rows} rows, its manifest says {manifest['rows']}; run rungs index again"
        )
    fields = store.client.describe_collection(name)["fields"]
    dim = next((f["params"].get("dim") for f in fields if f["name"] == "embedding"), None)
    if int(dim or 0) != manifest["model"]["dim"]:
        raise StoreError(
            f"{folder}: the collection has {dim} dimensions, its manifest says {manifest['model']['dim']}; run rungs index again"
        )


def _read_manifest(version: Path) -> dict[str, Any]:
    path = version / "manifest.json"
    try:
        manifest = json.loads(path.read_bytes())
        intact = manifest["self"] == _manifest_sha256(manifest)
    except (OSError, ValueError, KeyError, TypeError):
        intact = False
    if not intact:
        raise StoreError(f"{path} is damaged; delete {version} and run: {_command(version)}")
    return manifest


def _manifest_sha256(manifest: dict[str, Any]) -> str:
    rest = {key: value for key, value in manifest.items() if key != "self"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _check_versions(version: Path, manifest: dict[str, Any]) -> None:
    expected = {
        "format": FORMAT_VERSION,
        "chunker_version": CHUNKER_VERSION,
        "tokenizer_version": TOKENIZER_VERSION,
        "names_version": NAMES_VERSION,
    }
    for key, value in expected.items():
        if manifest.get(key) != value:
            raise StoreError(f"{version} has {key} {manifest.get(key)}, this program {value}; run: {_command(version)}")


def _check_files(version: Path, manifest: dict[str, Any]) -> None:
    for name, expected in manifest["files"].items():
        path = version / name
        if not path.is_file():
            raise StoreError(f"{path} is missing; delete {version} and run: {_command(version)}")
        if _file_sha256(path) != expected:
            raise StoreError(f"{path} is damaged (its sha256 changed); delete {version} and run: {_command(version)}")


def _command(version: Path) -> str:
    """The command that builds the index of a version again, from where it lies: home/corpus/chunking-model/version."""
    windows = " --chunking windows" if version.parent.name.startswith("windows-") else ""
    return f"rungs index {version.parent.parent.name}{windows}"


def _versions(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    found = [p for p in folder.iterdir() if _VERSION.match(p.name)]
    return sorted(found, key=lambda p: int(p.name.partition("-")[0]))


def _newest(folder: Path) -> Path | None:
    versions = _versions(folder)
    return versions[-1] if versions else None


def _prune(folder: Path) -> None:
    """Keep the newest versions; whoever has an older one open works on a private copy and is not disturbed."""
    for version in _versions(folder)[:-KEEP_VERSIONS]:
        with contextlib.suppress(StoreError, Exception):
            manifest = _read_manifest(version)
            if manifest["milvus_uri"]:
                from pymilvus import MilvusClient

                MilvusClient(uri=manifest["milvus_uri"]).drop_collection(manifest["collection"])
        shutil.rmtree(version, ignore_errors=True)


def _private_copy(source: Path, sha256: str, home: Path) -> Path:
    """A copy of the collection for this process alone.

    The folder is held by a lock for as long as the process lives, however it ends; a folder whose lock is free is dead.
    """
    private = home / "private"
    try:
        private.mkdir(parents=True, exist_ok=True)
    except OSError:
        private = Path(tempfile.mkdtemp(prefix="rungs-"))
    _sweep(private)
    folder = Path(tempfile.mkdtemp(prefix="copy-", dir=private))
    lock = (folder / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    target = folder / "milvus.db"
    shutil.copyfile(source, target)
    if _file_sha256(target) != sha256:
        raise StoreError(
            f"{source} is damaged (its sha256 changed); delete {source.parent} and run: {_command(source.parent)}"
        )
    atexit.register(_discard, os.getpid(), folder, target, lock)  # keeps the lock open as long as the process lives
    return target


def _discard(owner: int, folder: Path, path: Path, lock: Any) -> None:
    if os.getpid() != owner:
        return  # a forked child must not take its parent's copy away
    from milvus_lite.server_manager import server_manager_instance

    with contextlib.suppress(Exception):
        server_manager_instance.release_server(str(path))
    shutil.rmtree(folder, ignore_errors=True)
    lock.close()


def _sweep(private: Path) -> None:
    for folder in private.glob("copy-*"):
        with _free_lock(folder) as free:
            if free:
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _free_lock(folder: Path) -> Iterator[bool]:
    """Whether nobody holds a copy. One that has no lock yet is being made right now, unless it is old."""
    path = folder / "lock"
    try:
        lock = path.open("r+")
    except FileNotFoundError:
        try:
            yield time.time() - folder.stat().st_mtime > 60
        except FileNotFoundError:
            yield False
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True


def _write_durably(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]

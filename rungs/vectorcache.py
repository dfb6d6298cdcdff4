"""Vectors of texts already embedded, kept by content.

One SQLite file in the user's cache folder, shared by every corpus, chunking and clone. A row is keyed by what was
embedded and by what (text, model weights, instruction, precision), so a hit is never a guess; each row carries a
checksum, so a damaged one is embedded again. A build that is killed loses at most the batch it was in.
"""

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

__all__ = ["VectorCache", "cache_path"]

_CHECK_BYTES = 8


def cache_path() -> Path | None:
    """Where the cache is: ``RAG_CACHE_DIR``, or the user's cache folder. None when ``RAG_CACHE_DIR=off``."""
    chosen = os.environ.get("RAG_CACHE_DIR", "")
    if chosen == "off":
        return None
    base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rungs"
    return base / "vectors.sqlite"


class VectorCache:
    """A content-addressed store of float32 vectors.

    Parameters
    ----------
    path
        The SQLite file, created when missing. A file that is not a readable database is replaced. None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        if path is not None:
            self._db = self._open(path)

    @staticmethod
    def key(text: str, model: str) -> bytes:
        """The key of a text embedded by ``model`` (any string that identifies weights, instruction and precision)."""
        return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).digest()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, np.ndarray]:
        """The vectors that are there and intact, by key; each float32, shape ``(dim,)``."""
        found: dict[bytes, np.ndarray] = {}
        if self._db is None:
            return found
        with self._survive():
            for key in keys:
                row = self._db.execute("SELECT vector, checksum FROM vectors WHERE key = ?", (key,)).fetchone()
                if row is not None and _checksum(key, row[0]) == row[1]:
                    found[key] = np.frombuffer(row[0], dtype="<f4")
        return found

    def put(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        """Keep vectors, all or none of them."""
        if self._db is None or not vectors:
            return
        with self._survive():
            rows = [(key, blob, _checksum(key, blob)) for key, blob in _blobs(vectors)]
            with self._db:
                self._db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

    @contextlib.contextmanager
    def _survive(self) -> Iterator[None]:
        """A cache that cannot be used costs time, never a result."""
        try:
            yield
        except sqlite3.Error:
            self.close()

    @staticmethod
    def _open(path: Path) -> sqlite3.Connection | None:
        for attempt in range(2):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                db = sqlite3.connect(path, timeout=30)
                db.execute(
                    "CREATE TABLE IF NOT EXISTS vectors "
                    "(key BLOB PRIMARY KEY, vector BLOB NOT NULL, checksum BLOB NOT NULL) WITHOUT ROWID"
                )
                return db
            except sqlite3.OperationalError:
                return None  # locked, or a folder that cannot be written
            except sqlite3.DatabaseError:
                if attempt == 0:
                    path.unlink(missing_ok=True)
            except OSError:
                return None
        return None


def _blobs(vectors: Mapping[bytes, np.ndarray]) -> Iterator[tuple[bytes, bytes]]:
    for key, vector in vectors.items():
        yield key, np.ascontiguousarray(vector, dtype="<f4").tobytes()


def _checksum(key: bytes, blob: bytes) -> bytes:
    return hashlib.blake2b(blob, key=key, digest_size=_CHECK_BYTES).digest()

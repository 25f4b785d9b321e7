"""The store: what earlier runs computed, in one SQLite file, by content. Losing it costs time, never a result."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any

from loracheck.files import cache_folder, sha256_of

FILE_NAME = "answers.sqlite"

_SCHEMA = 1
_TABLE = """CREATE TABLE IF NOT EXISTS entries
    (key TEXT PRIMARY KEY, kind TEXT NOT NULL, value BLOB NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID"""

# How long to wait for another process that is writing.
_BUSY_SECONDS = 10.0

# A file may be written again within one tick of its clock, which no later look could tell. FAT ticks every two seconds.
_SETTLED_NS = 3_000_000_000


@dataclass(frozen=True, slots=True)
class _Hashed:
    signature: str
    sha256: str


class Store:
    """Values that earlier runs computed. Close it, or use it in a `with` block.

    Whatever goes wrong with the file, nothing is raised: the store is off for the rest of the run, finds nothing and
    keeps nothing, and `warnings` says why.
    """

    def __init__(self, path: Path | None = None) -> None:
        """`path` is the database, made when it is not there. Without one the store is off from the start."""
        self.warnings: list[str] = []
        self._in_use: dict[str, str] = {}
        """The kind of every value that this run found in the store or put there, by its key."""
        self._path = path
        self._db: sqlite3.Connection | None = None
        # The cells of a sweep on a cluster wait for their answers in threads of their own.
        self._lock = RLock()
        self._hashed: dict[Path, _Hashed] = {}
        if path is not None:
            self._open(path)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    @property
    def is_on(self) -> bool:
        return self._db is not None

    def get(self, kind: str, about: Mapping[str, Any]) -> Any:
        """The value that was put for the same `about`; None where there is none."""
        key = _key(kind, about)
        for value, seal in self._execute("SELECT value, seal FROM entries WHERE key = ?", key):
            if not isinstance(value, bytes) or seal != _seal(key, value):
                # SQLite sees broken pages, not bytes that changed inside a value.
                self._give_up(sqlite3.DatabaseError("a value in it has changed"))
                return None
            self._in_use[key] = kind
            return json.loads(value)
        return None

    def put(self, kind: str, about: Mapping[str, Any], value: Any) -> None:
        """Keep a value for good: it outlives this process from here on, however that ends."""
        key, data = _key(kind, about), _canonical(value)
        self._execute("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)", key, kind, data, _seal(key, data))
        if self.is_on:
            self._in_use[key] = kind

    def what_is_kept(self) -> Iterator[str]:
        """A sentence for whoever stops a run halfway; none when nothing is kept."""
        answers = self.in_use("answer")
        if self.is_on and answers:
            many = "1 answer is" if answers == 1 else f"{answers} answers are"
            yield f"{many} kept in the store; run the same command again to go on."

    def in_use(self, kind: str) -> int:
        """How many values of the kind this run found in the store or put there."""
        return Counter(self._in_use.values())[kind]

    def count(self, kind: str) -> int:
        rows = self._execute("SELECT count(*) FROM entries WHERE kind = ?", kind)
        return int(rows[0][0]) if rows else 0

    def sha256_of(self, path: Path) -> str:
        """The file's SHA-256 as it was when this run first asked. A file that has not changed is read only once."""
        if path not in self._hashed:
            signature, settled = _signature(path), _is_settled(path)
            about = {"path": os.fsdecode(path.absolute()), "signature": signature}
            known = self.get("file", about)
            digest = known or sha256_of(path)
            if not known and settled and _signature(path) == signature:
                self.put("file", about, digest)
            self._hashed[path] = _Hashed(signature, digest)
        return self._hashed[path].sha256

    def changed_files(self) -> list[Path]:
        """The files that are no longer what this run hashed."""
        return [path for path, hashed in self._hashed.items() if _signature(path) != hashed.signature]

    def _open(self, path: Path) -> None:
        try:
            self._db = _connect(path)
        except (sqlite3.Error, OSError) as error:
            if self._give_up(error):
                try:
                    self._db = _connect(path)
                except (sqlite3.Error, OSError) as again:
                    self._give_up(again)

    def _execute(self, sql: str, *values: Any) -> list[Any]:
        with self._lock:
            if self._db is None:
                return []
            try:
                return self._db.execute(sql, values).fetchall()
            except (sqlite3.Error, OSError) as error:
                self._give_up(error)
                return []

    def _give_up(self, error: sqlite3.Error | OSError) -> bool:
        """Switch off. True when the database was damaged and is out of the way of a new one."""
        assert self._path is not None
        self.close()
        # Python has this very class, and none below it, for SQLITE_CORRUPT and SQLITE_NOTADB.
        if type(error) is sqlite3.DatabaseError:
            try:
                aside = _set_aside(self._path)
            except OSError:
                pass
            else:
                self.warnings.append(
                    f"{self._path}: the store was damaged ({error}), is now {aside.name} and begins anew"
                )
                return True
        reason = getattr(error, "strerror", None) or error
        self.warnings.append(f"{self._path}: the store is off for this run ({reason}); the results are not affected")
        return False


@contextmanager
def user_store(*, no_cache: bool = False) -> Iterator[Store]:
    """The user's store, or an idle one; an interrupt in the block goes on its way telling what is kept."""
    with Store() if no_cache else Store(store_path()) as store:
        try:
            yield store
        except KeyboardInterrupt:
            raise KeyboardInterrupt(*store.what_is_kept()) from None


def store_path() -> Path:
    return cache_folder() / FILE_NAME


def database_files(path: Path) -> Iterator[Path]:
    """The database and what SQLite and this module put beside it, as far as they exist."""
    names = (path, *(path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm", "-journal", ".damaged")))
    return (file for file in names if file.is_file())


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    patience = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            return _prepared(path)
        except sqlite3.OperationalError as error:
            # When processes make a database at once, SQLite refuses the switch to WAL without waiting its turn.
            if "locked" not in str(error) or time.monotonic() > patience:
                raise
        time.sleep(0.02)


def _prepared(path: Path) -> sqlite3.Connection:
    # Without isolation levels every statement is committed when it is done.
    db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        # What is committed outlives the process; only a power cut may take the last answers with it.
        db.execute("PRAGMA synchronous = NORMAL")
        if _schema(db) != _SCHEMA:
            db.execute("BEGIN IMMEDIATE")
            # Another process may have been here while we waited for the lock.
            if _schema(db) != _SCHEMA:
                db.execute("DROP TABLE IF EXISTS entries")
                db.execute(f"PRAGMA user_version = {_SCHEMA}")
            db.execute(_TABLE)
            db.execute("COMMIT")
        db.execute(_TABLE)
    except BaseException:
        db.close()
        raise
    return db


def _schema(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _set_aside(path: Path) -> Path:
    aside = path.with_name(f"{path.name}.damaged")
    # First the log: a new database must never meet the old one's.
    for end in ("-wal", "-shm"):
        path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
    return path.replace(aside)


def _key(kind: str, about: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical([kind, about])).hexdigest()


def _seal(key: str, value: bytes) -> bytes:
    return hashlib.sha256(key.encode() + value).digest()[:16]


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def _signature(path: Path) -> str:
    """Changes with every write: ctime also tells of those that set mtime back. Empty where there is no such file."""
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}"


def _is_settled(path: Path) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > _SETTLED_NS

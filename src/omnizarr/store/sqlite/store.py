"""A store in an SQLite database: one file for many processes, in which every write is a transaction."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from omnizarr.errors import InvalidKeyError, LocationError, OmnizarrError, StoreError
from omnizarr.store.capabilities import Updates, Versioned, provides
from omnizarr.store.contract import (
    Buffer,
    ByteRange,
    Request,
    Store,
    Version,
    check_key,
    check_prefix,
    extent_of,
    flat,
    patched,
    patches_by_key,
)
from omnizarr.store.sqlite.connections import ConnectionEnded, Connections, library
from omnizarr.store.values import is_path

if TYPE_CHECKING:
    import sqlite3

__all__ = ["SQLiteStore", "open_inside"]

T = TypeVar("T")

# The names of zarr-python 2, so that either library reads databases of the other.
_CREATE = "CREATE TABLE IF NOT EXISTS zarr (k TEXT PRIMARY KEY, v BLOB)"
_GET = "SELECT CAST(v AS BLOB) FROM zarr WHERE k = ?"
_SIZE = "SELECT length(CAST(v AS BLOB)) FROM zarr WHERE k = ?"
_ROW = "SELECT rowid, typeof(v) FROM zarr WHERE k = ?"
_SET = "INSERT INTO zarr (k, v) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v"
_ERASE = "DELETE FROM zarr WHERE k = ?"
_ERASE_BELOW = "DELETE FROM zarr WHERE k >= ? AND k < ?"
_KEYS = "SELECT k FROM zarr WHERE k >= ? AND k < ? ORDER BY k"

_MOST_BYTES = 2**24  # bytes in one transaction: other writers wait for it
_MOST_VALUES = 1000  # in one transaction
_PAGE_KEYS = 1000  # keys per query of a listing
_LAST = b""  # SQLite sorts bytes after all texts


class SQLiteStore(Store):
    """Keys and values in the table `zarr` of a database, which the first write creates.

    Any number of threads and processes of one machine may read and write at once: a reader sees one state, updates are
    atomic for all processes, and a value is whole or absent, even after a crash. While it is open for writing, SQLite
    keeps two files beside the database. Do not use it on a network file system, whose locks are unreliable.
    """

    updates = provides(lambda store: _SQLiteUpdates(store))
    _copyable = True

    def __init__(
        self, path: str | os.PathLike[str], *, read_only: bool = False, timeout: float = 60.0, durable: bool = False
    ) -> None:
        text = os.fspath(path)
        if not isinstance(text, str) or not is_path(text) or "://" in text:
            raise LocationError(f"{path!r} is not a file's path", location=path)
        library()
        self._path = os.path.realpath(text)
        self._read_only = read_only
        self._timeout = timeout
        """For how many seconds it waits for other writers."""
        self._durable = durable
        self._connect()

    def _connect(self) -> None:
        self._connections = Connections(
            self._path, read_only=self._read_only, timeout=self._timeout, durable=self._durable
        )
        self._has_table = False

    @property
    def location(self) -> str:
        return self._path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SQLiteStore) and other._path == self._path

    def __hash__(self) -> int:
        return hash(self._path)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_connections", "_has_table")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._connect()

    def __copy__(self) -> Self:
        copy = type(self).__new__(type(self))
        copy.__setstate__(self.__getstate__())
        return copy

    def close(self) -> None:
        """Closes all connections."""
        self._connections.close()

    # -- queries

    def _fail(self, action: str, key: str, error: Exception) -> NoReturn:
        if isinstance(error, OmnizarrError):
            raise error
        hint = None
        text = str(error)
        if _is_busy(error):
            hint = f"another process wrote to it for more than {self._timeout} s; raise `timeout`"
        elif isinstance(error, MemoryError):
            text, hint = "SQLite is out of memory", "the file may be damaged"
        elif "not a database" in text or "malformed" in text or isinstance(error, UnicodeError):
            hint = "the file is damaged, or is no database"
        elif "readonly" in text or "unable to open" in text:
            hint = "check the permissions of the file and of the directory that it is in"
            if _has_too_many_files():
                hint = "this process has too many files open"
        elif "too big" in text:
            hint = "SQLite stores values of up to 1 GB; use smaller chunks or shards"
        raise StoreError(
            f"cannot {action} `{key}` in {self!r}: {text}", hint=hint, store=repr(self), key=key
        ) from error

    def _read(self, action: str, key: str, query: Callable[[sqlite3.Connection], T], default: T) -> T:
        """The result of `query`; `default` if there is no database or no table."""

        def run() -> T:
            with self._connections.use() as connection:
                if connection is None or not self._check_table(connection):
                    return default
                return query(connection)

        return self._retry(action, key, run)

    def _retry(self, action: str, key: str, act: Callable[[], T]) -> T:
        """Repeat while the database is locked, until the timeout. SQLite itself waits, too, but not while it opens a
        database that another process opens or closes at the same moment."""
        end = time.monotonic() + self._timeout
        pause = 0.001
        while True:
            try:
                return act()
            except ConnectionEnded:
                continue
            # SQLite runs out of memory if a damaged file gives wrong sizes.
            except (library().Error, OSError, OverflowError, UnicodeError, MemoryError) as error:
                if not _is_busy(error) or time.monotonic() + pause > end:
                    self._fail(action, key, error)
            time.sleep(pause)
            pause = min(2 * pause, 0.05)

    def _check_table(self, connection: sqlite3.Connection) -> bool:
        """Whether there is a table `zarr`. Rejects a view, because it could run any query."""
        if not self._has_table:
            row = connection.execute("SELECT type FROM sqlite_master WHERE name = 'zarr'").fetchone()
            if row is None:
                return False
            if row[0] != "table":
                raise StoreError(f"`zarr` in {self!r} is a {row[0]} and not a table", store=repr(self))
            self._has_table = True
        return True

    def _change(self, key: str, query: Callable[[sqlite3.Connection], T]) -> T:
        """Change the database in one transaction, without other writers."""
        self.check_writable()

        def change() -> T:
            with self._connections.use(create=True) as connection:
                assert connection is not None
                connection.execute("BEGIN IMMEDIATE")
                if not self._check_table(connection):
                    connection.execute(_CREATE)
                result = query(connection)
                connection.execute("COMMIT")
                return result

        return self._retry("write", key, change)

    # -- reading

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        check_key(key)
        return self._read("read", key, lambda connection: _value(connection, key, range), None)

    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        if not requests:
            return []
        for key, _ in requests:
            check_key(key)

        def all_of_one_state(connection: sqlite3.Connection) -> list[Buffer | None]:
            with _reading(connection):
                return [_value(connection, key, range, begun=True) for key, range in requests]

        return self._read("read", requests[0][0], all_of_one_state, [None] * len(requests))

    def exists(self, key: str) -> bool:
        return self.size(key) is not None

    def size(self, key: str) -> int | None:
        check_key(key)

        def size(connection: sqlite3.Connection) -> int | None:
            row = connection.execute(_SIZE, (key,)).fetchone()
            return None if row is None else row[0]

        return self._read("look at", key, size, None)

    # -- writing

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        check_key(key)
        data = flat(value)
        self._change(key, lambda connection: connection.execute(_SET, (key, data)))

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()
        pending: list[tuple[str, bytes | memoryview]] = []
        size = 0

        def write_batch() -> None:
            nonlocal pending, size
            if pending:
                batch, pending, size = pending, [], 0
                self._change(batch[0][0], lambda connection: connection.executemany(_SET, batch))

        try:
            for key, value in items:
                check_key(key)
                pending.append((key, flat(value)))
                size += len(pending[-1][1])
                if size >= _MOST_BYTES or len(pending) >= _MOST_VALUES:
                    write_batch()
        finally:  # also the values before a failure
            write_batch()

    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        self.check_writable()
        by_key = patches_by_key(items, repr(self))
        for key in by_key:
            check_key(key)
        for key, patches in by_key.items():
            self._change(
                key,
                lambda connection, key=key, patches=patches: connection.execute(  # type: ignore[misc]
                    _SET, (key, patched(_value(connection, key, None), patches))
                ),
            )

    def erase(self, key: str) -> None:
        self.erase_values([key])

    def erase_values(self, keys: Iterable[str]) -> None:
        self.check_writable()
        keys = list(keys)
        for key in keys:
            check_key(key)
        if keys and os.path.exists(self._path):
            self._change(keys[0], lambda connection: connection.executemany(_ERASE, [(key,) for key in keys]))

    def erase_prefix(self, prefix: str) -> None:
        self.check_writable()
        prefix = check_prefix(prefix)
        if os.path.exists(self._path):
            self._change(prefix, lambda connection: connection.execute(_ERASE_BELOW, _bounds(prefix)))

    # -- listing

    def list_prefix(self, prefix: str) -> Iterator[str]:
        prefix = check_prefix(prefix)
        return self._walk(prefix)

    def _walk(self, prefix: str) -> Iterator[str]:
        # In several queries, so that no connection is in use while the caller processes the keys.
        start, end = _bounds(prefix)
        comparison = ">="
        while True:
            query = f"SELECT k FROM zarr WHERE k {comparison} ? AND k < ? ORDER BY k LIMIT {_PAGE_KEYS}"
            keys = self._rows(query, start, end, prefix)
            yield from keys
            if len(keys) < _PAGE_KEYS:
                return
            start, comparison = keys[-1], ">"

    def _rows(self, query: str, start: str, end: str | bytes, prefix: str) -> list[str]:
        none: list[tuple[Any]] = []
        rows = self._read("list", prefix, lambda connection: connection.execute(query, (start, end)).fetchall(), none)
        return [self._check_stored_key(key) for (key,) in rows]

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        prefix = check_prefix(prefix)
        keys: list[str] = []
        prefixes: list[str] = []

        def children(connection: sqlite3.Connection) -> None:
            keys.clear()  # from a failed attempt
            prefixes.clear()
            start, end = _bounds(prefix)
            more = True
            while more:
                more = False
                for (key,) in connection.execute(_KEYS, (start, end)):
                    below = self._check_stored_key(key).find("/", len(prefix))
                    if below < 0:
                        keys.append(key)
                    else:  # skip all keys below it
                        prefixes.append(key[: below + 1])
                        start, more = key[:below] + "0", True  # the character after `/`
                        break

        def of_one_state(connection: sqlite3.Connection) -> None:
            with _reading(connection):
                children(connection)

        self._read("list", prefix, of_one_state, None)
        return sorted(keys), sorted(prefixes)

    def _check_stored_key(self, key: Any) -> str:
        try:
            check_key(key)
        except (InvalidKeyError, TypeError):
            raise StoreError(f"{self!r} has a row named {key!r}, which is not a valid key", store=repr(self)) from None
        return str(key)


class _SQLiteUpdates(Updates):
    """The version of a value is the value itself. The comparison and the write are one transaction."""

    erases = True

    def __init__(self, store: SQLiteStore) -> None:
        self._store = store

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        if limit is not None and (self._store.size(key) or 0) > limit:
            return None
        value = self._store.get(key)
        return value, None if value is None else bytes(value)

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        self._store.check_writable()
        check_key(key)
        data = flat(value)

        def change(connection: sqlite3.Connection) -> bool:
            if _value(connection, key, None) != version:
                return False
            connection.execute(_SET, (key, data))
            return True

        return self._store._change(key, change)

    def erase(self, key: str, version: Version) -> bool:
        self._store.check_writable()
        check_key(key)
        if version is None and not os.path.exists(self._store._path):
            return True

        def change(connection: sqlite3.Connection) -> bool:
            if _value(connection, key, None) != version:
                return False
            connection.execute(_ERASE, (key,))
            return True

        return self._store._change(key, change)


def _value(connection: sqlite3.Connection, key: str, range: ByteRange | None, *, begun: bool = False) -> bytes | None:
    """A value, or a part of it, without reading the rest."""
    if range is None:
        row = connection.execute(_GET, (key,)).fetchone()
        return None if row is None else bytes(row[0]) if row[0] is not None else b""
    with _reading(connection, begun=begun):
        row = connection.execute(_ROW, (key,)).fetchone()
        if row is None:
            return None
        if row[1] != "blob":
            whole = connection.execute(_GET, (key,)).fetchone()[0] or b""
            start, length = extent_of(range, len(whole))
            return bytes(whole[start : start + length])
        with connection.blobopen("zarr", "v", row[0], readonly=True) as blob:
            start, length = extent_of(range, len(blob))
            blob.seek(start)
            return blob.read(length) if length else b""


@contextmanager
def _reading(connection: sqlite3.Connection, *, begun: bool = False) -> Iterator[None]:
    """A read transaction: all queries in the block see one state."""
    begun = begun or connection.in_transaction
    if not begun:
        connection.execute("BEGIN")
    yield
    if not begun:
        connection.execute("COMMIT")


def _has_too_many_files() -> bool:
    """Whether this process can open no more files."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return True
    return False


def _is_busy(error: Exception) -> bool:
    return isinstance(error, library().OperationalError) and ("locked" in str(error) or "busy" in str(error))


def _bounds(prefix: str) -> tuple[str, str | bytes]:
    """The bounds of all keys under a prefix, in the order of their bytes."""
    return (prefix, prefix[:-1] + "0") if prefix else ("", _LAST)


def open_inside(
    store: Store, key: str, *, read_only: bool = False, timeout: float = 60.0, durable: bool = False
) -> SQLiteStore:
    """The database that is the value of `key`, which must be a local file."""
    path = store.file(key)
    if path is None:
        raise LocationError(
            "an SQLite database must be a local file",
            hint="copy it to this machine; SQLite changes files in place, which remote stores cannot do",
        )
    return SQLiteStore(path, read_only=read_only or store.read_only, timeout=timeout, durable=durable)

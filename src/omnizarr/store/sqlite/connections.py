"""Connections to one database: each used by one thread at a time, and none open during a fork.

SQLite's record of file locks does not survive a fork: a child that uses a connection of its parent, or opens another
one next to it, may damage the database. A fork therefore waits until no connection is in use, and closes all.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from omnizarr._fork import DATABASE_LOCK, run_before_fork
from omnizarr.errors import MissingDependencyError, StoreError

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Connections", "library"]

_MOST_IDLE = 8
_PAGE = 2**14  # bytes; values are long, and the default page of 4 KiB splits them into many pieces


class _Gate:
    """Makes a fork wait until no connection is in use. Threads that need one wait until the fork is over."""

    def __init__(self) -> None:
        self.change = threading.Condition()
        self.used = 0
        self.pools: weakref.WeakSet[Connections] = weakref.WeakSet()

    def close_for_a_fork(self) -> None:
        with self.change:
            while self.used:
                self.change.wait()
            for pool in list(self.pools):
                pool.close_idle()

    def renew(self) -> None:
        self.change = threading.Condition()  # its holders are threads that a forked child does not have
        self.used = 0


_GATE = _Gate()

run_before_fork(_GATE.close_for_a_fork)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_GATE.renew)


def library() -> Any:
    """Python's module sqlite3, which some builds of Python lack."""
    try:
        import sqlite3
    except ImportError:
        hint = "it is a part of Python, but this build of Python lacks it"
        raise MissingDependencyError("a store in an SQLite database", "sqlite3", hint=hint) from None
    return sqlite3


class Connections:
    """The connections to the database at a path."""

    def __init__(self, path: str, *, read_only: bool, timeout: float, durable: bool) -> None:
        self._path = path
        self._read_only = read_only
        self._timeout = timeout
        self._durable = durable
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        with _GATE.change:
            _GATE.pools.add(self)

    @contextmanager
    def use(self, *, create: bool = False) -> Iterator[sqlite3.Connection | None]:
        """A connection until the block ends; None if there is no database and `create` is false."""
        with DATABASE_LOCK, _GATE.change:
            if self._closed:
                raise StoreError(f"{self._path} is closed", hint="open it again", store=self._path)
            _GATE.used += 1
            connection = self._idle.pop() if self._idle else None
        try:
            if connection is None and (create or os.path.exists(self._path)):
                connection = self._open()
            yield connection
        except BaseException:
            if connection is not None and connection.in_transaction:
                connection.rollback()
            raise
        finally:
            with _GATE.change:
                if connection is not None:
                    if len(self._idle) < _MOST_IDLE and not self._closed:
                        self._idle.append(connection)
                    else:
                        connection.close()
                _GATE.used -= 1
                _GATE.change.notify_all()

    def _open(self) -> sqlite3.Connection:
        sqlite3 = library()
        url = "file:" + quote(self._path.encode("utf-8", "surrogateescape"))
        if not self._read_only:
            folder = os.path.dirname(self._path)
            if not os.path.exists(folder):
                os.makedirs(folder, exist_ok=True)
        try:
            return self._connect(f"{url}?mode={'ro' if self._read_only else 'rwc'}")
        except sqlite3.OperationalError:
            if not self._read_only or os.access(os.path.dirname(self._path), os.W_OK):
                raise
            # Normally even a reader writes beside the database, but no process can write in this directory.
            return self._connect(f"{url}?mode=ro&immutable=1")

    def _connect(self, url: str) -> sqlite3.Connection:
        connection: sqlite3.Connection = library().connect(
            url, uri=True, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA trusted_schema = OFF")  # never execute code from the database
            connection.execute("PRAGMA cell_size_check = ON")
            if self._read_only:
                connection.execute("SELECT name FROM sqlite_master LIMIT 1").fetchall()
            else:
                connection.execute(f"PRAGMA page_size = {_PAGE}")
                # Readers do not wait for a writer, and commits are atomic without a flush to the disk.
                connection.execute("PRAGMA journal_mode = WAL").fetchall()
                connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close idle connections now, and the others after use."""
        with _GATE.change:
            self._closed = True
            self.close_idle()

    def close_idle(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()

    def __del__(self) -> None:
        self.close_idle()

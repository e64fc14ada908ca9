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
from operator import methodcaller
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from omnizarr._fork import DATABASE_LOCK, forks_seen, import_library, run_before_fork
from omnizarr.errors import MissingDependencyError, StoreError
from omnizarr.store.finalizers import close_on_deletion

if TYPE_CHECKING:
    import sqlite3

__all__ = ["ConnectionEnded", "Connections", "library"]

_MOST_IDLE = 8  # of one store
_MOST_IDLE_OF_ALL = 32
_PAGE = 2**14  # bytes; values are long, and the default page of 4 KiB splits them into many pieces


class ConnectionEnded(Exception):
    """A signal handler of the same thread ended the transaction: begin again."""


class _Lease:
    """The use of a connection by a thread."""

    __slots__ = ("connection", "ended", "pool", "thread", "writes")

    def __init__(self, pool: Connections, writes: bool) -> None:
        self.pool = pool
        self.writes = writes
        self.thread = threading.get_ident()
        self.connection: sqlite3.Connection | None = None
        self.ended = False

    def end(self) -> None:
        """Close the connection, which rolls its transaction back. The thread notices when it uses it again."""
        if self.connection is not None and not self.ended:
            self.ended = True
            self.connection.close()


class _Gate:
    """Makes a fork wait until no other thread uses a connection. Threads that need one wait until the fork is over."""

    def __init__(self) -> None:
        self.change = threading.Condition()
        self.leases: list[_Lease] = []
        self.pools: list[weakref.ref[Connections]] = []  # a WeakSet would run Python code when one is deleted
        self.idle: list[weakref.ref[Connections]] = []
        """The pool of each idle connection; the one that was used last comes last."""

    def close_for_a_fork(self) -> None:
        with self.change:
            while any(lease.thread != threading.get_ident() for lease in self.leases):
                self.change.wait()
            for lease in list(self.leases):  # a signal handler forks
                lease.end()
            for pool in [reference() for reference in self.pools]:
                if pool is not None:
                    pool.close_idle()

    def renew(self) -> None:
        self.change = threading.Condition()  # its holders are threads that a forked child does not have
        self.leases = [lease for lease in self.leases if lease.thread == threading.get_ident()]


_GATE = _Gate()

run_before_fork(_GATE.close_for_a_fork)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_GATE.renew)


def library() -> Any:
    """Python's module sqlite3, which some builds of Python lack."""
    try:
        return import_library("sqlite3")
    except ImportError:
        hint = "it is a part of Python, but this build of Python lacks it"
        raise MissingDependencyError("a store in an SQLite database", "sqlite3", hint=hint) from None


class Connections:
    """The connections to the database at a path."""

    def __init__(self, path: str, *, read_only: bool, timeout: float, durable: bool) -> None:
        self._path = path
        self._read_only = read_only
        self._timeout = timeout
        self._durable = durable
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._reference = weakref.ref(self)
        close_on_deletion(self, (methodcaller("close"), self._idle))
        with _GATE.change:
            _GATE.pools = [pool for pool in _GATE.pools if pool() is not None]
            _GATE.pools.append(self._reference)

    @contextmanager
    def use(self, *, create: bool = False) -> Iterator[sqlite3.Connection | None]:
        """A connection until the block ends; None if there is no database and `create` is false. With `create`, the
        block writes.

        A signal handler that writes to the same database, or forks, ends the transaction of the thread that it
        interrupts, because waiting for it would never end. Then the block fails with ConnectionEnded.
        """
        lease = _Lease(self, create)
        try:
            with DATABASE_LOCK, _GATE.change:
                if self._closed:
                    raise StoreError(f"{self._path} is closed", hint="open it again", store=self._path)
                if create:
                    self._end_own_writes()
                _GATE.leases.append(lease)
                lease.connection = self._take_idle()
            if lease.connection is None and (create or os.path.exists(self._path)):
                self._open_for(lease)
            yield lease.connection
        except library().ProgrammingError:
            if lease.ended:
                raise ConnectionEnded from None
            raise
        finally:
            self._give_back(lease)

    def _end_own_writes(self) -> None:
        for lease in list(_GATE.leases):
            if lease.thread == threading.get_ident() and lease.writes and lease.pool._path == self._path:
                lease.end()

    def _take_idle(self) -> sqlite3.Connection | None:
        try:
            connection = self._idle.pop()
            _GATE.idle.remove(self._reference)
        except (IndexError, ValueError):
            return None
        return connection

    def _open_for(self, lease: _Lease) -> None:
        """Open a connection; again, if a signal handler forked before it was registered."""
        while True:
            before = forks_seen()
            lease.connection = self._open()
            if before == forks_seen():
                return
            lease.connection.close()

    def _give_back(self, lease: _Lease) -> None:
        with _GATE.change:
            connection = lease.connection
            try:
                if connection is not None and not lease.ended:
                    if connection.in_transaction:
                        connection.rollback()
                    if len(self._idle) < _MOST_IDLE and not self._closed:
                        self._idle.append(connection)
                        _GATE.idle.append(self._reference)
                        _close_oldest()
                    else:
                        connection.close()
            finally:
                if lease in _GATE.leases:
                    _GATE.leases.remove(lease)
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
        while (connection := self._take_idle()) is not None:
            connection.close()


def _close_oldest() -> None:
    """Keep few idle connections in all: each has three open files."""
    while len(_GATE.idle) > _MOST_IDLE_OF_ALL:
        pool = _GATE.idle.pop(0)()
        if pool is not None and pool._idle:
            pool._idle.pop(0).close()

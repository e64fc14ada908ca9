"""Sources of the bytes of an archive: memory, an open file, a file object, or a value of another store."""

from __future__ import annotations

import os
import stat
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from operator import methodcaller
from typing import Any, BinaryIO

from omnizarr.errors import StoreError
from omnizarr.store.contract import Buffer, ByteRange, Store, Version
from omnizarr.store.finalizers import call_on_deletion, close_on_deletion, closing
from omnizarr.store.local import files, flock
from omnizarr.store.local.snapshot import FileSnapshot
from omnizarr.store.requests.reads import ConcurrentRequests, PendingRequest
from omnizarr.store.snapshot import Snapshot

__all__ = [
    "END_SIZE",
    "ByteSource",
    "BytesSource",
    "FileObjectSource",
    "FileSource",
    "SnapshotSource",
    "ValueSource",
    "as_file_errors",
]

# Bytes at the end of a value that are read together: the directory, and documents, which are written last.
END_SIZE = 2**17
_READ_WRITE = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_SEEKS = not hasattr(os, "pread")  # as on Windows: all readers share the position of a file


class ByteSource(ABC):
    """Bytes that do not change."""

    size: int
    extra: int = 0
    """The length of the extra field of the last entry that was read: the next one is probably as long."""

    @abstractmethod
    def read(self, start: int, length: int) -> bytes | memoryview:
        """A part; shorter if the source ends before."""

    def read_into(self, start: int, target: memoryview) -> int:
        """Fill `target`; returns how many bytes there were."""
        data = self.read(start, len(target))
        target[: len(data)] = data
        return len(data)

    def read_each(self, parts: Sequence[tuple[int, int]]) -> Iterator[tuple[int, bytes | memoryview]]:
        """Many parts as they arrive, each with its position in `parts`."""
        for number, (start, length) in enumerate(parts):
            yield number, self.read(start, length)


class BytesSource(ByteSource):
    """Bytes in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def read(self, start: int, length: int) -> bytes | memoryview:
        if not start and length == self.size:
            return self._data
        return memoryview(self._data)[start : start + length]


class FileSource(ByteSource):
    """An open file, closed when the source is garbage-collected."""

    def __init__(self, file: int) -> None:
        self._open = [file]
        self._lock: flock.DirectoryLock | None = None
        close_on_deletion(self, closing(self._open))
        self._seeking = threading.Lock() if _SEEKS else None
        self.size = os.fstat(file).st_size

    @property
    def _file(self) -> int:
        return self._open[-1]

    def read(self, start: int, length: int) -> bytes:
        if self._seeking is not None:
            with self._seeking:
                return files.read(self._file, self.size, (start, length))
        return files.read(self._file, self.size, (start, length))

    def read_into(self, start: int, target: memoryview) -> int:
        if self._seeking is not None:
            return super().read_into(start, target)
        return files.read_into(self._file, start, target)

    def write(self, start: int, *parts: Buffer) -> int:
        """Write parts one after the other and return where they end. One thread at a time."""
        with self._seeking or nullcontext():
            os.lseek(self._file, start, os.SEEK_SET)
            for part in parts:
                view = memoryview(part)
                while view:
                    view = view[os.write(self._file, view) :]
        end = start + sum(map(len, parts))
        self.size = max(self.size, end)
        return end

    def flush(self) -> None:
        """Flush the file to the disk."""
        os.fsync(self._file)

    def move(self, old: str, new: str) -> None:
        """Rename the file from `old` to `new`, with the permissions of an existing file `new`."""
        try:
            rights = stat.S_IMODE(os.stat(new).st_mode)
        except OSError:
            rights = None
        if rights is not None:
            os.chmod(old, rights)
        if self._seeking is None:
            files.replace(old, new)
            return
        with self._seeking:  # Windows cannot rename an open file
            files.close_last(self._open)
            try:
                files.replace(old, new)
                old = new
            finally:
                files.open_into(self._open, old, _READ_WRITE)

    @staticmethod
    def state_of(status: os.stat_result) -> object:
        """Identifies one version of a file."""
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    def state(self) -> object:
        """The state of this file."""
        return self.state_of(os.fstat(self._file))

    def is_at(self, path: str) -> bool:
        """Whether the file has this path."""
        try:
            return os.path.samestat(os.fstat(self._file), os.stat(path))
        except FileNotFoundError:
            return False

    def lock(self, path: str) -> bool:
        """Lock the file at `path` until `unlock`; False if another process has locked it.

        The lock has a descriptor of its own, because a forked child reads from this one: it would keep the lock of a
        parent that is killed."""
        if not flock.AVAILABLE or flock.windows_locks is not None:
            return True  # Windows does not remove open files, which has the same effect
        try:
            self._lock = flock.DirectoryLock(path, shared=False, wait=False, flags=_READ_WRITE)
        except BlockingIOError:
            return False
        except OSError:
            pass  # a file system without locks, or the file was just removed
        return True

    def unlock(self) -> None:
        """Release the lock. Its deletion does that, in whichever thread."""
        self._lock = None

    def truncate(self, size: int) -> None:
        """Truncate the file."""
        os.ftruncate(self._file, size)
        self.size = size


@contextmanager
def as_file_errors() -> Iterator[None]:
    """Turn any error of a file object into an OSError: the object may be closed, or return text."""
    try:
        yield
    except (OSError, StoreError):
        raise
    except Exception as error:
        raise OSError(f"the file object raised {type(error).__name__}: {error}") from error


class FileObjectSource(ByteSource):
    """A file object. It has one position, so that one thread at a time uses it. A forked child must not use a file of
    the operating system, whose position it shares with its parent."""

    def __init__(self, file: BinaryIO | Any) -> None:
        self._file = file
        self._seeking = threading.Lock()
        self._process = os.getpid()
        with as_file_errors():
            self.size = file.seek(0, os.SEEK_END)

    def _check_process(self) -> None:
        if self._process == os.getpid():
            return
        try:
            self._file.fileno()
        except (OSError, AttributeError):  # it is in memory, and a child has a copy of the memory
            self._seeking = threading.Lock()
            self._process = os.getpid()
            return
        raise StoreError(
            f"{self._file!r} was opened before this process was forked; parent and child cannot both read it",
            hint="create the store from a path, or from a file that is opened in the child",
        )

    def read(self, start: int, length: int) -> bytes:
        self._check_process()
        with as_file_errors(), self._seeking:
            self._file.seek(start)
            pieces = []
            while length > 0:  # raw files may return less than requested
                piece = self._file.read(length)
                if not piece:
                    break
                pieces.append(piece)
                length -= len(piece)
            return b"".join(pieces)


class SnapshotSource(ByteSource):
    """A snapshot of a value, closed when the source is garbage-collected."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.size = snapshot.size
        if isinstance(snapshot, FileSnapshot):
            close_on_deletion(self, closing((snapshot.file,)))
        else:
            call_on_deletion(self, methodcaller("close"), (snapshot,))

    def read(self, start: int, length: int) -> bytes | memoryview:
        data = self._snapshot.get((start, length))
        return data if isinstance(data, bytes) else memoryview(data)


class ValueSource(ByteSource):
    """A value of another store, read in parts. If the store has versioned reads, all parts are of one version, and a
    replaced archive is detected."""

    def __init__(
        self, store: Store, key: str, size: int, *, tail: bytes | None = None, version: Version = None
    ) -> None:
        self._store = store
        self._key = key
        self._tail = tail
        self.version = version
        """The version of all parts; None if the store cannot tell."""
        self.size = size

    @classmethod
    def find(cls, store: Store, key: str) -> ValueSource | None:
        """The value, found by one request if possible; None if there is none."""
        reads = store.versioned_reads
        if reads is not None:
            state = reads.get(key, (-END_SIZE, None))
            if state is None:
                return None
            if state.size is not None and state.data is not None:
                return cls(store, key, state.size, tail=bytes(state.data), version=state.version)
        size = store.size(key)
        return None if size is None else cls(store, key, size)

    def read(self, start: int, length: int) -> bytes | memoryview:
        data = self._from_tail(start, length)
        return self._request((start, length)) if data is None else data

    def _from_tail(self, start: int, length: int) -> memoryview | None:
        """A part of the tail, which is kept in memory; None if it begins before the tail."""
        begin = max(0, self.size - END_SIZE)
        if start < begin:
            return None
        if self._tail is None:
            self._tail = bytes(self._request((begin, self.size - begin)))
        return memoryview(self._tail)[start - begin : start - begin + length]

    def _request(self, part: ByteRange) -> bytes | memoryview:
        reads = self._store.versioned_reads
        if self.version is None or reads is None:
            return self._check_value(self._store.get(self._key, part))
        state = reads.get(self._key, part, self.version)
        return self._check_value(None if state is None else state.data)

    def _check_value(self, value: Any) -> bytes | memoryview:
        if value is None:
            raise StoreError(
                f"`{self._key}` in {self._store!r} was replaced or removed since it was opened",
                hint="open it again",
                store=repr(self._store),
                key=self._key,
            )
        return value if isinstance(value, (bytes, memoryview)) else memoryview(value)

    def read_each(self, parts: Sequence[tuple[int, int]]) -> Iterator[tuple[int, bytes | memoryview]]:
        missing = []
        for number, part in enumerate(parts):
            data = self._from_tail(*part)
            if data is None:
                missing.append(number)
            else:
                yield number, data
        if not missing:
            return
        window = self._store.window
        if self.version is not None and window is not None:
            pending = (
                PendingRequest(number, partial(self._request, parts[number]), parts[number][1]) for number in missing
            )
            yield from ConcurrentRequests(window, pending, len)
        elif self.version is not None:
            for number in missing:
                yield number, self._request(parts[number])
        else:
            for position, value in self._store.get_each([(self._key, parts[number]) for number in missing]):
                yield missing[position], self._check_value(value)

"""Locations of archives: how one is loaded, where its next version is written, and how that is published."""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, BinaryIO

from omnizarr.errors import LocationError, StoreError
from omnizarr.store.contract import Store
from omnizarr.store.local import files
from omnizarr.store.update import KeyAccess, update
from omnizarr.store.values import is_path
from omnizarr.store.zip.byte_source import (
    END_SIZE,
    ByteSource,
    BytesSource,
    FileObjectSource,
    FileSource,
    SnapshotSource,
    ValueSource,
    as_file_errors,
)

__all__ = ["ArchiveLocation", "FileLocation", "FileObjectLocation", "ReplacedArchiveError", "ValueLocation"]

_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_WRITE = (
    os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
)
_ATTEMPTS = 100  # attempts to claim a file that other processes remove at the same time
_STEP = 2**20  # bytes that are copied at a time
_ONE_REQUEST = 2**25  # bytes; longer values are sent in several requests, which cannot be conditional
_ABSENT = object()  # the state of an absent value


class ArchiveLocation(ABC):
    """The location of one archive."""

    remote = False
    writable = True

    @property
    @abstractmethod
    def location(self) -> str:
        """The location as a user would write it."""

    @property
    def full_location(self) -> str:
        """The location with everything that distinguishes it from others."""
        return self.location

    @property
    @abstractmethod
    def identity(self) -> Hashable:
        """Equal for two locations of one archive."""

    @abstractmethod
    def load(self) -> tuple[ByteSource | None, object]:
        """The archive, if there is one, and its state, which detects that another archive replaced it."""

    @abstractmethod
    def state(self) -> object:
        """The current state."""

    @abstractmethod
    def claim(self) -> FileSource:
        """An empty file for the next version of the archive; rejected while another process writes one."""

    @abstractmethod
    def spare(self) -> FileSource:
        """Another empty file, for the process that has claimed the archive."""

    @abstractmethod
    def publish(self, new_archive: FileSource, state: object, *, durable: bool) -> object:
        """Make a claimed or spare file the archive, and return its state. Rejected if the archive does not have the
        given state any more."""

    @abstractmethod
    def abandon(self, new_archive: FileSource) -> None:
        """Remove a claimed or spare file."""

    def __reduce__(self) -> tuple[Any, ...]:
        raise NotImplementedError


class ReplacedArchiveError(StoreError):
    """Another program replaced the archive, so that values that were written since cannot be published."""


def _replaced(location: str) -> StoreError:
    return ReplacedArchiveError(
        f"another program replaced or removed {location} since it was opened for writing",
        hint="the values that were written are not in it; open it again and write them once more",
        store=location,
    )


class FileLocation(ArchiveLocation):
    """A file. Its next version is written beside it and renamed."""

    def __init__(self, path: str) -> None:
        # Links are resolved: a rename must not replace a link to the archive.
        self._path = os.path.realpath(path) if is_path(path) else ""
        folder, name = os.path.split(self._path)
        if not name:
            raise LocationError(f"{path!r} is not a file's path", location=path)
        self._temporary_path = os.path.join(folder, f".{name}.new")
        self._spare = os.path.join(folder, f".{name}.newer")

    @property
    def location(self) -> str:
        return self._path

    @property
    def identity(self) -> Hashable:
        return self._path

    def load(self) -> tuple[ByteSource | None, object]:
        try:
            source = FileSource(os.open(self._path, _READ))
        except FileNotFoundError:
            return None, None
        return source, source.state()

    def state(self) -> object:
        try:
            return FileSource.state_of(os.stat(self._path))
        except FileNotFoundError:
            return None

    def claim(self) -> FileSource:
        path = self._temporary_path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        for _ in range(_ATTEMPTS):
            new_archive = FileSource(os.open(path, _WRITE, 0o666))
            if not new_archive.lock(path):
                raise StoreError(
                    f"another process is writing to {self._path}",
                    hint="an archive has one writer at a time; it is free when that one closes it",
                    store=self._path,
                )
            if new_archive.is_at(path):  # otherwise the previous holder has just published or removed it
                if os.path.getsize(path):  # left by a crashed process; a child of it may read it
                    files.remove(path)
                    continue
                files.remove(self._spare)
                return new_archive
        raise StoreError(f"gave up after {_ATTEMPTS} attempts: other processes keep removing {path}", store=self._path)

    def spare(self) -> FileSource:
        files.remove(self._spare)
        return FileSource(os.open(self._spare, _WRITE | os.O_EXCL, 0o666))

    def publish(self, new_archive: FileSource, state: object, *, durable: bool) -> object:
        if self.state() != state:
            raise _replaced(self._path)
        name = self._temporary_path
        if not new_archive.is_at(name):
            # The claim stays until the archive is published, so that no other process starts to write meanwhile.
            name = self._spare
        if durable:
            new_archive.flush()
        new_archive.move(name, self._path)
        if name == self._spare:
            files.remove(self._temporary_path)
        new_archive.unlock()
        if durable:
            files.flush_folder(os.path.dirname(self._path))
        return new_archive.state()

    def abandon(self, new_archive: FileSource) -> None:
        for name in (self._temporary_path, self._spare):
            if new_archive.is_at(name):
                files.remove(name)
        new_archive.unlock()

    def __reduce__(self) -> tuple[Any, ...]:
        return FileLocation, (self._path,)


class _UnnamedDraftLocation(ArchiveLocation):
    """A location that only takes whole archives: the next version is written to a temporary file without a name."""

    def claim(self) -> FileSource:
        with tempfile.TemporaryFile() as file:
            return FileSource(os.dup(file.fileno()))

    spare = claim

    def state(self) -> object:
        return object()  # unknown, so that the archive is loaded again

    def abandon(self, new_archive: FileSource) -> None:
        pass


@dataclass(frozen=True)
class _End:
    """The state of an archive in a store without versions: its size and its end, which holds the directory with the
    checksums of the entries; of a directory of more than 128 KiB, the last part."""

    size: int
    end: bytes

    @classmethod
    def of(cls, source: ByteSource) -> _End:
        length = min(source.size, END_SIZE)
        return cls(source.size, bytes(source.read(source.size - length, length)))


class ValueLocation(_UnnamedDraftLocation):
    """A value of another store."""

    def __init__(self, store: Store, key: str) -> None:
        self._store = store
        self._key = key
        self.remote = store.remote
        self.writable = store.writable and not store.read_only

    @property
    def location(self) -> str:
        return f"zip::{self._store.location.removesuffix('/')}/{self._key}"

    @property
    def full_location(self) -> str:
        return f"zip::{self._store.full_location}/{self._key}"

    @property
    def identity(self) -> Hashable:
        return self._store, self._key

    def load(self) -> tuple[ByteSource | None, object]:
        store, key = self._store, self._key
        source: ByteSource | None
        if store.versioned_reads is None and not store.remote:
            # Parts that are read one by one could be of two archives: read them from one state.
            if store.snapshots is not None:
                snapshot = store.snapshots.open(key)
                source = None if snapshot is None else SnapshotSource(snapshot)
            else:
                value = store.get(key)
                source = None if value is None else BytesSource(bytes(value))
        else:
            source = ValueSource.find(store, key)
        if source is None:
            return None, _ABSENT
        version = source.version if isinstance(source, ValueSource) else None
        return source, _End.of(source) if version is None else version

    def publish(self, new_archive: FileSource, state: object, *, durable: bool) -> object:
        store, key = self._store, self._key
        value = new_archive.read(0, new_archive.size)
        if isinstance(state, _End) or (state is _ABSENT and store.versioned_reads is None):
            done = update(store, [key], lambda access: self._replace(access, value, state))[0]
        elif store.updates is not None and len(value) <= _ONE_REQUEST:
            version = None if state is _ABSENT else state
            done = update(store, [key], lambda access: (access.write(key, value, version),))[0]
        else:
            with store.lock([key]):
                done = self._version() == state
                if done:
                    store.set(key, value)
        if not done:
            raise _replaced(self.location)
        return None

    def _replace(self, access: KeyAccess, value: bytes, state: object) -> tuple[bool] | None:
        """An attempt to replace the stored archive if it has `state`, on a store without versioned reads."""
        stored = access.read(self._key)
        assert stored is not None, "there is no limit"
        data, version = stored
        if (_ABSENT if data is None else _End.of(BytesSource(bytes(data)))) != state:
            written_before = access.uncertain is not None and data is not None and bytes(data) == value
            return (written_before,)
        return (True,) if access.write(self._key, value, version) else None

    def _version(self) -> object:
        """The version of the stored archive now, by versioned reads."""
        reads = self._store.versioned_reads
        state = None if reads is None else reads.get(self._key, (0, 0))
        return _ABSENT if state is None else state.version

    def __reduce__(self) -> tuple[Any, ...]:
        return ValueLocation, (self._store, self._key)


class FileObjectLocation(_UnnamedDraftLocation):
    """A file object, such as `open(path, "rb")` or `io.BytesIO()`."""

    def __init__(self, file: BinaryIO | Any) -> None:
        usable = hasattr(file, "read") and hasattr(file, "seek") and not getattr(file, "closed", False)
        if not (usable and getattr(file, "seekable", lambda: True)()):
            raise LocationError(
                f"{file!r} is no archive: expected a path, or an open, readable and seekable file object"
            )
        self._file = file
        self.writable = bool(getattr(file, "writable", lambda: False)())

    @property
    def location(self) -> str:
        return f"zip::<{getattr(self._file, 'name', None) or type(self._file).__name__}>"

    @property
    def identity(self) -> Hashable:
        return id(self._file), type(self)

    def load(self) -> tuple[ByteSource | None, object]:
        source = FileObjectSource(self._file)
        return (source if source.size else None), None

    def publish(self, new_archive: FileSource, state: object, *, durable: bool) -> object:
        with as_file_errors():
            self._file.seek(0)
            for start in range(0, new_archive.size, _STEP):
                self._file.write(new_archive.read(start, _STEP))
            self._file.truncate()
            self._file.flush()
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        raise StoreError(
            f"{self.location} cannot be pickled: another process does not have the file object",
            hint="create the store from a path",
            store=self.location,
        )

"""Where an archive lives: how it is found there, where its next state is written, and how that takes its place."""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any, BinaryIO

from omnizarr.errors import LocationError, StoreError
from omnizarr.store.contract import Store
from omnizarr.store.local import files
from omnizarr.store.zip.byte_source import ByteSource, FileObjectSource, FileSource, ValueSource, as_file_errors

__all__ = ["ArchiveLocation", "FileLocation", "FileObjectLocation", "ValueLocation"]

_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_WRITE = (
    os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
)
_ATTEMPTS = 100  # to claim a file that others take away at the same moment
_STEP = 2**20  # bytes that are copied at a time
_ONE_REQUEST = 2**25  # bytes; longer values are sent in several, which no condition can be set for
_ABSENT = object()  # the state of a value that is not there


class ArchiveLocation(ABC):
    """A place for one archive."""

    remote = False
    writable = True

    @property
    @abstractmethod
    def location(self) -> str:
        """Where it is, as a user would write it."""

    @property
    def full_location(self) -> str:
        """The same, and whatever else tells it from other places."""
        return self.location

    @property
    @abstractmethod
    def identity(self) -> Hashable:
        """Equal for two homes of one archive."""

    @abstractmethod
    def load(self) -> tuple[ByteSource | None, object]:
        """The archive, if there is one; and its state, by which another one in its place is noticed."""

    @abstractmethod
    def state(self) -> object:
        """Its state now."""

    @abstractmethod
    def claim(self) -> FileSource:
        """An empty file in which the next state of the archive is written; refused while somebody else does so."""

    @abstractmethod
    def spare(self) -> FileSource:
        """Another one, for whoever has claimed the archive."""

    @abstractmethod
    def publish(self, draft: FileSource, state: object, *, durable: bool) -> object:
        """Makes a file that was claimed, or a spare one, the archive, and gives its state. Refused if the archive is no
        longer in the state that it was found in."""

    @abstractmethod
    def abandon(self, draft: FileSource) -> None:
        """Removes a file that was claimed, or a spare one."""

    def __reduce__(self) -> tuple[Any, ...]:
        raise NotImplementedError


def _replaced(location: str) -> StoreError:
    return StoreError(
        f"{location} was replaced or removed by somebody else since it was opened for writing",
        hint="what was written is not in it; open it again and write once more",
        store=location,
    )


class FileLocation(ArchiveLocation):
    """A file of the file system. Its next state is written beside it, and renamed."""

    def __init__(self, path: str) -> None:
        # Where links lead: a rename must not put the archive in the place of a link to it.
        self._path = "" if "\0" in path else os.path.realpath(path)
        folder, name = os.path.split(self._path)
        if not name:
            raise LocationError(f"{path!r} is not a file's path", location=path)
        self._draft = os.path.join(folder, f".{name}.new")
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
        os.makedirs(os.path.dirname(self._draft), exist_ok=True)
        for _ in range(_ATTEMPTS):
            draft = FileSource(os.open(self._draft, _WRITE, 0o666))
            if not draft.lock():
                raise StoreError(
                    f"another process is writing to {self._path}",
                    hint="an archive has one writer at a time; it is free when that one closes it",
                    store=self._path,
                )
            if draft.is_at(self._draft):  # else who had it before us has just made it the archive, or removed it
                draft.truncate(0)
                files.remove(self._spare)  # of somebody who died
                return draft
        raise StoreError(f"{self._draft} is removed again and again", store=self._path)

    def spare(self) -> FileSource:
        files.remove(self._spare)
        return FileSource(os.open(self._spare, _WRITE | os.O_EXCL, 0o666))

    def publish(self, draft: FileSource, state: object, *, durable: bool) -> object:
        if self.state() != state:
            raise _replaced(self._path)
        name = self._draft
        if not draft.is_at(name):
            # The claim stays until the archive is there, so that nobody else begins meanwhile.
            name = self._spare
        if durable:
            draft.flush()
        draft.move(name, self._path)
        if name == self._spare:
            files.remove(self._draft)
        if durable:
            files.flush_folder(os.path.dirname(self._path))
        return draft.state()

    def abandon(self, draft: FileSource) -> None:
        for name in (self._draft, self._spare):
            if draft.is_at(name):
                files.remove(name)

    def __reduce__(self) -> tuple[Any, ...]:
        return FileLocation, (self._path,)


class _UnnamedDraftLocation(ArchiveLocation):
    """A home that can only be given a whole archive: its next state is written into a file that has no name."""

    def claim(self) -> FileSource:
        with tempfile.TemporaryFile() as file:
            return FileSource(os.dup(file.fileno()))

    spare = claim

    def state(self) -> object:
        return object()  # it cannot be told, and so it must be looked at again

    def abandon(self, draft: FileSource) -> None:
        pass


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
        source = ValueSource.find(self._store, self._key)
        return source, _ABSENT if source is None else source.version

    def publish(self, draft: FileSource, state: object, *, durable: bool) -> object:
        value = draft.read(0, draft.size)
        if state is None:  # which cannot be told
            self._store.set(self._key, value)
        elif self._store.updates is not None and len(value) <= _ONE_REQUEST:
            if not self._store.updates.write(self._key, value, None if state is _ABSENT else state):
                raise _replaced(self.location)
        else:
            if self._version() != state:
                raise _replaced(self.location)
            self._store.set(self._key, value)
        return None

    def _version(self) -> object:
        """The version of the stored archive now; None if the store cannot tell."""
        reads = self._store.versioned_reads
        if reads is None:
            return None if self._store.exists(self._key) else _ABSENT
        found = reads.get(self._key, (0, 0))
        return _ABSENT if found is None else found.version

    def __reduce__(self) -> tuple[Any, ...]:
        return ValueLocation, (self._store, self._key)


class FileObjectLocation(_UnnamedDraftLocation):
    """A file object, as `open(path, "rb")` or `io.BytesIO()` give one."""

    def __init__(self, file: BinaryIO | Any) -> None:
        usable = hasattr(file, "read") and hasattr(file, "seek") and not getattr(file, "closed", False)
        if not (usable and getattr(file, "seekable", lambda: True)()):
            raise LocationError(
                f"{file!r} is no archive: expected a path, or a file object that can be read and sought"
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

    def publish(self, draft: FileSource, state: object, *, durable: bool) -> object:
        with as_file_errors():
            self._file.seek(0)
            for start in range(0, draft.size, _STEP):
                self._file.write(draft.read(start, _STEP))
            self._file.truncate()
            self._file.flush()
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        raise StoreError(
            f"{self.location} cannot be pickled: another process does not have the file object",
            hint="make the store of a path",
            store=self.location,
        )

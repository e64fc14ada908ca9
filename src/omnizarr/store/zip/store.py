"""A store in a ZIP archive: read by ranges, written to a new file, and published by a rename."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, BinaryIO, Literal, Self

from omnizarr.errors import ArgumentError, StoreError
from omnizarr.store.capabilities import Snapshots, VersionedReads, provides
from omnizarr.store.contract import (
    Buffer,
    ByteRange,
    Request,
    State,
    Store,
    Version,
    check_key,
    check_prefix,
    extent_of,
    flat,
    reject_start,
    thread_lock,
)
from omnizarr.store.finalizers import call_on_deletion
from omnizarr.store.snapshot import Snapshot
from omnizarr.store.zip.archive import Archive, archive_at
from omnizarr.store.zip.entries import Entry
from omnizarr.store.zip.location import ArchiveLocation, FileLocation, FileObjectLocation, ValueLocation
from omnizarr.store.zip.records import STORED, Damaged

__all__ = ["ZipStore", "open_inside"]


class ZipStore(Store):
    """The entries of a ZIP archive as keys. The first write creates the archive if there is none.

    Writes are published together: when the store is closed or flushed, when no store that wrote to the archive is left,
    or when the program ends. Until then other processes see the old archive, and all stores of this process that show
    the archive see the new values. One process at a time writes. A store shows the archive as it was on first use; it
    loads a version that another process published later before its first write.
    """

    snapshots = provides(lambda store: _ZipSnapshots(store))
    versioned_reads = provides(lambda store: _ZipReads(store))
    _copyable = True

    def __init__(
        self,
        file: str | os.PathLike[str] | BinaryIO | Any,
        *,
        read_only: bool = False,
        compression: Literal["stored", "deflated"] = "stored",
        level: int = 6,
        durable: bool = False,
    ) -> None:
        if compression not in ("stored", "deflated"):
            raise ArgumentError(
                f'`compression`: expected "stored" or "deflated", found {compression!r}', argument="compression"
            )
        if not isinstance(level, int) or not 1 <= level <= 12:
            raise ArgumentError(f"`level`: expected an integer from 1 to 12, found {level!r}", argument="level")
        self._archive: Archive | None = None
        self._closed = False
        self._count_as_writer()
        self._archive_location = file if isinstance(file, ArchiveLocation) else _archive_location(file)
        self.remote = self._archive_location.remote
        self.writable = self._archive_location.writable
        self._read_only = read_only
        self._level = level if compression == "deflated" else None
        self._durable = durable

    @classmethod
    def inside(cls, store: Store, key: str, **options: Any) -> Self:
        """The archive that is the value of `key` in another store."""
        check_key(key)
        return cls(ValueLocation(store, key), **options)

    @property
    def location(self) -> str:
        return self._archive_location.location

    @property
    def full_location(self) -> str:
        return self._archive_location.full_location

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ZipStore) and other._archive_location.identity == self._archive_location.identity

    def __hash__(self) -> int:
        return hash(self._archive_location.identity)

    # -- the archive

    def _open_archive(self) -> Archive:
        """The archive, loaded on first use."""
        if self._closed:
            raise StoreError(f"{self!r} is closed", hint="open it again", store=repr(self))
        if self._archive is None:
            try:
                archive = archive_at(self._archive_location)
            except OSError as error:
                self._fail("open", error)
            with archive.lock:
                if self._archive is None:  # otherwise another thread was faster
                    self._archive = archive
        return self._archive

    def _open_for_writing(self) -> Archive:
        """The archive; from now on it counts this store as a writer."""
        archive = self._open_archive()
        if not self._written:
            with archive.lock:
                if not self._written:
                    self._written.append(archive)
                    archive.writers += 1
                    archive.durable |= self._durable
        return archive

    def flush(self) -> None:
        """Publish the archive. Later writes begin the next version."""
        archive = self._open_archive()
        try:
            archive.finish()
        except (OSError, Damaged) as error:
            self._fail("finish", error)

    def close(self) -> None:
        """Publish the archive and release it."""
        if self._closed:
            return
        if self._written:
            self.flush()
        self._closed = True
        self._archive = None
        while self._written:
            self._written.pop().release()

    def _count_as_writer(self) -> None:
        self._written: list[Archive] = []
        """The archive, if it counts this store as a writer."""
        call_on_deletion(self, Archive.release, self._written)

    def __copy__(self) -> Self:
        """Another store that shows the same archive, with the values that are not published yet."""
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._count_as_writer()
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        if self._archive is not None and self._archive.unfinished:
            raise StoreError(
                f"{self!r} cannot be pickled while it has values that are not published",
                hint="call `flush()` or `close()` first",
                store=repr(self),
            )
        compression = "stored" if self._level is None else "deflated"
        return _restore, (
            type(self),
            self._archive_location,
            self._read_only,
            compression,
            self._level or 6,
            self._durable,
        )

    def _fail(self, action: str, error: Exception, key: str | None = None) -> Any:
        if isinstance(error, StoreError):
            raise error
        what = f"cannot {action} " + (f"`{key}` in {self!r}" if key is not None else f"{self!r}")
        if isinstance(error, Damaged):
            raise StoreError(f"{what}: {error}", store=repr(self), key=key) from None
        number = getattr(error, "errno", None)
        raise StoreError(
            f"{what}: {getattr(error, 'strerror', None) or error}", store=repr(self), key=key, errno=number
        ) from error

    @contextmanager
    def _reading(self, key: str) -> Iterator[None]:
        try:
            yield
        except (OSError, Damaged) as error:
            self._fail("read", error, key)

    def _entry(self, key: str) -> Entry | None:
        entry = self._open_archive().entries.get(key)
        if entry is None:
            check_key(key)
        return entry

    # -- reading

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        entry = self._entry(key)
        if entry is None:
            return None
        try:
            return entry.get(range)
        except (OSError, Damaged) as error:
            self._fail("read", error, key)
            raise

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        if start < 0:
            reject_start(key, start, repr(self))
        entry = self._entry(key)
        if entry is None:
            return None
        try:
            return entry.get_into(start, target)
        except (OSError, Damaged) as error:
            self._fail("read", error, key)
            raise

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        if not self.remote:
            yield from super().get_each(requests)
            return
        present = []
        for number, (key, range) in enumerate(requests):
            entry = self._entry(key)
            if entry is None:
                yield number, None
            else:
                present.append((number, key, entry, range))
        yield from self._fetch(present)

    def _fetch(self, requests: list[tuple[int, str, Entry, ByteRange | None]]) -> Iterator[tuple[int, Buffer]]:
        """The values, requested together; for parts, the positions of the entries are requested first."""
        parts = [
            entry.method == STORED and extent_of(range, entry.size)[1] < entry.size for _, _, entry, range in requests
        ]
        without_start = [item for item, part in zip(requests, parts, strict=True) if part and item[2].start < 0]
        for item, data in _read_parts(without_start, [item[2].header_range() for item in without_start]):
            with self._reading(item[1]):
                item[2].parse_header(data)
        ranges = []
        for (_, _, entry, range), part in zip(requests, parts, strict=True):
            start, length = extent_of(range, entry.size)
            ranges.append((entry.start + start, length) if part else entry.expected_range())
        positions = {id(item): position for position, item in enumerate(requests)}
        for item, data in _read_parts(requests, ranges):
            number, key, entry, range = item
            position = positions[id(item)]
            with self._reading(key):
                if not parts[position]:
                    yield number, entry.value(entry.stored(data, ranges[position]), range)
                elif len(data) == ranges[position][1]:
                    yield number, data
                else:
                    raise Damaged("an entry is cut off")

    def exists(self, key: str) -> bool:
        return self._entry(key) is not None

    def size(self, key: str) -> int | None:
        entry = self._entry(key)
        return None if entry is None else entry.size

    # -- writing

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        check_key(key)
        with self._writing(key):
            self._open_for_writing().set(key, flat(value), self._level)

    def erase(self, key: str) -> None:
        self.erase_values([key])

    def erase_values(self, keys: Iterable[str]) -> None:
        self.check_writable()
        keys = list(keys)
        for key in keys:
            check_key(key)
        with self._writing(keys[0] if keys else ""):
            self._open_for_writing().erase(keys)

    def erase_prefix(self, prefix: str) -> None:
        self.check_writable()
        prefix = check_prefix(prefix)
        archive = self._open_for_writing()
        with archive.lock, self._writing(prefix):
            archive.erase(list(archive.index().below(prefix)))

    @contextmanager
    def _writing(self, key: str) -> Iterator[None]:
        try:
            yield
        except (OSError, Damaged) as error:
            self._fail("write", error, key)

    # -- listing

    def list_prefix(self, prefix: str) -> Iterator[str]:
        prefix = check_prefix(prefix)
        archive = self._open_archive()
        with archive.lock:
            return iter(list(archive.index().below(prefix)))

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        prefix = check_prefix(prefix)
        archive = self._open_archive()
        with archive.lock:
            keys, prefixes = archive.index().children(prefix)
        return sorted(keys), sorted(prefixes)

    # -- agreement between writers

    @contextmanager
    def lock(self, keys: Iterable[str], *, shared: bool = False) -> Iterator[None]:
        keys = list(keys)
        with thread_lock(self.location, keys):
            if not (shared or self.read_only):
                # Claim the archive for this process and load its current version, so that the holder of the lock
                # reads the values that it replaces.
                archive = self._open_for_writing()
                with archive.lock, self._writing(keys[0] if keys else ""):
                    archive.begin()
            yield


class _ZipSnapshots(Snapshots):
    def __init__(self, store: ZipStore) -> None:
        self._store = store

    def open(self, key: str) -> Snapshot | None:
        store = self._store
        entry = store._entry(key)
        if entry is None:
            return None
        with store._reading(key):
            return EntrySnapshot(entry, store._reading, key)


class _ZipReads(VersionedReads):
    """The version of a value is the offset of its entry, its checksum and its size."""

    def __init__(self, store: ZipStore) -> None:
        self._store = store

    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        entry = self._store._entry(key)
        if entry is None:
            return None
        tag = entry.offset, entry.crc, entry.size
        if version is not None and version != tag:
            return State(None, None, None)
        with self._store._reading(key):
            return State(entry.get(range), tag, entry.size)


class EntrySnapshot(Snapshot):
    """An entry, which never changes. A compressed entry is decompressed once, when a part of it is first read."""

    def __init__(self, entry: Entry, reading: Callable[[str], AbstractContextManager[None]], key: str) -> None:
        self._entry = entry
        self._reading = reading
        self._key = key
        self._value: Buffer | None = None
        self.size = entry.size

    @property
    def version(self) -> object:
        return self._entry

    def get(self, range: ByteRange) -> Buffer:
        with self._reading(self._key):
            if self._entry.method == STORED:
                return self._entry.get(range)
            if self._value is None:
                self._value = self._entry.get(None)
        start, length = extent_of(range, self.size)
        return memoryview(self._value)[start : start + length]

    def close(self) -> None:
        self._value = None


def _read_parts(items: Sequence[Any], parts: Sequence[tuple[int, int]]) -> Iterator[tuple[Any, bytes | memoryview]]:
    """The parts, each with its item. Entries may have several sources: those that are not published are not in the
    archive."""
    by_source: dict[int, list[int]] = {}
    for number, item in enumerate(items):
        by_source.setdefault(id(item[2].source), []).append(number)
    for numbers in by_source.values():
        source = items[numbers[0]][2].source
        for position, data in source.read_each([parts[number] for number in numbers]):
            yield items[numbers[position]], data


def _archive_location(file: Any) -> ArchiveLocation:
    if isinstance(file, (str, os.PathLike)):
        return FileLocation(os.fspath(file))
    return FileObjectLocation(file)


def _restore(
    cls: type[ZipStore], location: ArchiveLocation, read_only: bool, compression: Any, level: int, durable: bool
) -> ZipStore:
    return cls(location, read_only=read_only, compression=compression, level=level, durable=durable)


def open_inside(
    store: Store,
    key: str,
    *,
    read_only: bool = False,
    compression: Literal["stored", "deflated"] = "stored",
    level: int = 6,
    durable: bool = False,
) -> ZipStore:
    """The archive that is the value of `key`: as a file if values are files, otherwise as a value."""
    path = store.file(key)
    location = ValueLocation(store, key) if path is None else FileLocation(path)
    read_only = read_only or store.read_only
    return ZipStore(location, read_only=read_only, compression=compression, level=level, durable=durable)

"""One archive, shared by all stores of this process that show it, with the values that are not published yet.

Reading takes no lock: an entry never changes, and it keeps its file open even if another file gets the same name.
Writes go into a new archive. A small value stays in memory until that is finished, so that a document that changes ten
times is written once.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Hashable, Iterable

from omnizarr.errors import StoreError, warn
from omnizarr.store.contract import Buffer
from omnizarr.store.key_index import KeyIndex
from omnizarr.store.zip.byte_source import BytesSource
from omnizarr.store.zip.entries import Entry, crc32, deflate, entries_of
from omnizarr.store.zip.location import ArchiveLocation, ReplacedArchiveError
from omnizarr.store.zip.records import DEFLATED, STORED, Damaged
from omnizarr.store.zip.writer import ArchiveWriter, encoded_name

__all__ = ["Archive", "archive_at"]

_SMALL = 2**16  # bytes; values up to this size wait in memory,
_MOST_WAITING = 2**26  # as long as they take at most this many bytes together

_archives: dict[Hashable, weakref.ref[Archive]] = {}  # a WeakValueDictionary would run Python code in a deletion
_unfinished: set[Archive] = set()
_finding = threading.RLock()


def _find(identity: Hashable) -> Archive | None:
    """The open archive with this identity. Call it with `_finding` held."""
    reference = _archives.get(identity)
    return None if reference is None else reference()


def _remember(archive: Archive, identity: Hashable) -> None:
    """Let other stores use this archive. Call it with `_finding` held."""
    for other in [other for other, reference in _archives.items() if reference() is None]:
        del _archives[other]
    _archives[identity] = weakref.ref(archive)


def archive_at(location: ArchiveLocation) -> Archive:
    """The archive at a location: the one that is open already, unless another archive has replaced it."""
    loaded = None
    while True:
        with _finding:
            archive = _find(location.identity)
            if archive is None or not (archive.unfinished or archive.is_current()):
                if loaded is None:
                    archive = None
                else:
                    archive = loaded
                    _remember(loaded, location.identity)
            if archive is not None:
                return archive
        loaded = Archive(location)  # without the lock: it may be remote


@atexit.register
def _finish_all() -> None:
    failed = None
    for archive in list(_unfinished):
        try:
            archive.finish()
        except Exception as error:  # the others are finished, too
            failed = failed or error
    if failed is not None:
        raise failed


def _in_child() -> None:
    global _finding
    _finding = threading.RLock()
    for reference in _archives.values():
        archive = reference()
        if archive is not None:
            archive._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


class Archive:
    """An archive: its entries by key."""

    def __init__(self, location: ArchiveLocation) -> None:
        self._location = location
        self.writers = 0
        self.durable = False
        self._lock = threading.RLock()
        self._new_archive: ArchiveWriter | None = None
        self._process = os.getpid()
        self._waiting = 0
        self._changed = False
        self._index: KeyIndex | None = None
        self.entries: dict[str, Entry] = {}
        self._load()

    def _load(self) -> None:
        # Kept even if no entry needs it: the inode number of an open file is not reused.
        self._source, self._state = source, _ = self._location.load()
        try:
            self.entries, _, repeated = ({}, 0, []) if source is None else entries_of(source)
        except Damaged as damage:
            raise StoreError(
                f"cannot open the archive {self._location.location}: {damage}", store=self._location.location
            ) from None
        self._index = None
        if repeated:
            more = f" and {len(repeated) - 1} more" if len(repeated) > 1 else ""
            warn(
                f"the archive {self._location.location} has `{repeated[0]}`{more} more than once; the last one counts. "
                "Programs that can only append to an archive cause this; the next write by omnizarr removes duplicates."
            )

    def is_current(self) -> bool:
        """Whether it is still the archive at its location."""
        return self._state is not None and self._location.state() == self._state

    @property
    def unfinished(self) -> bool:
        """Whether there are values that are not published yet."""
        return self._new_archive is not None

    # -- listing

    def index(self) -> KeyIndex:
        """The index of its keys; use it with `lock` held."""
        if self._index is None:
            self._index = KeyIndex(self.entries)
        return self._index

    @property
    def lock(self) -> threading.RLock:
        """Held while the archive changes."""
        return self._lock

    # -- writing

    def begin(self) -> ArchiveWriter:
        """Claim the archive for this process, and load it again if another process has published a new version."""
        if self._new_archive is not None and self._process != os.getpid():
            raise StoreError(
                f"{self._location.location} was being written when this process was forked",
                hint="close the store before the fork, and open it again in each process; one at a time may write",
                store=self._location.location,
            )
        if self._new_archive is None:
            self._register()
            source = self._location.claim()
            try:
                if self._location.state() != self._state:
                    self._load()
            except BaseException:
                self._location.abandon(source)
                raise
            self._new_archive = ArchiveWriter(source)
            self._process = os.getpid()
            _unfinished.add(self)
        return self._new_archive

    def _register(self) -> None:
        """Make stores that are opened from now on share this archive, with the values that are written to it."""
        with _finding:
            other = _find(self._location.identity)
            if other is not None and other is not self and other.unfinished:
                raise StoreError(
                    f"another store of this process is writing to {self._location.location}",
                    hint="use that one, or close it first",
                    store=self._location.location,
                )
            _remember(self, self._location.identity)

    def set(self, key: str, value: Buffer, level: int | None) -> None:
        """Set the value of `key`, compressed at `level` if that is given and makes it smaller."""
        name = encoded_name(key)
        crc, size, method, stored = crc32(value), len(value), STORED, value
        if level is not None:
            smaller = deflate(value, level)
            if len(smaller) < size:
                method, stored = DEFLATED, smaller
        with self._lock:
            new_archive = self.begin()
            if len(stored) <= _SMALL and self._waiting + len(stored) <= _MOST_WAITING:
                entry = Entry(BytesSource(bytes(stored)), 0, len(name), method, crc, len(stored), size)
                entry.start, entry.limit = 0, len(stored)
                self._waiting += len(stored)
            else:
                entry = new_archive.add(name, method, crc, stored, size)
            self._drop(new_archive, key)
            if self._index is not None:
                self._index.add(key)
            self.entries[key] = entry
            self._changed = True

    def erase(self, keys: Iterable[str]) -> None:
        """Remove those of `keys` that exist."""
        with self._lock:
            for key in keys:
                if key in self.entries:
                    new_archive = self.begin()
                    if key in self.entries:
                        self._drop(new_archive, key)
                        del self.entries[key]
                        self._changed = True
                        if self._index is not None:
                            self._index.remove(key)

    def _drop(self, new_archive: ArchiveWriter, key: str) -> None:
        before = self.entries.get(key)
        if before is not None:
            new_archive.drop(before)
            if isinstance(before.source, BytesSource):
                self._waiting -= before.stored_size

    def finish(self) -> None:
        """Publish the written values. If that fails, the archive at the location does not change. If another program
        replaced it, the written values are dropped, so that the next writer starts from the new archive."""
        with self._lock:
            if self._new_archive is None or self._process != os.getpid():
                return
            new_archive = self._new_archive
            if not self._changed:
                self._location.abandon(new_archive.source)
                self._end()
                return
            try:
                if new_archive.unused:  # copy the entries to a new file, without the replaced ones
                    new_archive = ArchiveWriter(self._location.spare())
                entries = new_archive.complete(self.entries)
                state = self._location.publish(new_archive.source, self._state, durable=self.durable)
            except BaseException as error:
                if new_archive is not self._new_archive:
                    self._location.abandon(new_archive.source)
                if isinstance(error, ReplacedArchiveError):
                    self._location.abandon(self._new_archive.source)
                    self._end()
                    self._load()
                raise
            self._state = state
            self.entries = entries
            self._end()

    def _end(self) -> None:
        self._waiting = 0
        self._changed = False
        self._new_archive = None
        _unfinished.discard(self)

    def release(self) -> None:
        """Release one writer; the last one publishes."""
        with self._lock:
            self.writers -= 1
            if not self.writers:
                self.finish()

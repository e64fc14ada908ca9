"""One value of a store, open to be sent: its size, its entity tag, and its bytes piece by piece."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from hashlib import blake2b

from omnizarr.errors import StoreError
from omnizarr.store import Buffer, Snapshot, Store
from omnizarr.store.capabilities import VersionedReads
from omnizarr.store.contract import ByteRange, Version

__all__ = ["PIECE", "BytesValue", "ServedValue", "open_value"]

PIECE = 2**18
"""Bytes that are read and sent at a time, so that a large value takes little memory: 256 KiB."""
_FIRST_REQUEST = 2**22  # bytes: a remote store sends most chunks in one request of 4 MiB
_LONGEST_DIGEST = 2**26  # bytes of a value that is digested to get its tag: 64 MiB take about 0.1 s


class ServedValue(ABC):
    """A value that stays the same until `close`."""

    size: int
    tag: str | None = None
    """The entity tag, with its quotes; None if the store cannot tell one state of the value from another."""

    @abstractmethod
    def read(self, start: int, length: int) -> Buffer:
        """The bytes of a part that is inside the value."""

    def close(self) -> None:  # noqa: B027
        """Releases the value."""

    def pieces(self, start: int, length: int) -> Iterator[Buffer]:
        """A part of the value, in pieces."""
        end = start + length
        while start < end:
            data = self.read(start, min(PIECE, end - start))
            if not len(data):
                raise StoreError("a stored value is shorter than its size")
            yield data
            start += len(data)


class BytesValue(ServedValue):
    """A value in memory. Its tag is a digest of the bytes."""

    def __init__(self, data: Buffer) -> None:
        self._data = memoryview(data)
        self.size = len(data)
        self.tag = _digest(data)

    def read(self, start: int, length: int) -> Buffer:
        return self._data[start : start + length]


class _SnapshotValue(ServedValue):
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.size = snapshot.size
        self.tag = _tag_of(snapshot.version)
        if self.tag is None and self.size <= _LONGEST_DIGEST:
            self.tag = _digest(*(self.pieces(0, self.size)))

    def read(self, start: int, length: int) -> Buffer:
        return self._snapshot.get((start, length))

    def close(self) -> None:
        self._snapshot.close()


class _VersionValue(ServedValue):
    """One version of a value of a remote store, with the part that the first request got."""

    def __init__(self, reads: VersionedReads, key: str, first: Buffer, start: int, size: int, version: Version) -> None:
        self._reads = reads
        self._key = key
        self._first = memoryview(first)
        self._start = start
        self._version = version
        self.size = size
        self.tag = _tag_of(version)

    def read(self, start: int, length: int) -> Buffer:
        offset = start - self._start
        if offset >= 0 and offset + length <= len(self._first):
            return self._first[offset : offset + length]
        state = self._reads.get(self._key, (start, length), self._version)
        if state is None or state.data is None or len(state.data) != length:
            raise StoreError(f"`{self._key}` was replaced while it was read", key=self._key)
        return state.data


class _UnversionedValue(ServedValue):
    """A value of a remote store that has no versions."""

    def __init__(self, store: Store, key: str, size: int) -> None:
        self._store = store
        self._key = key
        self.size = size

    def read(self, start: int, length: int) -> Buffer:
        data = self._store.get(self._key, (start, length))
        if data is None or len(data) != length:
            raise StoreError(f"`{self._key}` was replaced while it was read", key=self._key)
        return data


def open_value(store: Store, key: str, part: ByteRange | None = None) -> ServedValue | None:
    """The value of a key; None if there is none. A remote store is asked for the part `part` in the first request."""
    if store.remote:
        return _open_remote(store, key, part)
    snapshots = store.snapshots
    if snapshots is not None:
        snapshot = snapshots.open(key)
        if snapshot is None:
            return None
        try:
            return _SnapshotValue(snapshot)
        except BaseException:
            snapshot.close()
            raise
    size = store.size(key)
    if size is not None and size > _LONGEST_DIGEST:
        return _UnversionedValue(store, key, size)
    data = store.get(key)
    return None if data is None else BytesValue(data)


def _open_remote(store: Store, key: str, part: ByteRange | None) -> ServedValue | None:
    reads = store.versioned_reads
    if reads is None:
        size = store.size(key)
        return None if size is None else _UnversionedValue(store, key, size)
    start, length = (0, None) if part is None else part
    if start >= 0:
        length = _FIRST_REQUEST if length is None else min(length, _FIRST_REQUEST)
    elif start < -_FIRST_REQUEST:
        start, length = 0, 0
    state = reads.get(key, (start, length))
    if state is None or state.data is None:
        return None
    size = store.size(key) if state.size is None else state.size
    if size is None:
        return None
    if start < 0:
        start = max(0, size + start)
    return _VersionValue(reads, key, state.data, start, size, state.version)


def _tag_of(version: object) -> str | None:
    """The tag for a version of a store; None if the version means nothing outside of this process."""
    return _digest(repr(version).encode()) if version is not None and _is_plain(version) else None


def _is_plain(version: object) -> bool:
    if isinstance(version, tuple):
        return all(_is_plain(part) for part in version)
    return version is None or isinstance(version, (int, str, bytes))


def _digest(*pieces: Buffer) -> str:
    digest = blake2b(digest_size=12)
    for piece in pieces:
        digest.update(piece)
    return f'"{digest.hexdigest()}"'

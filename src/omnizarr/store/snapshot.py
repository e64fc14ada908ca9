"""Snapshots: one state of a value, open for several reads, even if a writer replaces the value meanwhile."""

from __future__ import annotations

from abc import ABC, abstractmethod

from omnizarr.store.values import Buffer, ByteRange, cut, extent_of

__all__ = ["BytesSnapshot", "Snapshot", "SnapshotPart"]


class Snapshot(ABC):
    """One state of a value, until `close`."""

    size: int

    @property
    @abstractmethod
    def version(self) -> object:
        """Equal for two snapshots of the same state, and different otherwise; None if the store cannot tell."""

    @abstractmethod
    def get(self, range: ByteRange) -> Buffer:
        """A part of the value."""

    def get_into(self, start: int, target: memoryview) -> int:
        """Fill `target` with the bytes from `start` on; returns how many there were."""
        data = self.get((start, len(target)))
        target[: len(data)] = data
        return len(data)

    @abstractmethod
    def close(self) -> None:
        """Release the snapshot."""


class _Same:
    """Equal if made of the same object. It keeps the object alive, so that no other can get its address."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._value is self._value

    __hash__ = None  # type: ignore[assignment]


class SnapshotPart(Snapshot):
    """A part of another snapshot, as a snapshot of its own. The other one must stay open."""

    def __init__(self, whole: Snapshot, start: int, length: int) -> None:
        self._whole = whole
        self._start = start
        self.size = length

    @property
    def version(self) -> object:
        return None

    def get(self, range: ByteRange) -> Buffer:
        start, length = extent_of(range, self.size)
        return self._whole.get((self._start + start, length))

    def close(self) -> None:
        pass  # the other snapshot is closed by its owner


class BytesSnapshot(Snapshot):
    """Bytes in memory, which never change."""

    def __init__(self, value: bytes) -> None:
        self._value = value
        self.size = len(value)

    @property
    def version(self) -> object:
        return _Same(self._value)

    def get(self, range: ByteRange) -> Buffer:
        return cut(self._value, range)

    def close(self) -> None:
        pass  # a part that is in use keeps the bytes alive

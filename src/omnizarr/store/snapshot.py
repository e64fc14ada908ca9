"""One state of a value, held while several parts of it are read, whoever replaces the value meanwhile."""

from __future__ import annotations

from abc import ABC, abstractmethod

from omnizarr.store.contract import Buffer, ByteRange, cut, span

__all__ = ["BytesSnapshot", "Snapshot", "SnapshotPart"]


class Snapshot(ABC):
    """A value as it is now, until `close`."""

    size: int

    @property
    @abstractmethod
    def version(self) -> object:
        """Equal to that of the same value held before, and to no other; None if that cannot be told."""

    @abstractmethod
    def get(self, range: ByteRange) -> Buffer:
        """A part of it."""

    def get_into(self, start: int, target: memoryview) -> int:
        """Fills `target` with the bytes from `start` on; how many there were."""
        data = self.get((start, len(target)))
        target[: len(data)] = data
        return len(data)

    @abstractmethod
    def close(self) -> None:
        """Lets go of it."""


class _Same:
    """Equal to what is made of the very same object, which it keeps from being replaced by another at its address."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._value is self._value

    __hash__ = None  # type: ignore[assignment]


class SnapshotPart(Snapshot):
    """A part of a value that somebody else holds, as if it were one of its own."""

    def __init__(self, held: Snapshot, start: int, length: int) -> None:
        self._held = held
        self._start = start
        self.size = length

    @property
    def version(self) -> object:
        return None

    def get(self, range: ByteRange) -> Buffer:
        start, length = span(range, self.size)
        return self._held.get((self._start + start, length))

    def close(self) -> None:
        pass  # it is not the one who holds it


class BytesSnapshot(Snapshot):
    """Bytes in memory, which nobody changes."""

    def __init__(self, value: bytes) -> None:
        self._value = value
        self.size = len(value)

    @property
    def version(self) -> object:
        return _Same(self._value)

    def get(self, range: ByteRange) -> Buffer:
        return cut(self._value, range)

    def close(self) -> None:
        pass  # whoever has a part of it keeps it alive

"""Answers of a store that are kept in memory, those that were used last."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple, Protocol

from omnizarr.store.contract import ByteRange, Version

__all__ = ["CacheStorage", "CachedAnswer", "MemoryStorage"]

_BESIDE = 200  # bytes that an answer takes beside its value, roughly; absent keys are remembered, too


class CachedAnswer(NamedTuple):
    """An answer: a value or a part of one, None for an absent key."""

    value: bytes | None
    version: Version
    """Of the state that it was of; None if that could not be told."""
    at: float
    """When it was last known to be right."""


class CacheStorage(Protocol):
    """Where answers are kept. What is changed is changed by one thread at a time; `find` and `prepare` may take long,
    and are called by many at once."""

    size: int

    def find(self, key: str, range: ByteRange | None) -> CachedAnswer | None:
        """What is kept as the answer."""

    def prepare(self, key: str, range: ByteRange | None, kept: CachedAnswer) -> object | None:
        """Whatever `keep` needs; None if it is too large to be kept."""

    def keep(self, key: str, range: ByteRange | None, prepared: object) -> None:
        """Keeps it, in the place of what was not used longest."""

    def discard(self, prepared: object) -> None:
        """For one that is not to be kept after all."""

    def checked(self, key: str, range: ByteRange | None, at: float) -> None:
        """Notes that an answer is still right."""

    def drop(self, key: str) -> None:
        """Forgets all answers about a key."""

    def clear(self) -> None:
        """Forgets everything."""


class MemoryStorage:
    """Keeps answers of up to `most` bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, ByteRange | None], CachedAnswer] = OrderedDict()
        self._ranges: dict[str, set[ByteRange | None]] = {}
        self.size = 0

    def find(self, key: str, range: ByteRange | None) -> CachedAnswer | None:
        kept = self._kept.get((key, range))
        if kept is not None:
            try:
                self._kept.move_to_end((key, range))
            except KeyError:
                pass  # it was dropped meanwhile
        return kept

    def prepare(self, key: str, range: ByteRange | None, kept: CachedAnswer) -> object | None:
        return kept if _weight(key, kept) <= self._most else None

    def keep(self, key: str, range: ByteRange | None, prepared: object) -> None:
        assert isinstance(prepared, CachedAnswer)
        if (key, range) in self._kept:
            self._forget(key, range)
        self._kept[key, range] = prepared
        self._ranges.setdefault(key, set()).add(range)
        self.size += _weight(key, prepared)
        while self.size > self._most:
            self._forget(*next(iter(self._kept)))

    def discard(self, prepared: object) -> None:
        pass

    def checked(self, key: str, range: ByteRange | None, at: float) -> None:
        kept = self._kept.get((key, range))
        if kept is not None:
            self._kept[key, range] = kept._replace(at=at)

    def _forget(self, key: str, range: ByteRange | None) -> None:
        self.size -= _weight(key, self._kept.pop((key, range)))
        ranges = self._ranges[key]
        ranges.discard(range)
        if not ranges:
            del self._ranges[key]

    def drop(self, key: str) -> None:
        for range in list(self._ranges.get(key, ())):
            self._forget(key, range)

    def clear(self) -> None:
        self._kept.clear()
        self._ranges.clear()
        self.size = 0


def _weight(key: str, kept: CachedAnswer) -> int:
    return _BESIDE + len(key) + (0 if kept.value is None else len(kept.value))

"""Where a cache stores answers, and the storage in memory."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple, Protocol

from omnizarr.store.contract import ByteRange, Version

__all__ = ["CacheStorage", "CachedAnswer", "MemoryStorage"]

_ENTRY_OVERHEAD = 200  # bytes of an answer in addition to its value, roughly; absent keys are cached, too


class CachedAnswer(NamedTuple):
    """A value or a part of one; None for an absent key."""

    value: bytes | None
    version: Version
    """The version of the value; None if unknown."""
    at: float
    """When the answer was last known to be current."""


class CacheStorage(Protocol):
    """Stores answers. One thread at a time changes it. `find` and `prepare` may take long; many threads call them at
    once."""

    size: int

    def find(self, key: str, range: ByteRange | None) -> CachedAnswer | None:
        """The stored answer, if there is one."""

    def prepare(self, key: str, range: ByteRange | None, answer: CachedAnswer) -> object | None:
        """What `keep` needs; None if the answer is too large."""

    def keep(self, key: str, range: ByteRange | None, prepared: object) -> None:
        """Store an answer; drop the least recently used ones if needed."""

    def discard(self, prepared: object) -> None:
        """Release a prepared answer that is not stored."""

    def checked(self, key: str, range: ByteRange | None, at: float) -> None:
        """Note that an answer is still current."""

    def drop(self, key: str) -> None:
        """Drop all answers for a key."""

    def clear(self) -> None:
        """Drop everything."""


class MemoryStorage:
    """Stores up to `most` bytes of answers in memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._answers: OrderedDict[tuple[str, ByteRange | None], CachedAnswer] = OrderedDict()
        self._ranges: dict[str, set[ByteRange | None]] = {}
        self.size = 0

    def find(self, key: str, range: ByteRange | None) -> CachedAnswer | None:
        answer = self._answers.get((key, range))
        if answer is not None:
            try:
                self._answers.move_to_end((key, range))
            except KeyError:
                pass  # another thread dropped it
        return answer

    def prepare(self, key: str, range: ByteRange | None, answer: CachedAnswer) -> object | None:
        return answer if _weight(key, answer) <= self._most else None

    def keep(self, key: str, range: ByteRange | None, prepared: object) -> None:
        assert isinstance(prepared, CachedAnswer)
        if (key, range) in self._answers:
            self._forget(key, range)
        self._answers[key, range] = prepared
        self._ranges.setdefault(key, set()).add(range)
        self.size += _weight(key, prepared)
        while self.size > self._most:
            self._forget(*next(iter(self._answers)))

    def discard(self, prepared: object) -> None:
        pass

    def checked(self, key: str, range: ByteRange | None, at: float) -> None:
        answer = self._answers.get((key, range))
        if answer is not None:
            self._answers[key, range] = answer._replace(at=at)

    def _forget(self, key: str, range: ByteRange | None) -> None:
        self.size -= _weight(key, self._answers.pop((key, range)))
        ranges = self._ranges[key]
        ranges.discard(range)
        if not ranges:
            del self._ranges[key]

    def drop(self, key: str) -> None:
        for range in list(self._ranges.get(key, ())):
            self._forget(key, range)

    def clear(self) -> None:
        self._answers.clear()
        self._ranges.clear()
        self.size = 0


def _weight(key: str, answer: CachedAnswer) -> int:
    return _ENTRY_OVERHEAD + len(key) + (0 if answer.value is None else len(answer.value))

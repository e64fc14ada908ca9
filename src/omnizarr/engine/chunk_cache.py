"""Decoded chunks that are kept between reads, in bounded memory: for windows that slide, and loaders that come back."""

from __future__ import annotations

import os
import re
import threading
import weakref
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, TypeAlias

import numpy.typing as npt

from omnizarr.errors import ArgumentError

__all__ = ["ChunkCache"]

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)
_BESIDE = 256  # bytes that an entry takes beside its chunk, roughly
_Place: TypeAlias = tuple[Hashable, int]


class ChunkCache:
    """The decoded chunks that were used last, up to `max_bytes` of them: a number, or text such as `"256 MiB"`.

    Each is kept with the state of the store's value that it was decoded from, and used only while the value is still in
    that state, whoever writes it. Of a value, the chunks of one state are kept: a state may be the value itself. One
    cache may serve many arrays. A pickle of it holds no chunks.
    """

    def __init__(self, max_bytes: int | str) -> None:
        self.max_bytes = _as_bytes(max_bytes)
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0
        self._empty()
        _caches.add(self)

    def _empty(self) -> None:
        self._kept: OrderedDict[_Place, tuple[npt.NDArray[Any], int]] = OrderedDict()
        self._states: dict[Hashable, tuple[object, set[int]]] = {}
        self.nbytes = 0
        """How many bytes it holds now."""

    def get(self, value: Hashable, number: int, state: object) -> npt.NDArray[Any] | None:
        """One of the chunks of a value, to look at, if the value is still in that state."""
        with self._lock:
            known = self._states.get(value)
            place = value, number
            if known is None or state is None or known[0] != state or place not in self._kept:
                self.misses += 1
                return None
            self._kept.move_to_end(place)
            self.hits += 1
            return self._kept[place][0]

    def keep(self, value: Hashable, number: int, state: object, chunk: npt.NDArray[Any], size: int) -> None:
        """Keeps a chunk that takes `size` bytes, instead of those that were not used for long. Nobody changes it."""
        size += _BESIDE
        if state is None or size > self.max_bytes:
            return
        place = value, number
        with self._lock:
            known = self._states.get(value)
            if known is not None:
                for other in [number] if known[0] == state else list(known[1]):
                    self._drop((value, other))
            self._states.setdefault(value, (state, set()))[1].add(number)
            self._kept[place] = chunk, size
            self.nbytes += size
            while self.nbytes > self.max_bytes:
                self._drop(next(iter(self._kept)))

    def _drop(self, place: _Place) -> None:
        if place in self._kept:
            value, number = place
            self.nbytes -= self._kept.pop(place)[1]
            numbers = self._states[value][1]
            numbers.remove(number)
            if not numbers:
                del self._states[value]

    def clear(self) -> None:
        """Lets go of all chunks."""
        with self._lock:
            self._empty()

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        return f"<ChunkCache {len(self)} chunks, {self.nbytes} of {self.max_bytes} bytes>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.max_bytes,)


def _as_bytes(size: int | str) -> int:
    if isinstance(size, str):
        found = _SIZE.fullmatch(size)
        if found is not None:
            number, prefix, binary = found.groups()
            return int(float(number) * (1024 if binary else 1000) ** " kmgt".index(prefix.lower() or " "))
    elif isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        return size
    raise ArgumentError(
        f'`cache`: expected a number of bytes, or text such as "256 MiB", found {size!r}', argument="cache"
    )


_caches: weakref.WeakSet[ChunkCache] = weakref.WeakSet()


def _new_locks_in_child() -> None:
    for cache in list(_caches):
        cache._lock = threading.Lock()  # its holder is a thread that the child does not have
        cache._empty()  # and may have been in the middle of it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_locks_in_child)

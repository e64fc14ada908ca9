"""A cache of decoded chunks in bounded memory, for sliding windows and data loaders."""

from __future__ import annotations

import os
import re
import threading
import weakref
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr.errors import ArgumentError

__all__ = ["CacheKey", "CachedState", "ChunkCache", "Decoding", "as_byte_count"]

_SIZE = r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*"  # compiled when a size is text, because few are
_ENTRY_BYTES = 256  # approximate size of an entry without its chunk
_Entry: TypeAlias = tuple[Hashable, int]
CacheKey: TypeAlias = tuple[Any, str]
"""A store, and a key in it."""


class Decoding(NamedTuple):
    """What determines the elements of a chunk, in addition to its bytes and its shape."""

    data_type: Any
    codecs: tuple[Any, ...]
    fill: str
    dtype: np.dtype[Any]


class CachedState(NamedTuple):
    """Everything that a decoded chunk depends on."""

    version: object
    shape: tuple[int, ...]
    outer_shape: tuple[int, ...]
    """The shape of the shard that an inner chunk is part of; of another chunk, its own."""
    decoding: Decoding


class ChunkCache:
    """The most recently used decoded chunks, up to `max_bytes`: a number, or text such as `"256 MiB"`.

    Each chunk is stored with the state of the store's value that it was decoded from, and used only while the value is
    in that state, so that changes by any writer are seen. For each value the cache holds the chunks of one state only,
    because a state may be the value itself. One cache may serve many arrays. A pickle of it holds no chunks.
    """

    reads_into_memory = False
    """Whether chunks are not objects of this process, so that `read_into` saves a copy."""

    def __init__(self, max_bytes: int | str) -> None:
        self.max_bytes = as_byte_count(max_bytes, "cache")
        self._lock = threading.RLock()
        self.hits = 0
        self.misses = 0
        self._empty()
        _caches[:] = [reference for reference in _caches if reference() is not None]
        _caches.append(weakref.ref(self))

    def _empty(self) -> None:
        self._chunks: OrderedDict[_Entry, tuple[npt.NDArray[Any], int]] = OrderedDict()
        self._states: dict[Hashable, tuple[object, set[int]]] = {}
        self.nbytes = 0
        """The number of bytes in the cache."""

    def get(self, value: Any, number: int, state: Any) -> npt.NDArray[Any] | None:
        """Chunk `number` of a value, if it is cached for this state. Treat it as read-only."""
        with self._lock:
            cached = self._states.get(value)
            entry = value, number
            if cached is None or state is None or cached[0] != state or entry not in self._chunks:
                self.misses += 1
                return None
            self._chunks.move_to_end(entry)
            self.hits += 1
            return self._chunks[entry][0]

    def read_into(self, value: Any, number: int, state: Any, targets: list[memoryview]) -> bool:
        """Fill memory of together the size of chunk `number` with it; False if it is not cached for this state. The
        memory may then hold anything. Only if `reads_into_memory`."""
        raise NotImplementedError

    def keep(self, value: Any, number: int, state: Any, chunk: npt.NDArray[Any], size: int) -> None:
        """Add a chunk that takes `size` bytes, and drop the least recently used ones. Nothing may change it later."""
        size += _ENTRY_BYTES
        if state is None or size > self.max_bytes:
            return
        entry = value, number
        with self._lock:
            cached = self._states.get(value)
            if cached is not None:
                for other in [number] if cached[0] == state else list(cached[1]):
                    self._drop((value, other))
            self._states.setdefault(value, (state, set()))[1].add(number)
            self._chunks[entry] = chunk, size
            self.nbytes += size
            while self.nbytes > self.max_bytes:
                self._drop(next(iter(self._chunks)))

    def _drop(self, entry: _Entry) -> None:
        if entry in self._chunks:
            value, number = entry
            self.nbytes -= self._chunks.pop(entry)[1]
            numbers = self._states[value][1]
            numbers.remove(number)
            if not numbers:
                del self._states[value]

    def clear(self) -> None:
        """Drop all chunks."""
        with self._lock:
            self._empty()

    def __len__(self) -> int:
        return len(self._chunks)

    def __repr__(self) -> str:
        return f"<ChunkCache {len(self)} chunks, {self.nbytes} of {self.max_bytes} bytes>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.max_bytes,)


def as_byte_count(size: int | str, argument: str) -> int:
    """A number of bytes from an argument: the number, or text such as `"256 MiB"`."""
    if isinstance(size, str):
        match = re.fullmatch(_SIZE, size, re.IGNORECASE)
        if match is not None:
            number, prefix, binary = match.groups()
            return int(float(number) * (1024 if binary else 1000) ** " kmgt".index(prefix.lower() or " "))
    elif isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        return size
    raise ArgumentError(
        f'`{argument}`: expected a number of bytes, or text such as "256 MiB", found {size!r}', argument=argument
    )


_caches: list[weakref.ref[ChunkCache]] = []  # a WeakSet would run Python code when a cache is deleted


def _reset_in_child() -> None:
    for cache in [reference() for reference in _caches]:
        if cache is not None:
            cache._lock = threading.RLock()  # a thread that the child does not have may hold the old one
            cache._empty()  # that thread may have left it half changed


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_in_child)

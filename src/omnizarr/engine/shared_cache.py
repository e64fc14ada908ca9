"""A cache of decoded chunks that several processes share, in memory or in a file."""

from __future__ import annotations

import json
import os
import threading
from hashlib import blake2b
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.engine.cache_file import CacheFile, Place, open_cache_file
from omnizarr.engine.chunk_cache import CachedState, CacheKey, ChunkCache
from omnizarr.errors import StoreError

__all__ = ["SharedChunkCache"]

_PLAIN = frozenset({int, str, bytes, float, type(None)})
_MOST_SCRATCH = 2**24  # bytes; larger chunks do not stay in the caches of the processor


class SharedChunkCache(ChunkCache):
    """Decoded chunks for several processes, up to `max_bytes`: a number, or text such as `"2 GiB"`.

    Without `file`, the chunks lie in memory that forked children share, and that a spawned child of a running process
    finds, too. With the path of a `file`, all programs of this machine that name it share it, until the system
    restarts.

    As in a `ChunkCache`, a chunk is used only while the stored value is in the state that it was decoded from. A
    process that is killed at any time leaves the cache usable. It holds only chunks whose elements have a fixed size,
    of stores whose versions other processes understand: files, buckets and web addresses.
    """

    def __init__(self, max_bytes: int | str, file: str | os.PathLike[str] | None = None) -> None:
        super().__init__(max_bytes)
        path = None if file is None else os.path.abspath(os.fspath(file))
        self._file: CacheFile = open_cache_file(path, self.max_bytes)
        self._local = threading.local()
        self._digests: dict[int, tuple[Any, bytes]] = {}

    reads_into_memory = True

    def _empty(self) -> None:
        """A child keeps what it shares with its parent."""

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        """The number of bytes of the chunks in the cache."""
        return self._file.count()[1]

    def __len__(self) -> int:
        return self._file.count()[0]

    def get(self, value: CacheKey, number: int, state: CachedState | None) -> npt.NDArray[Any] | None:
        """Chunk `number` of a value, if it is cached for this state; valid until the next call in this thread."""
        keys = self._keys(value, number, state)
        place = None if keys is None or state is None else self._find(keys, state)
        if place is not None and state is not None:
            chunk = self._scratch(place.length).view(state.decoding.dtype).reshape(state.shape)
            if self._file.read_into(place, [_bytes_of(chunk)]):
                self.hits += 1
                return chunk
        self.misses += 1
        return None

    def read_into(self, value: CacheKey, number: int, state: CachedState | None, targets: list[memoryview]) -> bool:
        keys = self._keys(value, number, state)
        place = None if keys is None or state is None else self._find(keys, state)
        if place is not None and self._file.read_into(place, targets):
            self.hits += 1
            return True
        self.misses += 1
        return False

    def _find(self, keys: tuple[bytes, bytes], state: CachedState) -> Place | None:
        place = self._file.find(*keys)
        return (
            place if place is not None and place.length == prod(state.shape) * state.decoding.dtype.itemsize else None
        )

    def _scratch(self, size: int) -> npt.NDArray[np.uint8]:
        """Memory of this thread, valid until its next call: new memory for each chunk would take longer than to copy
        the chunk."""
        scratch: npt.NDArray[np.uint8] | None = getattr(self._local, "scratch", None)
        if scratch is None or len(scratch) < size:
            scratch = np.empty(size, np.uint8)
            if size <= _MOST_SCRATCH:
                self._local.scratch = scratch
        return scratch[:size]

    def keep(self, value: CacheKey, number: int, state: CachedState | None, chunk: npt.NDArray[Any], size: int) -> None:
        keys = self._keys(value, number, state)
        if keys is not None and state is not None and chunk.shape == state.shape:
            elements = np.ascontiguousarray(chunk, state.decoding.dtype)
            self._file.store(*keys, _bytes_of(elements))

    def _keys(self, value: CacheKey, number: int, state: CachedState | None) -> tuple[bytes, bytes] | None:
        """What identifies a chunk and its state in all processes; None if the version or the data type has no meaning
        in another process."""
        if state is None or state.decoding.dtype.hasobject or state.decoding.dtype.kind == "T" or not prod(state.shape):
            return None
        version = _as_text(state.version)
        if version is None:
            return None
        known = self._digests.get(id(state.decoding))
        if known is None or known[0] is not state.decoding:
            if len(self._digests) > 1000:
                self._digests.clear()
            known = self._digests[id(state.decoding)] = state.decoding, _digest(_decoding_text(state.decoding))
        store, key = value
        return (
            _digest(f"{store.full_location}\0{key}\0{number}"),
            _digest(f"{version}\0{state.shape}\0{state.outer_shape}", known[1]),
        )

    def clear(self) -> None:
        """Drop all chunks, for all processes."""
        self._file.clear()

    def __repr__(self) -> str:
        where = self._file.path or "memory"
        return f"<SharedChunkCache in {where}: {len(self)} chunks, {self.nbytes} of {self.max_bytes} bytes>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self.max_bytes, self._file.address)


def _reopened(max_bytes: int, address: str) -> SharedChunkCache:
    """The cache in a spawned child. If the memory of the process that made it is gone, a new one."""
    try:
        return SharedChunkCache(max_bytes, address)
    except StoreError:
        if not address.startswith("/proc/"):
            raise
        return SharedChunkCache(max_bytes)


def _bytes_of(elements: npt.NDArray[Any]) -> memoryview:
    view: Any = elements.reshape(-1).view(np.uint8)
    return memoryview(view)


def _digest(text: str, salt: bytes = b"") -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass") + salt, digest_size=16).digest()


def _as_text(version: Any) -> str | None:
    """A version as text; None if it has no meaning in another process."""
    return repr(version) if _is_plain(version) else None


def _is_plain(value: Any) -> bool:
    kind = type(value)
    return kind in _PLAIN or (kind is tuple and (_PLAIN.issuperset(map(type, value)) or all(map(_is_plain, value))))


def _decoding_text(decoding: Any) -> str:
    codecs = [codec.to_json() for codec in decoding.codecs]
    return json.dumps([decoding.data_type.to_json(), codecs, decoding.fill, decoding.dtype.str], default=repr)

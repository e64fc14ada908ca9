"""`CacheStore`: keeps values of one store in another one."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Any, Literal, Self

from omnizarr.compat.zarr.abc.store import ByteRequest, Store
from omnizarr.compat.zarr.core.buffer.core import Buffer
from omnizarr.compat.zarr.storage._wrapper import WrapperStore

__all__ = ["CacheStore"]

_Entry = tuple[str, ByteRequest | None]


class _State:
    """What is cached: the size and age of each entry, those used longest ago first. Handles of one cache share it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entries: OrderedDict[_Entry, tuple[int, float]] = OrderedDict()
        self.parts: dict[_Entry, Buffer] = {}
        self.size = 0
        self.hits = self.misses = self.evictions = 0


class CacheStore(WrapperStore[Store]):
    """Reads whole values through `cache_store`, and parts of values through memory.

    Entries live for `max_age_seconds`. If they take more than `max_size` bytes, those used longest ago are removed.
    With `cache_set_data`, values that are written are cached, too.
    """

    def __init__(
        self,
        store: Store,
        *,
        cache_store: Store,
        max_age_seconds: int | Literal["infinity"] = "infinity",
        max_size: int | None = None,
        cache_set_data: bool = True,
    ) -> None:
        super().__init__(store)
        if not cache_store.supports_deletes:
            raise ValueError(
                f"The provided cache store {cache_store} does not support deletes. "
                "The cache_store must support deletes for CacheStore to function properly."
            )
        if isinstance(max_age_seconds, str) and max_age_seconds != "infinity":
            raise ValueError("max_age_seconds string value must be 'infinity'")
        self._cache = cache_store
        self.max_age_seconds = max_age_seconds
        self.max_size = max_size
        self.cache_set_data = cache_set_data
        self._state = _State()

    def _with_store(self, store: Store) -> Self:
        raise NotImplementedError("CacheStore does not support this operation.")  # the keys of two stores would mix

    def with_read_only(self, read_only: bool = False) -> Self:
        store = type(self)(
            self._store.with_read_only(read_only),
            cache_store=self._cache,
            max_age_seconds=self.max_age_seconds,
            max_size=self.max_size,
            cache_set_data=self.cache_set_data,
        )
        store._state = self._state
        return store

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Buffer | None:
        entry = (key, byte_range)
        state = self._state
        with state.lock:
            known = state.entries.get(entry)
            if known is not None and self._is_fresh(known[1]):
                state.entries.move_to_end(entry)
            else:
                known = None
        if known is not None:
            value = await self._cache.get(key, prototype) if byte_range is None else state.parts.get(entry)
            if value is not None:
                state.hits += 1
                return value
        state.misses += 1
        value = await self._store.get(key, prototype, byte_range)
        await (self._forget([entry]) if value is None else self._keep(entry, value))
        return value

    def _is_fresh(self, since: float) -> bool:
        return self.max_age_seconds == "infinity" or time.monotonic() - since < self.max_age_seconds

    async def _keep(self, entry: _Entry, value: Buffer) -> None:
        size, state = len(value), self._state
        await self._forget([entry])
        if self.max_size is not None and size > self.max_size:
            return
        if self.max_size is not None:
            oldest = []
            with state.lock:
                left = state.size
                for other, (length, _) in state.entries.items():
                    if left + size <= self.max_size:
                        break
                    oldest.append(other)
                    left -= length
            await self._forget(oldest)
            state.evictions += len(oldest)
        if entry[1] is None:
            await self._cache.set(entry[0], value)
        with state.lock:
            if entry[1] is not None:
                state.parts[entry] = value
            state.entries[entry] = (size, time.monotonic())
            state.size += size

    async def _forget(self, entries: list[_Entry]) -> None:
        state = self._state
        for entry in entries:
            with state.lock:
                size, _ = state.entries.pop(entry, (0, 0.0))
                state.size -= size
                state.parts.pop(entry, None)
            if entry[1] is None:
                await self._cache.delete(entry[0])

    async def _forget_key(self, key: str) -> None:
        with self._state.lock:
            entries = [entry for entry in self._state.entries if entry[0] == key]
        await self._forget([*entries, (key, None)])

    async def set(self, key: str, value: Buffer) -> None:
        await self._store.set(key, value)
        await self._forget_key(key)
        if self.cache_set_data:
            await self._keep((key, None), value)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        await self._store.set_if_not_exists(key, value)
        await self._forget_key(key)

    async def delete(self, key: str) -> None:
        await self._store.delete(key)
        await self._forget_key(key)

    async def delete_dir(self, prefix: str) -> None:
        await self._store.delete_dir(prefix)
        folder = f"{prefix.rstrip('/')}/" if prefix else ""
        with self._state.lock:
            entries = [entry for entry in self._state.entries if entry[0].startswith(folder)]
        await self._forget(entries)

    async def clear(self) -> None:
        await self._store.clear()
        await self.clear_cache()

    async def clear_cache(self) -> None:
        """Removes all entries."""
        await self._cache.clear()
        with self._state.lock:
            self._state.entries.clear()
            self._state.parts.clear()
            self._state.size = 0

    def cache_info(self) -> dict[str, Any]:
        """The settings and the size of the cache."""
        return {
            "cache_store_type": type(self._cache).__name__,
            "max_age_seconds": self.max_age_seconds,
            "max_size": self.max_size,
            "current_size": self._state.size,
            "cache_set_data": self.cache_set_data,
            "tracked_keys": len(self._state.entries),
            "cached_keys": len(self._state.entries),
        }

    def cache_stats(self) -> dict[str, Any]:
        """How many requests the cache has answered."""
        hits, misses = self._state.hits, self._state.misses
        return {
            "hits": hits,
            "misses": misses,
            "evictions": self._state.evictions,
            "total_requests": hits + misses,
            "hit_rate": hits / (hits + misses) if hits + misses else 0.0,
        }

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(store={self._store!r}, cache_store={self._cache!r}, "
            f"max_age_seconds={self.max_age_seconds}, max_size={self.max_size}, "
            f"current_size={self._state.size}, cached_keys={len(self._state.entries)})"
        )

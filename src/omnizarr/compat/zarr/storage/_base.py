"""`EngineBackedStore`: a store whose methods call a store of omnizarr."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, TypeVar

from omnizarr import store as own
from omnizarr.compat.zarr.abc.store import Store, as_folder
from omnizarr.compat.zarr.core.buffer.core import Buffer, default_buffer_prototype
from omnizarr.compat.zarr.storage._utils import byte_range_of
from omnizarr.store.update import set_if_absent

__all__ = ["VERBS", "EngineBackedStore"]

T = TypeVar("T")

VERBS = (
    "get",
    "get_partial_values",
    "exists",
    "set",
    "set_if_not_exists",
    "delete",
    "delete_dir",
    "list",
    "list_prefix",
    "list_dir",
    "clear",
    "is_empty",
)
"""The methods through which values are read and changed. A subclass that overrides one gets every request by them."""


def check_buffer(store: object, value: object) -> None:
    """Raises TypeError unless `value` is a buffer."""
    if not isinstance(value, Buffer):
        raise TypeError(
            f"{type(store).__name__}.set(): `value` must be a Buffer instance. "
            f"Got an instance of {type(value)} instead."
        )


class EngineBackedStore(Store):
    """Calls `inner`, a store of omnizarr: in a worker thread if that may block."""

    supports_writes = True
    supports_deletes = True
    supports_listing = True
    _verbs_of: type[Store]
    """The class whose methods do what the engine does without them."""

    @property
    def inner(self) -> own.Store:
        """The store of omnizarr."""
        raise NotImplementedError

    @property
    def engine_store(self) -> own.Store | None:
        """The store of omnizarr; None if a subclass overrides a method that reads or changes values."""
        cls, base = type(self), self._verbs_of
        if cls is not base and any(getattr(cls, verb) is not getattr(base, verb) for verb in VERBS):
            return None
        return self.inner

    async def _do(self, act: Callable[..., T], *arguments: Any) -> T:
        if not self._is_open:
            await self._open()
        return act(*arguments) if self.inner.in_memory else await asyncio.to_thread(act, *arguments)

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Buffer | None:
        value = await self._do(self.inner.get, key, byte_range_of(byte_range))
        if value is None:
            return None
        return (prototype or default_buffer_prototype()).buffer.from_bytes(value)

    async def get_partial_values(self, prototype: Any, key_ranges: Iterable[Any]) -> list[Buffer | None]:
        return [await self.get(key, prototype, request) for key, request in key_ranges]

    async def exists(self, key: str) -> bool:
        return await self._do(self.inner.exists, key)

    async def getsize(self, key: str) -> int:
        size = await self._do(self.inner.size, key)
        if size is None:
            raise FileNotFoundError(key)
        return size

    async def set(self, key: str, value: Buffer) -> None:
        self._check_writable()
        check_buffer(self, value)
        await self._do(self.inner.set, key, value.as_buffer_like())

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        self._check_writable()
        await self._do(set_if_absent, self.inner, key, value.to_bytes())

    async def delete(self, key: str) -> None:
        self._check_writable()
        await self._do(self.inner.erase, key)

    async def delete_dir(self, prefix: str) -> None:
        self._check_writable()
        await self._do(self.inner.erase_prefix, as_folder(prefix))

    async def list(self) -> AsyncIterator[str]:
        for key in await self._do(lambda: [*self.inner.list()]):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        # Here a prefix is any beginning of a key; in omnizarr it ends in `/`.
        folder = prefix[: prefix.rfind("/") + 1]
        for key in await self._do(lambda: [*self.inner.list_prefix(folder)]):
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        folder = as_folder(prefix)
        keys, prefixes = await self._do(self.inner.list_dir, folder)
        for name in dict.fromkeys([*keys, *(below[:-1] for below in prefixes)]):
            yield name[len(folder) :]

    def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Buffer | None:
        """`get`, without a coroutine."""
        value = self.inner.get(key, byte_range_of(byte_range))
        if value is None:
            return None
        return (prototype or default_buffer_prototype()).buffer.from_bytes(value)

    def set_sync(self, key: str, value: Buffer) -> None:
        """`set`, without a coroutine."""
        self._check_writable()
        self.inner.set(key, value.as_buffer_like())

    def delete_sync(self, key: str) -> None:
        """`delete`, without a coroutine."""
        self._check_writable()
        self.inner.erase(key)

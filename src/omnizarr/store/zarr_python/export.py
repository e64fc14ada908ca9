"""An omnizarr store as a store of zarr-python 3."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, TypeVar

from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.abc.store import Store as TheirStore
from zarr.core.buffer import default_buffer_prototype

from omnizarr.store.contract import ByteRange, Store
from omnizarr.store.update import set_if_absent
from omnizarr.store.wrappers import as_read_only

__all__ = ["LocalOmnizarrStore", "OmnizarrStore"]

T = TypeVar("T")


class OmnizarrStore(TheirStore):  # type: ignore[misc]
    """Forwards to an omnizarr store; in a worker thread if that may block, so that it does not block the event loop of
    zarr-python."""

    supports_deletes = True
    supports_partial_writes = False

    def __init__(self, inner: Store, *, read_only: bool | None = None) -> None:
        closed = inner.read_only if read_only is None else read_only
        super().__init__(read_only=closed)
        self.inner = as_read_only(inner) if closed else inner

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OmnizarrStore) and (other.inner, other.read_only) == (self.inner, self.read_only)

    def __hash__(self) -> int:
        return hash(self.inner)

    def __str__(self) -> str:
        return self.inner.location

    def __repr__(self) -> str:
        return f"OmnizarrStore({self.inner!r})"

    @property
    def supports_writes(self) -> bool:
        return self.inner.writable

    @property
    def supports_listing(self) -> bool:
        return self.inner.listable

    def with_read_only(self, read_only: bool = False) -> OmnizarrStore:
        if not read_only and self.inner.read_only:
            self.inner.check_writable()
        return type(self)(self.inner, read_only=read_only)

    async def _do(self, act: Callable[..., T], *arguments: Any) -> T:
        return act(*arguments) if self.inner.in_memory else await asyncio.to_thread(act, *arguments)

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        value = await self._do(self.inner.get, key, _range(byte_range))
        return None if value is None else _prototype(prototype).buffer.from_bytes(bytes(value))

    async def get_partial_values(self, prototype: Any, key_ranges: Iterable[tuple[str, Any]]) -> list[Any]:
        requests = [(key, _range(request)) for key, request in key_ranges]
        values = await self._do(self.inner.get_partial_values, requests)
        make = _prototype(prototype).buffer.from_bytes
        return [None if value is None else make(bytes(value)) for value in values]

    async def exists(self, key: str) -> bool:
        return await self._do(self.inner.exists, key)

    async def getsize(self, key: str) -> int:
        size = await self._do(self.inner.size, key)
        if size is None:
            raise FileNotFoundError(key)
        return size

    async def set(self, key: str, value: Any) -> None:
        self._check_writable()
        await self._do(self.inner.set, key, value.to_bytes())

    async def set_if_not_exists(self, key: str, value: Any) -> None:
        self._check_writable()
        await self._do(set_if_absent, self.inner, key, value.to_bytes())

    async def delete(self, key: str) -> None:
        self._check_writable()
        await self._do(self.inner.erase, key)

    async def delete_dir(self, prefix: str) -> None:
        self._check_writable()
        await self._do(self.inner.erase_prefix, _prefix(prefix))

    async def list(self) -> AsyncIterator[str]:
        for key in await self._do(lambda: list(self.inner.list())):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        # In zarr-python a prefix is any beginning of a key; in omnizarr it ends in `/`.
        folder = prefix[: prefix.rfind("/") + 1]
        for key in await self._do(lambda: list(self.inner.list_prefix(folder))):
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        whole = _prefix(prefix)
        keys, prefixes = await self._do(self.inner.list_dir, whole)
        for name in dict.fromkeys([*keys, *(below[:-1] for below in prefixes)]):
            yield name[len(whole) :]

    def close(self) -> None:
        self.inner.flush()
        super().close()


class LocalOmnizarrStore(OmnizarrStore):
    """A store that does not block, with the synchronous methods that zarr-python prefers."""

    def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Any:
        value = self.inner.get(key, _range(byte_range))
        return None if value is None else _prototype(prototype).buffer.from_bytes(bytes(value))

    def set_sync(self, key: str, value: Any) -> None:
        self._check_writable()
        self.inner.set(key, value.to_bytes())

    def delete_sync(self, key: str) -> None:
        self._check_writable()
        self.inner.erase(key)


def _prefix(prefix: str) -> str:
    prefix = prefix.strip("/")
    return f"{prefix}/" if prefix else ""


def _prototype(prototype: Any) -> Any:
    return default_buffer_prototype() if prototype is None else prototype


def _range(request: Any) -> ByteRange | None:
    if request is None:
        return None
    if isinstance(request, RangeByteRequest):
        return request.start, request.end - request.start
    if isinstance(request, OffsetByteRequest):
        return request.offset, None
    if isinstance(request, SuffixByteRequest):
        return (-request.suffix, None) if request.suffix else (0, 0)
    raise TypeError(f"expected a byte range, found {request!r}")

"""`WrapperStore`: forwards to another store."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any, Generic, Self, TypeVar, cast

from omnizarr.compat.zarr.abc.store import Store
from omnizarr.compat.zarr.core.buffer.core import Buffer

__all__ = ["WrapperStore"]

S = TypeVar("S", bound=Store)


class WrapperStore(Store, Generic[S]):
    """Forwards all methods to `_store`. A subclass overrides some of them."""

    _store: S

    def __init__(self, store: S) -> None:
        self._store = store

    def _with_store(self, store: S) -> Self:
        return type(self)(store=store)

    @classmethod
    async def open(cls, store_cls: type[S], *args: Any, **kwargs: Any) -> Self:
        store = store_cls(*args, **kwargs)
        await store._open()
        return cls(store=store)

    def with_read_only(self, read_only: bool = False) -> Self:
        return self._with_store(cast(S, self._store.with_read_only(read_only)))

    def __enter__(self) -> Self:
        return self._with_store(self._store.__enter__())

    def __exit__(self, *exception: Any) -> None:
        self._store.__exit__(*exception)

    async def _open(self) -> None:
        await self._store._open()

    async def _ensure_open(self) -> None:
        await self._store._ensure_open()

    async def is_empty(self, prefix: str) -> bool:
        return await self._store.is_empty(prefix)

    @property
    def _is_open(self) -> bool:
        return self._store._is_open

    @_is_open.setter
    def _is_open(self, value: bool) -> None:
        raise NotImplementedError("WrapperStore must be opened via the `_open` method")

    async def clear(self) -> None:
        await self._store.clear()

    @property
    def read_only(self) -> bool:
        return self._store.read_only

    def _check_writable(self) -> None:
        self._store._check_writable()

    def __eq__(self, value: object) -> bool:
        return type(self) is type(value) and self._store == cast(Any, value)._store

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"wrapping-{self._store}"

    def __repr__(self) -> str:
        return f"WrapperStore({self._store.__class__.__name__}, '{self._store}')"

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Buffer | None:
        return await self._store.get(key, prototype, byte_range)

    async def get_partial_values(self, prototype: Any, key_ranges: Iterable[Any]) -> list[Buffer | None]:
        return await self._store.get_partial_values(prototype, key_ranges)

    async def exists(self, key: str) -> bool:
        return await self._store.exists(key)

    async def set(self, key: str, value: Buffer) -> None:
        await self._store.set(key, value)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        await self._store.set_if_not_exists(key, value)

    async def _set_many(self, values: Iterable[tuple[str, Buffer]]) -> None:
        await self._store._set_many(values)

    @property
    def supports_writes(self) -> bool:
        return self._store.supports_writes

    @property
    def supports_deletes(self) -> bool:
        return self._store.supports_deletes

    async def delete(self, key: str) -> None:
        await self._store.delete(key)

    @property
    def supports_listing(self) -> bool:
        return self._store.supports_listing

    @property
    def supports_consolidated_metadata(self) -> bool:
        return self._store.supports_consolidated_metadata

    def list(self) -> AsyncIterator[str]:
        return self._store.list()

    def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        return self._store.list_prefix(prefix)

    def list_dir(self, prefix: str) -> AsyncIterator[str]:
        return self._store.list_dir(prefix)

    async def delete_dir(self, prefix: str) -> None:
        await self._store.delete_dir(prefix)

    def close(self) -> None:
        self._store.close()

    async def _get_many(self, requests: Iterable[Any]) -> AsyncGenerator[tuple[str, Buffer | None], None]:
        async for answer in self._store._get_many(requests):
            yield answer

    async def getsize(self, key: str) -> int:
        return await self._store.getsize(key)

    def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Buffer | None:
        """`get`, without a coroutine."""
        return self._without_coroutine("get_sync")(key, prototype=prototype, byte_range=byte_range)  # type: ignore[no-any-return]

    def set_sync(self, key: str, value: Buffer) -> None:
        """`set`, without a coroutine."""
        self._without_coroutine("set_sync")(key, value)

    def delete_sync(self, key: str) -> None:
        """`delete`, without a coroutine."""
        self._without_coroutine("delete_sync")(key)

    def _without_coroutine(self, method: str) -> Any:
        call = getattr(self._store, method, None)
        if call is None:
            raise TypeError(f"{type(self._store).__name__} has no method `{method}`")
        return call

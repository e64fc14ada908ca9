"""`Store`, the base class of stores, whose methods are coroutines."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, TypeAlias, runtime_checkable

from omnizarr.compat.zarr.core.buffer.core import Buffer, BufferPrototype, default_buffer_prototype
from omnizarr.compat.zarr.core.sync import sync
from omnizarr.compat.zarr.errors import READ_ONLY

__all__ = [
    "ByteGetter",
    "ByteRequest",
    "ByteSetter",
    "OffsetByteRequest",
    "RangeByteRequest",
    "Store",
    "SuffixByteRequest",
    "SupportsDeleteSync",
    "SupportsGetSync",
    "SupportsSetSync",
    "SupportsSyncStore",
    "SyncByteGetter",
    "SyncByteSetter",
    "set_or_delete",
]


@dataclass(frozen=True, slots=True)
class RangeByteRequest:
    """The bytes from `start` to before `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class OffsetByteRequest:
    """The bytes from `offset` on."""

    offset: int


@dataclass(frozen=True, slots=True)
class SuffixByteRequest:
    """The last `suffix` bytes."""

    suffix: int


ByteRequest: TypeAlias = RangeByteRequest | OffsetByteRequest | SuffixByteRequest


def as_folder(prefix: str) -> str:
    """A prefix that is empty or ends in `/`."""
    return prefix if prefix == "" or prefix.endswith("/") else prefix + "/"


class Store(ABC):
    """Bytes under keys. A subclass defines the abstract methods; omnizarr's engine calls them on its own loop."""

    _read_only: bool
    _is_open: bool

    def __init__(self, *, read_only: bool = False) -> None:
        self._is_open = False
        self._read_only = read_only

    @classmethod
    async def open(cls, *args: Any, **kwargs: Any) -> Self:
        """Makes and opens a store."""
        store = cls(*args, **kwargs)
        await store._open()
        return store

    def with_read_only(self, read_only: bool = False) -> Store:
        """A store for the same location, with other rights."""
        raise NotImplementedError(f"with_read_only is not implemented for the {type(self)} store type.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _open(self) -> None:
        if self._is_open:
            raise ValueError("store is already open")
        self._is_open = True

    async def _ensure_open(self) -> None:
        if not self._is_open:
            await self._open()

    async def is_empty(self, prefix: str) -> bool:
        """Whether no key lies below `prefix`."""
        if not self.supports_listing:
            raise NotImplementedError
        async for _ in self.list_prefix(as_folder(prefix)):
            return False
        return True

    async def clear(self) -> None:
        """Removes all keys."""
        if not self.supports_deletes or not self.supports_listing:
            raise NotImplementedError
        self._check_writable()
        await self.delete_dir("")

    @property
    def read_only(self) -> bool:
        """Whether the store rejects writes."""
        return self._read_only

    def _check_writable(self) -> None:
        if self.read_only:
            raise ValueError(READ_ONLY)

    @abstractmethod
    def __eq__(self, value: object) -> bool: ...

    @abstractmethod
    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """The value of `key`, or a part of it; None if there is none."""

    async def _get_bytes(self, key: str = "", *, prototype: Any = None, byte_range: Any = None) -> bytes:
        buffer = await self.get(key, prototype or default_buffer_prototype(), byte_range)
        if buffer is None:
            raise FileNotFoundError(key)
        return buffer.to_bytes()

    def _get_bytes_sync(self, key: str = "", *, prototype: Any = None, byte_range: Any = None) -> bytes:
        return sync(self._get_bytes(key, prototype=prototype, byte_range=byte_range))

    async def _get_json(self, key: str = "", *, prototype: Any = None, byte_range: Any = None) -> Any:
        return json.loads(await self._get_bytes(key, prototype=prototype, byte_range=byte_range))

    def _get_json_sync(self, key: str = "", *, prototype: Any = None, byte_range: Any = None) -> Any:
        return sync(self._get_json(key, prototype=prototype, byte_range=byte_range))

    @abstractmethod
    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Parts of several values."""

    @abstractmethod
    async def exists(self, key: str) -> bool:
        """Whether there is such a key."""

    @property
    @abstractmethod
    def supports_writes(self) -> bool:
        """Whether `set` works."""

    @abstractmethod
    async def set(self, key: str, value: Buffer) -> None:
        """Sets the value of `key`."""

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Sets the value of `key`, if there is none."""
        if not await self.exists(key):
            await self.set(key, value)

    async def _set_many(self, values: Iterable[tuple[str, Buffer]]) -> None:
        await asyncio.gather(*(self.set(key, value) for key, value in values))

    @property
    def supports_consolidated_metadata(self) -> bool:
        """Whether consolidated metadata can be stored."""
        return True

    @property
    @abstractmethod
    def supports_deletes(self) -> bool:
        """Whether `delete` works."""

    @abstractmethod
    async def delete(self, key: str) -> None:
        """Removes `key`."""

    @property
    def supports_partial_writes(self) -> Literal[False]:
        """Whether parts of values can be set."""
        return False

    @property
    @abstractmethod
    def supports_listing(self) -> bool:
        """Whether the store can list its keys."""

    @abstractmethod
    def list(self) -> AsyncIterator[str]:
        """All keys."""

    @abstractmethod
    def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """All keys that begin with `prefix`."""

    @abstractmethod
    def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """The names of keys and folders directly below `prefix`."""

    async def delete_dir(self, prefix: str) -> None:
        """Removes all keys below `prefix`."""
        if not self.supports_deletes or not self.supports_listing:
            raise NotImplementedError
        self._check_writable()
        for key in [key async for key in self.list_prefix(as_folder(prefix))]:
            await self.delete(key)

    def close(self) -> None:
        """Closes the store."""
        self._is_open = False

    async def _get_many(self, requests: Iterable[Any]) -> AsyncGenerator[tuple[str, Buffer | None], None]:
        for request in requests:
            yield request[0], await self.get(*request)

    async def get_ranges(
        self, key: str, byte_ranges: Sequence[Any], *, prototype: Any, max_concurrency: int = 10, **_: Any
    ) -> AsyncGenerator[Sequence[tuple[int, Buffer | None]], None]:
        """Parts of a value, each with its number. An exception group has FileNotFoundError if there is no value."""
        if max_concurrency < 1:
            raise ValueError(f"max_concurrency must be at least 1, got {max_concurrency}")
        for start in range(0, len(byte_ranges), max_concurrency):
            part = byte_ranges[start : start + max_concurrency]
            try:
                buffers = await asyncio.gather(*(self.get(key, prototype, item) for item in part))
            except Exception as error:
                raise ExceptionGroup(f"cannot read {key}", [error]) from error
            if any(buffer is None for buffer in buffers):
                raise ExceptionGroup(f"cannot read {key}", [FileNotFoundError(key)])
            yield list(enumerate(buffers, start))

    def get_ranges_sync(
        self, key: str, byte_ranges: Sequence[Any], *, prototype: Any, **_: Any
    ) -> Sequence[tuple[int, Buffer | None]]:
        """`get_ranges` without a coroutine, for stores with `get_sync`."""
        if not isinstance(self, SupportsGetSync):
            raise TypeError(f"{type(self).__name__} does not support synchronous reads")
        buffers = [self.get_sync(key, prototype=prototype, byte_range=item) for item in byte_ranges]
        if any(buffer is None for buffer in buffers):
            raise ExceptionGroup(f"cannot read {key}", [FileNotFoundError(key)])
        return list(enumerate(buffers))

    async def getsize(self, key: str) -> int:
        """The length of the value of `key`."""
        value = await self.get(key, default_buffer_prototype())
        if value is None:
            raise FileNotFoundError(key)
        return len(value)

    async def getsize_prefix(self, prefix: str) -> int:
        """The length of all values below `prefix`."""
        return sum([await self.getsize(key) async for key in self.list_prefix(as_folder(prefix))])


@runtime_checkable
class ByteGetter(Protocol):
    """One value that can be read."""

    async def get(self, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None: ...


@runtime_checkable
class ByteSetter(Protocol):
    """One value that can be read and changed."""

    async def get(self, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None: ...
    async def set(self, value: Buffer) -> None: ...
    async def delete(self) -> None: ...
    async def set_if_not_exists(self, default: Buffer) -> None: ...


async def set_or_delete(byte_setter: ByteSetter, value: Buffer | None) -> None:
    """Sets a value, or removes it if `value` is None."""
    if value is None:
        await byte_setter.delete()
    else:
        await byte_setter.set(value)


@runtime_checkable
class SupportsGetSync(Protocol):
    """A store that also reads without coroutines."""

    def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Any: ...


@runtime_checkable
class SupportsSetSync(Protocol):
    """A store that also writes without coroutines."""

    def set_sync(self, key: str, value: Any) -> None: ...


@runtime_checkable
class SupportsDeleteSync(Protocol):
    """A store that also deletes without coroutines."""

    def delete_sync(self, key: str) -> None: ...


@runtime_checkable
class SupportsSyncStore(SupportsGetSync, SupportsSetSync, SupportsDeleteSync, Protocol):
    """A store that does all of it without coroutines."""


@runtime_checkable
class SyncByteGetter(Protocol):
    """One value that can be read without coroutines."""

    def get_sync(self, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None) -> Any: ...


@runtime_checkable
class SyncByteSetter(SyncByteGetter, Protocol):
    """One value that can be read and changed without coroutines."""

    def set_sync(self, value: Any) -> None: ...
    def delete_sync(self) -> None: ...

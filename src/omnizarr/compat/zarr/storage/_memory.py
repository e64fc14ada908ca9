"""`MemoryStore`: a dict of buffers."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from functools import cached_property
from typing import Any, Self

from omnizarr import store as own
from omnizarr.compat.zarr.core.buffer.core import Buffer, CpuBuffer
from omnizarr.compat.zarr.storage._base import EngineBackedStore, check_buffer
from omnizarr.store.memory import MemoryStore as OwnMemoryStore

__all__ = ["GpuMemoryStore", "MemoryStore"]


class _Values(MutableMapping[str, bytes]):
    """A dict of buffers as a mapping of bytes."""

    def __init__(self, buffers: MutableMapping[str, Buffer]) -> None:
        self._buffers = buffers

    def __getitem__(self, key: str) -> bytes:
        return self._bytes(self._buffers[key])

    @staticmethod
    def _bytes(value: Any) -> bytes:
        # `set` keeps the bytes object below the array, so that most values are not copied.
        if not isinstance(value, Buffer):
            return bytes(value)
        base = getattr(value.as_array_like(), "base", None)
        return base if type(base) is bytes and len(base) == len(value) else value.to_bytes()

    def get(self, key: str, default: Any = None) -> Any:
        value = self._buffers.get(key)
        return default if value is None else self._bytes(value)

    def __setitem__(self, key: str, value: bytes) -> None:
        self._buffers[key] = CpuBuffer.from_bytes(value)

    def __delitem__(self, key: str) -> None:
        del self._buffers[key]

    def __contains__(self, key: object) -> bool:
        return key in self._buffers

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)


class _EngineMemory(OwnMemoryStore, keeps_capabilities=True):
    """The engine's store on a dict of buffers. A pickle holds the data; its copy can be written."""

    def __init__(self, buffers: Any, read_only: bool) -> None:
        super().__init__(_Values(buffers), read_only=read_only)  # type: ignore[arg-type]
        self._buffers = buffers
        self._name = f"dict-{id(buffers):x}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _EngineMemory) and other._buffers is self._buffers

    def __hash__(self) -> int:
        return id(self._buffers)

    def __reduce__(self) -> Any:
        return _EngineMemory, (self._buffers, self._read_only)


class MemoryStore(EngineBackedStore):
    """Buffers under keys, in a dict."""

    def __init__(self, store_dict: MutableMapping[str, Buffer] | None = None, *, read_only: bool = False) -> None:
        super().__init__(read_only=read_only)
        self._store_dict: MutableMapping[str, Buffer] = {} if store_dict is None else store_dict

    @cached_property
    def inner(self) -> own.Store:
        return _EngineMemory(self._store_dict, self._read_only)

    def with_read_only(self, read_only: bool = False) -> Self:
        return type(self)(store_dict=self._store_dict, read_only=read_only)

    async def set(self, key: str, value: Buffer, byte_range: Any = None) -> None:
        self._check_writable()
        await self._ensure_open()
        if not isinstance(key, str):
            raise TypeError(f"key must be a str, got {type(key)}")
        check_buffer(self, value)
        if byte_range is not None:
            changed = self._store_dict[key]
            changed[byte_range[0] : byte_range[1]] = value
            value = changed
        self._store_dict[key] = value

    def set_sync(self, key: str, value: Buffer) -> None:
        self._check_writable()
        self._store_dict[key] = value

    async def clear(self) -> None:
        self._check_writable()
        self._store_dict.clear()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "inner"}

    def __str__(self) -> str:
        return f"memory://{id(self._store_dict)}"

    def __repr__(self) -> str:
        return f"MemoryStore('{self}')"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, type(self))
            and self._store_dict == other._store_dict
            and self.read_only == other.read_only
        )

    __hash__ = None  # type: ignore[assignment]


MemoryStore._verbs_of = MemoryStore


class GpuMemoryStore(MemoryStore):
    """Not available: omnizarr has no GPU support."""

    def __init__(self, store_dict: Any = None, *, read_only: bool = False) -> None:
        raise NotImplementedError("omnizarr has no GPU support")

"""`MemoryStore`: a dict of buffers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, MutableMapping
from typing import Any, Self
from weakref import ref

from omnizarr import store as own
from omnizarr._cached_property import cached_property
from omnizarr.compat.zarr.core.buffer.core import Buffer, CpuBuffer
from omnizarr.compat.zarr.storage._base import EngineBackedStore, check_buffer
from omnizarr.compat.zarr.storage._utils import normalize_path
from omnizarr.store.memory import MemoryStore as OwnMemoryStore

__all__ = ["GpuMemoryStore", "ManagedMemoryStore", "MemoryStore"]


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


class _NamedDict(dict[str, Buffer]):
    """A dict that weak references can name."""

    __slots__ = ("__weakref__",)


_named: dict[str, ref[_NamedDict]] = {}  # a WeakValueDictionary would run Python code when a dict is deleted
_numbers = itertools.count()


def _find_named(name: str) -> _NamedDict | None:
    reference = _named.get(name)
    return None if reference is None else reference()


def _create_named(name: str) -> _NamedDict:
    for other in [other for other, reference in _named.items() if reference() is None]:
        _named.pop(other, None)
    buffers = _NamedDict()
    stored = _named.setdefault(name, ref(buffers))()  # another thread may have been first
    return buffers if stored is None else stored


class _Below(MutableMapping[str, Buffer]):
    """The part of a dict whose keys begin with a prefix."""

    def __init__(self, buffers: MutableMapping[str, Buffer], prefix: str) -> None:
        self._buffers, self._prefix = buffers, prefix

    def __getitem__(self, key: str) -> Buffer:
        return self._buffers[self._prefix + key]

    def __setitem__(self, key: str, value: Buffer) -> None:
        self._buffers[self._prefix + key] = value

    def __delitem__(self, key: str) -> None:
        del self._buffers[self._prefix + key]

    def __iter__(self) -> Iterator[str]:
        length = len(self._prefix)
        return iter([key[length:] for key in list(self._buffers) if key.startswith(self._prefix)])

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ManagedMemoryStore(MemoryStore):
    """Buffers in a dict with a name: all stores of one name share it, as long as one of them exists."""

    def __init__(self, name: str | None = None, *, path: str = "", read_only: bool = False) -> None:
        self._name = f"{next(_numbers)}" if name is None else name
        if "/" in self._name:
            raise ValueError(f"Store name {self._name!r} must not contain '/'.")
        named = _find_named(self._name)
        self._all = _create_named(self._name) if named is None else named
        self.path = normalize_path(path)
        super().__init__(_Below(self._all, f"{self.path}/") if self.path else self._all, read_only=read_only)

    @property
    def name(self) -> str:
        """The name of the dict."""
        return self._name

    @classmethod
    def from_url(cls, url: str, *, read_only: bool = False) -> Self:
        """The store of a URL such as `memory://name/path`. ValueError if there is no dict of this name."""
        scheme, _, rest = url.partition("://")
        if scheme != "memory":
            raise ValueError(f"Expected a 'memory://' URL, got scheme {scheme!r} in '{url}'.")
        name, _, path = rest.partition("/")
        if _find_named(name) is None:
            raise ValueError(f"Memory store not found for URL '{url}'. The store may have been garbage collected.")
        return cls(name, path=path, read_only=read_only)

    def with_read_only(self, read_only: bool = False) -> Self:
        return type(self)(self._name, path=self.path, read_only=read_only)

    def __reduce__(self) -> Any:
        raise TypeError("a ManagedMemoryStore belongs to its process, and cannot be pickled")

    def __str__(self) -> str:
        return f"memory://{self._name}" + (f"/{self.path}" if self.path else "")

    def __repr__(self) -> str:
        return f"ManagedMemoryStore('{self}')"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ManagedMemoryStore)
            and self._all is other._all
            and self.path == other.path
            and self.read_only == other.read_only
        )

    __hash__ = None


class GpuMemoryStore(MemoryStore):
    """Not available: omnizarr has no GPU support."""

    def __init__(self, store_dict: Any = None, *, read_only: bool = False) -> None:
        raise NotImplementedError("omnizarr has no GPU support")

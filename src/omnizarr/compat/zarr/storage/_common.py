"""`StorePath`, a store and a path in it, and the stores of what users give: paths, URLs, dicts, …"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self, TypeAlias, cast

from omnizarr.compat.zarr.abc.store import Store
from omnizarr.compat.zarr.core.buffer.core import Buffer, default_buffer_prototype
from omnizarr.compat.zarr.core.common import ANY_ACCESS_MODE, ZARR_JSON, ZARRAY_JSON, ZGROUP_JSON
from omnizarr.compat.zarr.core.sync import sync
from omnizarr.compat.zarr.storage._local import LocalStore
from omnizarr.compat.zarr.storage._memory import MemoryStore
from omnizarr.compat.zarr.storage._utils import normalize_path

__all__ = ["StoreLike", "StorePath", "contains_array", "contains_group", "make_store", "make_store_path"]


class StorePath:
    """A path in a store."""

    store: Store
    path: str

    def __init__(self, store: Store, path: str = "") -> None:
        self.store = store
        self.path = normalize_path(path)

    @property
    def read_only(self) -> bool:
        """Whether the store rejects writes."""
        return self.store.read_only

    @classmethod
    async def open(cls, store: Store, path: str, mode: str | None = None) -> Self:
        """Opens the store for a mode; `w` removes everything below the path."""
        self = cls(store_for_mode(store, mode), path)
        await self.store._ensure_open()
        if mode == "w-" and not await self.is_empty():
            raise FileExistsError(
                f"Cannot create '{path}' with mode 'w-' because it already contains data. "
                f"Use mode 'w' to overwrite or 'a' to append."
            )
        if mode == "w":
            await self.delete_dir()
        return self

    async def get(self, prototype: Any = None, byte_range: Any = None) -> Buffer | None:
        """The value at this path."""
        return await self.store.get(self.path, prototype or default_buffer_prototype(), byte_range)

    async def set(self, value: Buffer) -> None:
        """Sets the value at this path."""
        await self.store.set(self.path, value)

    async def delete(self) -> None:
        """Removes the value at this path."""
        await self.store.delete(self.path)

    async def delete_dir(self) -> None:
        """Removes all values below this path."""
        await self.store.delete_dir(self.path)

    async def set_if_not_exists(self, default: Buffer) -> None:
        """Sets the value at this path, if there is none."""
        await self.store.set_if_not_exists(self.path, default)

    async def exists(self) -> bool:
        """Whether there is a value at this path."""
        return await self.store.exists(self.path)

    async def is_empty(self) -> bool:
        """Whether there is no value below this path."""
        return await self.store.is_empty(self.path)

    def get_sync(self, prototype: Any = None, byte_range: Any = None) -> Buffer | None:
        """The value at this path, without a coroutine."""
        return cast(Any, self.store).get_sync(self.path, prototype=prototype, byte_range=byte_range)  # type: ignore[no-any-return]

    def set_sync(self, value: Buffer) -> None:
        """Sets the value at this path, without a coroutine."""
        cast(Any, self.store).set_sync(self.path, value)

    def delete_sync(self) -> None:
        """Removes the value at this path, without a coroutine."""
        cast(Any, self.store).delete_sync(self.path)

    def __truediv__(self, other: str) -> StorePath:
        return self.__class__(self.store, f"{self.path}/{other}")

    def __str__(self) -> str:
        return f"{str(self.store).rstrip('/')}/{self.path}".rstrip("/")

    def __repr__(self) -> str:
        return f"StorePath({self.store.__class__.__name__}, '{self}')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorePath) and bool(self.store == other.store) and self.path == other.path

    __hash__ = None  # type: ignore[assignment]


StoreLike: TypeAlias = Any


def store_for_mode(store: Store, mode: str | None) -> Store:
    """The store with the rights that a mode asks for."""
    if mode is None:
        return store
    if mode not in ANY_ACCESS_MODE:
        raise ValueError(f"Invalid mode: {mode}, expected one of {ANY_ACCESS_MODE}")
    if store.read_only:
        if mode != "r":
            raise ValueError(f"Store is read-only but mode is {mode!r}. Create a writable store or use 'r' mode.")
    elif mode == "r":
        try:
            return store.with_read_only(True)
        except NotImplementedError as error:
            raise ValueError(
                "Store is not read-only but mode is 'r'. Unable to create a read-only copy of the store. "
                "Please use a read-only store or a storage class that implements .with_read_only()."
            ) from error
    return store


def _is_url(text: str) -> bool:
    return "://" in text or ("::" in text and "://" not in text.partition("::")[0])


def store_of(like: Any, mode: str | None = None, storage_options: dict[str, Any] | None = None) -> Store:
    """The store of what a user gives."""
    is_url = isinstance(like, str) and _is_url(like) and not like.startswith("file://")
    if storage_options is not None and not (isinstance(like, str) and _is_url(like)):
        raise TypeError(
            "'storage_options' was provided but unused. "
            "'storage_options' is only used when the store is passed as an FSSpec URI string."
        )
    read_only = mode == "r"
    if isinstance(like, StorePath):
        return like.store
    if isinstance(like, Store):
        return like
    if like is None:
        return MemoryStore(read_only=read_only)
    if isinstance(like, dict):
        return MemoryStore(like, read_only=read_only)
    if is_url:
        from omnizarr.compat.zarr.storage._remote import FsspecStore  # lazy import: remote stores only

        return FsspecStore.from_url(like, storage_options=storage_options, read_only=read_only)
    if isinstance(like, str) and like.startswith("file://"):
        from omnizarr import store as own

        return LocalStore(Path(own.LocalStore.from_url(like).location), read_only=read_only)
    if isinstance(like, (str, Path)):
        path = Path(like)
        if path.suffix == ".zip" and path.is_file():
            from omnizarr.compat.zarr.storage._zip import ZipStore  # lazy import: archives only

            return ZipStore(path, mode="r" if read_only else "a")
        return LocalStore(path, read_only=read_only)
    if type(like).__module__ == "fsspec.mapping":
        from omnizarr.compat.zarr.storage._remote import FsspecStore

        return FsspecStore.from_mapper(like, read_only=read_only)
    if hasattr(like, "fs") and hasattr(like, "path") and isinstance(like, os.PathLike):
        from omnizarr.compat.zarr.storage._remote import FsspecStore

        return FsspecStore.from_upath(like, read_only=read_only)
    if type(like).__module__.partition(".")[0] == "obstore":
        from omnizarr.compat.zarr.storage._remote import ObjectStore

        return ObjectStore(like, read_only=read_only)
    raise TypeError(f"Unsupported type for store_like: '{type(like).__name__}'")


def store_path_of(
    like: Any, path: str | None = "", mode: str | None = None, storage_options: dict[str, Any] | None = None
) -> StorePath:
    """The path in the store of what a user gives, with the rights that `mode` asks for."""
    if mode is not None and mode not in ANY_ACCESS_MODE:
        raise ValueError(f"Invalid mode: {mode}, expected one of {ANY_ACCESS_MODE}")
    below = normalize_path(path)
    if type(like).__module__ == "fsspec.mapping":
        if path:
            raise ValueError(
                f"'path' was provided but is not used for FSMap store_like objects. Specify the path when creating the "
                f"FSMap instance instead. Got {like!r} and {path!r}."
            )
        if storage_options:
            raise ValueError(
                "'storage_options was provided but is not used for FSMap store_like objects. Specify the storage "
                "options when creating the FSMap instance instead."
            )
    store = store_for_mode(store_of(like, mode, storage_options), mode)
    if not store._is_open:
        _open(store)
    result = StorePath(store, like.path) if isinstance(like, StorePath) else StorePath(store)
    return result / below if below else result


def _open(store: Store) -> None:
    if type(store) is MemoryStore:
        store._is_open = True
    else:
        sync(store._ensure_open())


async def make_store(store_like: Any, *, mode: str | None = None, storage_options: Any = None) -> Store:
    """The store of what a user gives, open."""
    store = store_of(store_like, mode, storage_options)
    await store._ensure_open()
    return store


async def make_store_path(
    store_like: Any, *, path: str | None = "", mode: str | None = None, storage_options: Any = None
) -> StorePath:
    """The path in the store of what a user gives."""
    if isinstance(store_like, (Store, StorePath)) or store_like is None:
        result = StorePath(store_of(store_like, mode, storage_options))
        if isinstance(store_like, StorePath):
            result.path = store_like.path
        if path:
            result = result / normalize_path(path)
        return await StorePath.open(result.store, result.path, mode)
    store = await make_store(store_like, mode=mode, storage_options=storage_options)
    return await StorePath.open(store, normalize_path(path), mode)


async def contains_array(store_path: StorePath, zarr_format: Any) -> bool:
    """Whether there is an array at a path."""
    if zarr_format == 2:
        return await (store_path / ZARRAY_JSON).exists()
    return bool(await _node_type(store_path) == "array")


async def contains_group(store_path: StorePath, zarr_format: Any) -> bool:
    """Whether there is a group at a path."""
    if zarr_format == 2:
        return await (store_path / ZGROUP_JSON).exists()
    return bool(await _node_type(store_path) == "group")


async def _node_type(store_path: StorePath) -> Any:
    import json

    buffer = await (store_path / ZARR_JSON).get()
    try:
        return None if buffer is None else json.loads(buffer.to_bytes())["node_type"]
    except (ValueError, KeyError, TypeError):
        return None

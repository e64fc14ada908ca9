"""From what a user gives as a place — a path, a URL, a store, a dict — to a store."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

from omnizarr.errors import LocationError
from omnizarr.store import LocalStore, MemoryStore, Store

__all__ = ["StoreLike", "resolve"]

StoreLike: TypeAlias = Store | str | os.PathLike[str] | dict[str, Any] | None
"""A place: a store, a path, a URL, a dict that holds the bytes, or None for memory of its own."""

_memory: dict[str, MemoryStore] = {}  # `memory://name` means the same place wherever it is opened in this process


def resolve(store: StoreLike, storage_options: dict[str, Any] | None = None) -> Store:
    """The store that a user means."""
    if storage_options and not isinstance(store, str):
        raise LocationError("`storage_options` belong to a URL", hint="give them to the store itself")
    if store is None:
        return MemoryStore()
    if isinstance(store, Store):
        return store
    if isinstance(store, dict):
        return MemoryStore(store)
    if isinstance(store, (str, os.PathLike)):
        return _from_text(os.fspath(store), storage_options)
    raise LocationError(
        f"a {type(store).__name__} is not a place for arrays",
        hint="give a path, a URL such as `file:///data`, a store, or a dict",
    )


def _from_text(text: str, storage_options: dict[str, Any] | None) -> Store:
    scheme, separator, rest = text.partition("://")
    if not separator or "/" in scheme or len(scheme) < 2:  # a single letter is a drive of Windows
        if storage_options:
            raise LocationError("`storage_options` belong to a URL, and a path is none")
        if not text:
            raise LocationError("the path is empty")
        return LocalStore(text)
    if storage_options:
        raise LocationError(f"`{scheme}://` takes no `storage_options`: {', '.join(sorted(storage_options))}")
    if scheme == "file":
        return LocalStore.from_url(text)
    if scheme == "memory":
        return _memory.setdefault(rest, MemoryStore(name=rest))
    raise LocationError(
        f"`{scheme}://` is not a place that this release can reach", hint="use a path, `file://` or `memory://`"
    )

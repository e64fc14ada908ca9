"""Resolving a user's store argument (a path, a URL, a store, a dict, …) to a location: a store and a path in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

from omnizarr.errors import ArgumentError, LocationError, OmnizarrError
from omnizarr.formats import is_root, root_keys
from omnizarr.model import ZarrFormat, join_path, normal_path
from omnizarr.nodes.metadata.documents import document_values, parse_documents
from omnizarr.nodes.metadata.enclosing_dialect import dialects_along
from omnizarr.store import LocalStore, Store
from omnizarr.store.address.parse import Location, locate

__all__ = ["Location", "StoreLike", "file_hint", "hierarchy_above", "new_location", "resolve"]

StoreLike: TypeAlias = Store | str | os.PathLike[str] | Mapping[str, Any] | Any | None
"""A store, a path, a URL, a dict or another mapping that holds the bytes, a store of zarr-python 3, fsspec or obstore,
or None for a new store in memory."""


def is_zarr_python_store(store: object) -> bool:
    """Whether an object is a store of zarr-python, without importing zarr-python, which may not be installed."""
    return any((kind.__module__, kind.__name__) == ("zarr.abc.store", "Store") for kind in type(store).__mro__)


def _wrap_foreign(store: Any) -> Store | None:
    """The store for an object of zarr-python, fsspec, obstore or the obspec protocol, or any mapping; else None."""
    kind = type(store)
    if is_zarr_python_store(store):
        from omnizarr.store import ZarrPythonStore

        return ZarrPythonStore(store)
    of_obstore = kind.__module__.partition(".")[0] == "obstore" or hasattr(store, "__getnewargs_ex__")
    if of_obstore and kind.__name__ == "LocalStore" and getattr(store, "prefix", None) is not None:
        return LocalStore(store.prefix)
    if kind.__module__ == "fsspec.mapping":
        from omnizarr.store import FsspecStore

        return FsspecStore(store.fs, store.root)
    if all(callable(getattr(kind, name, None)) for name in ("cat_file", "pipe_file", "_strip_protocol")):
        from omnizarr.store import FsspecStore

        return FsspecStore(store)
    if all(callable(getattr(kind, name, None)) for name in ("get", "head", "list_with_delimiter")):
        from omnizarr.store import ObjectStore  # lazy import: remote stores only

        return ObjectStore(store)
    if isinstance(store, Mapping):
        from omnizarr.store import MappingStore

        return MappingStore(store)
    return None


def resolve(store: StoreLike, storage_options: dict[str, Any] | None = None, path: str = "") -> Location:
    """The location of `path` in what the user gives as store, which may be an address with a path of its own."""
    if storage_options is not None and not isinstance(storage_options, Mapping):
        raise ArgumentError(
            f"`storage_options`: expected a dict, found {type(storage_options).__name__}", argument="storage_options"
        )
    if storage_options and not isinstance(store, str):
        raise LocationError(
            f"`storage_options`: expected a URL to go with them, found {type(store).__name__}",
            hint="give the options to the store itself",
        )
    if isinstance(store, Store):
        return Location(store, path)
    if store is None or isinstance(store, dict):
        from omnizarr.store import MemoryStore  # lazy import: most programs use files

        return Location(MemoryStore(store), path)
    if isinstance(store, (str, os.PathLike)):
        location = locate(os.fspath(store), storage_options)
        return Location(location.store, join_path(normal_path(location.path), path))
    inner_path = getattr(store, "path", None)
    inner = getattr(store, "store", None)
    if isinstance(inner_path, str) and is_zarr_python_store(inner):  # a `StorePath` of zarr-python
        return resolve(inner, path=join_path(normal_path(inner_path), path))
    wrapped = _wrap_foreign(store)
    if wrapped is not None:
        return Location(wrapped, path)
    raise LocationError(
        f"an object of type `{type(store).__name__}` is not a store",
        hint="give a path, a URL such as `file:///data`, a store, or a dict",
    )


def file_hint(store: Store) -> str | None:
    """A hint for the path of a file where a directory is expected."""
    if not isinstance(store, LocalStore) or not os.path.isfile(store.location):
        return None
    try:
        with open(store.location, "rb") as file:
            start = file.read(16)
    except OSError:
        return None
    for signature, container in ((b"PK", "zip"), (b"SQLite format 3\0", "sqlite"), (b"{", "reference")):
        if start.startswith(signature):
            return f"it is a file, probably of the kind {container}: open `{container}::{store.location}`"
    return "it is a file, but not an archive of a known kind"


_MOST_LEVELS = 16  # to search upwards; hierarchies are not deeper, and every level costs a request


def hierarchy_above(store: Store, path: str) -> Location | None:
    """The location of `path` in the nearest hierarchy of a draft or of N5 whose root lies above the root of `store`.

    None if there is none, or if the store cannot be read above its root.
    """
    for _ in range(_MOST_LEVELS):
        parent = store.parent()
        if parent is None:
            return None
        store, name = parent
        path = f"{name}/{path}" if path else name
        try:
            root = is_root(parse_documents(store, document_values(store, root_keys())))
            if root is not None:
                return Location(store, path) if root else None
        except OmnizarrError:
            return None
    return None


def new_location(store_like: StoreLike, store: Store, path: str, zarr_format: ZarrFormat | None) -> Location:
    """The location for a new node at `path` of `store`, to which `store_like` was resolved.

    An address inside a hierarchy of a draft or of N5 leads into that hierarchy, where opening the address finds the
    node. This holds for text only: the root of a store object is final. It does not hold if the user names another
    generation or if a node exists already.
    """
    if not isinstance(store_like, (str, os.PathLike)) or zarr_format in (1, 2, 3) or dialects_along(store, path):
        return Location(store, path)
    return hierarchy_above(store, path) or Location(store, path)

"""From what a user gives as a place — a path, a URL, a store, a dict — to a store and a path in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

from omnizarr.errors import LocationError, OmnizarrError
from omnizarr.formats import is_entry_point
from omnizarr.model import ZarrFormat, join_path, normal_path
from omnizarr.nodes.metadata.documents import document_values, parse_documents
from omnizarr.nodes.metadata.enclosing_dialect import dialects_along
from omnizarr.store import LocalStore, MemoryStore, Store
from omnizarr.store.address.parse import Location, locate

__all__ = ["Location", "StoreLike", "file_hint", "hierarchy_above", "new_place", "resolve"]

StoreLike: TypeAlias = Store | str | os.PathLike[str] | Mapping[str, Any] | Any | None
"""A place: a store, a path, a URL, a dict or another mapping that holds the bytes, a store of zarr-python 3 or obstore,
or None for memory of its own."""


def is_zarr_python_store(place: object) -> bool:
    """Whether it is one, without a look at a library that may not be installed."""
    return any((kind.__module__, kind.__name__) == ("zarr.abc.store", "Store") for kind in type(place).__mro__)


def _of_another_library(place: Any) -> Store | None:
    """The store that an object of another library is a place for: of zarr-python, fsspec, obstore, the protocol obspec,
    or any mapping."""
    kind = type(place)
    if is_zarr_python_store(place):
        from omnizarr.store import ZarrPythonStore

        return ZarrPythonStore(place)
    of_obstore = kind.__module__.partition(".")[0] == "obstore" or hasattr(place, "__getnewargs_ex__")
    if of_obstore and kind.__name__ == "LocalStore" and getattr(place, "prefix", None) is not None:
        return LocalStore(place.prefix)
    if kind.__module__ == "fsspec.mapping":
        from omnizarr.store import FsspecStore

        return FsspecStore(place.fs, place.root)
    if all(callable(getattr(kind, name, None)) for name in ("cat_file", "pipe_file", "_strip_protocol")):
        from omnizarr.store import FsspecStore

        return FsspecStore(place)
    if all(callable(getattr(kind, name, None)) for name in ("get", "head", "list_with_delimiter")):
        from omnizarr.store import ObjectStore  # which few need

        return ObjectStore(place)
    if isinstance(place, Mapping):
        from omnizarr.store import MappingStore

        return MappingStore(place)
    return None


def resolve(store: StoreLike, storage_options: dict[str, Any] | None = None, path: str = "") -> Location:
    """The store that a user means, and where in it: at `path`, below what an address says itself."""
    if storage_options and not isinstance(store, str):
        raise LocationError("`storage_options` belong to a URL", hint="give them to the store itself")
    if store is None:
        return Location(MemoryStore(), path)
    if isinstance(store, Store):
        return Location(store, path)
    if isinstance(store, dict):
        return Location(MemoryStore(store), path)
    if isinstance(store, (str, os.PathLike)):
        found = locate(os.fspath(store), storage_options)
        return Location(found.store, join_path(normal_path(found.path), path))
    below = getattr(store, "path", None)
    if isinstance(below, str) and is_zarr_python_store(theirs := getattr(store, "store", None)):  # their `StorePath`
        return resolve(theirs, path=join_path(normal_path(below), path))
    found_elsewhere = _of_another_library(store)
    if found_elsewhere is not None:
        return Location(found_elsewhere, path)
    raise LocationError(
        f"an object of type `{type(store).__name__}` is not a place for arrays",
        hint="give a path, a URL such as `file:///data`, a store, or a dict",
    )


def file_hint(store: Store) -> str | None:
    """What to try where a folder was meant and a file is."""
    if not isinstance(store, LocalStore) or not os.path.isfile(store.location):
        return None
    try:
        with open(store.location, "rb") as file:
            start = file.read(16)
    except OSError:
        return None
    for sign, container in ((b"PK", "zip"), (b"SQLite format 3\0", "sqlite"), (b"{", "reference")):
        if start.startswith(sign):
            return f"it is a file; if it is what it looks like, open `{container}::{store.location}`"
    return "it is a file, and no array or group is kept in a file of this kind"


_MOST_LEVELS = 16  # upwards; hierarchies are not that deep, and every level costs a look


def hierarchy_above(store: Store, path: str) -> tuple[Store, str] | None:
    """The store whose root is the nearest hierarchy of a draft above the root of `store`, and the path in it at which
    `path` lies; None if there is none, or if the store cannot look above its root."""
    for _ in range(_MOST_LEVELS):
        found = store.parent()
        if found is None:
            return None
        store, name = found
        path = f"{name}/{path}" if path else name
        try:
            document = parse_documents(store, document_values(store, ["zarr.json"])).get("zarr.json")
            if document is not None:
                return (store, path) if is_entry_point(document) else None
        except OmnizarrError:
            return None
    return None


def new_place(place: StoreLike, store: Store, path: str, zarr_format: ZarrFormat | None) -> tuple[Store, str]:
    """Where something new is created that a user asks for at `path` of the `store` that `place` means: in the hierarchy
    of a draft around it, where what is opened by that name would be found. Only what was given as text may lead above
    its own root: whoever made a store chose where it ends. Who names another generation begins something else."""
    if not isinstance(place, (str, os.PathLike)) or zarr_format in (1, 2, 3) or dialects_along(store, path):
        return store, path
    return hierarchy_above(store, path) or (store, path)

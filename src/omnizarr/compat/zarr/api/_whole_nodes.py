"""Functions on whole nodes: save, load, consolidate, …"""

from __future__ import annotations

import warnings
from typing import Any

import omnizarr
from omnizarr.compat.zarr.api._new_arrays import create, open
from omnizarr.compat.zarr.api._open_nodes import parse_format
from omnizarr.compat.zarr.core import create as nodes
from omnizarr.compat.zarr.core import sync_group
from omnizarr.compat.zarr.core.array import Array
from omnizarr.compat.zarr.core.common import default_format
from omnizarr.compat.zarr.core.group import Group
from omnizarr.compat.zarr.errors import (
    ZarrDeprecationWarning,
    ZarrUserWarning,
    translated,
)
from omnizarr.compat.zarr.storage._common import store_path_of
from omnizarr.compat.zarr.storage._engine import engine_store

__all__ = [
    "consolidate_metadata",
    "copy",
    "copy_all",
    "copy_store",
    "create_hierarchy",
    "load",
    "save",
    "save_array",
    "save_group",
    "tree",
]


@translated
def save_array(
    store: Any,
    arr: Any,
    *,
    zarr_version: Any = None,
    zarr_format: Any = None,
    path: str | None = None,
    storage_options: Any = None,
    **kwargs: Any,
) -> None:
    """Saves an array."""
    zarr_format = parse_format(zarr_version, zarr_format) or default_format()
    if not (hasattr(arr, "shape") and hasattr(arr, "dtype") and hasattr(arr, "__array__")):
        raise TypeError("arr argument must be numpy or other NDArrayLike array")
    mode = kwargs.pop("mode", "a")
    overwrite = kwargs.pop("overwrite", None) or mode == "w"
    place = store_path_of(store, path, mode, storage_options)
    chunks = getattr(arr, "chunks", None)
    result = create(
        store=place,
        shape=arr.shape,
        dtype=arr.dtype,
        chunks=chunks,
        overwrite=overwrite,
        zarr_format=zarr_format,
        **kwargs,
    )
    result[...] = arr


@translated
def save_group(
    store: Any,
    *args: Any,
    zarr_version: Any = None,
    zarr_format: Any = None,
    path: str | None = None,
    storage_options: Any = None,
    **kwargs: Any,
) -> None:
    """Saves several arrays to a group."""
    place = store_path_of(store, path, "w", storage_options)
    zarr_format = parse_format(zarr_version, zarr_format) or default_format()
    named = {f"arr_{index}": arr for index, arr in enumerate(args)} | kwargs
    for name, arr in named.items():
        if not (hasattr(arr, "shape") and hasattr(arr, "dtype")):
            if name in kwargs:
                raise TypeError(f"Keyword argument '{name}' must be a numpy or other NDArrayLike array")
            raise TypeError(
                "All arguments must be numpy or other NDArrayLike arrays "
                "(except store, path, storage_options, and zarr_format)"
            )
    if not named:
        raise ValueError("at least one array must be provided")
    nodes.create_group_handle(place, zarr_format, overwrite=True)
    for name, arr in named.items():
        save_array(place, arr, zarr_format=zarr_format, path=name)


def save(
    store: Any, *args: Any, zarr_version: Any = None, zarr_format: Any = None, path: Any = None, **kw: Any
) -> None:
    """Saves an array, or several to a group."""
    zarr_format = parse_format(zarr_version, zarr_format)
    if not args and not kw:
        raise ValueError("at least one array must be provided")
    if len(args) == 1 and not kw:
        save_array(store, args[0], zarr_format=zarr_format, path=path)
    else:
        save_group(store, *args, zarr_format=zarr_format, path=path, **kw)


def load(store: Any, path: str | None = None, zarr_format: Any = None, zarr_version: Any = None) -> Any:
    """The elements of an array."""
    node = open(store, path=path, zarr_format=parse_format(zarr_version, zarr_format))
    if isinstance(node, Array):
        return node[...]
    raise NotImplementedError("loading groups not yet supported")


@translated
def consolidate_metadata(store: Any, path: str | None = None, zarr_format: Any = None) -> Group:
    """Stores copies of all documents below a group in one document."""
    place = store_path_of(store, path)
    if not place.store.supports_consolidated_metadata:
        name = type(place.store).__name__
        raise TypeError(f"The Zarr Store in use ({name}) doesn't support consolidated metadata")
    group = Group.open(place, zarr_format, False)
    place.store._check_writable()
    if group.zarr_format == 3 and group.nmembers():
        warnings.warn(
            "Consolidated metadata is currently not part in the Zarr format 3 specification. It may not be supported "
            "by other zarr implementations and may change in the future.",
            ZarrUserWarning,
            stacklevel=3,
        )
    handle = omnizarr.consolidate_metadata(engine_store(place.store), path=place.path, zarr_format=group.zarr_format)
    return Group._of(handle, place)


def tree(grp: Group, expand: Any = None, level: int | None = None) -> Any:
    """The hierarchy below a group, printable."""
    warnings.warn("Use Group.tree instead.", ZarrDeprecationWarning, stacklevel=2)
    return grp.tree(expand=expand, level=level)


def create_hierarchy(*, store: Any, nodes: dict[str, Any], overwrite: bool = False) -> Any:
    """Creates several nodes from their metadata."""
    yield from sync_group.create_hierarchy(store=store_path_of(store).store, nodes=nodes, overwrite=overwrite)


def copy(*args: Any, **kwargs: Any) -> Any:
    """Not implemented in zarr-python 3 either."""
    raise NotImplementedError


copy_all = copy_store = copy

"""Saving and loading whole arrays: `save`, `save_array`, `save_group` and `load`."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from omnizarr.api.create_nodes import create_array, create_group
from omnizarr.api.location import StoreLike
from omnizarr.api.open_nodes import open
from omnizarr.errors import ArgumentError, NodeNotFoundError
from omnizarr.model import ZarrFormat, normal_path
from omnizarr.nodes import Array, Group

__all__ = ["load", "save", "save_array", "save_group"]


def save_array(
    store: StoreLike,
    arr: npt.ArrayLike,
    *,
    path: str | None = None,
    zarr_format: ZarrFormat | None = 3,
    storage_options: dict[str, Any] | None = None,
    **options: Any,
) -> None:
    """Stores `arr` as an array, and replaces an array that exists; a group only with `overwrite=True`.

    The further options are those of `create_array`.
    """
    if "overwrite" not in options:
        options["overwrite"] = isinstance(_existing(store, path, storage_options), Array)
    create_array(store, name=path, data=arr, zarr_format=zarr_format, storage_options=storage_options, **options)


def _existing(store: StoreLike, path: str | None, storage_options: dict[str, Any] | None) -> Array | Group | None:
    try:
        return open(store, path=path, mode="r", storage_options=storage_options)
    except NodeNotFoundError:
        return None


def save_group(
    store: StoreLike,
    *args: npt.ArrayLike,
    path: str | None = None,
    zarr_format: ZarrFormat | None = 3,
    storage_options: dict[str, Any] | None = None,
    **kwargs: npt.ArrayLike,
) -> None:
    """Stores arrays in a new group: `args` as `arr_0`, `arr_1`, …, `kwargs` under their names.

    Replaces an array that exists, or a group with all its members.
    """
    arrays: dict[str, Any] = {f"arr_{number}": arr for number, arr in enumerate(args)} | kwargs
    if not arrays:
        raise ArgumentError("expected at least one array to save, found none", argument="args")
    exists = _existing(store, path, storage_options) is not None
    group = create_group(store, path=path, zarr_format=zarr_format, storage_options=storage_options, overwrite=exists)
    for name, arr in arrays.items():
        group.create_array(name, data=arr)


def save(
    store: StoreLike,
    *args: npt.ArrayLike,
    path: str | None = None,
    zarr_format: ZarrFormat | None = 3,
    storage_options: dict[str, Any] | None = None,
    **kwargs: npt.ArrayLike,
) -> None:
    """Stores one array like `save_array`, or several arrays like `save_group`.

    Example:
        >>> omnizarr.save("results.zarr", mean=[1.5, 2.5], count=[3, 4])
        >>> omnizarr.load("results.zarr")["count"]
        array([3, 4])
    """
    if len(args) == 1 and not kwargs:
        save_array(store, args[0], path=path, zarr_format=zarr_format, storage_options=storage_options)
    else:
        save_group(store, *args, path=path, zarr_format=zarr_format, storage_options=storage_options, **kwargs)


def load(
    store: StoreLike,
    path: str | None = None,
    *,
    zarr_format: ZarrFormat | None = None,
    storage_options: dict[str, Any] | None = None,
) -> Any:
    """The elements of an array as a NumPy array; for a group, a dict of those of its arrays by name."""
    node = open(store, path=normal_path(path), mode="r", zarr_format=zarr_format, storage_options=storage_options)
    if isinstance(node, Array):
        return node[...]
    assert isinstance(node, Group)
    return {name: array[...] for name, array in node.arrays()}

"""Shorter ways to make, save and load arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.api.creation import create_array, create_group
from omnizarr.api.location import StoreLike, resolve
from omnizarr.api.opening import open
from omnizarr.codecs import ArrayCodec, BytesCodec, Codec, Serializer, Transpose
from omnizarr.errors import ArgumentError, NodeNotFoundError
from omnizarr.model import ZarrFormat, normal_path
from omnizarr.nodes import Array, ArrayOptions, Group, takes_array_options
from omnizarr.nodes.lengths import as_lengths
from omnizarr.store import Store

__all__ = [
    "array",
    "create",
    "empty",
    "empty_like",
    "from_array",
    "full",
    "full_like",
    "load",
    "ones",
    "ones_like",
    "save",
    "save_array",
    "save_group",
    "zeros",
    "zeros_like",
]


@takes_array_options
def create(shape: Any = None, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """`create_array` with the shape first; float64 if no `dtype` is given."""
    if options.get("data") is None:
        options.setdefault("dtype", np.float64)
    if shape is not None:
        options["shape"] = shape
    return create_array(store, name=options.pop("name", path), **options)


@takes_array_options
def array(data: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """A new array that holds `data`."""
    return create_array(store, name=path, data=data, **options)


@takes_array_options
def from_array(
    store: StoreLike, *, data: Any, name: str | None = None, write_data: bool = True, **options: Any
) -> Array:
    """A new array like `data` (an omnizarr or a NumPy array, or anything like one), with its elements if `write_data`.

    What is not given is taken from `data`, if it is an omnizarr array: its chunks, codecs, fill value, attributes and
    dimension names. Elements are copied a row of stored chunks at a time."""
    if not hasattr(data, "shape") or not hasattr(data, "dtype"):
        data = np.asarray(data)
    if write_data and options.get("shape") is not None and as_lengths(options["shape"], "shape", least=0) != data.shape:
        raise ArgumentError(
            f"`shape`: `data` has the shape {tuple(data.shape)}; `write_data=False` makes an array of another",
            argument="shape",
        )
    place, where = resolve(store, options.pop("storage_options", None)), normal_path(name, "name")
    if isinstance(data, Array) and options.get("overwrite") and _holds(place, where, data):
        raise ArgumentError("`overwrite` would erase `data` before it is copied", argument="overwrite")
    made = create_array(place, name=where, **{**_like(data, options), **options})
    if write_data and made.size:
        if not made.shape:
            made[...] = data[...]
        else:
            stored = made.shards or made.chunks
            step = stored[0] if isinstance(stored[0], int) else 1
            for start in range(0, made.shape[0], step):
                made[start : start + step] = data[start : start + step]
    return made


def _holds(store: Store, path: str, array: Array) -> bool:
    """Whether an array lies at a place or below it."""
    return store.location == array.store.location and f"{array.path}/".startswith(f"{path}/" if path else "")


_CHUNKING = frozenset(["dtype", "chunks", "shards", "filters", "serializer", "compressors", "order"])


def _like(data: Any, changes: Mapping[str, Any]) -> ArrayOptions:
    """The options that make an array like `data`, but for `changes`."""
    if not isinstance(data, Array):
        return {"shape": data.shape, "dtype": data.dtype}
    model = data.metadata
    options: ArrayOptions = {
        "shape": data.shape,
        "dtype": data.data_type,
        "fill_value": model.fill,
        "attributes": model.attributes,
        "chunk_key_encoding": model.chunk_keys,
        "dimension_names": model.dimension_names,
    }
    if changes.keys() & _CHUNKING:
        # What the user changes is said of chunks, so the rest is, too.
        options["chunks"], options["shards"] = data.chunks, data.shards  # type: ignore[typeddict-item]
        codecs: tuple[Codec, ...] = (*data.filters, data.serializer, *data.compressors)
        if "order" in changes:
            codecs = tuple(codec for codec in codecs if not isinstance(codec, Transpose))
    else:
        options["chunks"] = model.grid.chunks  # type: ignore[typeddict-item]
        codecs = model.codecs
    options["filters"] = [codec for codec in codecs if isinstance(codec, ArrayCodec)]
    options["serializer"] = next(codec for codec in codecs if isinstance(codec, Serializer))
    options["compressors"] = [codec for codec in codecs if isinstance(codec, BytesCodec)]
    return options


def _filled(options: dict[str, Any], fill_value: Any) -> dict[str, Any]:
    """The options of an array that is all one value, which says itself what that is."""
    for name in ("data", "fill_value"):
        if name in options:
            raise ArgumentError(f"an array that is all one value takes no `{name}`", argument=name)
    return {**options, "fill_value": fill_value}


@takes_array_options(without=("data",))
def empty(shape: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """A new array whose elements nobody wrote: they are the fill value."""
    return create(shape, store=store, path=path, **options)


@takes_array_options(without=("data", "fill_value"))
def zeros(shape: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """A new array of zeros, which take no space."""
    return create(shape, store=store, path=path, **_filled(options, None))


@takes_array_options(without=("data", "fill_value"))
def ones(shape: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """A new array of ones, which take no space."""
    return create(shape, store=store, path=path, **_filled(options, 1))


@takes_array_options(without=("data",))
def full(shape: Any, fill_value: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """A new array of one value, which takes no space."""
    return create(shape, store=store, path=path, **_filled(options, fill_value))


@takes_array_options(without=("data",))
def empty_like(a: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """A new array with the shape, type, chunks and codecs of another, and none of its elements."""
    return from_array(store, data=a, name=path, write_data=False, **options)


@takes_array_options(without=("data", "fill_value"))
def zeros_like(a: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """A new array of zeros that is otherwise like another."""
    return empty_like(a, store=store, path=path, **_filled(options, None))


@takes_array_options(without=("data", "fill_value"))
def ones_like(a: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """A new array of ones that is otherwise like another."""
    return empty_like(a, store=store, path=path, **_filled(options, 1))


@takes_array_options(without=("data",))
def full_like(a: Any, fill_value: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """A new array of one value that is otherwise like another."""
    return empty_like(a, store=store, path=path, **_filled(options, fill_value))


def save_array(
    store: StoreLike,
    arr: npt.ArrayLike,
    *,
    path: str | None = None,
    zarr_format: ZarrFormat = 3,
    storage_options: dict[str, Any] | None = None,
    **options: Any,
) -> None:
    """Stores an array, in place of one that lies there. A group is replaced only if `overwrite=True` says so."""
    place = resolve(store, storage_options)
    options.setdefault("overwrite", isinstance(_existing(place, path), Array))
    create_array(place, name=path, data=arr, zarr_format=zarr_format, **options)


def _existing(store: Store, path: str | None) -> Array | Group | None:
    try:
        return open(store, path=path, mode="r")
    except NodeNotFoundError:
        return None


def save_group(
    store: StoreLike,
    *args: npt.ArrayLike,
    path: str | None = None,
    zarr_format: ZarrFormat = 3,
    storage_options: dict[str, Any] | None = None,
    **kwargs: npt.ArrayLike,
) -> None:
    """Stores arrays in a group: `args` as `arr_0`, `arr_1`, …, `kwargs` under their names. An array or a group that
    lies there is replaced, with all its members."""
    arrays: dict[str, Any] = {f"arr_{number}": arr for number, arr in enumerate(args)} | kwargs
    if not arrays:
        raise ArgumentError("there is no array to save", argument="args")
    place = resolve(store, storage_options)
    group = create_group(place, path=path, zarr_format=zarr_format, overwrite=_existing(place, path) is not None)
    for name, arr in arrays.items():
        group.create_array(name, data=arr)


def save(
    store: StoreLike,
    *args: npt.ArrayLike,
    path: str | None = None,
    zarr_format: ZarrFormat = 3,
    storage_options: dict[str, Any] | None = None,
    **kwargs: npt.ArrayLike,
) -> None:
    """Stores one array as `save_array` does, several as `save_group` does."""
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
    """The elements of an array, or a dict of those of a group's arrays."""
    node = open(store, path=normal_path(path), mode="r", zarr_format=zarr_format, storage_options=storage_options)
    if isinstance(node, Array):
        return node[...]
    assert isinstance(node, Group)
    return {name: array[...] for name, array in node.arrays()}

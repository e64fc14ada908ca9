"""Shorter ways to make, save and load arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json
from omnizarr.api.create_nodes import create_array, create_group
from omnizarr.api.location import StoreLike, resolve
from omnizarr.api.open_nodes import open
from omnizarr.codecs import ArrayCodec, BytesCodec, Codec, Serializer, Transpose
from omnizarr.dtypes import data_type_of
from omnizarr.errors import ArgumentError, NodeNotFoundError
from omnizarr.formats.document_fields import with_dimension_names_attribute
from omnizarr.model import ZarrFormat, normal_path
from omnizarr.nodes import Array, ArrayOptions, Group, takes_array_options
from omnizarr.nodes.create.chunk_shapes import as_lengths
from omnizarr.nodes.metadata.enclosing_dialect import enclosing_dialect
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

    What is not given is taken from `data`, if it is an omnizarr array: its generation, unless it comes into a hierarchy
    of another one, its chunks, codecs, fill value, attributes and dimension names. Elements are copied a row of stored
    chunks at a time."""
    options = {option: value for option, value in options.items() if not _kept(option, value)}
    if not hasattr(data, "shape") or not hasattr(data, "dtype"):
        data = np.asarray(data)
    if write_data and options.get("shape") is not None and as_lengths(options["shape"], "shape", least=0) != data.shape:
        raise ArgumentError(
            f"`shape`: `data` has the shape {tuple(data.shape)}; `write_data=False` makes an array of another",
            argument="shape",
        )
    place, where = resolve(store, options.pop("storage_options", None), normal_path(name, "name"))
    if isinstance(data, Array) and options.get("overwrite") and _holds(place, where, data):
        raise ArgumentError("`overwrite` would erase `data` before it is copied", argument="overwrite")
    if isinstance(data, Array) and options.get("zarr_format") is None:
        around = enclosing_dialect(place, where)
        options["zarr_format"] = data.zarr_format if around is None else around.zarr_format
    try:
        made = create_array(place, name=where, **{**_like(data, options), **options})
    except ArgumentError as error:
        if isinstance(data, Array) and data.zarr_format != options["zarr_format"] and error.hint is None:
            error.hint = 'give what it has another of, such as `compressors="auto"` for its usual ones'
        raise
    if write_data and made.size:
        if not made.shape:
            made[...] = data[...]
        else:
            rows = made.metadata.grid.axes(made.shape)[0]
            for start, size in map(rows.bounds, range(rows.count)):
                made[start : start + size] = data[start : start + size]
    return made


def _kept(option: str, value: Any) -> bool:
    """Whether an option says, as in zarr-python, that it is taken from `data`: here it is, if it is left out."""
    return (option in _CHUNKING and isinstance(value, str) and value == "keep") or (option == "order" and value is None)


def _holds(store: Store, path: str, array: Array) -> bool:
    """Whether an array lies at a place or below it; its store may begin further down than this one."""
    return _place(array.store, array.path).startswith(_place(store, path))


def _place(store: Store, path: str) -> str:
    return f"{store.location.rstrip('/')}/{path}".rstrip("/") + "/"


_CHUNKING = frozenset(["dtype", "chunks", "shards", "filters", "serializer", "compressors", "order"])


def _like(data: Any, changes: Mapping[str, Any]) -> ArrayOptions:
    """The options that make an array like `data`, but for `changes`."""
    if not isinstance(data, Array):
        return {"shape": data.shape, "dtype": data.dtype}
    model = data.metadata
    names, attributes = _names_apart(data)
    options: ArrayOptions = {
        "shape": data.shape,
        "dtype": data.data_type,
        "fill_value": model.fill,
        "attributes": attributes,
        "dimension_names": names,
        "storage_transformers": model.storage_transformers,
    }
    alike = changes["zarr_format"] == data.zarr_format
    if alike:
        options |= {"chunk_key_encoding": model.chunk_keys, "extensions": model.extensions, "fallback": model.fallback}
    if not alike or changes.keys() & _CHUNKING:
        # What the user changes is said of chunks, so the rest is, too.
        sharded = model.sharding is not None
        options["chunks"], options["shards"] = (data.chunks, model.grid) if sharded else (model.grid, None)
        codecs: tuple[Codec, ...] = (*data.filters, data.serializer, *data.compressors)
        if "order" in changes:
            codecs = tuple(codec for codec in codecs if not isinstance(codec, Transpose))
    else:
        options["chunks"] = model.grid
        codecs = model.codecs
    options["filters"] = [codec for codec in codecs if isinstance(codec, ArrayCodec)]
    serializer = next(codec for codec in codecs if isinstance(codec, Serializer))
    options["serializer"] = serializer if alike or not serializer.private else "auto"
    options["compressors"] = [codec for codec in codecs if isinstance(codec, BytesCodec)]
    return options


def _names_apart(array: Array) -> tuple[tuple[str | None, ...] | None, dict[str, Json]]:
    """The names of an array's dimensions, and its attributes without them: another generation keeps them elsewhere."""
    model, names = array.metadata, array.dimension_names
    if names is None or model.dimension_names is not None:
        return names, model.attributes
    kept = with_dimension_names_attribute(replace(model, dimension_names=names, attributes={})).attributes
    return names, {name: value for name, value in model.attributes.items() if name not in kept}


def _filled(options: dict[str, Any], fill_value: Any) -> dict[str, Any]:
    """The options of an array that is all one value, which says itself what that is."""
    for name in ("data", "fill_value"):
        if name in options:
            raise ArgumentError(f"an array that is all one value takes no `{name}`", argument=name)
    return {**options, "fill_value": fill_value}


def _zero(dtype: Any) -> Any:
    """What is zero in a type: for times not the default, which is no time at all."""
    if dtype is None:
        return None  # whoever creates the array says what is missing
    kind = data_type_of(dtype)
    return np.zeros((), kind.dtype) if kind.fixed_size else kind.default_fill()


@takes_array_options(without=("data",))
def empty(shape: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """A new array whose elements nobody wrote: they are the fill value."""
    return create(shape, store=store, path=path, **options)


@takes_array_options(without=("data", "fill_value"))
def zeros(shape: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """A new array of zeros, which take no space."""
    return create(shape, store=store, path=path, **_filled(options, _zero(options.get("dtype", np.float64))))


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
    like = a.data_type if isinstance(a, Array) else getattr(a, "dtype", None)
    return empty_like(a, store=store, path=path, **_filled(options, _zero(options.get("dtype", like))))


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
    zarr_format: ZarrFormat | None = 3,
    storage_options: dict[str, Any] | None = None,
    **options: Any,
) -> None:
    """Stores an array, in place of one that lies there. A group is replaced only if `overwrite=True` says so."""
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
    """Stores arrays in a group: `args` as `arr_0`, `arr_1`, …, `kwargs` under their names. An array or a group that
    lies there is replaced, with all its members."""
    arrays: dict[str, Any] = {f"arr_{number}": arr for number, arr in enumerate(args)} | kwargs
    if not arrays:
        raise ArgumentError("there is no array to save", argument="args")
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

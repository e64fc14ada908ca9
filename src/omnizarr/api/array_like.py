"""Creating arrays like another one: `from_array`, `empty_like`, `zeros_like`, `ones_like` and `full_like`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from omnizarr._json import Json
from omnizarr.api.create_nodes import create_array
from omnizarr.api.location import StoreLike, resolve
from omnizarr.api.new_arrays import with_fill_value, zero_of
from omnizarr.codecs import ArrayCodec, BytesCodec, Codec, Serializer, Transpose
from omnizarr.errors import ArgumentError, warn
from omnizarr.formats import dialect_for
from omnizarr.model import normal_path
from omnizarr.nodes import Array, ArrayOptions, check_flag, takes_array_options
from omnizarr.nodes.create.chunk_shapes import as_lengths
from omnizarr.nodes.metadata.enclosing_dialect import enclosing_dialect
from omnizarr.nodes.statistics.marker import remove_marker
from omnizarr.store import Store

__all__ = ["empty_like", "from_array", "full_like", "ones_like", "split_dimension_names", "zeros_like"]

_CHUNK_OPTIONS = frozenset(["dtype", "chunks", "shards", "filters", "serializer", "compressors", "order"])

_REMEDIES = {
    "dtype": "`dtype` (--dtype) gives the new array a type that this generation has",
    "extensions": "`extensions=None` leaves them out",
    "fallback": "`fallback=None` leaves it out",
    "compressors": 'give another value for this option, such as `compressors="auto"` for the default compressors',
}
"""Hints by argument, for an option of the source that the other generation cannot express."""


@takes_array_options
def from_array(
    store: StoreLike, *, data: Any, name: str | None = None, write_data: bool = True, **options: Any
) -> Array:
    """Creates an array like `data`, and copies the elements if `write_data`.

    `data` is an omnizarr array, a NumPy array, or an object like one. From an omnizarr array come all options that are
    not given: chunks, codecs, fill value, attributes, dimension names, and the generation, unless the new array lies in
    a hierarchy of another one. Elements are copied one row of chunks at a time, so memory use stays small.

    Example:
        >>> source = omnizarr.open_array("old.zarr", mode="r")
        >>> copy = omnizarr.from_array("new.zarr", data=source, compressors="zstd")
        >>> copy.shape == source.shape
        True
    """
    options = {option: value for option, value in options.items() if not _means_keep(option, value)}
    if not hasattr(data, "shape") or not hasattr(data, "dtype"):
        data = np.asarray(data)
    if write_data and options.get("shape") is not None and as_lengths(options["shape"], "shape", least=0) != data.shape:
        raise ArgumentError(
            f"`shape`: expected {tuple(data.shape)}, the shape of `data`, found {options['shape']!r}",
            argument="shape",
            hint="`write_data=False` creates an array of another shape",
        )
    target, path = resolve(store, options.pop("storage_options", None), normal_path(name, "name"))
    overwrite = options.get("overwrite", False)
    check_flag(overwrite, "overwrite")
    if isinstance(data, Array) and overwrite and _contains(target, path, data):
        raise ArgumentError("`overwrite` would erase `data` before it is copied", argument="overwrite")
    if isinstance(data, Array) and options.get("zarr_format") is None:
        enclosing = enclosing_dialect(target, path)
        options["zarr_format"] = data.zarr_format if enclosing is None else enclosing.zarr_format
    if options.get("zarr_format") is not None:
        dialect_for(options["zarr_format"])  # raises ArgumentError if there is none
    try:
        array = create_array(target, name=path, **{**_options_like(data, options), **options})
    except ArgumentError as error:
        if isinstance(data, Array) and data.zarr_format != options["zarr_format"] and error.hint is None:
            argument = "dtype" if "has no data type" in error.message else error.argument or ""
            error.hint = _REMEDIES.get(argument, _REMEDIES["compressors"])
        raise
    if (
        isinstance(data, Array)
        and "fill_value" not in options
        and data.metadata.fill is None is not array.metadata.fill
    ):
        warn(
            f"the fill value of {data!r} is undefined, and that of the copy is {array.fill_value!r}; give `fill_value` "
            "to choose it"
        )
    if isinstance(data, Array) and write_data:
        _warn_of_unknown_members(data)
    if write_data and array.size:
        if not array.shape:
            array[...] = data[...]
        else:
            axis = array.metadata.grid.axes(array.shape)[0]
            for start, size in map(axis.bounds, range(axis.count)):
                array[start : start + size] = data[start : start + size]
    return array


def _warn_of_unknown_members(source: Array) -> None:
    """Unknown members of a document are not copied: they may describe chunks or keys that the copy does not have."""
    members = source._context.dialect.unknown_members(source.metadata)
    if members:
        names = ", ".join(f"`{name}`" for name in members)
        warn(f"the copy of {source!r} lacks what omnizarr does not know in its metadata: {names}")


def _means_keep(option: str, value: Any) -> bool:
    """Whether a value says, as in zarr-python, that the option is taken from `data`, like one that is left out."""
    return (option in _CHUNK_OPTIONS and isinstance(value, str) and value == "keep") or (
        option == "order" and value is None
    )


def _contains(store: Store, path: str, array: Array) -> bool:
    """Whether an array lies at or below a location. Compares text, because its store may have another root."""
    return _text(array.store, array.path).startswith(_text(store, path))


def _text(store: Store, path: str) -> str:
    return f"{store.location.rstrip('/')}/{path}".rstrip("/") + "/"


def _options_like(data: Any, changes: Mapping[str, Any]) -> ArrayOptions:
    """The options of an array like `data`, except for those in `changes`."""
    if not isinstance(data, Array):
        return {"shape": data.shape, "dtype": data.dtype}
    model = data.metadata
    names, attributes = split_dimension_names(data)
    options: ArrayOptions = {
        "shape": data.shape,
        "dtype": data.data_type,
        "fill_value": model.fill,
        "attributes": attributes,
        "dimension_names": names,
        "storage_transformers": model.storage_transformers,
        "extensions": model.extensions,
        "fallback": model.fallback,
    }
    alike = changes["zarr_format"] == data.zarr_format
    if alike:
        options["chunk_key_encoding"] = model.chunk_keys
        options["conventions"] = data._context.dialect.conventions_of(model)
    if not alike or changes.keys() & _CHUNK_OPTIONS:
        # The user's options describe the (inner) chunk, so the other options must do so as well.
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


def split_dimension_names(array: Array) -> tuple[tuple[str | None, ...] | None, dict[str, Json]]:
    """The dimension names of an array, and its attributes without them: some generations store them as an attribute."""
    model, names = array.metadata, array.dimension_names
    if names is None or model.dimension_names is not None:
        return names, remove_marker(model).attributes
    stored = array._context.dialect.dimension_names_attributes
    return names, {name: value for name, value in remove_marker(model).attributes.items() if name not in stored}


@takes_array_options(without=("data",))
def empty_like(a: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """Creates an array with the shape, data type, chunks and codecs of `a`, without its elements."""
    return from_array(store, data=a, name=path, write_data=False, **options)


@takes_array_options(without=("data", "fill_value"))
def zeros_like(a: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """Creates an array of zeros that is otherwise like `a`."""
    dtype = a.data_type if isinstance(a, Array) else getattr(a, "dtype", None)
    return empty_like(a, store=store, path=path, **with_fill_value(options, zero_of(options.get("dtype", dtype))))


@takes_array_options(without=("data", "fill_value"))
def ones_like(a: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """Creates an array of ones that is otherwise like `a`."""
    return empty_like(a, store=store, path=path, **with_fill_value(options, 1))


@takes_array_options(without=("data",))
def full_like(a: Any, fill_value: Any, *, store: StoreLike = None, path: str | None = None, **options: Any) -> Array:
    """Creates an array whose elements all have the value `fill_value`, and that is otherwise like `a`."""
    return empty_like(a, store=store, path=path, **with_fill_value(options, fill_value))

"""Opening and creating arrays."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import omnizarr
from omnizarr.compat.zarr.abc.store import Store
from omnizarr.compat.zarr.api._open_nodes import check_w_minus, open_group, parse_format, warn_unused
from omnizarr.compat.zarr.core import create as nodes
from omnizarr.compat.zarr.core.array import Array
from omnizarr.compat.zarr.core.array_spec import parse_array_config
from omnizarr.compat.zarr.core.common import _warn_write_empty_chunks_kwarg, default_format
from omnizarr.compat.zarr.core.create import DEFAULT_FILL_VALUE
from omnizarr.compat.zarr.core.group import node_of
from omnizarr.compat.zarr.core.metadata import ArrayV2Metadata
from omnizarr.compat.zarr.core.metadata.chunk_grid import RectilinearChunkGridMetadata
from omnizarr.compat.zarr.core.new_array import like_create_array, new_array
from omnizarr.compat.zarr.errors import (
    ArrayNotFoundError,
    GroupNotFoundError,
    ZarrUserWarning,
    translated,
)
from omnizarr.compat.zarr.storage._common import StorePath, store_path_of

__all__ = [
    "array",
    "create",
    "create_array",
    "empty",
    "empty_like",
    "from_array",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "open",
    "open_array",
    "open_like",
    "zeros",
    "zeros_like",
]


@translated
def open(
    store: Any = None,
    *,
    mode: Any = None,
    zarr_version: Any = None,
    zarr_format: Any = None,
    path: str | None = None,
    storage_options: Any = None,
    **kwargs: Any,
) -> Any:
    """Opens an array or group; the modes that create do so if there is none."""
    zarr_format = parse_format(zarr_version, zarr_format)
    if mode is None:
        mode = "r" if isinstance(store, (Store, StorePath)) and store.read_only else "a"
    place = store_path_of(store, path, mode, storage_options)
    if "shape" in kwargs or mode in ("w", "w-"):
        if "shape" in kwargs:
            return open_array(place, zarr_format=zarr_format, mode=mode, **kwargs)
        _check_no_group_config(kwargs, place)
        return open_group(place, zarr_format=zarr_format, mode=mode, **kwargs)
    try:
        node = nodes.open_handle(place, None, zarr_format, kwargs.get("use_consolidated"))
    except GroupNotFoundError:
        _check_no_group_config(kwargs, place)
        return open_group(place, zarr_format=zarr_format, mode=mode, **kwargs)
    if isinstance(node, omnizarr.Array):
        return Array._of(node, place, kwargs.get("config"))
    _check_no_group_config(kwargs, place)
    return node_of(node, place, "")


def _check_no_group_config(options: dict[str, Any], place: StorePath) -> None:
    if options.get("config") is not None:
        raise TypeError(f"config is for arrays, but {place} resolves to a group.")


@translated
def open_array(
    store: Any = None,
    *,
    zarr_version: Any = None,
    zarr_format: Any = None,
    path: str | None = "",
    storage_options: Any = None,
    **kwargs: Any,
) -> Array:
    """Opens an array; the modes `a`, `w` and `w-` create it."""
    mode = kwargs.pop("mode", None)
    place = store_path_of(store, path, mode, storage_options)
    zarr_format = parse_format(zarr_version, zarr_format)
    if "write_empty_chunks" in kwargs:
        _warn_write_empty_chunks_kwarg()
    check_w_minus(place, mode)
    if mode != "w":
        try:
            return Array._of(nodes.open_handle(place, "array", zarr_format), place, kwargs.get("config"))
        except ArrayNotFoundError:
            if place.read_only or mode not in ("a", "w-"):
                raise
    overwrite = kwargs.pop("overwrite", mode == "w")
    return create(store=place, zarr_format=zarr_format or default_format(), overwrite=overwrite, **kwargs)


@translated
def create(
    shape: Any,
    *,
    chunks: Any = None,
    dtype: Any = None,
    compressor: Any = "auto",
    fill_value: Any = DEFAULT_FILL_VALUE,
    order: Any = None,
    store: Any = None,
    synchronizer: Any = None,
    overwrite: bool = False,
    path: str | None = None,
    chunk_store: Any = None,
    filters: Any = None,
    cache_metadata: Any = None,
    cache_attrs: Any = None,
    read_only: Any = None,
    object_codec: Any = None,
    dimension_separator: Any = None,
    write_empty_chunks: Any = None,
    zarr_version: Any = None,
    zarr_format: Any = None,
    meta_array: Any = None,
    attributes: Any = None,
    chunk_shape: Any = None,
    chunk_key_encoding: Any = None,
    codecs: Any = None,
    dimension_names: Any = None,
    storage_options: Any = None,
    config: Any = None,
    mode: Any = None,
    data: Any = None,
) -> Array:
    """Creates an array, with the arguments of zarr-python 2."""
    zarr_format = parse_format(zarr_version, zarr_format) or default_format()
    warn_unused(
        synchronizer=synchronizer,
        chunk_store=chunk_store,
        cache_metadata=cache_metadata,
        cache_attrs=cache_attrs,
        object_codec=object_codec,
        read_only=read_only,
        meta_array=meta_array,
    )
    place = store_path_of(store, path, mode or "a", storage_options)
    check_w_minus(place, mode)
    if zarr_format == 2 and not (np.size(chunks) > 1 or np.any(chunks)):
        chunks = None  # 0, False and an empty list, as in zarr-python 2
    if write_empty_chunks is not None:
        _warn_write_empty_chunks_kwarg()
        if config is not None:
            warnings.warn(
                "Both write_empty_chunks and config keyword arguments are set. This is redundant. When both are set, "
                "write_empty_chunks will be used instead of the value in config.",
                ZarrUserWarning,
                stacklevel=3,
            )
        config = {**parse_array_config(config).to_dict(), "write_empty_chunks": write_empty_chunks}
    if chunks is not None and chunk_shape is not None:
        raise ValueError("Only one of chunk_shape or chunks can be provided.")
    options: dict[str, Any] = {}
    if zarr_format == 3:
        if dimension_separator is not None:
            raise ValueError(
                "dimension_separator is not supported for arrays with zarr format 3. Use chunk_key_encoding instead."
            )
        if filters is not None:
            raise ValueError("filters cannot be used for arrays with zarr_format 3. Use array-to-array codecs instead.")
        if compressor != "auto":
            raise ValueError(
                "compressor cannot be used for arrays with zarr_format 3. Use bytes-to-bytes codecs instead."
            )
        if codecs is not None:
            options = nodes.split_codecs(codecs)
        options["chunk_key_encoding"] = chunk_key_encoding
    elif zarr_format == 2:
        for name, value in (("codecs", codecs), ("chunk_key_encoding", chunk_key_encoding)):
            if value is not None:
                raise ValueError(
                    f"{name} cannot be used for arrays with zarr_format 2. Use "
                    + ("filters and compressor" if name == "codecs" else "dimension_separator")
                    + " instead."
                )
        if dimension_names is not None:
            raise ValueError("dimension_names cannot be used for arrays with zarr_format 2.")
        options = {"compressors": compressor, "filters": "auto" if filters is None else filters}
        options["chunk_key_encoding"] = dimension_separator
    result = new_array(
        place,
        shape=shape,
        dtype="float64" if dtype is None else dtype,
        chunks=chunks if chunk_shape is None else chunk_shape,
        fill_value=fill_value,
        order=order,
        zarr_format=zarr_format,
        attributes=attributes,
        dimension_names=dimension_names,
        overwrite=overwrite or mode == "w",
        config=config,
        **options,
    )
    if data is not None:
        result[...] = data
    return result


@like_create_array()
@translated
def create_array(
    store: Any,
    *,
    name: str | None = None,
    zarr_format: Any = 3,
    storage_options: Any = None,
    overwrite: bool = False,
    **options: Any,
) -> Array:
    """Creates an array."""
    place = store_path_of(store, name, "a", storage_options)
    return new_array(place, zarr_format=zarr_format, overwrite=overwrite, **options)


@translated
def from_array(
    store: Any,
    *,
    data: Any,
    write_data: bool = True,
    name: str | None = None,
    chunks: Any = "keep",
    shards: Any = "keep",
    filters: Any = "keep",
    compressors: Any = "keep",
    serializer: Any = "keep",
    fill_value: Any = DEFAULT_FILL_VALUE,
    order: Any = None,
    zarr_format: Any = None,
    attributes: Any = None,
    chunk_key_encoding: Any = None,
    dimension_names: Any = None,
    storage_options: Any = None,
    overwrite: bool = False,
    config: Any = None,
) -> Array:
    """Creates an array with the data of another one, and by default with its codecs."""
    place = store_path_of(store, name, "a", storage_options)
    options: dict[str, Any] = {}
    encodings = {"chunks": chunks, "shards": shards, "filters": filters, "compressors": compressors}
    encodings["serializer"] = serializer
    defaults = {"chunks": "auto", "shards": None, "filters": "auto", "compressors": "auto", "serializer": "auto"}
    same = isinstance(data, Array) and zarr_format in (None, data.zarr_format)
    zarr_format = zarr_format or (data.zarr_format if isinstance(data, Array) else default_format())
    for option, value in encodings.items():
        if isinstance(value, str) and value == "keep":
            keeps = isinstance(data, Array) and (same or option in ("chunks", "shards"))
            value = (
                _option_of(data, option) if keeps else getattr(data, "chunks", "auto") if option == "chunks" else None
            )
            if (value is None and option not in ("filters", "compressors", "shards")) or (
                not keeps and option != "chunks"
            ):
                value = defaults[option]
            if keeps and option in ("filters", "compressors") and not value:
                value = None
        options[option] = value
    if isinstance(data, Array):
        fill_value = data.fill_value if isinstance(fill_value, nodes.DefaultFillValue) else fill_value
        attributes = data.attrs.asdict() if attributes is None else attributes
        order = data.order if order is None and zarr_format == 2 else order
        if zarr_format == 3 and dimension_names is None:
            dimension_names = getattr(data.metadata, "dimension_names", None)
        if zarr_format == 3 and chunk_key_encoding is None:
            chunk_key_encoding = getattr(data.metadata, "chunk_key_encoding", None)
        elif zarr_format == 2 and chunk_key_encoding is None:
            chunk_key_encoding = getattr(data.metadata, "dimension_separator", None)
    source = data if hasattr(data, "shape") and hasattr(data, "dtype") else np.asanyarray(data)
    if options["chunks"] is None:
        options["chunks"] = "auto"
    result = new_array(
        place,
        shape=source.shape,
        dtype=source.dtype,
        fill_value=fill_value,
        order=order,
        zarr_format=zarr_format,
        attributes=attributes,
        chunk_key_encoding=chunk_key_encoding,
        dimension_names=dimension_names,
        overwrite=overwrite,
        config=config,
        **options,
    )
    if write_data:
        if isinstance(data, Array):
            omnizarr_copy(data, result)
        else:
            result[...] = source
    return result


def _option_of(data: Array, option: str) -> Any:
    """An option of an array: for chunks or shards of different lengths, those in its document."""
    grid = getattr(data.metadata, "chunk_grid", None)
    if not isinstance(grid, RectilinearChunkGridMetadata) or option not in ("chunks", "shards"):
        return getattr(data, option)
    sharded = data._handle.shards is not None
    if option == "chunks" and sharded:
        return data.chunks
    if option == "shards" and not sharded:
        return None
    return [list(sizes) if isinstance(sizes, tuple) else sizes for sizes in grid.chunk_shapes]


def omnizarr_copy(source: Array, target: Array) -> None:
    """Copies elements, a row of shards at a time."""
    if not source.ndim or not source.size:
        target[...] = source[...]
        return
    step = max(target.write_chunk_sizes[0], default=1)
    for start in range(0, source.shape[0], step):
        target[start : start + step] = source[start : start + step]


def array(data: Any, **kwargs: Any) -> Array:
    """Creates an array from data, in memory by default."""
    if isinstance(data, Array):
        kwargs.setdefault("store", None)
        return from_array(data=data, **kwargs)
    data = nodes.as_data(data)
    dtype = kwargs.pop("dtype", None)
    chunks = kwargs.pop("chunks", None)
    if kwargs.pop("read_only", False):
        raise ValueError("read_only=True is no longer supported when creating new arrays")
    if chunks is None:
        chunks = getattr(data, "chunks", None)
        chunks = chunks if isinstance(chunks, tuple) and len(chunks) == len(data.shape) else None
    kwargs["shape"] = data.shape
    result = create(dtype=data.dtype if dtype is None else dtype, chunks=chunks, **kwargs)
    result[...] = data
    return result


def empty(shape: Any, **kwargs: Any) -> Array:
    """Creates an array."""
    return create(shape=shape, **kwargs)


def zeros(shape: Any, **kwargs: Any) -> Array:
    """Creates an array of zeros."""
    return create(shape=shape, fill_value=0, **kwargs)


def ones(shape: Any, **kwargs: Any) -> Array:
    """Creates an array of ones."""
    return create(shape=shape, fill_value=1, **kwargs)


def full(shape: Any, fill_value: Any, **kwargs: Any) -> Array:
    """Creates an array of one value."""
    return create(shape=shape, fill_value=fill_value, **kwargs)


def _like(a: Any, kwargs: dict[str, Any], *, fill: bool = False) -> dict[str, Any]:
    like: dict[str, Any] = {}
    if isinstance(getattr(a, "shape", None), tuple):
        like["shape"] = a.shape
        chunks = getattr(a, "chunks", None)
        if isinstance(chunks, tuple) and len(chunks) == len(a.shape):
            like["chunks"] = chunks
    if hasattr(a, "dtype"):
        like["dtype"] = a.dtype
    if isinstance(a, Array):
        zarr_format = a.zarr_format if kwargs.get("zarr_format") is None else kwargs["zarr_format"]
        if zarr_format == a.zarr_format == 3:  # codecs of one generation mean nothing in another one
            like["codecs"] = a.metadata.inner_codecs
        elif zarr_format == a.zarr_format and isinstance(a.metadata, ArrayV2Metadata):
            like |= {"order": a.order, "compressor": a.metadata.compressor, "filters": a.metadata.filters}
        kwargs = {**kwargs, "zarr_format": zarr_format}
        if fill:
            like["fill_value"] = a.fill_value
    return like | kwargs


def empty_like(a: Any, **kwargs: Any) -> Array:
    """Creates an array like another one."""
    return empty(**_like(a, kwargs, fill=True))


def zeros_like(a: Any, **kwargs: Any) -> Array:
    """Creates an array of zeros like another one."""
    return zeros(**_like(a, kwargs))


def ones_like(a: Any, **kwargs: Any) -> Array:
    """Creates an array of ones like another one."""
    return ones(**_like(a, kwargs))


def full_like(a: Any, **kwargs: Any) -> Array:
    """Creates an array of one value like another one."""
    return full(**_like(a, kwargs, fill=True))


def open_like(a: Any, path: str, **kwargs: Any) -> Array:
    """Opens an array, or creates one like another."""
    like = _like(a, kwargs, fill=True)
    if kwargs.get("zarr_format") is None and like.pop("zarr_format", 3) != 3:
        like = {name: value for name, value in like.items() if name not in ("order", "compressor", "filters")}
    if like.get("mode") is None:
        like["mode"] = "a"
    return open_array(path=path, **like)

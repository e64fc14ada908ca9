"""Opening and creating nodes at a `StorePath` with omnizarr, with zarr-python's arguments and errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import omnizarr
from omnizarr import errors as own
from omnizarr.codecs import codec_of
from omnizarr.compat.zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec
from omnizarr.compat.zarr.codecs._classes import ShardingCodec, ZstdCodec, parse_codecs
from omnizarr.compat.zarr.core.chunk_grids import (
    SHARDED_INNER_CHUNK_MAX_BYTES,
    guess_chunks,
    normalize_chunks_nd,
    resolve_outer_and_inner_chunks,
)
from omnizarr.compat.zarr.core.chunk_key_encodings import ChunkKeyEncoding
from omnizarr.compat.zarr.core.common import ZATTRS_JSON, parse_shapelike
from omnizarr.compat.zarr.core.dtype import VariableLengthBytes, VariableLengthUTF8, parse_dtype
from omnizarr.compat.zarr.core.grids.normalize import is_auto
from omnizarr.compat.zarr.core.metadata.chunk_grid import check_rectilinear_chunks_enabled, create_chunk_grid_metadata
from omnizarr.compat.zarr.errors import (
    ArrayNotFoundError,
    ContainsArrayError,
    ContainsGroupError,
    GroupNotFoundError,
    UnstableSpecificationWarning,
)
from omnizarr.compat.zarr.storage._common import StorePath
from omnizarr.compat.zarr.storage._engine import engine_store
from omnizarr.nodes import Array as OwnArray
from omnizarr.nodes import Group as OwnGroup
from omnizarr.store.update import set_if_absent

__all__ = ["DEFAULT_FILL_VALUE", "create_array_handle", "create_group_handle", "open_handle"]


class DefaultFillValue:
    """The type of `DEFAULT_FILL_VALUE`."""

    def __repr__(self) -> str:
        return "<default>"


DEFAULT_FILL_VALUE = DefaultFillValue()
"""Marks a fill value that was left out: None is a value in v2."""


def open_handle(place: StorePath, kind: str | None, zarr_format: Any = None, use_consolidated: Any = None) -> Any:
    """The handle of an existing node."""
    store = engine_store(place.store)
    opening: Any = {"array": omnizarr.open_array, "group": omnizarr.open_group, None: omnizarr.open}[kind]
    mode: Any = "r" if store.read_only else "r+"
    try:
        return opening(store, path=place.path, mode=mode, zarr_format=zarr_format, use_consolidated=use_consolidated)
    except (own.NodeNotFoundError, own.NodeTypeError) as error:
        if kind == "array":
            raise ArrayNotFoundError(f"No array found in store {place.store} at path {place.path!r}") from error
        raise GroupNotFoundError(f"No group found in store {place.store!r} at path {place.path!r}") from error


def _exists(place: StorePath, error: own.NodeExistsError) -> Any:
    try:
        node = open_handle(place, None)
    except (OSError, ValueError):
        return ContainsGroupError(str(error))
    if isinstance(node, OwnArray):
        return ContainsArrayError(f"An array exists in store {place.store!r} at path {place.path!r}.")
    return ContainsGroupError(f"A group exists in store {place.store!r} at path {place.path!r}.")


def create_group_handle(
    place: StorePath, zarr_format: Any, attributes: Any = None, overwrite: bool = False
) -> OwnGroup:
    """Creates a group."""
    place.store._check_writable()
    try:
        handle = omnizarr.create_group(
            engine_store(place.store),
            path=place.path,
            zarr_format=zarr_format,
            attributes=attributes,
            overwrite=overwrite,
        )
    except own.NodeExistsError as error:
        raise _exists(place, error) from error
    except own.ArgumentError as error:
        raise _argument(error) from error
    _store_attributes(place, zarr_format)
    return handle


def _argument(error: own.ArgumentError) -> Exception:
    """TypeError for attributes that JSON cannot represent; otherwise the error itself."""
    return TypeError(str(error)) if str(error).startswith("`attributes") else error


def _store_attributes(place: StorePath, zarr_format: Any) -> None:
    """zarr-python stores the attributes of v2 nodes even if there are none, and programs look for the file."""
    if zarr_format == 2:
        set_if_absent(engine_store(place.store), (place / ZATTRS_JSON).path, b"{}")


def _json_codecs(codecs: Any) -> Any:
    """Codecs of this package as JSON objects; codecs of numcodecs and of omnizarr as they are."""
    if codecs is None or isinstance(codecs, str):
        return codecs
    items = codecs if isinstance(codecs, (list, tuple)) else [codecs] if isinstance(codecs, dict) else None
    if items is None:
        items = [codecs] if not hasattr(codecs, "__iter__") else list(codecs)
    return [_json_codec(item) for item in items]


def _json_codec(item: Any) -> Any:
    if isinstance(item, dict) and isinstance(item.get("name"), str) and "id" not in item:
        item = parse_codecs([item])[0]
    if hasattr(item, "to_dict"):
        document = _drop_tunable(item.to_dict(), item)
        return document
    return item


def _drop_tunable(document: Any, codec: Any) -> Any:
    for name in getattr(codec, "_tunable_attrs", ()):
        document["configuration"].pop(name)  # omnizarr chooses it for the data type
    if isinstance(codec, ShardingCodec):
        document["configuration"] = {
            **document["configuration"],
            "chunk_shape": list(codec.chunk_shape),
            "codecs": [_json_codec(item) for item in codec.codecs],
            "index_codecs": [_json_codec(item) for item in codec.index_codecs],
        }
    elif document["name"] == "transpose":
        document["configuration"] = {"order": list(codec.order)}
    return document


def _key_encoding(setting: Any, zarr_format: Any) -> Any:
    if setting is None:
        return None
    if isinstance(setting, tuple):
        setting = {"name": setting[0], "separator": setting[1]}
    if isinstance(setting, str) and setting in ("/", "."):
        return setting
    encoding = ChunkKeyEncoding.from_dict(setting)
    if zarr_format == 2:
        if encoding.name != "v2":
            raise ValueError(
                "Invalid chunk key encoding. For Zarr format 2 arrays, the `name` field of the chunk key encoding "
                f"must be 'v2'. Got `name` field={encoding.name!r}."
            )
        return encoding.separator
    return encoding.to_dict()


def _warn_unstable(kind: Any) -> None:
    if kind._zarr_v3_name in ("fixed_length_utf32", "null_terminated_bytes", "raw_bytes", "structured") or isinstance(
        kind, VariableLengthBytes
    ):
        warnings.warn(
            f"The data type ({kind}) does not have a Zarr V3 specification. That means that the representation of "
            "arrays saved with this data type may change without warning in a future version of Zarr Python. Arrays "
            "stored with this data type may be unreadable by other Zarr libraries. Use this data type at your own "
            "risk! Check https://github.com/zarr-developers/zarr-extensions/tree/main/data-types for the status of "
            "data type specifications for Zarr V3.",
            category=UnstableSpecificationWarning,
            stacklevel=5,
        )


def create_array_handle(
    place: StorePath,
    *,
    shape: Any,
    dtype: Any,
    chunks: Any = "auto",
    shards: Any = None,
    filters: Any = "auto",
    compressors: Any = "auto",
    serializer: Any = "auto",
    fill_value: Any = DEFAULT_FILL_VALUE,
    order: Any = None,
    zarr_format: Any = 3,
    attributes: Any = None,
    chunk_key_encoding: Any = None,
    dimension_names: Any = None,
    overwrite: bool = False,
    write_empty_chunks: bool = False,
) -> OwnArray:
    """Creates an array."""
    kind = parse_dtype(dtype, zarr_format=2 if zarr_format == 2 else 3)
    lengths = parse_shapelike(shape)
    native = kind.to_native_dtype()
    options: dict[str, Any] = {}
    if zarr_format == 2:
        if serializer not in ("auto", None) and not isinstance(serializer, str):
            raise ValueError(
                "Zarr format 2 arrays do not support `serializer`. Use `filters` and `compressors` instead."
            )
        if dimension_names is not None:
            raise ValueError("Zarr format 2 arrays do not support dimension names.")
        if shards is not None:
            raise ValueError(
                "Zarr format 2 arrays can only be created with `shard_shape` set to `None`. "
                f"Got `shard_shape={shards}` instead."
            )
    elif zarr_format == 3:
        _warn_unstable(kind)
    if isinstance(compressors, str) and compressors == "auto":
        compressors = (
            [{"id": "zstd", "level": 0}] if zarr_format == 2 else [ZstdCodec()] if zarr_format == 3 else "auto"
        )
    inside, chunks, shards = _chunk_arguments(chunks, shards, lengths, kind, zarr_format)
    codecs = {
        "filters": _json_codecs(filters),
        "compressors": _json_codecs(compressors),
        "serializer": serializer if isinstance(serializer, str) else _json_codecs([serializer])[0],
    }
    if inside is not None:
        inner = [*_stage(codecs["filters"]), *_serializer(codecs["serializer"], kind), *_stage(codecs["compressors"])]
        shard_options = shards if isinstance(shards, dict) else {}
        sharding = ShardingCodec(
            chunk_shape=inside,
            index_location=shard_options.get("index_location", "end"),
            **_index_codecs(shard_options),
        )
        document = _json_codec(sharding)
        document["configuration"]["codecs"] = inner
        codecs = {"filters": None, "compressors": None, "serializer": document}
    if not isinstance(fill_value, DefaultFillValue):
        if fill_value is None and zarr_format != 2:
            fill_value = kind.default_scalar()
        options["fill_value"] = fill_value if fill_value is None else kind.cast_scalar(fill_value)
    elif native.kind in "mM":
        options["fill_value"] = kind.default_scalar()
    own_type: Any = native if zarr_format == 2 or native.kind in "VOT" else native.newbyteorder("=")
    if isinstance(kind, (VariableLengthBytes, VariableLengthUTF8)):
        own_type = "string" if isinstance(kind, VariableLengthUTF8) else "bytes"
    place.store._check_writable()
    try:
        handle = omnizarr.create_array(
            engine_store(place.store),
            name=place.path,
            shape=lengths,
            dtype=own_type,
            chunks=chunks,
            order=(order or "C") if zarr_format == 2 else "C",
            zarr_format=zarr_format,
            attributes=attributes,
            chunk_key_encoding=_key_encoding(chunk_key_encoding, zarr_format),
            dimension_names=dimension_names,
            overwrite=overwrite,
            write_empty_chunks=write_empty_chunks,
            **codecs,
            **options,
        )
    except own.NodeExistsError as error:
        raise _exists(place, error) from error
    except own.ArgumentError as error:
        raise _argument(error) from error
    _store_attributes(place, zarr_format)
    return handle


def _index_codecs(shards: dict[str, Any]) -> dict[str, Any]:
    return {"index_codecs": shards["index_codecs"]} if shards.get("index_codecs") else {}


def _chunk_arguments(chunks: Any, shards: Any, shape: tuple[int, ...], kind: Any, zarr_format: Any) -> Any:
    """The shape of the chunks inside of shards (None without), the argument `chunks` of omnizarr, and `shards`."""
    if chunks is None or chunks is True:
        chunks = "auto"
    size = kind.to_native_dtype().itemsize
    if is_auto(chunks):
        limit = None if shards is None else SHARDED_INNER_CHUNK_MAX_BYTES
        grid = guess_chunks(shape, size, max_bytes=limit)
    else:
        grid = normalize_chunks_nd(chunks, shape)
    if not grid.is_regular:
        if zarr_format == 2:
            raise ValueError("Zarr format 2 does not support rectilinear chunk grids.")
        if shards is not None:
            raise ValueError(
                "Rectilinear chunks with sharding is not supported. Use rectilinear shards instead: "
                "chunks=(inner_size, ...), shards=[[shard_sizes], ...]"
            )
    layout = resolve_outer_and_inner_chunks(array_shape=shape, chunks=grid, shard_shape=shards, item_size=size)
    outer = layout.outer_chunks
    if not outer.is_regular:
        check_rectilinear_chunks_enabled()
    stored = create_chunk_grid_metadata(outer)
    inside = None if layout.inner is None else layout.inner.outer_chunks.chunk_shape
    if inside is not None:
        ShardingCodec(chunk_shape=inside).validate(shape=inside, dtype=kind, chunk_grid=stored)
    lengths = stored.chunk_shape if outer.is_regular else stored.chunk_shapes
    return inside, tuple(list(one) if isinstance(one, tuple) else one for one in lengths), shards


def _stage(codecs: Any) -> list[Any]:
    return [] if codecs is None or isinstance(codecs, str) else list(codecs)


def _serializer(serializer: Any, kind: Any) -> list[Any]:
    if not isinstance(serializer, str) or serializer != "auto":
        return [serializer]
    if isinstance(kind, VariableLengthUTF8):
        return [{"name": "vlen-utf8"}]
    if isinstance(kind, VariableLengthBytes):
        return [{"name": "vlen-bytes"}]
    return [{"name": "bytes", "configuration": {"endian": "little"}}]


def split_codecs(codecs: Any) -> dict[str, Any]:
    """The argument `codecs` of `create` as filters, serializer and compressors."""
    parts: dict[str, Any] = {"filters": [], "serializer": "auto", "compressors": []}
    for codec in parse_codecs(codecs):
        if isinstance(codec, ArrayArrayCodec):
            parts["filters"].append(codec)
        elif isinstance(codec, ArrayBytesCodec):
            parts["serializer"] = codec
        else:
            parts["compressors"].append(codec)
    return parts


def as_data(data: Any) -> Any:
    """Array-like data."""
    return data if hasattr(data, "shape") and hasattr(data, "dtype") else np.asanyarray(data)


def own_codec(codec: Any) -> Any:
    """The codec of omnizarr for one of this package."""
    return codec_of(_json_codec(codec), "codec")

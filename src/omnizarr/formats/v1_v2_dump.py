"""Arrays of v1 and v2 → documents: their members, what these cannot express, and the form of new arrays. The documents
have a NumPy dtype, an element order, and codecs without kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from omnizarr._json import Json
from omnizarr.codecs import (
    ArrayCodec,
    Blosc,
    Bytes,
    BytesCodec,
    Codec,
    Serializer,
    Sharding,
    StoredBytes,
    Transpose,
    plain_serializer,
)
from omnizarr.codecs.numcodecs_ import ForeignArray, Pickle
from omnizarr.codecs.numcodecs_.v2_ids import config_of
from omnizarr.dtypes import DataType, Objects, Record, data_type_of, data_type_of_stored, dump_typestr
from omnizarr.dtypes.record_padding import leaf_types
from omnizarr.errors import ArgumentError
from omnizarr.formats.numpy_dtype import byte_orders, stored_dtype
from omnizarr.formats.v1_v2_parse import byte_order_differs, object_type, stores_shape
from omnizarr.grids import Regular
from omnizarr.model import ArrayModel, every_codec

__all__ = [
    "codecs_without_order",
    "dump_codec_configs",
    "filter_losses",
    "first_stored_dtype",
    "new_data_type",
    "new_serializer",
    "normalize_codecs",
    "normalize_new_array",
    "normalize_objects",
    "order_of",
    "stored_dtype_of",
    "stores_object_records",
    "v1_v2_losses",
]

_NEVER_COMPRESSORS = (
    *("adler32", "crc32", "crc32c", "fletcher32", "jenkins_lookup3"),
    *("astype", "base64", "bitround", "categorize", "delta", "fixedscaleoffset", "packbits", "quantize", "shuffle"),
)
"""Codecs that belong into `filters` even if they come last."""


def order_of(model: ArrayModel) -> str:
    """The member `order`."""
    return "F" if model.codecs and isinstance(model.codecs[0], Transpose) else "C"


def codecs_without_order(model: ArrayModel) -> tuple[Codec, ...]:
    """The codecs without the leading transpose that `order` expresses."""
    return model.codecs[1:] if order_of(model) == "F" else model.codecs


def stored_dtype_of(model: ArrayModel) -> np.dtype[Any]:
    """The member `dtype`: the elements as the first codec receives them."""
    return first_stored_dtype(model.dtype, codecs_without_order(model))


def first_stored_dtype(dtype: np.dtype[Any], codecs: Sequence[Codec]) -> np.dtype[Any]:
    """The dtype of elements as the first codec receives them. With filters before the serializer, the first filter that
    names a byte order determines it."""
    serializer = next((codec for codec in codecs if isinstance(codec, Serializer)), None)
    if dtype.hasobject or dtype.kind == "T":
        return np.dtype(object)
    for codec in codecs:
        if isinstance(codec, ArrayCodec):
            decoded = getattr(codec, "decoded_dtype", None)
            orders = {} if decoded is None else set(byte_orders(decoded))
            if orders:
                return dtype.newbyteorder("big" if orders == {">"} else "little")
            if getattr(codec, "encoded_dtype", None) is not None:
                return stored_dtype(dtype, Bytes("little"))
    return stored_dtype(dtype, serializer)


def dump_codec_configs(model: ArrayModel) -> tuple[list[Json] | None, Json]:
    """The members `filters` and `compressor`. The compressor is the last codec, if it can be one."""
    configs = [config_of(codec) for codec in codecs_without_order(model) if not isinstance(codec, (Bytes, StoredBytes))]
    last = configs[-1] if configs and _can_compress(model.codecs[-1], model.dtype) else None
    compressor = configs.pop() if last is not None and last["id"] not in _NEVER_COMPRESSORS else None
    return configs or None, compressor


def _can_compress(codec: Codec, dtype: np.dtype[Any]) -> bool:
    """Whether readers accept a codec as the compressor: it encodes bytes, or an array that is not of objects. Readers
    look for the codec of objects among the filters."""
    encodes_arrays = isinstance(codec, ForeignArray) or getattr(codec, "id", None) in ("pcodec", "zfpy")
    return isinstance(codec, BytesCodec) or (encodes_arrays and not dtype.hasobject)


# -- losses


def v1_v2_losses(model: ArrayModel, generation: str) -> list[str]:
    """What a document of v1 or v2 cannot express of an array."""
    losses = []
    codecs = codecs_without_order(model)
    rank = len(model.shape)
    order_loss = f"{generation} stores elements in C order or with all dimensions reversed, not otherwise"
    if order_of(model) == "F" and model.codecs[0] not in (Transpose(tuple(reversed(range(rank)))), Transpose("F")):
        losses.append(order_loss)
    for codec in codecs:
        if isinstance(codec, Sharding):
            losses.append(f"{generation} has no shards")
        elif isinstance(codec, Transpose):
            losses.append(order_loss)
        elif not isinstance(codec, (Bytes, StoredBytes)) and config_of(codec) is None:
            losses.append(f"{generation} has no codec `{codec.name}`")
    if order_of(model) == "F" and rank > 1 and stores_shape(codecs):
        losses.append("zarr-python cannot read objects in F order that are stored with their shape")
    losses += filter_losses(stored_dtype_of(model), codecs)
    if not isinstance(model.grid, Regular):
        losses.append(f"all chunks of {generation} have the same shape")
    if model.dtype.hasobject and isinstance(codecs[0], (Bytes, StoredBytes)):
        losses.append("there is no codec that turns objects into bytes")
    if "dtype" not in model.verbatim and any(stores_object_records(codec) for codec in codecs):
        losses.append("omnizarr reads and changes records that hold objects, but creates none")
    if _lacks_time_unit(model.dtype):
        losses.append(f"a time needs a unit in {generation}, as in `M8[ns]`")
    elif not _has_type(model):
        losses.append(f"{generation} has no data type `{model.data_type.name}`")
    if model.storage_transformers:
        losses.append(f"{generation} has no storage transformers")
    if model.extensions or model.fallback is not None:
        losses.append(f"{generation} has no extensions")
    return list(dict.fromkeys(losses))


def stores_object_records(codec: Codec) -> bool:
    """Whether a codec stores records that hold objects. Only the dtype of an existing document describes them."""
    return isinstance(codec, Pickle) and codec.record is not None


def _has_type(model: ArrayModel) -> bool:
    """Whether such documents can name the data type. Types of other packages would be read as another type."""
    if "dtype" in model.verbatim:
        return True
    stored = stored_dtype_of(model)
    try:
        dump_typestr(stored)
    except ArgumentError:
        return False
    return not model.data_type.only_v3 and (stored.hasobject or data_type_of_stored(stored) == model.data_type)


def filter_losses(stored: np.dtype[Any], codecs: Iterable[Codec]) -> list[str]:
    """Filters that name different byte orders for the same elements, or big-endian elements for a serializer that has
    no byte order. `stored` is the input of the first codec."""
    filtered = None
    for codec in codecs:
        if isinstance(codec, Serializer):
            orderless = not isinstance(codec, (Bytes, StoredBytes, ForeignArray))
            if filtered is not None and orderless and ">" in byte_orders(stored):
                return [f"the filter `{filtered}` produces big-endian elements, which `{codec.name}` cannot store"]
            break
        if isinstance(codec, ArrayCodec) and not isinstance(codec, Transpose):
            if byte_order_differs(stored, codec):
                return [f"the filter `{codec.name}` expects another byte order than that of `{stored.str}`"]
            stored = getattr(codec, "encoded_dtype", None) or stored
            filtered = codec.name
    return []


def _lacks_time_unit(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype contains a time without a unit (V8)."""
    return any(leaf.kind in "mM" and np.datetime_data(leaf)[0] == "generic" for _, leaf in leaf_types(dtype))


# -- new arrays


def new_data_type(dtype: Any) -> DataType:
    """The data type for a dtype that the user gives. Unlike `data_type_of`, it accepts objects and unpacked records."""
    if isinstance(dtype, DataType):
        return dtype
    numpy_dtype = _as_dtype(dtype) if dtype is not None else None
    if numpy_dtype is not None and numpy_dtype == np.dtype(object):
        return Objects()
    if numpy_dtype is not None and numpy_dtype.names is not None:
        data_type = data_type_of_stored(numpy_dtype)
        if isinstance(data_type, Record):
            return data_type
    return data_type_of(dtype)


def new_serializer(dtype: Any) -> Serializer | None:
    """The serializer that stores records exactly as `dtype` describes them; None if `dtype` is not a record."""
    numpy_dtype = _as_dtype(dtype)
    return plain_serializer(numpy_dtype) if numpy_dtype is not None and numpy_dtype.names is not None else None


def _as_dtype(dtype: Any) -> np.dtype[Any] | None:
    try:
        numpy_dtype: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        return None
    return numpy_dtype


def normalize_new_array(model: ArrayModel) -> ArrayModel:
    """A new array in the form in which its document will be parsed."""
    model = normalize_objects(model)
    return replace(model, codecs=normalize_codecs(model.codecs, stored_dtype_of(model)))


def normalize_codecs(codecs: Iterable[Codec], stored: np.dtype[Any]) -> tuple[Codec, ...]:
    """The codecs of a new array with the byte order that the last filter names for the serializer, and a blosc that
    takes the element size from its input, because documents have no member for it. `stored` is the input of the first
    codec."""
    normalized: list[Codec] = []
    filtered = False
    for codec in codecs:
        if isinstance(codec, ArrayCodec) and not isinstance(codec, Transpose):
            filtered = True
            stored = getattr(codec, "encoded_dtype", None) or stored
        elif isinstance(codec, Bytes) and filtered:
            codec = plain_serializer(stored)
        elif isinstance(codec, ForeignArray):
            codec = replace(codec, dtype=stored)
        elif isinstance(codec, Blosc):
            codec = replace(codec, typesize=None)
        normalized.append(codec)
    return tuple(normalized)


def normalize_objects(model: ArrayModel) -> ArrayModel:
    """A new array of objects, text or bytes with the data type that its codec determines."""
    if not model.dtype.hasobject:
        return model
    data_type, fill = object_type(every_codec(model.codecs)), model.fill
    if data_type == model.data_type and not isinstance(data_type, Objects):
        return model
    if isinstance(data_type, Objects):
        if fill is not None:
            fill = data_type.cast_fill(fill[()])
            data_type.dump_fill(fill)  # raises for bytes: only codecs that store bytes can express them
            fill = None if fill[()] is None else fill
    elif fill is not None:
        fill = data_type.default_fill() if fill[()] is None or fill[()] == 0 else data_type.cast_fill(fill[()])
    return replace(model, data_type=data_type, fill=fill)

"""The codecs of a new array: from a user's names and objects, or none, to a complete list with all parameters set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from omnizarr._json import Json, describe
from omnizarr.codecs import (
    ArrayCodec,
    Bytes,
    BytesCodec,
    Codec,
    Serializer,
    Sharding,
    Skipped,
    Transpose,
    codec_of,
    codecs,
)
from omnizarr.codecs.contract import codec_library
from omnizarr.codecs.sharding import INDEX_CODECS
from omnizarr.dtypes import DataType
from omnizarr.errors import ArgumentError
from omnizarr.formats import Dialect
from omnizarr.formats.numpy_dtype import byte_orders, stored_dtype

__all__ = ["CodecLike", "Codecs", "chunk_codecs", "default_serializer"]

CodecLike: TypeAlias = Codec | str | dict[str, Json] | Any
"""A codec, its name, its JSON object in a document, or a numcodecs object."""
Codecs: TypeAlias = CodecLike | Sequence[CodecLike] | Literal["auto"] | None


def chunk_codecs(
    dialect: Dialect,
    filters: Codecs,
    serializer: CodecLike | Literal["auto"],
    compressors: Codecs,
    order: str,
    rank: int,
    data_type: DataType,
    dtype: Any,
) -> tuple[Codec, ...]:
    """The codecs of a chunk, as the document records them. `dtype` is the data type as the user gave it."""
    if not isinstance(order, str) or order not in ("C", "F"):
        raise ArgumentError(f'`order`: expected "C" or "F", found {order!r}', argument="order")
    kinds: tuple[type[Codec], ...] = (
        (ArrayCodec, Serializer, BytesCodec) if dialect.allows_any_filter else (ArrayCodec,)
    )
    filter_codecs = _codecs(dialect, filters, "filters", kinds, "array → array")
    arrays: list[ArrayCodec] = [Transpose(tuple(reversed(range(rank))))] if _transposes(dialect, order, rank) else []
    serializers: list[Codec] = []
    bytes_filters: list[BytesCodec] = []
    for codec in filter_codecs:
        if isinstance(codec, ArrayCodec) and not serializers and not bytes_filters:
            arrays.append(codec)
        elif isinstance(codec, ArrayCodec):  # in a v2 list it may follow a bytes codec, and then takes bytes
            from omnizarr.codecs.numcodecs_ import FilterOnBytes  # lazy import: rarely needed

            bytes_filters.append(FilterOnBytes(codec))
        elif isinstance(codec, Serializer) and not bytes_filters:
            serializers.append(codec)
        elif isinstance(codec, BytesCodec):
            bytes_filters.append(codec)
        else:
            raise ArgumentError(
                f"`filters`: `{codec.name}` takes arrays and cannot follow a codec that produces bytes",
                argument="filters",
            )
    if not _is_auto(serializer):
        serializers.append(codec_of(serializer, "serializer"))
    if len(serializers) > 1 or not all(isinstance(codec, Serializer) for codec in serializers):
        last = serializers[-1]
        raise ArgumentError(
            f"`serializer`: `{last.name}` is not the array → bytes codec",
            argument="serializer",
            hint=None if isinstance(last, Serializer) else f"give it as `{_argument_of(last)}`",
        )
    kinds = (Serializer, BytesCodec) if dialect.allows_any_filter else (BytesCodec,)
    bytes_codecs = [*bytes_filters, *_codecs(dialect, compressors, "compressors", kinds, "bytes → bytes")]
    # A sharding codec from the user has its own compressors: do not compress whole shards by default.
    if _is_auto(compressors) and not (serializers and isinstance(serializers[0], Sharding)):
        bytes_codecs += dialect.default_compressors(data_type)
    if dialect.allows_any_filter and not serializers and bytes_codecs:
        direct = _array_compressor(bytes_codecs[0], dialect, data_type, dtype)
        if direct is not None:
            serializers, bytes_codecs = [direct], bytes_codecs[1:]
    wrong = next((codec for codec in bytes_codecs if isinstance(codec, Serializer)), None)
    if wrong is not None:
        raise ArgumentError(
            f"`compressors`: `{wrong.name}` takes arrays and cannot follow a codec that produces bytes",
            argument="compressors",
        )
    array_to_bytes: Codec = serializers[0] if serializers else _serializer(dialect, arrays, data_type, dtype)
    if isinstance(array_to_bytes, Serializer) and data_type.name in array_to_bytes.only_read:
        raise ArgumentError(
            f"`serializer`: `{array_to_bytes.name}` is not for data type `{data_type.name}`: only zarrs reads that",
            argument="serializer",
            hint=f"use `{data_type.serializer}`" if data_type.serializer else None,
        )
    return _resolve((*arrays, array_to_bytes, *bytes_codecs), rank, data_type.dtype, _endian(dtype))


def _array_compressor(codec: Codec, dialect: Dialect, data_type: DataType, dtype: Any) -> Serializer | None:
    """The codec as a serializer, if it compresses arrays and not bytes; for a generation with one list for all kinds.

    `zfpy` does so, and so may codecs that other packages registered with numcodecs.
    """
    if isinstance(codec, Serializer):
        return codec
    from omnizarr.codecs.numcodecs_.foreign import Foreign  # lazy import: rarely needed

    if not isinstance(codec, Foreign):
        return None
    return codec.for_array(stored_dtype(data_type.dtype, dialect.serializer(dtype) or Bytes(_endian(dtype))))


def _transposes(dialect: Dialect, order: str, rank: int) -> bool:
    """Whether the document records F order."""
    return order == "F" and (rank > 1 or dialect.has_order_member)


def _serializer(dialect: Dialect, arrays: Sequence[ArrayCodec], data_type: DataType, dtype: Any) -> Codec:
    """The array → bytes codec, if the user names none."""
    filtered = any(not isinstance(codec, Transpose) for codec in arrays)
    if filtered and _becomes_numbers(data_type.dtype, arrays):
        return Bytes()
    return (None if filtered else dialect.serializer(dtype)) or default_serializer(data_type)


def _becomes_numbers(dtype: np.dtype[Any], arrays: Sequence[ArrayCodec]) -> bool:
    """Whether filters convert objects, or text of variable length, to numbers."""
    objects = dtype.hasobject
    for codec in arrays:
        dtype = codec.becomes(dtype)
    return objects and not dtype.hasobject


def _resolve(
    codecs: Iterable[Codec], rank: int, dtype: np.dtype[Any], endian: Literal["little", "big"]
) -> tuple[Codec, ...]:
    """The codecs with all parameters set, as the document records them (R91)."""
    resolved: list[Codec] = []
    for codec in codecs:
        if codec.only_decodes is not None:
            raise ArgumentError(f"codec `{codec.name}`: {codec.only_decodes}", argument=_argument_of(codec))
        if codec.needs is not None:
            codec_library(type(codec))  # raise now if the library is missing, not at the first chunk
        if isinstance(codec, ArrayCodec):
            codec = codec.resolved(rank).completed(dtype)
            dtype = codec.becomes(dtype)
        elif isinstance(codec, Bytes):
            codec = (codec if codec.endian else Bytes(endian)).resolved(dtype)
        elif isinstance(codec, BytesCodec):
            codec = codec.resolved(1 if dtype.hasobject else dtype.itemsize)
        elif isinstance(codec, Sharding):
            index = INDEX_CODECS if codec.index_codecs is None else codec.index_codecs
            codec = replace(
                codec,
                codecs=_resolve(codec.codecs, rank, dtype, endian),
                index_codecs=_resolve(index, rank + 1, np.dtype(np.uint64), "little"),
            )
        elif isinstance(codec, Skipped):  # A29
            raise ArgumentError(f"a new array cannot have an unknown codec: {describe(codec.original)}")
        resolved.append(codec)
    return tuple(resolved)


def default_serializer(data_type: DataType) -> Serializer:
    """The default array → bytes codec of a data type. Raises ArgumentError for objects, which have none."""
    default = None if data_type.serializer is None else codecs.get(data_type.serializer)
    if default is None:
        raise ArgumentError(
            "`serializer`: expected a codec for objects, such as `json2`, found none",
            argument="serializer",
        )
    serializer: Any = default()
    assert isinstance(serializer, Serializer)
    return serializer


def _endian(dtype: Any) -> Literal["little", "big"]:
    """Big if all parts of the user's dtype are big-endian, else little, the order of nearly every machine."""
    try:
        orders = set(byte_orders(np.dtype(dtype)))
    except (TypeError, ValueError, SyntaxError):  # a name that NumPy does not know
        return "little"
    return "big" if orders == {">"} else "little"


def _numcodecs_item(item: CodecLike) -> CodecLike:
    """A codec name as its numcodecs configuration, for a generation that names codecs as numcodecs does."""
    from omnizarr.codecs.numcodecs_.v2_ids import is_numcodecs_only  # lazy import: it loads several codecs

    return {"id": item} if isinstance(item, str) and is_numcodecs_only(item) else item


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _codecs(
    dialect: Dialect,
    value: Codecs,
    argument: str,
    kinds: tuple[type[Codec], ...],
    what: str,
) -> tuple[Codec, ...]:
    if value is None or _is_auto(value):
        return ()
    items: Iterable[CodecLike] = (
        value if isinstance(value, Iterable) and not isinstance(value, (str, dict)) else [value]
    )
    codecs: list[Codec] = []
    for item in items:
        codec = codec_of(_numcodecs_item(item) if dialect.allows_any_filter else item, argument)
        if kinds == (BytesCodec,):
            codec = dialect.codec_on_bytes(codec) or codec
        if not isinstance(codec, kinds):
            raise ArgumentError(
                f"`{argument}`: `{codec.name}` is not a codec of the kind {what}",
                argument=argument,
                hint=f"give it as `{_argument_of(codec)}`",
            )
        codecs.append(codec)
    return tuple(codecs)


def _argument_of(codec: Codec) -> str:
    """The argument for codecs of this kind."""
    if isinstance(codec, ArrayCodec):
        return "filters"
    return "serializer" if isinstance(codec, Serializer) else "compressors"

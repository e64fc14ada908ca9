"""The codecs of a new array: from what a user gives, as names, objects or not at all, to a list that leaves nothing to
be chosen."""

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
"""A codec, its name, the object of a document, or an object of numcodecs."""
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
    """The codecs of a chunk, as its document records them. `dtype` is how the user spelt the data type."""
    if order not in ("C", "F"):
        raise ArgumentError(f'`order`: expected "C" or "F", found {order!r}', argument="order")
    kinds: tuple[type[Codec], ...] = (
        (ArrayCodec, Serializer, BytesCodec) if dialect.allows_any_filter else (ArrayCodec,)
    )
    given = _codecs(dialect, filters, "filters", kinds, "array → array", ())
    arrays: list[ArrayCodec] = [Transpose(tuple(reversed(range(rank))))] if _records(dialect, order, rank) else []
    among: list[Codec] = []
    before: list[BytesCodec] = []
    for codec in given:
        if isinstance(codec, ArrayCodec) and not among and not before:
            arrays.append(codec)
        elif isinstance(codec, ArrayCodec):  # in a list that does not tell kinds apart, it takes what comes as bytes
            from omnizarr.codecs.numcodecs_ import OverBytes  # hardly ever needed

            before.append(OverBytes(codec))
        elif isinstance(codec, Serializer) and not before:
            among.append(codec)
        elif isinstance(codec, BytesCodec):
            before.append(codec)
        else:
            raise ArgumentError(
                f"`filters`: `{codec.name}` takes arrays and cannot stand behind bytes", argument="filters"
            )
    if not (isinstance(serializer, str) and serializer == "auto"):
        among.append(codec_of(serializer, "serializer"))
    if len(among) > 1 or not all(isinstance(codec, Serializer) for codec in among):
        given_last = among[-1]
        raise ArgumentError(
            f"`serializer`: `{given_last.name}` is not the array → bytes codec",
            argument="serializer",
            hint=None if isinstance(given_last, Serializer) else f"give it as `{_argument_of(given_last)}`",
        )
    # Whoever gives the sharding codec gives what compresses its chunks, too: a shard is not compressed once more.
    default = () if among and isinstance(among[0], Sharding) else dialect.default_compressors(data_type)
    kinds = (Serializer, BytesCodec) if dialect.allows_any_filter else (BytesCodec,)
    steps = [*before, *_codecs(dialect, compressors, "compressors", kinds, "bytes → bytes", default)]
    if dialect.allows_any_filter and not among and steps:
        direct = _behind_array(steps[0], dialect, data_type, dtype)
        if direct is not None:
            among, steps = [direct], steps[1:]
    wrong = next((codec for codec in steps if isinstance(codec, Serializer)), None)
    if wrong is not None:
        raise ArgumentError(
            f"`compressors`: `{wrong.name}` takes arrays and cannot stand behind bytes", argument="compressors"
        )
    middle: Codec = among[0] if among else _serializer(dialect, arrays, data_type, dtype)
    return _resolved((*arrays, middle, *steps), rank, data_type.dtype, _endian(dtype))


def _behind_array(codec: Codec, dialect: Dialect, data_type: DataType, dtype: Any) -> Serializer | None:
    """The codec that turns the array into bytes, if that is what this one does in a generation that does not tell kinds
    apart: `zfpy` compresses arrays, and what others registered with numcodecs may do so."""
    if isinstance(codec, Serializer):
        return codec
    from omnizarr.codecs.numcodecs_.foreign import Foreign  # hardly ever needed

    if not isinstance(codec, Foreign):
        return None
    return codec.behind_array(stored_dtype(data_type.dtype, dialect.serializer(dtype) or Bytes(_endian(dtype))))


def _records(dialect: Dialect, order: str, rank: int) -> bool:
    """Whether a document says that elements are in F order."""
    return order == "F" and (rank > 1 or dialect.has_order_member)


def _serializer(dialect: Dialect, arrays: Sequence[ArrayCodec], data_type: DataType, dtype: Any) -> Codec:
    """The array → bytes codec of elements of a type, unless the user names one."""
    filtered = any(not isinstance(codec, Transpose) for codec in arrays)
    if filtered and _becomes_numbers(data_type.dtype, arrays):
        return Bytes()
    return (None if filtered else dialect.serializer(dtype)) or default_serializer(data_type)


def _becomes_numbers(dtype: np.dtype[Any], arrays: Sequence[ArrayCodec]) -> bool:
    """Whether filters turn objects, or text of any length, into numbers."""
    objects = dtype.hasobject
    for codec in arrays:
        dtype = codec.becomes(dtype)
    return objects and not dtype.hasobject


def _resolved(
    codecs: Iterable[Codec], rank: int, dtype: np.dtype[Any], endian: Literal["little", "big"]
) -> tuple[Codec, ...]:
    """The same codecs with nothing left to be chosen, as the document records them (R91)."""
    resolved: list[Codec] = []
    for codec in codecs:
        if codec.needs is not None:
            codec_library(type(codec))  # without it, not even the first chunk could be written
        if isinstance(codec, ArrayCodec):
            codec = codec.resolved(rank).completed(dtype)
            dtype = codec.becomes(dtype)
        elif isinstance(codec, Bytes):
            codec = Bytes(codec.endian or endian).resolved(dtype)
        elif isinstance(codec, BytesCodec):
            codec = codec.resolved(1 if dtype.hasobject else dtype.itemsize)
        elif isinstance(codec, Sharding):
            index = INDEX_CODECS if codec.index_codecs is None else codec.index_codecs
            codec = replace(
                codec,
                codecs=_resolved(codec.codecs, rank, dtype, endian),
                index_codecs=_resolved(index, rank + 1, np.dtype(np.uint64), "little"),
            )
        elif isinstance(codec, Skipped):  # A29
            raise ArgumentError(f"an array cannot be given a codec that is unknown: {describe(codec.original)}")
        resolved.append(codec)
    return tuple(resolved)


def default_serializer(data_type: DataType) -> Serializer:
    """What stores elements of a type, if nothing else is said."""
    usual = None if data_type.serializer is None else codecs.get(data_type.serializer)
    if usual is None:
        raise ArgumentError(
            "`serializer`: objects are stored by a codec made for what they are, such as `json2`; none was given",
            argument="serializer",
        )
    found: Any = usual()
    assert isinstance(found, Serializer)
    return found


def _endian(dtype: Any) -> Literal["little", "big"]:
    """Big if the user's dtype says so; else little, which is what nearly every machine has."""
    try:
        orders = set(byte_orders(np.dtype(dtype)))
    except (TypeError, ValueError, SyntaxError):  # a name that NumPy does not know
        return "little"
    return "big" if orders == {">"} else "little"


def _meant(item: CodecLike) -> CodecLike:
    """What a generation that names codecs as numcodecs does means by a name."""
    from omnizarr.codecs.numcodecs_.v2_ids import is_own  # which loads several codecs

    return {"id": item} if isinstance(item, str) and is_own(item) else item


def _codecs(
    dialect: Dialect,
    value: Codecs,
    argument: str,
    kinds: tuple[type[Codec], ...],
    what: str,
    default: Sequence[Codec],
) -> tuple[Codec, ...]:
    if isinstance(value, str) and value == "auto":
        return tuple(default)
    if value is None:
        return ()
    items: Iterable[CodecLike] = (
        value if isinstance(value, Iterable) and not isinstance(value, (str, dict)) else [value]
    )
    codecs: list[Codec] = []
    for item in items:
        codec = codec_of(_meant(item) if dialect.allows_any_filter else item, argument)
        if not isinstance(codec, kinds):
            raise ArgumentError(
                f"`{argument}`: `{codec.name}` is not a codec of the kind {what}",
                argument=argument,
                hint=f"give it as `{_argument_of(codec)}`",
            )
        codecs.append(codec)
    return tuple(codecs)


def _argument_of(codec: Codec) -> str:
    """Where a codec of its kind belongs."""
    if isinstance(codec, ArrayCodec):
        return "filters"
    return "serializer" if isinstance(codec, Serializer) else "compressors"

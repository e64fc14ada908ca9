"""The codecs of a new array: from what a user gives, as names, objects or not at all, to a list that leaves nothing to
be chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from omnizarr._json import Json, describe
from omnizarr.codecs import (
    ArrayCodec,
    Blosc,
    Bytes,
    BytesCodec,
    Codec,
    Serializer,
    Sharding,
    Skipped,
    Transpose,
    Zstd,
    codec_of,
)
from omnizarr.codecs.sharding import INDEX_CODECS
from omnizarr.dtypes import DataType
from omnizarr.errors import ArgumentError

__all__ = ["CodecLike", "Codecs", "chunk_codecs", "default_compressors"]

CodecLike: TypeAlias = Codec | str | dict[str, Json]
Codecs: TypeAlias = CodecLike | Sequence[CodecLike] | Literal["auto"] | None

C = TypeVar("C", bound=Codec)


def chunk_codecs(
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
    arrays: tuple[ArrayCodec, ...] = _codecs(filters, "filters", ArrayCodec, "array → array", ())  # type: ignore[type-abstract]
    if order == "F" and rank > 1:
        arrays = (Transpose(tuple(reversed(range(rank)))), *arrays)
    if isinstance(serializer, str) and serializer == "auto":
        middle: Codec = Bytes()
    else:
        middle = codec_of(serializer, "serializer")
        if not isinstance(middle, Serializer):
            raise ArgumentError(f"`serializer`: `{middle.name}` is not an array → bytes codec", argument="serializer")
    # Whoever gives the sharding codec gives what compresses its chunks, too: a shard is not compressed once more.
    default = () if isinstance(middle, Sharding) else default_compressors(data_type)
    steps = _codecs(compressors, "compressors", BytesCodec, "bytes → bytes", default)  # type: ignore[type-abstract]
    return _resolved((*arrays, middle, *steps), rank, data_type.dtype, _endian(dtype))


def _resolved(
    codecs: Iterable[Codec], rank: int, dtype: np.dtype[Any], endian: Literal["little", "big"]
) -> tuple[Codec, ...]:
    """The same codecs with nothing left to be chosen, as the document records them (R91)."""
    resolved: list[Codec] = []
    for codec in codecs:
        if isinstance(codec, ArrayCodec):
            codec = codec.resolved(rank)
        elif isinstance(codec, Bytes):
            codec = Bytes(codec.endian or endian).resolved(dtype)
        elif isinstance(codec, BytesCodec):
            codec = codec.resolved(dtype.itemsize)
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


def default_compressors(data_type: DataType) -> tuple[BytesCodec, ...]:
    """What compresses well and fast on most data, and is read by everybody: measured, see docs/defaults.md."""
    itemsize = data_type.dtype.itemsize
    if 2 <= itemsize <= 255:
        return (Blosc("zstd", 1, "shuffle", itemsize, min(2**17 * itemsize, 2**20)),)
    return (Zstd(level=1),)


def _endian(dtype: Any) -> Literal["little", "big"]:
    """Big if the user's dtype says so; else little, which is what nearly every machine has."""
    try:
        orders = set(_byte_orders(np.dtype(dtype)))
    except (TypeError, ValueError, SyntaxError):  # a name that NumPy does not know
        return "little"
    return "big" if orders == {">"} else "little"


def _byte_orders(dtype: np.dtype[Any]) -> Iterator[str]:
    if dtype.names is not None:
        for name in dtype.names:
            yield from _byte_orders(dtype[name])
    elif dtype.byteorder != "|":
        yield dtype.byteorder


def _codecs(value: Codecs, argument: str, kind: type[C], what: str, default: tuple[C, ...]) -> tuple[C, ...]:
    if isinstance(value, str) and value == "auto":
        return default
    if value is None:
        return ()
    items: Iterable[CodecLike] = (
        value if isinstance(value, Iterable) and not isinstance(value, (str, dict)) else [value]
    )
    codecs: list[C] = []
    for item in items:
        codec = codec_of(item, argument)
        if not isinstance(codec, kind):
            raise ArgumentError(f"`{argument}`: `{codec.name}` is not a codec of the kind {what}", argument=argument)
        codecs.append(codec)
    return tuple(codecs)

"""Small arrays for the registered codecs that few implementations have; lossy codecs get values that they keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.interop.cases import (
    CHUNKS,
    DEFAULT_KEYS,
    KINDS,
    LITTLE,
    SHAPE,
    SOME_CHUNKS,
    SWAPPED,
    Case,
    Json,
    fit,
    gzip,
    partly,
    resized,
    sharding,
    zstd,
)

__all__ = ["BY_REGISTERED", "named"]


def named(name: str, **configuration: Json) -> dict[str, Json]:
    return {"name": name, "configuration": configuration} if configuration else {"name": name}


SHORT: Mapping[str, Sequence[Any]] = {
    "int8": [0, 1, -4, 20, -12],
    "int16": [0, 1, 5, 512, -512, 77],
    "int32": [0, 3, -6, 1000, 12],
    "int64": [0, 1, 2**62, -(2**62), 77],
    "uint8": [0, 6, 124, 64, 2],
    "uint16": [0, 1, 5, 512, 1000, 77],
    "uint64": [0, 1, 2**63, 77],
    "float32": [0, 0.5, 1, -2, 7.5, 100],
    "float64": [0, 0.5, 1, -2, 7.5, 100],
    "complex64": [0, 0.5 - 2j, 7.5j, -1],
    "datetime": [0, 1, 2**40, 77],
}
"""Numbers of few bits."""

BITROUND = named("bitround", keepbits=10)
PACKBITS = named("packbits")
FLAT, GROUPED = named("reshape", shape=[-1]), named("reshape", shape=[[0], 2, 3])
TO_BYTE, TO_DOUBLE = named("cast_value", data_type="uint8"), named("cast_value", data_type="float64")
TO_SHORT = named("cast_value", data_type="int16", rounding="towards-zero", out_of_range="clamp")
NAN_IS_255 = named("cast_value", data_type="uint8", scalar_map={"encode": [["NaN", 255]], "decode": [[255, "NaN"]]})
BIG = named("bytes", endian="big")
N5_KEYS = {"name": "v2", "configuration": {"separator": "/"}}
_SMALL_NUMBERS = ("bool", "int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn")
_NUMBERS = ("int8", "uint16", "int32", "uint64", "float32", "float64", "complex64", "bfloat16", "complex_bfloat16")

CHAINS: Mapping[str, tuple[Sequence[dict[str, Json]], Sequence[str]]] = {
    "bitround": ([BITROUND, LITTLE, zstd()], ("int16", "uint16", "float32", "float64", "complex64", "datetime")),
    "bitround before shards": ([BITROUND, sharding([2, 3], LITTLE)], ("int16", "float32")),
    "packbits": ([PACKBITS], (*_SMALL_NUMBERS, *_NUMBERS)),
    "packbits of complex numbers": ([PACKBITS], ("complex_float4_e2m1fn", "complex_float6_e3m2fn")),
    "packbits first byte": ([named("packbits", padding_encoding="first_byte")], ("bool", "int4", "float6_e2m3fn")),
    "packbits last byte": ([named("packbits", padding_encoding="last_byte")], ("bool", "int2", "float4_e2m1fn")),
    "packbits first byte of whole bytes": ([named("packbits", padding_encoding="first_byte")], ("int8", "float32")),
    "packbits some bits": ([named("packbits", first_bit=1, last_bit=6)], ("uint8",)),
    "packbits some bits of a sign": ([named("packbits", last_bit=5)], ("int8",)),
    "packbits some bits of a longer sign": ([named("packbits", last_bit=11)], ("int16", "int32")),
    "packbits in shards": ([sharding([2, 3], PACKBITS, zstd())], ("bool", "int4")),
    "transpose packbits": ([SWAPPED, PACKBITS], ("bool", "uint4")),
    "reshape": ([FLAT, LITTLE], ("bool", "int16", "float32", "string")),
    "reshape groups": ([SWAPPED, named("reshape", shape=[[0], 2, 2]), BIG, gzip(1)], ("int16", "complex64")),
    "reshape before shards": ([FLAT, sharding([6], LITTLE)], ("int16",)),
    "reshape in shards": ([sharding([2, 3], FLAT, LITTLE, zstd())], ("int16",)),
    "cast_value": ([TO_DOUBLE, LITTLE], ("int16", "int32", "uint8", "float32")),
    "cast_value to a byte": ([TO_BYTE, named("bytes"), zstd()], ("uint8 as float32",)),
    "cast_value clamped": ([TO_SHORT, BIG], ("int8", "int32")),
    "cast_value with a map": ([NAN_IS_255, named("bytes")], ("float32 with NaN",)),
    "cast_value before shards": ([NAN_IS_255, sharding([2, 3], named("bytes"))], ("float32 with NaN",)),
    "scale_offset": ([named("scale_offset", offset=-4, scale=2), LITTLE], ("int16", "int32", "float32", "float64")),
    "scale_offset of nothing": ([named("scale_offset"), LITTLE], ("int16",)),
    "scale_offset before shards": (
        [named("scale_offset", offset=-8, scale=3), sharding([2, 3], LITTLE)],
        ("int16", "float32"),
    ),
    "scale_offset cast_value": (
        [named("scale_offset", offset=-2, scale=2), named("cast_value", data_type="uint16"), LITTLE],
        ("float32", "float64"),
    ),
    "zfp": ([named("zfp", mode="reversible")], ("float32", "int16")),
    "conditional": ([LITTLE, named("conditional", codecs=[zstd()])], ("int16",)),
    "n5_default": ([named("n5_default", codecs=[SWAPPED, BIG])], ("int16", "float32", "uint64")),
    "n5_default compressed": ([named("n5_default", codecs=[SWAPPED, BIG, gzip(5)])], ("int32", "float64")),
    "numcodecs.zfpy": ([named("numcodecs.zfpy", mode=4)], ("float32", "int64")),
    "numcodecs.pcodec": ([named("numcodecs.pcodec", level=4)], ("float32", "int16", "uint64")),
}


def _data(name: str) -> tuple[str, npt.NDArray[Any], Json, npt.NDArray[Any]]:
    """The type of the elements, some elements, and the fill value, in a document and in memory."""
    if name == "float32 with NaN":
        return "float32", np.array([0, 1, np.nan, 254, 7], "f4"), "NaN", np.array(np.nan, "f4")
    if name == "uint8 as float32":
        return "float32", np.array([0, 1, 255, 7], "f4"), 0.0, np.zeros((), "f4")
    kind = KINDS[name]
    if name in SHORT:
        values = np.array(SHORT[name])
        return name, values.view("M8[10us]") if name == "datetime" else values.astype(kind.dtype), kind.zero, kind.blank
    return name, kind.values, kind.zero, kind.blank


def _by_registered(chain: str) -> Iterator[Case]:
    codecs, names = CHAINS[chain]
    for name in names:
        kind, values, fill, bits = _data(name)
        data = partly(resized(values, SHAPE), bits, SOME_CHUNKS)
        # A codec that names a type to cast to also names its byte order.
        cast = any(codec["name"] == "cast_value" for codec in codecs)
        fitted = codecs if cast else fit(codecs, data.dtype, KINDS[kind].serializer)
        keys = N5_KEYS if chain.startswith("n5") else DEFAULT_KEYS
        yield Case(f"{chain}, {name}", kind, data, CHUNKS, fitted, fill, bits, keys, SOME_CHUNKS)


BY_REGISTERED: Mapping[str, Sequence[Case]] = {chain: tuple(_by_registered(chain)) for chain in CHAINS}
"""Registered codecs that few implementations have × a few data types."""

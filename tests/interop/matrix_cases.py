"""Every registered codec × every data type that it accepts, in one small array each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from omnizarr._json import Problems
from omnizarr.codecs import Chain, ChunkSpec, parse_codecs
from omnizarr.errors import CodecError
from tests.interop.cases import (
    CHUNKS,
    CRC32C,
    DEFAULT_KEYS,
    KINDS,
    LITTLE,
    SHAPE,
    SOME_CHUNKS,
    SWAPPED,
    Case,
    Json,
    Kind,
    blosc,
    fit,
    gzip,
    partly,
    resized,
    same,
    sharding,
    zstd,
)
from tests.interop.registered_cases import BIG, N5_KEYS, named

__all__ = ["BY_CODEC"]

CODECS: Mapping[str, Sequence[dict[str, Json]]] = {
    "bitround": [named("bitround", keepbits=4), LITTLE],
    "blosc": [LITTLE, blosc("lz4")],
    "bytes": [BIG],
    "cast_value": [named("cast_value", data_type="float64"), LITTLE],
    "cast_value out of range": [named("cast_value", data_type="int16", out_of_range="clamp"), LITTLE],
    "cast_value with fewer digits": [named("cast_value", data_type="float16", rounding="towards-zero"), LITTLE],
    "conditional": [LITTLE, named("conditional", codecs=[zstd()])],
    "crc32c": [LITTLE, CRC32C],
    "gzip": [LITTLE, gzip(1)],
    "n5_default": [named("n5_default", codecs=[SWAPPED, BIG, gzip(1)])],
    "packbits": [named("packbits")],
    "reshape": [named("reshape", shape=[[0], 2, 3]), LITTLE],
    "scale_offset": [named("scale_offset", scale=2), LITTLE],
    "sharding_indexed": [sharding([2, 3], LITTLE)],
    "transpose": [SWAPPED, LITTLE],
    "vlen-bytes": [named("vlen-bytes")],
    "vlen-utf8": [named("vlen-utf8")],
    "zfp": [named("zfp", mode="reversible")],
    "zstd": [LITTLE, zstd()],
    "numcodecs.pcodec": [named("numcodecs.pcodec", level=4)],
    "numcodecs.zfpy": [named("numcodecs.zfpy", mode=4)],
}
_CAST = ("cast_value", "n5_default")  # they name a type, or a byte order, of their own


def _kept(kind: Kind, codecs: Sequence[dict[str, Json]]) -> npt.NDArray[np.intp] | None:
    """The values of a type that these codecs keep unchanged; None if they do not accept the type."""
    problems = Problems()
    dtype = np.dtype("T") if kind.serializer == "vlen-utf8" else kind.dtype
    spec = ChunkSpec(CHUNKS, dtype, kind.blank)
    chain = Chain.bind(parse_codecs(list(codecs), "$", problems), spec, "$", problems)
    if chain is None or kind.serializer is not None:
        return None if chain is None else np.arange(len(kind.values))
    found = []
    for index in range(len(kind.values)):
        chunk = np.full(CHUNKS, kind.values[index : index + 1].reshape(()), kind.dtype)
        try:
            if same(chain.decode(chain.encode(chunk)), chunk):
                found.append(index)
        except CodecError:  # a number out of range
            pass
    return np.array(found)


def _by_codec(name: str) -> Iterator[Case]:
    for title, kind in KINDS.items():
        if name.startswith("vlen-") and kind.serializer != name:
            continue  # only zarrs exchanges text as bytes and bytes as text: `test_zarrs_codecs`
        codecs = CODECS[name]
        if not name.startswith(_CAST):
            codecs = fit(codecs, kind.dtype, kind.serializer)
        kept = _kept(kind, codecs)
        if kept is not None and len(kept) > 1:
            data = partly(resized(kind.values[kept], SHAPE), kind.blank, SOME_CHUNKS)
            keys = N5_KEYS if name == "n5_default" else DEFAULT_KEYS
            title = f"{name} of everything, {title}"
            yield Case(title, title.split(", ")[1], data, CHUNKS, codecs, kind.zero, kind.blank, keys, SOME_CHUNKS)


BY_CODEC: Mapping[str, Sequence[Case]] = {name: tuple(_by_codec(name)) for name in CODECS}
"""For each codec all arrays that it can store; lossy codecs get values that they keep."""

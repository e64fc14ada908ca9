"""The codecs of numcodecs. v2 documents name them by an `id`, v3 documents by `numcodecs.<id>`.

from omnizarr.codecs.numcodecs_ import Delta, Lzma
omnizarr.create_array(..., filters=[Delta("<i4")], compressors=[Lzma(preset=1)])

Each module is imported at first use, because most programs need none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from omnizarr.codecs.contract import codecs

REGISTERED = {
    "adler32": "checksums:Adler32",
    "astype": "filters.as_type:AsType",
    "bitround": "filters.bit_round:BitRound",
    "blosc": "core_aliases:NumcodecsBlosc",
    "bz2": "bz2_:Bz2",
    "crc32": "checksums:Crc32",
    "crc32c": "checksums:NumcodecsCrc32c",
    "delta": "filters.delta:Delta",
    "fixedscaleoffset": "filters.fixed_scale_offset:FixedScaleOffset",
    "fletcher32": "checksums:Fletcher32",
    "gzip": "core_aliases:NumcodecsGzip",
    "jenkins_lookup3": "checksums:JenkinsLookup3",
    "lz4": "lz4:Lz4",
    "lzma": "lzma_:Lzma",
    "packbits": "filters.pack_bits:PackBits",
    "pcodec": "pcodec_:Pcodec",
    "quantize": "filters.quantize:Quantize",
    "shuffle": "shuffle:Shuffle",
    "zfpy": "zfpy_:Zfpy",
    "zlib": "zlib_:Zlib",
    "zstd": "core_aliases:NumcodecsZstd",
}
"""The ids that zarr-python 3 also supports, under the prefix `numcodecs.`, and the location of their classes."""

PRIVATE = {
    "base64": "base64_:Base64",
    "categorize": "filters.categorize:Categorize",
    "json": "objects.json_:LegacyJson",
    "json2": "objects.json_:Json2",
    "msgpack": "objects.msgpack_:LegacyMsgpack",
    "msgpack2": "objects.msgpack_:Msgpack2",
    "pickle": "objects.pickle_:Pickle",
    "vlen-array": "objects.vlen_array:VlenArray",
}
"""The ids that only v2 documents contain, and the location of their classes."""

_LAZY = {
    location.partition(":")[2]: location
    for location in (
        *REGISTERED.values(),
        *PRIVATE.values(),
        "foreign:Foreign",
        "foreign:ForeignArray",
        "filter_on_bytes:FilterOnBytes",
    )
}

__all__ = ["PRIVATE", "REGISTERED", *sorted(_LAZY)]  # the keys of `_LAZY` are names of this module

_ZARRS_URL_PARTS = {
    "bz2": "bytes_to_bytes",
    "fletcher32": "bytes_to_bytes",
    "pcodec": "array_to_bytes",
    "zfpy": "array_to_bytes",
}
"""Codecs that old versions of zarrs named by a URL, and the part of that URL before the id."""

for _id, _location in REGISTERED.items():
    _aliases = (f"https://codec.zarrs.dev/{_ZARRS_URL_PARTS[_id]}/{_id}",) if _id in _ZARRS_URL_PARTS else ()
    codecs.offer(f"numcodecs.{_id}", f"{__name__}.{_location}", aliases=_aliases)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    module, _, attribute = _LAZY[name].partition(":")
    return getattr(import_module(f"{__name__}.{module}"), attribute)


def __dir__() -> list[str]:
    return list(__all__)

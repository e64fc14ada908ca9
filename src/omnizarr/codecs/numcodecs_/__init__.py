"""The codecs of numcodecs, which documents of version 2 name by an `id` and those of version 3 as `numcodecs.<id>`.

from omnizarr.codecs.numcodecs_ import Delta, Lzma
omnizarr.create_array(..., filters=[Delta("<i4")], compressors=[Lzma(preset=1)])

There are many, and most programs use none of them: each is imported when its name is first met.
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
"""The ids that zarr-python 3 knows too, with the prefix `numcodecs.`; where their classes are."""

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
"""The ids that only documents of version 2 hold."""

_PLACES = {
    place.partition(":")[2]: place
    for place in (
        *REGISTERED.values(),
        *PRIVATE.values(),
        "foreign:Foreign",
        "foreign:ForeignArray",
        "filter_on_bytes:FilterOnBytes",
    )
}

__all__ = ["PRIVATE", "REGISTERED", *sorted(_PLACES)]  # they are names

_ADDRESSES = {
    "bz2": "bytes_to_bytes",
    "fletcher32": "bytes_to_bytes",
    "pcodec": "array_to_bytes",
    "zfpy": "array_to_bytes",
}
"""Those that zarrs once named by addresses, in which this comes before the id."""

for _id, _place in REGISTERED.items():
    _aliases = (f"https://codec.zarrs.dev/{_ADDRESSES[_id]}/{_id}",) if _id in _ADDRESSES else ()
    codecs.offer(f"numcodecs.{_id}", f"{__name__}.{_place}", aliases=_aliases)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    module, _, attribute = _PLACES[name].partition(":")
    return getattr(import_module(f"{__name__}.{module}"), attribute)


def __dir__() -> list[str]:
    return list(__all__)

"""The matrix of small arrays that implementations exchange. A case says how an array is stored and what it holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import numpy as np
import numpy.typing as npt

import omnizarr
from tests.interop.case_kinds import SMALL, every_bit, significant
from tests.peers import array_document

__all__ = [
    "BLOSC_CHAINS",
    "BY_BLOSC",
    "BY_CHAIN",
    "BY_EXTENSION",
    "BY_FILL",
    "BY_LAYOUT",
    "BY_NUMCODECS",
    "CHAINS",
    "CORE_KINDS",
    "EXTENSION_FILLS",
    "EXTENSION_KINDS",
    "FILLS",
    "KINDS",
    "LAYOUTS",
    "MORE_KINDS",
    "Case",
    "Kind",
    "document",
    "fit",
    "partly",
    "resized",
    "same",
    "write_ours",
]

Json = Any
Region = tuple[slice, ...] | EllipsisType


@dataclass(frozen=True, slots=True)
class Kind:
    """A data type: its name in a document, its NumPy type, and values that are easily damaged."""

    data_type: Json
    values: npt.NDArray[Any]
    zero: Json
    """The fill value whose bits are all zero, or that is empty."""
    serializer: str | None = None
    """The array → bytes codec, if it is not `bytes`."""

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    @property
    def blank(self) -> npt.NDArray[Any]:
        """The fill value `zero`, as an array of no dimensions."""
        if self.dtype == object:
            return np.array(type(self.values[0])(), object)
        return np.zeros((), self.dtype)


def _integers(name: str) -> Kind:
    limits = np.iinfo(name)
    return Kind(name, np.array([0, 1, limits.min, limits.max, 77, limits.max - 1], name), 0)


_NAN_WITH_PAYLOAD = {"float16": 0x7E01, "float32": 0x7FC00001, "float64": 0xFFF8000000000001}


def _special(name: str) -> npt.NDArray[Any]:
    dtype = np.dtype(name)
    limits = np.finfo(dtype)
    payload = np.array([_NAN_WITH_PAYLOAD[name]], f"u{dtype.itemsize}").view(dtype)
    plain = [0.0, -0.0, 1.5, -np.inf, np.nan, np.inf, limits.smallest_subnormal, limits.max, -2.25]
    return np.concatenate([np.array(plain, dtype), payload])


def _complex(name: str, part: str) -> Kind:
    values = np.zeros(10, name)
    values.real, values.imag = _special(part), _special(part)[::-1]
    return Kind(name, values, [0.0, 0.0])


_RECORD = np.dtype([("flag", "?"), ("count", "<i2"), ("value", "<f8")])
_RECORD_TYPE = {
    "name": "struct",
    "configuration": {
        "fields": [
            {"name": "flag", "data_type": "bool"},
            {"name": "count", "data_type": "int16"},
            {"name": "value", "data_type": "float64"},
        ]
    },
}

CORE_KINDS: Mapping[str, Kind] = {
    "bool": Kind("bool", np.array([True, False, False]), False),
    **{name: _integers(name) for sign in ("int", "uint") for name in (f"{sign}{bits}" for bits in (8, 16, 32, 64))},
    **{name: Kind(name, _special(name), 0.0) for name in ("float16", "float32", "float64")},
    "complex64": _complex("complex64", "float32"),
    "complex128": _complex("complex128", "float64"),
    "r8": Kind("r8", np.frombuffer(bytes([0, 255, 1, 128, 7]), "V1"), [0]),
    "r24": Kind("r24", np.frombuffer(bytes(range(27)), "V3"), [0, 0, 0]),
    "struct": Kind(
        _RECORD_TYPE,
        np.array([(True, -2, 0.5), (False, 258, np.nan), (True, 0, -0.0), (False, -32768, np.inf)], _RECORD),
        {"flag": False, "count": 0, "value": 0.0},
    ),
}
"""Every data type of the core specification, and records."""

_TIMES = np.array([0, 1, -(2**63), 2**63 - 1, -77, 10**15])


def _objects(*values: Any) -> npt.NDArray[Any]:
    found = np.empty(len(values), object)
    found[:] = values
    return found


EXTENSION_KINDS: Mapping[str, Kind] = {
    "datetime": Kind(
        {"name": "numpy.datetime64", "configuration": {"unit": "us", "scale_factor": 10}}, _TIMES.view("M8[10us]"), 0
    ),
    "timedelta": Kind(
        {"name": "numpy.timedelta64", "configuration": {"unit": "ns", "scale_factor": 1}}, _TIMES.view("m8[ns]"), 0
    ),
    "utf32": Kind(
        {"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}},
        np.array(["a", "", "ñb", "\U0001f600cd", "x\0y"], "U3"),
        "",
    ),
    "fixed bytes": Kind(
        {"name": "null_terminated_bytes", "configuration": {"length_bytes": 3}},
        np.array([b"a", b"", b"\xff\0b", b"abc"], "S3"),
        "",
    ),
    "string": Kind("string", _objects("a", "", "ñ" * 40, "\U0001f600", "x\0y\0"), "", "vlen-utf8"),
    "bytes": Kind("bytes", _objects(b"a", b"", b"\xff" * 90, b"\0\0"), "", "vlen-bytes"),
}
"""Data types of the registry, and one that all implementations have although it is not registered."""

_SMALLEST = 2.0**-127  # of float8_e8m0fnu, which has no zero


def _small(name: str) -> Kind:
    zero: Json = 0 if "int" in name else _SMALLEST if name.endswith("e8m0fnu") else 0.0
    return Kind(name, every_bit(name)[:40], [zero, zero] if name.startswith("complex") else zero)


MORE_KINDS: Mapping[str, Kind] = {
    **{name: _small(name) for name in SMALL},
    "complex_float32": Kind("complex_float32", CORE_KINDS["complex64"].values, [0.0, 0.0]),
    "complex_float64": Kind("complex_float64", CORE_KINDS["complex128"].values, [0.0, 0.0]),
}
"""Data types of the registry that few implementations have, and names that we read but do not write."""

KINDS: Mapping[str, Kind] = {**CORE_KINDS, **EXTENSION_KINDS, **MORE_KINDS}


@dataclass(frozen=True, slots=True)
class Case:
    """One array: how it is stored, and what it holds in the end."""

    name: str
    kind: str
    """One of `KINDS`."""
    data: npt.NDArray[Any]
    chunks: tuple[Json, ...]
    """For each dimension a length or, on a rectilinear grid, all lengths as a document spells them."""
    codecs: Sequence[dict[str, Json]]
    fill: Json
    """As a document has it."""
    fill_bits: npt.NDArray[Any]
    """The same as an array of no dimensions."""
    keys: Json
    written: Sequence[Region]
    """The regions to write; all other elements of `data` are the fill value."""

    @property
    def rectilinear(self) -> bool:
        return any(isinstance(lengths, list) for lengths in self.chunks)


def document(case: Case) -> dict[str, Any]:
    """The document from which another implementation creates the array."""
    members = {}
    if case.rectilinear:
        edges = {"kind": "inline", "chunk_shapes": list(case.chunks)}
        members = {"chunk_grid": {"name": "rectilinear", "configuration": edges}}
    return array_document(
        case.data.shape,
        case.data.dtype,
        chunks=case.chunks,
        codecs=case.codecs,
        fill_value=case.fill,
        data_type=KINDS[case.kind].data_type,
        chunk_key_encoding=case.keys,
        **members,
    )


SERIALIZERS = (
    *("bytes", "vlen-utf8", "vlen-bytes", "sharding_indexed"),
    *("packbits", "n5_default", "zfp", "numcodecs.zfpy", "numcodecs.pcodec"),
)


def write_ours(place: str | os.PathLike[str], case: Case, **options: Any) -> omnizarr.Array:
    """Has omnizarr create the array and write its regions."""
    names = [codec["name"] for codec in case.codecs]
    middle = next(index for index, name in enumerate(names) if name in SERIALIZERS)
    array = omnizarr.create_array(
        os.fspath(place),
        shape=case.data.shape,
        dtype=KINDS[case.kind].data_type,
        chunks=case.chunks,
        filters=list(case.codecs[:middle]),
        serializer=case.codecs[middle],
        compressors=list(case.codecs[middle + 1 :]),
        fill_value=case.fill_bits,
        chunk_key_encoding=case.keys,
        **options,
    )
    for region in case.written:
        array[region] = case.data[region]
    return array


def same(found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> bool:
    """Whether two arrays have the same shape, type and bits; byte order in memory does not count. Text and bytes of
    variable length may be objects or NumPy's own type."""
    found = np.asarray(found)
    if expected.dtype == object:
        return (
            found.shape == expected.shape
            and found.dtype.kind in "OT"
            and all(type(a) is type(b) and a == b for a, b in zip(found.flat, expected.flat, strict=True))
        )
    native = [significant(one.astype(one.dtype.newbyteorder("="))) for one in (np.asarray(found), expected)]
    return (
        native[0].shape == native[1].shape
        and native[0].dtype == native[1].dtype
        and native[0].tobytes() == native[1].tobytes()
    )


def resized(values: npt.NDArray[Any], shape: Sequence[int]) -> npt.NDArray[Any]:
    """The values repeated in an array of this shape. (`np.resize` does not support empty shapes.)"""
    count = int(np.prod(shape, dtype=int))
    return np.tile(values, -(-count // len(values)))[:count].reshape(shape)


# -- codecs

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
CRC32C = {"name": "crc32c"}
SWAPPED = {"name": "transpose", "configuration": {"order": [1, 0]}}
BLOSC_NAMES = ("lz4", "lz4hc", "blosclz", "zlib", "zstd")
BLOSC_SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")


def gzip(level: int) -> dict[str, Json]:
    return {"name": "gzip", "configuration": {"level": level}}


def zstd(level: int = 1, *, checksum: bool = False) -> dict[str, Json]:
    return {"name": "zstd", "configuration": {"level": level, "checksum": checksum}}


def blosc(cname: str = "lz4", shuffle: str = "shuffle", clevel: int = 5) -> dict[str, Json]:
    # `fit` sets the real size of an element.
    members = {"cname": cname, "clevel": clevel, "shuffle": shuffle, "typesize": 1, "blocksize": 0}
    return {"name": "blosc", "configuration": members}


def sharding(
    chunks: Sequence[int],
    *codecs: dict[str, Json],
    index: Sequence[dict[str, Json]] = (LITTLE, CRC32C),
    at: str = "end",
) -> dict[str, Json]:
    members = {
        "chunk_shape": list(chunks),
        "codecs": list(codecs),
        "index_codecs": list(index),
        "index_location": at,
    }
    return {"name": "sharding_indexed", "configuration": members}


def _has_byte_order(dtype: np.dtype[Any]) -> bool:
    if dtype.names is not None:
        return any(_has_byte_order(dtype[name]) for name in dtype.names)
    return dtype.itemsize > 1 and dtype.kind != "S" and dtype.type is not np.void


def fit(
    codecs: Iterable[dict[str, Json]], dtype: np.dtype[Any], serializer: str | None = None
) -> list[dict[str, Json]]:
    """The codecs for elements of one type: without byte order if the type has none, with the element size for Blosc,
    and with another array → bytes codec if `bytes` does not apply."""
    fitted = []
    for codec in codecs:
        members = dict(codec.get("configuration", {}))
        if codec["name"] == "bytes" and serializer is not None:
            codec, members = {"name": serializer}, {}
        elif codec["name"] == "bytes" and not _has_byte_order(dtype):
            members = {}
        elif codec["name"] == "blosc":
            members["typesize"] = 1 if dtype.kind == "O" else dtype.itemsize
        elif codec["name"] == "sharding_indexed":
            members["codecs"] = fit(members["codecs"], dtype, serializer)
        keeps = members or codec["name"].startswith("numcodecs.")  # zarr-python requires one there
        fitted.append({"name": codec["name"], "configuration": members} if keeps else {"name": codec["name"]})
    return fitted


# Chunks have 4 × 6 elements, inner chunks 2 × 3.
PLAIN_CHAINS: Mapping[str, Sequence[dict[str, Json]]] = {
    "little": [LITTLE],
    "big": [BIG],
    "gzip 9": [LITTLE, gzip(9)],
    "gzip 0": [LITTLE, gzip(0)],
    "zstd": [LITTLE, zstd()],
    "zstd checksum": [LITTLE, zstd(19, checksum=True)],
    "zstd negative": [LITTLE, zstd(-5)],
    "crc32c": [LITTLE, CRC32C],
    "transpose": [SWAPPED, LITTLE],
    "transpose twice": [SWAPPED, SWAPPED, BIG],
    "transpose big zstd crc32c": [SWAPPED, BIG, zstd(checksum=True), CRC32C],
    "crc32c blosc gzip": [LITTLE, CRC32C, blosc("zstd", "bitshuffle"), gzip(5)],
    "zstd blosc": [LITTLE, zstd(), blosc("lz4", "noshuffle")],
}
SHARDED_CHAINS: Mapping[str, Sequence[dict[str, Json]]] = {
    "shards": [sharding([2, 3], LITTLE)],
    "shards index first": [sharding([2, 3], LITTLE, zstd(), at="start")],
    "shards index unchecked": [sharding([2, 3], LITTLE, index=[LITTLE])],
    "shards index big": [sharding([2, 3], BIG, gzip(5), index=[BIG, CRC32C], at="start")],
    "shards blosc": [sharding([2, 3], LITTLE, blosc())],
    "shards crc32c": [sharding([2, 3], LITTLE, zstd(), CRC32C)],
    "shards of one chunk": [sharding([4, 6], LITTLE, zstd())],
    "shards compressed": [sharding([2, 3], LITTLE), zstd(), CRC32C],
    "transpose in shards": [sharding([2, 3], SWAPPED, LITTLE, zstd())],
    "transpose before shards": [SWAPPED, sharding([3, 2], LITTLE, zstd())],
    "transpose before square shards": [SWAPPED, sharding([2, 2], LITTLE, zstd())],
    "transpose everywhere": [SWAPPED, sharding([2, 2], SWAPPED, BIG, blosc("zlib"), CRC32C, at="start")],
    "shards in shards": [sharding([2, 6], sharding([2, 3], LITTLE, zstd()))],
    "shards in shards mixed": [sharding([4, 2], SWAPPED, sharding([2, 2], BIG, gzip(1), at="start"), index=[BIG])],
}
BLOSC_CHAINS: Mapping[str, Sequence[dict[str, Json]]] = {
    f"blosc {cname} {shuffle}": [LITTLE, blosc(cname, shuffle)] for cname in BLOSC_NAMES for shuffle in BLOSC_SHUFFLES
} | {"blosc level 0": [LITTLE, blosc("lz4", "shuffle", 0)], "blosc level 9": [LITTLE, blosc("zstd", "shuffle", 9)]}
CHAINS: Mapping[str, Sequence[dict[str, Json]]] = {**PLAIN_CHAINS, **SHARDED_CHAINS}

# Blosc sees bytes and an element size: one type of each size is enough for its many configurations.
BLOSC_KINDS = ("bool", "int16", "float32", "complex128", "r24", "struct")

DEFAULT_KEYS = {"name": "default", "configuration": {"separator": "/"}}


def _fill(kind: str, fill: Json, bits: Any = None) -> tuple[str, Json, npt.NDArray[Any]]:
    return kind, fill, np.array(fill if bits is None else bits, KINDS[kind].dtype)


def partly(data: npt.NDArray[Any], fill: npt.NDArray[Any], written: Sequence[Region]) -> npt.NDArray[Any]:
    """The data in the regions that are written, the fill value elsewhere."""
    kept = np.empty(data.shape, data.dtype)
    kept[...] = fill
    for region in written:
        kept[region] = data[region]
    return kept


SHAPE, CHUNKS = (5, 9), (4, 6)
# Leaves out the inner chunk at (0:2, 3:6) of the first shard, and the whole chunk at the last corner.
SOME_CHUNKS: Sequence[Region] = ((slice(0, 5), slice(0, 3)), (slice(2, 4), slice(3, 9)), (slice(0, 1), slice(6, 9)))
# Writes parts of two chunks.
A_FEW_ELEMENTS: Sequence[Region] = ((slice(1, 3), slice(2, 8)),)


def _by_chain(chain: str) -> Iterator[Case]:
    for name, kind in CORE_KINDS.items():
        fill = kind.blank
        data = partly(resized(kind.values, SHAPE), fill, SOME_CHUNKS)
        codecs = fit(CHAINS[chain], kind.dtype)
        yield Case(f"{chain}, {name}", name, data, CHUNKS, codecs, kind.zero, fill, DEFAULT_KEYS, SOME_CHUNKS)


BY_CHAIN: Mapping[str, Sequence[Case]] = {chain: tuple(_by_chain(chain)) for chain in CHAINS}
"""Codecs × data types; some chunks and inner chunks are missing."""


def _by_blosc(chain: str) -> Iterator[Case]:
    for name in BLOSC_KINDS:
        kind = KINDS[name]
        data = resized(kind.values, (40, 30))
        fill, codecs = np.zeros((), kind.dtype), fit(BLOSC_CHAINS[chain], kind.dtype)
        yield Case(f"{chain}, {name}", name, data, (40, 30), codecs, kind.zero, fill, DEFAULT_KEYS, [...])


BY_BLOSC: Mapping[str, Sequence[Case]] = {chain: tuple(_by_blosc(chain)) for chain in BLOSC_CHAINS}
"""The configurations of Blosc, on chunks that are large and regular enough for it to compress."""


# -- fill values


def _float_fills() -> Iterator[tuple[str, Json, npt.NDArray[Any]]]:
    parts = {"float32": "complex64", "float64": "complex128"}
    for name, payload in _NAN_WITH_PAYLOAD.items():
        dtype = KINDS[name].dtype
        bits = np.array(payload, f"u{dtype.itemsize}").view(dtype)
        written = f"0x{payload:0{2 * dtype.itemsize}x}"
        yield _fill(name, "NaN", np.nan)
        yield _fill(name, "Infinity", np.inf)
        yield _fill(name, "-Infinity", -np.inf)
        yield _fill(name, -0.0)
        yield _fill(name, 1.5)
        yield _fill(name, float(str(np.array(0.1, dtype))), 0.1)
        yield name, written, bits
        if name in parts:
            both = np.zeros((), parts[name])
            both.real, both.imag = bits, -0.0
            yield _fill(parts[name], ["NaN", "-Infinity"], complex(np.nan, -np.inf))
            yield _fill(parts[name], [-1.5, 0.25], complex(-1.5, 0.25))
            yield parts[name], [written, -0.0], both


FILLS: Sequence[tuple[str, Json, npt.NDArray[Any]]] = (
    _fill("bool", True),
    _fill("int8", -128),
    _fill("int32", -7),
    _fill("int64", -(2**63)),
    _fill("uint8", 255),
    _fill("uint64", 2**64 - 1),
    _fill("uint64", 2**53 + 1),
    *_float_fills(),
    _fill("r8", [254], b"\xfe"),
    _fill("r24", [1, 0, 255], b"\x01\x00\xff"),
    _fill("struct", {"flag": True, "count": -3, "value": "NaN"}, (True, -3, np.nan)),
)

FILL_LAYOUTS: Mapping[str, Sequence[dict[str, Json]]] = {
    "chunks": [LITTLE],
    "shards": [sharding([2, 3], LITTLE, zstd())],
}


def _by_fill(layout: str) -> Iterator[Case]:
    for kind, fill, bits in FILLS:
        dtype = KINDS[kind].dtype
        data = partly(resized(KINDS[kind].values, SHAPE), bits, A_FEW_ELEMENTS)
        codecs = fit(FILL_LAYOUTS[layout], dtype)
        name = f"{layout}, {kind} filled with {fill}"
        yield Case(name, kind, data, CHUNKS, codecs, fill, bits, DEFAULT_KEYS, A_FEW_ELEMENTS)
    # A chunk of zeros does not equal the fill value if the zeros have the other sign.
    for kind, fill, other in (("float32", -0.0, 0.0), ("float64", 0.0, -0.0), ("complex64", [-0.0, 0.0], 0.0)):
        dtype = KINDS[kind].dtype
        bits = np.array(complex(*fill) if isinstance(fill, list) else fill, dtype)
        data = partly(np.full(SHAPE, other, dtype), bits, [(slice(0, 4), slice(0, 6))])
        codecs = fit(FILL_LAYOUTS[layout], dtype)
        name = f"{layout}, {kind} filled with {fill} and written with {other}"
        yield Case(name, kind, data, CHUNKS, codecs, fill, bits, DEFAULT_KEYS, [(slice(0, 4), slice(0, 6))])


BY_FILL: Mapping[str, Sequence[Case]] = {layout: tuple(_by_fill(layout)) for layout in FILL_LAYOUTS}
"""Fill values × data types, few elements written."""


# -- data types outside the core

EXTENSION_CHAINS = (
    *("little", "big", "gzip 9", "zstd", "crc32c", "transpose", "transpose big zstd crc32c", "crc32c blosc gzip"),
    *("shards", "shards index first", "shards crc32c", "transpose in shards", "shards in shards"),
)

EXTENSION_FILLS: Sequence[tuple[str, Json, npt.NDArray[Any]]] = (
    _fill("datetime", "NaT"),
    _fill("datetime", 2**62, np.array(2**62).view("M8[10us]")),
    _fill("timedelta", "NaT"),
    _fill("timedelta", -5, np.array(-5).view("m8[ns]")),
    _fill("utf32", "né"),
    _fill("fixed bytes", "/wBi", b"\xff\0b"),
    _fill("string", "né, and no end"),
    _fill("bytes", "/wA=", np.array(b"\xff\0", object)),
)


def _by_extension(chain: str) -> Iterator[Case]:
    for name, kind in EXTENSION_KINDS.items():
        data = partly(resized(kind.values, SHAPE), kind.blank, SOME_CHUNKS)
        codecs = fit(CHAINS[chain], kind.dtype, kind.serializer)
        yield Case(f"{chain}, {name}", name, data, CHUNKS, codecs, kind.zero, kind.blank, DEFAULT_KEYS, SOME_CHUNKS)


def _by_extension_fill(layout: str) -> Iterator[Case]:
    for name, fill, bits in EXTENSION_FILLS:
        kind = KINDS[name]
        data = partly(resized(kind.values, SHAPE), bits, A_FEW_ELEMENTS)
        codecs = fit(FILL_LAYOUTS[layout], kind.dtype, kind.serializer)
        title = f"{layout}, {name} filled with {fill.replace('/', '_') if isinstance(fill, str) else fill}"
        yield Case(title, name, data, CHUNKS, codecs, fill, bits, DEFAULT_KEYS, A_FEW_ELEMENTS)


def _single_extensions() -> Iterator[Case]:
    for name, kind in EXTENSION_KINDS.items():
        for layout, codecs in {"chunk": [LITTLE], "shard": [sharding([], LITTLE)]}.items():
            data = kind.values[-1:].reshape(())
            fitted = fit(codecs, kind.dtype, kind.serializer)
            title = f"single {layout}, {name}"
            yield Case(title, name, data, (), fitted, kind.zero, kind.blank, DEFAULT_KEYS, [()])


BY_EXTENSION: Mapping[str, Sequence[Case]] = {
    **{chain: tuple(_by_extension(chain)) for chain in EXTENSION_CHAINS},
    **{f"filled {layout}": tuple(_by_extension_fill(layout)) for layout in FILL_LAYOUTS},
    "single": tuple(_single_extensions()),
}
"""Codecs and fill values × data types outside the core."""


# -- shapes and chunk keys

SHAPES: Sequence[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = (
    ((), (), ()),
    ((0,), (2,), (1,)),
    ((3, 0), (2, 4), (2, 2)),
    ((1,), (1,), (1,)),
    ((7,), (4,), (2,)),
    ((3,), (10,), (5,)),
    ((12, 2), (1, 2), (1, 1)),
    ((3, 5, 4), (2, 4, 4), (1, 2, 4)),
    ((2, 1, 3, 1, 2), (1, 1, 2, 1, 2), (1, 1, 1, 1, 2)),
)
"""Of the array, of its chunks, and of the inner chunks if it has shards."""

LAYOUTS: Mapping[str, tuple[Json, bool]] = {
    f"keys {name} {separator}{', shards' if sharded else ''}": (
        {"name": name, "configuration": {"separator": separator}},
        sharded,
    )
    for name, separator in (("default", "/"), ("default", "."), ("v2", "."), ("v2", "/"))
    for sharded in (False, True)
}


def _by_layout(layout: str) -> Iterator[Case]:
    keys, sharded = LAYOUTS[layout]
    kind = KINDS["int16"]
    fill = np.array(-1, kind.dtype)
    for shape, chunks, inner in SHAPES:
        data = resized(np.arange(100, 160, dtype=kind.dtype), shape)
        codecs = [sharding(inner, LITTLE)] if sharded else [LITTLE]
        yield Case(f"{layout}, shape {shape}", "int16", data, chunks, codecs, -1, fill, keys, [...])


BY_LAYOUT: Mapping[str, Sequence[Case]] = {layout: tuple(_by_layout(layout)) for layout in LAYOUTS}
"""Chunk keys × shapes: no dimensions, no elements, chunks that extend beyond the array, chunks larger than the
array."""


# -- the codecs of numcodecs


def numcodecs(id: str, **configuration: Json) -> dict[str, Json]:
    return {"name": f"numcodecs.{id}", "configuration": configuration}


NUMCODECS_KINDS = ("bool", "int16", "float32", "complex128")

NUMCODECS_CHAINS: Mapping[str, tuple[Sequence[dict[str, Json]], Sequence[str]]] = {
    "zlib": ([LITTLE, numcodecs("zlib", level=3)], NUMCODECS_KINDS),
    "zlib by default": ([LITTLE, numcodecs("zlib")], NUMCODECS_KINDS),
    "gzip": ([LITTLE, numcodecs("gzip", level=3)], NUMCODECS_KINDS),
    "bz2": ([LITTLE, numcodecs("bz2", level=9)], NUMCODECS_KINDS),
    "lzma": ([LITTLE, numcodecs("lzma", preset=1)], NUMCODECS_KINDS),
    "lzma bare": (
        [LITTLE, numcodecs("lzma", format=3, filters=[{"id": 3, "dist": 4}, {"id": 33, "preset": 1}])],
        NUMCODECS_KINDS,
    ),
    "lz4": ([LITTLE, numcodecs("lz4", acceleration=2)], NUMCODECS_KINDS),
    "zstd": ([LITTLE, numcodecs("zstd", level=3)], NUMCODECS_KINDS),
    "blosc": ([LITTLE, numcodecs("blosc", cname="zstd", clevel=3, shuffle=2, blocksize=0)], NUMCODECS_KINDS),
    "shuffle": ([LITTLE, numcodecs("shuffle", elementsize=2), numcodecs("zlib", level=1)], ("int16", "complex128")),
    **{
        id: ([BIG, numcodecs(id)], NUMCODECS_KINDS)
        for id in ("crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3")
    },
    "crc32 behind": ([LITTLE, numcodecs("crc32", location="end")], NUMCODECS_KINDS),
    "crc32c before": ([LITTLE, numcodecs("crc32c", location="start")], NUMCODECS_KINDS),
    "delta": ([numcodecs("delta", dtype="<i2"), LITTLE], ("int16",)),
    "delta as another type": ([numcodecs("delta", dtype="<i2", astype="<i4"), BIG, zstd()], ("int16",)),
    "delta in shards": ([sharding([2, 3], numcodecs("delta", dtype="<i2"), LITTLE)], ("int16",)),
    "fixedscaleoffset": (
        [numcodecs("fixedscaleoffset", offset=-2, scale=2, dtype="<f4", astype="<i2"), LITTLE],
        ("small",),
    ),
    "quantize": ([numcodecs("quantize", digits=3, dtype="<f4"), LITTLE], ("small",)),
    "bitround": ([numcodecs("bitround", keepbits=10), LITTLE], ("small",)),
    "astype": ([numcodecs("astype", encode_dtype="<f8", decode_dtype="<f4"), BIG], ("small", "float32")),
    "packbits": ([numcodecs("packbits"), LITTLE], ("bool",)),
}

_SMALL = np.array([0, 0.5, 1, -2, 7.5, 100], "f4")
"""Values that the lossy codecs keep unchanged."""


def _by_numcodecs(chain: str) -> Iterator[Case]:
    codecs, kinds = NUMCODECS_CHAINS[chain]
    for name in kinds:
        kind = KINDS["float32" if name == "small" else name]
        fill = np.zeros((), kind.dtype)
        data = partly(resized(_SMALL if name == "small" else kind.values, SHAPE), fill, SOME_CHUNKS)
        yield Case(
            f"numcodecs {chain}, {name}",
            "float32" if name == "small" else name,
            data,
            CHUNKS,
            fit(codecs, kind.dtype),
            kind.zero,
            fill,
            DEFAULT_KEYS,
            SOME_CHUNKS,
        )


BY_NUMCODECS: Mapping[str, Sequence[Case]] = {chain: tuple(_by_numcodecs(chain)) for chain in NUMCODECS_CHAINS}
"""The codecs that zarr-python has from numcodecs, with types that they accept."""

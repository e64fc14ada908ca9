"""Random options of new arrays of every generation, and elements that all lossy filters keep."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from omnizarr.model import ZarrFormat

__all__ = ["CONVENTIONS", "GENERATIONS", "Case", "random_case"]

GENERATIONS: tuple[Any, ...] = get_args(ZarrFormat)


CONVENTIONS = {"conventions": "zarr-python-2"}
"""The option with which the draft of 2020 has filters, shards and objects."""


class Case(NamedTuple):
    """The options of a new array, without its elements, and the elements."""

    options: dict[str, Any]
    data: npt.NDArray[Any]


def random_case(random: Random, generation: Any = None) -> Case:
    """Options of the given generation, or any. `create_array` rejects about two of three, because they do not fit."""
    generation = generation or random.choice(GENERATIONS)
    dtype = _random_dtype(random)
    shape = tuple(random.choice((1, 2, 3, 5)) for _ in range(random.choice((0, 1, 1, 2, 2, 3))))
    if random.random() < 0.03 and shape:
        shape = (0, *shape[1:])
    chunks = tuple(random.choice((1, 2, 3)) for _ in shape)
    options: dict[str, Any] = {"zarr_format": generation, "dtype": dtype, "chunks": chunks}
    if generation == "3-draft-2020" and random.random() < 0.7:
        options |= CONVENTIONS
    if random.random() < 0.15 and shape:
        options["shards"] = tuple(length * random.choice((1, 2)) for length in chunks)
    for name, make, probability in (
        ("filters", _random_filters, 0.45),
        ("compressors", _random_compressors, 0.6),
        ("serializer", _random_serializer, 0.15),
        ("fill_value", _random_fill, 0.5),
    ):
        if random.random() < probability:
            options[name] = make(random, dtype)
    if "filters" in options and "fill_value" in options and _kind(dtype) in ("i", "u", "f"):
        options["fill_value"] = random.choice((None, 0, 1))  # filters may lose bits of other values
    if "filters" in options and _kind(dtype) in ("string", "O"):
        options["fill_value"] = ""  # the filter `categorize` stores other values that it does not know as this one
    if random.random() < 0.3:
        options["order"] = "F"
    if random.random() < 0.3:
        options["chunk_key_encoding"] = random.choice(_CHUNK_KEYS)
    if random.random() < 0.1:
        options["dimension_names"] = [random.choice(("x", "y", None)) for _ in shape]
    if random.random() < 0.2:
        options["attributes"] = random.choice(({"a": [1, None, {}]}, {"filters": None}, {"filters": [{"id": "x"}]}))
    if random.random() < 0.2:
        options["write_empty_chunks"] = True
    return Case(options, elements(dtype, shape, random))


_CHUNK_KEYS: list[Any] = [
    "/",
    ".",
    {"name": "v2", "separator": "/"},
    {"name": "v2", "configuration": {"separator": "."}},
    {"name": "default", "configuration": {"separator": "."}},
    {"name": "default", "configuration": {"separator": "/"}},
    {"name": "unknown", "configuration": {"separator": "/"}},
]

_NUMBERS = ["i1", "u1", *(f"{order}{kind}{size}" for order in "<>" for kind in "iuf" for size in (2, 4, 8))]
_OTHERS: list[Any] = [
    *("bool", "<c8", ">c8", "<c16", ">c16", "S3", "S1", "<U2", ">U2", "V3", "V8"),
    *("<M8[ns]", ">M8[D]", "<m8[s]", ">m8[10us]", "M8[ms]"),
    *("string", "bytes", object),
    [("x", "<i2"), ("y", ">f4")],
    [("x", ">u4")],
    [("a", "u1"), ("b", "<M8[s]"), ("c", "S2")],
    [("a", [("b", ">i2"), ("c", "?")]), ("d", "<c8")],
    [("a", "<i4", (2,))],
    [("a", "V2"), ("b", "<U1")],
    np.dtype({"names": ["a", "b"], "formats": ["<i2", "<f8"], "offsets": [0, 8], "itemsize": 16}),
    *("bfloat16", "int4", "uint2", "float8_e4m3"),
]


def _random_dtype(random: Random) -> Any:
    return random.choice(_NUMBERS) if random.random() < 0.6 else random.choice(_OTHERS)


def _kind(dtype: Any) -> str:
    try:
        found = np.dtype(dtype)
    except TypeError:
        return str(dtype)
    return "struct" if found.names else found.kind


def elements(dtype: Any, shape: tuple[int, ...], random: Random) -> npt.NDArray[Any]:
    """Small integers as elements of a type: filters that lose precision keep them. Some elements have the value 0."""
    count = int(np.prod(shape, dtype=int))
    numbers = np.array([random.choice((0, 1, 2, 3, 7)) for _ in range(count)], "i8").reshape(shape)
    if dtype in ("string", object):
        return np.array([f"ü{n}" if n else "" for n in numbers.flat], object).reshape(shape)
    if dtype == "bytes":
        return np.array([bytes([n, 0, n]) if n else b"" for n in numbers.flat], object).reshape(shape)
    if isinstance(dtype, str) and dtype in ("bfloat16", "int4", "uint2", "float8_e4m3"):
        import ml_dtypes

        return (numbers % 3).astype(getattr(ml_dtypes, dtype))
    return _of_numpy(numbers, np.dtype(dtype))


def _of_numpy(numbers: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if dtype.names is not None:
        record = np.zeros(numbers.shape, dtype)
        for index, name in enumerate(dtype.names):
            field = dtype[name]
            part = _of_numpy((numbers + index) % 5, field.base)
            record[name] = part.reshape(part.shape + (1,) * len(field.shape))
        return record
    if dtype.kind == "V":
        raw = np.zeros((numbers.size, dtype.itemsize), "u1")
        raw[:, -1] = numbers.reshape(-1)
        return raw.reshape(-1).view(dtype).reshape(numbers.shape) if numbers.size else np.zeros(numbers.shape, dtype)
    if dtype.kind in "SU":
        return np.where(numbers == 0, "", numbers.astype("U1")).astype(dtype)
    if dtype.kind == "b":
        return numbers % 2 == 1
    return numbers.astype(dtype)


def _random_order(random: Random, typestr: str) -> str:
    """The type with a random byte order."""
    return random.choice("<>") + np.dtype(typestr).str[1:] if np.dtype(typestr).itemsize > 1 else typestr


def _random_filters(random: Random, dtype: Any) -> Any:
    two = random.random() < 0.3
    filters = [_random_filter(random, dtype, exact=two and random.random() < 0.5)]
    if two:  # a second filter that loses bits could change the result of the first
        filters.append(_random_filter(random, dtype, exact=True))
        if isinstance(filters[0], dict) and filters[0].get("id") in ("shuffle", "crc32", "zlib", "base64"):
            filters[1] = random.choice(({"id": "delta", "dtype": "|u1"}, {"id": "crc32"}, {"id": "base64"}))
    return filters


def _random_filter(random: Random, dtype: Any, *, exact: bool = False) -> Any:
    kind = _kind(dtype)
    any_kind: list[Any] = [
        {"id": "shuffle", "elementsize": random.choice((1, 4))},
        {"id": "crc32"},
        {"id": "zlib", "level": 1},
        {"id": "base64"},
        {"name": "transpose", "configuration": {"order": random.choice(([0], [1, 0], [0, 1], [2, 1, 0], [1, 2, 0]))}},
    ]
    if kind in ("string", "O"):
        return random.choice(
            (
                *("vlen-utf8", "json2", "msgpack2", {"id": "pickle"}, *any_kind),
                {"id": "categorize", "labels": ["ü1", "ü2", "ü3", "ü7"], "dtype": "|O", "astype": "u1"},
            )
        )
    if kind == "bytes":
        return random.choice(("vlen-bytes", *any_kind))
    if kind == "b":
        return random.choice(({"id": "packbits"}, {"id": "astype", "encode_dtype": "u1", "decode_dtype": "b"}))
    if kind not in "iuf" or len(kind) > 1:
        return random.choice(any_kind)
    typestr = random.choice((np.dtype(dtype).str, _random_order(random, dtype)))
    other = _random_order(random, random.choice(("i1", "u1", "i2", "u4", "f4", "f8", np.dtype(dtype).str)))
    choices = [
        {"id": "delta", "dtype": typestr},
        {"id": "delta", "dtype": typestr, "astype": _random_order(random, np.dtype(dtype).str)},
        {"id": "astype", "encode_dtype": _random_order(random, dtype), "decode_dtype": typestr},
        *any_kind,
    ]
    if exact:
        return random.choice(choices)
    choices += [
        {"id": "astype", "encode_dtype": other, "decode_dtype": typestr},
        {"id": "fixedscaleoffset", "offset": 0, "scale": 2, "dtype": typestr, "astype": other},
        {"name": "numcodecs.fixedscaleoffset", "configuration": {"offset": 0, "scale": 1, "dtype": typestr}},
        {"name": "scale_offset", "configuration": {"offset": 0, "scale": 2}},
        {"name": "cast_value", "configuration": {"data_type": "float64"}},
    ]
    if kind == "f":
        choices += [
            {"id": "quantize", "digits": 2, "dtype": typestr},
            {"id": "quantize", "digits": 2, "dtype": typestr, "astype": _random_order(random, dtype)},
            *({"id": "bitround", "keepbits": 9},) * 3,
            {"name": "bitround", "configuration": {"keepbits": 9}},
        ]
    return random.choice(choices)


def _random_compressors(random: Random, dtype: Any) -> Any:
    return [_random_compressor(random) for _ in range(random.choice((0, 1, 1, 1, 2)))] or None


def _random_compressor(random: Random) -> Any:
    shuffle = random.choice(("noshuffle", "shuffle", "bitshuffle"))
    return random.choice(
        (
            *("gzip", "zstd", "blosc", "crc32c"),
            {"name": "zstd", "configuration": {"level": 3, "checksum": True}},
            {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": shuffle, "typesize": 4}},
            {"id": "blosc", "cname": "zlib", "clevel": 1, "shuffle": random.choice((0, 1, 2, -1)), "blocksize": 0},
            *({"id": "zlib", "level": 1}, {"id": "lz4"}, {"id": "bz2", "level": 1}, {"id": "lzma", "preset": 1}),
            *({"id": "adler32"}, {"id": "crc32"}, {"id": "fletcher32"}, {"id": "shuffle", "elementsize": 2}),
            *({"id": "crc32c", "location": "start"}, {"id": "pcodec"}, {"id": "gzip", "level": 2}),
        )
    )


def _random_serializer(random: Random, dtype: Any) -> Any:
    return random.choice(
        (
            {"name": "bytes", "configuration": {"endian": "big"}},
            {"name": "bytes", "configuration": {"endian": "little"}},
            *("bytes", "vlen-utf8", "vlen-bytes", "packbits", "pcodec", "json2", "auto"),
            {"id": "zfpy", "mode": 2, "rate": -1, "precision": -1, "tolerance": -1.0},
        )
    )


def _random_fill(random: Random, dtype: Any) -> Any:
    kind = _kind(dtype)
    common = [None, 0, 1]
    more: dict[str, list[Any]] = {
        "f": [float("nan"), float("inf"), -float("inf"), -0.0, 0.5],
        "c": [1 + 2j, complex(float("nan"), -0.0)],
        "M": ["NaT", "2020-01-01"],
        "m": ["NaT", 7],
        "S": [b"a", b"\xff", b""],
        "U": ["a", "ü"],
        "string": ["", "ü", "NaN"],
        "O": ["", "ü"],
        "bytes": [b"", b"\x00\xff"],
        "i": [-1],
        "u": [255],
        "b": [True, False],
    }
    return random.choice(common + more.get(kind, []) * 2)

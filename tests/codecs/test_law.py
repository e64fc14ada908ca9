"""One law for all: what a codec without loss takes, of any type and shape, it gives back bit for bit; what it does not
take it refuses before the first chunk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import omnizarr
from omnizarr.codecs import ArrayCodec, Serializer, codec_of, codecs
from omnizarr.dtypes import DataType, data_type_of, data_types
from omnizarr.dtypes.sanitize import Sanitizer
from omnizarr.errors import ArgumentError, MetadataError
from omnizarr.testing.value_checks import same_elements

CONFIGURED: Mapping[str, Sequence[Any]] = {
    "fixed_length_utf32": [{"length_bytes": 12}],
    "null_terminated_bytes": [{"length_bytes": 3}],
    "numpy.datetime64": [{"unit": "us", "scale_factor": 10}, {"unit": "generic", "scale_factor": 1}],
    "numpy.timedelta64": [{"unit": "ns", "scale_factor": 1}],
    "struct": [
        {"fields": [{"name": "a", "data_type": "bool"}, {"name": "b", "data_type": "int4"}]},
        {"fields": [{"name": "a", "data_type": "float64"}, {"name": "b", "data_type": "complex_bfloat16"}]},
    ],
}


def every_type() -> Iterator[DataType]:
    yield from map(data_type_of, ("r8", "r24"))
    for name in data_types.names():
        if name in CONFIGURED:
            yield from (data_type_of({"name": name, "configuration": found}) for found in CONFIGURED[name])
        elif name != "float8_e4m3fn":  # which is only read
            yield data_type_of(name)


TYPES = tuple(every_type())

LOSSY = (
    *("bitround", "cast_value", "scale_offset", "numcodecs.astype", "numcodecs.bitround"),
    *("numcodecs.fixedscaleoffset", "numcodecs.quantize"),
)
NAMES = [name for name in codecs.names() if name not in LOSSY and not name.startswith("https://")]


def configured(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """The codec as somebody would give it to arrays of this type and shape."""
    last = list(reversed(range(len(shape))))
    members: dict[str, dict[str, Any]] = {
        "conditional": {"codecs": [{"name": "gzip", "configuration": {"level": 1}}, {"name": "crc32c"}]},
        "n5_default": {
            "codecs": [
                {"name": "transpose", "configuration": {"order": last}},
                {"name": "bytes", "configuration": {"endian": "big"}},
            ]
        },
        "numcodecs.delta": {"dtype": dtype.str},
        "numcodecs.shuffle": {"elementsize": 1 if dtype.hasobject else dtype.itemsize},
        "reshape": {"shape": [-1]},
        "sharding_indexed": {
            "chunk_shape": [1] * len(shape),
            "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}],
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
        },
        "transpose": {"order": last},
    }
    return {"name": name, "configuration": members[name]} if name in members else name


def elements(data_type: DataType, shape: tuple[int, ...], seed: int) -> npt.NDArray[Any]:
    """Any elements: random bits, where these are elements."""
    random = np.random.default_rng(seed)
    dtype, count = data_type.dtype, int(np.prod(shape))
    if dtype.hasobject:
        texts = random.choice(["", "a", "ä\U0001f71a\0", "x" * 70], count)
        found = np.empty(count, dtype)
        found[:] = [text if data_type.name == "string" else text.encode() for text in texts.tolist()]
        return found.reshape(shape)
    if dtype.kind == "U":
        points = random.integers(0, 0xD800, count * dtype.itemsize // 4, np.uint32)
        return points.view(dtype).reshape(shape)
    bits = np.frombuffer(random.bytes(count * dtype.itemsize), dtype).reshape(shape)
    return Sanitizer(dtype).sanitize(bits)


def kept(name: str, data: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """What a codec without loss keeps of some data; None if that is nothing. zfp has no upper half of the long unsigned
    integers, and makes one NaN of all; differences of floats are rounded."""
    if name == "numcodecs.delta" and data.dtype.kind in "fc":
        return None
    if name not in ("zfp", "numcodecs.zfpy"):
        return data
    if data.dtype.kind == "u" and data.dtype.itemsize > 2:
        return data >> data.dtype.type(1)
    with np.errstate(invalid="ignore"):  # NumPy warns of some NaNs, now and then
        return np.where(data != data, np.zeros((), data.dtype), data)


def given_as(codec: Any) -> dict[str, Any]:
    """The arguments that give an array one codec."""
    kind = codec_of(codec, "codec")
    if isinstance(kind, ArrayCodec):
        return {"filters": [codec], "compressors": None}
    return {"serializer": codec, "compressors": None} if isinstance(kind, Serializer) else {"compressors": [codec]}


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=2)
@given(shape=arrays.array_shapes(min_dims=0, max_dims=3, max_side=5), seed=st.integers(0, 2**32))
def test_any_elements_of_any_type_come_back(name: str, shape: tuple[int, ...], seed: int) -> None:
    taken = 0
    for data_type in TYPES:
        store: dict[str, bytes] = {}
        try:
            options = given_as(configured(name, data_type.dtype, shape))
            omnizarr.create_array(store, shape=shape, chunks=shape, dtype=data_type, **options)
        except (ArgumentError, MetadataError):
            assert not store
            continue
        taken += 1
        data = kept(name, elements(data_type, shape, seed))
        if data is not None:
            array = omnizarr.open_array(store, mode="r+")
            array[...] = data
            found = np.asarray(omnizarr.open_array(store)[...], data.dtype)
            assert same_elements(found, data), data_type
    assert taken

"""Every lossless codec either restores elements of any type and shape bit for bit, or rejects the type when an array is
created."""

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
            yield from (data_type_of({"name": name, "configuration": result}) for result in CONFIGURED[name])
        elif name != "float8_e4m3fn":  # new arrays cannot have it
            yield data_type_of(name)


TYPES = tuple(every_type())

LOSSY = (
    *("bitround", "cast_value", "scale_offset", "numcodecs.astype", "numcodecs.bitround"),
    *("numcodecs.fixedscaleoffset", "numcodecs.quantize"),
)
NAMES = [name for name in codecs.names() if name not in LOSSY and not name.startswith(("https://", "zarrs."))]


def configured(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """The codec in a configuration for arrays of this type and shape."""
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
    """Random elements: random bits, repaired where they are not valid."""
    random = np.random.default_rng(seed)
    dtype, count = data_type.dtype, int(np.prod(shape))
    if dtype.hasobject:
        texts = random.choice(["", "a", "ä\U0001f71a\0", "x" * 70], count)
        array = np.empty(count, dtype)
        array[:] = [text if data_type.name == "string" else text.encode() for text in texts.tolist()]
        return array.reshape(shape)
    if dtype.kind == "U":
        points = random.integers(0, 0xD800, count * dtype.itemsize // 4, np.uint32)
        return points.view(dtype).reshape(shape)
    bits = np.frombuffer(random.bytes(count * dtype.itemsize), dtype).reshape(shape)
    return Sanitizer(dtype).sanitize(bits)


def representable(name: str, data: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """`data` without the values that a codec does not restore, or None if there are no others: zfp lacks the upper half
    of uint32 and uint64 and the bits of NaNs, and `delta` rounds differences of floats."""
    if name == "numcodecs.delta" and data.dtype.kind in "fc":
        return None
    if name not in ("zfp", "numcodecs.zfpy"):
        return data
    if data.dtype.kind == "u" and data.dtype.itemsize > 2:
        return data >> data.dtype.type(1)
    with np.errstate(invalid="ignore"):  # some NaNs make NumPy warn
        return np.where(data != data, np.zeros((), data.dtype), data)


def array_options(codec: Any) -> dict[str, Any]:
    """Arguments of `create_array` for an array with this codec."""
    kind = codec_of(codec, "codec")
    if isinstance(kind, ArrayCodec):
        return {"filters": [codec], "compressors": None}
    return {"serializer": codec, "compressors": None} if isinstance(kind, Serializer) else {"compressors": [codec]}


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=2)
@given(shape=arrays.array_shapes(min_dims=0, max_dims=3, max_side=5), seed=st.integers(0, 2**32))
def test_any_elements_of_any_type_roundtrip(name: str, shape: tuple[int, ...], seed: int) -> None:
    accepted = 0
    for data_type in TYPES:
        store: dict[str, bytes] = {}
        try:
            options = array_options(configured(name, data_type.dtype, shape))
            omnizarr.create_array(store, shape=shape, chunks=shape, dtype=data_type, **options)
        except (ArgumentError, MetadataError):
            assert not store
            continue
        accepted += 1
        data = representable(name, elements(data_type, shape, seed))
        if data is not None:
            array = omnizarr.open_array(store, mode="r+")
            array[...] = data
            result = np.asarray(omnizarr.open_array(store)[...], data.dtype)
            assert same_elements(result, data), data_type
    assert accepted

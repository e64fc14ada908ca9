"""The private `numpy.bytes` codec."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr._json import Problems
from omnizarr.codecs import Bytes, StoredBytes, codecs, plain_serializer
from omnizarr.codecs.contract import BoundSerializer, ChunkSpec
from omnizarr.dtypes import Record
from omnizarr.errors import ArgumentError, CodecError

MIXED = np.dtype([("a", ">i4"), ("b", "<i4", (2,)), ("c", "?"), ("d", ">U2")])
GAPS = np.dtype({"names": ["a", "b"], "formats": [">i2", "<f8"], "offsets": [2, 8], "itemsize": 20})


def bound(codec: Any, stored: np.dtype[Any], shape: tuple[int, ...]) -> BoundSerializer:
    problems = Problems()
    memory = Record(stored).dtype
    bound = codec.bind(ChunkSpec(shape, memory, np.zeros((), memory)), "$.codecs[0]", problems)
    assert bound is not None, problems.found
    return bound  # type: ignore[no-any-return]


def test_golden_bytes() -> None:
    array = np.array([(1, [2, 3], True, "xy")], Record(MIXED).dtype)
    one = bound(StoredBytes(MIXED), MIXED, (1,))
    data = bytes(one.encode(array))
    assert data.hex() == "00000001" + "0200000003000000" + "01" + "0000007800000079"
    decoded = one.decode(data)
    assert decoded.dtype.isnative
    assert decoded.tobytes() == array.tobytes()
    assert one.encoded.size == MIXED.itemsize


def test_padding_is_stored_as_zeros() -> None:
    memory = Record(GAPS).dtype
    array = np.frombuffer(b"\7" * 3 * memory.itemsize, memory).copy()
    array["a"], array["b"] = 1, 1.0
    one = bound(StoredBytes(GAPS), GAPS, (3,))
    data = bytes(one.encode(array))
    assert data == 3 * (b"\0\0" + b"\0\1" + bytes(4) + np.float64(1).tobytes() + bytes(4))
    assert one.decode(data).tolist() == array.tolist()


@pytest.mark.parametrize("endian", ["little", "big"])
def test_the_bytes_codec_also_stores_zeros_in_padding(endian: Any) -> None:
    memory = Record(GAPS).dtype
    array = np.frombuffer(b"\7" * memory.itemsize, memory).copy()
    data = bytes(bound(Bytes(endian), GAPS, (1,)).encode(array))
    assert data[:2] + data[4:8] + data[16:] == bytes(10)


@pytest.mark.parametrize(
    ("stored", "codec"),
    [
        ("<f8", Bytes("little")),
        (">f8", Bytes("big")),
        ("|S3", Bytes()),
        ("|u1", Bytes()),
        (">U3", Bytes("big")),
        ("<M8[s]", Bytes("little")),
        ([("a", "<i2"), ("b", "|S3"), ("c", "<f8", (2,))], Bytes("little")),
        ([("a", ">i2"), ("b", [("c", ">f8")])], Bytes("big")),
        ([("a", "|u1"), ("b", "|V3")], Bytes()),
        (MIXED, StoredBytes(MIXED)),
        (GAPS, StoredBytes(GAPS)),
        ([("a", ">i2"), ("b", [("c", "<f8")])], StoredBytes(np.dtype([("a", ">i2"), ("b", [("c", "<f8")])]))),
    ],
)
def test_plain_serializer_prefers_the_bytes_codec(stored: Any, codec: Any) -> None:
    assert plain_serializer(np.dtype(stored)) == codec


@given(st.binary(min_size=2 * MIXED.itemsize, max_size=2 * MIXED.itemsize) | st.binary(max_size=2 * MIXED.itemsize))
def test_any_bytes_decode_or_raise_codec_error(data: bytes) -> None:
    one = bound(StoredBytes(MIXED), MIXED, (2,))
    try:
        decoded = one.decode(data)
    except CodecError:
        return
    assert str(decoded)
    again = one.decode(one.encode(decoded))
    assert again.tobytes() == decoded.tobytes()


def test_it_is_private_and_a_value() -> None:
    codec = StoredBytes(MIXED)
    assert codec.private
    assert codecs.get(codec.name) is None
    problems = Problems()
    assert StoredBytes.parse(codec.configuration(), "$", problems) == codec
    assert hash(StoredBytes(MIXED)) == hash(codec)
    for value in ({}, {"dtype": "|O"}, {"dtype": "<i3"}, {"dtype": [["a", "|O"]]}):
        assert StoredBytes.parse(value, "$", problems) is None
    with pytest.raises(ArgumentError):
        StoredBytes(np.dtype(object))


def test_the_types_must_match() -> None:
    problems = Problems()
    assert StoredBytes(MIXED).bind(ChunkSpec((1,), np.dtype("i4"), np.zeros((), "i4")), "$", problems) is None
    assert problems

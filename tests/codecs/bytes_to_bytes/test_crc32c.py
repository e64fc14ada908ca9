"""The `crc32c` codec."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr._json import Problems
from omnizarr.codecs.bytes_to_bytes.crc32c import BoundCrc32c, Crc32c
from omnizarr.codecs.contract import ByteSpec
from omnizarr.errors import CodecError


def bound(size: int | None, limit: int = 100) -> BoundCrc32c:
    return Crc32c().bind(ByteSpec(size, limit, 2), "$", Problems())


@pytest.mark.parametrize(
    ("data", "checksum"),
    [
        (b"123456789", 0xE3069283),  # check value from the catalogue of CRC algorithms
        (bytes(32), 0x8A9136AA),  # this and the next three: RFC 3720, B.4
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
        (b"", 0),
    ],
)
def test_R94_golden_bytes(data: bytes, checksum: int) -> None:
    codec = bound(len(data))
    assert bytes(codec.encode(data)) == data + checksum.to_bytes(4, "little")
    assert bytes(codec.encode(memoryview(data))) == data + checksum.to_bytes(4, "little")
    assert codec.decode(data + checksum.to_bytes(4, "little")) == data


def test_R94_size_and_empty_configuration() -> None:
    assert bound(10).encoded == ByteSpec(14, 104, 2)
    assert bound(None).encoded == ByteSpec(None, 104, 2)
    assert Crc32c().to_json() == {"name": "crc32c"}


def test_decode_does_not_copy() -> None:
    data = bound(5).encode(b"hello")
    assert np.shares_memory(np.frombuffer(bound(5).decode(data), "u1"), np.frombuffer(data, "u1"))


@given(st.binary(max_size=60), st.data())
def test_R94_every_changed_bit_is_detected(content: bytes, draw: st.DataObject) -> None:
    codec = bound(len(content))
    data = bytearray(codec.encode(content))
    assert codec.decode(data) == content
    bit = draw.draw(st.integers(0, 8 * len(data) - 1))
    data[bit // 8] ^= 1 << bit % 8
    with pytest.raises(CodecError, match="damaged"):
        codec.decode(data)


@pytest.mark.parametrize("length", [0, 3])
def test_R94_data_too_short(length: int) -> None:
    with pytest.raises(CodecError, match="at least 4 bytes"):
        bound(None).decode(bytes(length))


def test_unexpected_length() -> None:
    data = bytes(bound(5).encode(b"hello"))
    with pytest.raises(CodecError, match="expected 4 bytes, found 5"):
        bound(4).decode(data)
    with pytest.raises(CodecError, match="expected at most 4 bytes, found 5"):
        bound(None, 4).decode(data)
    with pytest.raises(CodecError):
        bound(5).decode(data[:-1])
    with pytest.raises(CodecError):
        bound(5).decode(data + b"\0")

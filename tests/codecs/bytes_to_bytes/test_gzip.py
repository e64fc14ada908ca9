"""The `gzip` codec."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnizarr._json import Problems
from omnizarr.codecs.bytes_to_bytes.gzip import BoundGzip, Gzip
from omnizarr.codecs.contract import ByteSpec
from omnizarr.errors import CodecError

HELLO = bytes.fromhex("1f8b08000000000000ffcb48cdc9c9070086a6103605000000")  # "hello"


def bound(size: int | None, limit: int = 2**20, level: int = 5) -> BoundGzip:
    return Gzip(level).bind(ByteSpec(size, limit if size is None else size), "$", Problems())


def member(content: bytes, level: int = 6) -> bytes:
    return zlib.compress(content, level, 31)


def test_R89_golden_bytes() -> None:
    assert bound(5).decode(HELLO) == b"hello"


def test_R89_every_optional_part_of_the_header() -> None:
    header = bytearray(HELLO[:10])
    header[3] = 0x04 | 0x08 | 0x10  # extra field, name, comment
    assert bound(5).decode(bytes(header) + b"\2\0xx" + b"name\0" + b"comment\0" + HELLO[10:]) == b"hello"


@pytest.mark.parametrize("level", range(10))
def test_R89_other_decoders_read_every_level(level: int) -> None:
    content = bytes(range(256)) * 20
    encoded = bytes(bound(len(content), level=level).encode(memoryview(content)))
    assert gzip.decompress(encoded) == content
    assert bound(len(content)).decode(encoded) == content
    assert bound(len(content)).decode(member(content, level)) == content


def test_A28_a_missing_level_gives_a_warning() -> None:
    problems = Problems()
    assert Gzip.parse({}, "$.codecs[1]", problems) == Gzip()
    assert not problems.found
    assert problems.warnings[0].path == "$.codecs[1].configuration"
    assert Gzip().configuration() == {"level": 5}


def test_encoded_bytes_have_no_fixed_size() -> None:
    assert bound(10).encoded.size is None
    assert bound(10).encoded.limit >= len(bound(10).encode(bytes(10)))


@given(st.binary(max_size=2000), st.integers(0, 9))
def test_roundtrip(content: bytes, level: int) -> None:
    for size in (len(content), None):
        codec = bound(size, level=level)
        assert codec.decode(codec.encode(content)) == content


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=6), st.integers(0, 9))
def test_R89_several_members_and_trailing_zeros(contents: list[bytes], zeros: int) -> None:
    data = b"".join(map(member, contents)) + bytes(zeros)
    whole = b"".join(contents)
    assert bound(len(whole)).decode(memoryview(data)) == whole
    assert bound(None, len(whole)).decode(data) == whole
    if whole:
        with pytest.raises(CodecError):
            bound(len(whole) - 1).decode(data)
    with pytest.raises(CodecError):
        bound(len(whole) + 1).decode(data)


def test_members_longer_than_one_step() -> None:
    contents = [zlib.crc32(bytes([part])).to_bytes(4, "little") * 2**16 for part in range(3)]
    data = b"".join(member(content, 0) for content in contents)
    assert bound(3 * 2**18).decode(data) == b"".join(contents)
    with pytest.raises(CodecError, match="middle of a stream"):
        bound(3 * 2**18).decode(data[:-20])


def test_many_empty_members_take_linear_time() -> None:
    assert bound(0).decode(member(b"") * 5000) == b""


@pytest.mark.parametrize("content", [b"", b"hello", bytes(100_000)])
def test_every_truncation_is_an_error(content: bytes) -> None:
    data = member(content)
    for length in range(len(data)):
        with pytest.raises(CodecError):
            bound(len(content)).decode(data[:length])
        with pytest.raises(CodecError):
            bound(None).decode(data[:length])


@pytest.mark.parametrize("rest", [b"x", b"\0\0x", HELLO[:5], b"\x1f\x8b", b"\x1fgarbage" * 10])
def test_garbage_after_the_last_member(rest: bytes) -> None:
    with pytest.raises(CodecError):
        bound(5).decode(HELLO + rest)


def test_wrong_checksum_and_wrong_size_in_the_trailer() -> None:
    for position in (-1, -5):
        data = bytearray(HELLO)
        data[position] ^= 1
        with pytest.raises(CodecError):
            bound(5).decode(data)


@settings(max_examples=8 * settings().max_examples)
@given(st.binary(min_size=1, max_size=400), st.data())
def test_a_changed_bit_gives_the_content_or_a_codec_error(content: bytes, draw: st.DataObject) -> None:
    data = bytearray(bound(len(content)).encode(content))
    bit = draw.draw(st.integers(0, 8 * len(data) - 1))
    data[bit // 8] ^= 1 << bit % 8
    try:
        assert bound(len(content)).decode(data) == content  # some header bits have no effect
    except CodecError:
        pass


@given(st.binary(max_size=60))
def test_any_bytes_decode_or_raise_codec_error(data: bytes) -> None:
    for start in (b"", HELLO, HELLO[:10]):
        try:
            bound(None, 100).decode(start + data)
        except CodecError:
            pass


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("size", [1000, None])
def test_a_decompression_bomb_allocates_little_memory(size: int | None, members: int) -> None:
    bomb = member(bytes(50_000_000 // members)) * members
    codec = bound(size, 1000)
    codec.encode(b"")
    tracemalloc.start()
    try:
        with pytest.raises(CodecError, match="expected 1000 bytes, found more"):
            codec.decode(bomb)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_concurrent_use() -> None:
    contents = [bytes([part]) * (1000 + part) + bytes(range(256)) for part in range(40)]
    with ThreadPoolExecutor(8) as pool:
        encoded = list(pool.map(lambda content: bound(len(content)).encode(content), contents))
        assert list(pool.map(lambda content, data: bound(len(content)).decode(data), contents, encoded)) == contents


def test_R89_a_document_of_n5_zarr() -> None:
    problems = Problems()
    assert Gzip.parse({"level": -1, "useZlib": False}, "$", problems) == Gzip(6)
    assert not problems.found
    assert [warning.path for warning in problems.warnings] == ["$.configuration.useZlib", "$.configuration.level"]
    assert Gzip.parse({"level": 1, "useZlib": True}, "$", problems) is None
    assert Gzip.parse({"level": -2}, "$", Problems()) is None

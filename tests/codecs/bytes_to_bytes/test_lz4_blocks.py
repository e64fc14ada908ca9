"""LZ4 in N5: the block stream of lz4-java and the bare block of z5; and its hash function."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.n5_values import memory_below

from omnizarr._json import Problems
from omnizarr.codecs.bytes_to_bytes.lz4_blocks import BoundLz4Blocks, Lz4Blocks
from omnizarr.codecs.bytes_to_bytes.xxh32 import xxh32, xxh32_in_python
from omnizarr.codecs.contract import ByteSpec
from omnizarr.errors import ArgumentError, CodecError

JAVA = bytes.fromhex("4c5a34426c6f636b 16 05000000 05000000 86e4790f 4e65747479 4c5a34426c6f636b 16 " + "00" * 12)
"""The text `Netty`, as `LZ4BlockOutputStream` of lz4-java writes it with its default block size."""
SEED = 0x9747B28C


def bound(size: int, block_size: int = 2**16) -> BoundLz4Blocks:
    return Lz4Blocks(block_size).bind(ByteSpec(size, size), "$", Problems())


def test_the_stream_of_java() -> None:
    assert bytes(bound(5).decode(JAVA)) == b"Netty"
    assert bytes(bound(5).encode(b"Netty")) == JAVA


@given(st.binary(max_size=300), st.sampled_from([6, 64, 100, 2**16, 2**25]), st.integers(1, 50))
def test_round_trips(data: bytes, block_size: int, times: int) -> None:
    data = data * times or b"\0"
    codec = bound(len(data), block_size)
    encoded = bytes(codec.encode(data))
    assert encoded.startswith(b"LZ4Block") == (block_size >= 64)
    assert len(encoded) <= codec.encoded.limit
    assert bytes(codec.decode(encoded)) == data
    assert bytes(bound(len(data), 1000).decode(encoded)) == data, "the form is detected"


def header(token: int, encoded: int, decoded: int, checksum: int = 0, magic: bytes = b"LZ4Block") -> bytes:
    return struct.pack("<8sBIII", magic, token, encoded, decoded, checksum)


END = header(0x16, 0, 0)
BLOCK = JAVA[:26]
DAMAGED = {
    "nothing": b"",
    "no end": BLOCK,
    "half a header": BLOCK + END[:20],
    "half a block": JAVA[:24],
    "other magic": BLOCK + header(0x16, 0, 0, magic=b"LZ4block"),
    "other method": header(0x36, 5, 5, 0x0F79E486) + b"Netty" + END,
    "raw with other size": header(0x16, 5, 4, 0x0F79E486) + b"Netty" + END,
    "empty with size": header(0x16, 5, 0) + b"Netty" + END,
    "longer than its level": header(0x20, 5, 2000) + b"Netty" + END,
    "wrong checksum": header(0x16, 5, 5, 0x0F79E487) + b"Netty" + END,
    "end with checksum": BLOCK + header(0x16, 0, 0, 1),
    "damaged block": header(0x26, 5, 5, 0x0F79E486) + b"Netty" + END,
    "huge size": header(0x2F, 2**32 - 1, 2**25) + b"Netty",
    "bomb": header(0x2F, 5, 2**25) + b"Netty" + END,
    "too many bytes": BLOCK + BLOCK + END,
    "too few bytes": END,
    "more after the end": JAVA + b"\0",
    "bare block": b"Netty",
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_streams_are_rejected_in_little_memory(kind: str) -> None:
    with memory_below(2**20), pytest.raises(CodecError):
        bound(5).decode(DAMAGED[kind])


def test_a_bare_block_needs_a_known_size() -> None:
    with pytest.raises(CodecError, match="begin with `LZ4Block`"):
        Lz4Blocks().bind(ByteSpec(None, 100), "$", Problems()).decode(b"Netty")


@pytest.mark.parametrize("size", [-1, 2**25 + 1])
def test_block_sizes_are_limited(size: int) -> None:
    with pytest.raises(ArgumentError, match="block_size"):
        Lz4Blocks(size)


@pytest.mark.parametrize(
    ("data", "seed", "digest"),
    [
        (b"", 0, 0x02CC5D05),
        (b"a", 0, 0x550D7456),
        (b"abc", 0, 0x32D153FF),
        (b"Nobody inspects the spammish repetition", 0, 0xE2293B2F),
        (b"Netty", SEED, 0x2F79E486),
    ],
)
def test_the_hash_function(data: bytes, seed: int, digest: int) -> None:
    assert xxh32_in_python(data, seed) & 0x0FFFFFFF == digest & 0x0FFFFFFF
    assert xxh32(data, seed) == xxh32_in_python(data, seed)

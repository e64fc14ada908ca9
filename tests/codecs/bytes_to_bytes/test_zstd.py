"""The `zstd` codec."""

from __future__ import annotations

import importlib
import os
import struct
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnizarr._json import Problems
from omnizarr.codecs.bytes_to_bytes.zstd import BoundZstd, Zstd
from omnizarr.codecs.contract import ByteSpec
from omnizarr.errors import CodecError

MAGIC = bytes.fromhex("28b52ffd")
HELLO = MAGIC + bytes.fromhex("2005290000") + b"hello"  # one uncompressed block, with content size
SKIPPED = bytes.fromhex("5a2a4d1803000000") + b"abc"


def bound(size: int | None, limit: int = 2**20, **arguments: Any) -> BoundZstd:
    return Zstd(**arguments).bind(ByteSpec(size, limit if size is None else size), "$", Problems())


def stored(content: bytes, *, stated: bool, last: int = 1) -> bytes:
    """A frame with one uncompressed block."""
    header = b"\xa0" + len(content).to_bytes(4, "little") if stated else b"\x00\x58"
    return MAGIC + header + (len(content) << 3 | last).to_bytes(3, "little") + content


def repeated(length: int, blocks: int) -> bytes:
    """A frame without content size, of `blocks` blocks that each repeat one byte `length` times."""
    every = [(length << 3 | 2 | (number == blocks - 1)).to_bytes(3, "little") + b"z" for number in range(blocks)]
    return MAGIC + b"\x00\x58" + b"".join(every)


def streaming() -> Any:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            pass
    return pytest.skip("needs the zstd module of Python 3.14 or its backport")


def test_R124_golden_bytes() -> None:
    assert bound(5).decode(HELLO) == b"hello"
    compressed = MAGIC + bytes.fromhex("60e8024d00001061610100e32b8005")
    assert bound(1000).decode(compressed) == b"a" * 1000


def test_R124_configuration() -> None:
    assert Zstd(3).configuration() == {"level": 3, "checksum": False}
    problems = Problems()
    assert Zstd.parse({"level": 3}, "$", problems) == Zstd(3)
    assert not problems.warnings
    assert Zstd.parse({}, "$", problems) == Zstd()
    assert len(problems.warnings) == 1
    assert Zstd.parse({"level": -131072, "checksum": True}, "$", problems) == Zstd(-131072, checksum=True)
    assert not problems.found
    assert Zstd.parse({"level": -131073, "checksum": 0}, "$", problems) is None
    assert len(problems.found) == 2


@given(
    content=st.one_of(
        st.binary(max_size=300), st.builds(lambda part, n: part * n, st.binary(max_size=9), st.integers(0, 40000))
    ),
    level=st.sampled_from([-131072, -5, 0, 1, 3, 9]),
    checksum=st.booleans(),
)
def test_roundtrip(content: bytes, level: int, checksum: bool) -> None:
    encoded = bound(len(content), level=level, checksum=checksum).encode(memoryview(content))
    assert bound(len(content)).decode(encoded) == content
    assert bound(None).decode(memoryview(encoded)) == content
    assert bound(len(content)).decode(encoded, memoryview(bytearray(len(content)))) == content


def test_decode_into_out() -> None:
    for data in (HELLO, stored(b"hello", stated=False), SKIPPED + stored(b"hello", stated=True)):
        out = memoryview(bytearray(5))
        assert bound(5).decode(data, out) is out
        assert out == b"hello"
        for length in (4, 6):  # a buffer of another size is ignored
            assert bound(None).decode(data, memoryview(bytearray(length))) == b"hello"


def test_skippable_frames_alone_decode_to_nothing() -> None:
    assert bound(0).decode(SKIPPED * 2) == b""
    for length in range(len(SKIPPED)):
        with pytest.raises(CodecError):
            bound(0).decode(SKIPPED[:length])


FRAMES = st.lists(st.tuples(st.binary(max_size=20), st.sampled_from(["stated", "unknown", "library"])), max_size=5)


def joined(frames: list[tuple[bytes, str]], skipped: int | None) -> bytes:
    made = [
        bytes(bound(len(content)).encode(content)) if kind == "library" else stored(content, stated=kind == "stated")
        for content, kind in frames
    ]
    if skipped is not None:
        made.insert(skipped % (len(made) + 1), SKIPPED)
    return b"".join(made)


@settings(max_examples=8 * settings().max_examples)
@given(FRAMES, st.none() | st.integers(0, 5))
def test_R124_several_frames_unknown_sizes_and_skippable_frames(
    frames: list[tuple[bytes, str]], skipped: int | None
) -> None:
    data, whole = joined(frames, skipped), b"".join(content for content, _ in frames)
    if not data:
        return
    assert bound(len(whole)).decode(data) == whole
    assert bound(len(whole)).decode(data, memoryview(bytearray(len(whole)))) == whole
    assert bound(None, len(whole)).decode(data) == whole
    for size in {len(whole) + 1, max(0, len(whole) - 1), 2 * len(whole) + 1} - {len(whole)}:
        with pytest.raises(CodecError):
            bound(size).decode(data)
    if whole:
        with pytest.raises(CodecError):
            bound(None, len(whole) - 1).decode(data)


@given(FRAMES.filter(bool), st.none() | st.integers(0, 5), st.data())
def test_truncated_and_extended_data(frames: list[tuple[bytes, str]], skipped: int | None, draw: st.DataObject) -> None:
    data, whole = joined(frames, skipped), b"".join(content for content, _ in frames)
    cut = data[: draw.draw(st.integers(0, len(data) - 1))]
    for codec in (bound(len(whole)), bound(None)):
        try:
            assert codec.decode(cut) == whole[: len(codec.decode(cut))]  # a cut between two frames
        except CodecError:
            pass
        for rest in (b"\0", b"garbage", data[:3]):
            with pytest.raises(CodecError):
                codec.decode(data + rest)
    with pytest.raises(CodecError):
        bound(None).decode(b"")


@settings(max_examples=8 * settings().max_examples)
@given(st.binary(min_size=1, max_size=100), st.booleans(), st.data())
def test_a_changed_bit_gives_the_right_size_or_a_codec_error(
    content: bytes, checksum: bool, draw: st.DataObject
) -> None:
    content *= 3
    data = bytearray(bound(len(content), checksum=checksum).encode(content))
    bit = draw.draw(st.integers(0, 8 * len(data) - 1))
    data[bit // 8] ^= 1 << bit % 8
    for codec in (bound(len(content)), bound(None)):
        try:
            decoded = codec.decode(data)
        except CodecError:
            continue
        if codec.encoded == bound(len(content)).encoded:
            assert len(decoded) == len(content)
        if checksum and data[4] & 4:
            assert decoded == content


def test_R124_checksum_is_written_and_verified() -> None:
    data = bytearray(bound(5, checksum=True).encode(b"hello"))
    assert data[4] & 4
    data[-6] ^= 1
    with pytest.raises(CodecError, match="checksum"):
        bound(5).decode(data)


@given(st.binary(max_size=60))
def test_any_bytes_decode_or_raise_codec_error(data: bytes) -> None:
    for start in (b"", MAGIC, HELLO, SKIPPED, MAGIC + b"\x00\x58"):
        for codec in (bound(5), bound(None, 100), bound(0)):
            try:
                codec.decode(start + data)
            except CodecError:
                pass


@pytest.mark.parametrize("size", [1000, None])
@pytest.mark.parametrize(
    "bomb",
    [
        bytes(bound(50_000_000).encode(bytes(50_000_000))),
        stored(b"z" * 1000, stated=True) + bytes(bound(50_000_000).encode(bytes(50_000_000))),
        stored(b"z" * 1000, stated=True) + repeated(2**17, 400),
        repeated(2**17, 400),
        MAGIC + b"\xe0" + (2**40).to_bytes(8, "little") + HELLO[6:],  # declares 1 TiB
    ],
    ids=["stated", "second-stated", "second-unknown", "unknown", "false"],
)
def test_a_decompression_bomb_allocates_little_memory(size: int | None, bomb: bytes) -> None:
    codec = bound(size, 1000)
    tracemalloc.start()
    try:
        with pytest.raises(CodecError):
            codec.decode(bomb)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_header_with_too_large_a_size_allocates_little_memory() -> None:
    lie = MAGIC + b"\xa0" + (10**9).to_bytes(4, "little") + HELLO[6:]
    with pytest.raises(CodecError, match="the blocks decode to at most 5"):
        bound(None, 2**32).decode(lie)


def test_unknown_size_with_a_small_limit() -> None:
    data = repeated(1000, 3)
    assert bound(None, 3000).decode(data) == b"z" * 3000
    with pytest.raises(CodecError, match="expected at most 2999 bytes, found 3000"):
        bound(None, 2999).decode(data)
    with pytest.raises(CodecError, match="expected at most 3000 bytes"):
        bound(None, 3000).decode(repeated(2**17, 9))


def test_streams_of_other_writers() -> None:
    zstd = streaming()
    content = bytes(range(256)) * 3000
    stream = zstd.ZstdCompressor()
    parts = [stream.compress(content[at : at + 10_000]) for at in range(0, len(content), 10_000)]
    data = b"".join(parts) + stream.flush()
    assert bound(len(content)).decode(data) == content
    assert bound(None).decode(data) == content
    assert zstd.decompress(bytes(bound(len(content), level=1).encode(content))) == content


def test_numcodecs_reads_and_writes_the_same_frames() -> None:
    numcodecs = pytest.importorskip("numcodecs")
    content = bytes(range(256)) * 30
    for level, checksum in ((-3, False), (0, True), (19, False)):
        theirs = numcodecs.Zstd(level, checksum)
        assert bound(len(content)).decode(theirs.encode(content)) == content
        assert theirs.decode(bound(len(content), level=level, checksum=checksum).encode(content)) == content


def test_concurrent_use() -> None:
    contents = [bytes([part]) * (1000 + part) + bytes(range(256)) for part in range(40)]
    with ThreadPoolExecutor(8) as pool:
        encoded = list(pool.map(lambda content: bound(len(content)).encode(content), contents))
        assert list(pool.map(lambda content, data: bound(len(content)).decode(data), contents, encoded)) == contents


@pytest.mark.parametrize("difference", [-1, 1, 100])
def test_a_wrong_content_size_is_detected(difference: int) -> None:
    """The fast path trusts the content size in the header; the library detects if it is wrong."""
    content = bytes(range(250)) * 8
    frame = bytearray(bound(len(content)).encode(content))
    assert frame[4] >> 5 == 3  # a content size of two bytes, and no window descriptor
    struct.pack_into("<H", frame, 5, len(content) - 256 + difference)
    size = len(content) + difference
    with pytest.raises(CodecError):
        bound(size).decode(bytes(frame), memoryview(bytearray(size)))


def outcome(codec: BoundZstd, data: bytes, out: memoryview | None) -> tuple[bool, bytes]:
    try:
        return True, bytes(codec.decode(data, out))
    except CodecError as error:
        return False, str(error).encode()


@settings(max_examples=300)
@given(
    content=st.builds(lambda part, n: part * n, st.binary(max_size=30), st.integers(0, 300)),
    checksum=st.booleans(),
    change=st.sampled_from(["none", "cut", "flip", "trail", "twice", "skip", "skipped"]),
    place=st.integers(0, 2**16),
    off=st.sampled_from([0, 0, 0, 1, -1]),
    into=st.booleans(),
)
def test_both_libraries_agree(content: bytes, checksum: bool, change: str, place: int, off: int, into: bool) -> None:
    """`zstandard` (small chunks) and `numcodecs` give the same bytes or the same message for every frame."""
    data = bound(len(content), level=1, checksum=checksum).encode(content)
    place %= len(data)
    flipped = data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]
    data = {
        "none": data,
        "cut": data[:place],
        "flip": flipped,
        "trail": data + b"x",
        "twice": data + data,
        "skip": data + SKIPPED,
        "skipped": SKIPPED + data,
    }[change]
    size = max(0, len(content) + off)
    quick, long = bound(size), bound(size)
    long._size = 0  # disables the path for small chunks
    rooms = [memoryview(bytearray(size)) if into else None for _ in range(2)]
    assert outcome(quick, data, rooms[0]) == outcome(long, data, rooms[1])
    assert outcome(quick, data, rooms[0]) == outcome(long, data, rooms[1])  # with a reused context


GROWTH = """
import numpy as np, omnizarr

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

some = np.array(["x" * 100_000] * 200, np.dtypes.StringDType())
z = omnizarr.create_array({}, shape=(6000,), dtype="string", chunks=(200,), compressors="zstd")
before = resident()
for start in range(0, 6000, 200):
    z[start : start + 200] = some
print(resident() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not report memory use")
def test_encoded_frames_keep_no_surplus_memory() -> None:
    """An encoded frame does not keep the buffer for the worst case alive; thirty of 20 MB each would show here."""
    completed = subprocess.run([sys.executable, "-c", GROWTH], check=True, capture_output=True, text=True)
    assert int(completed.stdout) < 300 * 2**20

"""`decode_many` equals `decode` of each value, also for damaged ones, and `decode_part` equals a slice of `decode`."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnizarr._json import Problems
from omnizarr.codecs import Blosc, BytesCodec, Gzip, Zstd
from omnizarr.codecs.bytes_to_bytes.blosc_frames import HEADER, join_frames
from omnizarr.codecs.contract import BoundBytesCodec, ByteSpec
from omnizarr.errors import CodecError

CODECS: dict[str, BytesCodec] = {
    "lz4": Blosc("lz4", 5, "shuffle", 2),
    "lz4, bits": Blosc("lz4", 5, "bitshuffle", 4),
    "blosclz": Blosc("blosclz", 9, "noshuffle", 1),
    "blosc zstd": Blosc("zstd", 1, "shuffle", 8),
    "blosc zlib": Blosc("zlib", 1, "shuffle", 3),
    "blosc, several blocks": Blosc("lz4", 5, "shuffle", 2, blocksize=1024),
    "blosc, stored": Blosc("lz4", 0, "shuffle", 2),
    "zstd": Zstd(1),
    "zstd, checked": Zstd(3, checksum=True),
    "gzip": Gzip(1),
}
SIZE = 3 * 2**14


def bound_to(codec: BytesCodec, size: int = SIZE) -> BoundBytesCodec:
    bound = codec.bind(ByteSpec(size, size, itemsize=2), "$", Problems())
    assert bound is not None
    return bound


def content(seed: int, size: int = SIZE) -> bytes:
    """Compressible data, except for every fourth seed."""
    random = np.random.default_rng(seed)
    if seed % 4 == 3:
        return random.bytes(size)
    return (np.arange(size // 2, dtype="<u2") // (seed + 1) + random.integers(0, 4, size // 2, dtype="<u2")).tobytes()


def outcome(decode: Callable[[], Any]) -> Any:
    try:
        return [None if result is None else bytes(result) for result in decode()]
    except CodecError as error:
        return str(error)


def many(bound: BoundBytesCodec, frames: list[Any], *, size: int = SIZE, rooms: int | None = None) -> Any:
    memory = memoryview(bytearray(size * (rooms or len(frames))))
    outs = [memory[start : start + size] for start in range(0, len(memory), size)]
    return outcome(lambda: list(bound.decode_many(frames, outs, memory))[: len(frames)])


def one_by_one(bound: BoundBytesCodec, frames: list[Any]) -> Any:
    return outcome(lambda: [None if data is None else bound.decode(data) for data in frames])


@pytest.mark.parametrize("name", CODECS)
@settings(max_examples=40)
@given(
    seeds=st.lists(st.one_of(st.none(), st.integers(0, 7)), min_size=1, max_size=6),
    damages=st.lists(st.tuples(st.integers(0, 5), st.integers(-2, 10**6), st.integers(0, 255)), max_size=2),
)
def test_results_equal_those_of_single_values(
    name: str, seeds: list[int | None], damages: list[tuple[int, int, int]]
) -> None:
    """Damaged frames are truncated, extended, or have a changed byte."""
    bound = bound_to(CODECS[name])
    frames: list[Any] = [None if seed is None else bytes(bound.encode(content(seed))) for seed in seeds]
    for which, place, byte in damages:
        if which < len(frames) and frames[which]:
            frame = bytearray(frames[which])
            if place < 0:
                frame = frame[:place] if place == -1 else frame + b"\0"
            else:
                frame[place % min(len(frame), 200 if place % 2 else len(frame))] = byte
            frames[which] = bytes(frame)
    assert many(bound, frames, rooms=8) == one_by_one(bound, frames)


@pytest.mark.parametrize("name", ["lz4", "zstd"])
def test_a_truncated_frame_is_not_completed_by_the_next(name: str) -> None:
    """The second value begins with the missing end of the first; both are damaged."""
    bound = bound_to(CODECS[name])
    whole = bytes(bound.encode(content(0)))
    for cut in (1, 7, 100, len(whole) - 30):
        frames = [whole[:-cut], whole[-cut:] + whole]
        assert isinstance(one_by_one(bound, frames), str)
        assert many(bound, frames) == one_by_one(bound, frames)


def test_a_frame_that_extends_into_the_next_is_rejected() -> None:
    """The first frame decodes to the right size, but only with the next frame as a part of it."""
    bound = bound_to(CODECS["zstd"], 1000)
    second = bytes(bound.encode(bytes(1000)))

    def block(last: int, kind: int, length: int) -> bytes:
        return (last | kind << 1 | length << 3).to_bytes(3, "little")

    header = b"\x28\xb5\x2f\xfd\x60" + struct.pack("<H", 1000 - 256)
    first = header + block(0, 1, 1000 - len(second)) + b"x" + block(1, 0, len(second))
    assert bound.decode(first + second) == b"x" * (1000 - len(second)) + second
    assert many(bound, [first, second], size=1000) == one_by_one(bound, [first, second])


def test_a_blosc_frame_that_extends_into_the_next_is_rejected() -> None:
    """A stream of the length of a block is uncompressed, so a damaged length can make any stream look uncompressed."""
    bound = bound_to(CODECS["lz4"])
    frames = [bytearray(bound.encode(content(seed))) for seed in (0, 1, 2)]
    second = 24 + struct.unpack_from("<I", frames[0], 20)[0]
    assert join_frames(frames, SIZE) is not None
    struct.pack_into("<I", frames[0], second, SIZE // 2)
    assert join_frames(frames, SIZE) is None
    assert isinstance(one_by_one(bound, frames), str)
    assert many(bound, frames) == one_by_one(bound, frames)


def test_wrong_sizes_that_add_up_are_rejected() -> None:
    """Two chunks of wrong sizes must not pass because their sum is right."""
    bound = bound_to(CODECS["zstd"], 64)
    shorter, longer = (bytes(bound_to(CODECS["zstd"], size).encode(bytes(size))) for size in (60, 68))
    assert many(bound, [shorter, longer], size=64) == one_by_one(bound, [shorter, longer])
    two = bytes(bound_to(CODECS["zstd"], 32).encode(bytes(32))) * 2  # one value of two frames
    assert many(bound, [two, two], size=64) == [bytes(64)] * 2


def test_blosc_frames_are_joined_only_with_equal_headers() -> None:
    bound = bound_to(CODECS["lz4"])
    frames = [bytes(bound.encode(content(seed))) for seed in (0, 1)]
    together = join_frames(frames, SIZE)
    assert together is not None
    assert len(together) == sum(map(len, frames)) + HEADER.size + 8
    other = bytes(bound_to(Blosc("zstd", 1, "shuffle", 2)).encode(content(0)))
    stored = bytes(bound.encode(content(3)))
    moved = frames[0][:16] + struct.pack("<I", 21) + frames[0][20:]
    for second in (other, stored, moved, b"", frames[1] + b"\0"):
        assert join_frames([frames[0], second], SIZE) is None
        assert join_frames([second, frames[0]], SIZE) is None
    assert join_frames(frames, SIZE + 2) is None


@pytest.mark.parametrize("name", [name for name, codec in CODECS.items() if bound_to(codec).parts])
@settings(max_examples=60)
@given(
    size=st.integers(1, 3000),
    seed=st.integers(0, 7),
    part=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    order=st.randoms(use_true_random=False),
)
def test_parts_equal_slices_of_the_whole(
    name: str, size: int, seed: int, part: tuple[float, float], order: Any
) -> None:
    """Also if blocks have another order, as parallel writers may store them."""
    size *= 64
    bound = bound_to(CODECS[name], size)
    data = content(seed, size)
    frame = bytes(bound.encode(data))
    frame = frame if name.startswith("zstd") else shuffled(frame, order)
    assert bytes(bound.decode(frame)) == data
    start = int(part[0] * (size - 1))
    length = 1 + int(part[1] * (size - start - 1))
    asked: list[tuple[int, int]] = []

    def read(at: int, count: int) -> bytes:
        asked.append((at, count))
        assert 0 <= at <= at + count <= len(frame)
        return frame[at : at + count]

    assert bytes(bound.decode_part(read, len(frame), start, length)) == data[start : start + length]


def shuffled(frame: bytes, order: Any) -> bytes:
    """A Blosc frame with its blocks in another order."""
    header = HEADER.unpack_from(frame)
    flags, size, block = header[2], header[4], header[5]
    if flags & 2:
        return frame
    count = -(-size // block)
    starts = struct.unpack_from(f"<{count}I", frame, HEADER.size)
    bodies = [frame[a:b] for a, b in zip(starts, [*starts[1:], len(frame)], strict=True)]
    places = list(range(count))
    order.shuffle(places)
    moved: dict[int, int] = {}
    at = HEADER.size + 4 * count
    for place in places:
        moved[place] = at
        at += len(bodies[place])
    table = struct.pack(f"<{count}I", *[moved[place] for place in range(count)])
    return frame[: HEADER.size] + table + b"".join(bodies[place] for place in places)


@pytest.mark.parametrize("name", [name for name, codec in CODECS.items() if bound_to(codec).parts])
@settings(max_examples=60)
@given(place=st.integers(0, 200), byte=st.integers(0, 255), start=st.integers(0, SIZE - 10))
def test_parts_of_damaged_values_are_limited_or_raise_codec_error(name: str, place: int, byte: int, start: int) -> None:
    bound = bound_to(CODECS[name])
    frame = bytearray(bound.encode(content(1)))
    frame[place % len(frame)] = byte
    try:
        result = bound.decode_part(lambda at, count: bytes(frame[at : at + count]), len(frame), start, 10)
    except CodecError:
        return
    assert len(result) == 10

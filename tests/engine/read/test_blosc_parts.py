"""Blosc chunks of several blocks, of which only those are decoded that hold the selected elements: by the kernel on
routes A and B, in shards as well, and by route E."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.codecs import Blosc
from omnizarr.codecs.bytes_to_bytes.blosc_frames import HEADER, MEMCPYED, Header
from omnizarr.errors import ChunkError

SMALL_CHUNK = 5 * 30 * 40  # elements
SAVED = 2**15  # bytes from which the kernel decodes parts: MIN_SAVED in native/blosc_parts.c


def reordered(frame: bytes) -> bytes:
    """The frame with its blocks in the opposite order."""
    header = Header._make(HEADER.unpack_from(frame))
    if header.flags & MEMCPYED or header.blocks < 2:
        return frame
    starts = struct.unpack_from(f"<{header.blocks}I", frame, HEADER.size)
    order = sorted(starts)
    ends = dict(zip(order, [*order[1:], len(frame)], strict=True))
    parts, table, position = [], {}, header.start
    for start in reversed(order):
        table[start] = position
        parts.append(frame[start : ends[start]])
        position += len(parts[-1])
    return frame[: HEADER.size] + struct.pack(f"<{len(starts)}I", *(table[start] for start in starts)) + b"".join(parts)


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Integers and short slices, also with steps, so that parts are selected."""
    key: list[Any] = []
    for length in shape:
        start = draw(st.integers(0, length - 1))
        stop = draw(st.sampled_from([start + 1, start + 3, length]))
        key.append(draw(st.sampled_from([start, slice(start, stop), slice(start, stop, 2), slice(None)])))
    return tuple(key)


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_parts_equal_those_of_numpy(loop: str, data: st.DataObject) -> None:
    if loop == "python":
        pytest.skip("test_partial.py tests route E")
    dtype = np.dtype(data.draw(st.sampled_from(["u1", "<i4", "f8", "V3"])))
    larger = -(-3 * SAVED // 2 // (SMALL_CHUNK * dtype.itemsize))
    chunks = (5 * larger, 30, 40)
    shape = (6 * larger, 35, 60)
    codec = Blosc(
        data.draw(st.sampled_from(["lz4", "zstd", "blosclz"])),
        data.draw(st.sampled_from([0, 1])),
        shuffle=data.draw(st.sampled_from(["noshuffle", "shuffle", "bitshuffle"])),
        blocksize=data.draw(st.sampled_from([0, 2**10, 2**13, 3000 * dtype.itemsize])),
    )
    shards = data.draw(st.sampled_from([None, (10 * larger, 60, 80)]))
    size = int(np.prod(shape)) * dtype.itemsize
    a = np.frombuffer(np.random.default_rng(0).integers(0, 3, size, "u1").tobytes(), dtype).reshape(shape)
    with TemporaryDirectory() as folder:
        z = omnizarr.create_array(folder, data=a, chunks=chunks, shards=shards, compressors=codec)
        if shards is None and data.draw(st.booleans()):
            for file in Path(folder, "c").rglob("*"):
                if file.is_file():
                    file.write_bytes(reordered(file.read_bytes()))
        for _ in range(3):
            key = data.draw(keys(shape))
            assert z[key].tobytes() == a[key].tobytes()
            out = np.zeros((2, *a[key].shape), dtype)[1]
            if out.shape:
                z.read(key, out=out)
                assert out.tobytes() == a[key].tobytes()


@pytest.mark.parametrize("shards", [None, (1024, 256)])
@pytest.mark.parametrize("clevel", [0, 5])
def test_damaged_headers_and_tables(tmp_path: Path, shards: Any, clevel: int) -> None:
    """Any bytes give the elements or an error."""
    random = Random(0)
    a = np.arange(2**18, dtype="u4").reshape(1024, 256)
    codec = Blosc("lz4", clevel, shuffle="shuffle", blocksize=2**14)
    z = omnizarr.create_array(tmp_path, data=a, chunks=(512, 256), shards=shards, compressors=codec)
    file = tmp_path / "c" / "0" / "0"
    good = file.read_bytes()
    outcomes = set()
    for _ in range(60):
        bad = bytearray(good)
        for _ in range(random.randint(1, 3)):
            position = random.choice([random.randrange(2, 16), random.randrange(16, 160)])
            bad[position] = random.choice([0, 1, 2, 0x7F, 0x80, 0xFF, bad[position] ^ 1 << random.randrange(8)])
        file.write_bytes(bad)
        try:
            found = z[100:102]
        except ChunkError as error:
            outcomes.add(str(error.key))
        else:
            assert found.shape == (2, 256)
            outcomes.add("elements")
    assert outcomes == {"c/0/0", "elements"}
    file.write_bytes(good)
    np.testing.assert_array_equal(z[100:102], a[100:102])


@pytest.mark.parametrize("compressor", [Blosc("lz4", blocksize=2**14), Blosc("lz4", 0)])
@pytest.mark.parametrize("shards", [None, (256, 256)])
def test_other_blocks_are_not_read(loop: str, tmp_path: Path, shards: Any, compressor: Blosc) -> None:
    """A read does not notice damage in a block that it does not need."""
    if loop == "python" and shards is not None:
        pytest.skip("in Python, chunks in shards are decoded as a whole")
    a = np.random.default_rng(0).integers(0, 9, (256, 256), "u8")
    z = omnizarr.create_array(tmp_path, data=a, chunks=(256, 256), shards=shards, compressors=compressor)
    file = tmp_path / "c" / "0" / "0"
    value = bytearray(file.read_bytes())
    middle = len(value) // 2
    value[middle : middle + 2000] = b"\xff" * 2000
    file.write_bytes(value)
    np.testing.assert_array_equal(z[3], a[3])
    np.testing.assert_array_equal(z[-3:], a[-3:])
    if compressor.clevel:
        with pytest.raises(ChunkError):
            z[...]

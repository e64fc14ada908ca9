"""Route E: parts of uncompressed chunks, and of chunks compressed in blocks, are read with fewer bytes."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.codecs import Blosc, Zstd
from omnizarr.engine.read import partial
from omnizarr.errors import ChunkError
from omnizarr.store.local import snapshot


@st.composite
def cases(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...], tuple[Any, ...]]:
    """A shape, a chunk shape, and slices or integers."""
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(1, 9)) for _ in range(rank))
    chunks = tuple(draw(st.integers(1, 9)) for _ in range(rank))
    bound = st.none() | st.integers(-10, 10)
    step = st.sampled_from([None, 1, 2, 3, -1, -2])
    key = tuple(draw(st.integers(-length, length - 1) | st.builds(slice, bound, bound, step)) for length in shape)
    return shape, chunks, key


@given(
    case=cases(),
    dtype=st.sampled_from(["u1", "<i4", "c16", "V3"]),
    compressor=st.sampled_from([None, Blosc("zstd", 1, blocksize=128), Blosc("lz4", 0), Zstd(1)]),
    local=st.booleans(),
    fill=st.booleans(),
)
def test_parts_match_numpy(
    case: tuple[tuple[int, ...], tuple[int, ...], tuple[Any, ...]],
    dtype: str,
    compressor: Blosc | None,
    local: bool,
    fill: bool,
) -> None:
    shape, chunks, key = case
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    a = np.frombuffer(np.random.default_rng(1).bytes(size), dtype).reshape(shape)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(partial, "_MIN_SAVED_RAW", 0)
        patch.setattr(partial, "_MIN_SAVED_BLOCKS", 0)
        place = folder if local else omnizarr.MemoryStore()
        z = omnizarr.create_array(place, data=a, chunks=chunks, compressors=compressor)
        if fill:
            z.store.erase(z.store.list_dir("c/")[0][0] if len(shape) == 1 else "c/" + "/".join("0" for _ in shape))
            a = z[...]
        assert z[key].tobytes() == a[key].tobytes()


@pytest.mark.parametrize("damage", ["short", "long", "empty"])
@pytest.mark.parametrize("key", [(3, 4), (slice(3, 5), slice(2, 17))])  # from one chunk, from two
def test_a_chunk_of_the_wrong_size_is_detected(
    damage: str, key: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partial, "_MIN_SAVED_RAW", 0)
    z = omnizarr.create_array(tmp_path, data=np.arange(400).reshape(10, 40), chunks=(10, 10), compressors=None)
    good = (tmp_path / "c/0/0").read_bytes()
    (tmp_path / "c/0/0").write_bytes({"short": good[:-1], "long": good + b"x", "empty": b""}[damage])
    with pytest.raises(ChunkError, match="expected 800 bytes") as caught:
        z[key]
    assert caught.value.key == "c/0/0"


@pytest.mark.python_loop
def test_only_the_bytes_of_a_part_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranges: list[Any] = []
    get, get_into = snapshot.FileSnapshot.get, snapshot.FileSnapshot.get_into
    monkeypatch.setattr(snapshot.FileSnapshot, "get", lambda self, range: (ranges.append(range), get(self, range))[1])

    def into(self: snapshot.FileSnapshot, start: int, target: memoryview) -> int:
        ranges.append((start, len(target)))
        return get_into(self, start, target)

    monkeypatch.setattr(snapshot.FileSnapshot, "get_into", into)  # directly into the block
    a = np.arange(64 * 64, dtype="u8").reshape(64, 64)
    z = omnizarr.create_array(tmp_path, data=a, chunks=(64, 64), compressors=None)
    assert z[1, 2] == a[1, 2]
    np.testing.assert_array_equal(z[10:13, ::2], a[10:13, ::2])
    assert ranges == [(528, 8), (5120, 1528)]
    assert z[:, 3].tolist() == a[:, 3].tolist()  # the bytes of nearly the whole chunk
    assert len(ranges) == 2


@pytest.mark.python_loop
def test_only_the_blocks_of_a_part_are_read_and_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranges: list[Any] = []
    get = snapshot.FileSnapshot.get
    monkeypatch.setattr(snapshot.FileSnapshot, "get", lambda self, range: (ranges.append(range), get(self, range))[1])
    a = np.random.default_rng(0).integers(0, 1000, (512, 1024), dtype="u4")
    z = omnizarr.create_array(tmp_path, data=a, chunks=a.shape, compressors=Blosc("zstd", 1, blocksize=2**16))
    assert z[300, 2] == a[300, 2]
    np.testing.assert_array_equal(z[100:120, ::2], a[100:120, ::2])
    assert [length for _, length in ranges[::2]] == [1024, 1024]  # the table of blocks
    assert all(length < 2**17 for _, length in ranges)


@pytest.mark.parametrize("compressor", [Blosc("lz4", 5, blocksize=2**15), Zstd(1), Zstd(1, checksum=True)])
@pytest.mark.parametrize("damage", ["short", "long", "empty", "table"])
def test_damage_elsewhere_in_the_chunk_is_detected(damage: str, compressor: Any, tmp_path: Path) -> None:
    a = np.arange(2**18, dtype="u4")
    z = omnizarr.create_array(tmp_path, data=a, chunks=a.shape, compressors=compressor)
    good = (tmp_path / "c/0").read_bytes()
    bad = {"short": good[:-1], "long": good + b"x", "empty": b"", "table": good[:16] + b"\xff" * 64 + good[80:]}
    (tmp_path / "c/0").write_bytes(bad[damage])
    with pytest.raises(ChunkError) as caught:
        z[5]
    assert caught.value.key == "c/0"

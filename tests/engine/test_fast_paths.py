"""Every route detects values that are too short, too long or torn, and gives the same elements."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.codecs import CODECS

import omnizarr
from omnizarr.errors import ChunkError
from omnizarr.store import LocalStore, MemoryStore, Store, WrapperStore

# How a chunk reaches the block: in a row buffer, in a row that is contiguous in the block, as the only chunk, and as a
# part of the only chunk.
SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...], Any]] = {
    "staged": ((8, 40), (4, 4), ...),
    "contiguous": ((40, 8), (4, 8), ...),
    "flat": ((160,), (16,), ...),
    "single": ((4, 8), (4, 8), ...),
    "part": ((4, 8), (4, 8), (slice(1, 3), slice(2, 5))),
}


def stores(kind: str, tmp_path: Path) -> Store:
    return MemoryStore() if kind == "memory" else LocalStore(tmp_path / "x.zarr")


@pytest.mark.parametrize("shape_name", SHAPES)
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", ["memory", "local"])
@pytest.mark.parametrize("damage", ["short", "long", "empty", "huge"])
def test_a_value_of_the_wrong_length_is_detected(
    kind: str, codec: str, shape_name: str, damage: str, tmp_path: Path
) -> None:
    shape, chunks, key = SHAPES[shape_name]
    store = stores(kind, tmp_path)
    z = omnizarr.create_array(store, shape=shape, dtype="i4", chunks=chunks, compressors=CODECS[codec])
    z[...] = np.arange(z.size).reshape(shape) + 1
    chunk = "c/" + "/".join("0" for _ in shape)
    good = bytes(store.get(chunk) or b"")
    bad = {"short": good[:-1], "long": good + b"x", "empty": b"", "huge": good + b"x" * 100_000}[damage]
    store.set(chunk, bad)
    with pytest.raises(ChunkError) as caught:
        z[key]
    assert str(caught.value).count("cannot read chunk") == 1
    assert caught.value.key == chunk
    store.set(chunk, good)
    np.testing.assert_array_equal(z[key], (np.arange(z.size).reshape(shape) + 1)[key])


@pytest.mark.parametrize("shape_name", SHAPES)
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("dtype", ["i4", ">i4", "f8", "bool", "c8", "V3", [("a", "i2"), ("b", "?")]])
def test_all_paths_give_the_same_elements(codec: str, shape_name: str, dtype: Any, tmp_path: Path) -> None:
    """The fast routes, and the general one that reads one chunk at a time from a store without capabilities."""
    shape, chunks, key = SHAPES[shape_name]
    rng = np.random.default_rng(0)
    a = np.frombuffer(rng.integers(0, 2, np.dtype(dtype).itemsize * int(np.prod(shape)), np.uint8), dtype).reshape(
        shape
    )
    z = omnizarr.create_array(tmp_path, shape=shape, dtype=dtype, chunks=chunks, compressors=CODECS[codec])
    z[...] = a
    plain = omnizarr.open_array(Plain(LocalStore(tmp_path)))
    for got in (z[key], plain[key]):
        assert got.astype(z.dtype).tobytes() == a[key].astype(z.dtype).tobytes()


class Plain(WrapperStore):
    """A remote store, for which the engine uses neither rows nor buffers."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.remote = True


def test_out_of_another_type_is_converted() -> None:
    a = np.arange(320, dtype="i4").reshape(8, 40)
    z = omnizarr.create_array(None, data=a, chunks=(4, 4), compressors=None)
    np.testing.assert_array_equal(z.read(out=np.zeros(a.shape, "f4")), a)


@pytest.mark.python_loop
def test_short_reads_of_one_chunk_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.arange(320, dtype="i4").reshape(8, 40)
    z = omnizarr.create_array(tmp_path, data=a, chunks=(4, 4), compressors="gzip")
    read, pread, calls = os.read, os.pread, []

    def short_read(file: int, size: int) -> bytes:
        calls.append("read")
        return read(file, min(size, 7))

    def short_pread(file: int, size: int, start: int) -> bytes:
        calls.append("pread")
        return pread(file, min(size, 7), start)

    monkeypatch.setattr(os, "read", short_read)
    monkeypatch.setattr("omnizarr.store.local.files._pread", short_pread)
    np.testing.assert_array_equal(z[1:3, 1:4], a[1:3, 1:4])
    assert set(calls) == {"read", "pread"}


@pytest.mark.python_loop
@pytest.mark.skipif(not hasattr(os, "preadv"), reason="this system has no such call")
def test_short_reads_of_several_chunks_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.arange(320, dtype="i4").reshape(8, 40)
    z = omnizarr.create_array(tmp_path, data=a, chunks=(4, 4), compressors=None)
    starts: list[int] = []

    def short_preadv(file: int, rooms: list[memoryview], start: int) -> int:
        starts.append(start)
        return os.preadv(file, [rooms[0][:7]], start)

    monkeypatch.setattr("omnizarr.store.local.files._preadv", short_preadv)
    np.testing.assert_array_equal(z[...], a)
    np.testing.assert_array_equal(z[1:3, 2:5], a[1:3, 2:5])
    assert 7 in starts


def test_an_encoding_error_in_a_row_names_its_chunk() -> None:
    casting = {"name": "cast_value", "configuration": {"data_type": "int16"}}
    z = omnizarr.create_array(None, shape=(4, 64), dtype="f8", chunks=(4, 4), filters=[casting], fill_value=0)
    a = np.ones(z.shape)
    a[2, 41] = 1e9
    with omnizarr.config(threads=1), pytest.raises(ChunkError, match="out of the range") as caught:
        z[...] = a
    assert (caught.value.chunk, caught.value.key) == ((0, 10), "c/0/10")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_counts_as_absent(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path, shape=(4, 8), dtype="i4", chunks=(4, 4), fill_value=3, compressors=None)
    (tmp_path / "c" / "0").mkdir(parents=True)
    os.mkfifo(tmp_path / "c" / "0" / "0")
    assert (z[...] == 3).all()
    assert (z[1:2, 1:3] == 3).all()


def test_erase_prefix_does_not_follow_symbolic_links(tmp_path: Path) -> None:
    """If a directory was moved and replaced by a link to it, erasing never removes files behind the link."""
    group = omnizarr.create_group(tmp_path / "g.zarr")
    group.create_array("x", data=np.arange(4))
    (tmp_path / "g.zarr" / "x").rename(tmp_path / "elsewhere")
    try:
        (tmp_path / "g.zarr" / "x").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    except OSError:
        pytest.skip("needs symbolic links")
    with pytest.raises(omnizarr.OmnizarrError):
        group.store.erase_prefix("x/")
    assert sorted(file.name for file in (tmp_path / "elsewhere").iterdir()) == ["c", "zarr.json"]


def test_arrays_with_the_maximum_number_of_dimensions() -> None:
    shape = (1,) * 61 + (2, 9)
    a = np.arange(18, dtype="i4").reshape(shape)
    for layout in ({}, {"shards": (1,) * 61 + (2, 6)}):
        z = omnizarr.create_array(None, data=a, chunks=(1,) * 61 + (2, 3), **layout)
        np.testing.assert_array_equal(z[...], a)
    with pytest.raises(omnizarr.OmnizarrError, match="at most 63 dimensions"):
        omnizarr.zeros((1,) * 64)

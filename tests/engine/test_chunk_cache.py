"""Reads through a cache of decoded chunks give the same elements as without, also while other handles write."""

from __future__ import annotations

import os
import pickle
import re
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import omnizarr
from omnizarr import ChunkCache
from omnizarr.errors import ArgumentError, ChunkError
from omnizarr.store.local import snapshot

LAYOUTS: dict[str, dict[str, Any]] = {
    "raw": {"chunks": (3, 4), "compressors": None},
    "blosc": {"chunks": (3, 4), "compressors": "blosc"},
    "transposed": {"chunks": (5, 2), "order": "F"},
    "sharded": {"chunks": (2, 2), "shards": (4, 6), "compressors": None},
    "edges": {"chunks": ([4, 6], [3, 3, 5])},
}


@pytest.fixture(autouse=True)
def no_clock_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files written within the last tick of the clock are not cached; the tests do not wait for that."""
    monkeypatch.setattr(snapshot, "_LONGEST_TICK", -(10**12))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["memory", "local"])
@settings(max_examples=25)
@given(data=st.data())
def test_same_elements_as_without_a_cache(layout: str, kind: str, data: st.DataObject, tmp_path_factory: Any) -> None:
    shape = (10, 11)
    a = np.arange(110, dtype="i4").reshape(shape)
    a[:4, :4] = 0  # chunks that are not stored
    place: Any = {} if kind == "memory" else tmp_path_factory.mktemp("cache")
    written = omnizarr.create_array(place, data=a, **LAYOUTS[layout])
    z = omnizarr.open_array(place, mode="r", cache=data.draw(st.sampled_from([0, 300, 10**6])))
    for _ in range(data.draw(st.integers(1, 5))):
        key = data.draw(arrays.basic_indices(shape) | arrays.integer_array_indices(shape))
        np.testing.assert_array_equal(z[key], a[key])
        if data.draw(st.booleans()):  # through another handle
            part = data.draw(arrays.basic_indices(shape, allow_newaxis=False, allow_ellipsis=False))
            written[part] = a[part] = data.draw(st.integers(1, 1000))


def test_a_chunk_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    omnizarr.create_array(tmp_path, data=np.arange(1000), chunks=100)
    cache = ChunkCache("1 MiB")
    z = omnizarr.open_array(tmp_path, mode="r", cache=cache)
    for start in range(0, 300, 10):
        assert z[start : start + 50].tolist() == list(range(start, start + 50))
    assert cache.misses == 4
    assert cache.hits > 30
    assert len(cache) == 4
    assert 3200 <= cache.nbytes < 6400
    cache.clear()
    assert (len(cache), cache.nbytes) == (0, 0)


def test_a_replaced_value_is_read_again(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path, data=np.arange(8, dtype="u1"), chunks=4, compressors=None)
    z = omnizarr.open_array(tmp_path, cache=2**20)
    assert z[...].tolist() == list(range(8))
    (tmp_path / "other").write_bytes(bytes([9, 9, 9, 9]))
    os.replace(tmp_path / "other", tmp_path / "c" / "0")
    assert z[...].tolist() == [9, 9, 9, 9, 4, 5, 6, 7]
    z[5] = 200  # and by itself
    assert z[...].tolist() == [9, 9, 9, 9, 4, 200, 6, 7]
    (tmp_path / "c" / "1").unlink()
    assert z[...].tolist() == [9, 9, 9, 9, 0, 0, 0, 0]


def test_a_value_written_just_now_is_not_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two states of a file within one tick of the clock cannot be distinguished."""
    monkeypatch.setattr(snapshot, "_LONGEST_TICK", 3600 * 10**9)
    omnizarr.create_array(tmp_path, data=np.arange(8))
    cache = ChunkCache(2**20)
    assert omnizarr.open_array(tmp_path, cache=cache)[...].tolist() == list(range(8))
    assert len(cache) == 0
    old = time.time() - 7200
    os.utime(tmp_path / "c" / "0", (old, old))
    monkeypatch.setattr(snapshot, "_LONGEST_TICK", -(10**12))
    omnizarr.open_array(tmp_path, cache=cache)[...]
    assert len(cache) == 1


def test_arrays_share_a_cache_of_limited_size(tmp_path: Path) -> None:
    root = omnizarr.create_group(tmp_path)
    for name in "abc":
        root.create_array(name, data=np.full(1000, ord(name), "u1"), chunks=100, compressors=None)
    cache = ChunkCache(10 * 400)
    group = omnizarr.open_group(tmp_path, mode="r", cache=cache)
    for _ in range(2):
        for name in "abc":
            assert set(group[name][...].tolist()) == {ord(name)}
            assert cache.nbytes <= cache.max_bytes
    assert len(cache) > 5


def test_threads_share_a_cache(tmp_path: Path) -> None:
    a = np.random.default_rng(0).integers(0, 1000, 20_000)
    omnizarr.create_array(tmp_path, data=a, chunks=100)
    z = omnizarr.open_array(tmp_path, mode="r", cache=30_000)

    def look(start: int) -> bool:
        return bool((z[start : start + 700] == a[start : start + 700]).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(look, [start * 37 % 19_000 for start in range(300)]))


@pytest.mark.parametrize(
    ("size", "expected"),
    [(0, 0), (5, 5), ("5", 5), ("2 KiB", 2048), ("1.5MiB", 3 * 2**19), ("2 kB", 2000), ("1 GB", 10**9), ("1g", 10**9)],
)
def test_sizes(size: Any, expected: int) -> None:
    assert ChunkCache(size).max_bytes == expected


@pytest.mark.parametrize("size", [-1, True, 1.5, "much", "", "1 PiBs", None])
def test_invalid_sizes(size: Any) -> None:
    with pytest.raises(ArgumentError, match="256 MiB"):
        ChunkCache(size)


def test_a_pickle_holds_no_chunks(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path, data=np.arange(100_000))
    z = omnizarr.open_array(tmp_path, mode="r", cache="1 MiB")
    z[...]
    assert len(pickle.dumps(z)) < 10_000
    again = pickle.loads(pickle.dumps(z))
    assert again[5:8].tolist() == [5, 6, 7]


def test_damaged_chunks_are_named(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path, data=np.arange(8), chunks=4, compressors="zstd")
    (tmp_path / "c" / "1").write_bytes(b"nonsense")
    z = omnizarr.open_array(tmp_path, mode="r", cache=2**20)
    with pytest.raises(ChunkError) as caught:
        z[...]
    assert caught.value.key == "c/1"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_starts_with_an_empty_cache(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path, data=np.arange(8))
    cache = ChunkCache(2**20)
    z = omnizarr.open_array(tmp_path, mode="r", cache=cache)
    z[...]
    with cache._lock:  # a thread of the parent may hold it
        child = os.fork()
        if child == 0:
            os._exit(0 if len(cache) == 0 and z[...].tolist() == list(range(8)) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert len(cache) == 1


@pytest.mark.parametrize("shards", [None, (8,)])
def test_handles_with_another_decoding_do_not_share_chunks(shards: Any, tmp_path: Path) -> None:
    """Another document was written over unchanged chunks."""
    omnizarr.create_array(tmp_path, data=np.arange(16, dtype="u2"), chunks=(4,), shards=shards, compressors=None)
    cache = ChunkCache("1 MiB")
    np.testing.assert_array_equal(omnizarr.open_array(tmp_path, mode="r", cache=cache)[...], np.arange(16))
    document = tmp_path / "zarr.json"
    changed = re.sub(r'("endian": *)"little"', r'\1"big"', document.read_text(), count=1)
    document.write_text(changed)
    z = omnizarr.open_array(tmp_path, mode="r", cache=cache)
    np.testing.assert_array_equal(z[...], np.arange(16, dtype="<u2").view(">u2"))


def test_one_state_of_a_shard_is_cached() -> None:
    """In a memory store the state is the shard itself, which is larger than the cache."""
    size = 2**20
    z = omnizarr.create_array({}, shape=(size,), dtype="u1", chunks=(1024,), shards=(size,), compressors=None)
    cache = ChunkCache(2**16)
    reader = omnizarr.open_array(z.store, mode="r", cache=cache)
    tracemalloc.start()
    try:
        for turn in range(20):
            z[...] = np.full(size, turn + 1, "u1")
            assert reader[turn * 1024] == turn + 1
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 4 * size
    assert len(cache) == 1
    assert cache.nbytes < 2048
    cache.clear()
    assert (len(cache), cache.nbytes) == (0, 0)


@pytest.mark.parametrize(("dtype", "item"), [("string", "x" * 10**5), ("bytes", b"x" * 10**5)])
def test_the_size_includes_referenced_objects(dtype: Any, item: Any) -> None:
    z = omnizarr.create_array({}, shape=(40,), dtype=dtype, chunks=(2,), compressors="zstd")
    for start in range(0, 40, 2):
        z[start : start + 2] = np.array([item, item], z.dtype)
    cache = ChunkCache("1 MiB")
    reader = omnizarr.open_array(z.store, mode="r", cache=cache)
    assert all(reader[place] == item for place in range(40))
    assert len(cache) == 5  # of twenty

"""The engine reads what it wrote, for every store, layout and number of threads."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.codecs import Crc32c, Gzip
from omnizarr.errors import ChunkError, CodecError, StoreError
from omnizarr.store import MemoryStore
from omnizarr.testing import Fault, FaultyStore, RecordingStore, SlowStore

LAYOUTS: dict[str, dict[str, Any]] = {
    "raw": {"chunks": (4, 5), "compressors": None},
    "default": {"chunks": (4, 5)},
    "gzip": {"chunks": (4, 5), "compressors": [Gzip(1), Crc32c()]},
    "F": {"chunks": (4, 5), "order": "F"},
    "sharded": {"chunks": (2, 5), "shards": (8, 10)},
    "sharded F": {"chunks": (2, 5), "shards": (8, 10), "order": "F"},
    "nested": {
        "chunks": (8, 10),
        "compressors": None,
        "serializer": {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": [4, 5],
                "index_location": "start",
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "big"}}],
                "codecs": [
                    {
                        "name": "sharding_indexed",
                        "configuration": {
                            "chunk_shape": [2, 1],
                            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
                            "index_codecs": [
                                {"name": "bytes", "configuration": {"endian": "little"}},
                                {"name": "crc32c"},
                            ],
                        },
                    }
                ],
            },
        },
    },
    "transposed shards": {
        "chunks": (8, 10),
        "compressors": None,
        "filters": [{"name": "transpose", "configuration": {"order": [1, 0]}}],
        "serializer": {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": [5, 2],
                "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            },
        },
    },
    "compressed shards": {
        "chunks": (8, 10),
        "compressors": [Gzip(1)],
        "serializer": {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": [4, 5],
                "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            },
        },
    },
}


@pytest.fixture(params=["memory", "local", "slow"])
def store(request: pytest.FixtureRequest, tmp_path: Any) -> Any:
    if request.param == "memory":
        return MemoryStore()
    if request.param == "local":
        return omnizarr.LocalStore(tmp_path / "x.zarr")
    return SlowStore(MemoryStore(), latency=0)  # a remote store that takes whole batches


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_in_every_store(store: Any, layout: str, threads: int) -> None:
    a = np.arange(21 * 33, dtype="i4").reshape(21, 33)
    with omnizarr.config(threads=threads):
        z = omnizarr.create_array(store, shape=a.shape, dtype=a.dtype, fill_value=-1, **LAYOUTS[layout])
        assert (z[...] == -1).all()
        z[...] = a
        np.testing.assert_array_equal(z[...], a)
        z[3:17, 5:6] = -7
        a[3:17, 5:6] = -7
        z[[0, 20, 3], [0, 32, 5]] = [1, 2, 3]
        a[[0, 20, 3], [0, 32, 5]] = [1, 2, 3]
        np.testing.assert_array_equal(z[...], a)
        for key in [(slice(7, 9), slice(None)), (20, slice(None, None, -3)), ([5, 1, 1],), (slice(0, 21, 9), [32, 0])]:
            np.testing.assert_array_equal(omnizarr.open_array(store)[key], a[key])


@given(st.data())
def test_random_windows_of_every_layout(data: Any) -> None:
    """Shards and nested shards give the same elements as chunks."""
    layout = LAYOUTS[data.draw(st.sampled_from(sorted(LAYOUTS)))]
    shape = data.draw(st.tuples(st.integers(1, 20), st.integers(1, 25)))
    z = omnizarr.create_array(None, shape=shape, dtype="u2", **layout)
    a = np.zeros(shape, "u2")
    for number in range(1, 6):
        window = []
        for length in shape:
            start, stop = sorted(data.draw(st.tuples(st.integers(0, length), st.integers(0, length))))
            window.append(slice(start, stop, data.draw(st.integers(1, 4))))
        value = data.draw(st.sampled_from([0, number]))
        z[tuple(window)] = value
        a[tuple(window)] = value
    np.testing.assert_array_equal(z[...], a)


def test_shard_without_dimensions() -> None:
    """Without a last dimension, inner chunks cannot form a row."""
    store = MemoryStore()
    z = omnizarr.create_array(store, shape=(), dtype="f4", chunks=(), shards=())
    z[()] = 3
    assert omnizarr.open_array(store, mode="r")[()] == 3


def test_empty_chunks_are_stored_only_on_request() -> None:
    for layout in ({}, {"shards": (4, 8)}):
        store = MemoryStore()
        z = omnizarr.create_array(store, shape=(4, 8), dtype="f4", chunks=(2, 4), fill_value=np.nan, **layout)
        z[...] = np.nan
        assert list(store.list()) == ["zarr.json"]
        z[0, 0] = 1
        assert z.nchunks_initialized == 1
        z[0, 0] = np.nan
        assert list(store.list()) == ["zarr.json"]
        z = omnizarr.create_array(
            store, shape=(4, 8), dtype="f4", chunks=(2, 4), write_empty_chunks=True, overwrite=True, **layout
        )
        z[...] = 0
        assert z.nchunks_initialized == 4


def test_R64_R65_edge_chunks_are_stored_in_full_with_the_fill_value_outside() -> None:
    store: dict[str, bytes] = {}
    z = omnizarr.create_array(store, shape=3, dtype="u1", chunks=4, fill_value=9, compressors=None)
    z[...] = [1, 2, 3]
    assert bytes(store["c/0"]) == bytes([1, 2, 3, 9])


def test_a_whole_write_reads_only_edge_chunks() -> None:
    store = RecordingStore(MemoryStore())
    z = omnizarr.create_array(store, shape=(5, 7), dtype="u1", chunks=(4, 4))
    store.reset()
    z[...] = np.ones((5, 7))
    assert [call.key for call in store.of("set")] == ["c/0/0"]
    assert sorted(call.key for call in store.of("updates.read")) == ["c/0/1", "c/1/0", "c/1/1"]
    assert sorted(call.key for call in store.of("updates.write")) == ["c/0/1", "c/1/0", "c/1/1"]
    assert len(store.calls) == 7


@pytest.mark.parametrize("layout", ["default", "sharded", "nested", "compressed shards"])
def test_threads_of_one_process_lose_no_update(layout: str) -> None:
    z = omnizarr.create_array(None, shape=(8, 10), dtype="i4", **LAYOUTS[layout])

    def work(row: int) -> None:
        for column in range(10):
            z[row, column] = row * 10 + column + 1

    threads = [threading.Thread(target=work, args=(row,)) for row in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(z[...], np.arange(1, 81).reshape(8, 10))


def test_a_broken_chunk_names_array_chunk_key_and_codec(tmp_path: Any) -> None:
    store = MemoryStore()
    z = omnizarr.create_array(store, name="a/b", shape=(4, 4), dtype="i4", chunks=(2, 2), compressors=["gzip"])
    z[...] = 1
    store.set("a/b/c/1/0", b"rubbish")
    with pytest.raises(ChunkError) as caught:
        z[...]
    error = caught.value
    assert isinstance(error, CodecError)
    assert (error.array, error.chunk, error.key, error.codec) == ("a/b", (1, 0), "a/b/c/1/0", "gzip")
    assert "cannot read chunk (1, 0) of array `a/b`" in str(error)
    np.testing.assert_array_equal(z[:2], np.ones((2, 4)))


def test_a_failing_store_stops_the_write_with_its_own_error() -> None:
    inner = MemoryStore()
    omnizarr.create_array(inner, shape=400, dtype="i4", chunks=1)
    z = omnizarr.open_array(FaultyStore(inner, [Fault("fail", keys="c/7")]))
    with pytest.raises(StoreError):
        z[...] = 1
    assert 1 <= omnizarr.open_array(inner).nchunks_initialized < 400


def test_a_chunk_over_the_size_limit_is_rejected_before_allocation() -> None:
    z = omnizarr.create_array(None, shape=(2**40,), dtype="f8", chunks=(2**40,), compressors=None)
    z.store.set("c/0", b"")
    with pytest.raises(ChunkError, match="more than the limit"):
        z[0]
    with pytest.raises(ChunkError, match="max_chunk_bytes"):
        z[0] = 1
    assert z.nbytes == 2**43


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_forked_child_reads_and_writes() -> None:
    z = omnizarr.create_array(None, shape=(64, 64), dtype="i4", chunks=(8, 8))
    with omnizarr.config(threads=4):
        z[...] = 1  # starts the pool in the parent
        pid = os.fork()
        if pid == 0:
            try:
                good = (z[...] == 1).all()
                z[3:5] = 2
                os._exit(0 if good and (z[3:5] == 2).all() else 1)
            except BaseException:
                os._exit(2)
        assert os.waitpid(pid, 0)[1] == 0
        assert (z[...] == 1).all()


def test_one_value_for_many_chunks_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from omnizarr.codecs.bytes_to_bytes.gzip import BoundGzip

    calls: list[int] = []
    encode = BoundGzip.encode
    monkeypatch.setattr(BoundGzip, "encode", lambda self, data: (calls.append(1), encode(self, data))[1])
    z = omnizarr.create_array(None, shape=(40, 40), dtype="i4", chunks=(4, 4), compressors=["gzip"])
    with omnizarr.config(threads=1):
        z[...] = 5
    assert len(calls) == 1
    assert (z[...] == 5).all()

"""Route G: a remote store gives the same elements as a local one, and never two states of a shard."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from obstore.store import MemoryStore as ObstoreMemory

import omnizarr
from omnizarr.errors import ChunkError, StoreError
from omnizarr.store import ByteRange, ObjectStore, Store
from omnizarr.store.contract import State, Version
from omnizarr.store.wrappers import ForwardedReads, forwarded
from omnizarr.testing import Fault, FaultyStore, RecordingStore, SlowStore
from omnizarr.testing.request_store import RequestStore

SHAPE = (21, 18)
DATA = np.arange(21 * 18, dtype="i4").reshape(SHAPE)
LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (4, 5)},
    "raw chunks": {"chunks": (21, 18), "compressors": None},
    "shards": {"chunks": (2, 3), "shards": (8, 9)},
    "raw shards": {"chunks": (2, 3), "shards": (8, 9), "compressors": None},
    "index first": {
        "chunks": (8, 9),
        "serializer": {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": [4, 3],
                "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                "index_location": "start",
            },
        },
        "compressors": None,
    },
}
STORES: dict[str, Callable[[], Store]] = {
    "states": lambda: ObjectStore(ObstoreMemory()),
    "batches": lambda: SlowStore(omnizarr.MemoryStore(), 0),
    "slow states": lambda: SlowStore(ObjectStore(ObstoreMemory()), 0),
}


def _slices(length: int) -> st.SearchStrategy[Any]:
    numbers = st.integers(-length, length - 1)
    return numbers | st.slices(length) | st.lists(numbers, min_size=1, max_size=5).map(np.array)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("store", STORES)
@settings(max_examples=8)
@given(data=st.data())
def test_same_elements_as_from_a_local_store(store: str, layout: str, data: st.DataObject) -> None:
    z = omnizarr.create_array(STORES[store](), data=DATA, **LAYOUTS[layout])
    expected = DATA.copy()
    for _ in range(3):
        key = (data.draw(_slices(21)), data.draw(_slices(18)))
        assert np.array_equal(z.oindex[key], omnizarr.array(expected).oindex[key])
        rows = data.draw(st.lists(st.integers(0, 20), min_size=1, max_size=4))
        columns = data.draw(st.lists(st.integers(0, 17), min_size=len(rows), max_size=len(rows)))
        assert np.array_equal(z.vindex[rows, columns], expected[rows, columns])
        part = (data.draw(st.slices(21)), data.draw(st.slices(18)))
        z[part] = data.draw(st.integers(0, 9))
        expected[part] = z[part]
    assert np.array_equal(z[...], expected)


class _ReplacingReads(ForwardedReads):
    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        store = self.store
        found = self.inner.get(key, range, None if store.blind else version)
        if key == store.key and store.values:
            store.inner.set(key, store.values.pop(0))
        return found._replace(version=None) if store.blind and found is not None else found


class _Replacing(RequestStore):
    """Replaces a shard after each answer, a few times."""

    versioned_reads = forwarded("versioned_reads", _ReplacingReads)

    def __init__(self, inner: Store, key: str, values: list[bytes], *, blind: bool) -> None:
        super().__init__(inner)
        self.key = key
        self.values = values
        self.blind = blind

    def request(self, method: str, key: str, act: Any, *, torn: Any = None) -> Any:
        return act()


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("times", [1, 2, 3, 7])
def test_never_two_states_of_a_shard(times: int, blind: bool) -> None:
    """Inner chunks of other lengths move: the index of one state leads to arbitrary bytes of another."""
    inner = ObjectStore(ObstoreMemory())
    random = np.random.default_rng(0)
    states = []
    for number in range(times + 1):
        z = omnizarr.create_array(inner, shape=64, dtype="u2", chunks=4, shards=64, overwrite=True)
        z[...] = random.integers(0, 4 ** (number % 7 + 1), 64)
        states.append((z[...], bytes(inner.get("c/0") or b"")))
    store = _Replacing(inner, "c/0", [], blind=blind)
    z = omnizarr.open_array(store, mode="r")
    for picks in (slice(9, 12), [1, 17, 33], slice(0, 25)):
        inner.set("c/0", states[0][1])
        store.values = [value for _, value in states[1:]]
        found = z.oindex[(picks,)]
        assert any(np.array_equal(found, state[picks]) for state, _ in states)


def test_a_shard_erased_during_the_read_is_empty() -> None:
    store = ObjectStore(ObstoreMemory())
    z = omnizarr.create_array(store, data=np.arange(1, 65), chunks=4, shards=64)
    assert z[5] == 6
    store.erase("c/0")
    assert z[5] == 0
    z[...] = 7
    assert z[5] == 7


def test_errors_name_the_damaged_chunk() -> None:
    store = ObjectStore(ObstoreMemory())
    z = omnizarr.create_array(store, name="a", data=np.arange(64), chunks=4, shards=64)
    data = bytearray(store.get("a/c/0") or b"")
    data[-1] ^= 1
    store.set("a/c/0", data)
    with pytest.raises(ChunkError, match=r"`a/c/0`"):
        z[5]
    raw = omnizarr.create_array(store, name="b", data=np.arange(20000), chunks=20000, compressors=None)
    store.set("b/c/0", b"short")
    with pytest.raises(ChunkError, match=r"`b/c/0`"):
        raw[5]
    with pytest.raises(ChunkError, match=r"`b/c/0`"):
        raw[...]


def test_only_the_part_of_a_raw_chunk_is_fetched() -> None:
    store = RecordingStore(ObjectStore(ObstoreMemory()))
    z = omnizarr.create_array(store, data=np.arange(100_000), chunks=50_000, compressors=None)
    store.reset()
    assert (z[40_000:60_000:5000] == np.arange(40_000, 60_000, 5000)).all()
    assert sorted(call.range for call in store.calls) == [(0, 40_008), (320_000, 40_008)]  # type: ignore[type-var]


class _Counting(ObjectStore, keeps_capabilities=True):
    """Counts the requests for chunks in flight; each takes some time."""

    there = most = 0
    changing = threading.Lock()

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        read = self._reader.read

        def counted(key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
            if key.startswith("c/"):
                with self.changing:
                    self.there += 1
                    self.most = max(self.most, self.there)
                time.sleep(0.02)
                with self.changing:
                    self.there -= 1
            return read(key, range, version)

        self._reader.read = counted  # type: ignore[method-assign]


@pytest.mark.parametrize(("compressors", "most"), [(None, 16), ("auto", 128)])
def test_memory_limits_the_requests_in_flight(compressors: Any, most: int) -> None:
    """At most 64 MiB are in flight, however small the documents were that came before. A compressed chunk counts as at
    least an eighth of its largest size."""
    store = _Counting(ObstoreMemory())
    z = omnizarr.create_array(store, shape=80 * 2**22, dtype="u1", chunks=2**22, compressors=compressors, fill_value=1)
    z[...] = 0
    for _ in range(20):
        omnizarr.open_array(store, mode="r")
    store.most = 0
    assert not z[:: 2**10].any()
    assert 0 < store.most <= most


def test_a_failing_write_raises_its_error() -> None:
    inner = ObjectStore(ObstoreMemory())
    store = FaultyStore(inner, [Fault("fail", keys="c/7", methods={"set"})])
    z = omnizarr.create_array(store, shape=100, dtype="i4", chunks=10)
    with pytest.raises(StoreError, match="c/7"):
        z[...] = 1
    assert set(omnizarr.open_array(inner)[...].tolist()) <= {0, 1}
    assert inner.get("c/7") is None


def test_parts_of_many_chunks_are_merged() -> None:
    store = ObjectStore(ObstoreMemory())
    for options in ({"chunks": 10}, {"chunks": 5, "shards": 25}):
        z = omnizarr.create_array(store, data=np.arange(100), overwrite=True, **options)  # type: ignore[arg-type]
        z[3:97] = -1
        z[::2] = -2
        expected = np.arange(100)
        expected[3:97] = -1
        expected[::2] = -2
        assert (z[...] == expected).all()


def test_blocks_of_every_kind_are_allocated_while_requests_are_in_flight() -> None:
    """With more than 64 chunks, the memory of the block is allocated before the first chunk arrives."""
    values: list[Any] = [np.arange(300), np.array([str(number) for number in range(300)], np.dtypes.StringDType())]
    for value in values:
        z = omnizarr.create_array(ObjectStore(ObstoreMemory()), data=value, chunks=3)
        assert (z[...] == value).all()
        assert (z[::-1] == value[::-1]).all()
    out = np.full((300, 2), -1)
    z.store.erase("c/0")
    numbers = omnizarr.create_array(ObjectStore(ObstoreMemory()), data=values[0], chunks=3)
    numbers.read(..., out=out[:, 1])
    assert (out[:, 0] == -1).all()
    assert (out[:, 1] == values[0]).all()

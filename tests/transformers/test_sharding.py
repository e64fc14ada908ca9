"""The sharding transformer: configuration, shards of the specification's examples, number of requests, and shards that
are damaged or change while they are read."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transformers.places import NONE, BackwardKeys, DraftKeys, index_of, place, shard_of

import omnizarr
from omnizarr._json import Problems
from omnizarr.chunk_keys import DefaultKeys, V2Keys
from omnizarr.codecs import Bytes, Zstd
from omnizarr.errors import ArgumentError, ReadOnlyError, StoreError
from omnizarr.store import LocalStore, MemoryStore, Store, WrapperStore, as_read_only
from omnizarr.testing import RecordingStore, SlowStore, StoreSuite
from omnizarr.transformers import (
    SHARDING_URIS,
    ArrayPlace,
    ShardedStore,
    ShardingTransformer,
    find_transformer,
    storage_transformers,
    wrap_all,
)

FOO = "data/root/foo/baz/"


def sharded(inner: Store, *counts: int, **options: Any) -> ShardedStore:
    return ShardingTransformer(counts).wrap(inner, place(len(counts), **options))


def parsed(configuration: dict[str, Any]) -> tuple[ShardingTransformer | None, list[str]]:
    problems = Problems()
    found = ShardingTransformer.parse(configuration, "$.storage_transformers[0]", problems)
    return found, [problem.path.removeprefix("$.storage_transformers[0].configuration") for problem in problems.found]


# -- configuration


@pytest.mark.smoke
def test_S64_the_configuration_is_read_and_written() -> None:
    found, problems = parsed({"chunks_per_shard": [2, 2]})
    assert problems == []
    assert found == ShardingTransformer((2, 2))
    assert found is not None
    assert found.configuration() == {"chunks_per_shard": [2, 2]}
    assert hash(found) == hash(pickle.loads(pickle.dumps(found)))
    assert found.layout
    assert ShardingTransformer([np.int64(3)]).configuration() == {"chunks_per_shard": [3]}  # type: ignore[arg-type]


@pytest.mark.parametrize("counts", [None, 2, "2", [2, 0], [-1], [1.0], [True], [2**63], [[2]], {}])
def test_S65_wrong_numbers_are_reported(counts: Any) -> None:
    assert parsed({"chunks_per_shard": counts}) == (None, [".chunks_per_shard"])


def test_every_problem_of_a_configuration_is_reported() -> None:
    assert parsed({"chunk_per_shard": [2]}) == (None, [".chunk_per_shard", ".chunks_per_shard"])


def test_S65_there_is_a_number_for_each_dimension() -> None:
    problems = Problems()
    ShardingTransformer((2, 2)).check((10, 10), "$", problems)
    assert not problems
    ShardingTransformer((2, 2)).check((10,), "$", problems)
    assert [problem.path for problem in problems.found] == ["$.configuration.chunks_per_shard"]
    for misfit in (2, (0,), (1.5,), ("1",), (True,)):
        with pytest.raises(ArgumentError):
            ShardingTransformer(misfit)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError):
        ShardingTransformer((2, 2)).wrap(MemoryStore(), place(1))
    with pytest.raises(ArgumentError):
        ArrayPlace("", (10, 10), (5,), DefaultKeys())


@pytest.mark.parametrize(
    "uri",
    [
        *SHARDING_URIS,
        "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.1",
        "https://purl.org/zarr/spec/storage_transformers/sharding",
        "http://purl.org/zarr/spec/storage-transformers/sharding/1.0/",
    ],
)
def test_A3_every_uri_of_documents_is_found(uri: str) -> None:
    assert find_transformer(uri, "indexed") is ShardingTransformer
    assert find_transformer(uri, "other") is None
    assert find_transformer(uri) is None


@pytest.mark.parametrize(
    "uri",
    [
        "sharding",
        "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/2.0",
        "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0/more",
        "https://purl.org/zarr/spec/extensions/storage-transformers/caching/1.0",
        "https://purl.org/zarr/spec/codecs/sharding/1.0",
    ],
)
def test_A3_other_extensions_are_not(uri: str) -> None:
    assert find_transformer(uri, "indexed") is None


def test_every_registered_transformer_is_tested() -> None:
    assert storage_transformers.names() == (ShardingTransformer.name,)


# -- keys and bytes, by the examples of the specification


@pytest.mark.smoke
def test_S67_the_key_of_a_shard() -> None:
    inner = MemoryStore()
    store = sharded(inner, 32, 2)
    for chunk in ("c96/18", "c96/19", "c97/18", "c127/19"):
        store.set(FOO + chunk, chunk.encode())
    assert list(inner.list()) == ["data/root/foo/baz/c3/9"]
    dotted = sharded(inner, 32, 2, keys=DraftKeys("."), prefix="data/dots/")
    dotted.set("data/dots/c96.18", b"")
    assert list(inner.list_prefix("data/dots/")) == ["data/dots/c3.9"]


def test_S65_shards_start_at_multiples() -> None:
    inner = MemoryStore()
    store = sharded(inner, 32, 2)
    for start in ([0, 0], [32, 2], [32, 4], [64, 2], [96, 18]):
        before = set(inner.list())
        store.set(f"{FOO}c{start[0]}/{start[1]}", b"first")
        (shard,) = set(inner.list()) - before
        assert index_of(bytes(inner.get(shard) or b""), 64)[0] == (0, 5)


def test_S68_A11_the_index_has_16_bytes_per_chunk() -> None:
    inner = MemoryStore()
    sharded(inner, 32, 2).set(FOO + "c0/0", b"")
    assert inner.size(FOO + "c0/0") == 1024


def test_S68_S69_the_bytes_of_a_shard() -> None:
    inner = MemoryStore()
    store = sharded(inner, 2, 2)
    store.set_each([(FOO + "c5/0", b"three"), (FOO + "c4/0", b"one"), (FOO + "c5/1", b"")])
    expected = b"onethree" + b"".join(number.to_bytes(8, "little") for number in (0, 3, NONE, NONE, 3, 5, 8, 0))
    assert dict(inner._data) == {FOO + "c2/0": expected}


def test_S69_chunks_outside_the_array_have_entries_too() -> None:
    inner = MemoryStore()
    narrow = ArrayPlace(FOO, (10,), (10,), DraftKeys())
    store = ShardingTransformer((4,)).wrap(inner, narrow)
    store.set(FOO + "c0", b"x")
    assert index_of(bytes(inner.get(FOO + "c0") or b""), 4) == [(0, 1), *[(NONE, NONE)] * 3]
    store.set(FOO + "c3", b"kept, as a store keeps everything")
    assert sorted(store.list()) == [FOO + "c0", FOO + "c3"]


def test_S70_any_order_and_gaps_are_read() -> None:
    inner = MemoryStore()
    data = b"..bb...a.cccc"
    inner.set(FOO + "c0/0", shard_of((7, 1), (2, 2), (NONE, NONE), (9, 4), data=data))
    store = sharded(inner, 2, 2)
    assert [store.get(f"{FOO}c{chunk}") for chunk in ("0/0", "0/1", "1/0", "1/1")] == [b"a", b"bb", None, b"cccc"]
    store.set(FOO + "c1/0", b"d")
    assert bytes(inner.get(FOO + "c0/0") or b"")[:8] == b"abbdcccc"


def test_A13_an_array_without_dimensions_has_one_chunk_in_one_shard() -> None:
    inner = MemoryStore()
    store = sharded(inner)
    store.set(FOO + "c", b"only")
    assert dict(inner._data) == {FOO + "c": shard_of((0, 4), data=b"only")}
    assert (store.get(FOO + "c"), list(store.list())) == (b"only", [FOO + "c"])
    store.erase_prefix(FOO)
    assert list(inner.list()) == []


def test_S66_A2_other_keys_pass_through() -> None:
    inner = MemoryStore()
    store = sharded(inner, 2, 2, prefix="data/foo/")
    others = {
        "zarr.json": b"1",
        "meta/foo.array.json": b"2",
        "data/foo/bar/c0/0": b"3",
        "data/foo/c0": b"4",
        "data/foo/c0/0/0": b"5",
        "data/foo/c00/1": b"6",
        "data/bar/c0/0": b"7",
        "data/c0/0": b"8",
    }
    store.set_each(others.items())
    assert dict(inner._data) == others
    for key, value in others.items():
        assert (store.get(key), store.size(key), store.exists(key)) == (value, 1, True)
    assert sorted(store.list()) == sorted(others)


def test_S66_other_keys_may_be_among_those_of_chunks() -> None:
    inner = MemoryStore()
    store = sharded(inner, 2, 2)
    store.set_each([(FOO + "c3/0", b"chunk"), (FOO + "c3/notes", b"1"), (FOO + "c3/more/notes", b"2")])
    assert sorted(store.list_prefix(FOO + "c3/")) == [FOO + "c3/0", FOO + "c3/more/notes", FOO + "c3/notes"]
    assert store.list_dir(FOO + "c3/") == ([FOO + "c3/0", FOO + "c3/notes"], [FOO + "c3/more/"])
    assert store.list_dir(FOO + "c3/more/") == ([FOO + "c3/more/notes"], [])
    assert list(store.list_prefix(FOO + "c1/")) == []
    store.erase_prefix(FOO + "c3/")
    assert list(inner.list()) == []


# -- requests to the store below


def recorded(*counts: int, inner: Store | None = None) -> tuple[RecordingStore, ShardedStore]:
    record = RecordingStore(inner or MemoryStore())
    return record, sharded(record, *counts)


def test_S71_a_read_takes_two_batches() -> None:
    record, store = recorded(2, 2)
    keys = [f"{FOO}c{row}/{column}" for row in range(6) for column in range(6)]
    store.set_each([(key, key.encode()) for key in keys if key != FOO + "c3/3"])
    record.set("zarr.json", b"{}")
    record.reset()
    values = store.get_partial_values(
        [(key, (-3, None)) for key in keys] + [("zarr.json", None), (FOO + "c99/0", None)]
    )
    assert record.methods() == ["get_partial_values"] * 2
    assert record.calls[0].requests == 10
    assert [None if value is None else bytes(value) for value in values] == [
        *(None if key == FOO + "c3/3" else key[-3:].encode() for key in keys),
        b"{}",
        None,
    ]
    record.reset()
    assert sum(value is not None for _, value in store.get_each([(key, None) for key in keys])) == 35
    assert record.methods() == ["get_partial_values", "get_each"]


def test_S71_a_read_of_absent_chunks_takes_one_batch() -> None:
    record, store = recorded(2, 2)
    store.set(FOO + "c0/0", b"x")
    record.reset()
    assert store.get_partial_values([(FOO + "c0/1", None), (FOO + "c8/8", None), (FOO + "c0/0", (1, 0))]) == [
        None,
        None,
        b"",
    ]
    assert record.methods() == ["get_partial_values"]
    assert store.get_partial_values([]) == []
    record.reset()
    assert store.exists(FOO + "c0/0")
    assert store.size(FOO + "c0/1") is None
    assert record.requests == 2


def test_S72_a_shard_that_is_fully_written_is_not_read() -> None:
    record, store = recorded(2, 2)
    keys = [f"{FOO}c{row}/{column}" for row in range(2) for column in range(2)]
    for value in (b"old", b"new!"):
        record.reset()
        store.set_each([(key, value) for key in keys])
        assert record.methods() == ["lock", "set_each"]
    assert [store.get(key) for key in keys] == [b"new!"] * 4


def test_S72_only_unchanged_chunks_are_read() -> None:
    record, store = recorded(2, 2)
    keys = [f"{FOO}c{row}/{column}" for row in range(2) for column in range(2)]
    store.set_each([(keys[0], b"a"), (keys[1], b"bb")])
    record.reset()
    store.set_each([(keys[0], b"A"), (keys[2], b"C")])
    assert record.methods() == ["lock", "get_partial_values", "get_partial_values", "set_each"]
    assert record.calls[2].range == ((1, 2), (-64, None))
    record.reset()
    store.set_each([(keys[0], b"A"), (keys[1], b"B"), (keys[2], b"C")])
    assert record.methods() == ["lock", "get_partial_values", "set_each"]  # no chunk is unchanged
    assert [store.get(key) for key in keys] == [b"A", b"B", b"C", None]


def test_S72_parts_keep_the_rest_of_a_chunk() -> None:
    _, store = recorded(2)
    store.set_each([(FOO + "c0", b"0123"), (FOO + "c1", b"abcd")])
    store.set_partial_values([(FOO + "c0", 1, b"x"), (FOO + "c1", 3, b"yz"), ("other", 1, b"w"), (FOO + "c2", 1, b"v")])
    assert [bytes(store.get(key) or b"") for key in (FOO + "c0", FOO + "c1", "other", FOO + "c2")] == [
        b"0x23",
        b"abcyz",
        b"\0w",
        b"\0v",
    ]


def test_S73_erasing_all_chunks_of_a_shard_reads_nothing() -> None:
    record, store = recorded(2)
    store.set_each([(FOO + f"c{number}", b"x") for number in range(3)])
    record.reset()
    store.erase_values([FOO + "c0", FOO + "c1"])
    assert record.methods() == ["lock", "erase_values"]
    record.reset()
    store.erase(FOO + "c3")
    store.erase(FOO + "c9")
    assert "set_each" not in record.methods()
    assert list(store.list()) == [FOO + "c2"]
    store.erase(FOO + "c2")
    assert list(record.inner.list()) == []  # erasing the last chunk erases the shard


def test_S74_a_prefix_that_cuts_through_shards() -> None:
    inner = MemoryStore()
    store = sharded(inner, 2, 2)
    chunks = [f"{FOO}c{row}/{column}" for row in range(4) for column in range(4)]
    store.set_each([(key, b"x") for key in chunks])
    store.erase_prefix(FOO + "c3/")
    assert sorted(store.list()) == [key for key in chunks if not key.startswith(FOO + "c3/")]
    assert len(list(inner.list())) == 4
    store.erase_prefix(FOO + "c2/")
    assert sorted(inner.list()) == [FOO + "c0/0", FOO + "c0/1"]


def test_S74_whole_shards_are_erased_by_one_request() -> None:
    record, store = recorded(1, 2)
    store.set_each([(f"{FOO}c{row}/{column}", b"x") for row in range(3) for column in range(4)])
    for prefix in (FOO + "c1/", FOO, "data/", "/"):
        record.reset()
        store.erase_prefix(prefix)
        assert [(call.method, call.key) for call in record.calls] == [("erase_prefix", prefix.removeprefix("/"))]
        assert not [key for key in store.list() if key.startswith(prefix.removeprefix("/"))]


def test_S75_list_prefix_reads_only_the_shards_it_needs() -> None:
    record, store = recorded(2, 2)
    store.set_each([(f"{FOO}c{row}/{column}", b"x") for row in range(6) for column in (0, 1, 5)])
    record.reset()
    assert sorted(store.list_prefix(FOO + "c3/")) == [FOO + f"c3/{column}" for column in (0, 1, 5)]
    assert record.calls[0][:2] == ("list_prefix", FOO + "c1/")
    assert set(record.of("get_partial_values")[0].key) == {FOO + "c1/0", FOO + "c1/2"}
    assert len(list(store.list_prefix("/"))) == 18


def test_S76_list_dir_verifies_keys_and_not_prefixes() -> None:
    inner = MemoryStore()
    store = sharded(inner, 2, 2)
    store.set_each([(FOO + "c2/5", b"x"), ("data/root/foo/other", b"")])
    assert store.list_dir("data/root/foo/") == (["data/root/foo/other"], [FOO])
    assert store.list_dir(FOO) == ([], [FOO + "c2/", FOO + "c3/"])
    assert store.list_dir(FOO + "c2/") == ([FOO + "c2/5"], [])
    assert store.list_dir(FOO + "c3/") == ([], [])
    assert store.list_dir(FOO + "c4/") == ([], [])
    dotted = sharded(inner, 2, 2, keys=DraftKeys("."), prefix="data/dots/")
    dotted.set("data/dots/c2.5", b"x")
    assert dotted.list_dir("data/dots/") == (["data/dots/c2.5"], [])
    deep = sharded(inner, 2, 2, keys=DefaultKeys("/"), prefix="v3/")
    deep.set("v3/c/2/5", b"x")
    assert deep.list_dir("v3/") == ([], ["v3/c/"])
    assert deep.list_dir("v3/c/") == ([], ["v3/c/2/", "v3/c/3/"])
    solid = sharded(inner, 2, 3, 5, prefix="solid/")
    solid.set("solid/c1/4/7", b"x")
    assert solid.list_dir("solid/c1/") == ([], ["solid/c1/3/", "solid/c1/4/", "solid/c1/5/"])
    own = sharded(inner, 2, 2, keys=BackwardKeys(), prefix="own/")
    own.set("own/k/5/2", b"x")
    assert own.list_dir("own/k/") == ([], ["own/k/5/"])
    assert own.list_dir("own/k/5/") == (["own/k/5/2"], [])


# -- concurrent writers and readers


@pytest.mark.parametrize("kind", ["memory", "files"])
def test_concurrent_writes_lose_nothing(kind: str, tmp_path: Path) -> None:
    store = sharded(MemoryStore() if kind == "memory" else LocalStore(tmp_path), 4, 2)
    shared = FOO + "c0/9"
    started = threading.Barrier(4)

    def work(number: int) -> None:
        started.wait()
        for step in range(8):
            key = f"{FOO}c{step}/{number}"
            store.set(key, b"%d" % step)
            with store.lock([key]):
                store.set(key, bytes(store.get(key) or b"") + b"!")
            if step % 3 == 0:
                store.erase(key)
            value, version = store.updates.read(shared)
            while not store.updates.write(shared, bytes(value or b"") + b"x", version):
                value, version = store.updates.read(shared)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert store.size(shared) == 32
    assert {key: bytes(store.get(key) or b"") for key in store.list() if key != shared} == {
        f"{FOO}c{step}/{number}": b"%d!" % step for step in range(8) if step % 3 for number in range(4)
    }


def test_locking_a_chunk_locks_its_shard() -> None:
    record, store = recorded(2)
    with store.lock([FOO + "c0", FOO + "c1", "other"]):
        assert sorted(record.calls[0].key) == [FOO + "c0", "other"]
        store.set(FOO + "c1", b"x")
        store.set("anything", b"x")
        with pytest.raises(StoreError, match="locked"):
            store.set(FOO + "c2", b"x")
    store.set(FOO + "c2", b"x")
    assert len(record.of("lock")) == 2


class Replaced(WrapperStore):
    """Replaces a value after each read of an index."""

    def __init__(self, inner: Store, values: list[bytes]) -> None:
        super().__init__(inner)
        self.values = values

    def replace(self, requests: Any) -> None:
        if self.values and all(range == (-32, None) for _, range in requests):
            self.inner.set(requests[0][0], self.values.pop(0))

    def get(self, key: str, range: Any = None) -> Any:
        value = self.inner.get(key, range)
        self.replace([(key, range)])
        return value

    def get_partial_values(self, requests: Any) -> Any:
        values = self.inner.get_partial_values(requests)
        self.replace(requests)
        return values


@pytest.mark.parametrize("method", ["get", "get_into", "set"])
def test_a_shard_replaced_during_a_read_is_detected(method: str) -> None:
    inner = MemoryStore()
    inner.set(FOO + "c0", shard_of((0, 3), (3, 3), data=b"oldOLD"))
    other = shard_of((4, 3), (0, 3), data=b"NEW?new")
    store = sharded(Replaced(inner, [other]), 2)
    if method == "get":
        assert store.get_partial_values([(FOO + "c0", None), (FOO + "c1", (1, 9))]) == [b"new", b"EW"]
    elif method == "get_into":
        target = bytearray(3)
        assert store.get_into(FOO + "c0", 0, memoryview(target)) == 3
        assert target == b"new"
    else:
        store.set(FOO + "c0", b"x")
        assert bytes(inner.get(FOO + "c0") or b"")[:4] == b"xNEW"


@pytest.mark.parametrize("gone", ["shard", "chunk"])
def test_a_shard_or_a_chunk_erased_during_a_read(gone: str) -> None:
    class Vanishing(Replaced):
        def replace(self, requests: Any) -> None:
            if self.values and gone == "shard":
                self.values.clear()
                self.inner.erase(requests[0][0])
            else:
                super().replace(requests)

    def store() -> ShardedStore:
        inner = MemoryStore()
        inner.set(FOO + "c0", shard_of((0, 3), (3, 3), data=b"oldOLD"))
        return sharded(Vanishing(inner, [shard_of((NONE, NONE), (0, 3), data=b"NEW")]), 2)

    assert store().get(FOO + "c0") is None
    assert store().get_into(FOO + "c0", 0, memoryview(bytearray(3))) is None


def test_a_shard_that_changes_at_every_read_is_an_error() -> None:
    inner = MemoryStore()

    class Restless(Replaced):
        def replace(self, requests: Any) -> None:
            pass

        def get_partial_values(self, requests: Any) -> Any:
            self.inner.set(FOO + "c0", shard_of((len(self.values), 1), (0, 1), data=bytes(len(self.values) + 1)))
            self.values.append(b"")
            return self.inner.get_partial_values(requests)

        def get_into(self, key: str, start: int, target: memoryview) -> int | None:
            self.get_partial_values([])
            return self.inner.get_into(key, start, target)

    store = sharded(Restless(inner, []), 2)
    with pytest.raises(StoreError, match="other writers keep replacing") as caught:
        store.get(FOO + "c0")
    assert caught.value.key == FOO + "c0"
    with pytest.raises(StoreError, match="other writers keep replacing"):
        store.get_into(FOO + "c0", 0, memoryview(bytearray(1)))


# -- damage


DAMAGED = {
    "half an entry": shard_of((0, NONE), (0, 1), data=b"x"),
    "half of another": shard_of((NONE, 1), (0, 1), data=b"x"),
    "beyond the end": shard_of((0, 2**40), (0, 1), data=b"x"),
    "far beyond": shard_of((2**62, 2**62), (0, 1), data=b"x"),
    "no number of bytes": shard_of((2**63, 2**63), (0, 1), data=b"x"),
    "too short": bytes(31),
    "empty": b"",
}


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("kind", ["memory", "files"])
def test_a_damaged_shard_is_a_clear_error(damage: str, kind: str, tmp_path: Path) -> None:
    inner = MemoryStore() if kind == "memory" else LocalStore(tmp_path)
    inner.set(FOO + "c0", DAMAGED[damage])
    store = sharded(inner, 2)
    for act in (
        lambda: store.get(FOO + "c0"),
        lambda: list(store.get_each([(FOO + "c0", None)])),
        lambda: store.get_into(FOO + "c0", 0, memoryview(bytearray(1000))),
        lambda: store.set(FOO + "c1", b""),
        lambda: store.set_partial_values([(FOO + "c0", 0, b"")]),
    ):
        with pytest.raises(StoreError) as caught:
            act()
        assert caught.value.key == FOO + "c0"
        assert FOO + "c0" in str(caught.value)
    store.set_each([(FOO + "c0", b"new"), (FOO + "c1", b"shard")])  # writing all chunks repairs it
    assert store.get(FOO + "c1") == b"shard"


def error_of(act: Callable[[], object]) -> StoreError | None:
    try:
        act()
    except StoreError as error:
        return error
    return None


@given(st.binary(max_size=70))
def test_any_bytes_give_values_or_a_store_error(data: bytes) -> None:
    inner = MemoryStore()
    inner.set(FOO + "c0", data)
    store = sharded(inner, 3)
    for act in (
        lambda: store.get(FOO + "c0"),
        lambda: store.get_partial_values([(FOO + "c1", (1, 5)), (FOO + "c2", None)]),
        lambda: list(store.list()),
        lambda: store.list_dir(FOO),
        lambda: store.size(FOO + "c1"),
        lambda: store.get_into(FOO + "c2", 1, memoryview(bytearray(5))),
        lambda: store.erase(FOO + "c1"),
        lambda: store.set(FOO + "c0", b"x"),
    ):
        error = error_of(act)
        assert error is None or error.key == FOO + "c0"


def test_overlapping_chunks_do_not_grow_a_shard_without_bounds() -> None:
    inner = MemoryStore()
    inner.set(FOO + "c0", shard_of(*[(0, 1000)] * 64, data=bytes(1000)))
    store = sharded(inner, 64)
    with omnizarr.config(max_chunk_bytes=10_000), pytest.raises(StoreError, match="limit"):
        store.set(FOO + "c0", b"x")
    assert store.size(FOO + "c63") == 1000


def test_an_index_that_is_too_large_is_refused_before_memory_is_allocated() -> None:
    store = sharded(MemoryStore(), 2**40, 2**40)
    for act in (
        lambda: store.get(FOO + "c0/0"),
        lambda: store.set(FOO + "c0/0", b"x"),
        lambda: store.size(FOO + "c0/0"),
        lambda: store.get_into(FOO + "c0/0", 0, memoryview(bytearray(1))),
    ):
        with pytest.raises(StoreError, match="limit"):
            act()
    assert list(store.list()) == []


def test_S76_the_index_of_a_shard_with_very_many_chunks_is_read() -> None:
    """Prefixes for all chunks that it could contain would not fit in memory."""
    inner = MemoryStore()
    inner.set(FOO + "c0/0", shard_of((0, 1), *[(NONE, NONE)] * 19_999, data=b"x"))
    assert sharded(inner, 20_000, 1).list_dir(FOO) == ([], [FOO + "c0/"])
    with pytest.raises(StoreError, match="limit"):
        sharded(inner, 2**40, 2).list_dir(FOO)


def test_a_failing_write_leaves_the_shard_as_it_was() -> None:
    class Full(WrapperStore):
        def set_each(self, items: Any) -> None:
            raise StoreError("the disk is full")

    inner = MemoryStore()
    inner.set(FOO + "c0", shard_of((0, 1), (NONE, NONE), data=b"x"))
    store = sharded(Full(inner), 2)
    with pytest.raises(StoreError, match="full"):
        store.set(FOO + "c1", b"y")
    assert sharded(inner, 2).get(FOO + "c0") == b"x"
    with store.lock([FOO + "c0"]):  # the lock is free again
        pass


# -- the store as an object


def test_equality_names_and_pickles(tmp_path: Path) -> None:
    store = sharded(LocalStore(tmp_path), 2)
    assert store == sharded(LocalStore(tmp_path), 2)
    assert store != sharded(LocalStore(tmp_path), 3)
    assert store != sharded(LocalStore(tmp_path), 2, prefix="other/")
    assert store != store.inner
    again = pickle.loads(pickle.dumps(store))
    assert again == store
    assert hash(again) == hash(store)
    again.set(FOO + "c0", b"x")
    assert store.get(FOO + "c0") == b"x"
    assert repr(store) == f"ShardedStore({store.inner!r})"
    closed = sharded(as_read_only(store.inner), 2)
    for act in (
        lambda: closed.set(FOO + "c0", b""),
        lambda: closed.set_each([]),
        lambda: closed.set_partial_values([]),
        lambda: closed.updates.write(FOO + "c0", b"", None),
        lambda: closed.erase(FOO + "c0"),
        lambda: closed.erase_values([]),
        lambda: closed.erase_prefix(FOO),
    ):
        with pytest.raises(ReadOnlyError):
            act()


class TestBesideChunks(StoreSuite):
    """No key of the suite is a chunk."""

    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> Store:
        return sharded(MemoryStore(), 2, 2)


class TestAmongChunks(StoreSuite):
    """Some keys of the suite are chunks. With one chunk along the first dimension, S76 lists only existing
    prefixes."""

    def make_store(self, tmp_path: Path) -> Store:
        return sharded(LocalStore(tmp_path), 1, 2, prefix="a/b/", keys=DefaultKeys("/"))


class TestWithoutDimensions(StoreSuite):
    """One key of the suite, `k`, is the only chunk of an array."""

    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> Store:
        return ShardingTransformer(()).wrap(MemoryStore(), ArrayPlace("", (), (), OneKey()))


class OneKey(V2Keys):
    """The key of an array that has only one chunk."""

    def join(self, parts: Any) -> str:
        return "k"

    def coordinates(self, key: str, ndim: int) -> tuple[int, ...] | None:
        return () if key == "k" else None


# -- the same shards as the codec


@pytest.mark.smoke
@pytest.mark.parametrize("inner", [MemoryStore, lambda: SlowStore(MemoryStore(), 0)], ids=["memory", "remote"])
def test_codec_and_transformer_read_shards_of_each_other(inner: Any) -> None:
    data = np.arange(7 * 9, dtype="u2").reshape(7, 9)
    store = inner()
    transformer = ShardingTransformer((2, 3))
    top = transformer.wrap(store, ArrayPlace("", data.shape, (2, 2), DefaultKeys("/")))
    z = omnizarr.create_array(top, shape=data.shape, dtype="u2", chunks=(2, 2), compressors=[Zstd()], fill_value=0)
    z[...] = data
    z[3:5, ::2] = 7
    data[3:5, ::2] = 7
    assert np.array_equal(omnizarr.open_array(top, mode="r")[...], data)
    assert sorted(store.list()) == ["c/0/0", "c/0/1", "c/1/0", "c/1/1", "zarr.json"]

    shape, codec = transformer.as_codec((2, 2), [Bytes("little"), Zstd()])
    assert shape == (4, 6)
    new = MemoryStore()
    y = omnizarr.create_array(new, shape=data.shape, dtype="u2", chunks=shape, serializer=codec, compressors=None)
    new.set_each([(key, store.get(key)) for key in store.list() if key != "zarr.json"])
    assert np.array_equal(y[...], data)
    assert np.array_equal(y[2:5, 3], data[2:5, 3])
    y[...] = data + 1
    store.set_each([(key, new.get(key)) for key in new.list() if key != "zarr.json"])
    assert np.array_equal(z[...], data + 1)


def test_shards_of_shards() -> None:
    inner = MemoryStore()
    stack = [ShardingTransformer((2,)), ShardingTransformer((3,))]
    store = wrap_all(inner, stack, place(1))
    store.set_each([(f"{FOO}c{number}", b"%d" % number) for number in range(14)])
    assert sorted(inner.list()) == [FOO + "c0", FOO + "c1", FOO + "c2"]
    assert [store.get(f"{FOO}c{number}") for number in range(15)] == [*(b"%d" % number for number in range(14)), None]
    below = stack[1].wrap(inner, stack[0].below(place(1)))
    assert stack[0].below(place(1)).chunk_shape == (20,)
    assert below.get(FOO + "c3") == shard_of((0, 1), (1, 1), data=b"67")

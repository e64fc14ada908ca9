"""Keys and bytes of shards by the examples of the specification, and the requests that a sharded store sends."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.transformers.draft_sharding.sharded_stores import FOO, recorded, sharded
from tests.transformers.places import NONE, BackwardKeys, DraftKeys, index_of, shard_of

from omnizarr.chunk_keys import DefaultKeys, V2Keys
from omnizarr.errors import ReadOnlyError
from omnizarr.store import LocalStore, MemoryStore, Store, as_read_only
from omnizarr.testing import StoreSuite
from omnizarr.transformers import (
    ArrayPlace,
    ShardingTransformer,
)

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
        assert record.methods() == ["lock", "set"]
    assert [store.get(key) for key in keys] == [b"new!"] * 4


def test_S72_a_shard_that_is_written_in_part_is_read_once_and_keeps_its_other_chunks() -> None:
    record, store = recorded(2, 2)
    keys = [f"{FOO}c{row}/{column}" for row in range(2) for column in range(2)]
    store.set_each([(keys[0], b"a"), (keys[1], b"bb")])
    record.reset()
    store.set_each([(keys[0], b"A"), (keys[2], b"C")])
    assert record.methods() == ["lock", "updates.read", "updates.write"]
    assert [store.get(key) for key in keys] == [b"A", b"bb", b"C", None]


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
    assert record.methods() == ["lock", "erase"]
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

"""Hashed directories: documented keys, plain listings, and every capability of the wrapped store."""

from __future__ import annotations

import hashlib
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.draft.documents import conventions
from tests.transformers.places import ENCODINGS, place

import omnizarr
from omnizarr._json import Problems
from omnizarr.chunk_keys import ChunkKeys, DefaultKeys
from omnizarr.errors import ArgumentError
from omnizarr.native import kernel
from omnizarr.store import LocalStore, MemoryStore, Store, as_read_only
from omnizarr.testing import RecordingStore, StoreSuite
from omnizarr.transformers import (
    HashedDirectories,
    ShardingTransformer,
    find_transformer,
    storage_transformers,
    wrap_all,
)
from omnizarr.transformers.hashed import HashedKeys, HashedStore

FOO = "data/root/foo/baz/"


def hashed(inner: Store, rank: int = 2, depth: int = 1, width: int = 3, **options: Any) -> HashedStore:
    return HashedDirectories(depth, width).wrap(inner, place(rank, **options))


# -- configuration


def test_Z12_its_configuration_and_names() -> None:
    problems = Problems()
    assert HashedDirectories.parse({}, "$", problems) == HashedDirectories(1, 3)
    assert HashedDirectories.parse({"depth": 2, "width": 1}, "$", problems) == HashedDirectories(2, 1)
    assert not problems
    assert HashedDirectories(2, 1).configuration() == {"depth": 2, "width": 1}
    assert hash(HashedDirectories()) == hash(pickle.loads(pickle.dumps(HashedDirectories())))
    for name in (HashedDirectories.name, HashedDirectories.uri):
        assert find_transformer(str(name)) is storage_transformers.get(str(name)) is HashedDirectories


@pytest.mark.parametrize("member", ["depth", "width"])
@pytest.mark.parametrize("value", [0, -1, 9, 1.0, True, "1", None, [1], 10**30])
def test_Z12_wrong_numbers_are_reported(member: str, value: Any) -> None:
    problems = Problems()
    assert HashedDirectories.parse({member: value, "more": 1}, "$", problems) is None
    assert {problem.path for problem in problems.found} == {"$.configuration.more", f"$.configuration.{member}"}
    with pytest.raises(ArgumentError, match=member):
        HashedDirectories(**{member: value})


# -- keys


@pytest.mark.smoke
def test_Z12_the_key_of_a_chunk_is_computed_from_its_coordinates() -> None:
    inner = MemoryStore()
    store = hashed(inner)
    store.set(FOO + "c12/7", b"x")
    digits = hashlib.sha256(b"c.12.7").hexdigest()
    assert digits.startswith("a37cd3")  # other programs rely on it
    assert list(inner.list()) == [f"{FOO}h/a37/c.12.7"]
    hashed(inner, depth=3, width=1).set(FOO + "c12/7", b"y")
    assert inner.get(f"{FOO}h/a/3/7/c.12.7") == b"y"
    scalar = hashed(inner, rank=0, prefix="s/")
    scalar.set("s/c", b"z")
    assert inner.get(f"s/h/{hashlib.sha256(b'c').hexdigest()[:3]}/c") == b"z"


def test_Z12_other_keys_stay_where_they_are() -> None:
    inner = MemoryStore()
    store = hashed(inner, prefix="a/", keys=DefaultKeys())
    for key in ("zarr.json", "a/zarr.json", "a/c/1", "a/c/01/2", "b/c/1/2", "a/h/abc/other"):
        store.set(key, key.encode())
        assert inner.get(key) == key.encode()
    assert sorted(store.list()) == sorted(inner.list())


@given(
    chunk=st.lists(st.integers(0, 2**63 - 1), max_size=4).map(tuple), depth=st.integers(1, 8), width=st.integers(1, 4)
)
def test_keys_have_an_inverse(chunk: tuple[int, ...], depth: int, width: int) -> None:
    keys = HashedKeys(depth, width)
    key = keys.key(chunk)
    assert keys.coordinates(key, len(chunk)) == chunk
    assert [len(part) for part in key.split("/")[1:-1]] == [width] * depth
    assert keys.coordinates(key, len(chunk) + 1) is None
    assert keys.coordinates(key.replace("h/", "h/0", 1), len(chunk)) is None
    assert keys.coordinates(key.removeprefix("h/"), len(chunk)) is None
    assert keys.leading(key[: key.rfind("/") + 1], len(chunk)) == ()
    assert key.startswith(keys.directory(chunk, len(chunk)))


def test_Z12_directories_have_few_entries(tmp_path: Path) -> None:
    data = np.arange(1, 2001, dtype="u2")
    omnizarr.create_array(tmp_path, data=data, chunks=1, storage_transformers=[HashedDirectories(2, 1)])
    entries = [len(folders) + len(files) for _, folders, files in os.walk(tmp_path / "h")]
    assert len(entries) == 1 + 16 + 256
    assert max(entries) < 30  # about 8 on average
    assert (tmp_path / "zarr.json").exists()


# -- listing, compared with a plain store

COMMANDS = st.lists(
    st.tuples(st.sampled_from(["set", "erase", "erase_prefix", "list"]), st.integers(0, 30), st.integers(0, 30)),
    max_size=30,
)


@settings(max_examples=60)
@given(commands=COMMANDS, keys=st.sampled_from(ENCODINGS), prefix=st.sampled_from(["", "x/", "x/y/"]))
def test_it_behaves_like_a_plain_store(commands: list[Any], keys: ChunkKeys, prefix: str) -> None:
    plain, inner = MemoryStore(), MemoryStore()
    store = hashed(inner, prefix=prefix, keys=keys)
    for command, first, second in commands:
        key = prefix + keys.key((first, second)) if first < 25 else ("zarr.json", "x/zarr.json", "w/c/0/0")[second % 3]
        above = "/".join(key.split("/")[: second % 5])
        folder = above + "/" if above and second % 2 else ""
        for target in (plain, store):
            if command == "set":
                target.set(key, b"%d" % first)
            elif command == "erase":
                target.erase(key)
            elif command == "erase_prefix":
                target.erase_prefix(folder)
        assert sorted(store.list_prefix(folder)) == sorted(plain.list_prefix(folder))
        assert store.list_dir(folder) == plain.list_dir(folder)
        assert store.exists(key) == plain.exists(key)
        assert store.get(key) == plain.get(key)
    assert sorted(store.list()) == sorted(plain.list())
    assert len(list(inner.list())) == len(list(plain.list()))


def test_chunks_under_their_own_keys_do_not_belong_to_the_array() -> None:
    inner = MemoryStore({"a/c/0/0": b"stale", "a/h/xyz/c.0.0": b"wrong digits"})
    store = hashed(inner, prefix="a/", keys=DefaultKeys())
    assert store.get("a/c/0/0") is None
    assert list(store.list()) == list(store.list_prefix("a/")) == ["a/h/xyz/c.0.0"]
    assert list(store.list_prefix("a/c/")) == []
    store.erase_prefix("a/c/")
    assert inner.get("a/c/0/0") == b"stale"


# -- the array


@pytest.mark.parametrize("stored", [3, "3-draft-2022", "3-draft-2020"])
@pytest.mark.parametrize("kind", ["memory", "files"])
def test_Z12_an_array_of_each_generation(stored: Any, kind: str, tmp_path: Path) -> None:
    store: Store = MemoryStore() if kind == "memory" else LocalStore(tmp_path)
    data = np.arange(600, dtype="<i4").reshape(20, 30)
    z = omnizarr.create_array(
        store,
        name="a/b",
        data=data,
        chunks=(3, 4),
        zarr_format=stored,
        storage_transformers=[HashedDirectories(1, 2)],
        **conventions(stored),
    )
    again = omnizarr.open_array(store, path="a/b")
    assert again.metadata.storage_transformers == (HashedDirectories(1, 2),)
    assert np.array_equal(again[...], data)
    assert np.array_equal(again[3:9, 5], data[3:9, 5])
    assert np.array_equal(again.oindex[[1, 7], [2, 29]], data[np.ix_([1, 7], [2, 29])])
    again[4:6, 1:9] = data[4:6, 1:9] = -1
    assert np.array_equal(z[...], data)
    again.append(data[:5])
    assert np.array_equal(z.refresh()[...], np.concatenate([data, data[:5]]))
    z.resize((4, 4))
    assert z.nchunks_initialized == 2
    assert len([key for key in store.list() if "/h/" in key]) == 2
    assert np.array_equal(z[...], data[:4, :4])


@pytest.mark.skipif(kernel() is None, reason="the kernel is not compiled")
def test_the_kernel_reads_and_writes_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.arange(4096, dtype="u4").reshape(64, 64)
    z = omnizarr.create_array(
        tmp_path, shape=data.shape, dtype="u4", chunks=(8, 8), storage_transformers=[HashedDirectories()]
    )
    z[...] = data
    again = omnizarr.open_array(tmp_path)
    monkeypatch.setattr(LocalStore, "get", None)
    monkeypatch.setattr(LocalStore, "get_into", None)
    for key in ((5, 7), (slice(3, 30), slice(2, 60)), (slice(0, 8), slice(8, 16)), ...):
        assert np.array_equal(again[key], data[key])


def test_capabilities_are_those_of_the_store_below(tmp_path: Path) -> None:
    local, memory = hashed(LocalStore(tmp_path)), hashed(MemoryStore())
    assert local.local_files is not None
    assert local.splicing is not None
    assert local.locking
    assert memory.local_files is None
    assert memory.versioned_reads is None
    for store in (local, memory):
        assert store.updates is not None
        assert store.snapshots is not None
        assert store.updates.write(FOO + "c1/2", b"first", None)
        assert not store.updates.write(FOO + "c1/2", b"other", None)
        snapshot = store.snapshots.open(FOO + "c1/2")
        assert snapshot is not None
        assert snapshot.get((1, 3)) == b"irs"
        snapshot.close()
    assert local.file(FOO + "c1/2") == str(tmp_path / "data/root/foo/baz" / HashedKeys(1, 3).key((1, 2)))


def test_a_batch_stays_a_batch() -> None:
    record = RecordingStore(MemoryStore())
    store = hashed(record)
    keys = [f"{FOO}c{number}/0" for number in range(5)]
    store.set_each((key, key.encode()) for key in keys)
    assert store.get_partial_values([(key, (0, 4)) for key in keys]) == [b"data"] * 5
    assert record.methods() == ["set_each", "get_partial_values"]


def test_it_is_a_value() -> None:
    one, two = hashed(MemoryStore({}), depth=1), hashed(MemoryStore({}), depth=1)
    assert one != two
    assert hashed(one.inner) == one
    assert hash(hashed(one.inner)) == hash(one)
    assert hashed(one.inner, depth=2) != one
    assert as_read_only(one).read_only


def test_shards_below_hashed_directories_have_hashed_keys() -> None:
    inner = MemoryStore()
    above = wrap_all(inner, [HashedDirectories(), ShardingTransformer((2, 2))], place())
    for chunk in ("c0/0", "c1/1", "c2/0"):
        above.set(FOO + chunk, chunk.encode())
    keys = HashedKeys(1, 3)
    assert sorted(inner.list()) == sorted(FOO + keys.key(shard) for shard in ((0, 0), (1, 0)))
    assert sorted(above.list()) == [FOO + "c0/0", FOO + "c1/1", FOO + "c2/0"]
    assert above.list_dir(FOO + "c0/") == ([FOO + "c0/0"], [])
    above.erase_prefix(FOO + "c0/")
    assert sorted(above.list()) == [FOO + "c1/1", FOO + "c2/0"]


class TestAmongChunks(StoreSuite):
    """Some keys of the suite are chunks."""

    def make_store(self, tmp_path: Path) -> Store:
        return hashed(LocalStore(tmp_path), prefix="a/b/", keys=DefaultKeys("/"))

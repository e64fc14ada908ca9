"""Hashed directories and content-addressed storage, stacked with each other and with the others in all orders."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.draft.documents import conventions
from tests.transformers.places import place

import omnizarr
from omnizarr.chunk_keys import DefaultKeys, FanoutKeys
from omnizarr.errors import ArgumentError
from omnizarr.store import LocalStore, MemoryStore, Store
from omnizarr.testing import SlowStore, StoreSuite
from omnizarr.transformers import (
    ContentAddressed,
    HashedDirectories,
    MemoryCache,
    ShardingTransformer,
    StorageTransformer,
    Versions,
    wrap_all,
)

PARTS: dict[str, StorageTransformer] = {
    "hashed": HashedDirectories(1, 2),
    "content": ContentAddressed("blake2b", 2, 1),
    "sharding": ShardingTransformer((3, 2)),
    "narrower": HashedDirectories(2, 1),
}
STACKS = [
    order for count in (1, 2, 3) for order in permutations(("hashed", "content", "sharding"), count) if len(order) > 1
] + [("narrower", "hashed"), ("hashed", "content", "narrower"), ("hashed", "hashed")]


def transformers(stack: tuple[str, ...]) -> list[StorageTransformer]:
    return [PARTS[name] for name in stack]


def kinds(kind: str, tmp_path: Path) -> Store:
    if kind == "files":
        return LocalStore(tmp_path)
    return SlowStore(MemoryStore(), 0) if kind == "remote" else MemoryStore()


@pytest.mark.parametrize("kind", ["memory", "files", "remote", "cached"])
@pytest.mark.parametrize("stack", STACKS, ids="+".join)
def test_Z9_an_array_behind_a_stack(stack: tuple[str, ...], kind: str, tmp_path: Path) -> None:
    formats: list[Any] = ["3-draft-2022"] if "sharding" in stack else [3, "3-draft-2020"]
    for number, zarr_format in enumerate(formats):
        data = np.arange(420, dtype="<u2").reshape(20, 21) + 1
        store = kinds(kind, tmp_path / str(number))
        omnizarr.create_array(
            store,
            name="a/b",
            data=data,
            chunks=(2, 5),
            zarr_format=zarr_format,
            storage_transformers=transformers(stack),
            **conventions(zarr_format),
        )
        runtime = [MemoryCache()] if kind == "cached" else None
        z = omnizarr.open_array(store, path="a/b", storage_transformers=runtime)
        assert np.array_equal(z[...], data)
        z[3:9, 4:17] = data[3:9, 4:17] = 9
        z[11, 3] = data[11, 3] = 8
        assert np.array_equal(z[2:13:3, ::4], data[2:13:3, ::4])
        z.append(data[:3])
        data = np.concatenate([data, data[:3]])
        assert np.array_equal(omnizarr.open_array(store, path="a/b")[...], data)
        z.resize((7, 8))
        z.resize((9, 10))
        data = np.pad(data[:7, :8], ((0, 2), (0, 2)))
        assert np.array_equal(omnizarr.open_array(store, path="a/b")[...], data)
        if "content" in stack:
            assert omnizarr.collect_garbage(store, path="a/b", min_age=0).removed > 0
            again = omnizarr.open_array(store, path="a/b")
            assert np.array_equal(again[...], data)
            assert omnizarr.collect_garbage(again, min_age=0).removed == 0


def test_listings_through_every_stack() -> None:
    keys = DefaultKeys()
    for stack in STACKS:
        inner = MemoryStore()
        store = wrap_all(inner, transformers(stack), place(prefix="a/", keys=keys))
        chunks = {f"a/c/{i}/{j}": b"%d %d" % (i, j % 2) for i in range(5) for j in range(0, 6, 2)}
        store.set_each(chunks.items())
        store.set("a/zarr.json", b"{}")
        assert sorted(store.list()) == sorted([*chunks, "a/zarr.json"])
        assert sorted(store.list_prefix("a/c/3/")) == [f"a/c/3/{j}" for j in (0, 2, 4)]
        assert inner.get("a/zarr.json") == b"{}"
        assert {key: bytes(store.get(key) or b"") for key in chunks} == chunks
        store.erase_prefix("a/c/3/")
        assert sorted(store.list_prefix("a/c/")) == sorted(key for key in chunks if not key.startswith("a/c/3/"))
        store.erase_prefix("a/c/")
        assert list(store.list()) == ["a/zarr.json"]


@pytest.mark.parametrize("stack", [("hashed", "content"), ("content", "hashed")], ids="+".join)
def test_a_stack_over_fanout_keys(stack: tuple[str, ...], tmp_path: Path) -> None:
    data = np.arange(500)
    z = omnizarr.create_array(
        tmp_path, data=data, chunks=2, chunk_key_encoding=FanoutKeys(100), storage_transformers=transformers(stack)
    )
    assert np.array_equal(omnizarr.open_array(tmp_path)[...], data)
    assert z.nchunks_initialized == 250


@pytest.mark.parametrize("stack", [("hashed",), ("content",), ("hashed", "content")], ids="+".join)
def test_a_stack_over_versions(stack: tuple[str, ...]) -> None:
    store = MemoryStore()
    data = np.arange(20)
    z = omnizarr.create_array(store, data=data, chunks=5, storage_transformers=[*transformers(stack), Versions()])
    for number in (7, 8):
        z[3:12] = number
        z.commit(f"{number}")
    if "content" in stack:
        with pytest.raises(ArgumentError, match="keeps versions"):
            omnizarr.collect_garbage(z, min_age=0)
    for version, number in ((2, 7), (3, 8)):
        expected = [*range(3), *[number] * 9, *range(12, 20)]
        assert omnizarr.open_array(store, version=version)[...].tolist() == expected
    assert omnizarr.open_array(store, version=1)[...].tolist() == data.tolist()
    assert omnizarr.open_array(store)[...].tolist() == z[...].tolist() == expected


class TestHashedContent(StoreSuite):
    def make_store(self, tmp_path: Path) -> Store:
        stack = transformers(("hashed", "content"))
        return wrap_all(LocalStore(tmp_path), stack, place(prefix="a/b/", keys=DefaultKeys()))


class TestContentOfShards(StoreSuite):
    """Shards hold pointers."""

    def make_store(self, tmp_path: Path) -> Store:
        stack: list[StorageTransformer] = [ContentAddressed(), ShardingTransformer((1, 2)), HashedDirectories()]
        return wrap_all(LocalStore(tmp_path), stack, place(prefix="a/b/", keys=DefaultKeys()))

"""Versioned arrays with other transformers, caches, stores, copies and groups."""

from __future__ import annotations

import pickle
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.nodes.versioned.arrays import FORMATS, create, open_

import omnizarr
from omnizarr.errors import (
    ArgumentError,
    ConflictError,
    OmnizarrWarning,
    ReadOnlyError,
    StoreError,
)
from omnizarr.nodes.versioned_array import VersionedArray
from omnizarr.store import MemoryStore
from omnizarr.transformers import ContentAddressed, HashedDirectories, MemoryCache, ShardingTransformer, Versions

STACKS: dict[str, list[Any]] = {
    "versions": [Versions()],
    "hashed, versions": [HashedDirectories(), Versions()],
    "content, versions": [ContentAddressed(), Versions()],
    "shards, versions": [ShardingTransformer((2,)), Versions()],
    "hashed, shards, versions": [HashedDirectories(), ShardingTransformer((2,)), Versions()],
}


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("zarr_format", FORMATS)
def test_stacks(stack: str, cached: bool, zarr_format: Any) -> None:
    if zarr_format == 3 and "shards" in stack:
        pytest.skip("v3 has a sharding codec instead")
    store = MemoryStore()
    omnizarr.create_array(
        store, shape=20, chunks=2, dtype="i2", zarr_format=zarr_format, storage_transformers=STACKS[stack]
    )
    runtime = [MemoryCache()] if cached else None
    expected = np.zeros(20, "i2")
    states = [expected.copy()]
    for number in range(1, 4):
        z = open_(store, storage_transformers=runtime)
        assert z[:].tolist() == expected.tolist()
        z[number : 4 * number] = expected[number : 4 * number] = number
        assert z[:].tolist() == expected.tolist()
        z.commit(f"{number}")
        assert z[:].tolist() == expected.tolist()
        states.append(expected.copy())
    z.prune(keep=3, grace=timedelta(0))
    for number in (1, 2, 3):
        assert open_(store, version=number)[:].tolist() == states[number].tolist()
    assert z.nchunks_initialized == len(np.unique(np.flatnonzero(expected) // 2))


@pytest.mark.parametrize("stack", [[Versions(), HashedDirectories()], [Versions(), Versions()]])
def test_transformers_below_it_are_rejected(stack: list[Any]) -> None:
    with pytest.raises(ArgumentError, match="must be the last storage transformer"):
        omnizarr.create_array(MemoryStore(), shape=4, dtype="i4", storage_transformers=stack)


def test_chunks_of_the_cache_belong_to_their_version() -> None:
    store = MemoryStore()
    z = create(store)
    cache = omnizarr.ChunkCache("1 MiB")
    tokens = {z.__dask_tokenize__()}
    for number in range(1, 4):
        z[:] = number
        tokens.add(z.__dask_tokenize__())
        z.commit()
        tokens.add(z.__dask_tokenize__())
    assert len(tokens) == 7
    for _ in range(2):
        for number in (3, 1, 2, 0):
            array = omnizarr.open_array(store, version=number, cache=cache)
            assert array[3] == number


def test_a_pruned_handle_shows_the_newest_version() -> None:
    store = MemoryStore()
    z, late = create(store), None
    late = open_(store)
    for number in range(3):
        z[:] = number + 1
        z.commit()
    report = late.prune(keep=1, grace=timedelta(0))
    assert report.versions == (0, 1, 2)
    assert late[0] == 3
    z[0] = 5
    with pytest.raises(StoreError, match="uncommitted"):
        z.prune()
    assert z.prune(dry_run=True).keys == 0
    z.rollback()


def test_a_pickled_handle_is_a_session_of_its_own(tmp_path: Path) -> None:
    z = create(tmp_path)
    z[:5] = 1
    copy = pickle.loads(pickle.dumps(z))
    assert type(copy) is VersionedArray
    del copy  # without a warning: the original still has its changes
    copy = pickle.loads(pickle.dumps(z))
    copy[5:10] = 2
    z[10:15] = 3
    copy.commit("copy")
    with pytest.raises(ConflictError):
        z.commit("both contain the change before the copy")
    z.rollback()
    z[10:15] = 3
    z.commit()
    assert z[:].tolist() == [1] * 5 + [2] * 5 + [3] * 5 + [0] * 5


def test_lost_changes_give_a_warning() -> None:
    z = create(MemoryStore())
    z[:] = 1
    with pytest.warns(OmnizarrWarning, match="uncommitted changes of array `/`.*are lost"):
        del z
    z = create(MemoryStore())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        z[:] = 1
        z.commit()
        z[:] = 1
        z.rollback()
        del z


def test_a_store_without_compare_and_set_is_rejected_for_writing(tmp_path: Path) -> None:
    z = create(tmp_path / "a.zarr")
    z[:] = 3
    z.commit()
    archive = tmp_path / "a.zip"
    with omnizarr.ZipStore(archive) as zipped:
        for key in z.store.inner.list():
            zipped.set(key, z.store.inner.get(key) or b"")
    with omnizarr.ZipStore(archive) as zipped:
        assert open_(zipped)[:].sum() == 60
        assert [version.number for version in open_(zipped).versions()] == [0, 1]
    with omnizarr.ZipStore(tmp_path / "new.zip") as zipped:
        new = create(zipped)
        with pytest.raises(ReadOnlyError, match="no compare-and-set"):
            new[:] = 1


def test_consolidated_metadata_and_moves_keep_the_versions() -> None:
    store = MemoryStore()
    z = create(store, name="g/a")
    z.attrs["x"] = 1
    z.resize(40)
    z.commit()
    omnizarr.consolidate_metadata(store, path="g")
    group = omnizarr.open_group(store, path="g", mode="r", use_consolidated=True)
    assert group["a"].shape == (40,)
    writable = omnizarr.open_group(store, path="g", mode="r+")
    with pytest.warns(OmnizarrWarning, match="are lost"):
        writable["a"].attrs["x"] = 2  # the handle does not outlive this line
    writable.move("a", "b")
    moved = writable["b"]
    assert isinstance(moved, VersionedArray)
    assert [version.number for version in moved.versions()] == [0, 1]
    moved[:] = 1
    moved.commit()
    del writable["b"]
    assert not any("__versions__" in key for key in store.list())


def test_overwrite_removes_all_versions() -> None:
    store = MemoryStore()
    old = create(store)
    old[:] = 1
    old.commit()
    old[:] = 2
    create(store, overwrite=True)
    assert [version.number for version in open_(store).versions()] == [0]
    with pytest.raises(StoreError, match="erased or replaced"):
        old.commit()
    old.rollback()
    assert open_(store)[:].sum() == 0


def test_garbage_of_content_addressed_versions_cannot_be_collected() -> None:
    store = MemoryStore()
    omnizarr.create_array(store, data=[1] * 10, chunks=5, storage_transformers=[ContentAddressed(), Versions()])
    assert open_(store)[:].tolist() == [1] * 10
    with pytest.raises(ArgumentError, match="keeps versions"):
        omnizarr.collect_garbage(store)

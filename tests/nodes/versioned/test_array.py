"""Versioned arrays as users see them: commits, versions, transactions, merges of documents, and copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.nodes.versioned.arrays import FORMATS, create, open_

import omnizarr
from omnizarr.errors import (
    ArgumentError,
    ConflictError,
    MetadataError,
    ReadOnlyError,
    StoreError,
)
from omnizarr.nodes.versioned_array import VersionedArray
from omnizarr.store import MemoryStore, SQLiteStore, Store


@pytest.mark.smoke
@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("name", [None, "group/array"])
def test_commits_make_versions(zarr_format: Any, name: str | None, tmp_path: Path) -> None:
    path = tmp_path / "v.zarr"
    z = create(path, name=name, zarr_format=zarr_format)
    z[:7] = 1
    z.attrs["unit"] = "m"
    assert omnizarr.open_array(path, path=name)[:].sum() == 0
    assert len(z.uncommitted()) == 3
    version = z.commit("first")
    assert (version.number, version.message) == (1, "first")
    assert version == z.version
    assert z.uncommitted() == []
    z[5:] = 2
    z.resize(30)
    z.commit("second")
    assert [(v.number, v.message) for v in z.versions()] == [(0, "created"), (1, "first"), (2, "second")]
    old = [open_(path, path=name, version=number) for number in range(3)]
    assert [array.shape for array in old] == [(20,), (20,), (30,)]
    assert [dict(array.attrs) for array in old] == [{}, {"unit": "m"}, {"unit": "m"}]
    assert old[0][:].tolist() == [0] * 20
    assert old[1][:].tolist() == [1] * 7 + [0] * 13
    assert old[2][:].tolist() == [1] * 5 + [2] * 15 + [0] * 10
    assert open_(path, path=name)[:].tolist() == old[2][:].tolist()
    if name is not None:
        group = omnizarr.open_group(path, mode="r", path="group")
        assert group["array"].shape == (30,)
        assert [array.shape for _, array in group.arrays()] == [(30,)]


@pytest.mark.parametrize("make", [MemoryStore, lambda: SQLiteStore("versions.sqlite")], ids=["memory", "sqlite"])
def test_sessions_merge_or_conflict(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = make()
    create(store).commit()
    one, two, three = (open_(store) for _ in range(3))
    one[:5] = 1
    two[5:10] = 2
    three[3:6] = 3
    one.commit("one")
    two.commit("two")
    assert two[:10].tolist() == [1] * 5 + [2] * 5
    with pytest.raises(ConflictError) as raised:
        three.commit("three")
    assert raised.value.keys == ("c/0", "c/1")
    assert three[3:6].tolist() == [3] * 3, "nothing is lost"
    three.rollback()
    assert three[:10].tolist() == [1] * 5 + [2] * 5
    assert three.uncommitted() == []


def test_documents_merge_only_if_chunks_stay_correct() -> None:
    def pair() -> tuple[VersionedArray, VersionedArray]:
        store = MemoryStore()
        z = create(store)
        z[:] = 9
        z.commit()
        return open_(store), open_(store)

    # Attributes of one and chunks of the other merge, and so do a larger shape and chunks.
    for change in (lambda z: z.attrs.update(a=1), lambda z: z.resize(40)):
        one, two = pair()
        change(one)
        two[:3] = 1
        one.commit()
        two.commit()
        assert two[:5].tolist() == [1, 1, 1, 9, 9]
        one, two = pair()
        change(one)
        two[:3] = 1
        two.commit()
        one.commit()
        assert one[:5].tolist() == [1, 1, 1, 9, 9]
    # A smaller shape does not: the other session may have written what it removes.
    for first in (0, 1):
        handles = pair()
        handles[0].resize(10)
        handles[1][12:] = 1
        handles[first].commit()
        with pytest.raises(ConflictError, match=r"zarr\.json"):
            handles[1 - first].commit()
        handles[1 - first].rollback()
    # Two changes of the document conflict.
    one, two = pair()
    one.attrs["a"] = 1
    two.attrs["b"] = 2
    one.commit()
    with pytest.raises(ConflictError, match=r"zarr\.json"):
        two.commit()
    two.rollback()


def test_a_handle_shows_one_version() -> None:
    store = MemoryStore()
    z = create(store)
    reader = open_(store, mode="r")
    z[:] = 1
    z.commit()
    assert reader[:].sum() == 0
    assert reader.version.number == 0
    assert reader.refresh()[:].sum() == 20
    pinned = open_(store, version=0)
    assert pinned.refresh().version.number == 0
    z[:3] = 5
    z.refresh()
    assert z[:3].tolist() == [5] * 3, "a handle with changes keeps its version and its changes"
    z.rollback()


def test_a_transaction_commits_or_rolls_back() -> None:
    store = MemoryStore()
    z = create(store)
    other = open_(store)
    other[:] = 1
    other.commit()
    with z.transaction("double") as changed:
        assert changed[0] == 1, "it begins from the newest version"
        changed[:] = changed[:] * 2
        changed.attrs["doubled"] = True
    assert z.version.message == "double"

    def fail() -> None:
        with z.transaction():
            z[:] = 7
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert z[:].tolist() == [2] * 20
    assert z.version.number == 2
    z[0] = 1
    with pytest.raises(StoreError, match="uncommitted changes"), z.transaction():
        pass
    z.rollback()


def test_append_and_resize_are_versioned() -> None:
    store = MemoryStore()
    z = create(store, shape=0)
    for number in range(4):
        z.append(np.full(3, number, "i4"))
        z.commit()
    z.resize(5)
    z.commit()
    assert [open_(store, version=number)[:].tolist() for number in (2, 4, 5)] == [
        [0] * 3 + [1] * 3,
        [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3,
        [0] * 3 + [1] * 2,
    ]
    z.resize(9)
    assert z[:].tolist() == [0] * 3 + [1] * 2 + [0] * 4
    z.rollback()


def test_restore_brings_an_old_version_back() -> None:
    store = MemoryStore()
    z = create(store)
    z[:10] = 1
    z.commit()
    z[5:] = 2
    z.attrs["a"] = 1
    z.resize(25)
    z.commit()
    for number, expected in ((1, [1] * 10 + [0] * 10), (0, [0] * 20)):
        z.restore(number).commit(f"back to {number}")
        again = open_(store)
        assert again[:].tolist() == expected
        assert dict(again.attrs) == {}
    z.restore(2).commit()
    assert z[:].tolist() == [1] * 5 + [2] * 15 + [0] * 5
    z.restore(2)
    assert z.uncommitted() == []
    z[0] = 5
    with pytest.raises(StoreError, match="uncommitted"):
        z.restore(1)
    z.rollback()


def test_data_of_a_new_array_is_committed() -> None:
    store = MemoryStore()
    z = create(store, shape=None, dtype=None, chunks=2, data=np.arange(6))
    assert z.version.number == 1
    assert open_(store, mode="r")[:].tolist() == list(range(6))
    assert open_(store, version=0)[:].tolist() == [0] * 6


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_checkout_makes_a_plain_array(zarr_format: Any, tmp_path: Path) -> None:
    z = create(MemoryStore(), name="a/b", zarr_format=zarr_format, attributes={"x": 1})
    z[:] = np.arange(20)
    z.commit()
    z[:5] = 0
    plain = z.checkout(tmp_path / "plain.zarr", path="c")
    z.rollback()
    assert type(plain) is omnizarr.Array
    for array in (plain, omnizarr.open_array(tmp_path / "plain.zarr", path="c")):
        assert array[:].tolist() == [0] * 5 + list(range(5, 20))
        assert dict(array.attrs) == {"x": 1}
        assert array.metadata.storage_transformers == ()
    files = [file.as_posix() for file in (tmp_path / "plain.zarr").rglob("*")]
    assert not any("__versions__" in file for file in files)
    with pytest.raises(omnizarr.errors.NodeExistsError):
        z.checkout(tmp_path / "plain.zarr", path="c")
    old = open_(z.store.inner, path="a/b", version=0).checkout(tmp_path / "plain.zarr", path="c", overwrite=True)
    assert old[:].tolist() == [0] * 20


def test_wrong_arguments() -> None:
    store = MemoryStore()
    z = create(store, name="a")
    omnizarr.create_array(store, name="plain", shape=4, dtype="i4")
    for version in ("1", 1.0, True):
        with pytest.raises(ArgumentError, match="number of a version"):
            omnizarr.open(store, path="a", version=version)
    with pytest.raises(ArgumentError, match="from 0 to 0, found 1"):
        omnizarr.open(store, path="a", version=1)
    with pytest.raises(ArgumentError, match="keeps no versions"):
        omnizarr.open(store, path="plain", version=0)
    with pytest.raises(ArgumentError, match="is a group"):
        omnizarr.open(store, version=0)
    with pytest.raises(ArgumentError, match="a version never changes"):
        omnizarr.open(store, path="a", version=0, mode="r+")
    with pytest.raises(ArgumentError, match="expected text"):
        z.commit(5)  # type: ignore[arg-type]
    reader = open_(store, path="a", mode="r")
    with pytest.raises(ReadOnlyError):
        reader[:] = 1
    with pytest.raises(ReadOnlyError):
        reader.prune()


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_a_reader_that_does_not_know_versions_rejects_them(zarr_format: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from omnizarr.transformers import storage_transformers

    store = MemoryStore()
    create(store, zarr_format=zarr_format)
    for table in ("_items", "_offers", "_aliases"):
        known = getattr(storage_transformers, table)
        others = {name: item for name, item in known.items() if "versions" not in name}
        monkeypatch.setattr(storage_transformers, table, others)
    with pytest.raises(MetadataError, match="unknown storage transformer"):
        omnizarr.open_array(store)


def test_an_unknown_configuration_is_rejected() -> None:
    store = MemoryStore()
    create(store)
    document = bytes(store.get("zarr.json") or b"")
    new = document.replace(b'"omnizarr.versions"', b'"omnizarr.versions", "configuration": {"depth": 1}')
    assert new != document
    store.set("zarr.json", new)
    with pytest.raises(MetadataError, match="depth: unknown member"):
        omnizarr.open_array(store)


def _stored(store: Store) -> int:
    return len(list(store.list_prefix("__versions__/values/")))


def test_rewriting_a_chunk_leaves_no_garbage() -> None:
    store = MemoryStore()
    z = create(store)
    for element in range(20):
        z[element] = element
    assert _stored(store) == 4
    z.commit()
    z[:5] = 1
    z.rollback()
    assert _stored(store) == 4

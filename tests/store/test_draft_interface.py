"""The store interface of the drafts, with the examples of their texts.

Both drafts have the same interface, except for operations on parts of values and on several keys, which only the draft
of 2022 has. StoreSuite tests more than these rules require.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import InvalidKeyError, ReadOnlyError, StoreError
from omnizarr.store import LocalStore, MemoryStore, Store, WrapperStore

DRAFTS: Any = ["3-draft-2020", "3-draft-2022"]


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else LocalStore(tmp_path)


def fill(store: Store, *keys: str) -> Store:
    store.set_each([(key, key.encode()) for key in keys])
    return store


# -- keys


@pytest.mark.parametrize("draft", DRAFTS)
def test_S50_T23_keys_consist_of_letters_digits_and_four_other_characters(draft: Any) -> None:
    store = MemoryStore()
    root = omnizarr.create_group(store, zarr_format=draft)
    root.create_array("Some-name_1.x/y", data=np.arange(12.0).reshape(3, 4), chunks=(2, 2), attributes={"ü": "é"})
    assert len(list(store.list())) == 7
    assert all(re.fullmatch(r"[A-Za-z0-9/.\-_]*[A-Za-z0-9.\-_]", key) for key in store.list())


def test_S50_T23_keys_do_not_end_in_a_slash_and_prefixes_do(store: Store) -> None:
    for operation in (store.get, store.erase, lambda key: store.set(key, b"")):
        with pytest.raises(InvalidKeyError):
            operation("a/b/")
    fill(store, "a/b")
    for operation in (store.list_prefix, store.list_dir, store.erase_prefix):
        with pytest.raises(InvalidKeyError):
            list(operation("a") or ())
    assert list(store.list()) == ["a/b"]


def test_S50_T23_keys_are_case_sensitive() -> None:
    store = fill(MemoryStore(), "foo", "FOO")
    assert (store.get("foo"), store.get("FOO")) == (b"foo", b"FOO")


def test_S50_values_are_any_bytes(store: Store) -> None:
    for value in (b"", bytes(range(256)), b"\0" * 100_000):
        store.set("k", value)
        assert store.get("k") == value


# -- reading


def test_S51_T23_get_returns_the_value_or_none(store: Store) -> None:
    fill(store, "a/b")
    assert store.get("a/b") == b"a/b"
    assert store.get("a") is None
    assert store.get("a/c") is None


def test_S52_parts_come_in_the_order_of_the_requests(store: Store) -> None:
    store.set_each([("a", b"01234"), ("b", b"56789")])
    requests: Any = [("b", (1, 3)), ("a", (0, None)), ("absent", (0, None)), ("b", (4, None)), ("a", (2, 2))]
    values = store.get_partial_values(requests)
    assert [None if value is None else bytes(value) for value in values] == [b"678", b"01234", None, b"9", b"23"]


# -- writing and erasing


def test_S53_T23_set_stores_one_pair_for_a_key(store: Store) -> None:
    store.set("a/b", b"a longer value")
    store.set("a/b", b"short")
    assert store.get("a/b") == b"short"
    assert list(store.list()) == ["a/b"]


def test_S54_parts_of_a_value_are_stored_and_must_not_overlap(store: Store) -> None:
    store.set("a", b"0123456789")
    store.set_partial_values([("a", 2, b"xy"), ("b", 0, b"new"), ("a", 7, b"z")])
    assert (store.get("a"), store.get("b")) == (b"01xy456z89", b"new")
    with pytest.raises(StoreError):
        store.set_partial_values([("b", 0, b"!!"), ("a", 0, b"123"), ("a", 2, b"4")])
    assert (store.get("a"), store.get("b")) == (b"01xy456z89", b"new")


def test_S55_T23_erase_removes_one_key(store: Store) -> None:
    fill(store, "a", "b/c", "b/d").erase("b/c")
    assert sorted(store.list()) == ["a", "b/d"]


def test_S56_erase_values_removes_several(store: Store) -> None:
    fill(store, "a", "b/c", "b/d", "e").erase_values({"a", "b/d", "absent"})
    assert sorted(store.list()) == ["b/c", "e"]


def test_S57_T23_erase_prefix_removes_all_keys_with_the_prefix(store: Store) -> None:
    fill(store, "meta/foo.array.json", "data/foo/c0", "data/foo/bar/c0", "data/foobar/c0").erase_prefix("data/foo/")
    assert sorted(store.list()) == ["data/foobar/c0", "meta/foo.array.json"]


# -- listing


def test_S58_T23_list_returns_all_keys(store: Store) -> None:
    assert list(store.list()) == []
    assert sorted(fill(store, "a/b", "a/c/d", "e").list()) == ["a/b", "a/c/d", "e"]


def test_S59_T23_example_of_list_prefix(store: Store) -> None:
    assert sorted(fill(store, "a/b", "a/c/d", "e/f/g").list_prefix("a/")) == ["a/b", "a/c/d"]


def test_S60_T23_example_of_list_dir(store: Store) -> None:
    fill(store, "a/b", "a/c", "a/d/e", "a/f/g")
    assert store.list_dir("a/") == (["a/b", "a/c"], ["a/d/", "a/f/"])
    assert store.list_dir("b/") == ([], [])


# -- stores with fewer operations


class Unlisted(WrapperStore):
    """A store that cannot list, like a plain web server."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.listable = False

    def list_prefix(self, prefix: str) -> Iterator[str]:
        raise StoreError("this store cannot list", store=repr(self))

    def list_dir(self, prefix: str) -> Any:
        raise StoreError("this store cannot list", store=repr(self))


class OnlyAllKeys(WrapperStore):
    """A store that can only list all keys. The other listings are derived from that."""

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return (key for key in self.inner.list() if key.startswith(prefix))

    def list_dir(self, prefix: str) -> Any:
        return Store.list_dir(self, prefix)


@pytest.mark.parametrize("zarr_format", [2, 3, *DRAFTS])
def test_S62_a_store_that_cannot_list_can_be_read_and_written_by_path(zarr_format: Any) -> None:
    store = Unlisted(MemoryStore())
    omnizarr.create_array(store, name="g/a", data=np.arange(6), chunks=4, zarr_format=zarr_format)
    z = omnizarr.open_array(store, path="g/a")
    z[5] = 9
    assert omnizarr.open_array(store, path="g/a", mode="r")[...].tolist() == [0, 1, 2, 3, 4, 9]
    omnizarr.create_group(store, path="h", zarr_format=zarr_format)
    with pytest.raises(StoreError, match="cannot list"):
        list(omnizarr.open_group(store, path="h", mode="r"))


@pytest.mark.parametrize("draft", DRAFTS)
def test_S62_one_list_operation_is_enough(draft: Any) -> None:
    store = OnlyAllKeys(MemoryStore())
    root = omnizarr.create_group(store, zarr_format=draft)
    root.create_array("foo/bar", data=[1])
    root.create_group("foo/baz")
    assert [path for path, _ in root.members(max_depth=None)] == ["foo", "foo/bar", "foo/baz"]
    del root["foo"]
    assert list(root) == []


def test_S62_a_store_that_cannot_write_can_be_read_and_listed() -> None:
    store = MemoryStore()
    omnizarr.create_array(store, name="a", data=[1, 2], zarr_format="3-draft-2022")
    store.writable = False
    assert (store.readable, store.writable, store.listable) == (True, False, True)
    assert omnizarr.open_group(store, mode="r")["a"][...].tolist() == [1, 2]
    before = sorted(store.list())
    for operation in (
        lambda: store.set("k", b""),
        lambda: store.set_partial_values([("zarr.json", 0, b"")]),
        lambda: store.erase("zarr.json"),
        lambda: store.erase_prefix("meta/"),
        lambda: omnizarr.create_group(store, path="g", zarr_format="3-draft-2022"),
    ):
        with pytest.raises(ReadOnlyError):
            operation()
    assert sorted(store.list()) == before


# -- file system stores


def test_S86_keys_are_paths_of_files(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "data")
    store.set("foo/bar", b"value")
    file = tmp_path / "data" / "foo" / "bar"
    assert file.read_bytes() == b"value"
    file.write_bytes(b"changed")
    assert store.get("foo/bar") == b"changed"
    (tmp_path / "data" / "foo" / "deep").mkdir()
    (tmp_path / "data" / "foo" / "deep" / "file").write_bytes(b"")
    assert sorted(store.list()) == ["foo/bar", "foo/deep/file"]
    assert sorted(store.list_prefix("foo/deep/")) == ["foo/deep/file"]
    assert store.list_dir("foo/") == (["foo/bar"], ["foo/deep/"])
    assert store.list_dir("") == ([], ["foo/"])


def test_S86_A66_deleting_a_key_deletes_a_file_and_no_directory(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    fill(store, "foo/bar", "foo/baz").erase("foo/bar")
    assert [path.name for path in (tmp_path / "foo").iterdir()] == ["baz"]
    store.erase("foo")  # a directory; the text of the draft would delete it
    assert store.get("foo/baz") == b"foo/baz"


@pytest.mark.parametrize("draft", DRAFTS)
def test_S86_a_hierarchy_is_a_tree_of_files(draft: Any, tmp_path: Path) -> None:
    omnizarr.create_array(
        tmp_path, name="foo/baz", data=np.arange(4, dtype="<u2"), chunks=2, compressors=None, zarr_format=draft
    )
    start = "root" if draft == "3-draft-2020" else "."
    assert (tmp_path / "zarr.json").is_file()
    assert (tmp_path / "meta" / start / "foo" / "baz.array.json").is_file()
    assert (tmp_path / "data" / start / "foo" / "baz" / "c1").read_bytes() == b"\2\0\3\0"

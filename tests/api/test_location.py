"""The store arguments that users give, and the locations that they resolve to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import omnizarr
from omnizarr.api.location import resolve
from omnizarr.errors import LocationError


def test_a_path_as_text_or_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    omnizarr.create_group(tmp_path / "a.zarr")
    assert (tmp_path / "a.zarr" / "zarr.json").is_file()

    class Location(os.PathLike[str]):
        def __fspath__(self) -> str:
            return str(tmp_path / "a.zarr")

    monkeypatch.chdir(tmp_path)
    for store in (tmp_path / "a.zarr", str(tmp_path / "a.zarr"), Location(), "a.zarr", Path("a.zarr")):
        assert isinstance(omnizarr.open(store), omnizarr.Group)


def test_a_url(tmp_path: Path) -> None:
    folder = tmp_path / "my data.zarr"
    omnizarr.create_group(folder)
    assert isinstance(omnizarr.open(folder.as_uri()), omnizarr.Group)
    assert "%20" in folder.as_uri()


def test_a_store_is_itself() -> None:
    store = omnizarr.MemoryStore()
    assert resolve(store) == (store, "")
    assert resolve(store, path="a/b") == (store, "a/b")


def test_a_dict_holds_the_bytes() -> None:
    data: dict[str, Any] = {}
    omnizarr.create_array(data, name="a", data=[1, 2])
    assert sorted(data) == ["a/c/0", "a/zarr.json", "zarr.json"]
    assert all(type(value) is bytes for value in data.values())
    assert omnizarr.open_array(data, path="a").same_array(omnizarr.open_group(data)["a"])


def test_none_is_a_new_memory_store() -> None:
    one, two = omnizarr.create_group(None), omnizarr.create_group()
    assert one.store != two.store
    one.create_group("a")
    assert list(two) == []


def test_a_named_memory_url_is_shared() -> None:
    omnizarr.create_array("memory://test-location", data=[1], overwrite=True)
    assert omnizarr.open("memory://test-location")[0] == 1  # type: ignore[index]
    with pytest.raises(KeyError):
        omnizarr.open("memory://test-location-2")
    omnizarr.create_array("memory://test-location-3/a/b", data=[2])
    assert omnizarr.open("memory://test-location-3", path="a/b")[0] == 2  # type: ignore[index]


@pytest.mark.parametrize("store", ["", "moon://bucket/x", "s3://", 3, 2.5, b"bytes", ["a"], object()])
def test_objects_that_are_not_stores_are_rejected(store: Any) -> None:
    with pytest.raises(LocationError):
        omnizarr.open(store)


def test_storage_options_need_a_url_that_takes_them(tmp_path: Path) -> None:
    for store in (tmp_path, str(tmp_path), tmp_path.as_uri(), omnizarr.MemoryStore(), {}, None, "memory://x"):
        with pytest.raises(LocationError, match="storage_options"):
            omnizarr.open_group(store, storage_options={"key": "secret"})
        assert omnizarr.open_group(store, storage_options={}).path == ""


@pytest.mark.parametrize(
    ("start", "hint"),
    [(b"PK\3\4", "zip::"), (b"SQLite format 3\0", "sqlite::"), (b'{"version": 1}', "reference::"), (b"x", "is a file")],
)
def test_a_file_in_place_of_a_directory_gets_a_hint(tmp_path: Path, start: bytes, hint: str) -> None:
    (tmp_path / "x.zarr").write_bytes(start)
    with pytest.raises(KeyError) as caught:
        omnizarr.open(tmp_path / "x.zarr")
    assert hint in str(caught.value)

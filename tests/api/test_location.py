"""Places, as users give them."""

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
    for place in (tmp_path / "a.zarr", str(tmp_path / "a.zarr"), Location(), "a.zarr", Path("a.zarr")):
        assert isinstance(omnizarr.open(place), omnizarr.Group)


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
    assert omnizarr.open(data, path="a") == omnizarr.open(data)["a"]  # type: ignore[index]


def test_nothing_is_memory_of_its_own() -> None:
    one, two = omnizarr.create_group(None), omnizarr.create_group()
    assert one.store != two.store
    one.create_group("a")
    assert list(two) == []


def test_memory_with_a_name_is_the_same_everywhere() -> None:
    omnizarr.create_array("memory://test-location", data=[1], overwrite=True)
    assert omnizarr.open("memory://test-location")[0] == 1  # type: ignore[index]
    with pytest.raises(KeyError):
        omnizarr.open("memory://test-location-2")
    omnizarr.create_array("memory://test-location-3/a/b", data=[2])
    assert omnizarr.open("memory://test-location-3", path="a/b")[0] == 2  # type: ignore[index]


@pytest.mark.parametrize("place", ["", "moon://bucket/x", "s3://", 3, 2.5, b"bytes", ["a"], object()])
def test_what_is_no_place(place: Any) -> None:
    with pytest.raises(LocationError):
        omnizarr.open(place)


def test_storage_options_belong_to_urls_that_take_them(tmp_path: Path) -> None:
    for place in (tmp_path, str(tmp_path), tmp_path.as_uri(), omnizarr.MemoryStore(), {}, None, "memory://x"):
        with pytest.raises(LocationError, match="storage_options"):
            omnizarr.open_group(place, storage_options={"key": "secret"})
        assert omnizarr.open_group(place, storage_options={}).path == ""


@pytest.mark.parametrize(
    ("start", "hint"),
    [(b"PK\3\4", "zip::"), (b"SQLite format 3\0", "sqlite::"), (b'{"version": 1}', "reference::"), (b"x", "is a file")],
)
def test_a_file_where_a_folder_is_meant(tmp_path: Path, start: bytes, hint: str) -> None:
    (tmp_path / "x.zarr").write_bytes(start)
    with pytest.raises(KeyError) as caught:
        omnizarr.open(tmp_path / "x.zarr")
    assert hint in str(caught.value)

"""Addresses: the store and path that they refer to, and the number of requests to find out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.registries import restoring

import omnizarr
from omnizarr.errors import ArgumentError, LocationError
from omnizarr.store import FsspecStore, LocalStore, MemoryStore, Store
from omnizarr.store.address.containers import containers, suffixes
from omnizarr.store.address.parse import Location, locate, value_at
from omnizarr.store.address.schemes import stores
from omnizarr.testing import RecordingStore

_remote = RecordingStore(MemoryStore({"data/x.box": b"", "y.box": b""}, name="far away"))


class Box(MemoryStore):
    """A container that records its store, key and options."""

    def __init__(self, inside: Store, key: str, options: dict[str, Any]) -> None:
        super().__init__(name=f"box {key} of {type(inside).__name__}({inside.location}) {sorted(options)}")
        self.inside = inside
        self.key = key
        self.options = options


def _box(store: Store, key: str, *, lid: bool = False, colour: str = "") -> Box:
    return Box(store, key, {"lid": lid} if lid else {})


@pytest.fixture(autouse=True)
def _boxes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with restoring(stores), restoring(containers):
        containers.register("box", _box)
        monkeypatch.setitem(suffixes, ".box", "box")

        def open_far(url: str, *, token: str = "") -> Store:
            from omnizarr.store import PrefixStore

            below = url.partition("?")[0].partition("://")[2].partition("/")[2]
            return PrefixStore(_remote, below) if below else _remote

        stores.register("far", open_far)
        _remote.reset()
        yield


def _box_at(location: Location) -> tuple[str, str, str]:
    assert isinstance(location.store, Box)
    return location.store.inside.location, location.store.key, location.path


@pytest.mark.parametrize("text", ["x.zarr", "a/b", "x.boxes", "x.box.zarr", ".box", "boxes/x", "a::b", "a|b:c", "x|y"])
def test_a_path_is_a_folder_and_is_not_accessed(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.path.isdir", lambda path: pytest.fail(f"accessed {path}"))
    assert locate(text) == (LocalStore(tmp_path / text), "")


@pytest.mark.parametrize(
    ("text", "folder", "key", "path"),
    [
        ("x.box", "", "x.box", ""),
        ("x.BOX/", "", "x.BOX", "/"),
        ("a/x.zarr.box/b/c", "a", "x.zarr.box", "/b/c"),
        ("x.box/y.box", "", "x.box", "/y.box"),
        ("box::x", "", "x", ""),
        ("box://b/c::a/x", "a", "x", "b/c"),
        ("a/x|box:b/c", "a", "x", "b/c"),
        ("x.zarr|box:", "", "x.zarr", ""),
    ],
)
def test_a_container_in_a_folder(
    text: str, folder: str, key: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _box_at(locate(text)) == (str(tmp_path / folder).rstrip("/"), key, path)


def test_a_file_url_is_a_path(tmp_path: Path) -> None:
    url = (tmp_path / "my data.box").as_uri()
    assert "%20" in url
    assert _box_at(locate(f"{url}/a")) == (str(tmp_path), "my data.box", "/a")
    assert _box_at(locate(f"box::{url}")) == (str(tmp_path), "my data.box", "")
    assert _box_at(locate(f"{url}|box:a")) == (str(tmp_path), "my data.box", "a")


def test_a_folder_may_have_the_suffix_of_a_container(tmp_path: Path) -> None:
    (tmp_path / "x.box").mkdir()
    assert locate(str(tmp_path / "x.box" / "a")) == (LocalStore(tmp_path / "x.box" / "a"), "")
    assert _box_at(locate(str(tmp_path / "x.box" / "y.box" / "a"))) == (str(tmp_path / "x.box"), "y.box", "/a")


def test_a_container_in_a_url_takes_one_request() -> None:
    assert _box_at(locate("far://bucket/data/x.box/a/b")) == ("memory://far away/data", "x.box", "/a/b")
    assert [(call.method, call.key) for call in _remote.calls] == [("size", "data/x.box")]
    _remote.reset()
    assert locate("far://bucket/data/z.box/a").store.location == "memory://far away/data/z.box/a"
    assert _remote.requests == 1
    _remote.reset()
    assert locate("far://bucket.box/data").store.location == "memory://far away/data"
    assert _remote.requests == 0
    assert _box_at(locate("box://a::far://bucket/data/z")) == ("memory://far away/data", "z", "a")
    assert _box_at(locate("far://bucket/y.box?a=1/2")) == ("memory://far away", "y.box", "")
    assert _box_at(locate("far://bucket/y.box")) == ("memory://far away", "y.box", "")


def test_containers_in_containers() -> None:
    location = locate("box://a::box://data/inner::far://bucket/outer")
    assert isinstance(location.store, Box)
    assert (location.path, location.store.key) == ("a", "data/inner")
    assert _box_at(Location(location.store.inside)) == ("memory://far away", "outer", "")
    same = locate("far://bucket/outer|box:data/inner|box:a")
    assert isinstance(same.store, Box)
    assert (same.path, same.store.key) == ("a", "data/inner")


def test_options_are_passed_to_the_container_or_the_store(tmp_path: Path) -> None:
    for text in (f"{tmp_path}/x.box", f"box::{tmp_path}/x", f"{tmp_path}/x|box:"):
        for options in ({"lid": True}, {"box": {"lid": True}}):
            store = locate(text, options).store
            assert isinstance(store, Box)
            assert store.options == {"lid": True}
    store = locate("box::far://b/x", {"token": "t", "box": {"lid": True}}).store
    assert isinstance(store, Box)
    assert store.options == {"lid": True}
    with pytest.raises(LocationError, match="`box::` does not take these `storage_options`: glue"):
        locate(f"{tmp_path}/x.box", {"glue": 1})
    with pytest.raises(LocationError, match="`far://` does not take these `storage_options`: lid"):
        locate("box::far://b/x", {"lid": True})
    with pytest.raises(LocationError, match="expected a dict of options under `box`"):
        locate("box::far://b/x", {"box": 3})


def test_an_unknown_container_is_an_error_if_it_cannot_be_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LocationError, match="`bix::` is nothing .* did you mean `box`|did you mean `box`"):
        locate("bix::far://bucket/x")
    monkeypatch.chdir(tmp_path)
    assert locate("bix::x") == (LocalStore(tmp_path / "bix::x"), "")


def test_chained_urls_of_fsspec(tmp_path: Path) -> None:
    data = np.arange(10)
    omnizarr.save_array(tmp_path / "x", data)
    store, path = locate(f"simplecache::file://{tmp_path}/x", {"simplecache": {"cache_storage": str(tmp_path / "c")}})
    assert (type(store), path) == (FsspecStore, "")
    assert (omnizarr.open_array(f"simplecache::file://{tmp_path}/x", mode="r")[...] == data).all()
    with pytest.raises(LocationError, match="`simplecachee::`"):
        locate(f"simplecachee::file://{tmp_path}/x")


def test_a_web_address_requires_a_host() -> None:
    with pytest.raises(LocationError, match="name of a server"):
        locate("https:///x")


def test_an_opener_must_return_a_store() -> None:
    containers.register("bin", lambda store, key: "nothing")
    with pytest.raises(LocationError, match="`bin::` returned a str, expected a store"):
        locate("bin::x")
    with pytest.raises(ArgumentError, match="cannot be registered"):
        containers.register("lid", 3)


def test_single_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert value_at("a/b.json") == (LocalStore(tmp_path / "a"), "b.json")
    assert value_at((tmp_path / "b c").as_uri()) == (LocalStore(tmp_path), "b c")
    assert value_at("far://bucket/a/b")[1] == "b"
    for text in ("far://bucket", "far:///", "/"):
        with pytest.raises(LocationError, match="names no file"):
            value_at(text)


def test_arrays_and_groups_in_a_container(tmp_path: Path) -> None:
    chests: dict[str, Box] = {}
    containers.register("chest", lambda store, key: chests.setdefault(key, Box(store, key, {})))
    address = f"chest://a/b::{tmp_path}/x"
    omnizarr.create_array(address, data=[1, 2, 3])
    assert sorted(chests["x"].list()) == ["a/b/c/0", "a/b/zarr.json", "a/zarr.json", "zarr.json"]
    assert omnizarr.open(address)[1] == 2  # type: ignore[index]
    assert omnizarr.open(f"chest://a::{tmp_path}/x", path="b").path == "a/b"
    with pytest.raises(ArgumentError, match="not a path"):
        omnizarr.open(f"chest://../x::{tmp_path}/x")

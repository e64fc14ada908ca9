"""Promise 7: hostile texts as keys, paths, addresses and names, in every store and public function, raise only our own
errors. A value of a wrong type may also raise TypeError."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import InvalidKeyError, LocationError, OmnizarrError
from omnizarr.store import CacheStore, MappingStore, PrefixStore, ReadOnlyStore, ReferenceStore, SQLiteStore, Store

TEXTS: dict[str, Any] = {
    "a lone surrogate": "\ud800",
    "an escaped byte": "a/\udcff/b",
    "NUL": "a\0b",
    "a long name": "x" * 5000,
    "a long path": "/".join(["y" * 200] * 40),
    "control characters": "a\n\x01\x7f",
    "right to left": "\u202eabc\u0627",
    "the parent": "..",
    "a parent within": "a/../../b",
    "a drive": "C:\\x",
    "a drive with a slash": "c:/x",
    "absolute": "/nowhere/at/all",
    "empty": "",
    "the same": ".",
    "an empty part": "a//b",
    "a slash at the end": "a/",
    "a backslash": "a\\b",
    "a URL": "foo://bar",
    "a home": "~nouser/x",
    "an escape": "%00%ff",
    "a device": "CON",
    "a colon": "a:b",
    "a container": "zip::\ud800",
    "a pipe": "a|zip:\ud800",
    "an integer": 5,
    "None": None,
    "bytes": b"x",
    "a list": [1],
}

STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda place: omnizarr.MemoryStore(),
    "local": lambda place: omnizarr.LocalStore(place / "folder"),
    "sqlite": lambda place: SQLiteStore(place / "s.sqlite"),
    "zip": lambda place: omnizarr.ZipStore(place / "z.zip"),
    "read-only": lambda place: ReadOnlyStore(omnizarr.LocalStore(place / "folder")),
    "prefix": lambda place: PrefixStore(omnizarr.LocalStore(place / "folder"), "p/"),
    "cache": lambda place: CacheStore(omnizarr.LocalStore(place / "folder")),
    "disk cache": lambda place: CacheStore(omnizarr.LocalStore(place / "folder"), folder=place / "cache"),
    "mapping": lambda place: MappingStore({}),
}


def attempt(text: Any, act: Callable[[], Any]) -> None:
    """Call a function; let all errors through but ours, and TypeError for what is no text."""
    try:
        result = act()
        if isinstance(result, Iterator):
            list(result)
    except OmnizarrError as error:
        str(error).encode("utf-8", "backslashreplace")
    except TypeError:
        if isinstance(text, str):
            raise


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("kind", STORES)
def test_verbs_of_stores(kind: str, name: str, tmp_path: Path) -> None:
    store, text = STORES[kind](tmp_path), TEXTS[name]
    for verb in (
        "get",
        "exists",
        "size",
        "erase",
        "erase_prefix",
        "list_prefix",
        "list_dir",
        "file",
        "lock",
        "task_lock",
    ):
        attempt(text, lambda verb=verb: getattr(store, verb)(text))
    attempt(text, lambda: store.set(text, b"x"))
    attempt(text, lambda: store.set_each([(text, b"x")]))
    attempt(text, lambda: store.set_partial_values([(text, 0, b"x")]))
    attempt(text, lambda: store.get_partial_values([(text, (0, 1))]))
    attempt(text, lambda: store.erase_values([text]))
    if store.updates is not None:
        attempt(text, lambda: store.updates.read(text))
        attempt(text, lambda: store.updates.write(text, b"x", None))
    if store.snapshots is not None:
        attempt(text, lambda: store.snapshots.open(text))
    store.close()


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("kind", STORES)
def test_paths_of_nodes(kind: str, name: str, tmp_path: Path) -> None:
    store, text = STORES[kind](tmp_path), TEXTS[name]
    for function in (omnizarr.open, omnizarr.open_array, omnizarr.open_group, omnizarr.create_group, omnizarr.load):
        attempt(text, lambda function=function: function(store, path=text))
    attempt(text, lambda: omnizarr.create_array(store, path=text, shape=3, dtype="u1"))
    attempt(text, lambda: omnizarr.save_array(store, np.zeros(2), path=text))
    if store.read_only:
        return
    group = omnizarr.create_group(store, overwrite=True)
    for method in ("__getitem__", "__contains__", "__delitem__", "create_group", "require_group", "get"):
        attempt(text, lambda method=method: getattr(group, method)(text))
    attempt(text, lambda: group.create_array(text, shape=2, dtype="u1"))
    attempt(text, lambda: group.move(text, "other"))
    attempt(text, lambda: (group.create_group("one", overwrite=True), group.move("one", text)))
    store.close()


@pytest.mark.parametrize("zarr_format", [1, 2, "3-draft-2020", "3-draft-2022", 3, "n5"])
@pytest.mark.parametrize("name", TEXTS)
def test_texts_in_documents(name: str, zarr_format: Any) -> None:
    store, text = omnizarr.MemoryStore(), TEXTS[name]
    options: dict[str, Any] = {"shape": 2, "zarr_format": zarr_format, "overwrite": True}

    def create(**given: Any) -> None:
        z = omnizarr.create_array(store, **{"dtype": "u1", **options, **given})
        z.attrs.get(text)
        z[...]
        omnizarr.open_array(store)

    attempt(text, lambda: create(attributes={text: 1}))
    attempt(text, lambda: create(attributes={"k": text}))
    attempt(text, lambda: create(dimension_names=[text]))
    attempt(text, lambda: create(dtype="string", fill_value=text))
    attempt(text, lambda: create(dtype=[(text, "u1")]))
    attempt(text, lambda: create(dtype=text))
    attempt(text, lambda: create(compressors=[text]))
    attempt(text, lambda: create(zarr_format=text))
    z = omnizarr.create_array(store, **options, dtype="u1")
    attempt(text, lambda: z.attrs.__setitem__(text, 1))
    attempt(text, lambda: z.attrs.__setitem__("k", text))


@pytest.mark.parametrize("before", ["", "x/", "file://", "zip::", "zip://", "memory://", "sqlite::", "reference::"])
@pytest.mark.parametrize("name", TEXTS)
def test_addresses(name: str, before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = TEXTS[name]
    if before and not isinstance(text, str):
        return
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    address = before + text if before else text
    for function in (omnizarr.open, omnizarr.open_array, omnizarr.open_group, omnizarr.load, omnizarr.tree):
        attempt(address, lambda function=function: function(address))
    if before != "file://" and name not in ("absolute", "the parent", "the same"):
        attempt(address, lambda: omnizarr.create_array(address, shape=3, dtype="u1"))
        attempt(address, lambda: omnizarr.save_array(address, np.zeros(2)))
        attempt(address, lambda: omnizarr.consolidate_metadata(address))


@pytest.mark.parametrize("kind", [omnizarr.LocalStore, SQLiteStore, omnizarr.ZipStore, ReferenceStore])
@pytest.mark.parametrize("name", TEXTS)
def test_constructors_of_stores(name: str, kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = TEXTS[name]

    def use() -> None:
        store = kind(text)
        store.get("k")
        list(store.list())

    attempt(text, use)
    attempt(text, lambda: CacheStore(omnizarr.MemoryStore(), folder=text))


@pytest.mark.skipif(os.name == "nt", reason="Windows can have such a name")
def test_a_path_that_the_system_cannot_encode_is_a_location_error() -> None:
    for act in (omnizarr.open, omnizarr.LocalStore, SQLiteStore, omnizarr.create_group):
        with pytest.raises(LocationError, match="path"):
            act("\ud800")


@pytest.mark.parametrize("wrong", [None, 5, b"k", 1.5])
@pytest.mark.parametrize("kind", ["memory", "local", "sqlite", "zip", "mapping"])
def test_a_key_of_a_wrong_type_is_named(kind: str, wrong: Any, tmp_path: Path) -> None:
    store = STORES[kind](tmp_path)
    store.set("k", b"x")
    for act in (store.get, store.list_dir, store.erase_prefix, lambda key: store.set(key, b"x")):
        with pytest.raises(InvalidKeyError, match=f"expected a store key as text, found {type(wrong).__name__}"):
            act(wrong)

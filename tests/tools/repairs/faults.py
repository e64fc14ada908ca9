"""Injected faults for `repair`: in every generation, and in several kinds of stores.

A fault changes a sound hierarchy in one place, and names what `repair` must find: its kind and its key.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import omnizarr
from omnizarr.store import LocalStore, MemoryStore, SQLiteStore, Store, ZipStore

__all__ = ["FORMATS", "STORES", "InjectedFault", "every_fault", "make_sound", "open_store"]

FORMATS: tuple[Any, ...] = (1, 2, 3, "3-draft-2020", "3-draft-2022", "n5")
STORES = ("memory", "local", "zip", "sqlite")

Inject = Callable[[Store], tuple[str, str | None]]
"""Injects a fault, and returns the kind and the key that `repair` must name."""


@dataclass(frozen=True)
class InjectedFault:
    name: str
    zarr_format: Any
    store: str
    inject: Inject
    layout: str = "checked"

    def __str__(self) -> str:
        return f"{self.zarr_format}-{self.store}-{self.name}"


def open_store(kind: str, folder: Path) -> Store:
    if kind == "memory":
        return MemoryStore()
    if kind == "local":
        return LocalStore(folder / "x.zarr")
    return ZipStore(folder / "x.zip") if kind == "zip" else SQLiteStore(folder / "x.sqlite")


def make_sound(store: Store, zarr_format: Any, layout: str = "checked") -> None:
    """A hierarchy with two arrays in a group, or one array where there are no groups."""
    data = np.arange(48, dtype="i4").reshape(8, 6)
    codecs: Any = [{"id": "zlib", "level": 1}] if zarr_format == 1 else ["gzip"]
    options: dict[str, Any] = {
        "data": data,
        "chunks": (2, 3),
        "compressors": codecs,
        "fill_value": 0 if zarr_format == "n5" else -1,
    }
    if zarr_format == 2:
        options["attributes"] = {"units": "m"}
    if layout == "shards":
        options |= {"shards": (4, 6), "compressors": ["crc32c"] if zarr_format == 3 else ["gzip"]}
    if zarr_format == 1:
        omnizarr.create_array(store, zarr_format=1, **options)
        return
    group = omnizarr.create_group(store, zarr_format=zarr_format)
    group.create_array("a", **options)
    group.create_array("b", **options)
    if layout == "consolidated":
        omnizarr.consolidate_metadata(store, zarr_format=zarr_format)


# -- faults of chunks


def _chunk(store: Store) -> str:
    """A key of a chunk of the first array."""
    keys = sorted(key for key in store.list_prefix("") if _looks_like_chunk(key))
    return keys[1]


def _looks_like_chunk(key: str) -> bool:
    name = key.rpartition("/")[2]
    return not key.endswith(".json") and name[-1].isdigit() and not key.startswith(".omnizarr")


def _changed(change: Callable[[bytes], bytes], kind: str = "chunk") -> Inject:
    def inject(store: Store) -> tuple[str, str | None]:
        key = _chunk(store)
        value = store.get(key)
        assert value is not None
        store.set(key, change(bytes(value)))
        return kind, key

    return inject


CHUNK_FAULTS: dict[str, Inject] = {
    "torn": _changed(lambda value: value[:-3]),
    "half": _changed(lambda value: value[: len(value) // 2]),
    "empty": _changed(lambda value: b""),
    "garbage": _changed(lambda value: b"\xa5" * len(value)),
    "zeros": _changed(lambda value: bytes(len(value))),
    "checksum": _changed(lambda value: value[:-8] + bytes([value[-8] ^ 0x10]) + value[-7:]),
}
SHARD_FAULTS: dict[str, Inject] = {
    "shard torn": _changed(lambda value: value[:-3]),
    "shard short": _changed(lambda value: value[:5]),
    "shard empty": _changed(lambda value: b""),
    "shard index": _changed(lambda value: value[:-20] + bytes([value[-20] ^ 1]) + value[-19:]),
    "inner chunk": _changed(lambda value: bytes([value[0] ^ 1]) + value[1:], "inner chunks"),
    "last inner chunk": _changed(lambda value: value[:80] + bytes([value[80] ^ 1]) + value[81:], "inner chunks"),
}


# -- faults of documents


def _edit_document(key: str, edit: Callable[[Any], Any]) -> Inject:
    def inject(store: Store) -> tuple[str, str | None]:
        value = store.get(key)
        assert value is not None
        store.set(key, json.dumps(edit(json.loads(bytes(value)))).encode())
        return "consolidated", ".zmetadata" if key.startswith(".z") or ".z" in key else "zarr.json"

    return inject


def _cut_document(key: str) -> Inject:
    def inject(store: Store) -> tuple[str, str | None]:
        value = store.get(key)
        assert value is not None
        store.set(key, bytes(value)[:-9])
        return "document", key

    return inject


def _new_array(zarr_format: Any, key: str) -> Inject:
    def inject(store: Store) -> tuple[str, str | None]:
        other = MemoryStore()
        omnizarr.create_array(other, data=np.arange(3), zarr_format=zarr_format)
        for name in list(other.list_prefix("")):
            value = other.get(name)
            assert value is not None
            store.set(f"new/{name}", value)
        return "consolidated", key

    return inject


def _erased(prefix: str, key: str) -> Inject:
    def inject(store: Store) -> tuple[str, str | None]:
        store.erase_prefix(prefix)
        return "consolidated", key

    return inject


def _set(key: str, value: bytes) -> Inject:
    def inject(store: Store) -> tuple[str, str | None]:
        store.set(key, value)
        return "consolidated", key

    return inject


def _v3_copies(edit: Callable[[dict[str, Any]], None]) -> Inject:
    def change(document: dict[str, Any]) -> dict[str, Any]:
        edit(document["consolidated_metadata"]["metadata"])
        return document

    return _edit_document("zarr.json", change)


def _with(document: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {**document, **members}


DOCUMENT_FAULTS: dict[Any, dict[str, Inject]] = {
    2: {
        "attributes changed": _edit_document("a/.zattrs", lambda document: _with(document, units="K")),
        "array changed": _edit_document("a/.zarray", lambda document: _with(document, fill_value=5)),
        "array added": _new_array(2, ".zmetadata"),
        "array erased": _erased("b/", ".zmetadata"),
        "copies damaged": _set(".zmetadata", b'{"metadata": {"a/.zar'),
        "copies empty": _set(".zmetadata", b""),
        "copies of another kind": _set(".zmetadata", b'{"metadata": [], "zarr_consolidated_format": 1}'),
        "document cut": _cut_document("a/.zarray"),
        "attributes cut": _cut_document("b/.zattrs"),
    },
    3: {
        "array changed": _edit_document("a/zarr.json", lambda document: _with(document, fill_value=5)),
        "array added": _new_array(3, "zarr.json"),
        "array erased": _erased("b/", "zarr.json"),
        "copy changed": _v3_copies(lambda copies: copies["a"].update(fill_value=9)),
        "copy missing": _v3_copies(lambda copies: copies.pop("b")),
        "copy too many": _v3_copies(lambda copies: copies.update(c=copies["b"])),
        "document cut": _cut_document("a/zarr.json"),
    },
}


# -- leftovers of crashed writers in directories


def _file(folder: str, name: str, kind: str, content: bytes = b"half", old: bool = False) -> Inject:
    def inject(store: Store) -> tuple[str, str | None]:
        path = os.path.join(store.location, folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).write_bytes(content)
        if old:
            os.utime(path, (1e9, 1e9))
        key = f"{folder}/{name}" if folder else name
        if name.endswith(".turn"):
            key = key.replace(f".omnizarr-{name[10:-5]}.turn", name[10:-5])
        return kind, key

    return inject


_DEAD = f"{2**31 - 2:d}"  # no process has this number


def _local_faults(zarr_format: Any) -> Iterator[tuple[str, Inject]]:
    from omnizarr.store.local.temp_names import _host

    documents = {1: "meta", 2: "a/.zarray", 3: "a/zarr.json", "n5": "a/attributes.json"}
    documents |= {"3-draft-2020": "meta/root/a.array.json", "3-draft-2022": "meta/a.array.json"}
    document = documents[zarr_format]
    folder, _, name = document.rpartition("/")
    yield "temporary", _file(folder, f".omnizarr-{_host()}-{_DEAD}-1.tmp", "temporary")
    yield "locked temporary", _file(folder, f".omnizarr-{_host()}-{_DEAD}-2-flock.tmp", "temporary")
    yield "temporary elsewhere", _file("deep/er", ".omnizarr-0123456789ab-17-3-flock.tmp", "temporary")
    yield "old temporary", _file(folder, ".omnizarr-0123456789ab-17-4.tmp", "temporary", old=True)
    yield "partial file", _file(folder, f"0.0.{'ab' * 16}.partial", "temporary", old=True)
    yield "lock of a crashed shrink", _file(folder, f".omnizarr-{name}.turn", "unfinished", b"begun\n")
    yield "lock", _file(folder, f".omnizarr-{name}.turn", "unfinished", b"")
    yield "lock of nothing", _file(folder, ".omnizarr-gone.json.turn", "lock", b"begun\n")


# -- all of them


def every_fault() -> list[InjectedFault]:
    faults = []
    for zarr_format in FORMATS:
        for store in STORES:
            faults += [InjectedFault(name, zarr_format, store, inject) for name, inject in CHUNK_FAULTS.items()]
            if zarr_format == 3:
                faults += [InjectedFault(name, 3, store, inject, "shards") for name, inject in SHARD_FAULTS.items()]
            documents = DOCUMENT_FAULTS.get(zarr_format, {})
            faults += [InjectedFault(n, zarr_format, store, inject, "consolidated") for n, inject in documents.items()]
        faults += [InjectedFault(name, zarr_format, "local", inject) for name, inject in _local_faults(zarr_format)]
    return faults

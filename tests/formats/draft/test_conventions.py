"""The draft of 2020 as its text says, and by the conventions of zarr-python 2 (T26, §2.3.2, A13)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.formats.draft.documents import array, entry, keys, store_of

import omnizarr
from omnizarr import MemoryStore
from omnizarr.errors import ArgumentError

DRAFT: dict[str, Any] = {"zarr_format": "3-draft-2020"}
CONVENTIONS: dict[str, Any] = {**DRAFT, "conventions": "zarr-python-2"}

BEYOND_THE_TEXT: dict[str, dict[str, Any]] = {
    "filter": {"data": np.arange(4.0), "filters": [{"id": "delta", "dtype": "<f8"}]},
    "checksum": {"data": np.arange(4.0), "compressors": [{"id": "crc32"}]},
    "two compressors": {"data": np.arange(4.0), "compressors": ["gzip", "zstd"]},
    "shards": {"data": np.arange(4.0), "chunks": 1, "shards": 2},
    "text": {"data": np.array(["a", "b"], object), "dtype": "string"},
    "objects": {"data": np.array([{"a": 1}], object), "dtype": object, "filters": ["json2"]},
}


@pytest.mark.parametrize("options", BEYOND_THE_TEXT.values(), ids=BEYOND_THE_TEXT)
def test_T26_by_default_only_what_the_text_has(options: dict[str, Any]) -> None:
    store = MemoryStore()
    with pytest.raises(ArgumentError, match='`conventions="zarr-python-2"`'):
        omnizarr.create_array(store, **DRAFT, **options)
    assert keys(store) == []
    ours = omnizarr.create_array(store, **CONVENTIONS, **options)
    ours.attrs["a"] = 1  # the handle, and every handle that is opened later, can change such an array
    reopened = omnizarr.open_array(store)
    reopened.attrs["b"] = 2
    assert omnizarr.open_array(store)[...].tolist() == options["data"].tolist()


@pytest.mark.parametrize("compressor", [None, "gzip", "zstd", "blosc", {"id": "lzma"}])
def test_T13_one_compressor_is_in_the_text(compressor: Any) -> None:
    ours = omnizarr.create_array({}, data=np.arange(4.0), compressors=compressor, **DRAFT)
    document = json.loads(bytes(ours.store.get("meta/root.array.json") or b""))
    assert "storage_transformers" not in document
    assert document["attributes"] == {}
    assert omnizarr.open_array(ours.store)[...].tolist() == [0, 1, 2, 3]


SIGNS: dict[str, dict[str, Any]] = {
    "filters": {"attributes": {"filters": [{"id": "delta", "dtype": "<i2"}]}},
    "placeholder": {"data_type": {"extension": "TODO: unicode array protocol URL", "type": "<U2"}, "fill_value": ""},
    "shards": {
        "storage_transformers": [
            {
                "extension": "https://purl.org/zarr/spec/storage_transformers/sharding/1.0",
                "type": "indexed",
                "configuration": {"chunks_per_shard": [2, 2]},
            }
        ]
    },
}


@pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS)
@pytest.mark.parametrize("options", BEYOND_THE_TEXT.values(), ids=BEYOND_THE_TEXT)
def test_hierarchies_that_use_the_conventions_keep_them(sign: dict[str, Any], options: dict[str, Any]) -> None:
    documents = {
        "zarr.json": entry(2020),
        "meta/root/old/x.array.json": array(2020, **sign),
        "meta/root/damaged.array.json": b"{",
    }
    store = store_of(documents)
    omnizarr.open_group(store).create_array("new/a", **options)
    omnizarr.create_array(store, name="b", **DRAFT, **options)
    for path in ("new/a", "b"):
        assert omnizarr.open_array(store, path=path)[...].tolist() == options["data"].tolist()
    scalar = omnizarr.create_array(store, name="scalar", data=np.array(5), **DRAFT)
    assert "data/root/scalar/c0" in keys(store)
    assert scalar[()] == omnizarr.open_array(store, path="scalar")[()] == 5


def test_other_hierarchies_stay_with_the_text() -> None:
    store = store_of({"zarr.json": entry(2020), "meta/root/old.array.json": array(2020)})
    root = omnizarr.open_group(store)
    with pytest.raises(ArgumentError, match="conventions"):
        root.create_array("a", **BEYOND_THE_TEXT["filter"])
    root.create_array("b", data=np.array(5))
    assert "data/root/b/c" in keys(store)
    root.create_array("a", conventions="zarr-python-2", **BEYOND_THE_TEXT["filter"])
    root.create_array("c", **BEYOND_THE_TEXT["shards"])  # now the hierarchy uses them


def test_copies_of_arrays_that_follow_the_conventions_do_so_too() -> None:
    source = omnizarr.create_array({}, **CONVENTIONS, **BEYOND_THE_TEXT["filter"])
    assert omnizarr.from_array({}, data=source).filters == source.filters
    scalar = omnizarr.create_array({}, data=np.array(5), **CONVENTIONS)
    assert "data/root/c0" in set(omnizarr.from_array({}, data=scalar).store.list())
    with pytest.raises(ArgumentError, match="conventions"):
        omnizarr.from_array({}, data=omnizarr.from_array({}, data=source, zarr_format=2), **DRAFT)


@pytest.mark.parametrize("zarr_format", [1, 2, 3, "3-draft-2022"])
def test_other_generations_have_no_conventions(zarr_format: Any) -> None:
    with pytest.raises(ArgumentError, match=r"`conventions`: .* has no conventions"):
        omnizarr.create_array(shape=3, dtype="i4", zarr_format=zarr_format, conventions="zarr-python-2")


def test_unknown_conventions() -> None:
    with pytest.raises(ArgumentError, match=r"has the conventions 'zarr-python-2', found 'gdal'"):
        omnizarr.create_array(shape=3, dtype="i4", conventions="gdal", **DRAFT)


@pytest.mark.parametrize("conventions", [None, "zarr-python-2"])
def test_A13_the_fill_value_replaces_a_value_with_two_keys(conventions: Any) -> None:
    data = np.array(5, "i2")
    z = omnizarr.create_array({}, data=data, compressors=None, zarr_format="3-draft-2020", conventions=conventions)
    for key in ("c", "c0"):
        z.store.set(f"data/root/{key}", b"\5\0")
    z = omnizarr.open_array(z.store, mode="r+")
    z[...] = 0
    assert z[...] == 0
    assert omnizarr.open_array(z.store)[...] == 0

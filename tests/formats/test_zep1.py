"""Statements of ZEP 1 about the drafts of v3: extensions, omissions, and the first writers (Z2, Z4, Z7–Z11). Rules that
a draft repeats are tested with that draft."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.formats.draft.documents import (
    CORE_2020,
    array,
    conventions,
    dumped,
    entry,
    keys,
    problem_paths,
    read,
    store_of,
)
from tests.formats.old_documents import array_v1, array_v2

import omnizarr
from omnizarr import MemoryStore
from omnizarr.codecs import BytesCodec, codecs
from omnizarr.codecs.contract import BoundBytesCodec
from omnizarr.dtypes import DataType, data_types
from omnizarr.dtypes.numbers.integer import Integer
from omnizarr.errors import ArgumentError, MetadataError
from omnizarr.store import Buffer, ByteRange, Store, WrapperStore
from omnizarr.testing import RecordingStore
from omnizarr.transformers import ArrayPlace, StorageTransformer, storage_transformers

DRAFTS: Any = ["3-draft-2020", "3-draft-2022"]
YEARS: dict[str, Any] = {"3-draft-2020": 2020, "3-draft-2022": 2022}
DATA = np.arange(60, dtype="<i2").reshape(10, 6)

SHARDING = {
    "extension": "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0",
    "type": "indexed",
    "configuration": {"chunks_per_shard": [2, 2]},
}


@contextmanager
def registered(registry: Any, name: str, item: Any) -> Iterator[None]:
    """Registers an implementation of an extension for the duration of a test."""
    registry.register(name, item)
    try:
        yield
    finally:
        del registry._items[name]


# -- third-party extensions, by their URIs


@dataclass(frozen=True, slots=True)
class Inverted(BytesCodec):
    """Inverts every bit."""

    name: ClassVar[str] = "https://example.org/zarr/inverted/1.0"

    @classmethod
    def parse(cls, configuration: Any, path: str, problems: Any) -> Inverted:
        return cls()

    def configuration(self) -> dict[str, Any]:
        return {}

    def bind(self, spec: Any, path: str, problems: Any) -> BoundBytesCodec:
        return BoundInverted(spec)


class BoundInverted(BoundBytesCodec):
    pace = 1000

    def __init__(self, spec: Any) -> None:
        self.encoded = spec

    def encode(self, data: Buffer) -> Buffer:
        return bytes(byte ^ 255 for byte in bytes(data))

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        return self.encode(data)


@pytest.mark.parametrize("draft", DRAFTS)
def test_Z2_a_registered_codec(draft: Any) -> None:
    store = MemoryStore()
    with registered(codecs, Inverted.name, Inverted):
        omnizarr.create_array(store, name="a", data=DATA, chunks=(4, 3), compressors=[Inverted()], zarr_format=draft)
        key = "data/root/a/c0/0" if draft == "3-draft-2020" else "data/a/c0/0"
        assert bytes(byte ^ 255 for byte in bytes(store.get(key) or b"")) == DATA[:4, :3].tobytes()
        z = omnizarr.open_array(store, path="a")
        assert (z[...] == DATA).all()
        document = dumped(z.metadata, YEARS[draft])
        named = document["compressor"]["codec"] if draft == "3-draft-2020" else document["codecs"][0]["type"]
        assert named == Inverted.name
    with pytest.raises(MetadataError, match=Inverted.name):
        omnizarr.open_array(store, path="a")


@pytest.mark.parametrize("draft", DRAFTS)
def test_Z4_a_registered_data_type(draft: Any) -> None:
    uri = "https://example.org/zarr/fahrenheit/1.0"

    def fahrenheit(name: str, configuration: Any, path: str, problems: Any) -> DataType | None:
        if configuration == {"type": "fahrenheit16"}:
            return Integer(uri, np.dtype("i2"))
        problems.unknown(f"{path}.type", "type", str(configuration["type"]), ("fahrenheit16",))
        return None

    year = YEARS[draft]
    kind = {"extension": uri, "type": "fahrenheit16"}
    document = array(year, data_type=kind, fill_value=32)
    with registered(data_types, uri, fahrenheit):
        model = read(document, year)
        assert (model.data_type.name, model.fill) == (uri, 32)
        assert dumped(model, year)["data_type"] == kind
        assert problem_paths(array(year, data_type=kind | {"type": "x"}), year) == ["$.data_type.type"]
        start = "root/" if year == 2020 else ""
        store = store_of({"zarr.json": entry(year), f"meta/{start}a.array.json": document})
        omnizarr.open_array(store, path="a")[...] = DATA
        assert bytes(store.get(f"data/{start}a/c0/0") or b"") == DATA[:4, :3].tobytes()
    assert problem_paths(document, year) == ["$.data_type.extension"]


# -- storage transformers


class BackwardStore(WrapperStore):
    """Stores every value with its bytes in reverse order."""

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        value = self.inner.get(key)
        whole = None if value is None else bytes(value)[::-1]
        if whole is None or range is None:
            return whole
        start, length = range
        return whole[start:] if length is None else whole[start : start + length]

    def get_each(self, requests: Any) -> Any:
        return Store.get_each(self, requests)

    def get_partial_values(self, requests: Any) -> Any:
        return Store.get_partial_values(self, requests)

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        return Store.get_into(self, key, start, target)

    def set(self, key: str, value: Buffer) -> None:
        self.inner.set(key, bytes(value)[::-1])

    def set_each(self, items: Any) -> None:
        Store.set_each(self, items)


@dataclass(frozen=True, slots=True)
class Backward(StorageTransformer):
    name: ClassVar[str] = "https://example.org/zarr/backward/1.0"
    type: ClassVar[str | None] = "backward"

    @classmethod
    def parse(cls, configuration: Any, path: str, problems: Any) -> Backward:
        return cls()

    def configuration(self) -> dict[str, Any]:
        return {}

    def wrap(self, store: Store, place: ArrayPlace) -> Store:
        return BackwardStore(store)


BACKWARD = {"extension": Backward.name, "type": "backward"}


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("first", ["sharding", "backward"])
def test_Z4_Z9_storage_transformers_are_stacked_in_their_order(draft: Any, first: str) -> None:
    year = YEARS[draft]
    start = "root/" if year == 2020 else ""
    stack = [SHARDING, BACKWARD] if first == "sharding" else [BACKWARD, SHARDING]
    document = array(year, storage_transformers=stack, fill_value=0)
    store = store_of({"zarr.json": entry(year), f"meta/{start}a.array.json": document})
    with registered(storage_transformers, Backward.name, Backward):
        z = omnizarr.open_array(store, path="a")
        z[...] = DATA
        z[9, 5] = -1
        again = omnizarr.open_array(store, path="a", mode="r")
        assert again[9, 5] == -1
        assert (again[:9] == DATA[:9]).all()
        assert [key for key in keys(store) if key.startswith("data")] == [
            f"data/{start}a/c0/0",
            f"data/{start}a/c1/0",
        ]
        shard = bytes(store.get(f"data/{start}a/c0/0") or b"")
        chunk = DATA[:4, :3].tobytes()
        if first == "sharding":  # the whole shard, with its index, is reversed
            assert (shard[::-1][:24], shard[::-1][-64:-48]) == (chunk, b"\0" * 8 + b"\x18" + b"\0" * 7)
        else:  # each chunk is reversed; the index is at the end of the shard
            assert (shard[:24], shard[-64:-48]) == (chunk[::-1], b"\0" * 8 + b"\x18" + b"\0" * 7)
        z.resize((4, 6))
        assert read(json.loads(bytes(store.get(f"meta/{start}a.array.json") or b"")), year).shape == (4, 6)
        assert dumped(z.metadata, year)["storage_transformers"] == stack
    with pytest.raises(MetadataError, match="backward"):
        omnizarr.open_array(store, path="a")


@pytest.mark.parametrize("draft", DRAFTS)
def test_Z9_sharding_is_a_storage_transformer(draft: Any) -> None:
    """The array is the same; only the stored bytes differ."""
    plain, sharded = MemoryStore(), MemoryStore()
    for store, shards in ((plain, None), (sharded, (8, 6))):
        z = omnizarr.create_array(
            store, data=DATA, chunks=(4, 3), shards=shards, zarr_format=draft, **conventions(draft)
        )
        z[3:5] = 7
    assert (omnizarr.open_array(plain)[...] == omnizarr.open_array(sharded)[...]).all()
    count = [len([key for key in keys(store) if key.startswith("data")]) for store in (plain, sharded)]
    assert count == [6, 2]


# -- omissions


@pytest.mark.parametrize("draft", DRAFTS)
def test_Z7_the_core_has_no_filters(draft: Any) -> None:
    year = YEARS[draft]
    document = dumped(
        omnizarr.create_array(MemoryStore(), data=DATA, compressors="gzip", zarr_format=draft).metadata, year
    )
    assert "filters" not in document | document["attributes"]
    filters = [{"id": "delta", "dtype": "<i2"}]
    if year == 2022:
        assert problem_paths(array(2022, filters=filters), 2022) == ["$.filters"]
        assert read(array(2022, attributes={"filters": filters}), 2022).attributes == {"filters": filters}
        with pytest.raises(ArgumentError, match=r"delta|filters"):
            omnizarr.create_array(MemoryStore(), data=DATA, filters=filters, zarr_format=draft)
    else:  # an unknown member; zarr-python 2 keeps its filters in the attributes
        assert len(read(array(2020, filters=filters), 2020).codecs) == 1
        assert len(read(array(2020, attributes={"filters": filters}), 2020).codecs) == 2


@pytest.mark.parametrize("draft", DRAFTS)
def test_Z8_one_listing_of_documents_finds_the_children(draft: Any) -> None:
    inner = MemoryStore()
    root = omnizarr.create_group(inner, zarr_format=draft)
    for name in ("a", "b"):
        root.create_array(f"foo/{name}", data=np.arange(100), chunks=1)
    root.create_group("foo/c")
    store = RecordingStore(inner)
    foo = omnizarr.open_group(store, path="foo")
    store.reset()
    assert foo.keys() == ("a", "b", "c")
    prefix = "meta/root/foo/" if draft == "3-draft-2020" else "meta/foo/"
    assert [(call.method, call.key) for call in store.calls] == [("list_dir", prefix)]
    assert all(key == "zarr.json" or key.startswith(("meta/", "data/")) for key in inner.list())


CONVENTIONS = {
    "_ARRAY_DIMENSIONS": ["time", "lat"],  # xarray
    "units": "days since 1970-01-01",  # the CF conventions, as the next members
    "calendar": "noleap",
    "_FillValue": -999,
    "missing_value": -999.0,
    "scale_factor": 0.1,
    "add_offset": 20,
    "valid_range": [0, 10],
    "coordinates": "lon lat",
    "multiscales": [{"axes": [{"name": "y"}], "datasets": [{"path": "0"}]}],  # OME
    "_CRS": {"wkt": "..."},  # GDAL
    "_NCZARR_ARRAY": {"dimrefs": ["/x"]},
}


@pytest.mark.parametrize("zarr_format", [1, 2, 3, *DRAFTS])
def test_Z10_conventions_of_users_do_not_change_what_is_read(zarr_format: Any) -> None:
    store = MemoryStore()
    omnizarr.create_array(
        store, data=DATA, chunks=(4, 3), fill_value=5, attributes=CONVENTIONS, zarr_format=zarr_format
    )
    z = omnizarr.open_array(store)
    assert z.attrs.asdict() == CONVENTIONS
    assert (z.fill_value, z.dtype) == (5, DATA.dtype)
    assert (z[...] == DATA).all()  # neither scaled nor masked
    z.resize((12, 6))
    z[11] = 3
    z.attrs["mine"] = 1
    again = omnizarr.open_array(store, mode="r")
    assert again.attrs.asdict() == CONVENTIONS | {"mine": 1}
    assert again[10].tolist() == [5] * 6


def test_Z10_changing_a_document_keeps_such_attributes() -> None:
    documents: dict[Any, dict[str, Any]] = {
        1: {"meta": array_v1(), "attrs": CONVENTIONS},
        2: {".zarray": array_v2(), ".zattrs": CONVENTIONS},
        "3-draft-2020": {"zarr.json": entry(2020), "meta/root.array.json": array(2020, attributes=CONVENTIONS)},
        "3-draft-2022": {"zarr.json": entry(2022), "meta/array.json": array(2022, attributes=CONVENTIONS)},
    }
    for zarr_format, stored in documents.items():
        store = store_of(stored)
        z = omnizarr.open_array(store)
        assert z.zarr_format == zarr_format
        z.resize((12, 6))
        document = json.loads(bytes(store.get(list(stored)[-1]) or b""))
        assert document.get("attributes", document) == CONVENTIONS


# -- the first writers


def zarrita() -> dict[str, Any]:
    """The output of zarrita of March 2021, with its members in the same order (§2.3.1)."""
    dent = {
        "shape": [5, 10],
        "data_type": "<i4",
        "chunk_grid": {"type": "regular", "chunk_shape": [2, 5], "separator": "/"},
        "chunk_memory_layout": "C",
        "fill_value": None,
        "extensions": [],
        "attributes": {"question": "life", "answer": 42},
        "compressor": {"codec": "https://purl.org/zarr/spec/codec/gzip/1.0", "configuration": {"level": 1}},
    }
    dots = {
        "shape": [3, 3],
        "data_type": "bool",
        "chunk_grid": {"type": "regular", "chunk_shape": [2, 2], "separator": "."},
        "chunk_memory_layout": "C",
        "fill_value": True,
        "extensions": [],
        "attributes": {},
    }
    return {
        "zarr.json": {
            "zarr_format": CORE_2020,
            "metadata_encoding": CORE_2020,
            "metadata_key_suffix": ".json",
            "extensions": [],
        },
        "meta/root/arthur/dent.array.json": dent,
        "meta/root/dots.array.json": dots,
        "meta/root/tricia/mcmillan.group.json": {"extensions": [], "attributes": {"heart": "gold"}},
        "meta/root/marvin.group.json": {"extensions": [], "attributes": None},
        "data/root/arthur/dent/c0/0": gzip.compress(np.arange(10, dtype="<i4").tobytes()),
        "data/root/arthur/dent/c2/1": gzip.compress(np.full(10, -1, "<i4").tobytes()),
        "data/root/dots/c0.0": bytes([0, 1, 1, 0]),
    }


@pytest.mark.filterwarnings("error")
def test_Z11_a_hierarchy_of_zarrita_is_read_without_warnings() -> None:
    root = omnizarr.open_group(store_of(zarrita()), mode="r")
    assert [path for path, _ in root.members(max_depth=None)] == [
        *("arthur", "dots", "marvin", "tricia"),
        *("arthur/dent", "tricia/mcmillan"),
    ]
    dent = root["arthur/dent"]
    assert dent[:2, :5].tolist() == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert dent[4, 5:].tolist() == [-1] * 5
    assert (dent.fill_value, dent.attrs.asdict()) == (None, {"question": "life", "answer": 42})
    assert root["dots"][...].tolist() == [[False, True, True], [True, False, True], [True, True, True]]
    assert root["tricia/mcmillan"].attrs.asdict() == {"heart": "gold"}
    assert root["marvin"].attrs.asdict() == {}


def test_Z11_zarrita_can_read_what_we_change() -> None:
    """zarrita requires every member of a document, and its own chunk keys."""
    documents = zarrita()
    store = store_of(documents)
    root = omnizarr.open_group(store)
    dent = root["arthur/dent"]
    dent.attrs["answer"] = 43
    dent.resize((6, 10))
    dent[5] = 7
    original = documents["meta/root/arthur/dent.array.json"]
    changed = json.loads(bytes(store.get("meta/root/arthur/dent.array.json") or b""))
    assert changed == original | {"shape": [6, 10], "attributes": {"question": "life", "answer": 43}}
    root["marvin"].attrs["brain"] = "planet"
    assert json.loads(bytes(store.get("meta/root/marvin.group.json") or b"")) == {
        "extensions": [],
        "attributes": {"brain": "planet"},
    }
    assert json.loads(bytes(store.get("zarr.json") or b"")) == documents["zarr.json"]
    chunk = np.frombuffer(gzip.decompress(bytes(store.get("data/root/arthur/dent/c2/1") or b"")), "<i4")
    assert chunk.tolist() == [-1] * 5 + [7] * 5


@pytest.mark.parametrize("members", [{}, {"compressor": None}])
def test_Z11_zarrita_before_october_2020_had_no_suffix(members: dict[str, Any]) -> None:
    """§2.3.1: neither in keys nor in the entry point."""
    store = store_of(
        {
            "zarr.json": {"zarr_format": CORE_2020, "metadata_encoding": CORE_2020, "extensions": []},
            "meta/root/g/a.array": array(2020, data_type="|u1", attributes={}, **members),
            "meta/root/g.group": {"extensions": [], "attributes": None},
            "data/root/g/a/c0/0": bytes(range(12)),
        }
    )
    root = omnizarr.open_group(store)
    assert list(root) == ["g"]
    assert root["g/a"][1].tolist() == [3, 4, 5, 7, 7, 7]


def test_Z11_the_root_array_of_zarrita_has_two_slashes(tmp_path: Path) -> None:
    """A file system treats them as one (A14)."""
    document = array(2020, shape=[4], data_type="u1", chunk_grid={"type": "regular", "chunk_shape": [2]})
    for key, value in {"zarr.json": entry(2020), "meta/root.array.json": document}.items():
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_text(json.dumps(value))
    (tmp_path / "data" / "root").mkdir(parents=True)
    with open(f"{tmp_path}/data/root//c0", "wb") as file:
        file.write(b"\1\2")
    assert omnizarr.open_array(tmp_path, mode="r")[...].tolist() == [1, 2, 7, 7]

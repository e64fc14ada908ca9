"""`/as/v3` and `/as/v2`: which bytes are sent, documents, casts, and every array of the corpora read back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import OmnizarrError
from omnizarr.serve.application import Application
from omnizarr.serve.messages import HttpRequest
from omnizarr.serve.mounts import Site
from omnizarr.store import Buffer, ByteRange, Store
from omnizarr.store.contract import cut
from tests.corpora.reading import Stored, all_stored

GENERATIONS: list[Any] = [1, 2, 3, "3-draft-2020", "3-draft-2022", "n5"]


class ShownStore(Store):
    """What a server shows below an address, as a store."""

    writable = False
    listable = False

    def __init__(self, location: Any, address: str) -> None:
        self.application = Application(Site.of([location]))
        self.address = address
        self.ways: Counter[str] = Counter()

    @property
    def location(self) -> str:
        return f"shown:{self.address}"

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        request = HttpRequest("GET", f"{self.address}/{key}", "", {"host": "localhost"})
        response = self.application.respond(request)
        data = b"".join(map(bytes, response.body.pieces()))
        response.body.close()
        if response.status == 404:
            return None
        assert response.status == 200, data.decode()
        self.ways[response.headers["Omnizarr-Bytes"]] += 1
        return cut(data, range)

    def set(self, key: str, value: Buffer) -> None:
        raise NotImplementedError

    def erase(self, key: str) -> None:
        raise NotImplementedError

    def list_prefix(self, prefix: str) -> Iterator[str]:
        raise NotImplementedError

    @property
    def way(self) -> set[str]:
        return set(self.ways) - {"generated"}


def equal(found: Any, expected: Any) -> bool:
    if expected.dtype.kind in "OT" or found.dtype.kind in "OT":
        return found.shape == expected.shape
    if expected.dtype.names is not None and found.dtype != expected.dtype:
        return bool(found.shape == expected.shape)  # flattened records
    if expected.dtype.kind == "V":  # records may hold NaN; numbers of `ml_dtypes` are cast
        return repr(found.tolist()) == repr(expected.tolist())
    return bool(np.array_equal(found, expected, equal_nan=expected.dtype.kind in "fcmM"))


@pytest.mark.parametrize("shown", ["v3", "v2"])
@pytest.mark.parametrize("stored", list(all_stored())[::3], ids=str)
@pytest.mark.filterwarnings("ignore::omnizarr.OmnizarrWarning")
def test_every_array_of_the_corpora_reads_the_same(stored: Stored, shown: str) -> None:
    array = omnizarr.open_array(stored.location, path=stored.expected.path, mode="r")
    try:
        expected = array[...]
    except OmnizarrError as error:
        pytest.skip(f"omnizarr cannot read it: {error.message}")
    found = omnizarr.open_array(ShownStore(array, f"/as/{shown}"), mode="r")
    assert equal(np.asarray(found[...]), np.asarray(expected))


@pytest.mark.parametrize(
    ("generation", "options", "shown", "way"),
    [
        (1, {}, "v3", "stored"),
        (1, {}, "v2", "stored"),
        (2, {}, "v3", "stored"),
        (2, {"order": "F"}, "v3", "stored"),
        (2, {}, "v2", "stored"),
        (2, {"filters": [{"id": "delta", "dtype": "<i4"}]}, "v3", "re-encoded"),
        (2, {"filters": [{"id": "delta", "dtype": "<i4"}]}, "v2", "stored"),
        ("3-draft-2020", {}, "v3", "stored"),
        ("3-draft-2020", {}, "v2", "stored"),
        ("3-draft-2022", {}, "v3", "stored"),
        ("3-draft-2022", {"shards": (8, 8)}, "v2", "repacked"),
        (3, {}, "v3", "stored"),
        (3, {}, "v2", "stored"),
        (3, {"shards": (8, 8)}, "v3", "stored"),
        (3, {"shards": (8, 8)}, "v2", "repacked"),
        (3, {"filters": [omnizarr.codecs.Transpose((1, 0))]}, "v2", "stored"),
        (3, {"compressors": [omnizarr.codecs.Zstd(1), omnizarr.codecs.Crc32c()]}, "v3", "stored"),
        ("n5", {}, "v3", "repacked"),
        ("n5", {}, "v2", "repacked"),
    ],
)
def test_bytes_stay_as_they_are_where_the_encoding_allows(
    tmp_path: Path, generation: Any, options: dict[str, Any], shown: str, way: str
) -> None:
    data = np.arange(64, dtype="int32").reshape(8, 8)
    array = omnizarr.create_array(
        tmp_path / "x", shape=(8, 8), chunks=(4, 4), dtype="int32", zarr_format=generation, **options
    )
    array[...] = data
    store = ShownStore(str(tmp_path / "x"), f"/as/{shown}")
    np.testing.assert_array_equal(omnizarr.open_array(store, mode="r")[...], data)
    assert store.way == {way}


def test_the_documents_have_no_trace_of_the_other_generation(tmp_path: Path) -> None:
    group = omnizarr.create_group(tmp_path / "x", zarr_format=2, attributes={"nan": [1.5]})
    group.create_array("a/b", shape=4, dtype="<f8", dimension_names=["x"], attributes={"units": "K"})
    store = ShownStore(str(tmp_path / "x"), "/as/v3")
    document = json.loads(bytes(store.get("a/b/zarr.json") or b""))
    assert (document["dimension_names"], document["attributes"]["units"]) == (["x"], "K")
    root = json.loads(bytes(store.get("zarr.json") or b""))
    assert set(root["consolidated_metadata"]["metadata"]) == {"a", "a/b"}
    assert store.get(".zgroup") is None
    shown = ShownStore(str(tmp_path / "x"), "/as/v2")
    assert set(json.loads(bytes(shown.get(".zmetadata") or b""))["metadata"]) >= {".zgroup", "a/.zgroup", "a/b/.zarray"}


@pytest.mark.parametrize(
    "key", ["c/9/9", "c/0", "c/0/0/0", "c/-1/0", "c/00/0", "0.0", "c", "x/c/0/0", "zarr.json/x", ".zarray"]
)
def test_other_keys_are_absent(tmp_path: Path, key: str) -> None:
    omnizarr.save_array(tmp_path / "x", np.zeros((4, 4)) + 1)
    assert ShownStore(str(tmp_path / "x"), "/as/v3").get(key) is None


def test_absent_chunks_stay_absent(tmp_path: Path) -> None:
    array = omnizarr.create_array(tmp_path / "x", shape=8, chunks=4, dtype="f8", fill_value=3, zarr_format=2)
    array[:4] = 1
    store = ShownStore(str(tmp_path / "x"), "/as/v3")
    assert store.get("c/0") is not None
    assert store.get("c/1") is None
    cast = ShownStore(str(tmp_path / "x"), "/as/v3-neuroglancer")
    assert cast.get("c/1") is None
    assert omnizarr.open_array(cast, mode="r")[...].tolist() == [1] * 4 + [3] * 4


@pytest.mark.parametrize(
    ("data", "viewer", "expected"),
    [
        (np.array([1.5, np.nan, 1e300]), "neuroglancer", np.array([1.5, np.nan, np.inf], "f4")),
        (np.array([True, False]), "neuroglancer", np.array([1, 0], "u1")),
        (np.array([2**40, -5]), "neuroglancer", np.array([2**31 - 1, -5], "i4")),
        (np.array([2**40, 5], "u8"), "neuroglancer", np.array([2**40, 5], "u8")),
        (np.array([2**40, 5], "u8"), "vizarr", np.array([2**32 - 1, 5], "u4")),
        (np.array([3 + 4j]), "vizarr", np.array([5], "f4")),
        (np.array([7], "u1"), "vizarr", np.array([7], "u1")),
    ],
)
def test_casts_for_viewers(tmp_path: Path, data: Any, viewer: str, expected: Any) -> None:
    omnizarr.save_array(tmp_path / "x", data)
    shown = omnizarr.open_array(ShownStore(str(tmp_path / "x"), f"/as/v3-{viewer}"), mode="r")
    assert shown.dtype == expected.dtype
    np.testing.assert_array_equal(shown[...], expected)
    application = Application(Site.of([str(tmp_path / "x")]))
    request = HttpRequest("GET", "/as/v3/zarr.json", f"for={viewer}", {"host": "localhost"})
    assert json.loads(b"".join(application.respond(request).body.pieces()))["data_type"] == expected.dtype.name
    wrong = HttpRequest("GET", "/as/v3/zarr.json", "for=nothing", {"host": "localhost"})
    assert application.respond(wrong).status == 400


def test_records_of_arrays_become_records_of_numbers(tmp_path: Path) -> None:
    dtype = np.dtype([("a", "<i2", (2,)), ("b", [("c", "<f4")])])
    data = np.array([((1, 2), (3,)), ((4, 5), (6,))], dtype)
    omnizarr.create_array(tmp_path / "x", data=data, dtype=dtype, zarr_format=2)
    shown = omnizarr.open_array(ShownStore(str(tmp_path / "x"), "/as/v3"), mode="r")[...]
    assert shown.dtype.names == ("a[0]", "a[1]", "b.c")
    assert shown.tolist() == [(1, 2, 3.0), (4, 5, 6.0)]

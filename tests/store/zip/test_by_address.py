"""Archives by address: modes, generations, remote archives and their requests."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.store.zip.archives import entry_names

import omnizarr
from omnizarr.errors import LocationError, ReadOnlyError, StoreError
from omnizarr.store import LocalStore, ObjectStore, ZipStore
from omnizarr.store.address.parse import locate
from omnizarr.testing import RecordingStore, SlowStore

# -- by address


@pytest.mark.smoke
def test_arrays_by_address(tmp_path: Path) -> None:
    data = np.arange(100).reshape(10, 10)
    path = tmp_path / "x.zarr.zip"
    omnizarr.save_array(path, data)
    assert zipfile.is_zipfile(path)  # finished without a call of `close`
    for address in (path, str(path), f"zip::{path}", path.as_uri(), f"zip::{path.as_uri()}", f"{path}|zip:"):
        assert np.array_equal(omnizarr.open(address, mode="r")[...], data)  # type: ignore[index]
    group = omnizarr.open_group(tmp_path / "g.zip", mode="w")
    group.create_array("a/b", data=data)
    group.store.close()
    for inner in (f"{tmp_path}/g.zip/a/b", f"zip://a/b::{tmp_path}/g.zip", f"{tmp_path}/g.zip|zip:a/b"):
        z = omnizarr.open_array(inner, mode="r")
        assert (z.path, z[1, 1]) == ("a/b", 11)
    assert isinstance(omnizarr.open_group(f"{tmp_path}/g.zip/a", mode="r")["b"], omnizarr.Array)
    with pytest.raises(KeyError):
        omnizarr.open(tmp_path / "absent.zip", mode="r")
    with pytest.raises(LocationError, match="does not take these `storage_options`: colour"):
        omnizarr.open(str(path), storage_options={"colour": 1})
    store = locate(str(path), {"compression": "deflated"}).store
    assert isinstance(store, ZipStore)
    assert store._level == 6


def test_modes(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    for _ in range(2):
        z = omnizarr.open_array(path, mode="w", data=np.arange(100_000), chunks=50_000, compressors=None)
        z.store.close()
        assert entry_names(path) == ["c/0", "c/1", "zarr.json"]
        assert path.read_bytes().count(b"PK\3\4") == 3
    with pytest.raises(FileExistsError):
        omnizarr.open_array(path, mode="w-", shape=3, dtype="int8")
    z = omnizarr.open_array(path, mode="r+")
    z[0] = -1
    z.store.close()
    assert omnizarr.load(path)[:2].tolist() == [-1, 1]
    with pytest.raises(ReadOnlyError):
        omnizarr.open_array(path, mode="r")[0] = 5
    omnizarr.open_group(tmp_path / "new.zip", mode="a").store.close()
    assert entry_names(tmp_path / "new.zip") == ["zarr.json"]


def test_an_archive_in_memory_by_address(tmp_path: Path) -> None:
    z = omnizarr.create_array("zip::memory://zips/x.zip", data=[1, 2, 3])
    z.store.close()
    assert omnizarr.load("zip::memory://zips/x.zip").tolist() == [1, 2, 3]
    assert omnizarr.load("memory://zips/x.zip").tolist() == [1, 2, 3]
    assert z.store.location == "zip::memory://zips/x.zip"


@pytest.mark.parametrize("zarr_format", [1, 2, "3-draft-2020", "3-draft-2022", 3, "n5"])
def test_every_generation(tmp_path: Path, zarr_format: Any) -> None:
    z = omnizarr.create_array(tmp_path / "x.zip", data=np.arange(30), chunks=7, zarr_format=zarr_format)
    z.attrs["a"] = 1
    z.resize(40)
    z[35:] = 5
    z.store.close()
    z = omnizarr.open(tmp_path / "x.zip", mode="r")
    assert isinstance(z, omnizarr.Array)
    assert z[...].tolist() == [*range(30), *[0] * 5, *[5] * 5]


def test_a_remote_archive_needs_few_requests(tmp_path: Path) -> None:
    data = np.arange(100_000, dtype="int32")
    omnizarr.save_array(tmp_path / "x.zip", data, chunks=10_000, compressors=None)
    inner = RecordingStore(SlowStore(LocalStore(tmp_path), latency=0))
    z = omnizarr.open_array(ZipStore.inside(inner, "x.zip"), mode="r")
    assert inner.methods() == ["size", "get"]  # the end of the archive also contains the document
    inner.reset()
    assert np.array_equal(z[...], data)
    assert [len(call.key) for call in inner.calls if call.method == "get_each"] == [len(inner.calls[0].key)]
    store = ZipStore.inside(inner, "x.zip")
    requests = [(f"c/{number}", (0, 4)) for number in range(5)] + [("c/3", None), ("absent", None)]
    inner.reset()
    values = store.get_partial_values(requests)
    assert [len(value or b"") for value in values] == [4] * 5 + [40_000, 0]
    assert values[6] is None
    assert [len(call.key) for call in inner.of("get_each")] == [5, 6]  # first the local headers, then the values


def test_a_point_in_a_shard_of_a_remote_archive_takes_two_requests_then_one(tmp_path: Path) -> None:
    data = np.random.default_rng(0).integers(0, 2**15, (400, 400)).astype("int32")
    omnizarr.save_array(tmp_path / "x.zip", data, chunks=50, shards=200)
    inner = RecordingStore(SlowStore(LocalStore(tmp_path), latency=0))
    z = omnizarr.open_array(ZipStore.inside(inner, "x.zip"), mode="r")
    z.store.get("c/0/0", (0, 1))  # reads the local header once; the central directory has no offset of the data
    inner.reset()
    assert z[3, 3] == data[3, 3]
    assert inner.requests == 2
    assert z[190, 7] == data[190, 7]
    assert inner.requests == 3


def test_an_archive_in_a_bucket(tmp_path: Path) -> None:
    obstore = pytest.importorskip("obstore.store")
    bucket = ObjectStore(obstore.MemoryStore())
    data = np.random.default_rng(0).integers(0, 2**15, (400, 400)).astype("int32")
    for shards in (None, 200):
        omnizarr.save_array(tmp_path / "x.zip", data, chunks=50, shards=shards)
        bucket.set("x.zip", (tmp_path / "x.zip").read_bytes())
        z = omnizarr.open_array(ZipStore.inside(bucket, "x.zip"), mode="r")
        assert np.array_equal(z[...], data)
        assert np.array_equal(z[7:350:9, 3], data[7:350:9, 3])
        bucket.set("x.zip", b"another one, of another length")
        for operation in (lambda z=z: z[...], lambda z=z: z[7:9, 3], lambda z=z: z.store.get("c/0/0", (1, 2))):
            with pytest.raises(StoreError, match="replaced or removed"):
                operation()


def test_partial_reads_of_shards(tmp_path: Path) -> None:
    data = np.arange(100_000, dtype="int32")
    path = tmp_path / "x.zip"
    for compression in ("stored", "deflated"):
        z = omnizarr.create_array(
            ZipStore(path, compression=compression),
            data=data,
            chunks=100,
            shards=10_000,
            overwrite=True,  # type: ignore[arg-type]
        )
        z.store.close()
        z = omnizarr.open_array(path, mode="r")
        assert np.array_equal(z[5_050:5_150], data[5_050:5_150])
        assert np.array_equal(z[::999], data[::999])

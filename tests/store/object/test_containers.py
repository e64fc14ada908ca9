"""Archives and references on real servers, opened by their addresses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.servers.running import RunningServer

import omnizarr
from omnizarr.errors import LocationError, StoreError
from omnizarr.store import ObjectStore, ReferenceStore, ZipStore

DATA = np.random.default_rng(0).integers(0, 2**15, (300, 300)).astype("int32")


@pytest.mark.parametrize("server_name", ["s3", "azure"])
def test_an_archive_in_a_bucket(server_name: str, request: pytest.FixtureRequest) -> None:
    server: RunningServer = request.getfixturevalue(server_name)
    url = server.new()
    z = omnizarr.create_array(
        f"zip://a/b::{url}/data.zip", data=DATA, chunks=50, shards=100, storage_options=server.options
    )
    assert isinstance(z.store, ZipStore)
    z.store.close()
    for address in (f"{url}/data.zip/a/b", f"zip://a/b::{url}/data.zip", f"{url}/data.zip|zip:a/b"):
        z = omnizarr.open_array(address, mode="r", storage_options=server.options)
        assert np.array_equal(z[...], DATA)
        assert np.array_equal(z[7:290:11, 5], DATA[7:290:11, 5])
    with pytest.raises(KeyError):
        omnizarr.open(f"{url}/absent.zip/a", mode="r", storage_options=server.options)
    with pytest.raises(LocationError, match="must be a local file"):
        omnizarr.open(f"sqlite::{url}/data.sqlite", storage_options=server.options)


def test_an_archive_on_a_web_server(web: RunningServer, files: Path) -> None:
    omnizarr.save_array(files / "web.zarr.zip", DATA, chunks=50)
    for address in (f"{web.endpoint}/web.zarr.zip", f"zip::{web.endpoint}/web.zarr.zip"):
        z = omnizarr.open_array(address, mode="r", storage_options=web.options)
        assert np.array_equal(z[...], DATA)


def test_web_addresses_with_percent_encoding(web: RunningServer, files: Path) -> None:
    (files / "my data").mkdir()
    (files / "my data" / "x y.bin").write_bytes(b"hello")
    folder = f"{web.endpoint}/my%20data"
    refs = {"near": ["x y.bin", 0, 5], "full": [f"{folder}/x%20y.bin", 0, 5], "up": [f"{folder}/%2e%2e/x", 0, 5]}
    (files / "my data" / "a b.json").write_text(json.dumps(refs))
    for store in (ReferenceStore(f"{folder}/a%20b.json"), ReferenceStore(refs, allow=[folder])):
        assert bytes(store.get("full") or b"") == b"hello"
        with pytest.raises(StoreError, match="allowed"):
            store.get("up")
    assert bytes(ReferenceStore(f"{folder}/a%20b.json").get("near") or b"") == b"hello"
    omnizarr.save_array(files / "my data" / "x y.zip", DATA)
    for address in (f"{folder}/x%20y.zip", f"zip::{folder}/x%20y.zip"):
        assert np.array_equal(omnizarr.open_array(address, mode="r")[...], DATA)


def test_references_in_a_bucket(s3: RunningServer) -> None:
    url = s3.new()
    store = ObjectStore.from_url(url, **s3.options)
    array = {
        "zarr_format": 2,
        "shape": [300, 300],
        "chunks": [300, 300],
        "dtype": "<i4",
        "order": "C",
        "compressor": None,
        "filters": None,
        "fill_value": 0,
    }
    store.set("model.nc", b"header" + DATA.tobytes())
    for name, target in (("near.json", "model.nc"), ("absolute.json", f"{url}/model.nc")):
        store.set(name, json.dumps({".zarray": array, "0.0": [target, 6, DATA.nbytes]}).encode())
        z = omnizarr.open_array(f"{url}/{name}", mode="r", storage_options=s3.options)
        assert isinstance(z.store, ReferenceStore) or z.store.read_only
        assert np.array_equal(z[...], DATA)
    store.set("out.json", json.dumps({".zarray": array, "0.0": ["s3://another/model.nc", 6, DATA.nbytes]}).encode())
    with pytest.raises(StoreError, match="allowed"):
        omnizarr.open_array(f"{url}/out.json", mode="r", storage_options=s3.options)[...]

"""Servers that stall, fail, cut responses or ignore ranges: reads return correct data or raise an error."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.servers.proxy import Faults, Proxy
from tests.servers.running import RunningServer

import omnizarr
from omnizarr.errors import OmnizarrWarning, StoreError
from omnizarr.store import ObjectStore

_SHORT_TIMEOUTS: dict[str, Any] = {
    "timeout": 2,
    "read_timeout": 1,
    "connect_timeout": 1,
    "max_retries": 1,
    "retry_timeout": 3,
}
DATA = np.arange(40 * 40, dtype="i4").reshape(40, 40)


@pytest.fixture
def url(s3: RunningServer) -> str:
    """A group with an array in chunks and one in shards, written without faults."""
    url = s3.new()
    group = omnizarr.create_group(url, storage_options=s3.options)
    group.create_array("chunks", data=DATA, chunks=(8, 8))
    group.create_array("shards", data=DATA, chunks=(4, 4), shards=(20, 20), compressors=None)
    return url


@pytest.mark.parametrize(
    "faults",
    [Faults(fail=0.15), Faults(reset=0.15), Faults(cut=0.15), Faults(fail=0.1, reset=0.1, cut=0.1)],
    ids=["fail", "reset", "cut", "all"],
)
def test_random_faults_are_retried(s3: RunningServer, url: str, faulty_s3: Proxy, faults: Faults) -> None:
    faulty_s3.faults = faults
    options = {**s3.through(faulty_s3.endpoint), "conditional": "trust"}
    for name in ("chunks", "shards"):
        z = omnizarr.open_array(url, path=name, mode="r", storage_options=options)
        assert (z[...] == DATA).all()
        assert (z[3:9, ::11] == DATA[3:9, ::11]).all()
    written = omnizarr.create_array(f"{url}/new", data=DATA, chunks=(10, 10), storage_options=options)
    assert (written[...] == DATA).all()


@pytest.mark.parametrize("name", ["chunks", "shards"])
@pytest.mark.parametrize("faults", [Faults(stall=1), Faults(fail=1), Faults(reset=1)], ids=["stall", "fail", "reset"])
def test_a_server_that_always_fails_raises_an_error_after_few_requests(
    s3: RunningServer, url: str, faulty_s3: Proxy, faults: Faults, name: str
) -> None:
    options = {**s3.through(faulty_s3.endpoint), **_SHORT_TIMEOUTS}
    z = omnizarr.open_array(url, path=name, mode="r", storage_options=options)
    faulty_s3.faults = faults
    faulty_s3.requests.clear()
    with pytest.raises(StoreError) as caught:
        z[...]
    assert len(faulty_s3.requests) < 200
    assert url in str(caught.value)
    assert caught.value.hint is not None
    assert caught.value.key is not None


def test_one_error_cancels_other_requests(s3: RunningServer, url: str, faulty_s3: Proxy) -> None:
    options = {**s3.through(faulty_s3.endpoint), "max_concurrency": 2, "max_retries": 0}
    z = omnizarr.create_array(f"{url}/many", data=np.ones(400), chunks=2, storage_options=options)
    faulty_s3.faults = Faults(status=500)
    faulty_s3.requests.clear()
    with pytest.raises(StoreError):
        z[...]
    assert len(faulty_s3.requests) < 20
    faulty_s3.requests.clear()
    with pytest.raises(StoreError):
        z[...] = 1
    assert len(faulty_s3.requests) < 20


def test_403_is_an_error_unless_forbidden_is_absent(s3: RunningServer, url: str, faulty_s3: Proxy) -> None:
    options = s3.through(faulty_s3.endpoint)
    z = omnizarr.open_array(url, path="chunks", mode="r", storage_options=options)
    public = omnizarr.open_array(url, path="chunks", mode="r", storage_options={**options, "forbidden_is_absent": True})
    faulty_s3.faults = Faults(status=403, only=b"/c/0/0")
    with pytest.raises(StoreError, match="`chunks/c/0/0`") as caught:
        z[...]
    assert "forbidden_is_absent" in str(caught.value.hint)
    expected = DATA.copy()
    expected[:8, :8] = 0
    assert (public[...] == expected).all()


def test_404_is_an_absent_chunk(s3: RunningServer, url: str, faulty_s3: Proxy) -> None:
    faulty_s3.faults = Faults(status=404, only=b"/c/0/0")
    z = omnizarr.open_array(url, path="chunks", mode="r", storage_options=s3.through(faulty_s3.endpoint))
    assert not z[:8, :8].any()
    assert (z[8:] == DATA[8:]).all()


@pytest.mark.parametrize("name", ["chunks", "shards"])
def test_a_server_that_ignores_ranges(web: RunningServer, files: Path, faulty_web: Proxy, name: str) -> None:
    sharded = {"shards": (20, 20), "chunks": (4, 4), "compressors": None} if name == "shards" else {"chunks": (8, 8)}
    omnizarr.create_array(files / f"ranges-{name}", data=DATA, **sharded, overwrite=True)  # type: ignore[arg-type]
    faulty_web.faults = Faults(no_ranges=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        z = omnizarr.open_array(f"{faulty_web.endpoint}/ranges-{name}")
        assert z[3, 7] == DATA[3, 7]
        assert (z[5:33, 2] == DATA[5:33, 2]).all()
        assert (z[...] == DATA).all()
    # Documents and chunks are needed as a whole, so only shards cost more than from other servers.
    assert [warning.category for warning in caught] == [OmnizarrWarning] * (name == "shards")
    assert all("whole values" in str(warning.message) for warning in caught)


def test_a_shard_on_a_server_without_etags_is_read_in_one_version(
    s3: RunningServer, url: str, faulty_s3: Proxy
) -> None:
    faulty_s3.faults = Faults(no_tags=True)
    z = omnizarr.open_array(url, path="shards", mode="r", storage_options=s3.through(faulty_s3.endpoint))
    faulty_s3.requests.clear()
    assert z[3, 7] == DATA[3, 7]
    assert len(faulty_s3.requests) == 3  # the index, the inner chunk, and the index again
    assert (z[5:33, 2] == DATA[5:33, 2]).all()


def test_requests_run_concurrently(s3: RunningServer, url: str, faulty_s3: Proxy) -> None:
    options = s3.through(faulty_s3.endpoint)

    def require_concurrent(count: int) -> None:
        faulty_s3.most, faulty_s3.faults = 0, Faults(together=count)

    z = omnizarr.open_array(url, path="chunks", mode="r", storage_options=options)
    require_concurrent(25)
    assert (z[...] == DATA).all()
    assert faulty_s3.most == 25
    z = omnizarr.open_array(url, path="shards", mode="r+", storage_options=options)
    require_concurrent(4)
    assert (z[::19, ::19] == DATA[::19, ::19]).all()
    assert faulty_s3.most >= 4
    z = omnizarr.create_array(f"{url}/new", shape=(40, 40), dtype="i4", chunks=(8, 8), storage_options=options)
    require_concurrent(9)
    z[...] = DATA
    assert faulty_s3.most > 8


def test_no_server() -> None:
    store = ObjectStore.from_url("http://127.0.0.1:9/x", **_SHORT_TIMEOUTS)
    with pytest.raises(StoreError, match="127.0.0.1:9/x") as caught:
        store.get("zarr.json")
    assert caught.value.hint is not None

"""Versioned arrays in a bucket: the head is changed by conditional requests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from tests.servers.running import RunningServer

import omnizarr
from omnizarr.errors import ConflictError
from omnizarr.nodes.versioned_array import VersionedArray
from omnizarr.transformers import Versions


def _open(url: str, server: RunningServer, **options: object) -> VersionedArray:
    array = omnizarr.open_array(url, storage_options=server.options, **options)  # type: ignore[arg-type]
    assert isinstance(array, VersionedArray)
    return array


def test_commits_merges_and_pruning(s3: RunningServer) -> None:
    url = s3.new()
    omnizarr.create_array(
        url, shape=(4, 6), chunks=(1, 6), dtype="i4", storage_options=s3.options, storage_transformers=[Versions()]
    )

    def work(number: int) -> None:
        z = _open(url, s3)
        for step in range(1, 4):
            z[number] = step
            z.commit(f"{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    z = _open(url, s3)
    assert z[:].tolist() == [[3] * 6] * 4
    assert len(z.versions()) == 13
    one, two = _open(url, s3), _open(url, s3)
    one[0] = 7
    two[0, :2] = 8
    one.commit()
    with pytest.raises(ConflictError):
        two.commit()
    two.rollback()
    assert _open(url, s3, version=12)[:].tolist() == [[3] * 6] * 4
    report = z.prune(keep=2, grace=timedelta(0))
    assert report.versions == tuple(range(12))
    assert _open(url, s3)[0].tolist() == [7] * 6
    assert _open(url, s3, version=12)[0].tolist() == [3] * 6


def test_shards_are_read_in_parts(s3: RunningServer) -> None:
    url = s3.new()
    z = omnizarr.create_array(
        url,
        shape=400,
        chunks=10,
        shards=200,
        dtype="i4",
        storage_options=s3.options,
        storage_transformers=[Versions()],
    )
    assert isinstance(z, VersionedArray)
    z[:] = 1
    z[15:25] = 2
    z.commit()
    z[20] = 9
    assert _open(url, s3)[14:26].tolist() == [1] + [2] * 10 + [1]
    z.commit()
    assert _open(url, s3)[20] == 9
    assert _open(url, s3, version=1)[20] == 2

"""Chunk manifests in a bucket, and chunks that are parts of objects in other buckets."""

from __future__ import annotations

import numpy as np
import pytest
from tests.servers.running import RunningServer

import omnizarr
from omnizarr.errors import StoreError
from omnizarr.store import MemoryStore, ObjectStore
from omnizarr.transformers import AllowFiles, FileChunks


@pytest.mark.parametrize("remote", [False, True])
def test_chunks_in_another_bucket(s3: RunningServer, remote: bool) -> None:
    source = s3.new()
    data = np.arange(400, dtype="<i4")
    ObjectStore.from_url(source, **s3.options).set("raw/model.bin", b"header" + data.tobytes())
    store = ObjectStore.from_url(s3.new(), **s3.options) if remote else MemoryStore()
    z = omnizarr.create_array(
        store, shape=400, chunks=10, dtype="<i4", compressors=None, storage_transformers=[FileChunks()]
    )
    url = f"{source.rstrip('/')}/raw/model.bin"
    omnizarr.write_chunk_manifest(z, {(n,): (url, 6 + 40 * n, 40) for n in range(40)})
    allow = AllowFiles([source], target_options=s3.options)
    z = omnizarr.open_array(store, storage_transformers=[allow])
    assert (z[:] == data).all()
    z[5:25] = data[5:25] = 0
    assert (z[:] == data).all()
    assert (z[3:300:7] == data[3:300:7]).all()
    with pytest.raises(StoreError, match="neither in its folder nor in an allowed location"):
        omnizarr.open_array(store)[100]

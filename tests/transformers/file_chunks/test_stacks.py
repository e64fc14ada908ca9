"""File chunks together with every other transformer, in every order."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ArgumentError
from omnizarr.nodes.versioned_array import VersionedArray
from omnizarr.store import MemoryStore
from omnizarr.transformers import (
    AllowFiles,
    ContentAddressed,
    FileChunks,
    HashedDirectories,
    MemoryCache,
    ShardingTransformer,
    Versions,
)

OTHERS: list[Any] = [HashedDirectories(), ContentAddressed(), ShardingTransformer((2,)), Versions()]
PAIRS = [order for other in OTHERS for order in itertools.permutations((FileChunks(), other))]
TRIPLES = [
    (HashedDirectories(), FileChunks(), Versions()),
    (FileChunks(), HashedDirectories(), Versions()),
    (FileChunks(), ContentAddressed(), Versions()),
    (ShardingTransformer((2,)), FileChunks(), Versions()),
    (HashedDirectories(), FileChunks(), ContentAddressed()),
]


def name(value: Any) -> str:
    return "-".join(type(item).__name__ for item in value) if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize("stack", [*PAIRS, *TRIPLES], ids=name)
@pytest.mark.parametrize("cached", [False, True], ids=["plain", "cached"])
@pytest.mark.parametrize("zarr_format", [3, "3-draft-2022"])
def test_stacks(stack: tuple[Any, ...], cached: bool, zarr_format: Any, tmp_path: Path) -> None:
    kinds = [type(item) for item in stack]
    if zarr_format == 3 and ShardingTransformer in kinds:
        pytest.skip("v3 has a sharding codec instead")
    if ContentAddressed in kinds and kinds.index(ContentAddressed) < kinds.index(FileChunks):
        pytest.skip("the files would have to hold the pointers of content-addressed storage")
    store = MemoryStore()
    options: Any = {"shape": 40, "chunks": 5, "dtype": "<i4", "compressors": None, "zarr_format": zarr_format}
    if kinds[0] is Versions:
        with pytest.raises(ArgumentError, match="must be the last"):
            omnizarr.create_array(store, storage_transformers=stack, **options)
        return
    z = omnizarr.create_array(store, storage_transformers=stack, **options)
    expected = np.arange(40, dtype="<i4")
    raw = tmp_path / "raw.bin"
    if kinds[0] is ShardingTransformer:  # the entries are shards
        whole = omnizarr.create_array(
            MemoryStore(), data=expected, storage_transformers=[stack[0]], **{**options, "shape": None, "dtype": None}
        )
        shards = [bytes(whole._layout.store.get(whole._layout.prefix + f"c{n}") or b"") for n in range(4)]
        raw.write_bytes(b"".join(shards))
        size, count = len(shards[0]), 4
    else:
        raw.write_bytes(expected.tobytes())
        size, count = 20, 8
    omnizarr.write_chunk_manifest(z, {(n,): (os.fspath(raw), size * n, size) for n in range(count - 1)})
    expected[-40 // count :] = 0
    if isinstance(z, VersionedArray):
        z.commit("manifest")

    def opened(**more: Any) -> omnizarr.Array:
        runtime = [AllowFiles([raw]), *([MemoryCache()] if cached else [])]
        return omnizarr.open_array(store, storage_transformers=runtime, **more)

    z = opened()
    assert z[:].tolist() == expected.tolist()
    z[7:18] = expected[7:18] = 9
    z[20:30] = expected[20:30] = 0  # erased
    assert z[:].tolist() == expected.tolist()
    if isinstance(z, VersionedArray):
        assert opened()[7] == 7
        z.commit("changes")
        assert opened(version=1)[7] == 7
        assert opened(version=1)[25] == 25
    assert opened()[:].tolist() == expected.tolist()
    z = opened()
    z[22] = expected[22] = 3
    z.resize(35)
    z.resize(40)
    expected[35:] = 0
    assert z[:].tolist() == expected.tolist()
    if isinstance(z, VersionedArray):
        z.rollback()

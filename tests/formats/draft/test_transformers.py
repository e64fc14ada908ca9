"""Storage transformers of new arrays of both drafts (S63–S65)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.formats.draft.documents import conventions

import omnizarr
from omnizarr import MemoryStore
from omnizarr.errors import ArgumentError, MetadataError
from omnizarr.transformers import SHARDING_URIS, MemoryCache, ShardingTransformer


@pytest.mark.parametrize("draft", ["3-draft-2020", "3-draft-2022"])
def test_S63_S65_transformers_of_a_new_array(draft: Any) -> None:
    """As objects or as JSON. A leading sharding transformer is equivalent to `shards`."""
    named = {"extension": SHARDING_URIS[1], "type": "indexed", "configuration": {"chunks_per_shard": [2, 3]}}
    values = np.arange(48).reshape(6, 8)
    stored = []
    for given in ([ShardingTransformer((2, 3))], [named], None):
        shards = (4, 6) if given is None else None
        z = omnizarr.create_array(
            MemoryStore(),
            data=values,
            chunks=(2, 2),
            shards=shards,
            storage_transformers=given,
            zarr_format=draft,
            **conventions(draft),
        )
        again = omnizarr.open_array(z.store)
        assert (z.shards, z.chunks) == (again.shards, again.chunks) == ((4, 6), (2, 2))
        np.testing.assert_array_equal(again[...], values)
        stored.append({key: bytes(z.store.get(key) or b"") for key in z.store.list()})
    assert stored[0] == stored[1] == stored[2]


@pytest.mark.parametrize("draft", ["3-draft-2020", "3-draft-2022"])
def test_S63_shards_of_shards(draft: Any) -> None:
    values = np.arange(64).reshape(8, 8)
    z = omnizarr.create_array(
        MemoryStore(),
        data=values,
        chunks=(1, 2),
        shards=(2, 4),
        storage_transformers=[ShardingTransformer((2, 2))],
        zarr_format=draft,
        **conventions(draft),
    )
    again = omnizarr.open_array(z.store)
    assert again.metadata.storage_transformers == z.metadata.storage_transformers == (ShardingTransformer((2, 2)),)
    assert (again.shards, again.chunks) == (z.shards, z.chunks) == ((2, 4), (1, 2))
    assert len([key for key in z.store.list() if key.startswith("data")]) == 2 * 1
    np.testing.assert_array_equal(again[...], values)
    again[3, 3:5] = -1
    values[3, 3:5] = -1
    np.testing.assert_array_equal(omnizarr.open_array(z.store)[...], values)


@pytest.mark.parametrize("draft", ["3-draft-2020", "3-draft-2022"])
@pytest.mark.parametrize(
    "given",
    [
        [ShardingTransformer((2,))],
        [MemoryCache()],
        ["sharding"],
        [5],
        [{"extension": "https://example.org/x", "type": "y"}],
        [{"extension": SHARDING_URIS[0], "type": "indexed", "configuration": {"chunks_per_shard": [0, 2]}}],
    ],
)
def test_S65_S29_transformers_that_do_not_fit_are_rejected_before_anything_is_written(draft: Any, given: Any) -> None:
    store = MemoryStore()
    with pytest.raises((ArgumentError, MetadataError)):
        omnizarr.create_array(store, shape=(4, 4), dtype="i4", storage_transformers=given, zarr_format=draft)
    assert list(store.list()) == []

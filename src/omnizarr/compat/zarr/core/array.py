"""`Array` and `AsyncArray`: handles of arrays."""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

from omnizarr.compat.zarr.core.create import DEFAULT_FILL_VALUE
from omnizarr.compat.zarr.core.encoding import default_filters_v2, default_serializer_v3
from omnizarr.compat.zarr.core.encoding import parse_chunk_encoding_v2 as _parse_chunk_encoding_v2
from omnizarr.compat.zarr.core.encoding import parse_chunk_encoding_v3 as _parse_chunk_encoding_v3
from omnizarr.compat.zarr.core.encoding import parse_chunk_key_encoding as _parse_chunk_key_encoding
from omnizarr.compat.zarr.core.handles.array import Array
from omnizarr.compat.zarr.core.handles.async_array import AsyncArray
from omnizarr.compat.zarr.core.new_array import like_create_array, new_array
from omnizarr.compat.zarr.core.regions import iter_chunk_coords as _iter_chunk_coords
from omnizarr.compat.zarr.core.regions import iter_chunk_coords_to_delete as _iter_chunk_coords_to_delete
from omnizarr.compat.zarr.core.regions import iter_chunk_regions as _iter_chunk_regions
from omnizarr.compat.zarr.core.regions import iter_shard_coords as _iter_shard_coords
from omnizarr.compat.zarr.core.regions import iter_shard_keys as _iter_shard_keys
from omnizarr.compat.zarr.core.regions import iter_shard_regions as _iter_shard_regions
from omnizarr.compat.zarr.core.regions import shards_initialized as _shards_initialized
from omnizarr.compat.zarr.errors import translated
from omnizarr.compat.zarr.storage._common import store_path_of

__all__ = [
    "DEFAULT_FILL_VALUE",
    "Array",
    "AsyncArray",
    "_iter_chunk_coords",
    "_iter_chunk_coords_to_delete",
    "_iter_chunk_regions",
    "_iter_shard_coords",
    "_iter_shard_keys",
    "_iter_shard_regions",
    "_parse_chunk_encoding_v2",
    "_parse_chunk_encoding_v3",
    "_parse_chunk_key_encoding",
    "_shards_initialized",
    "create_array",
    "default_filters_v2",
    "default_serializer_v3",
    "init_array",
    "new_array",
]

CompressorsLike: TypeAlias = Any
CompressorLike: TypeAlias = Any
FiltersLike: TypeAlias = Any
SerializerLike: TypeAlias = Any
ShardsLike: TypeAlias = Any
ShardsConfigParam: TypeAlias = Any


@like_create_array()
async def create_array(
    store: Any, *, name: str | None = None, storage_options: Any = None, **options: Any
) -> AsyncArray:
    """Creates an array."""

    def run() -> Array:
        return new_array(store_path_of(store, name, "a", storage_options), **options)

    return AsyncArray._of(await asyncio.to_thread(translated(run)))


async def init_array(*, store_path: Any, **options: Any) -> AsyncArray:
    """Creates an array without data."""
    return await create_array(store_path, **options)

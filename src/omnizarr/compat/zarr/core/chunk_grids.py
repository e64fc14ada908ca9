"""Chunk grids."""

from __future__ import annotations

from omnizarr.compat.zarr.core.grids.dimensions import ChunkSpec, DimensionGrid, FixedDimension, VaryingDimension
from omnizarr.compat.zarr.core.grids.grid import ChunkGrid
from omnizarr.compat.zarr.core.grids.normalize import (
    SHARDED_INNER_CHUNK_MAX_BYTES,
    ChunkLayout,
    full_span_chunk_size,
    guess_chunks,
    is_regular_1d,
    is_regular_nd,
    normalize_chunks_1d,
    normalize_chunks_nd,
    resolve_outer_and_inner_chunks,
)

__all__ = [
    "SHARDED_INNER_CHUNK_MAX_BYTES",
    "ChunkGrid",
    "ChunkLayout",
    "ChunkSpec",
    "DimensionGrid",
    "FixedDimension",
    "VaryingDimension",
    "full_span_chunk_size",
    "guess_chunks",
    "is_regular_1d",
    "is_regular_nd",
    "normalize_chunks_1d",
    "normalize_chunks_nd",
    "resolve_outer_and_inner_chunks",
]

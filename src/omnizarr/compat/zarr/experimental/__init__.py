"""Names that zarr-python may still change."""

from __future__ import annotations

from omnizarr.compat.zarr.core.chunk_grids import ChunkGrid, ChunkSpec

__all__ = ["ChunkGrid", "ChunkSpec"]

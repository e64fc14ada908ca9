"""The arguments `chunks` and `shards` as chunk grids."""

from __future__ import annotations

import operator
import warnings
from math import prod
from typing import Any, NamedTuple

import numpy as np

from omnizarr.compat.zarr.core.config import config
from omnizarr.compat.zarr.core.grids.dimensions import DimensionGrid, FixedDimension, VaryingDimension
from omnizarr.compat.zarr.core.grids.grid import ChunkGrid
from omnizarr.compat.zarr.errors import ZarrUserWarning
from omnizarr.grids.auto import auto_chunks

__all__ = ["ChunkLayout", "guess_chunks", "normalize_chunks_nd", "resolve_outer_and_inner_chunks"]

SHARDED_INNER_CHUNK_MAX_BYTES = 1048576
"""The largest chunk that is chosen inside of shards."""


class ChunkLayout(NamedTuple):
    """A grid, and the grid inside of each of its chunks if they are shards."""

    outer_chunks: ChunkGrid
    inner: ChunkLayout | None = None


def is_auto(value: Any) -> bool:
    """Whether an argument asks to choose a value. NumPy arrays compare element by element."""
    return isinstance(value, str) and value == "auto"


def is_keep(value: Any) -> bool:
    """Whether an argument asks to keep the value of the source."""
    return isinstance(value, str) and value == "keep"


def _integer(value: Any) -> int | None:
    if getattr(value, "dtype", None) == np.bool_:
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _items(chunks: Any) -> list[Any]:
    try:
        return list(chunks)
    except TypeError:
        raise TypeError(
            "Chunk specification must be an integer or an iterable of integers; got "
            f"{chunks!r} of type {type(chunks).__name__}."
        ) from None


def full_span_chunk_size(span: int, unit: int = 1) -> int:
    """The length of one chunk over a whole dimension: a positive multiple of `unit`."""
    return unit * max(1, -(-span // unit))


def is_regular_1d(dim_chunks: Any) -> bool:
    """Whether all chunks but the last have one length, and the last is not longer."""
    lengths = list(dim_chunks)
    return not lengths or (len(set(lengths[:-1])) <= 1 and lengths[-1] <= lengths[0])


def is_regular_nd(chunks: Any) -> bool:
    """Whether this holds for each dimension."""
    return all(map(is_regular_1d, chunks))


def normalize_chunks_1d(chunks: Any, span: int, unit: int = 1) -> DimensionGrid:
    """The chunks of one dimension: an integer, -1 for one chunk, or the length of each chunk."""
    size = _integer(chunks)
    if size is not None:
        if size < -1 or size == 0:
            raise ValueError(f"Chunk size must be positive or -1, got {size}")
        return FixedDimension(size=full_span_chunk_size(span, unit) if size == -1 else size, extent=span)
    items = _items(chunks)
    if not items:
        raise ValueError("Chunk specification must not be empty")
    wrong = [(index, item) for index, item in enumerate(items) if _integer(item) is None]
    if wrong:
        places, values = zip(*wrong, strict=True)
        raise TypeError(
            f"Each chunk size must be an integer; got non-integer element(s) {values!r} at indices {places!r}. "
            "Chunk sizes must be declared as a flat sequence of positive integers (e.g. [3, 3, 1])."
        )
    lengths = [operator.index(item) for item in items]
    if min(lengths) <= 0:
        raise ValueError(f"All chunk sizes must be positive, got {lengths}")
    if span > 0 and sum(lengths) != span:
        raise ValueError(f"Chunk sizes {lengths} do not sum to span {span}")
    return VaryingDimension(lengths, extent=span)


def normalize_chunks_nd(chunks: Any, shape: tuple[int, ...], unit: tuple[int, ...] | None = None) -> ChunkGrid:
    """The grid of explicit chunk lengths. `unit` are the lengths of which -1 and False choose a multiple."""
    stored = getattr(chunks, "chunk_shapes", None) or getattr(chunks, "chunk_shape", None)
    if stored is not None:  # the metadata of a grid
        return ChunkGrid.from_sizes(shape, tuple(stored))
    if chunks is None or chunks is True:
        raise ValueError(
            f'{chunks!r} is not a valid chunk input. Use chunks=None or chunks="auto" from the top-level API for '
            "auto-chunking, or pass an int / tuple of ints."
        )
    size = -1 if chunks is False else _integer(chunks)
    items = [size] * len(shape) if size is not None else _items(chunks)
    if len(items) != len(shape):
        raise ValueError(f"chunks has {len(items)} dimensions but shape has {len(shape)} dimensions")
    units = (1,) * len(shape) if unit is None else unit
    return ChunkGrid(
        dimensions=tuple(
            normalize_chunks_1d(item, span=span, unit=one) for item, span, one in zip(items, shape, units, strict=True)
        )
    )


def guess_chunks(shape: tuple[int, ...], typesize: int, *, max_bytes: int | None = None) -> ChunkGrid:
    """The grid that omnizarr chooses. `max_bytes` limits its chunks."""
    lengths = list(auto_chunks(shape, max(typesize, 1)))
    while max_bytes is not None and prod(lengths) * typesize > max_bytes and max(lengths) > 1:
        longest = lengths.index(max(lengths))
        lengths[longest] = -(-lengths[longest] // 2)
    return normalize_chunks_nd([max(length, 1) for length in lengths], shape)


def _chunks_per_shard(chunk_shape: tuple[int, ...], item_size: int, max_bytes: int, shape: tuple[int, ...]) -> int:
    """The number of chunks along each dimension of a shard of at most `max_bytes`."""
    size = prod(chunk_shape) * item_size
    count = 1
    if not chunk_shape or not size:
        return count
    while size * (count + 1) ** len(chunk_shape) <= max_bytes and all(
        length * (count + 1) <= whole for length, whole in zip(chunk_shape, shape, strict=True)
    ):
        count += 1
    return count


def _auto_shards(shape: tuple[int, ...], chunk_shape: tuple[int, ...], item_size: int) -> tuple[int, ...]:
    warnings.warn(
        "Automatic shard shape inference is experimental and may change without notice.",
        ZarrUserWarning,
        stacklevel=4,
    )
    limit = config.get("array.target_shard_size_bytes", None)
    if limit is not None:
        count = _chunks_per_shard(chunk_shape, item_size, limit, shape)
        return tuple(length * count for length in chunk_shape)
    return tuple(
        2 * length if whole // length > 8 else length for whole, length in zip(shape, chunk_shape, strict=True)
    )


def resolve_outer_and_inner_chunks(
    *, array_shape: tuple[int, ...], chunks: ChunkGrid, shard_shape: Any, item_size: int
) -> ChunkLayout:
    """The grid of the shards with that of the chunks inside; without `shard_shape`, the grid of the chunks."""
    if shard_shape is None:
        return ChunkLayout(outer_chunks=chunks)
    if is_auto(shard_shape):
        shard_shape = _auto_shards(array_shape, chunks.chunk_shape, item_size)
    elif isinstance(shard_shape, dict):
        shard_shape = shard_shape["shape"]
    outer = normalize_chunks_nd(shard_shape, array_shape, unit=chunks.chunk_shape)
    return ChunkLayout(outer_chunks=outer, inner=ChunkLayout(outer_chunks=chunks))

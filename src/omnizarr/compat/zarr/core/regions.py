"""Chunks and shards of an array, one after the other: coordinates, keys and regions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

from omnizarr.compat.zarr.core.common import ceildiv

__all__ = ["iter_grid", "iter_regions"]


def iter_grid(
    grid_shape: Sequence[int],
    *,
    origin: Sequence[int] | None = None,
    selection_shape: Sequence[int] | None = None,
    order: str = "lexicographic",
) -> Iterator[tuple[int, ...]]:
    """The coordinates of a grid, or of a part of it."""
    start = tuple(origin) if origin is not None else (0,) * len(grid_shape)
    if selection_shape is not None and len(selection_shape) != len(grid_shape):
        raise ValueError(
            "Shape and origin of the selection must have the same length as the array dimensions. Got "
            f"{len(selection_shape)} and {len(grid_shape)} elements, respectively."
        )
    counts = selection_shape
    if counts is None:
        counts = tuple(length - first for length, first in zip(grid_shape, start, strict=True))
    if order != "lexicographic":
        raise NotImplementedError(f"Indexing order {order} is not supported at this time.")
    ranges = []
    for axis, (length, first, count) in enumerate(zip(grid_shape, start, counts, strict=True)):
        if first + count > length:
            raise IndexError(
                f"Invalid selection shape ({selection_shape}) for origin ({origin}) and grid shape ({grid_shape}) "
                f"at axis {axis}."
            )
        ranges.append(range(first, first + count))
    return product(*ranges)


def iter_regions(
    domain_shape: Sequence[int],
    region_shape: Sequence[int],
    *,
    origin: Sequence[int] | None = None,
    selection_shape: Sequence[int] | None = None,
    order: str = "lexicographic",
    trim_excess: bool = True,
) -> Iterator[tuple[slice, ...]]:
    """The regions of a grid, or of a part of it; `trim_excess` cuts those at the end."""
    grid = tuple(ceildiv(length, size) for length, size in zip(domain_shape, region_shape, strict=True))
    for place in iter_grid(grid, origin=origin, selection_shape=selection_shape, order=order):
        yield tuple(
            slice(index * size, min((index + 1) * size, length) if trim_excess else (index + 1) * size, 1)
            for index, size, length in zip(place, region_shape, domain_shape, strict=True)
        )


def chunk_grid_shape(array: Any) -> tuple[int, ...]:
    """The number of chunks along each dimension."""
    return tuple(ceildiv(length, size) for length, size in zip(array.shape, array.chunks, strict=True))


def shard_shape(array: Any) -> tuple[int, ...]:
    """The shape of the shards, or of the chunks."""
    return array.shards or array.chunks  # type: ignore[no-any-return]


def shard_grid_shape(array: Any) -> tuple[int, ...]:
    """The number of shards along each dimension."""
    return tuple(ceildiv(length, size) for length, size in zip(array.shape, shard_shape(array), strict=True))


def iter_chunk_coords(array: Any, *, origin: Any = None, selection_shape: Any = None) -> Iterator[tuple[int, ...]]:
    """The coordinates of the chunks."""
    return iter_grid(chunk_grid_shape(array), origin=origin, selection_shape=selection_shape)


def iter_shard_coords(array: Any, *, origin: Any = None, selection_shape: Any = None) -> Iterator[tuple[int, ...]]:
    """The coordinates of the shards."""
    return iter_grid(shard_grid_shape(array), origin=origin, selection_shape=selection_shape)


def iter_shard_keys(array: Any, *, origin: Any = None, selection_shape: Any = None) -> Iterator[str]:
    """The keys of the shards, relative to the array."""
    for coords in iter_shard_coords(array, origin=origin, selection_shape=selection_shape):
        yield array.metadata.encode_chunk_key(coords)


def iter_chunk_regions(array: Any, *, origin: Any = None, selection_shape: Any = None) -> Iterator[tuple[slice, ...]]:
    """The regions of the chunks."""
    return iter_regions(array.shape, array.chunks, origin=origin, selection_shape=selection_shape, trim_excess=True)


def iter_shard_regions(array: Any, *, origin: Any = None, selection_shape: Any = None) -> Iterator[tuple[slice, ...]]:
    """The regions of the shards."""
    return iter_regions(
        array.shape, shard_shape(array), origin=origin, selection_shape=selection_shape, trim_excess=True
    )


async def shards_initialized(array: Any) -> tuple[str, ...]:
    """The keys of the stored shards, relative to the array."""
    store, path = array.store_path.store, array.store_path.path
    prefix = f"{path}/" if path else ""
    stored = {key.removeprefix(prefix) async for key in store.list_prefix(prefix)}
    return tuple(key for key in iter_shard_keys(array) if key in stored)


def iter_chunk_coords_to_delete(
    old_grid_shape: tuple[int, ...], new_grid_shape: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """The coordinates of a grid that are outside of another one, one after the other without a list of them."""
    lengths = list(old_grid_shape)
    for axis, (old, new) in enumerate(zip(old_grid_shape, new_grid_shape, strict=True)):
        if new < old:  # what is outside along this axis, and inside along the axes before it
            slab = [*lengths[:axis], old - new, *lengths[axis + 1 :]]
            for index in range(prod(slab)):
                coords = []
                for length in reversed(slab):
                    index, rest = divmod(index, length)
                    coords.append(rest)
                coords.reverse()
                coords[axis] += new
                yield tuple(coords)
            lengths[axis] = new

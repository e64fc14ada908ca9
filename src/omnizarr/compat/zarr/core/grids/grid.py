"""`ChunkGrid`: the chunks of an array of a certain shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from omnizarr.compat.zarr.core.common import parse_shapelike
from omnizarr.compat.zarr.core.grids.dimensions import ChunkSpec, DimensionGrid, FixedDimension, VaryingDimension

__all__ = ["ChunkGrid"]


@dataclass(frozen=True)
class ChunkGrid:
    """The chunks of an array: one entry per dimension."""

    _dimensions: tuple[DimensionGrid, ...]
    _is_regular: bool

    def __init__(self, *, dimensions: tuple[DimensionGrid, ...]) -> None:
        object.__setattr__(self, "_dimensions", dimensions)
        object.__setattr__(self, "_is_regular", all(isinstance(one, FixedDimension) for one in dimensions))

    def __repr__(self) -> str:
        sizes = ", ".join(one._size_repr for one in self._dimensions)
        return f"ChunkGrid(chunk_sizes=({sizes}), array_shape={tuple(one.extent for one in self._dimensions)})"

    @classmethod
    def from_metadata(cls, metadata: Any) -> ChunkGrid:
        """The grid of the metadata of an array."""
        if metadata.zarr_format == 2:
            return cls.from_sizes(metadata.shape, tuple(metadata.chunks))
        grid = metadata.chunk_grid
        sizes = getattr(grid, "chunk_shapes", None) or getattr(grid, "chunk_shape", None)
        if sizes is None:
            raise TypeError(f"Unknown chunk grid metadata type: {type(grid)}")
        return cls.from_sizes(metadata.shape, tuple(sizes))

    @classmethod
    def from_sizes(cls, array_shape: Any, chunk_sizes: Sequence[int | Sequence[int]]) -> ChunkGrid:
        """The grid of these lengths: an integer, or one for each chunk of a dimension."""
        extents = parse_shapelike(array_shape)
        if len(extents) != len(chunk_sizes):
            raise ValueError(
                f"array_shape has {len(extents)} dimensions but chunk_sizes has {len(chunk_sizes)} dimensions"
            )
        return cls(
            dimensions=tuple(
                FixedDimension(size=size, extent=extent)
                if isinstance(size, int)
                else VaryingDimension(size, extent=extent)
                for size, extent in zip(chunk_sizes, extents, strict=True)
            )
        )

    @property
    def dimensions(self) -> tuple[DimensionGrid, ...]:
        """The chunks along each dimension."""
        return self._dimensions

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._dimensions)

    @property
    def is_regular(self) -> bool:
        """Whether all chunks have one shape."""
        return self._is_regular

    @property
    def grid_shape(self) -> tuple[int, ...]:
        """The number of chunks along each dimension."""
        return tuple(one.nchunks for one in self._dimensions)

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """The shape of all chunks; ValueError if they differ."""
        if not self._is_regular:
            raise ValueError(
                "chunk_shape is only available for regular chunk grids. Use grid[coords] for per-chunk sizes."
            )
        return tuple(one.size for one in self._dimensions if isinstance(one, FixedDimension))

    @property
    def chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """The lengths of all chunks inside of the array, for each dimension."""
        return tuple(tuple(one.data_size(index) for index in range(one.nchunks)) for one in self._dimensions)

    def __getitem__(self, coords: int | tuple[int, ...]) -> ChunkSpec | None:
        place = (coords,) if isinstance(coords, int) else coords
        if len(place) != self.ndim:
            raise ValueError(f"Expected {self.ndim} coordinate(s) for a {self.ndim}-d chunk grid, got {len(place)}.")
        pairs = list(zip(self._dimensions, place, strict=True))
        if not all(0 <= index < one.nchunks for one, index in pairs):
            return None
        starts = [one.chunk_offset(index) for one, index in pairs]
        slices = tuple(
            slice(start, start + one.data_size(index), 1) for start, (one, index) in zip(starts, pairs, strict=True)
        )
        return ChunkSpec(slices, tuple(one.chunk_size(index) for one, index in pairs))

    def __iter__(self) -> Iterator[ChunkSpec]:
        for coords in product(*map(range, self.grid_shape)):
            spec = self[coords]
            if spec is not None:
                yield spec

    def all_chunk_coords(
        self, *, origin: Sequence[int] | None = None, selection_shape: Sequence[int] | None = None
    ) -> Iterator[tuple[int, ...]]:
        """The coordinates of all chunks, or of those of a part of the grid."""
        counts = self.grid_shape
        starts = (0,) * self.ndim if origin is None else tuple(origin)
        rest = tuple(count - start for start, count in zip(starts, counts, strict=True))
        lengths = rest if selection_shape is None else tuple(selection_shape)
        for axis, (start, length, count) in enumerate(zip(starts, lengths, counts, strict=True)):
            if start + length > count:
                raise IndexError(
                    f"Invalid selection shape ({length}) for origin ({start}) and grid shape ({count}) at axis {axis}."
                )
        return product(*(range(start, start + length) for start, length in zip(starts, lengths, strict=True)))

    def iter_chunk_regions(
        self, *, origin: Sequence[int] | None = None, selection_shape: Sequence[int] | None = None
    ) -> Iterator[tuple[slice, ...]]:
        """The slices of all chunks, or of those of a part of the grid."""
        for coords in self.all_chunk_coords(origin=origin, selection_shape=selection_shape):
            spec = self[coords]
            if spec is not None:
                yield spec.slices

    def get_nchunks(self) -> int:
        """The number of chunks."""
        return prod(self.grid_shape)

    def update_shape(self, new_shape: tuple[int, ...]) -> ChunkGrid:
        """The grid of a resized array."""
        if len(new_shape) != self.ndim:
            raise ValueError(f"new_shape has {len(new_shape)} dimensions but chunk grid has {self.ndim} dimensions")
        return ChunkGrid(
            dimensions=tuple(one.resize(length) for one, length in zip(self._dimensions, new_shape, strict=True))
        )

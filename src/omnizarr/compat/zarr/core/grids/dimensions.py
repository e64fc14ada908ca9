"""The chunks along one dimension: of one length, or of different lengths."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Protocol, runtime_checkable

import numpy as np

__all__ = ["ChunkSpec", "DimensionGrid", "FixedDimension", "VaryingDimension"]


@runtime_checkable
class DimensionGrid(Protocol):
    """What both kinds of dimensions have."""

    @property
    def nchunks(self) -> int: ...
    @property
    def ngridcells(self) -> int: ...
    @property
    def extent(self) -> int: ...
    def index_to_chunk(self, idx: int) -> int: ...
    def chunk_offset(self, chunk_ix: int) -> int: ...
    def chunk_size(self, chunk_ix: int) -> int: ...
    def data_size(self, chunk_ix: int) -> int: ...
    def indices_to_chunks(self, indices: Any) -> Any: ...
    @property
    def _unique_edge_lengths(self) -> Iterable[int]: ...
    def with_extent(self, new_extent: int) -> DimensionGrid: ...
    def resize(self, new_extent: int) -> DimensionGrid: ...
    @property
    def _size_repr(self) -> str: ...


@dataclass(frozen=True)
class FixedDimension:
    """Chunks of one length; the last one may end after the array."""

    size: int
    extent: int
    nchunks: int = field(init=False, repr=False)
    ngridcells: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"FixedDimension size must be >= 1, got {self.size}")
        if self.extent < 0:
            raise ValueError(f"FixedDimension extent must be >= 0, got {self.extent}")
        count = -(-self.extent // self.size)
        object.__setattr__(self, "nchunks", count)
        object.__setattr__(self, "ngridcells", count)

    def index_to_chunk(self, idx: int) -> int:
        """The chunk that holds an index."""
        if idx < 0:
            raise IndexError(f"Negative index {idx} is not allowed")
        if idx >= self.extent:
            raise IndexError(f"Index {idx} is out of bounds for extent {self.extent}")
        return idx // self.size

    def chunk_offset(self, chunk_ix: int) -> int:
        """The first index of a chunk."""
        return chunk_ix * self.size

    def chunk_size(self, chunk_ix: int) -> int:
        """The length of a stored chunk."""
        return self.size

    def data_size(self, chunk_ix: int) -> int:
        """The length of the part of a chunk that is inside of the array."""
        return max(0, min(self.size, self.extent - self.chunk_offset(chunk_ix)))

    def indices_to_chunks(self, indices: Any) -> Any:
        """The chunks that hold some indices."""
        return indices // self.size

    @property
    def _unique_edge_lengths(self) -> Iterable[int]:
        return (self.size,)

    def with_extent(self, new_extent: int) -> FixedDimension:
        """The same chunks in an array of another length."""
        return FixedDimension(size=self.size, extent=new_extent)

    resize = with_extent

    @property
    def _size_repr(self) -> str:
        return str(self.size)


@dataclass(frozen=True)
class VaryingDimension:
    """Chunks of given lengths; together they may be longer than the array."""

    edges: tuple[int, ...]
    cumulative: tuple[int, ...]
    extent: int
    nchunks: int = field(init=False, repr=False)
    ngridcells: int = field(init=False, repr=False)

    def __init__(self, edges: Sequence[int], extent: int) -> None:
        lengths = tuple(edges)
        if not lengths:
            raise ValueError("VaryingDimension edges must not be empty")
        if min(lengths) <= 0:
            raise ValueError(f"All edge lengths must be > 0, got {lengths}")
        ends = tuple(accumulate(lengths))
        if extent < 0:
            raise ValueError(f"VaryingDimension extent must be >= 0, got {extent}")
        if extent > ends[-1]:
            raise ValueError(f"VaryingDimension extent {extent} exceeds sum of edges {ends[-1]}")
        values = {"edges": lengths, "cumulative": ends, "extent": extent, "ngridcells": len(lengths)}
        values["nchunks"] = bisect_left(ends, extent) + 1 if extent else 0
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def index_to_chunk(self, idx: int) -> int:
        """The chunk that holds an index."""
        if not 0 <= idx < self.extent:
            raise IndexError(f"Index {idx} out of bounds for dimension with extent {self.extent}")
        return bisect_right(self.cumulative, idx)

    def chunk_offset(self, chunk_ix: int) -> int:
        """The first index of a chunk."""
        return self.cumulative[chunk_ix] - self.edges[chunk_ix]

    def chunk_size(self, chunk_ix: int) -> int:
        """The length of a stored chunk."""
        return self.edges[chunk_ix]

    def data_size(self, chunk_ix: int) -> int:
        """The length of the part of a chunk that is inside of the array."""
        return max(0, min(self.edges[chunk_ix], self.extent - self.chunk_offset(chunk_ix)))

    def indices_to_chunks(self, indices: Any) -> Any:
        """The chunks that hold some indices."""
        return np.searchsorted(self.cumulative, indices, side="right")

    @property
    def _unique_edge_lengths(self) -> Iterable[int]:
        return iter(dict.fromkeys(self.edges))

    def with_extent(self, new_extent: int) -> VaryingDimension:
        """The same chunks in an array of another length, which they must cover."""
        if new_extent > self.cumulative[-1]:
            raise ValueError(f"VaryingDimension edge sum {self.cumulative[-1]} is less than new extent {new_extent}")
        return VaryingDimension(self.edges, extent=new_extent)

    def resize(self, new_extent: int) -> VaryingDimension:
        """The chunks of a resized array: one more chunk covers what the others do not."""
        if new_extent == self.extent:
            return self
        missing = new_extent - self.cumulative[-1]
        return VaryingDimension((*self.edges, missing) if missing > 0 else self.edges, extent=new_extent)

    @property
    def _size_repr(self) -> str:
        return repr(self.edges)


@dataclass(frozen=True)
class ChunkSpec:
    """Where a chunk is in the array, and the shape in which it is stored."""

    slices: tuple[slice, ...]
    codec_shape: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the part that is inside of the array."""
        return tuple(item.stop - item.start for item in self.slices)

    @property
    def is_boundary(self) -> bool:
        """Whether a part is outside of the array."""
        return self.shape != self.codec_shape

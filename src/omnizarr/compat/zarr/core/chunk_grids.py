"""Chunk grids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from omnizarr.compat.zarr.core.common import ceildiv, parse_named_configuration, parse_shapelike
from omnizarr.grids.auto import auto_chunks

__all__ = ["ChunkGrid", "RegularChunkGrid"]


@dataclass(frozen=True)
class ChunkGrid:
    """Where chunks begin."""

    @classmethod
    def from_dict(cls, data: Any) -> Any:
        """The grid of a JSON object."""
        if isinstance(data, ChunkGrid):
            return data
        name, configuration = parse_named_configuration(data)
        if name == "regular":
            return RegularChunkGrid(chunk_shape=configuration["chunk_shape"])
        return OtherChunkGrid(name, configuration)


@dataclass(frozen=True)
class OtherChunkGrid(ChunkGrid):
    """A grid of omnizarr that zarr-python has no class for."""

    name: str
    configuration: Any

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"name": self.name, "configuration": self.configuration}


@dataclass(frozen=True)
class RegularChunkGrid(ChunkGrid):
    """All chunks have the same shape."""

    chunk_shape: tuple[int, ...]

    def __init__(self, *, chunk_shape: Any) -> None:
        object.__setattr__(self, "chunk_shape", parse_shapelike(chunk_shape))

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"name": "regular", "configuration": {"chunk_shape": tuple(self.chunk_shape)}}

    def all_chunk_coords(self, array_shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """The coordinates of all chunks."""
        pairs = zip(array_shape, self.chunk_shape, strict=False)
        return product(*(range(ceildiv(length, size)) for length, size in pairs))

    def get_nchunks(self, array_shape: tuple[int, ...]) -> int:
        """The number of chunks."""
        return prod(ceildiv(length, size) for length, size in zip(array_shape, self.chunk_shape, strict=True))


def _guess_chunks(shape: Any, typesize: int, **_: Any) -> tuple[int, ...]:
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    return tuple(auto_chunks(lengths, typesize))


def normalize_chunks(chunks: Any, shape: tuple[int, ...], typesize: int) -> tuple[int, ...]:
    """A chunk shape: None and True choose one, False takes the whole array, -1 a whole dimension."""
    if chunks is None or chunks is True:
        return _guess_chunks(shape, typesize)
    if chunks is False:
        return shape
    lengths = (chunks,) * len(shape) if isinstance(chunks, int) else tuple(chunks)
    if any(isinstance(length, (list, tuple)) for length in lengths):
        lengths = tuple(length[0] if isinstance(length, (list, tuple)) else length for length in lengths)
    if len(lengths) > len(shape):
        raise ValueError("too many dimensions in chunks")
    lengths += shape[len(lengths) :]
    if not all(hasattr(length, "__index__") for length in lengths):
        raise TypeError("non integer value in chunks")
    return tuple(length if size == -1 else int(size) for length, size in zip(shape, lengths, strict=True))


def _auto_partition(*, array_shape: Any, chunk_shape: Any, shard_shape: Any, item_size: int, **_: Any) -> Any:
    """The shapes of shards (None without) and chunks."""
    chunks = _guess_chunks(array_shape, item_size) if isinstance(chunk_shape, str) else tuple(chunk_shape)
    if shard_shape is None:
        return None, chunks
    if isinstance(shard_shape, str):
        shards = tuple(
            2 * size if length // size > 8 else size for length, size in zip(array_shape, chunks, strict=True)
        )
        return shards, chunks
    return tuple(shard_shape["shape"] if isinstance(shard_shape, dict) else shard_shape), chunks

"""The chunk grid in the document of a v3 array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from omnizarr.compat.zarr.abc.metadata import Metadata
from omnizarr.compat.zarr.core.common import (
    compress_rle,
    expand_rle,
    parse_chunk_edge,
    parse_chunk_shape,
    parse_named_configuration,
    validate_rectilinear_kind,
)
from omnizarr.compat.zarr.core.config import config
from omnizarr.compat.zarr.core.grids.dimensions import FixedDimension, VaryingDimension
from omnizarr.compat.zarr.core.grids.grid import ChunkGrid

__all__ = ["RectilinearChunkGridMetadata", "RegularChunkGridMetadata", "create_chunk_grid_metadata", "parse_chunk_grid"]


@dataclass(frozen=True, kw_only=True)
class RegularChunkGridMetadata(Metadata):
    """All chunks have one shape."""

    chunk_shape: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "chunk_shape", parse_chunk_shape(self.chunk_shape))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.chunk_shape)

    def to_dict(self) -> dict[str, Any]:
        return {"name": "regular", "configuration": {"chunk_shape": self.chunk_shape}}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        _, configuration = parse_named_configuration(data, "regular")
        return cls(chunk_shape=configuration["chunk_shape"])


@dataclass(frozen=True, kw_only=True)
class RectilinearChunkGridMetadata(Metadata):
    """Chunks differ in length: an integer for all chunks of a dimension, or the length of each."""

    chunk_shapes: tuple[int | tuple[int, ...], ...]

    def __post_init__(self) -> None:
        shapes: list[int | tuple[int, ...]] = []
        for axis, sizes in enumerate(self.chunk_shapes):
            if isinstance(sizes, (list, tuple)):
                if not sizes:
                    raise ValueError(f"Dimension {axis} has no chunk edges.")
                shapes.append(tuple(parse_chunk_edge(size, axis) for size in sizes))
            else:
                shapes.append(parse_chunk_edge(sizes, axis))
        object.__setattr__(self, "chunk_shapes", tuple(shapes))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.chunk_shapes)

    def to_dict(self) -> dict[str, Any]:
        shapes: list[Any] = []
        for sizes in self.chunk_shapes:
            short: Any = sizes if isinstance(sizes, int) else compress_rle(sizes)
            shapes.append(short if isinstance(sizes, int) or len(short) < len(sizes) else list(sizes))
        return {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": tuple(shapes)}}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        _, configuration = parse_named_configuration(data, "rectilinear")
        validate_rectilinear_kind(configuration.get("kind"))
        shapes = enumerate(configuration["chunk_shapes"])
        return cls(chunk_shapes=tuple(tuple(expand_rle(s, axis)) if isinstance(s, list) else s for axis, s in shapes))

    def update_shape(self, old_shape: tuple[int, ...], new_shape: tuple[int, ...]) -> RectilinearChunkGridMetadata:
        """The grid of a resized array: one more chunk covers what the others do not."""
        shapes: list[int | tuple[int, ...]] = []
        for sizes, length in zip(self.chunk_shapes, new_shape, strict=True):
            missing = 0 if isinstance(sizes, int) else length - sum(sizes)
            shapes.append((*sizes, missing) if not isinstance(sizes, int) and missing > 0 else sizes)
        return RectilinearChunkGridMetadata(chunk_shapes=tuple(shapes))


@dataclass(frozen=True)
class OtherChunkGridMetadata(Metadata):
    """A grid of omnizarr that zarr-python has no class for."""

    name: str
    configuration: Any

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "configuration": self.configuration}


class RectilinearChunksDisabledError(ValueError):
    """A new array would have chunks of different length, and the setting `array.rectilinear_chunks` is off."""


def check_rectilinear_chunks_enabled() -> None:
    """Raises unless the setting is on."""
    if not config.get("array.rectilinear_chunks"):
        raise RectilinearChunksDisabledError(
            "Rectilinear chunk grids are experimental and disabled by default. "
            "Enable them with: zarr.config.set({'array.rectilinear_chunks': True}) "
            "or set the environment variable ZARR_ARRAY__RECTILINEAR_CHUNKS=True"
        )


def create_chunk_grid_metadata(chunks: ChunkGrid) -> Any:
    """The metadata of a grid."""
    if chunks.is_regular:
        return RegularChunkGridMetadata(chunk_shape=chunks.chunk_shape)
    shapes: list[int | tuple[int, ...]] = []
    for one in chunks.dimensions:
        if isinstance(one, FixedDimension):
            shapes.append(one.size)
        elif isinstance(one, VaryingDimension):
            shapes.append(one.edges)
        else:
            raise TypeError(f"Unknown dimension grid type: {type(one)}")
    return RectilinearChunkGridMetadata(chunk_shapes=tuple(shapes))


def parse_chunk_grid(data: Any, *, known_only: bool = True) -> Any:
    """The metadata of a grid out of JSON. `known_only=False` also allows grids that only omnizarr has."""
    if isinstance(data, (RegularChunkGridMetadata, RectilinearChunkGridMetadata, OtherChunkGridMetadata)):
        return data
    name, configuration = parse_named_configuration(data)
    if name == "regular":
        return RegularChunkGridMetadata.from_dict(data)
    if name == "rectilinear":
        return RectilinearChunkGridMetadata.from_dict(data)
    if known_only:
        raise ValueError(f"Unknown chunk grid name: {name!r}")
    return OtherChunkGridMetadata(name, configuration)

"""`ArrayV3Metadata`: the document of a v3 array."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from omnizarr.compat.zarr.abc.metadata import Metadata
from omnizarr.compat.zarr.codecs._classes import ShardingCodec, parse_codecs
from omnizarr.compat.zarr.core.array_spec import ArrayConfig, ArraySpec
from omnizarr.compat.zarr.core.buffer.core import default_buffer_prototype
from omnizarr.compat.zarr.core.chunk_key_encodings import ChunkKeyEncoding
from omnizarr.compat.zarr.core.common import ZARR_JSON, parse_shapelike
from omnizarr.compat.zarr.core.config import config
from omnizarr.compat.zarr.core.dtype import ZDType, of_json
from omnizarr.compat.zarr.core.grids.grid import ChunkGrid
from omnizarr.compat.zarr.core.metadata.chunk_grid import (
    RectilinearChunkGridMetadata,
    RectilinearChunksDisabledError,
    RegularChunkGridMetadata,
    create_chunk_grid_metadata,
    parse_chunk_grid,
)
from omnizarr.compat.zarr.errors import MetadataValidationError, NodeTypeValidationError

__all__ = [
    "ArrayV3Metadata",
    "RectilinearChunkGridMetadata",
    "RectilinearChunksDisabledError",
    "RegularChunkGridMetadata",
    "create_chunk_grid_metadata",
    "parse_chunk_grid",
    "parse_codecs",
    "parse_dimension_names",
    "parse_node_type_array",
    "parse_zarr_format",
]

RectilinearChunkGridMetadataJSON: TypeAlias = Mapping[str, Any]
RegularChunkGridMetadataJSON: TypeAlias = Mapping[str, Any]
ArrayMetadataJSON_V3: TypeAlias = Mapping[str, Any]


def parse_zarr_format(data: object) -> Literal[3]:
    """3, if `data` is 3."""
    if data == 3:
        return 3
    raise MetadataValidationError(f"Invalid value for 'zarr_format'. Expected '3'. Got '{data}'.")


def parse_node_type_array(data: object) -> Literal["array"]:
    """`array`, if `data` is that."""
    if data == "array":
        return "array"
    raise NodeTypeValidationError(f"Invalid value for 'node_type'. Expected 'array'. Got '{data}'.")


def parse_dimension_names(data: Any) -> tuple[str | None, ...] | None:
    """Names of dimensions, or None."""
    if data is None:
        return None
    names = tuple(data)
    if all(name is None or isinstance(name, str) for name in names):
        return names
    raise TypeError(f"Expected either None or an iterable of str or None, got {data!r}")


@dataclass(frozen=True, kw_only=True)
class ArrayV3Metadata(Metadata):
    """What the document of a v3 array says."""

    shape: tuple[int, ...]
    data_type: Any
    chunk_grid: Any
    chunk_key_encoding: Any
    fill_value: Any
    codecs: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    dimension_names: tuple[str | None, ...] | None = None
    zarr_format: Literal[3] = field(default=3, init=False)
    node_type: Literal["array"] = field(default="array", init=False)
    storage_transformers: tuple[dict[str, Any], ...] = ()
    extra_fields: dict[str, Any] = field(default_factory=dict)

    def __init__(
        self,
        *,
        shape: Any,
        data_type: Any,
        chunk_grid: Any,
        chunk_key_encoding: Any,
        fill_value: Any,
        codecs: Any,
        attributes: Any = None,
        dimension_names: Any = None,
        storage_transformers: Any = None,
        extra_fields: Any = None,
    ) -> None:
        kind = data_type if isinstance(data_type, ZDType) else of_json(data_type, 3)
        spec_shape = parse_shapelike(shape)
        names = parse_dimension_names(dimension_names)
        if names is not None and len(names) != len(spec_shape):
            raise ValueError(
                f"`dimension_names` and `shape` need to have the same number of dimensions. "
                f"Got {len(names)} names and {len(spec_shape)} dimensions."
            )
        try:
            fill = kind.cast_scalar(fill_value)
        except (TypeError, ValueError):
            fill = fill_value
        spec = ArraySpec(spec_shape, kind, fill, ArrayConfig(), default_buffer_prototype())
        values = {
            "shape": spec_shape,
            "data_type": kind,
            "chunk_grid": parse_chunk_grid(chunk_grid, known_only=False),
            "chunk_key_encoding": ChunkKeyEncoding.from_dict(chunk_key_encoding),
            "fill_value": fill,
            "codecs": tuple(codec.evolve_from_array_spec(spec) for codec in parse_codecs(codecs)),
            "attributes": {} if attributes is None else attributes,
            "dimension_names": names,
            "storage_transformers": tuple(storage_transformers or ()),
            "extra_fields": extra_fields or {},
            "zarr_format": 3,
            "node_type": "array",
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        """The data type."""
        return self.data_type

    @property
    def chunks(self) -> tuple[int, ...]:
        """The shape of the (inner) chunks."""
        if len(self.codecs) == 1 and isinstance(self.codecs[0], ShardingCodec):
            return self.codecs[0].chunk_shape
        return self._regular("chunks", "read_chunk_sizes")

    @property
    def shards(self) -> tuple[int, ...] | None:
        """The shape of the shards, or None."""
        if len(self.codecs) == 1 and isinstance(self.codecs[0], ShardingCodec):
            return self._regular("shards", "write_chunk_sizes")
        return None

    def _regular(self, name: str, instead: str) -> tuple[int, ...]:
        if isinstance(self.chunk_grid, RegularChunkGridMetadata):
            return self.chunk_grid.chunk_shape
        raise NotImplementedError(
            f"The `{name}` attribute is only defined for arrays using regular chunk grids. "
            f"This array has a rectilinear chunk grid. Use `{instead}` for general access."
        )

    @property
    def inner_codecs(self) -> tuple[Any, ...]:
        """The codecs of the (inner) chunks."""
        if len(self.codecs) == 1 and isinstance(self.codecs[0], ShardingCodec):
            return self.codecs[0].codecs
        return self.codecs

    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        """The key of a chunk."""
        return self.chunk_key_encoding.encode_chunk_key(chunk_coords)  # type: ignore[no-any-return]

    def get_chunk_spec(self, _chunk_coords: Any, array_config: Any, prototype: Any) -> ArraySpec:
        """What codecs know about a chunk."""
        shape = ChunkGrid.from_metadata(self)[_chunk_coords]
        return ArraySpec(shape.codec_shape if shape else (), self.dtype, self.fill_value, array_config, prototype)

    @classmethod
    def from_dict(cls, data: dict[str, Any], *, path: str | None = None) -> Self:
        document = dict(data)
        parse_zarr_format(document.pop("zarr_format"))
        parse_node_type_array(document.pop("node_type"))
        kind = document["data_type"]
        kind = kind if isinstance(kind, ZDType) else of_json(kind, 3)
        try:
            document["fill_value"] = kind.from_json_scalar(document["fill_value"], zarr_format=3)
        except (TypeError, ValueError):
            pass
        known: tuple[str, ...] = (
            "shape",
            "data_type",
            "chunk_grid",
            "chunk_key_encoding",
            "fill_value",
            "codecs",
            "attributes",
        )
        known += ("dimension_names", "storage_transformers")
        extra = {name: document.pop(name) for name in list(document) if name not in known}
        return cls(**{**document, "data_type": kind}, extra_fields=extra)

    def to_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "shape": self.shape,
            "data_type": self.data_type.to_json(3),
            "chunk_grid": self.chunk_grid.to_dict(),
            "chunk_key_encoding": self.chunk_key_encoding.to_dict(),
            "fill_value": self.data_type.to_json_scalar(self.fill_value, zarr_format=3),
            "codecs": tuple(codec.to_dict() for codec in self.codecs),
            "attributes": self.attributes,
            "zarr_format": 3,
            "node_type": "array",
            "storage_transformers": self.storage_transformers,
            **self.extra_fields,
        }
        if self.dimension_names is not None:
            document["dimension_names"] = self.dimension_names
        return document

    def to_buffer_dict(self, prototype: Any = None) -> dict[str, Any]:
        """The documents as buffers, by file name."""
        text = json.dumps(self.to_dict(), indent=config.get("json_indent"))
        return {ZARR_JSON: (prototype or default_buffer_prototype()).buffer.from_bytes(text.encode())}

    def update_shape(self, shape: tuple[int, ...]) -> Self:
        """The same with another shape."""
        return type(self).from_dict({**self.to_dict(), "shape": shape})

    def update_attributes(self, attributes: Mapping[str, Any]) -> Self:
        """The same with other attributes."""
        return type(self).from_dict({**self.to_dict(), "attributes": dict(attributes)})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArrayV3Metadata):
            return NotImplemented
        own, others = self.to_dict(), other.to_dict()
        return bool(_plain(own) == _plain(others))

    __hash__ = None  # type: ignore[assignment]


def _plain(document: Any) -> Any:
    return json.dumps(document, sort_keys=True, default=lambda value: np.asarray(value).tolist())

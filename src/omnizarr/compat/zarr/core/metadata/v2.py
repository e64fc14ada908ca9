"""`ArrayV2Metadata`: the documents of a v2 array."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from omnizarr._cached_property import cached_property
from omnizarr.compat.zarr.abc.metadata import Metadata
from omnizarr.compat.zarr.core.array_spec import ArraySpec
from omnizarr.compat.zarr.core.buffer.core import default_buffer_prototype
from omnizarr.compat.zarr.core.common import ZARRAY_JSON, ZATTRS_JSON, parse_order, parse_shapelike
from omnizarr.compat.zarr.core.config import config
from omnizarr.compat.zarr.core.dtype import ZDType, of_json
from omnizarr.compat.zarr.core.metadata.chunk_grid import RegularChunkGridMetadata

__all__ = ["ArrayV2Metadata", "parse_zarr_format"]


def parse_zarr_format(data: object) -> Literal[2]:
    """2, if `data` is 2."""
    if data == 2:
        return 2
    raise ValueError(f"Invalid value. Expected 2. Got {data}.")


def parse_compressor(data: Any) -> Any:
    """The codec of numcodecs for a configuration, or None."""
    if data is None or hasattr(data, "get_config"):
        return data
    if isinstance(data, dict):
        import numcodecs

        return numcodecs.get_codec(data)
    raise ValueError(f"Invalid compressor. Expected None, a numcodecs.abc.Codec, or a dict. Got {type(data)} instead.")


def parse_filters(data: Any) -> tuple[Any, ...] | None:
    """The codecs of numcodecs for a list of configurations; None if there are none."""
    if data is None:
        return None
    if isinstance(data, dict) or hasattr(data, "get_config"):
        data = [data]
    if not hasattr(data, "__iter__"):
        raise TypeError(
            f"Invalid filters. Expected None, an iterable of numcodecs.abc.Codec or dict representations. "
            f"Got {type(data)}"
        )
    return tuple(parse_compressor(item) for item in data) or None


@dataclass(frozen=True, kw_only=True)
class ArrayV2Metadata(Metadata):
    """What the documents of a v2 array say."""

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: Any
    fill_value: Any = 0
    order: Literal["C", "F"] = "C"
    filters: tuple[Any, ...] | None = None
    dimension_separator: Literal[".", "/"] = "."
    compressor: Any
    attributes: dict[str, Any] = field(default_factory=dict)
    zarr_format: Literal[2] = field(init=False, default=2)

    def __init__(
        self,
        *,
        shape: Any,
        dtype: Any,
        chunks: Any,
        fill_value: Any,
        order: Any,
        dimension_separator: Any = ".",
        compressor: Any = None,
        filters: Any = None,
        attributes: Any = None,
    ) -> None:
        if dimension_separator not in (".", "/"):
            raise ValueError(f"Expected one of '.' and '/', got {dimension_separator!r}")
        kind = dtype if isinstance(dtype, ZDType) else of_json(dtype, 2)
        try:
            fill = None if fill_value is None else kind.cast_scalar(fill_value)
        except (TypeError, ValueError):
            fill = fill_value
        values = {
            "shape": parse_shapelike(shape),
            "dtype": kind,
            "chunks": parse_shapelike(chunks),
            "compressor": parse_compressor(compressor),
            "order": parse_order(order),
            "dimension_separator": dimension_separator,
            "filters": parse_filters(filters),
            "fill_value": fill,
            "attributes": {} if attributes is None else attributes,
            "zarr_format": 2,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @cached_property
    def chunk_grid(self) -> RegularChunkGridMetadata:
        """The grid."""
        return RegularChunkGridMetadata(chunk_shape=self.chunks)

    @property
    def shards(self) -> None:
        """None: v2 has no shards."""
        return None

    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        """The key of a chunk."""
        return self.dimension_separator.join(map(str, chunk_coords)) or "0"

    def get_chunk_spec(self, _chunk_coords: Any, array_config: Any, prototype: Any) -> ArraySpec:
        """What codecs know about a chunk."""
        return ArraySpec(self.chunks, self.dtype, self.fill_value, array_config, prototype)

    @classmethod
    def from_dict(cls, data: dict[str, Any], *, path: str | None = None) -> Self:
        document = dict(data)
        parse_zarr_format(document.pop("zarr_format"))
        filters = document.get("filters")
        kind = document["dtype"]
        if not isinstance(kind, ZDType):
            ids = [item.get("id") if isinstance(item, dict) else item.codec_id for item in filters or ()]
            named = {"name": kind, "object_codec_id": next((name for name in ids if "vlen" in str(name)), None)}
            kind = of_json(named, 2)
        if document.get("fill_value") is not None:
            try:
                document["fill_value"] = kind.from_json_scalar(document["fill_value"], zarr_format=2)
            except (TypeError, ValueError):
                pass
        known = ("shape", "chunks", "fill_value", "order", "dimension_separator", "compressor", "filters", "attributes")
        return cls(dtype=kind, **{name: document[name] for name in known if name in document})

    def to_dict(self) -> dict[str, Any]:
        fill = self.fill_value
        return {
            "shape": self.shape,
            "chunks": self.chunks,
            "dtype": self.dtype.to_json(2)["name"],
            "fill_value": None if fill is None else self.dtype.to_json_scalar(fill, zarr_format=2),
            "order": self.order,
            "filters": None if self.filters is None else [item.get_config() for item in self.filters],
            "dimension_separator": self.dimension_separator,
            "compressor": None if self.compressor is None else self.compressor.get_config(),
            "attributes": self.attributes,
            "zarr_format": 2,
        }

    def to_buffer_dict(self, prototype: Any = None) -> dict[str, Any]:
        """The documents as buffers, by file name."""
        document = self.to_dict()
        attributes = document.pop("attributes")
        make = (prototype or default_buffer_prototype()).buffer.from_bytes
        indent = config.get("json_indent")
        return {
            ZARRAY_JSON: make(json.dumps(document, indent=indent).encode()),
            ZATTRS_JSON: make(json.dumps(attributes, indent=indent).encode()),
        }

    def update_shape(self, shape: tuple[int, ...]) -> Self:
        """The same with another shape."""
        return type(self).from_dict({**self.to_dict(), "shape": shape})

    def update_attributes(self, attributes: Mapping[str, Any]) -> Self:
        """The same with other attributes."""
        return type(self).from_dict({**self.to_dict(), "attributes": dict(attributes)})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArrayV2Metadata):
            return NotImplemented
        return json.dumps(self.to_dict(), sort_keys=True) == json.dumps(other.to_dict(), sort_keys=True)

    __hash__ = None  # type: ignore[assignment]

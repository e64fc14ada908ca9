"""CastValue: stores elements in another data type."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from omnizarr.compat.zarr.abc.codec import ArrayArrayCodec
from omnizarr.compat.zarr.codecs._applied import AppliedArrayArray
from omnizarr.compat.zarr.codecs._classes import CODECS
from omnizarr.compat.zarr.core.common import parse_named_configuration
from omnizarr.compat.zarr.core.dtype import parse_dtype

__all__ = ["CastValue"]


@dataclass(frozen=True)
class CastValue(AppliedArrayArray, ArrayArrayCodec):
    """Casts elements to `data_type`."""

    codec_name: ClassVar[str] = "cast_value"
    is_fixed_size = True
    dtype: Any
    rounding: str
    out_of_range: str | None
    scalar_map: Any

    def __init__(
        self, *, data_type: Any, rounding: str = "nearest-even", out_of_range: Any = None, scalar_map: Any = None
    ) -> None:
        object.__setattr__(self, "dtype", parse_dtype(data_type, zarr_format=3))
        object.__setattr__(self, "rounding", rounding)
        object.__setattr__(self, "out_of_range", out_of_range)
        object.__setattr__(self, "scalar_map", scalar_map)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        _, configuration = parse_named_configuration(data, "cast_value")
        return cls(**configuration)

    def to_dict(self) -> dict[str, Any]:
        configuration: dict[str, Any] = {"data_type": self.dtype.to_json(3)}
        if self.rounding != "nearest-even":
            configuration["rounding"] = self.rounding
        if self.out_of_range is not None:
            configuration["out_of_range"] = self.out_of_range
        if self.scalar_map is not None:
            configuration["scalar_map"] = self.scalar_map
        return {"name": "cast_value", "configuration": configuration}

    def resolve_metadata(self, chunk_spec: Any) -> Any:
        return replace(chunk_spec, dtype=self.dtype, fill_value=self.dtype.cast_scalar(chunk_spec.fill_value))


CODECS["cast_value"] = CastValue

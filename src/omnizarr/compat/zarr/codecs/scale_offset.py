"""ScaleOffset: subtracts an offset and multiplies by a factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from omnizarr.compat.zarr.abc.codec import ArrayArrayCodec
from omnizarr.compat.zarr.codecs._applied import AppliedArrayArray
from omnizarr.compat.zarr.codecs._classes import CODECS
from omnizarr.compat.zarr.core.common import parse_named_configuration

__all__ = ["ScaleOffset"]


@dataclass(frozen=True)
class ScaleOffset(AppliedArrayArray, ArrayArrayCodec):
    """Stores `(element - offset) * scale`, in the type of the array."""

    codec_name: ClassVar[str] = "scale_offset"
    is_fixed_size = True
    offset: Any
    scale: Any

    def __init__(self, *, offset: Any = 0, scale: Any = 1) -> None:
        for name, value in (("offset", offset), ("scale", scale)):
            if not isinstance(value, (int, float, str)):
                raise TypeError(f"{name} must be a number or string, got {type(value).__name__}")
            object.__setattr__(self, name, value)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        _, configuration = parse_named_configuration(data, "scale_offset", require_configuration=False)
        return cls(**(configuration or {}))

    def to_dict(self) -> dict[str, Any]:
        configuration = {}
        if self.offset != 0:
            configuration["offset"] = self.offset
        if self.scale != 1:
            configuration["scale"] = self.scale
        return {"name": "scale_offset", "configuration": configuration} if configuration else {"name": "scale_offset"}

    def compute_encoded_size(self, input_byte_length: int, _chunk_spec: Any) -> int:
        return input_byte_length


CODECS["scale_offset"] = ScaleOffset

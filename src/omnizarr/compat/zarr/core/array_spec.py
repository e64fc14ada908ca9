"""`ArrayConfig`, the options of a handle, and `ArraySpec`, what a codec knows about a chunk."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, Self, TypeAlias

from omnizarr.compat.zarr.core.common import parse_bool, parse_order, parse_shapelike
from omnizarr.compat.zarr.core.config import config

__all__ = ["ArrayConfig", "ArrayConfigLike", "ArraySpec", "parse_array_config"]

_UNUSED = ("sharding_coalesce_max_gap_bytes", "sharding_coalesce_max_bytes")  # the engine decides which reads to join


@dataclass(frozen=True)
class ArrayConfig:
    """`order` is the memory order of results, `write_empty_chunks` whether to store chunks of the fill value."""

    order: Literal["C", "F"]
    write_empty_chunks: bool
    read_missing_chunks: bool = True

    def __init__(self, order: Any = None, write_empty_chunks: Any = None, read_missing_chunks: Any = None) -> None:
        for name, value, parse in (
            ("order", order, parse_order),
            ("write_empty_chunks", write_empty_chunks, parse_bool),
            ("read_missing_chunks", read_missing_chunks, parse_bool),
        ):
            object.__setattr__(self, name, parse(config.get(f"array.{name}") if value is None else value))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The options in a dict; the settings of `config` for the others."""
        valid = [*(field.name for field in fields(cls)), *_UNUSED]
        unknown = sorted(set(data) - set(valid))
        if unknown:
            raise TypeError(f"Unknown array config keys: {unknown}. Valid keys are {valid}.")
        return cls(**{name: value for name, value in data.items() if name not in _UNUSED})

    def to_dict(self) -> dict[str, Any]:
        """The options as a dict."""
        return {
            "order": self.order,
            "write_empty_chunks": self.write_empty_chunks,
            "read_missing_chunks": self.read_missing_chunks,
        }


ArrayConfigLike: TypeAlias = Any
ArrayConfigParams: TypeAlias = Any


def parse_array_config(data: Any) -> ArrayConfig:
    """The options in a dict or an `ArrayConfig`."""
    if isinstance(data, ArrayConfig):
        return data
    return ArrayConfig.from_dict(data or {})


@dataclass(frozen=True)
class ArraySpec:
    """The shape, type and fill value of a chunk."""

    shape: tuple[int, ...]
    dtype: Any
    fill_value: Any
    config: ArrayConfig
    prototype: Any

    def __init__(self, shape: Any, dtype: Any, fill_value: Any, config: ArrayConfig, prototype: Any) -> None:
        object.__setattr__(self, "shape", parse_shapelike(shape))
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "fill_value", fill_value)
        object.__setattr__(self, "config", config)
        object.__setattr__(self, "prototype", prototype)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def order(self) -> str:
        """The memory order."""
        return self.config.order

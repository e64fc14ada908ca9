"""Names, types and small parsers that other modules share."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from enum import Enum
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np

from omnizarr.compat.zarr.core.config import config
from omnizarr.compat.zarr.errors import ZarrRuntimeWarning

ZARR_JSON = "zarr.json"
ZARRAY_JSON = ".zarray"
ZGROUP_JSON = ".zgroup"
ZATTRS_JSON = ".zattrs"
ZMETADATA_V2_JSON = ".zmetadata"

BytesLike: TypeAlias = bytes | bytearray | memoryview
ShapeLike: TypeAlias = Any
ChunkCoords: TypeAlias = tuple[int, ...]
ZarrFormat: TypeAlias = Any
NodeType: TypeAlias = Literal["array", "group"]
JSON: TypeAlias = Any
MemoryOrder: TypeAlias = Literal["C", "F"]
AccessModeLiteral: TypeAlias = Literal["r", "r+", "a", "w", "w-"]
ANY_ACCESS_MODE = ("r", "r+", "a", "w", "w-")
DimensionNames: TypeAlias = Iterable[str | None] | None
NamedConfig: TypeAlias = Mapping[str, Any]
AnyArray: TypeAlias = Any

__all__ = [
    "ANY_ACCESS_MODE",
    "JSON",
    "ZARRAY_JSON",
    "ZARR_JSON",
    "ZATTRS_JSON",
    "ZGROUP_JSON",
    "ZMETADATA_V2_JSON",
    "AccessModeLiteral",
    "BytesLike",
    "DimensionNames",
    "MemoryOrder",
    "NodeType",
    "ShapeLike",
    "ZarrFormat",
    "ceildiv",
    "parse_enum",
    "parse_name",
    "parse_named_configuration",
    "parse_order",
    "parse_shapelike",
    "product",
]


def product(tup: tuple[int, ...]) -> int:
    """The product of numbers."""
    return prod(tup)


def ceildiv(a: float, b: float) -> int:
    """`a / b`, rounded up; 0 if `a` is 0."""
    return 0 if a == 0 else int(-(-a // b))


def default_format() -> Any:
    """The generation of new nodes."""
    return config.get("default_zarr_format", 3)


_default_zarr_format = default_format


def enum_names(enum: type[Enum]) -> Iterable[str]:
    """The values of an enumeration."""
    for item in enum:
        yield item.value


def parse_enum(data: object, cls: type[Enum]) -> Any:
    """The member of an enumeration with the value `data`."""
    if isinstance(data, cls):
        return data
    if not isinstance(data, str):
        raise TypeError(f"Expected str, got {type(data)}")
    if data in enum_names(cls):
        return cls(data)
    raise ValueError(f"Value must be one of {list(enum_names(cls))!r}. Got {data} instead.")


def parse_name(data: Any, expected: str | None = None) -> str:
    """`data`, if it is text and equals `expected`."""
    if isinstance(data, str):
        if expected is None or data == expected:
            return data
        raise ValueError(f"Expected '{expected}'. Got {data} instead.")
    raise TypeError(f"Expected a string, got an instance of {type(data)}.")


def parse_configuration(data: Any) -> Any:
    """`data`, if it is a dict."""
    if not isinstance(data, dict):
        raise TypeError(f"Expected dict, got {type(data)}")
    return data


def parse_named_configuration(
    data: Any, expected_name: str | None = None, *, require_configuration: bool = True
) -> tuple[str, Any]:
    """The name and the configuration of a JSON object such as `{"name": …, "configuration": …}`."""
    if not isinstance(data, dict):
        raise TypeError(f"Expected dict, got {type(data)}")
    if "name" not in data:
        raise ValueError(f"Named configuration does not have a 'name' key. Got {data}.")
    name = parse_name(data["name"], expected_name)
    if "configuration" in data:
        return name, parse_configuration(data["configuration"])
    if require_configuration:
        raise ValueError(f"Named configuration does not have a 'configuration' key. Got {data}.")
    return name, None


def parse_shapelike(data: Any) -> tuple[int, ...]:
    """A shape: an integer, or integers, none of them negative."""
    if isinstance(data, (int, np.integer)) and not isinstance(data, bool):
        if data < 0:
            raise ValueError(f"Expected a non-negative integer. Got {data} instead")
        return (int(data),)
    try:
        lengths = tuple(data)
    except TypeError as error:
        raise TypeError(f"Expected an integer or an iterable of integers. Got {data} instead.") from error
    if not all(isinstance(length, (int, np.integer)) for length in lengths):
        raise TypeError(f"Expected an iterable of integers. Got {data} instead.")
    if not all(length > -1 for length in lengths):
        raise ValueError(f"Expected all values to be non-negative. Got {data} instead.")
    return tuple(int(length) for length in lengths)


def parse_fill_value(data: Any) -> Any:
    """`data`."""
    return data


def parse_order(data: Any) -> Literal["C", "F"]:
    """`data`, if it is `C` or `F`."""
    if data in ("C", "F"):
        return data  # type: ignore[no-any-return]
    raise ValueError(f"Expected one of ('C', 'F'), got {data} instead.")


def parse_bool(data: Any) -> bool:
    """`data`, if it is a truth value."""
    if isinstance(data, bool):
        return data
    raise ValueError(f"Expected bool, got {data} instead.")


def _warn_write_empty_chunks_kwarg() -> None:
    warnings.warn(
        "The `write_empty_chunks` keyword argument is deprecated and will be removed in future versions. "
        "To control whether empty chunks are written to storage, either use the `config` keyword "
        "argument, as in `config={'write_empty_chunks': True}`,"
        "or change the global 'array.write_empty_chunks' configuration variable.",
        ZarrRuntimeWarning,
        stacklevel=3,
    )


def _warn_order_kwarg() -> None:
    warnings.warn(
        "The `order` keyword argument has no effect for Zarr format 3 arrays. "
        "To control the memory layout of the array, either use the `config` keyword "
        "argument, as in `config={'order': 'C'}`,"
        "or change the global 'array.order' configuration variable.",
        ZarrRuntimeWarning,
        stacklevel=3,
    )

"""Names, types and small parsers that other modules share."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import groupby
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
DimensionNamesLike: TypeAlias = DimensionNames
ChunksLike: TypeAlias = Any

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


def ceildiv_int(a: int, b: int) -> int:
    """The quotient of integers, rounded up."""
    return 0 if a == 0 else -(-a // b)


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
    raise ValueError(f"Expected instance of bool, got {data!r}.")


def _subject(name: str, axis: int | None) -> str:
    return name[0].upper() + name[1:] if axis is None else f"Dimension {axis}: {name}"


def _positive(value: Any, name: str, axis: int | None) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{_subject(name, axis)} must be an int, got {value!r}")
    if value < 1:
        raise ValueError(f"{_subject(name, axis)} must be >= 1, got {value!r}")
    return int(value)


def parse_chunk_edge(size: Any, axis: int | None = None) -> int:
    """The length of a chunk."""
    return _positive(size, "chunk edge length", axis)


def parse_chunk_shape(data: Any) -> tuple[int, ...]:
    """The shape of a chunk."""
    if isinstance(data, (str, Mapping)) or not isinstance(data, Iterable):
        raise TypeError(f"A chunk shape must be an iterable of chunk edge lengths, got {data!r}")
    return tuple(parse_chunk_edge(size, axis) for axis, size in enumerate(data))


def expand_rle(data: Sequence[Any], axis: int | None = None) -> list[int]:
    """The lengths of chunks out of lengths and pairs of a length and a number of chunks."""
    lengths: list[int] = []
    for item in data:
        if not isinstance(item, list):
            lengths.append(parse_chunk_edge(item, axis))
            continue
        if len(item) != 2:
            raise ValueError(f"{_subject('RLE entries', axis)} must be an integer or [size, count], got {item}")
        count = _positive(item[1], "RLE repeat count", axis)
        lengths += [parse_chunk_edge(item[0], axis)] * count
    return lengths


def compress_rle(sizes: Sequence[int]) -> list[int | list[int]]:
    """The reverse of `expand_rle`."""
    runs = [(size, len(list(run))) for size, run in groupby(sizes)]
    return [size if count == 1 else [size, count] for size, count in runs]


def validate_rectilinear_kind(kind: str | None) -> None:
    """Raises for another kind than `inline`."""
    if kind is None:
        raise ValueError(
            "Rectilinear chunk grid configuration requires a 'kind' field. Only 'inline' is currently supported."
        )
    if kind != "inline":
        raise ValueError(f"Unsupported rectilinear chunk grid kind: {kind!r}. Only 'inline' is currently supported.")


def validate_rectilinear_edges(chunk_shapes: Any, array_shape: Sequence[int]) -> None:
    """Raises if chunks do not cover an array."""
    for axis, (sizes, length) in enumerate(zip(chunk_shapes, array_shape, strict=True)):
        if not isinstance(sizes, int) and sum(sizes) < length:
            raise ValueError(
                f"Rectilinear chunk edges for dimension {axis} sum to {sum(sizes)} "
                f"but array shape extent is {length} (edge sum must be >= extent)"
            )


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

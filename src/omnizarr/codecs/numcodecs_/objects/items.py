"""Conversion between a chunk of objects and the list that `json2`, `msgpack2` and their predecessors store: the items
in nested lists, then their type, then the shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Problems, is_integer
from omnizarr.codecs.contract import ByteSpec, ChunkSpec
from omnizarr.config import config
from omnizarr.errors import CodecError

__all__ = ["build_array", "check_kind", "nested_items", "object_byte_spec", "plain_value", "type_name"]

_MAX_DIMENSIONS = 64  # NumPy's limit


def object_byte_spec() -> ByteSpec:
    """The output of a codec for objects. Their size is unknown, so only the general limit for chunks applies."""
    return ByteSpec(None, config.current.max_chunk_bytes)


def check_kind(name: str, spec: ChunkSpec, path: str, problems: Problems, kinds: str = "OT") -> bool:
    """Whether a codec supports the elements of `spec`; adds to `problems` if not."""
    if spec.dtype.kind in kinds and spec.dtype.names is None:
        return True
    problems.add(path, f"codec `{name}` cannot store elements of type {spec.dtype}")
    return False


def type_name(dtype: np.dtype[Any]) -> str:
    """The name of a chunk's type in numcodecs."""
    return "|O" if dtype.kind in "OT" else dtype.str


def nested_items(array: npt.NDArray[Any]) -> list[Any]:
    """The items in nested lists, one level for each dimension."""
    items: list[Any] = np.atleast_1d(array).tolist()
    return items


def plain_value(value: object) -> Any:
    """The Python object for a NumPy scalar; TypeError for other objects. The `default` of both encoders."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a value of type {type(value).__name__}")


def build_array(codec: str, items: Any, spec: ChunkSpec, *, shape_follows: bool) -> npt.NDArray[Any]:
    """The chunk for a list of items, a type and, if `shape_follows`, a shape. The type is ignored. The shape must have
    as many items as the chunk; it may be flat."""
    tail = 2 if shape_follows else 1
    if not isinstance(items, list) or len(items) < tail:
        raise CodecError(codec, "expected a list of items, their type and their shape")
    items, rest = items[:-tail], items[-tail:]
    if not isinstance(rest[0], (str, bytes)):
        raise CodecError(codec, "expected the name of a type after the items")
    count = math.prod(spec.shape)
    if shape_follows:
        flat = _flat(codec, items, _parse_shape(codec, rest[1], count))
    elif _has_shape(items, spec.shape):
        flat = _flat(codec, items, spec.shape)
    else:
        flat = _flat(codec, items, (count,))
    return _array(codec, flat, spec)


def _parse_shape(codec: str, shape: Any, count: int) -> tuple[int, ...]:
    if (
        not isinstance(shape, list)
        or len(shape) > _MAX_DIMENSIONS
        or not all(is_integer(length) and 0 <= length < 2**63 for length in shape)
    ):
        raise CodecError(codec, "expected a shape after the items and their type")
    size = math.prod(shape)
    if size != count:
        raise CodecError(codec, f"expected {count} items, found a shape with {size}", expected=count, found=size)
    return tuple(shape)


def _has_shape(items: list[Any], shape: tuple[int, ...]) -> bool:
    """Whether the nesting and the first list of each level fit a shape."""
    level: Any = items
    for length in shape or (1,):
        if not isinstance(level, list) or len(level) != length:
            return False
        if not length:
            return True
        level = level[0]
    return True


def _flat(codec: str, items: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """The items of nested lists, in C order."""
    level: list[Any] = [items]
    for length in shape or (1,):
        if not all(isinstance(part, list) and len(part) == length for part in level):
            raise CodecError(codec, f"expected nested lists of shape {shape}, found other lengths")
        level = [item for part in level for item in part]
    return level


def _array(codec: str, items: list[Any], spec: ChunkSpec) -> npt.NDArray[Any]:
    if spec.dtype.kind == "T":
        items = ["" if item is None else item for item in items]
        if not all(isinstance(item, str) for item in items):
            raise CodecError(codec, "expected strings, found other objects")
    try:
        # Pass an iterator, because NumPy would interpret lists in a list as further dimensions.
        array = (
            np.fromiter(iter(items), spec.dtype, len(items)) if spec.dtype.kind == "O" else np.array(items, spec.dtype)
        )
        return array.reshape(spec.shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise CodecError(codec, str(error)) from None

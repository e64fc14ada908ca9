"""What the codecs have in common that store any objects: the chunk as a nested list, with its type and shape behind the
items, and how such a list becomes a chunk again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Problems, is_integer
from omnizarr.codecs.contract import ByteSpec, ChunkSpec
from omnizarr.config import config
from omnizarr.errors import CodecError

__all__ = ["build_array", "check_kind", "nested_items", "object_byte_spec", "type_name"]

_MOST_DIMENSIONS = 64  # NumPy's own limit


def object_byte_spec() -> ByteSpec:
    """What objects are encoded as: nobody knows how long they are, so there is only the limit for any chunk."""
    return ByteSpec(None, config.current.max_chunk_bytes)


def check_kind(name: str, spec: ChunkSpec, path: str, problems: Problems, kinds: str = "OT") -> bool:
    """Whether a codec can store such elements; a problem if not."""
    if spec.dtype.kind in kinds and spec.dtype.names is None:
        return True
    problems.add(path, f"`{name}` cannot store elements of type {spec.dtype}")
    return False


def type_name(dtype: np.dtype[Any]) -> str:
    """How numcodecs names the type of a chunk."""
    return "|O" if dtype.kind in "OT" else dtype.str


def nested_items(array: npt.NDArray[Any]) -> list[Any]:
    """The items, in lists as deep as there are dimensions."""
    items: list[Any] = np.atleast_1d(array).tolist()
    return items


def build_array(codec: str, items: Any, spec: ChunkSpec, *, shape_follows: bool) -> npt.NDArray[Any]:
    """The chunk that a list of items, a type and, if `shape_follows`, a shape stands for. The type is not believed, and
    the shape only where it has as many items as the chunk: that of the chunk itself, or one flattened."""
    tail = 2 if shape_follows else 1
    if not isinstance(items, list) or len(items) < tail:
        raise CodecError(codec, "expected a list of items, their type and their shape")
    items, rest = items[:-tail], items[-tail:]
    if not isinstance(rest[0], (str, bytes)):
        raise CodecError(codec, "expected the name of a type behind the items")
    count = math.prod(spec.shape)
    if shape_follows:
        flat = _flat(codec, items, _checked(codec, rest[1], count))
    elif _has_shape(items, spec.shape):
        flat = _flat(codec, items, spec.shape)
    else:
        flat = _flat(codec, items, (count,))
    return _array(codec, flat, spec)


def _checked(codec: str, shape: Any, count: int) -> tuple[int, ...]:
    if (
        not isinstance(shape, list)
        or len(shape) > _MOST_DIMENSIONS
        or not all(is_integer(length) and 0 <= length < 2**63 for length in shape)
    ):
        raise CodecError(codec, "expected a shape behind the items and their type")
    found = math.prod(shape)
    if found != count:
        raise CodecError(codec, f"expected {count} items, found a shape with {found}", expected=count, found=found)
    return tuple(shape)


def _has_shape(items: list[Any], shape: tuple[int, ...]) -> bool:
    """Whether lists are nested as deep and, at their starts, as long as a shape asks for."""
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
            raise CodecError(codec, f"the lists of items do not have the shape {shape}")
        level = [item for part in level for item in part]
    return level


def _array(codec: str, items: list[Any], spec: ChunkSpec) -> npt.NDArray[Any]:
    if spec.dtype.kind == "T":
        items = ["" if item is None else item for item in items]
        if not all(isinstance(item, str) for item in items):
            raise CodecError(codec, "expected strings, found other objects")
    try:
        # an iterator, because NumPy would take lists within a list for further dimensions
        array = (
            np.fromiter(iter(items), spec.dtype, len(items)) if spec.dtype.kind == "O" else np.array(items, spec.dtype)
        )
        return array.reshape(spec.shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise CodecError(codec, str(error)) from None

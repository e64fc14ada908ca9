"""Bitwise comparison of elements: NaN equals itself, and 0.0 differs from -0.0. Objects are compared by type and value,
because Python has no bitwise comparison for them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.dtypes.contract import Scalar
from omnizarr.dtypes.record_padding import has_padding, without_padding

__all__ = ["is_fill", "same_bits"]

_SMALL = 2**16  # bytes; up to this size, comparing two copies is faster than the steps below
# Memory is compared in blocks. The first is short, so that a difference near the start is found quickly. None is so
# long that the result of the comparison would not fit in the processor's cache.
_FIRST_BLOCK = 2**9  # words of 8 bytes
_LONGEST_BLOCK = 2**17


def same_bits(a: Scalar, b: Scalar) -> bool:
    """Whether two scalars have the same dtype and the same bits. The padding of records is ignored."""
    if a.dtype != b.dtype:
        return False
    if a.dtype.hasobject:
        return _same_objects(a[()], b[()])
    if a.dtype.names is not None and has_padding(a.dtype):
        a, b = a.astype(without_padding(a.dtype)), b.astype(without_padding(b.dtype))
    return a.tobytes() == b.tobytes()


def is_fill(array: npt.NDArray[Any], fill: Scalar) -> bool:
    """Whether every element of `array` has the bits of `fill`. Both must have one dtype."""
    if array.size == 0:
        return True
    if array.dtype.hasobject:
        return _is_fill_of_objects(array, fill)
    if array.dtype.names is not None and has_padding(array.dtype):
        array, fill = array.astype(without_padding(array.dtype)), fill.astype(without_padding(fill.dtype))
    element = fill.tobytes()
    # Most chunks with data return here. `...` gives an array: as scalars, text and bytes lose trailing zeros.
    corner: tuple[Any, ...] = (*(0,) * array.ndim, ...)
    if array[corner].tobytes() != element:
        return False
    if array.nbytes <= _SMALL:
        return array.tobytes("A") == element * array.size
    if array.flags.c_contiguous:
        return _repeats(array.reshape(-1).view(np.uint8), element)
    # A dimension with stride 0 repeats one element. The others are compared in memory order.
    array = array[(*(0 if stride == 0 else slice(None) for stride in array.strides), ...)]
    array = array.transpose(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))
    if array.flags.c_contiguous:
        return _repeats(array.reshape(-1).view(np.uint8), element)
    rows = 8 * _LONGEST_BLOCK * len(array) // array.nbytes
    if rows == 0:
        return all(is_fill(row, fill) for row in array)
    blocks = (array[start : start + rows] for start in range(0, len(array), rows))
    return all(_repeats(np.ascontiguousarray(block).reshape(-1).view(np.uint8), element) for block in blocks)


def _repeats(memory: npt.NDArray[np.uint8], element: bytes) -> bool:
    """Whether `memory` consists of repetitions of `element`."""
    period = math.lcm(len(element), 8)  # bytes after which words of 8 bytes repeat
    start = memory[:period].tobytes()
    if start != element * (len(start) // len(element)):
        return False
    if memory.size <= period:
        return True
    whole = memory.size // 8 * 8
    words = memory[:whole].view(np.uint64)
    step = period // 8
    position, size = step, _FIRST_BLOCK
    while position < words.size:
        block = words[position : position + size]
        # Comparing with a constant is faster than comparing with a second array.
        before = words[0] if step == 1 else words[position - step : position - step + block.size]
        if not (block == before).all():
            return False
        position += size
        size = min(8 * size, _LONGEST_BLOCK)
    return memory[whole:].tobytes() == memory[whole - len(element) : memory.size - len(element)].tobytes()


def _is_fill_of_objects(array: npt.NDArray[Any], fill: Scalar) -> bool:
    """`is_fill` for text of variable length and for objects."""
    if array.dtype.kind == "T":
        return bool(array[(0,) * array.ndim] == fill[()]) and bool((array == fill).all())
    value = fill[()]
    if isinstance(value, (bytes, str)):  # exact, and several times faster
        return all(type(item) is type(value) and item == value for item in array.flat)
    return all(_same_objects(item, value) for item in array.flat)


def _same_objects(a: Any, b: Any) -> bool:
    """Whether two objects have one type and are equal, so that 1, 1.0 and True differ. False if they cannot be compared
    or are nested too deeply."""
    try:
        return _equal(a, b)
    except Exception:
        return False


def _equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (float, complex)):
        return np.asarray(a).tobytes() == np.asarray(b).tobytes()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(item, b[name]) for name, item in a.items())
    if isinstance(a, (np.ndarray, np.generic)):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if a.dtype.hasobject:
            return all(map(_equal, np.asarray(a).reshape(-1).tolist(), np.asarray(b).reshape(-1).tolist()))
        return bool(a.tobytes() == b.tobytes())
    return bool(a == b)

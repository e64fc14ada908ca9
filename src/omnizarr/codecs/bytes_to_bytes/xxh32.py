"""The hash function XXH32, which guards blocks of LZ4 in N5. The package `xxhash` computes it, if it is installed;
otherwise Python does, at about 20 MB/s."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from omnizarr._fork import import_library
from omnizarr.codecs.contract import Buffer

__all__ = ["xxh32", "xxh32_in_python"]

_P1, _P2, _P3, _P4, _P5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
_BITS = 0xFFFFFFFF


@cache
def _function() -> Callable[[Buffer, int], int]:
    try:
        library: Any = import_library("xxhash")
        function: Callable[[Buffer, int], int] = library.xxh32_intdigest
    except (ImportError, AttributeError):
        return xxh32_in_python
    return function


def xxh32(data: Buffer, seed: int) -> int:
    """The hash of `data`, an integer of 32 bits."""
    return _function()(data, seed)


def xxh32_in_python(data: Buffer, seed: int) -> int:
    """The same without a library."""
    view = memoryview(data)
    size, at = len(view), 0
    if size >= 16:
        a, b, c, d = (seed + _P1 + _P2) & _BITS, (seed + _P2) & _BITS, seed, (seed - _P1) & _BITS
        at = size & ~15
        for w, x, y, z in struct.iter_unpack("<4I", view[:at]):
            a = (a + w * _P2) & _BITS
            a = (a << 13 | a >> 19) * _P1 & _BITS
            b = (b + x * _P2) & _BITS
            b = (b << 13 | b >> 19) * _P1 & _BITS
            c = (c + y * _P2) & _BITS
            c = (c << 13 | c >> 19) * _P1 & _BITS
            d = (d + z * _P2) & _BITS
            d = (d << 13 | d >> 19) * _P1 & _BITS
        total = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
    else:
        total = seed + _P5
    total = (total + size) & _BITS
    for start in range(at, size - 3, 4):
        total = _rotate(total + int.from_bytes(view[start : start + 4], "little") * _P3 & _BITS, 17) * _P4 & _BITS
    for byte in view[size & ~3 :]:
        total = _rotate(total + byte * _P5 & _BITS, 11) * _P1 & _BITS
    total = (total ^ total >> 15) * _P2 & _BITS
    total = (total ^ total >> 13) * _P3 & _BITS
    return total ^ total >> 16


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _BITS

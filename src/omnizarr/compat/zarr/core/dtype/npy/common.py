"""Byte orders of NumPy."""

from __future__ import annotations

import sys

__all__ = ["NUMPY_ENDIANNESS_STR", "endianness_from_numpy_str"]

NUMPY_ENDIANNESS_STR = (">", "<", "=")


def endianness_from_numpy_str(endianness: str) -> str:
    """The byte order for a character of NumPy."""
    orders = {"=": sys.byteorder, "<": "little", ">": "big"}
    if endianness not in orders:
        raise ValueError(f"Invalid endianness: {endianness!r}. Expected one of {NUMPY_ENDIANNESS_STR}")
    return orders[endianness]

"""Data types that few implementations have: small numbers, and complex numbers of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

__all__ = ["BITS", "FILLS", "SMALL", "every_bit", "from_hex", "significant", "small_dtype"]

BITS: Mapping[str, int] = {
    "int2": 2,
    "uint2": 2,
    "int4": 4,
    "uint4": 4,
    "bfloat16": 16,
    "float4_e2m1fn": 4,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
    **{f"float8_{name}": 8 for name in ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")},
}
"""How many bits of each small number count."""

COMPLEX: Sequence[str] = ("complex_float16", *(f"complex_{name}" for name in BITS if "float" in name))
SMALL: Sequence[str] = (*BITS, *COMPLEX)


def small_dtype(name: str) -> np.dtype[Any]:
    """The NumPy type of a small number; for a complex number, a record of its parts."""
    part = name.removeprefix("complex_")
    dtype: np.dtype[Any] = np.dtype(part if part == "float16" else getattr(ml_dtypes, part))
    return dtype if part == name else np.dtype([("real", dtype), ("imag", dtype)])


def every_bit(name: str) -> npt.NDArray[Any]:
    """All values of a small number, or many of a complex number, in an order that differs from that of their bits."""
    part = name.removeprefix("complex_")
    bits = BITS.get(part, 16)
    numbers = (np.arange(2**bits) * 37 % 2**bits).astype("u2" if bits > 8 else "u1")
    if part == name:
        return numbers.view(small_dtype(name))
    return np.stack([numbers, numbers[::-1]], axis=-1).view(small_dtype(name))[:, 0]


def significant(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same without the bits above a number of less than a byte, in which implementations differ."""
    parts = array.dtype.names or ("",)
    for part in parts:
        bits = BITS.get((array[part] if part else array).dtype.name, 8)
        if bits < 8:
            array = array.copy()
            lower = (array[part] if part else array).view("u1")
            lower &= 2**bits - 1
    return array


FILLS: Sequence[tuple[str, Any, str]] = (
    *[("int2", -2, "02"), ("uint2", 3, "03"), ("int4", -1, "0f"), ("uint4", 15, "0f")],
    *[("bfloat16", -2.5, "c020"), ("bfloat16", "NaN", "7fc0"), ("bfloat16", "0x7fc1", "7fc1")],
    *[("float4_e2m1fn", -1.5, "0b"), ("float6_e2m3fn", -7.5, "3f"), ("float6_e3m2fn", 28.0, "1f")],
    *[("float8_e3m4", "NaN", "78"), ("float8_e3m4", "-Infinity", "f0")],
    *[("float8_e4m3", "NaN", "7c"), ("float8_e4m3", "Infinity", "78")],
    *[("float8_e4m3b11fnuz", "NaN", "80"), ("float8_e4m3b11fnuz", -30.0, "ff")],
    *[("float8_e4m3fnuz", "NaN", "80"), ("float8_e4m3fnuz", 240.0, "7f")],
    *[("float8_e5m2", "NaN", "7e"), ("float8_e5m2", "0xff", "ff"), ("float8_e5m2", 57344.0, "7b")],
    *[("float8_e5m2fnuz", "NaN", "80"), ("float8_e5m2fnuz", -57344.0, "ff")],
    *[("float8_e8m0fnu", "NaN", "ff"), ("float8_e8m0fnu", 2.0, "80")],
    *[("complex_bfloat16", ["NaN", "0x7fc1"], "7fc0 7fc1"), ("complex_float16", [1.0, "-Infinity"], "3c00 fc00")],
    *[("complex_float4_e2m1fn", [1.5, -6.0], "03 0f"), ("complex_float6_e2m3fn", [0.125, -7.5], "01 3f")],
    *[("complex_float6_e3m2fn", [0.0625, -28.0], "01 3f"), ("complex_float8_e3m4", [-0.0, "NaN"], "80 78")],
    *[("complex_float8_e4m3", ["0x7f", 1.0], "7f 38"), ("complex_float8_e4m3b11fnuz", [1.0, "NaN"], "58 80")],
    *[("complex_float8_e4m3fnuz", ["NaN", 1.0], "80 40"), ("complex_float8_e5m2", ["Infinity", "0xfd"], "7c fd")],
    *[("complex_float8_e5m2fnuz", [1.0, "NaN"], "40 80"), ("complex_float8_e8m0fnu", [0.5, "NaN"], "7e ff")],
)
"""Types, fill values as documents have them, and their bits."""


def from_hex(name: str, digits: str) -> npt.NDArray[Any]:
    """The small number with these bits, as an array of no dimensions."""
    dtype = small_dtype(name)
    return np.frombuffer(bytes.fromhex(digits), dtype.newbyteorder(">")).astype(dtype).reshape(())

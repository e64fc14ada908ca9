"""The attribute `_FillValue`, as xarray stores it beside the fill value of an array.

In generations whose fill value may be undefined, xarray takes the fill value for the value of missing data, and stores
no attribute. In the others the two are independent, and xarray stores the attribute in a form that JSON can hold: a
number with a point as the base64 text of a little-endian double, bytes as base64 text.
"""

from __future__ import annotations

import base64
import binascii
import struct
from typing import Any

import numpy as np

from omnizarr.errors import ArgumentError

__all__ = ["decode_fill_value", "encode_fill_value"]


def encode_fill_value(value: Any, dtype: np.dtype[Any]) -> Any:
    """The attribute for a value of missing data."""
    kind = dtype.kind
    number = isinstance(value, (int, float, np.integer, np.floating))
    if kind == "S" and isinstance(value, bytes):
        return base64.standard_b64encode(value).decode()
    if kind == "b":
        return bool(value)
    if kind in "iu" and number:
        return int(value)
    if kind == "f" and number:
        return _encode_double(float(value))
    if kind == "c" and (number or isinstance(value, (complex, np.complexfloating))):
        return [_encode_double(complex(value).real), _encode_double(complex(value).imag)]
    if kind in "UTO":
        return str(value)
    raise ArgumentError(f"`_FillValue`: expected a value of the type {dtype}, found {value!r}", argument="encoding")


def decode_fill_value(value: Any, dtype: np.dtype[Any]) -> Any:
    """The value of missing data that an attribute holds, as xarray or, as a plain number, another program wrote it."""
    kind = dtype.kind
    if kind == "f" and isinstance(value, str):
        return _decode_double(value)
    if kind == "c" and isinstance(value, list) and len(value) == 2:
        real, imaginary = (_decode_double(part) if isinstance(part, str) else float(part) for part in value)
        return complex(real, imaginary)
    if kind == "S" and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error:
            return value.encode()
    return value


def _encode_double(value: float) -> str:
    return base64.standard_b64encode(struct.pack("<d", value)).decode()


def _decode_double(text: str) -> float:
    try:
        return float(struct.unpack("<d", base64.b64decode(text, validate=True))[0])
    except (binascii.Error, struct.error):
        return float(text)  # such as `NaN`

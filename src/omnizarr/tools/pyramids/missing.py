"""The value of missing elements that the attributes of an array name."""

from __future__ import annotations

import base64
import binascii
import struct
from typing import Any

import numpy as np

from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array

__all__ = ["missing_value"]


def missing_value(array: Array, choice: Any, *, use_fill_value: bool) -> Any:
    """The value of missing elements: the caller's `choice`, or that of the attributes `_FillValue` and `missing_value`,
    or the fill value if `use_fill_value`. None if there is none, or if it is NaN, which is missing anyway."""
    dtype = array.dtype
    if choice is not None:
        value = _as_element(choice, dtype)
        if value is None:
            raise ArgumentError(f"`missing`: expected a value of type {dtype}, found {choice!r}", argument="missing")
        return None if value != value else value
    candidates: list[Any] = [_decoded(array.attrs.get(name), dtype) for name in ("_FillValue", "missing_value")]
    if use_fill_value and array.metadata.fill is not None:
        candidates.append(array.fill_value)
    for candidate in candidates:
        value = None if candidate is None else _as_element(candidate, dtype)
        if value is not None and value == value:
            return value
    return None


def _decoded(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value as it is; xarray stores one of a float in base64."""
    if isinstance(value, str) and dtype.kind == "f":
        try:
            return struct.unpack("<d", base64.b64decode(value, validate=True))[0]
        except (binascii.Error, struct.error):
            return value
    return value


def _as_element(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value as an element of the type; None if the type cannot hold it."""
    if dtype.kind not in "biufcmMSU":
        return None
    try:
        with np.errstate(all="ignore"):
            element = np.asarray(value).astype(dtype)[()]
            same = element != element or bool(element == np.asarray(value)[()]) or dtype.kind in "fc"
    except (TypeError, ValueError, OverflowError):
        return None
    return element if same else None

"""Fill values of v2, which v1 and the drafts of zarr-python 2 share: numbers and text as JSON, raw bytes as base64."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from omnizarr._json import Json, Problems, from_base64, is_integer
from omnizarr.dtypes import DataType, FixedBytes, Objects, Scalar, String, VariableBytes, fill_from_bytes, fill_to_bytes
from omnizarr.dtypes.numbers.floating import Floating
from omnizarr.dtypes.numbers.integer import Integer

__all__ = ["dump_fill", "fill_losses", "parse_fill"]


def parse_fill(value: Json, data_type: DataType, stored: np.dtype[Any], path: str, problems: Problems) -> Scalar | None:
    """The fill value; None and a problem if `value` is invalid. The caller handles null, which means undefined.
    `stored` is the dtype in the store, whose byte order raw bytes have."""
    if isinstance(data_type, Objects) and stored.names is not None:
        problems.warn(path, "is a pickle and is not read: unwritten elements are undefined")
        return None
    if isinstance(data_type, Objects):
        return data_type.cast_fill(value)
    if isinstance(data_type, (String, VariableBytes)):
        return _parse_variable(value, data_type, path, problems)
    kind = _kind(data_type, stored)
    if kind in "fc" and not _are_tokens(value):
        problems.expected(path, "a number, `NaN`, `Infinity` or `-Infinity`", value)
        return None
    if kind in "biufcmM":
        return data_type.parse_fill(_as_v3(value, kind), path, problems)
    if kind == "U":
        return data_type.parse_fill("" if _is_zero(value) else value, path, problems)
    return _parse_raw(value, data_type, stored, path, problems)


def _kind(data_type: DataType, stored: np.dtype[Any]) -> str:
    """NumPy's letter for the kind of a dtype. Types of ml_dtypes count as numbers, although NumPy's letter is V."""
    return "f" if isinstance(data_type, Floating) else "i" if isinstance(data_type, Integer) else stored.kind


def _is_zero(value: Json) -> bool:
    """Whether `value` is 0, which old writers stored as the default for every type."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0


def _as_v3(value: Json, kind: str) -> Json:
    """The fill value in the form of v3, so that forms that are usual in old documents cause no warning."""
    if kind == "b" and is_integer(value) and value in (0, 1):  # A50
        return bool(value)
    if kind in "iumM" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if kind in "iu" and isinstance(value, bool):
        return int(value)
    if kind in "mM" and value == "NaN":  # from zarr 2.1 and 2.2
        return "NaT"
    if kind in "mM" and is_integer(value) and 2**63 <= value < 2**64:  # unsigned, from zarr 2.2 (V29)
        return value - 2**64
    if kind == "f":
        return _as_v3_float(value)
    if kind == "c":
        parts = value if isinstance(value, list) else [value, 0.0]
        return [_as_v3_float(part) for part in parts]
    if kind in "iu" and isinstance(value, str):  # GDAL
        digits = value.removeprefix("-")
        return int(value) if digits.isascii() and digits.isdigit() and len(digits) < 21 else value
    return value


def _are_tokens(value: Json) -> bool:
    """Whether all text in a fill value names a special number. v3 also accepts other text, which v2 does not (V10)."""
    parts = value if isinstance(value, list) else [value]
    return all(part in ("NaN", "Infinity", "-Infinity", "+Infinity") for part in parts if isinstance(part, str))


def _as_v3_float(value: Json) -> Json:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and not math.isfinite(value):  # bare tokens of Python's `json` (A60)
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return "Infinity" if value == "+Infinity" else value  # A9


def _parse_variable(value: Json, data_type: DataType, path: str, problems: Problems) -> Scalar | None:
    if _is_zero(value):
        return data_type.default_fill()
    if isinstance(data_type, VariableBytes) and isinstance(value, str):
        data = from_base64(value)
        return data_type.cast_fill(value.encode() if data is None else data)
    return data_type.parse_fill(value, path, problems)


def _parse_raw(value: Json, data_type: DataType, stored: np.dtype[Any], path: str, problems: Problems) -> Scalar | None:
    """Parses base64 of an element's bytes. zarr-python omitted the trailing zeros of text (V27, A59)."""
    if _is_zero(value):
        return data_type.default_fill()
    text = isinstance(data_type, FixedBytes)
    if not isinstance(value, str):
        problems.expected(path, "base64 text", value)
        return None
    data = from_base64(value)
    if text and (data is None or len(data) > stored.itemsize):
        try:
            data = value.encode("latin-1")  # plain text, as in v1 and before zarr 2.2
        except UnicodeEncodeError:
            data = None
    if data is None or len(data) > stored.itemsize or (not text and len(data) != stored.itemsize):
        problems.expected(path, f"base64 text of {stored.itemsize} bytes", value)
        return None
    return fill_from_bytes(data.ljust(stored.itemsize, b"\0"), stored, path, problems)


def dump_fill(fill: Scalar | None, data_type: DataType, stored: np.dtype[Any]) -> Json:
    """The member `fill_value`; null if the fill value is undefined."""
    if fill is None:
        return None
    if isinstance(data_type, VariableBytes):
        return base64.b64encode(bytes(fill[()])).decode()
    kind = _kind(data_type, stored)
    if kind in "SV":
        return base64.b64encode(fill_to_bytes(fill, stored)).decode()
    if kind in "mM":
        return int(fill.view(np.int64))
    value = data_type.dump_fill(fill)
    return [_without_nan_bits(part) for part in value] if kind == "c" else _without_nan_bits(value)


def _without_nan_bits(value: Json) -> Json:
    return "NaN" if isinstance(value, str) and value.startswith("0x") else value


def fill_losses(fill: Scalar | None, data_type: DataType, stored: np.dtype[Any], generation: str) -> list[str]:
    """What the member `fill_value` cannot express of a fill value."""
    if fill is None or _kind(data_type, stored) not in "fc":
        return []
    value = data_type.dump_fill(fill)
    parts = value if isinstance(value, list) else [value]
    if any(isinstance(part, str) and part.startswith("0x") for part in parts):
        return [f"{generation} has only the default NaN, and the fill value is another NaN"]
    return []

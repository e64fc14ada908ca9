"""Fill values of v2, which v1 and the drafts of zarr-python 2 share: numbers and text as JSON, raw bytes as base64."""

from __future__ import annotations

import base64
import math
import re
from typing import Any

import numpy as np

from omnizarr._json import Json, Problems, describe, from_base64, is_integer
from omnizarr.dtypes import DataType, FixedBytes, Objects, Scalar, String, VariableBytes, fill_from_bytes, fill_to_bytes
from omnizarr.dtypes.numbers.floating import Floating
from omnizarr.dtypes.numbers.integer import Integer

__all__ = ["dump_fill", "fill_losses", "parse_fill"]


def parse_fill(value: Json, data_type: DataType, stored: np.dtype[Any], path: str, problems: Problems) -> Scalar | None:
    """The fill value; None and a problem if `value` is invalid. The caller handles null, which means undefined.
    `stored` is the dtype in the store, whose byte order raw bytes have."""
    if isinstance(data_type, Objects) and stored.names is not None:
        problems.warn(path, "is a pickle and is not read: unwritten elements are undefined", rule="V24")
        return None
    if isinstance(data_type, Objects):
        return data_type.cast_fill(value)
    if isinstance(data_type, (String, VariableBytes)):
        return _parse_variable(value, data_type, path, problems)
    kind = _kind(data_type, stored)
    if kind in "biufcmM":
        number = _as_v3(value, kind, data_type, path, problems)
        if kind in "fc" and not _are_tokens(number):
            problems.expected(path, "a number, `NaN`, `Infinity` or `-Infinity`", value, rule="V10")
            return None
        return data_type.parse_fill(number, path, problems)
    if kind == "U":
        return data_type.parse_fill(_shortened(value, stored, path, problems), path, problems)
    return _parse_raw(value, data_type, stored, path, problems)


def _kind(data_type: DataType, stored: np.dtype[Any]) -> str:
    """NumPy's letter for the kind of a dtype. Types of ml_dtypes count as numbers, although NumPy's letter is V."""
    return "f" if isinstance(data_type, Floating) else "i" if isinstance(data_type, Integer) else stored.kind


def _is_zero(value: Json) -> bool:
    """Whether `value` is 0, which old writers stored as the default for every type."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0


def _as_v3(value: Json, kind: str, data_type: DataType, path: str, problems: Problems) -> Json:
    """The fill value in the form of v3, so that forms that are usual in old documents cause no warning."""
    if kind == "f":
        return _as_v3_float(value, data_type, path, problems)
    if kind == "c":
        parts = value if isinstance(value, list) else [value, 0.0]
        return [_as_v3_float(part, getattr(data_type, "part", None), path, problems) for part in parts]
    if kind == "b" and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if isinstance(value, str):
        value = _number_from_text(value) if kind in "biu" else _time_from_text(value, data_type)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if kind == "b" and is_integer(value) and value in (0, 1):  # A50
        return bool(value)
    if kind == "b" and isinstance(value, (int, float)) and not isinstance(value, bool):
        problems.warn(path, f"{describe(value)} is neither 0 nor 1 and is read as true, as by zarr-python", rule="A50")
        return True
    if kind in "iumM" and isinstance(value, bool):
        return int(value)
    if kind in "mM" and is_integer(value) and 2**63 <= value < 2**64:  # unsigned, from zarr 2.2 (V29)
        return value - 2**64
    return value


def _as_v3_float(value: Json, data_type: DataType | None, path: str, problems: Problems) -> Json:
    number = _number_from_text(value) if isinstance(value, str) else value
    if isinstance(number, bool):
        return int(number)
    if not isinstance(number, (int, float)):
        return number
    finite = isinstance(number, int) or math.isfinite(number)
    if isinstance(data_type, Floating) and finite and data_type.nearest(number) is None:
        problems.warn(
            path, f"{describe(value)} exceeds the range of `{data_type.name}` and is read as an infinity", rule="V10"
        )
        number = math.inf if number > 0 else -math.inf
    if isinstance(number, float) and not math.isfinite(number):  # also bare tokens of Python's `json` (A60)
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    return number


def _are_tokens(value: Json) -> bool:
    """Whether all text in a fill value names a special number. v3 also has hexadecimal bits, which v2 has not (V10)."""
    parts = value if isinstance(value, list) else [value]
    return all(part in ("NaN", "Infinity", "-Infinity") for part in parts if isinstance(part, str))


_NUMBER = re.compile(r"[+-]?([0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_SPECIAL = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]{2,18})?")
_LONGEST_NUMBER = 400  # characters; a double in decimal notation has fewer


def _number_from_text(text: str) -> Json:
    """The number that a text states, as n5-zarr (V10) and GDAL write it; other text unchanged."""
    number = text.strip(" ")
    if len(number) > _LONGEST_NUMBER or not (_NUMBER.fullmatch(number) or _SPECIAL.fullmatch(number)):
        return text
    if not number.lstrip("+-").isdigit():
        return float(number)
    return int(number) or (-0.0 if number.startswith("-") else 0)


def _time_from_text(text: str, data_type: DataType) -> Json:
    """The count of time units that a text states; other text unchanged."""
    if text.lower() in ("nat", "nan"):  # "NaN" is from zarr 2.1 and 2.2
        return "NaT"
    if data_type.dtype.kind == "m":
        number = _number_from_text(text)
        return number if is_integer(number) else text
    if _DATE.fullmatch(text):
        try:
            return int(np.datetime64(text).astype(data_type.dtype).view(np.int64))
        except ValueError:
            pass
    return text


def _shortened(value: Json, stored: np.dtype[Any], path: str, problems: Problems) -> Json:
    """Text of at most the length of an element, to which zarr-python shortens it."""
    length = stored.itemsize // 4
    if isinstance(value, str) and len(value) > length:
        problems.warn(
            path, f"{describe(value)} is longer than an element and is cut to {length} characters", rule="V11"
        )
        return value[:length]
    return "" if _is_zero(value) else value


def _parse_variable(value: Json, data_type: DataType, path: str, problems: Problems) -> Scalar | None:
    if _is_zero(value):
        return data_type.default_fill()
    if isinstance(data_type, VariableBytes) and isinstance(value, str):
        data = from_base64(value)
        return data_type.cast_fill(value.encode() if data is None else data)
    if isinstance(data_type, String) and isinstance(value, (int, float)) and not isinstance(value, bool):
        problems.warn(path, f"{describe(value)} is read as text, as by zarr-python 3", rule="V11")
        return data_type.parse_fill(str(value), path, problems)
    return data_type.parse_fill(value, path, problems)


def _parse_raw(value: Json, data_type: DataType, stored: np.dtype[Any], path: str, problems: Problems) -> Scalar | None:
    """Parses base64 of an element's bytes. zarr-python omitted the trailing zeros of text (V27, A59)."""
    if _is_zero(value):
        return data_type.default_fill()
    text = isinstance(data_type, FixedBytes)
    if not isinstance(value, str):
        problems.expected(path, "base64 text", value, rule="V11")
        return None
    data = from_base64(value)
    if data is not None and stored.names is None and not (text and len(data) < stored.itemsize):
        data = _resized(data, stored.itemsize, path, problems)
    if text and (data is None or len(data) > stored.itemsize):
        try:
            data = value.encode("latin-1")  # plain text, as in v1 and before zarr 2.2
        except UnicodeEncodeError:
            data = None
    if data is None or len(data) > stored.itemsize or (not text and len(data) != stored.itemsize):
        problems.expected(path, f"base64 text of {stored.itemsize} bytes", value, rule="V11")
        return None
    return fill_from_bytes(data.ljust(stored.itemsize, b"\0"), stored, path, problems)


def _resized(data: bytes, size: int, path: str, problems: Problems) -> bytes:
    """The bytes with trailing zeros added or removed to get `size` bytes; longer if other bytes follow. zarr-python
    reads them so."""
    if len(data) == size:
        return data
    resized = data.rstrip(b"\0").ljust(size, b"\0")
    if len(resized) == size:
        problems.warn(
            path, f"expected {size} bytes, found {len(data)}: trailing zeros are added or removed", rule="V11"
        )
    return resized


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

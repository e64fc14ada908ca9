"""Fill values in the drafts of v3: as in v3, with more forms for bits (S24, T12)."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from omnizarr._json import Json, Problems, is_integer
from omnizarr.dtypes import DataType, FixedBytes, Scalar, fill_to_bytes
from omnizarr.dtypes.contract import native_order
from omnizarr.dtypes.struct_ import Struct
from omnizarr.formats import v2_fills
from omnizarr.formats.draft.extensions import is_uri

__all__ = ["dump_draft_fill", "parse_draft_fill"]


def parse_draft_fill(
    value: Json, data_type: DataType, stored: np.dtype[Any] | None, year: int, path: str, problems: Problems
) -> Scalar | None:
    """The fill value; None and a problem if `value` is invalid. The caller handles null."""
    if stored is None:
        return data_type.parse_fill(value, path, problems)
    if isinstance(value, str) and not stored.hasobject and (bits := _parse_bits(value, stored)) is not None:
        return bits
    if isinstance(value, list) and isinstance(data_type, Struct) and len(value) == len(data_type.fields):
        fill = np.zeros((), data_type.dtype)
        for index, (name, kind) in enumerate(data_type.fields):
            own = None if is_uri(kind.name) else stored[name]
            part = parse_draft_fill(value[index], kind, own, year, f"{path}[{index}]", problems)
            if part is None:
                return None
            fill[name] = part
        return fill
    if isinstance(value, list) and stored.kind == "V" and stored.names is None:
        return data_type.parse_fill(value, path, problems)
    if year == 2022:
        return _parse_strictly(value, data_type, stored.kind, path, problems)
    if stored.kind == "f" and isinstance(value, str) and _DECIMAL.fullmatch(value):  # GDAL
        value = float(value)
    return v2_fills.parse_fill(value, data_type, stored, path, problems)


_DECIMAL = re.compile(r"-?\d{1,400}(\.\d{1,400})?([eE][-+]?\d{1,4})?", re.ASCII)


def _parse_strictly(value: Json, data_type: DataType, kind: str, path: str, problems: Problems) -> Scalar | None:
    """The fill value by the text of 2022 (S24). No writer is known to deviate from it, so the parser is strict."""
    if kind == "c":
        parts = value if isinstance(value, list) and len(value) == 2 else [value, 0.0]  # A62
        valid = all(_is_number(part) or part in _SPECIAL_NUMBERS for part in parts) and (
            _is_number(value) or parts is value
        )
        value = [_without_plus(part) for part in parts]
    elif kind == "f":
        valid = _is_number(value) or value in _SPECIAL_NUMBERS
        value = _without_plus(value)
    elif kind == "S":
        size = data_type.dtype.itemsize
        if isinstance(value, str) and value.isascii() and len(value) <= size:
            return data_type.cast_fill(value.encode())
        problems.expected(path, f"at most {size} ASCII characters", value, rule="S24")
        return None
    else:
        valid = {"b": isinstance(value, bool), "i": is_integer(value), "u": is_integer(value)}.get(kind, kind != "V")
    if not valid:
        problems.expected(path, f"a fill value for {data_type.name}", value, rule="S24")
        return None
    return data_type.parse_fill(value, path, problems)


_SPECIAL_NUMBERS = ("NaN", "Infinity", "+Infinity", "-Infinity")  # A9


def _without_plus(value: Json) -> Json:
    return "Infinity" if value == "+Infinity" else value


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _parse_bits(text: str, stored: np.dtype[Any]) -> Scalar | None:
    """Parses `0x` or `0b` with all bits of an element, most significant first. For complex numbers the real part is
    first; for types without byte order the bytes are as stored (A63)."""
    size = stored.itemsize
    if re.fullmatch(rf"0x[0-9a-fA-F]{{{2 * size}}}", text):
        data = bytes.fromhex(text[2:])
    elif size < 2**20 and len(text) == 2 + 8 * size and re.fullmatch("0b[01]+", text):
        data = int(text, 0).to_bytes(size, "big")
    else:
        return None
    if stored.kind == "b" and data not in (b"\0", b"\1"):
        return None
    order = stored.newbyteorder(">") if stored.names is None and stored.kind != "U" else stored
    return np.frombuffer(data, order)[0, ...].astype(native_order(stored)).reshape(())


def dump_draft_fill(fill: Scalar | None, data_type: DataType, stored: np.dtype[Any], year: int) -> Json:
    """The member `fill_value`; null if the fill value is undefined."""
    if fill is None:
        return None
    if is_uri(data_type.name):
        return data_type.dump_fill(fill)
    if stored.hasobject or stored.names is not None or stored.kind in "SUmM":
        return _dump_extension(fill, data_type, stored, year)
    if stored.kind == "V":
        return "0x" + fill.tobytes().hex()
    value = data_type.dump_fill(fill)
    if stored.kind != "c":
        return _with_plus(value)
    # Bits are the only form of the draft of 2022 (A62), and the only one of 2020 for a NaN with a payload.
    if year == 2022 or any(isinstance(part, str) and part.startswith("0x") for part in value):
        return "0x" + fill.astype(stored.newbyteorder(">")).tobytes().hex()
    return [_with_plus(part) for part in value]


def _with_plus(value: Json) -> Json:
    return "+Infinity" if value == "Infinity" else value


def _dump_extension(fill: Scalar, data_type: DataType, stored: np.dtype[Any], year: int) -> Json:
    """A form that neither draft defines: in 2020 that of zarr-python, which is that of v2; in 2022 a readable one."""
    if year == 2022 and isinstance(data_type, FixedBytes):
        text = bytes(fill[()])
        return text.decode() if text.isascii() else "0x" + fill.tobytes().hex()
    if year == 2022 and isinstance(data_type, Struct):
        return [dump_draft_fill(fill[name], kind, stored[name], year) for name, kind in data_type.fields]
    if year == 2022 and stored.names is not None:
        return "0x" + fill_to_bytes(fill, stored).hex()
    return v2_fills.dump_fill(fill, data_type, stored)

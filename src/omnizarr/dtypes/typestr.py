"""Data types of v2 and related formats: NumPy type strings such as `<f8`, and lists of fields (V7–V9).

Text is validated by the patterns below before NumPy sees it, because `np.dtype` accepts far more than these types.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from omnizarr._json import Json, Problems, describe, is_integer
from omnizarr.dtypes.contract import LARGEST_ITEM
from omnizarr.dtypes.datetime_ import UNITS, unit_of
from omnizarr.dtypes.lookup import DEEPEST
from omnizarr.dtypes.numbers.float_layout import FLOAT_LAYOUTS
from omnizarr.dtypes.numbers.ml_dtypes_ import SUBBYTE_WIDTHS, is_ml_dtype, ml_dtype
from omnizarr.errors import ArgumentError

__all__ = ["dump_typestr", "parse_typestr"]

_TYPESTR = re.compile(r"([<>|=]?)([biufcmMSUVO])([0-9]{0,10})(?:\[([0-9]{0,10})(\w{1,7})\])?")
_SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16), "m": (8,), "M": (8,)}
if np.dtype(np.longdouble).itemsize == 16:  # depends on the platform, and so do the bits
    _SIZES |= {"f": (2, 4, 8, 16), "c": (8, 16, 32)}
_OBJECT_SIZES = ("", "4", "8")  # NumPy up to 1.7 wrote the size of a pointer
_MOST_DIMENSIONS = 32  # of a sub-array; the limit of NumPy before 2.0
_EXPECTED = "a type such as `<f8`, or a list of fields"


def parse_typestr(value: Json, path: str, problems: Problems) -> np.dtype[Any] | None:
    """The NumPy dtype of a `dtype` member, in the stored byte order; adds to `problems` and returns None if it is
    invalid.

    `|O` is NumPy's object type, also inside records. Fields with an empty name are padding. TensorStore writes the
    names of small numbers, such as `bfloat16`; MissingDependencyError if ml_dtypes is not installed."""
    return _parse(value, path, problems, 0)


def _parse(value: Json, path: str, problems: Problems, depth: int) -> np.dtype[Any] | None:
    if isinstance(value, str):
        return _parse_simple(value, path, problems)
    if isinstance(value, list):
        return _parse_record(value, path, problems, depth + 1)
    problems.expected(path, _EXPECTED, value, rule="V7")
    return None


def _parse_simple(text: str, path: str, problems: Problems) -> np.dtype[Any] | None:
    if text in FLOAT_LAYOUTS or text in SUBBYTE_WIDTHS:
        return ml_dtype(text).newbyteorder("<")
    match = _TYPESTR.fullmatch(text)
    if match is None:
        problems.expected(path, _EXPECTED, text, rule="V7")
        return None
    order, kind, digits, factor, unit = match.groups()
    if kind == "O":
        if digits in _OBJECT_SIZES and unit is None:
            return np.dtype(object)
        problems.expected(path, "`|O`", text, rule="V7")
        return None
    size = int(digits) if digits and digits[0] != "0" else 0
    if kind in "SUV":
        character_size = 4 if kind == "U" else 1
        valid = 0 < size * character_size <= LARGEST_ITEM and unit is None
        expected = f"`{kind}` and a number from 1 to {LARGEST_ITEM // character_size}"
    else:
        valid = size in _SIZES[kind] and (unit is None or kind in "mM")
        expected = f"`{kind}` and one of {', '.join(map(str, _SIZES[kind]))}"
    if not valid:
        problems.add(path, f"expected {expected}, found {describe(text)}", rule="V7")
        return None
    if kind in "mM":
        return _time(order, kind, factor, unit, text, path, problems)
    return np.dtype(f"{_byte_order(order, kind, size, text, path, problems)}{kind}{size}")


def _byte_order(order: str, kind: str, size: int, text: str, path: str, problems: Problems) -> str:
    """The byte order; little-endian if the type needs one and the text has none."""
    if kind in "SVb" or (kind in "iu" and size == 1):
        if not order:
            problems.warn(path, f"`{text}` is read as `|{text}`", rule="V7")
        return "|"
    if order in ("<", ">"):
        return order
    if not order or order == "=" or kind != "U":
        problems.warn(path, f"`{text}` has no byte order: read as little-endian", rule="V7")
    return "<"  # no warning for `|U12`, which is common (A52)


def _time(
    order: str, kind: str, factor: str | None, unit: str | None, text: str, path: str, problems: Problems
) -> np.dtype[Any] | None:
    """A point in time or a duration, which needs a unit (V8)."""
    number = int(factor) if factor else 1
    name = None if unit is None else unit_of(unit)
    if name not in UNITS or name == "generic" or not 1 <= number < 2**31:
        problems.expected(path, f"`{kind}8` with a unit, as in `<{kind}8[ns]`", text, rule="V8")
        return None
    return np.dtype(f"{_byte_order(order, kind, 8, text, path, problems)}{kind}8[{number}{name}]")


def _parse_record(value: list[Json], path: str, problems: Problems, depth: int) -> np.dtype[Any] | None:
    if depth > DEEPEST:
        problems.add(path, f"records are nested more than {DEEPEST} levels deep", rule="V9")
        return None
    before = len(problems.found)
    names: list[str] = []
    formats: list[np.dtype[Any]] = []
    offsets: list[int] = []
    seen: set[str] = set()
    at = 0
    for index, item in enumerate(value):
        place = f"{path}[{index}]"
        if not isinstance(item, list) or len(item) not in (2, 3) or not isinstance(item[0], str):
            problems.expected(place, "a field: its name, its type and, if it is an array, its shape", item, rule="V9")
            continue
        dtype = _parse_field(item, place, problems, depth)
        name = item[0]
        if name in seen:
            problems.add(f"{place}[0]", f"the field `{name}` appears twice", rule="V9")
        elif dtype is not None and not name and dtype.kind != "V":
            problems.expected(f"{place}[1]", "a type such as `|V4` for padding, which has no name", item[1], rule="V9")
        elif dtype is not None:
            if name:
                seen.add(name)
                names.append(name)
                formats.append(dtype)
                offsets.append(at)
            at += dtype.itemsize
            if at > LARGEST_ITEM:
                problems.add(place, f"a record of more than {LARGEST_ITEM} bytes", rule="V9")
                return None
    if not seen and len(problems.found) == before:
        problems.expected(path, "a list of at least one field with a name", value, rule="V9")
    if len(problems.found) > before:
        return None
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": at})


def _parse_field(item: list[Json], place: str, problems: Problems, depth: int) -> np.dtype[Any] | None:
    dtype = _parse(item[1], f"{place}[1]", problems, depth)
    if len(item) == 2:
        return dtype
    shape = [item[2]] if is_integer(item[2]) else item[2]
    if (
        not isinstance(shape, list)
        or not 0 < len(shape) <= _MOST_DIMENSIONS
        or not all(is_integer(length) and 0 < length <= LARGEST_ITEM for length in shape)
    ):
        if shape == []:
            return dtype
        problems.expected(f"{place}[2]", "the shape of an array inside a record", item[2], rule="V9")
        return None
    size = 1 if dtype is None else dtype.itemsize
    for length in shape:
        size *= length
    if size > LARGEST_ITEM:
        problems.add(f"{place}[2]", f"a field of more than {LARGEST_ITEM} bytes", rule="V9")
        return None
    return None if dtype is None else np.dtype((dtype, tuple(shape)))


def dump_typestr(dtype: np.dtype[Any], *, units: bool = True) -> Json:
    """The `dtype` member of v2 for a NumPy dtype: the inverse of `parse_typestr`. ArgumentError if v2
    cannot express it. A time without a unit is an error, unless `units` is false."""
    if dtype.names:
        return _dump_record(dtype, units)
    if dtype.kind == "O":
        return "|O"
    if is_ml_dtype(dtype) and (dtype.name in FLOAT_LAYOUTS or dtype.name in SUBBYTE_WIDTHS):
        return dtype.name
    if dtype.subdtype is None and dtype.isbuiltin != 2 and dtype.kind in "biufcmMSUV" and dtype.itemsize:
        sizes = _SIZES.get(dtype.kind)
        if sizes is None or dtype.itemsize in sizes:
            if dtype.kind not in "mM" or not units or np.datetime_data(dtype)[0] != "generic":
                return dtype.str
            raise ArgumentError(f"v2 cannot express {dtype.name} without a unit", argument="dtype")
    raise ArgumentError(f"v2 cannot express the NumPy data type `{dtype}`", argument="dtype")


def _dump_record(dtype: np.dtype[Any], units: bool) -> Json:
    assert dtype.fields is not None
    fields: list[Json] = []
    at = 0
    for name in dtype.names or ():
        kind, offset = dtype.fields[name][:2]
        if offset < at:
            raise ArgumentError("the fields of a record overlap, or are not in order", argument="dtype")
        if not name:
            raise ArgumentError("a field of a record needs a name", argument="dtype")
        if offset > at:
            fields.append(["", f"|V{offset - at}"])
        typestr = dump_typestr(kind.base, units=units)
        fields.append([name, typestr, list(kind.shape)] if kind.subdtype is not None else [name, typestr])
        at = offset + kind.itemsize
    if dtype.itemsize > at:
        fields.append(["", f"|V{dtype.itemsize - at}"])
    return fields

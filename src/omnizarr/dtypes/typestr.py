"""Data types as version 2 and its relatives write them: NumPy's typestrings such as `<f8`, and lists of fields (V7–V9).

A text is never given to NumPy before the expressions below have taken it apart: NumPy reads far more than types.
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

_FORM = re.compile(r"([<>|=]?)([biufcmMSUVO])([0-9]{0,10})(?:\[([0-9]{0,10})(\w{1,7})\])?")
_SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16), "m": (8,), "M": (8,)}
if np.dtype(np.longdouble).itemsize == 16:  # not everywhere, and not everywhere with the same bits
    _SIZES |= {"f": (2, 4, 8, 16), "c": (8, 16, 32)}
_OBJECT_SIZES = ("", "4", "8")  # NumPy told the size of a pointer until 1.7
_MOST_DIMENSIONS = 32  # of a sub-array; NumPy allows no more before 2.0
_EXPECTED = "a type such as `<f8`, or a list of fields"


def parse_typestr(value: Json, path: str, problems: Problems) -> np.dtype[Any] | None:
    """The NumPy type that a `dtype` member spells, in the byte order that is stored; None, and what is wrong.

    `|O` gives NumPy's object type, also within records. Fields of an empty name are gaps. TensorStore writes small
    numbers by their names, such as `bfloat16`; MissingDependencyError if the package that has them is not installed."""
    return _parsed(value, path, problems, 0)


def _parsed(value: Json, path: str, problems: Problems, depth: int) -> np.dtype[Any] | None:
    if isinstance(value, str):
        return _simple(value, path, problems)
    if isinstance(value, list):
        return _record(value, path, problems, depth + 1)
    problems.expected(path, _EXPECTED, value)
    return None


def _simple(text: str, path: str, problems: Problems) -> np.dtype[Any] | None:
    if text in FLOAT_LAYOUTS or text in SUBBYTE_WIDTHS:
        return ml_dtype(text).newbyteorder("<")
    form = _FORM.fullmatch(text)
    if form is None:
        problems.expected(path, _EXPECTED, text)
        return None
    order, kind, digits, factor, unit = form.groups()
    if kind == "O":
        if digits in _OBJECT_SIZES and unit is None:
            return np.dtype(object)
        problems.expected(path, "`|O`", text)
        return None
    size = int(digits) if digits and digits[0] != "0" else 0
    if kind in "SUV":
        bytes_of_one = 4 if kind == "U" else 1
        fine = 0 < size * bytes_of_one <= LARGEST_ITEM and unit is None
        wanted = f"`{kind}` and a number from 1 to {LARGEST_ITEM // bytes_of_one}"
    else:
        fine = size in _SIZES[kind] and (unit is None or kind in "mM")
        wanted = f"`{kind}` and one of {', '.join(map(str, _SIZES[kind]))}"
    if not fine:
        problems.add(path, f"expected {wanted}, found {describe(text)}")
        return None
    if kind in "mM":
        return _time(order, kind, factor, unit, text, path, problems)
    return np.dtype(f"{_order(order, kind, size, text, path, problems)}{kind}{size}")


def _order(order: str, kind: str, size: int, text: str, path: str, problems: Problems) -> str:
    """The byte order, little where it is needed and not said."""
    if kind in "SVb" or (kind in "iu" and size == 1):
        if not order:
            problems.warn(path, f"`{text}` is read as `|{text}`")
        return "|"
    if order in ("<", ">"):
        return order
    if not order or order == "=" or kind != "U":
        problems.warn(path, f"`{text}` does not say its byte order: read as little-endian")
    return "<"  # `|U12` is so common that it is worth no warning (A52)


def _time(
    order: str, kind: str, factor: str | None, unit: str | None, text: str, path: str, problems: Problems
) -> np.dtype[Any] | None:
    """A point or a span of time, which needs a unit (V8)."""
    number = int(factor) if factor else 1
    name = None if unit is None else unit_of(unit)
    if name not in UNITS or name == "generic" or not 1 <= number < 2**31:
        problems.expected(path, f"`{kind}8` with a unit, as in `<{kind}8[ns]`", text)
        return None
    return np.dtype(f"{_order(order, kind, 8, text, path, problems)}{kind}8[{number}{name}]")


def _record(value: list[Json], path: str, problems: Problems, depth: int) -> np.dtype[Any] | None:
    if depth > DEEPEST:
        problems.add(path, f"records are nested more than {DEEPEST} levels deep")
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
            problems.expected(place, "a field: its name, its type and, if it is an array, its shape", item)
            continue
        found = _field(item, place, problems, depth)
        name = item[0]
        if name in seen:
            problems.add(f"{place}[0]", f"the field `{name}` appears twice")
        elif found is not None and not name and found.kind != "V":
            problems.expected(f"{place}[1]", "a type such as `|V4` for a gap, which has no name", item[1])
        elif found is not None:
            if name:
                seen.add(name)
                names.append(name)
                formats.append(found)
                offsets.append(at)
            at += found.itemsize
            if at > LARGEST_ITEM:
                problems.add(place, f"a record of more than {LARGEST_ITEM} bytes")
                return None
    if not seen and len(problems.found) == before:
        problems.expected(path, "a list of at least one field with a name", value)
    if len(problems.found) > before:
        return None
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": at})


def _field(item: list[Json], place: str, problems: Problems, depth: int) -> np.dtype[Any] | None:
    found = _parsed(item[1], f"{place}[1]", problems, depth)
    if len(item) == 2:
        return found
    shape = [item[2]] if is_integer(item[2]) else item[2]
    if (
        not isinstance(shape, list)
        or not 0 < len(shape) <= _MOST_DIMENSIONS
        or not all(is_integer(length) and 0 < length <= LARGEST_ITEM for length in shape)
    ):
        if shape == []:
            return found
        problems.expected(f"{place}[2]", "the lengths of an array within a record", item[2])
        return None
    size = 1 if found is None else found.itemsize
    for length in shape:
        size *= length
    if size > LARGEST_ITEM:
        problems.add(f"{place}[2]", f"a field of more than {LARGEST_ITEM} bytes")
        return None
    return None if found is None else np.dtype((found, tuple(shape)))


def dump_typestr(dtype: np.dtype[Any], *, units: bool = True) -> Json:
    """A NumPy type as version 2 spells it; the reverse of `parse_typestr`. ArgumentError if it has no spelling; a time
    without a unit has none, unless `units` is false."""
    if dtype.names:
        return _dumped_record(dtype, units)
    if dtype.kind == "O":
        return "|O"
    if is_ml_dtype(dtype) and (dtype.name in FLOAT_LAYOUTS or dtype.name in SUBBYTE_WIDTHS):
        return dtype.name
    if dtype.subdtype is None and dtype.isbuiltin != 2 and dtype.kind in "biufcmMSUV" and dtype.itemsize:
        sizes = _SIZES.get(dtype.kind)
        if sizes is None or dtype.itemsize in sizes:
            if dtype.kind not in "mM" or not units or np.datetime_data(dtype)[0] != "generic":
                return dtype.str
            raise ArgumentError(f"a {dtype.name} without a unit has no spelling in version 2", argument="dtype")
    raise ArgumentError(f"the NumPy data type `{dtype}` has no spelling in version 2", argument="dtype")


def _dumped_record(dtype: np.dtype[Any], units: bool) -> Json:
    assert dtype.fields is not None
    found: list[Json] = []
    at = 0
    for name in dtype.names or ():
        kind, offset = dtype.fields[name][:2]
        if offset < at:
            raise ArgumentError("the fields of a record overlap, or are not in order", argument="dtype")
        if not name:
            raise ArgumentError("a field of a record needs a name", argument="dtype")
        if offset > at:
            found.append(["", f"|V{offset - at}"])
        spelled = dump_typestr(kind.base, units=units)
        found.append([name, spelled, list(kind.shape)] if kind.subdtype is not None else [name, spelled])
        at = offset + kind.itemsize
    if dtype.itemsize > at:
        found.append(["", f"|V{dtype.itemsize - at}"])
    return found

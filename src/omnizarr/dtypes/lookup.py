"""From what a document or a program names to a data type."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from omnizarr._extension import call_extension, find_registered, parse_extension
from omnizarr._json import Json, Problems
from omnizarr.dtypes.contract import DataType, FromNumpy, data_types, from_numpy_rules, native_order
from omnizarr.dtypes.numbers.ml_dtypes_ import is_ml_dtype
from omnizarr.dtypes.raw import is_raw_name, read_raw
from omnizarr.errors import ArgumentError

__all__ = ["data_type_of", "from_numpy", "parse_data_type"]

# Where NumPy's other kinds of type, and long doubles by their letters, are known (each has an `of_numpy`), in the order
# in which they are asked.
_HOMES = {
    "G": ("numbers.long_double",),
    "g": ("numbers.long_double",),
    "M": ("datetime_",),
    "m": ("datetime_",),
    "S": ("fixed_bytes", "variable_bytes"),
    "T": ("string_",),
    "U": ("unicode_", "string_"),
    "V": ("raw", "struct_", "record"),
}

DEEPEST = 32  # types within types; a document has room for about 40, and each costs several frames of Python's stack


def parse_data_type(value: Json, path: str, problems: Problems) -> DataType | None:
    """Reads a `data_type` member, as a name or as an object (R12, R151); adds to `problems` if it is wrong."""
    if path.count(".configuration") > DEEPEST:  # every level adds one to the path
        problems.add(path, f"data types are nested more than {DEEPEST} levels deep")
        return None
    extension = parse_extension(value, path, problems, kind="data type", ignorable=False, obsolete=("fallback",))
    if extension is None:
        return None
    reader = read_raw if is_raw_name(extension.name) else find_registered(extension, data_types, problems)
    if reader is None:
        return None
    found = call_extension("data type", extension.name, path, problems, reader, extension.name, extension.configuration)
    if found is not None and found.core and isinstance(value, dict):
        problems.warn(path, f"the core data type `{found.name}` is written as a plain string")
    return found


def from_numpy(dtype: np.dtype[Any]) -> DataType | None:
    """The data type that stores a NumPy dtype, or None. Byte order is the serializer's business, not the type's."""
    native = native_order(dtype)
    homes = ("numbers.ml_types",) if is_ml_dtype(dtype) else _HOMES.get(dtype.char) or _HOMES.get(dtype.kind, ())
    rules = (*from_numpy_rules, *map(_rule, homes))
    return next((found for rule in rules if (found := rule(native)) is not None), None)


def _rule(home: str) -> FromNumpy:
    rule: FromNumpy = import_module(f"omnizarr.dtypes.{home}").of_numpy
    return rule


def data_type_of(dtype: Any) -> DataType:
    """The data type for whatever a program gives: what `np.dtype` accepts, a name such as `r24`, the object form of a
    document, or a data type. `str` is text of any length, and `bytes` are any number of bytes."""
    if isinstance(dtype, DataType):
        return dtype
    found = _found(dtype)
    if found.only_read:
        raise ArgumentError(
            f"the data type `{found.name}` is not registered, or has parts that are not: such arrays are read, and no "
            "new ones are made",
            argument="dtype",
            hint="store the bits as `uint8`, or the numbers as a type that is registered",
        )
    return found


def _found(dtype: Any) -> DataType:
    if isinstance(dtype, Mapping) and "name" in dtype:
        return _named(dict(dtype))
    if isinstance(dtype, str) and (is_raw_name(dtype) or dtype in data_types.names()):
        return _named(dtype)
    try:
        if dtype is None:  # NumPy would take it for float64
            raise TypeError
        found = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        if isinstance(dtype, str):
            return _named(dtype)  # perhaps an installed package knows it
        raise _unsupported(f"{dtype!r} is not a data type") from None
    if found.kind == "O":
        raise ArgumentError(
            "`object` does not say what the objects are, and so not how to store them",
            argument="dtype",
            hint='choose "string" for text or "bytes" for bytes; version 2 stores other objects with a codec made for '
            "them, such as `json2` or `msgpack2`",
        )
    data_type = from_numpy(found)
    if data_type is None:
        raise _unsupported(f"the NumPy data type `{found}` cannot be stored")
    return data_type


def _named(value: Json) -> DataType:
    problems = Problems()
    found = parse_data_type(value, "dtype", problems)
    if found is None:
        lines = "; ".join(f"{problem.path}: {problem.message}" for problem in problems.found)
        hint = next((problem.hint for problem in problems.found if problem.hint), None)
        raise _unsupported(lines, hint)
    return found


def _unsupported(message: str, hint: str | None = None) -> ArgumentError:
    supported = f"supported are {', '.join(data_types.names())}, and raw bits as r8, r16, r24 …"
    return ArgumentError(message, argument="dtype", hint=f"{hint} {supported}" if hint else supported)

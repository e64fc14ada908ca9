"""Lookup of a data type by its member in a document, by a NumPy dtype, or by what a program gives."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from omnizarr._extension import call_extension, find_registered, parse_extension
from omnizarr._json import Json, Problems, as_document
from omnizarr.dtypes.contract import DataType, FromNumpy, Reader, data_types, from_numpy_rules, native_order
from omnizarr.dtypes.numbers.ml_dtypes_ import is_ml_dtype
from omnizarr.errors import ArgumentError

__all__ = ["data_type_of", "from_numpy", "is_raw_name", "parse_data_type"]

# The modules for NumPy's other dtype kinds, and for long doubles by their type character. Each has a function
# `of_numpy`. The first result that is not None is used.
_MODULES = {
    "G": ("numbers.long_double",),
    "g": ("numbers.long_double",),
    "M": ("datetime_",),
    "m": ("datetime_",),
    "S": ("fixed_bytes", "variable_bytes"),
    "T": ("string_",),
    "U": ("unicode_", "string_"),
    "V": ("raw", "struct_", "record"),
}

DEEPEST = 32  # nested types; a document can nest about 40, and each level takes several frames of Python's stack


def parse_data_type(value: Json, path: str, problems: Problems) -> DataType | None:
    """The data type of a `data_type` member, a name or an object (R12, R151); adds to `problems` if it is invalid."""
    if path.count(".configuration") > DEEPEST:  # each level adds one to the path
        problems.add(path, f"data types are nested more than {DEEPEST} levels deep", rule="R12")
        return None
    extension = parse_extension(value, path, problems, kind="data type", ignorable=False, obsolete=("fallback",))
    if extension is None:
        return None
    reader: Reader | None
    if is_raw_name(extension.name):
        from omnizarr.dtypes.raw import read_raw as reader  # lazy import: few arrays have raw bits
    else:
        reader = find_registered(extension, data_types, problems)
    if reader is None:
        return None
    data_type = call_extension(
        "data type", extension.name, path, problems, reader, extension.name, extension.configuration
    )
    if data_type is not None and data_type.core and isinstance(value, dict):
        problems.warn(path, f"the core data type `{data_type.name}` is written as a plain string", rule="R12")
    return data_type


def is_raw_name(name: str) -> bool:
    """Whether a name is `r` and a number, which may be invalid, or zarr-python's name for raw bits."""
    return name[:1] == "r" and (name == "raw_bytes" or (name[1:].isascii() and name[1:].isdigit()))


def from_numpy(dtype: np.dtype[Any]) -> DataType | None:
    """The data type for a NumPy dtype, or None. The byte order is ignored: the serializer stores it."""
    native = native_order(dtype)
    modules = ("numbers.ml_types",) if is_ml_dtype(dtype) else _MODULES.get(dtype.char) or _MODULES.get(dtype.kind, ())
    rules = (*from_numpy_rules, *map(_rule, modules))
    return next((data_type for rule in rules if (data_type := rule(native)) is not None), None)


def _rule(module: str) -> FromNumpy:
    rule: FromNumpy = import_module(f"omnizarr.dtypes.{module}").of_numpy
    return rule


def data_type_of(dtype: Any) -> DataType:
    """The data type from anything that `np.dtype` accepts, a name such as `r24`, the object form of a document, or a
    data type. `str` is text of any length, and `bytes` are bytes of any length."""
    if isinstance(dtype, DataType):
        return dtype
    data_type = _look_up(dtype)
    if data_type.only_read:
        raise ArgumentError(
            f"arrays of data type `{data_type.name}` can be read but not created, because the type or a part of it is "
            "not registered",
            argument="dtype",
            hint="store the bits as `uint8`, or the numbers as a registered type",
        )
    return data_type


def _look_up(dtype: Any) -> DataType:
    if isinstance(dtype, Mapping) and "name" in dtype:
        return _parse_name(dict(dtype))
    if isinstance(dtype, str) and (is_raw_name(dtype) or dtype in data_types):
        return _parse_name(dtype)
    try:
        if dtype is None:  # NumPy would read it as float64
            raise TypeError
        numpy_dtype = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        if isinstance(dtype, str):
            return _parse_name(dtype)  # an installed package may offer it
        raise _unsupported(f"{dtype!r} is not a data type") from None
    if numpy_dtype.kind == "O":
        raise ArgumentError(
            "dtype `object` does not define how to store the objects",
            argument="dtype",
            hint='choose "string" for text or "bytes" for bytes; v2 stores other objects with a codec for '
            "objects, such as `json2` or `msgpack2`",
        )
    data_type = from_numpy(numpy_dtype)
    if data_type is None:
        raise _unsupported(f"the NumPy data type `{numpy_dtype}` cannot be stored")
    return data_type


def _parse_name(value: Json) -> DataType:
    problems = Problems()
    data_type = parse_data_type(as_document(value), "dtype", problems)
    if data_type is None:
        message = "; ".join(f"{problem.path}: {problem.message}" for problem in problems.found)
        hint = next((problem.hint for problem in problems.found if problem.hint), None)
        raise _unsupported(message, hint)
    return data_type


def _unsupported(message: str, hint: str | None = None) -> ArgumentError:
    supported = f"supported are {', '.join(data_types.names())}, and raw bits as r8, r16, r24 …"
    return ArgumentError(message, argument="dtype", hint=f"{hint} {supported}" if hint else supported)

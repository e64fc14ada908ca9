"""Records with padding between fields, or with fields that are arrays. `struct` cannot express them; v2 stores
them in NumPy's memory layout."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from omnizarr._json import Json, Problems, from_base64
from omnizarr.dtypes.contract import LARGEST_ITEM, DataType, Scalar, exact_scalar
from omnizarr.dtypes.lookup import DEEPEST, from_numpy
from omnizarr.dtypes.record_padding import has_padding, leaf_types, native_layout, zeroed_padding
from omnizarr.dtypes.sanitize import Sanitizer
from omnizarr.dtypes.typestr import dump_typestr
from omnizarr.errors import ArgumentError

__all__ = ["Record", "data_type_of_stored", "fill_from_bytes", "fill_to_bytes", "of_numpy"]


@dataclass(frozen=True, slots=True)
class Record(DataType):
    """A NumPy record with its offsets and its size, in native byte order. Not registered, because no document of
    v3 can express it."""

    private: ClassVar[bool] = True

    name: str = field(init=False, default="record")
    dtype: np.dtype[Any]

    def __post_init__(self) -> None:
        wrong = None
        if not self.dtype.names:
            wrong = "a record needs at least one field"
        elif self.dtype.itemsize > LARGEST_ITEM:
            wrong = f"a record of more than {LARGEST_ITEM} bytes"
        elif _depth(self.dtype) > DEEPEST:
            wrong = f"records are nested more than {DEEPEST} levels deep"
        else:
            for path, leaf in leaf_types(self.dtype):
                kind = from_numpy(leaf)
                if kind is None or not kind.fixed_size:
                    wrong = f"the field `{'.'.join(path)}` of a record cannot be of type {leaf}"
        if wrong:
            raise ArgumentError(wrong, argument="dtype")
        dump_typestr(self.dtype, units=False)  # rejects fields that overlap
        object.__setattr__(self, "dtype", native_layout(self.dtype))

    def to_json(self) -> Json:
        """For display only: no document contains it."""
        return {"name": self.name, "configuration": {"dtype": dump_typestr(self.dtype, units=False)}}

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        """From base64 text of the element's bytes in little-endian order."""
        data = from_base64(value)
        if data is None:
            problems.expected(path, f"base64 text of {self.dtype.itemsize} bytes", value, rule="V11")
            return None
        return fill_from_bytes(data, self.dtype.newbyteorder("<"), path, problems)

    def dump_fill(self, fill: Scalar) -> Json:
        return base64.b64encode(fill_to_bytes(fill, self.dtype.newbyteorder("<"))).decode()

    def cast_fill(self, value: Any) -> Scalar:
        """From a NumPy record, a tuple in the order of the fields, or a mapping from field names to values."""
        exact = exact_scalar(value, self.dtype)
        if exact is not None:
            return exact
        names = self.dtype.names or ()
        if isinstance(value, Mapping) and set(value) == set(names):
            value = tuple(value[name] for name in names)
        if isinstance(value, str) and (data := from_base64(value)) is not None and len(data) == self.dtype.itemsize:
            return DataType.cast_fill(self, value)
        if isinstance(value, list):
            value = tuple(value)
        same_names = isinstance(value, (np.void, np.ndarray)) and value.dtype.names == names
        if same_names or (isinstance(value, tuple) and len(value) == len(names)):
            try:
                record = np.zeros((), self.dtype)
                record[()] = value
                return record
            except (TypeError, ValueError, OverflowError) as error:
                raise self._rejection(value, str(error)) from None
        raise self._rejection(value, f"expected a value for each of the fields {', '.join(names)}")

    def _rejection(self, value: Any, why: str) -> ArgumentError:
        return ArgumentError(f"fill value of `{self.name}`: {value!r:.60}: {why}", argument="fill_value")


def _depth(dtype: np.dtype[Any]) -> int:
    dtype = dtype.base
    return 0 if dtype.fields is None else 1 + max(_depth(dtype.fields[name][0]) for name in dtype.names or ())


def data_type_of_stored(dtype: np.dtype[Any]) -> DataType | None:
    """The data type of elements that are stored exactly as `dtype`; None if there is none. Unlike `from_numpy` it keeps
    the padding of records, which new arrays do not need."""
    try:
        return Record(dtype) if dtype.names and has_padding(dtype) else from_numpy(dtype)
    except ArgumentError:
        return None


def fill_from_bytes(data: bytes, stored: np.dtype[Any], path: str, problems: Problems) -> Scalar | None:
    """The fill value from its bytes in the dtype `stored`; native, with zeros as padding."""
    if len(data) != stored.itemsize:
        problems.add(path, f"expected {stored.itemsize} bytes, found {len(data)}", rule="V11")
        return None
    native = native_layout(stored)
    record = zeroed_padding(np.frombuffer(data, stored).reshape(()), native)
    try:
        return Sanitizer(native).sanitize(record.copy())
    except ValueError as error:
        problems.add(path, str(error), rule="V11")
        return None


def fill_to_bytes(fill: Scalar, stored: np.dtype[Any]) -> bytes:
    """The bytes of a fill value in the dtype `stored`."""
    return zeroed_padding(fill, stored).tobytes()


def of_numpy(dtype: np.dtype[Any]) -> Record | None:
    return Record(dtype) if dtype.names else None  # `struct` has been tried before

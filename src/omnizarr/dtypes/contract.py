"""The contract of a data type: a name in metadata, a NumPy dtype in memory, and the JSON form of its fill values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems, is_integer
from omnizarr._registry import Registry
from omnizarr.dtypes.numbers.ml_dtypes_ import (
    COMPLEX_NAMES,
    check_subbyte_values,
    clear_unused_bits,
    is_ml_dtype,
    subbyte_fields,
)
from omnizarr.errors import ArgumentError

__all__ = [
    "LARGEST_ITEM",
    "DataType",
    "FromNumpy",
    "Reader",
    "Scalar",
    "as_elements",
    "as_json_value",
    "data_types",
    "exact_scalar",
    "from_numpy_rules",
    "native_order",
    "plain_reader",
    "read_length",
    "register_plain",
]

Scalar: TypeAlias = npt.NDArray[Any]
"""One element: a 0-d array of the type's dtype. (NumPy scalars would lose the field order and raw bits.)"""

LARGEST_ITEM = 2**27
"""The largest size of an element, in bytes. Opening an array allocates its fill value, so a short document must not be
able to request gigabytes. The fill value of a larger element would not fit in a document of 256 MiB, the default
limit."""


@dataclass(frozen=True, slots=True)
class DataType(ABC):
    """A data type: an immutable value with equality and a hash, which can be pickled."""

    name: str
    """The name in metadata, for example `int16`, `r24` or `struct`."""
    dtype: np.dtype[Any]
    """The NumPy dtype in memory, in native byte order."""

    core: ClassVar[bool] = False
    """Whether the core specification defines it. Such a type is written as a plain string (R12)."""
    serializer: ClassVar[str | None] = "bytes"
    """The default array → bytes codec; None if there is none."""
    private: ClassVar[bool] = False
    """Whether v3 has no name for it, because only other generations can store it."""
    fallback: ClassVar[Json] = None
    """One or a list of types, by name, as which readers that do not know this type may read its elements, in
    generations that have fallback types. None stands for raw bytes."""

    @property
    def only_v3(self) -> bool:
        """Whether no older generation has a name for it."""
        return False

    @property
    def only_read(self) -> bool:
        """Whether arrays of it can be read but not created, because a writer uses it and its name is not registered."""
        return False

    @property
    def fixed_size(self) -> bool:
        """Whether every element has the same number of bytes."""
        return not self.dtype.hasobject

    def to_json(self) -> Json:
        """The `data_type` member: a plain string for types without configuration (R12, A32)."""
        return self.name

    def default_fill(self) -> Scalar:
        """The fill value of a new array if the user gives none (R16): zero."""
        return np.zeros((), self.dtype)

    @abstractmethod
    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        """The fill value in a document; adds to `problems` and returns None if `value` is invalid."""

    @abstractmethod
    def dump_fill(self, fill: Scalar) -> Json:
        """The canonical JSON form of a fill value."""

    def cast_fill(self, value: Any) -> Scalar:
        """The fill value from a Python or NumPy scalar, or from its JSON form. ArgumentError if the type cannot
        represent it. Only floats are rounded."""
        exact = exact_scalar(value, self.dtype)
        if exact is not None:
            return exact
        problems = Problems()
        fill = self.parse_fill(as_json_value(value), "fill_value", problems)
        if fill is None:
            first = problems.found[0]
            raise ArgumentError(f"fill value of `{self.name}`: {first.message}", argument="fill_value", hint=first.hint)
        return fill

    def elements(self, value: Any) -> npt.NDArray[Any]:
        """An assigned value as an array; an error if its elements cannot be converted to this type."""
        return as_elements(value, self.dtype)

    def element(self, value: Any) -> npt.NDArray[Any]:
        """The same for an assignment to a single element. If elements are objects, a list may be one."""
        return self.elements(value)


def as_elements(value: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """A value as an array that can be assigned to elements of `dtype`.

    Numbers of another type stay as they are and are converted chunk by chunk. Values whose conversion may fail are
    converted at once, so that the error occurs before anything is written."""
    if dtype.isbuiltin != 1 and subbyte_fields(dtype):
        check_subbyte_values(value, dtype)
        return clear_unused_bits(np.asarray(value, dtype))
    if not isinstance(value, (np.ndarray, np.generic)) and not hasattr(value, "__array__"):
        return np.asarray(value, dtype)
    array = np.asarray(value)
    if array.dtype == dtype or (array.dtype.kind in "biufc" and dtype.kind in "biufc"):
        return array
    return array.astype(dtype)


def native_order(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """`dtype` in the byte order of this machine, also inside records."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")  # NumPy's string dtype does not support newbyteorder


def exact_scalar(value: Any, dtype: np.dtype[Any]) -> Scalar | None:
    """A bitwise copy of `value` without unused bits, if it is a scalar of `dtype` in any byte order; otherwise None."""
    if isinstance(value, (float, complex, np.generic, np.ndarray)):
        array = np.asarray(value)
        if array.ndim == 0 and native_order(array.dtype) == dtype:
            return clear_unused_bits(array.astype(dtype))
    return None


def as_json_value(value: Any) -> Json:
    """A Python or NumPy value in the form that a document has."""
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.name in COMPLEX_NAMES:
            value = value.astype(np.complex64)
        if value.dtype.kind in "biufc" or is_ml_dtype(value.dtype):
            value = value.tolist()
    if isinstance(value, np.floating):  # a long double, for which Python has no type
        return float(value)
    if isinstance(value, (complex, np.complexfloating)):
        return [float(value.real), float(value.imag)]
    if isinstance(value, (list, tuple)):
        return [as_json_value(item) for item in value]
    return value


Reader: TypeAlias = Callable[[str, dict[str, Json], str, Problems], DataType | None]
"""Reads a data type from (name, configuration, JSON path of the data type, problems)."""


def as_reader(item: Any) -> Reader:
    """The reader of a registered data type: a function or, for a type without configuration, the type or its class."""
    if isinstance(item, type) and issubclass(item, DataType):
        make: Callable[[], DataType] = item
        item = make()  # TypeError if it needs arguments: such a type needs a function as reader
    if isinstance(item, DataType):
        return plain_reader(item)
    if isinstance(item, type) or not callable(item):
        raise TypeError(f"expected a `DataType`, or a function that reads one, found {item!r}")
    reader: Reader = item
    return reader


data_types: Registry[Reader] = Registry("data type", "omnizarr.data_types", as_reader)

FromNumpy: TypeAlias = Callable[[np.dtype[Any]], DataType | None]
"""Returns the data type for a NumPy dtype in native byte order, or None."""

from_numpy_rules: list[FromNumpy] = []
"""The rules of plain types and of extensions. The first result that is not None is used."""


def plain_reader(data_type: DataType) -> Reader:
    """The reader of a type without configuration."""

    def read(name: str, configuration: dict[str, Json], path: str, problems: Problems) -> DataType | None:
        check_members(configuration, (), f"{path}.configuration", problems, rule="R12")
        return None if configuration else data_type

    return read


def register_plain(data_type: DataType, *, aliases: tuple[str, ...] = ()) -> None:
    """Register a type without configuration for its name and its NumPy dtype."""
    data_types.register(data_type.name, plain_reader(data_type), aliases=aliases)
    from_numpy_rules.append(lambda dtype: data_type if dtype == data_type.dtype else None)


def read_length(configuration: dict[str, Json], path: str, problems: Problems, *, unit: int = 1) -> int | None:
    """The member `length_bytes`, a multiple of `unit`; adds to `problems` and returns None if it is invalid."""
    before = len(problems.found)
    check_members(configuration, ("length_bytes",), f"{path}.configuration", problems, rule="R147")
    size = configuration.get("length_bytes")
    if not is_integer(size) or not 0 < size <= LARGEST_ITEM or size % unit:
        number = f"a multiple of {unit}" if unit > 1 else "an integer"
        problems.expected(
            f"{path}.configuration.length_bytes", f"{number} from {unit} to {LARGEST_ITEM}", size, rule="R147"
        )
        return None
    return size if len(problems.found) == before else None

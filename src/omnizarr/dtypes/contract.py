"""What a data type is: a name in metadata, a NumPy type in memory, and the spelling of its fill values."""

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
"""One element: a 0-d array of the type's dtype (NumPy scalars lose field order and raw bits on the way)."""

LARGEST_ITEM = 2**27
"""Bytes that one element may have. Opening an array makes its fill value, so a short document must not be able to ask
for gigabytes; and the fill value of a larger element would not fit into a document of the default limit (256 MiB)."""


@dataclass(frozen=True, slots=True)
class DataType(ABC):
    """A data type: a value that compares equal, hashes, pickles and never changes."""

    name: str
    """As metadata spells it, for example `int16`, `r24` or `struct`."""
    dtype: np.dtype[Any]
    """In memory, in native byte order."""

    core: ClassVar[bool] = False
    """Whether the core specification defines it; such a type is written as a plain string (R12)."""
    serializer: ClassVar[str | None] = "bytes"
    """The array → bytes codec that stores it, if nothing else is said; None if there is no usual one."""
    private: ClassVar[bool] = False
    """Whether version 3 has no spelling for it: it stands for something that only other generations can store."""

    @property
    def only_v3(self) -> bool:
        """Whether the specifications of all older generations have no spelling for it, whatever its NumPy type."""
        return False

    @property
    def only_read(self) -> bool:
        """Whether some writer has it and nobody registered it: arrays of it are read, and no new ones are made."""
        return False

    @property
    def fixed_size(self) -> bool:
        """Whether every element has the same number of bytes."""
        return not self.dtype.hasobject

    def to_json(self) -> Json:
        """The `data_type` member: a plain string for types without configuration (R12, A32)."""
        return self.name

    def default_fill(self) -> Scalar:
        """The fill value that is recorded when the user gives none (R16): zero."""
        return np.zeros((), self.dtype)

    @abstractmethod
    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        """The fill value that a document spells so; adds to `problems` and gives None if it spells none."""

    @abstractmethod
    def dump_fill(self, fill: Scalar) -> Json:
        """The canonical spelling of a fill value."""

    def cast_fill(self, value: Any) -> Scalar:
        """The fill value that a program gives: a Python or NumPy scalar, or a document's spelling of one.
        ArgumentError if the type cannot hold it; only a float may be rounded."""
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
        """What a user assigns, as an array; refused at once if its elements are not of this type."""
        return as_elements(value, self.dtype)

    def element(self, value: Any) -> npt.NDArray[Any]:
        """The same where it is assigned to a single element: a list may be one, if elements are objects."""
        return self.elements(value)


def as_elements(value: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """A value as NumPy would take it for assignment to elements of `dtype`.

    Numbers of another kind are left as they are, to be converted chunk by chunk; whatever may turn out not to be a
    number, or not to fit, is converted at once, so that it is refused before anything is written."""
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
    """`dtype` in the byte order of this machine, within records too."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")  # NumPy's string type does not know newbyteorder


def exact_scalar(value: Any, dtype: np.dtype[Any]) -> Scalar | None:
    """A copy of `value`, bit for bit where bits count, if it is a scalar of that very dtype in any byte order; else
    None."""
    if isinstance(value, (float, complex, np.generic, np.ndarray)):
        array = np.asarray(value)
        if array.ndim == 0 and native_order(array.dtype) == dtype:
            return clear_unused_bits(array.astype(dtype))
    return None


def as_json_value(value: Any) -> Json:
    """A Python or NumPy value as a document would hold it."""
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.name in COMPLEX_NAMES:
            value = value.astype(np.complex64)
        if value.dtype.kind in "biufc" or is_ml_dtype(value.dtype):
            value = value.tolist()
    if isinstance(value, np.floating):  # a long double, which has no Python twin
        return float(value)
    if isinstance(value, (complex, np.complexfloating)):
        return [float(value.real), float(value.imag)]
    if isinstance(value, (list, tuple)):
        return [as_json_value(item) for item in value]
    return value


Reader: TypeAlias = Callable[[str, dict[str, Json], str, Problems], DataType | None]
"""Reads a data type: (name, configuration, JSON path of the whole, problems)."""


def as_reader(found: Any) -> Reader:
    """What is registered of a data type: the function that reads it; or, of a type without configuration, the type
    itself or its class."""
    if isinstance(found, type) and issubclass(found, DataType):
        made: Callable[[], DataType] = found
        found = made()  # TypeError if it needs arguments: then a function must read it
    if isinstance(found, DataType):
        return plain_reader(found)
    if isinstance(found, type) or not callable(found):
        raise TypeError(f"expected a `DataType`, or a function that reads one, found {found!r}")
    reader: Reader = found
    return reader


data_types: Registry[Reader] = Registry("data type", "omnizarr.data_types", as_reader)

FromNumpy: TypeAlias = Callable[[np.dtype[Any]], DataType | None]
"""Tells the data type that stores a NumPy dtype of native byte order, or None."""

from_numpy_rules: list[FromNumpy] = []
"""Asked in turn, for plain types and those of others; the first answer counts."""


def plain_reader(data_type: DataType) -> Reader:
    """Reads a type that has no configuration."""

    def read(name: str, configuration: dict[str, Json], path: str, problems: Problems) -> DataType | None:
        check_members(configuration, (), f"{path}.configuration", problems)
        return None if configuration else data_type

    return read


def register_plain(data_type: DataType, *, aliases: tuple[str, ...] = ()) -> None:
    """Registers a type that has no configuration: under its name, and for its NumPy dtype."""
    data_types.register(data_type.name, plain_reader(data_type), aliases=aliases)
    from_numpy_rules.append(lambda dtype: data_type if dtype == data_type.dtype else None)


def read_length(configuration: dict[str, Json], path: str, problems: Problems, *, unit: int = 1) -> int | None:
    """How many bytes, a multiple of `unit`; None, and what is wrong."""
    before = len(problems.found)
    check_members(configuration, ("length_bytes",), f"{path}.configuration", problems)
    size = configuration.get("length_bytes")
    if not is_integer(size) or not 0 < size <= LARGEST_ITEM or size % unit:
        number = f"a multiple of {unit}" if unit > 1 else "an integer"
        problems.expected(f"{path}.configuration.length_bytes", f"{number} from {unit} to {LARGEST_ITEM}", size)
        return None
    return size if len(problems.found) == before else None

"""What a data type is: a name in metadata, a NumPy type in memory, and the spelling of its fill values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems
from omnizarr._registry import Registry
from omnizarr.errors import ArgumentError

__all__ = [
    "LARGEST_ITEM",
    "DataType",
    "Reader",
    "Scalar",
    "data_types",
    "from_numpy_rules",
    "native_order",
    "register_plain",
    "same_type",
    "spelled",
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
        exact = same_type(value, self.dtype)
        if exact is not None:
            return exact
        problems = Problems()
        fill = self.parse_fill(spelled(value), "fill_value", problems)
        if fill is None:
            first = problems.found[0]
            raise ArgumentError(f"fill value of `{self.name}`: {first.message}", argument="fill_value", hint=first.hint)
        return fill


def native_order(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """`dtype` in the byte order of this machine, within records too."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")  # NumPy's string type does not know newbyteorder


def same_type(value: Any, dtype: np.dtype[Any]) -> Scalar | None:
    """A copy of `value`, bit for bit, if it is a scalar of that very dtype in any byte order; else None."""
    if isinstance(value, (float, complex, np.generic, np.ndarray)):
        array = np.asarray(value)
        if array.ndim == 0 and native_order(array.dtype) == dtype:
            return array.astype(dtype)
    return None


def spelled(value: Any) -> Json:
    """A Python or NumPy value as a document would hold it."""
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc":
        value = value.tolist()
    if isinstance(value, np.floating):  # a long double, which has no Python twin
        return float(value)
    if isinstance(value, (complex, np.complexfloating)):
        return [float(value.real), float(value.imag)]
    if isinstance(value, (list, tuple)):
        return [spelled(item) for item in value]
    return value


Reader: TypeAlias = Callable[[str, dict[str, Json], str, Problems], DataType | None]
"""Reads a data type: (name, configuration, JSON path of the whole, problems)."""

data_types: Registry[Reader] = Registry("data type", "omnizarr.data_types")

from_numpy_rules: list[Callable[[np.dtype[Any]], DataType | None]] = []
"""Asked in turn for the data type that stores a NumPy dtype of native byte order; the first answer counts."""


def register_plain(data_type: DataType, *, aliases: tuple[str, ...] = ()) -> None:
    """Registers a type that has no configuration: under its name, and for its NumPy dtype."""

    def read(name: str, configuration: dict[str, Json], path: str, problems: Problems) -> DataType | None:
        check_members(configuration, (), f"{path}.configuration", problems)
        return None if configuration else data_type

    data_types.register(data_type.name, read, aliases=aliases)
    from_numpy_rules.append(lambda dtype: data_type if dtype == data_type.dtype else None)

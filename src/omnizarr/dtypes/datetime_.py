"""`numpy.datetime64` and `numpy.timedelta64`: points in time and durations, counted in 64 bits (R148)."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems, is_integer
from omnizarr.dtypes.contract import DataType, Scalar, exact_scalar
from omnizarr.errors import ArgumentError

__all__ = ["UNITS", "Datetime", "of_numpy", "read_datetime", "unit_of"]

UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic")
_MOST = 2**31 - 1
_NOT_A_TIME = -(2**63)
_MICRO = ("\u03bcs", "\u00b5s")  # the Greek letter mu, and the micro sign (A41)


def unit_of(text: str) -> str:
    """The unit in NumPy's notation. Microseconds have three notations."""
    return "us" if text in _MICRO else text


@dataclass(frozen=True, slots=True)
class Datetime(DataType):
    """A count of `scale_factor` units. Points in time count from 1970."""

    name: str = field(init=False)
    dtype: np.dtype[Any] = field(init=False)
    kind: Literal["datetime64", "timedelta64"]
    unit: str
    scale_factor: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", unit_of(self.unit))
        if self.kind not in ("datetime64", "timedelta64") or self.unit not in UNITS:
            raise ArgumentError(f"there is no data type {self.kind} in units of {self.unit!r}", argument="dtype")
        if not is_integer(self.scale_factor) or not 1 <= self.scale_factor <= _MOST:
            raise ArgumentError(
                f"`scale_factor`: expected an integer from 1 to {_MOST}, found {self.scale_factor!r}", argument="dtype"
            )
        object.__setattr__(self, "name", f"numpy.{self.kind}")
        object.__setattr__(self, "dtype", np.dtype(f"{self.kind}[{self.scale_factor}{self.unit}]"))

    def to_json(self) -> Json:
        return {"name": self.name, "configuration": {"unit": self.unit, "scale_factor": self.scale_factor}}

    def default_fill(self) -> Scalar:
        """NaT, "not a time", because zero would be a time in 1970."""
        return self._from_integer(_NOT_A_TIME)

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        if value == "NaT":
            return self.default_fill()
        if is_integer(value) and value == 2**63:  # zarr-python 2.2 wrote NaT without its sign
            problems.warn(path, f'{value} is read as "NaT"', rule="R148")
            return self.default_fill()
        if not is_integer(value) or not -(2**63) <= value < 2**63:
            problems.expected(path, '"NaT" or an integer of 64 bits', value, rule="R148")
            return None
        return self._from_integer(value)

    def dump_fill(self, fill: Scalar) -> Json:
        number = int(fill.view(np.int64))
        return "NaT" if number == _NOT_A_TIME else number

    def cast_fill(self, value: Any) -> Scalar:
        """Also from a NumPy time in other units, Python's datetime and timedelta, and a date as text, if the conversion
        is exact."""
        exact = exact_scalar(value, self.dtype)
        if exact is not None:
            return exact
        if isinstance(value, str) and self.kind == "datetime64" and value != "NaT":
            try:
                value = np.datetime64(value)
            except ValueError:
                raise self._rejection(value) from None
        elif isinstance(value, (datetime.date, datetime.timedelta)):
            if isinstance(value, datetime.datetime) and value.tzinfo is not None:
                raise self._rejection(value, "it has a time zone: convert it to UTC and remove the time zone")
            value = np.asarray(value, self.kind)[()]
        if isinstance(value, (np.datetime64, np.timedelta64, np.ndarray)) and np.asarray(value).dtype.kind in "mM":
            return self._convert(np.asarray(value))
        if isinstance(value, np.integer):
            value = int(value)
        return DataType.cast_fill(self, value)

    def _convert(self, value: Scalar) -> Scalar:
        if value.ndim or value.dtype.kind != self.dtype.kind:
            raise self._rejection(value)
        if np.isnat(value):
            return self.default_fill()
        try:
            converted = value.astype(self.dtype)
            inexact = bool(np.isnat(converted)) or bool(converted.astype(value.dtype) != value)
        except (TypeError, ValueError, OverflowError):  # months have no fixed number of days
            inexact = True
        if inexact:
            raise self._rejection(value, f"it is not a whole number of {self.scale_factor} {self.unit}")
        return converted

    def _rejection(self, value: Any, hint: str | None = None) -> ArgumentError:
        return ArgumentError(
            f"fill value of `{self.name}`: {value} cannot be converted to {self.dtype}",
            argument="fill_value",
            hint=hint,
        )

    def _from_integer(self, number: int) -> Scalar:
        return np.array(number, np.int64).view(self.dtype)


def read_datetime(name: str, configuration: dict[str, Json], path: str, problems: Problems) -> Datetime | None:
    """Reads `{"unit": "ns", "scale_factor": 1}`. Both members are required."""
    before = len(problems.found)
    where = f"{path}.configuration"
    check_members(configuration, ("unit", "scale_factor"), where, problems, rule="R148")
    unit, factor = configuration.get("unit"), configuration.get("scale_factor")
    if not isinstance(unit, str) or unit_of(unit) not in UNITS:
        problems.expected(f"{where}.unit", f"one of {', '.join(UNITS)}", unit, rule="R148")
    if not is_integer(factor) or not 1 <= factor <= _MOST:
        problems.expected(f"{where}.scale_factor", f"an integer from 1 to {_MOST}", factor, rule="R148")
    if len(problems.found) > before or not isinstance(unit, str) or not is_integer(factor):
        return None
    return Datetime("datetime64" if name == "numpy.datetime64" else "timedelta64", unit, factor)


def of_numpy(dtype: np.dtype[Any]) -> Datetime | None:
    if dtype.kind not in "mM":
        return None
    unit, factor = np.datetime_data(dtype)
    return Datetime("datetime64" if dtype.kind == "M" else "timedelta64", unit, factor)

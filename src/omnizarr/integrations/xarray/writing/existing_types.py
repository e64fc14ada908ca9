"""Whether an array that exists can hold the values of a variable. xarray converts what it cannot hold, and loses it."""

from __future__ import annotations

from typing import Any

import numpy as np
from xarray import Variable

from omnizarr.errors import ArgumentError
from omnizarr.integrations.xarray.decode import is_time_unit
from omnizarr.nodes import Array

__all__ = ["check_kinds", "check_text_lengths", "check_time_units"]

_TEXT, _NUMBERS = "SUT", "biufcmM"  # kinds of types


def check_kinds(variable: Variable, name: str, array: Array, stored: Variable) -> None:
    """Raises for text instead of numbers, complex instead of real numbers, and differences of times instead of times.

    `stored` is the variable of the array, decoded. Objects are not checked: their values decide.
    """
    new, old, decoded = variable.dtype.kind, array.dtype.kind, stored.dtype.kind
    if (
        (new in _TEXT and old in _NUMBERS)
        or (new in _NUMBERS and old in _TEXT)
        or (new == "c" and old in "biuf")
        or {new, decoded} == {"m", "M"}
    ):
        dtype = stored.dtype if decoded in "mM" else array.dtype
        raise ArgumentError(
            f"variable `{name}` exists with the type {dtype}, which cannot hold values of the type {variable.dtype}",
            argument="dataset",
        )


def check_text_lengths(variable: Variable, name: str, array: Array) -> None:
    """Raises for text that is longer than that of the array. The lengths of objects are known only in memory."""
    if array.dtype.kind not in "SU" or variable.dtype.kind not in "SUTO":
        return
    if array.ndim != variable.ndim:  # single characters: the check of dimensions finds longer text
        return
    dtype = variable.dtype
    if dtype.kind in "TO":
        if variable.chunks is not None or not variable.size:
            return
        try:
            dtype = np.asarray(variable.values).astype(object).astype(array.dtype.kind).dtype
        except UnicodeEncodeError as error:
            raise ArgumentError(
                f"variable `{name}` exists with the type {array.dtype}, which cannot hold the text: {error}",
                argument="dataset",
            ) from None
    if _characters(dtype) > _characters(array.dtype):
        raise ArgumentError(
            f"variable `{name}` exists with the type {array.dtype}, which cuts off values of the type {dtype}",
            argument="dataset",
        )


def _characters(dtype: np.dtype[Any]) -> int:
    return dtype.itemsize // (4 if dtype.kind == "U" else 1)


def check_time_units(variable: Variable, encoded: Variable, name: str, stored: Variable) -> None:
    """Raises if times were encoded in other units than those of the array.

    xarray does so if they are no whole numbers in those of the array, and only warns; and if the array has none.
    """
    old, new = _units(stored), encoded.attrs.get("units")
    if not is_time_unit(new) or new == variable.attrs.get("units"):
        return
    if not is_time_unit(old):
        raise ArgumentError(
            f"variable `{name}` exists without units of time, so that its type {stored.dtype} cannot hold times",
            argument="dataset",
        )
    # xarray spells units in its own way; the first word tells whether they are others.
    if _first_word(old) != _first_word(new):
        raise ArgumentError(
            f"variable `{name}` exists with the units {old!r} and the type {stored.encoding.get('dtype')}, which "
            f"cannot hold the new values: they need {new!r}",
            argument="dataset",
            hint="give `units` or a floating-point `dtype` in the encoding when the variable is created",
        )


def _units(stored: Variable) -> Any:
    return stored.encoding.get("units", stored.attrs.get("units"))


def _first_word(units: str) -> str:
    return units.split()[0].lower().rstrip("s")

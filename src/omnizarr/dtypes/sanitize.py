"""Stored values that NumPy cannot represent: booleans other than 0 and 1, characters beyond Unicode, and unused bits of
numbers shorter than a byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.dtypes.numbers.ml_dtypes_ import clear_unused_bits, extend_signs, subbyte_fields
from omnizarr.dtypes.record_padding import leaf_types

__all__ = ["Sanitizer"]

_LAST_CHARACTER = 0x10FFFF


class Sanitizer:
    """Replaces or rejects invalid values of a dtype. False if every value of the dtype is valid."""

    __slots__ = ("_bools", "_subbyte", "_texts")

    def __init__(self, dtype: np.dtype[Any]) -> None:
        leaves = list(leaf_types(dtype))
        self._bools = [path for path, leaf in leaves if leaf.kind == "b"]
        self._subbyte = subbyte_fields(dtype)
        self._texts = [
            (path, np.dtype((np.dtype(f"{leaf.byteorder}u4"), (leaf.itemsize // 4,))))
            for path, leaf in leaves
            if leaf.kind == "U"
        ]

    def __bool__(self) -> bool:
        return bool(self._bools or self._texts or self._subbyte)

    def sanitize(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A decoded array with valid values: `array` itself, or a copy in which booleans other than 0 are 1 (R87), as
        in C, and unused bits are zero (R141). ValueError if it has a character beyond Unicode."""
        for path, characters in self._texts:
            field = _field(array, path).view(characters)
            if field.size and field.max() > _LAST_CHARACTER:
                raise ValueError(f"there is no character {int(field.max()):#x}")
        return self._with_true_as_one(clear_unused_bits(array) if self._subbyte else array)

    def to_stored(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """`array`, or a copy, with the bits that are stored."""
        return self._with_true_as_one(extend_signs(array) if self._subbyte else array)

    def _with_true_as_one(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """`array` itself if each boolean in it is 0 or 1; otherwise a copy in which each is."""
        fields = (_field(array, path).view(np.uint8) for path in self._bools)
        if any(field.size and field.max() > 1 for field in fields):
            array = array.copy()
            for path in self._bools:
                field = _field(array, path).view(np.uint8)
                np.minimum(field, 1, out=field)
        return array


def _field(array: npt.NDArray[Any], path: tuple[str, ...]) -> npt.NDArray[Any]:
    for name in path:
        array = array[name]
    return array

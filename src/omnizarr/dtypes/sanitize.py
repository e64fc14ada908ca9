"""Elements that NumPy cannot compute with, whoever stored them: booleans other than 0 and 1, text beyond Unicode, and
numbers of less than a byte with something above them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.dtypes.numbers.ml_dtypes_ import clear_unused_bits, extend_signs, subbyte_fields
from omnizarr.dtypes.record_padding import leaf_types

__all__ = ["Sanitizer"]

_LAST_CHARACTER = 0x10FFFF


class Sanitizer:
    """Looks at what a type can hold that is not sound; false if that is nothing."""

    __slots__ = ("_bools", "_small", "_texts")

    def __init__(self, dtype: np.dtype[Any]) -> None:
        found = list(leaf_types(dtype))
        self._bools = [path for path, leaf in found if leaf.kind == "b"]
        self._small = subbyte_fields(dtype)
        self._texts = [
            (path, np.dtype((np.dtype(f"{leaf.byteorder}u4"), (leaf.itemsize // 4,))))
            for path, leaf in found
            if leaf.kind == "U"
        ]

    def __bool__(self) -> bool:
        return bool(self._bools or self._texts or self._small)

    def sanitize(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """`array` itself if all is sound; a copy in which every other boolean is true (R87), as C made of it, and what
        does not count is zero (R141); or ValueError if there is text that cannot be mended."""
        for path, characters in self._texts:
            part = _part(array, path).view(characters)
            if part.size and part.max() > _LAST_CHARACTER:
                raise ValueError(f"there is no character {int(part.max()):#x}")
        return self._with_true_as_one(clear_unused_bits(array) if self._small else array)

    def to_stored(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """`array` itself, or a copy, as it is to be stored."""
        return self._with_true_as_one(extend_signs(array) if self._small else array)

    def _with_true_as_one(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """`array` itself if every boolean in it is 0 or 1, else a copy in which it is so."""
        parts = (_part(array, path).view(np.uint8) for path in self._bools)
        if any(part.size and part.max() > 1 for part in parts):
            array = array.copy()
            for path in self._bools:
                part = _part(array, path).view(np.uint8)
                np.minimum(part, 1, out=part)
        return array


def _part(array: npt.NDArray[Any], path: tuple[str, ...]) -> npt.NDArray[Any]:
    for name in path:
        array = array[name]
    return array

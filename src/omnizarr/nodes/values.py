"""What a user assigns, made ready for the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["as_value"]


def as_value(value: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """A value as NumPy would take it for assignment to elements of `dtype`.

    Numbers of another kind are left as they are, to be converted chunk by chunk; whatever may turn out not to be a
    number, or not to fit, is converted at once, so that it is refused before anything is written."""
    if not isinstance(value, (np.ndarray, np.generic)) and not hasattr(value, "__array__"):
        return np.asarray(value, dtype)
    array = np.asarray(value)
    if array.dtype == dtype or (array.dtype.kind in "biufc" and dtype.kind in "biufc"):
        return array
    return array.astype(dtype)

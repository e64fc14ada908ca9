"""Types that are arrays themselves: as in NumPy, an array of them is an array of more dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["longer", "unfolded"]


def unfolded(dtype: Any) -> tuple[Any, tuple[int, ...]]:
    """What a user gives as dtype, without the array that its elements are, and the shape of that array."""
    if not isinstance(dtype, (np.dtype, tuple, str)):
        return dtype, ()
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        return dtype, ()
    return (dtype, ()) if found.subdtype is None else (found.base, found.shape)


def longer(lengths: Any, rank: int, more: tuple[Any, ...]) -> Any:
    """Lengths, or names, of `rank` dimensions, with those of further dimensions behind them. What is given for all of
    them, or is no list of lengths, stays as it is."""
    if not more or isinstance(lengths, (str, bool)) or lengths is None:
        return lengths
    given = tuple(lengths) if isinstance(lengths, Iterable) else (lengths,) * rank
    return (*given, *more) if len(given) == rank else lengths

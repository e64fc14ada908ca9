"""The key that is one boolean mask over an array of one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.config import config
from omnizarr.indexing.selection import Selection
from omnizarr.native import kernel

__all__ = ["mask_selection"]

_SPARSE = 64  # a mask is sparse if less than one in 64 elements is true
_LONG = 2**20  # elements; in a longer mask the kernel searches faster than NumPy


def mask_selection(key: tuple[Any, ...], shape: tuple[int, ...]) -> Selection | None:
    """The selection of a boolean mask over an array of one dimension; None if `key` is anything else.

    The selection keeps the mask, because indices take 8 bytes where the mask takes one. A sparse mask becomes indices.
    """
    if len(key) != 1 or len(shape) != 1 or not isinstance(key[0], np.ndarray):
        return None
    mask = key[0]
    if mask.dtype != bool or mask.shape != shape:
        return None
    count, indices = _count_true(mask)
    return Selection((mask if indices is None else indices,), (), (count,), (count,))


def _count_true(mask: npt.NDArray[np.bool_]) -> tuple[int, npt.NDArray[np.intp] | None]:
    """The number of true elements and, if the mask is sparse, their indices. The kernel searches a long mask with
    several threads."""
    loop = kernel() if len(mask) >= _LONG and config.native and mask.flags.c_contiguous else None
    if loop is None:
        count = int(np.count_nonzero(mask))
        return count, mask.nonzero()[0] if count < len(mask) // _SPARSE else None
    count, indices = loop.find(mask, len(mask) // _SPARSE, min(config.workers, 1 + len(mask) // _LONG))
    return count, None if indices is None else np.frombuffer(indices, np.int64).astype(np.intp, copy=False)

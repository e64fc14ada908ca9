"""Searches boolean masks, with the worker threads of the kernel if the mask is long."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr.config import config
from omnizarr.native import kernel

__all__ = ["find_true"]

_LONG = 2**20  # elements; in a longer mask the kernel searches faster than NumPy


def find_true(mask: npt.NDArray[np.bool_], most: int) -> tuple[int, npt.NDArray[np.intp] | None]:
    """How many elements of a one-dimensional mask are true, and their indices; None for more than `most`."""
    loop: Any = kernel() if len(mask) >= _LONG and config.native and mask.flags.c_contiguous else None
    if loop is None:
        count = int(np.count_nonzero(mask))
        return count, mask.nonzero()[0] if count <= most else None
    count, indices = loop.find(mask, most, min(config.workers, 1 + len(mask) // _LONG))
    return count, None if indices is None else np.frombuffer(indices, np.int64).astype(np.intp, copy=False)

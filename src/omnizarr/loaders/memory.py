"""Memory for groups of samples, which returns to the system as soon as nothing uses it.

The allocator of C keeps freed memory for each thread, several times the size of a group: the limit of the loader would
not hold. Pages of 2 MiB also make the first access to new memory faster.
"""

from __future__ import annotations

import mmap
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["new_array"]

_LEAST = 2**18  # bytes; below 256 KiB the allocator wastes little
_HUGE = 2**22  # bytes; below 4 MiB, pages of 2 MiB could waste half


def new_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """An array with undefined elements, in private memory of its own if it is large."""
    nbytes = prod(shape) * dtype.itemsize
    if nbytes < _LEAST or dtype.hasobject or dtype.kind == "T" or not hasattr(mmap, "MAP_PRIVATE"):
        return np.empty(shape, dtype)
    memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if nbytes >= _HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        try:
            memory.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            pass  # the system has none
    return np.frombuffer(memory, dtype, prod(shape)).reshape(shape)

"""Memory for groups of samples, which later groups use again.

The first access to new memory takes as long as copying the samples. The allocator of C would also keep freed memory for
each thread, several times the size of a group: the limit of the loader would not hold. Pages of 2 MiB make the first
access faster.
"""

from __future__ import annotations

import mmap
import os
from math import prod
from typing import Any
from weakref import finalize, ref

import numpy as np
import numpy.typing as npt

__all__ = ["GroupMemory"]

_LEAST = 2**18  # bytes; below 256 KiB the allocator wastes little
_HUGE = 2**22  # bytes; below 4 MiB, pages of 2 MiB could waste half


class GroupMemory:
    """The memory of one source of samples: what its groups use, and what was freed last."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._free: list[mmap.mmap] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return GroupMemory, ()

    def new_array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """An array with undefined elements. If it is large, its memory is used again as soon as nothing refers to it
        or to a part of it."""
        nbytes = prod(shape) * dtype.itemsize
        if nbytes < _LEAST or dtype.hasobject or dtype.kind == "T" or not hasattr(mmap, "MAP_PRIVATE"):
            return np.empty(shape, dtype)
        memory = self._reuse(nbytes) or _allocate(nbytes)
        everything = np.frombuffer(memory, np.uint8)  # all parts of the array refer to it
        finalize(everything, _give_back, ref(self), memory).atexit = False
        return everything[:nbytes].view(dtype).reshape(shape)

    def _reuse(self, nbytes: int) -> mmap.mmap | None:
        """Free memory of about this size. If there is none, all free memory returns to the system, so that a loader
        never holds more than its groups needed at one time."""
        if self._process != os.getpid():  # a child would copy the pages of its parent
            self._process, self._free = os.getpid(), []
        for memory in self._free[:]:
            if nbytes <= len(memory) <= 2 * nbytes:
                try:
                    self._free.remove(memory)
                except ValueError:  # another thread uses it
                    continue
                return memory
        self._free.clear()
        return None


def _give_back(owner: ref[GroupMemory], memory: mmap.mmap) -> None:
    """Called when nothing uses the memory any more; it returns to the system if its loader is gone."""
    known = owner()
    if known is not None:
        known._free.append(memory)


def _allocate(nbytes: int) -> mmap.mmap:
    memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if nbytes >= _HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        try:
            memory.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            pass  # the system has none
    return memory

"""Returns freed memory of the C library's heap to the system while a plan runs near its limit of memory."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from typing import Any

from omnizarr._cached_property import cached_property

__all__ = ["HeapLimit"]


class HeapLimit:
    """Trims the heap before a task if the process has grown too much since the plan began.

    glibc has a heap for each of several threads, and keeps up to 64 MB of freed memory in each. Codecs of several
    threads so add 40 MB to a plan, which it does not need (measured). Trimming takes up to 1 ms, and the system clears
    the memory that is needed again, so it is only done near the limit.
    """

    def __init__(self, most: int) -> None:
        """`most` is the number of bytes by which the process may have grown when a task starts."""
        self._most = most
        self._start = resident_bytes()

    @cached_property
    def _trim(self) -> Any:
        """`malloc_trim` of glibc; None with other libraries."""
        with suppress(OSError, AttributeError, TypeError):
            return ctypes.CDLL(None).malloc_trim
        return None

    def keep(self) -> None:
        """Trims the heap if the process has grown by more than the limit."""
        if self._start and resident_bytes() - self._start > self._most and self._trim is not None:
            self._trim(0)


def resident_bytes() -> int:
    """The memory of the process; 0 if the system does not tell."""
    with suppress(OSError, ValueError, IndexError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0

"""`HeapLimit`: freed memory returns to the system if the process has grown beyond the limit."""

from __future__ import annotations

import subprocess
import sys

import pytest

from omnizarr.tools.plans.heap import HeapLimit, resident_bytes

_GROW = """
import sys
from omnizarr.tools.plans.heap import HeapLimit, resident_bytes

heap = HeapLimit(int(sys.argv[1]))
before = resident_bytes()
held = [bytearray(60_000) for _ in range(1000)]  # too small to be mapped
del held[:-1]  # the last one keeps the allocator from returning the rest
grown = resident_bytes() - before
heap.keep()
print(grown, resident_bytes() - before)
"""


@pytest.mark.skipif(not resident_bytes(), reason="the system does not tell the memory of a process")
@pytest.mark.parametrize("most", [10**6, 10**9])
def test_freed_memory_is_returned_beyond_the_limit_only(most: int) -> None:
    pytest.importorskip("ctypes")
    if HeapLimit(0)._trim is None:
        pytest.skip("the C library has no malloc_trim")
    output = subprocess.run([sys.executable, "-c", _GROW, f"{most}"], capture_output=True, text=True, check=True).stdout
    grown, left = map(int, output.split())
    assert grown > 40 * 10**6
    assert (left < 10**7) is (most == 10**6)

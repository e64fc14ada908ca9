"""What is read: selections of the cube of 512³ uint16, the same for every library."""

from __future__ import annotations

from typing import Any

import numpy as np

SIDE = 512
READS = ("everything", "20 windows of 32³", "plane [:, k, :]", "20 points")
LAYOUTS = ("raw_128", "zstd_32", "blosc_128", "shard_zstd_32_128")


def keys(read: str, side: int = SIDE) -> list[tuple[Any, ...]]:
    """The indexes of one measurement, which are read one after the other."""
    random = np.random.default_rng(17)
    if read == "everything":
        return [(slice(0, side),) * 3]
    if read.startswith("plane"):
        return [(slice(0, side), slice(side // 2 + 5, side // 2 + 6), slice(0, side))]
    width = 32 if "windows" in read else 1
    starts = random.integers(0, side - width, (20, 3)).tolist()
    return [tuple(slice(start, start + width) for start in corner) for corner in starts]

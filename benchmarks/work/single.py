"""Single calls on tiny arrays, where all the time is what stands around the codec."""

from __future__ import annotations

import numpy as np

from benchmarks.layouts import Layout
from benchmarks.libraries import stored_values
from benchmarks.work.contract import Work, timed

SMALL_CALLS = 200
OPEN_CALLS = 100


class Single(Work):
    """Reading five elements, and opening."""

    def make_small(self, path: str) -> None:
        """Makes an array of one chunk for reads of a few elements."""
        self.store(path, Layout("zstd", 1000), np.arange(1000, dtype=np.uint16))

    def small(self, path: str, memory: bool) -> float:
        """Seconds per read of five elements from one chunk."""
        array = self.adapter.in_memory(stored_values(path)) if memory else self.adapter.open(path)
        box = (slice(500, 505),)
        if self.adapter.read(array, box).tolist() != [500, 501, 502, 503, 504]:
            raise ValueError("the five elements are wrong")
        read = self.adapter.read
        return timed(lambda: [read(array, box) for _ in range(SMALL_CALLS)]) / SMALL_CALLS

    def make_generations(self, folder: str) -> list[str]:
        """Makes a small array in every generation of the format; their names."""
        names = {"v3": 3, "v2": 2, "draft 2022": "3-draft-2022", "draft 2020": "3-draft-2020", "v1": 1}
        for name, generation in names.items():
            self.adapter.library.create_array(
                f"{folder}/{name}", data=np.arange(10), zarr_format=generation, attributes={"a": 1}
            )
        return list(names)

    def open_one(self, folder: str, generation: str) -> float:
        """Seconds to open such an array."""
        path = f"{folder}/{generation}"
        if self.adapter.find(path, generation).shape != (10,):
            raise ValueError("the array is another one")
        return timed(lambda: [self.adapter.find(path, generation) for _ in range(OPEN_CALLS)]) / OPEN_CALLS

"""A cube in nine layouts: all of it, and parts of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.layouts import LAYOUTS, checksum, cube
from benchmarks.libraries import Adapter, Selection
from benchmarks.work.contract import Work, shape_of, timed

COUNT = 60  # windows and single elements per call
WINDOW = 32


def boxes(what: str, shape: tuple[int, ...]) -> list[Selection]:
    """The parts of an array that a measurement reads, the same for all libraries."""
    random = np.random.default_rng(7)
    if what == "read":
        return [tuple(slice(0, length) for length in shape)]
    if what == "plane":
        return [(slice(shape[0] // 3, shape[0] // 3 + 1), *(slice(0, length) for length in shape[1:]))]
    extent = WINDOW if what == "windows" else 1
    corners = random.integers(0, min(shape) - extent, (COUNT, len(shape))).tolist()
    return [tuple(slice(start, start + extent) for start in corner) for corner in corners]


class Cubes(Work):
    """Making, reading and writing them."""

    def __init__(self, adapter: Adapter) -> None:
        super().__init__(adapter)
        self._data: dict[str, Any] = {}

    def make(self, folder: str, side: int, layouts: list[str]) -> int:
        """Makes the files that all libraries read, and the plain array that all write; its checksum."""
        data = cube(side)
        np.save(f"{folder}/cube.npy", data)
        for name in layouts:
            self.store(f"{folder}/{name}", LAYOUTS[name], data)
        return checksum(data)

    def checksum(self, path: str) -> int:
        """Reads a whole array and sums it up; also warms the cache for what follows."""
        return checksum(self.adapter.read(self.adapter.open(path), boxes("read", shape_of(path))[0]))

    def parts(self, path: str, what: str, side: int) -> float:
        """Seconds to read what `boxes` says."""
        array, read = self.opened(path), self.adapter.read
        wanted = boxes(what, (side, side, side))
        return timed(lambda: [read(array, box) for box in wanted])

    def write(self, path: str, layout: str, data: str) -> float:
        """Seconds to write everything into a fresh array."""
        if data not in self._data:
            self._data[data] = np.load(data)
        values = self._data[data]
        array = self.new(path, LAYOUTS[layout], values.shape)
        return timed(lambda: self.adapter.write(array, values))

"""Many small arrays: what a hierarchy costs, not what its chunks do."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.layouts import Layout
from benchmarks.work.contract import Work, put_document, timed

LENGTH = 100  # elements of each array, all in one chunk
GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {}}


def names(count: int) -> list[str]:
    """What the members are called."""
    return [f"array-{number:05}" for number in range(count)]


class Many(Work):
    """Creating, listing, opening and reading them."""

    def make(self, path: str, count: int) -> None:
        """A group of so many arrays, with the elements 0, 1, 2 …"""
        put_document(path, GROUP)
        chunk, document = np.arange(LENGTH, dtype="<u2").tobytes(), Layout("raw", LENGTH).document((LENGTH,))
        for name in names(count):
            put_document(f"{path}/{name}", document)
            Path(path, name, "c").mkdir()
            Path(path, name, "c", "0").write_bytes(chunk)

    def read(self, path: str, count: int) -> float:
        """Seconds to open each array of a group by its name and to read it."""
        read, box = self.adapter.read, (slice(0, LENGTH),)

        def right(found: list[int]) -> bool:
            return found == [LENGTH - 1] * count

        arrays = self.adapter.members(path, names(count))
        return timed(lambda: [int(read(array, box)[-1]) for array in arrays], right)

    def create(self, path: str, count: int) -> float:
        """Seconds to create so many arrays in a new group."""
        return timed(lambda: self.adapter.create_members(path, names(count), LENGTH))

    def keys(self, path: str, count: int) -> float:
        """Seconds to list the names of all members."""
        return timed(lambda: self.adapter.keys(path), lambda found: sorted(found) == names(count))

    def items(self, path: str, count: int) -> float:
        """Seconds to list all members, opened."""
        return timed(lambda: self.adapter.items(path), lambda found: found == count)

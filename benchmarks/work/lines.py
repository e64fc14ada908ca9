"""Long arrays of one dimension, in chunks of 1 MiB: slices, steps, indices and masks."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.layouts import Layout
from benchmarks.work.contract import Work, timed

CHUNK = 2**19  # elements of uint16: 1 MiB
SLICES = 100

Key: TypeAlias = "slice | npt.NDArray[Any]"
# what is asked for, and by which brackets
KINDS = {
    "slices": "[]",
    "every seventh": "[]",
    "sorted indices, z[idx]": "[]",
    "sorted indices, oindex": "oindex",
    "sorted indices, vindex": "vindex",
    "unsorted indices, z[idx]": "[]",
    "unsorted indices, oindex": "oindex",
    "unsorted indices, vindex": "vindex",
    "mask, 1 of 1000": "[]",
    "mask, 1 of 10": "[]",
}


@cache
def keys(kind: str, length: int, count: int) -> list[Key]:
    """The keys of one measurement, the same for all libraries."""
    random = np.random.default_rng(11)
    if kind == "slices":
        starts = random.integers(0, length - length // 1000, SLICES).tolist()
        return [slice(start, start + length // 1000) for start in starts]
    if kind == "every seventh":
        return [slice(0, length, 7)]
    if kind.startswith("mask"):
        return [random.random(length, np.float32) < 1 / int(kind.rpartition(" ")[2])]
    indices = random.integers(0, length, count)
    return [np.sort(indices) if kind.startswith("sorted") else indices]


def line(length: int) -> npt.NDArray[np.uint16]:
    """A slow walk with a little noise, which compresses to about half."""
    random = np.random.default_rng(5)
    steps = np.sin(np.arange(length, dtype=np.float32) / 1000) * 1000 + 2000
    return np.asarray(steps, np.uint16) + random.integers(0, 16, length, dtype=np.uint16)


class Lines(Work):
    """Taking elements out of them."""

    def make(self, folder: str, length: int, codecs: list[str]) -> list[str]:
        """Makes the arrays, and the plain one that results are compared with; the kinds that there are."""
        data = line(length)
        np.save(f"{folder}/line.npy", data)
        for codec in codecs:
            self.store(f"{folder}/line_{codec}", Layout(codec, CHUNK), data)
        return list(KINDS)

    def take(self, folder: str, codec: str, kind: str, count: int, check: bool) -> float:
        """Seconds to take the elements of one kind."""
        array, brackets = self.opened(f"{folder}/line_{codec}"), KINDS[kind]
        data = np.load(f"{folder}/line.npy", mmap_mode="r")
        wanted = keys(kind, len(data), count)
        take = self.adapter.take

        def right(found: list[npt.NDArray[Any]]) -> bool:
            return all(np.array_equal(got, data[key]) for got, key in zip(found, wanted, strict=True))

        return timed(lambda: [take(array, brackets, key) for key in wanted], right if check else None)

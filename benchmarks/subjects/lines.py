"""Long arrays of one dimension, in chunks of 1 MiB: slices, steps, indices and masks."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.layouts import Layout
from benchmarks.report import LIMIT
from benchmarks.runner import Runner, log
from benchmarks.subjects.actions import Actions, timed

CHUNK = 2**19  # elements of uint16: 1 MiB
SLICES = 100

Key: TypeAlias = "slice | npt.NDArray[Any]"
INDEXERS = {  # by kind of key: `z[key]`, `z.oindex[key]` or `z.vindex[key]`
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
    """A sine wave with a little noise, which compresses to about half."""
    random = np.random.default_rng(5)
    wave = np.sin(np.arange(length, dtype=np.float32) / 1000) * 1000 + 2000
    return np.asarray(wave, np.uint16) + random.integers(0, 16, length, dtype=np.uint16)


class LineActions(Actions):
    """Creates lines and reads elements of them."""

    def make(self, folder: str, length: int, codecs: list[str]) -> None:
        """Creates the arrays, and the `.npy` file that results are compared with."""
        data = line(length)
        np.save(f"{folder}/line.npy", data)
        for codec in codecs:
            self.store(f"{folder}/line_{codec}", Layout(codec, CHUNK), data)

    def take(self, folder: str, codec: str, kind: str, count: int, check: bool) -> float:
        """Seconds to read the elements of one kind of key."""
        array, indexer = self.open_once(f"{folder}/line_{codec}"), INDEXERS[kind]
        data = np.load(f"{folder}/line.npy", mmap_mode="r")
        chosen = keys(kind, len(data), count)
        take = self.adapter.take

        def is_right(results: list[npt.NDArray[Any]]) -> bool:
            return all(np.array_equal(result, data[key]) for result, key in zip(results, chosen, strict=True))

        return timed(lambda: [take(array, indexer, key) for key in chosen], is_right if check else None)


def measure_lines(runner: Runner) -> None:
    """Measures every kind of key on every codec; compares the first result of each cell with NumPy's."""
    scale, folder = runner.scale, str(runner.folder)
    log(f"creating {scale.line:,} uint16 in chunks of 1 MiB with {runner.maker.library}")
    runner.maker.ask("lines.make", folder=folder, length=scale.line, codecs=list(scale.line_codecs))
    checked: set[tuple[str, str]] = set()

    def measure(row: str, name: str) -> float | None:
        codec, _, kind = row.partition(": ")
        if name == LIMIT:
            if codec == "raw" or kind == "slices":
                return None  # the program decodes all chunks, which these rows do not need
            return runner.run_limit(f"{folder}/line_{codec}", scale.line, CHUNK, "line", codec, 2)[0]
        first = (row, name) not in checked
        seconds: float | None = runner.peers[name].ask(
            "lines.take", folder=folder, codec=codec, kind=kind, count=scale.indices, check=first
        )
        checked.add((row, name))
        return seconds

    rows = [f"{codec}: {kind}" for codec in scale.line_codecs for kind in INDEXERS]
    runner.fill_table("lines", rows, measure, [*runner.peers, *([LIMIT] if runner.limit else [])])

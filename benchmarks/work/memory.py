"""The most memory that a call takes, in a process that does nothing else."""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.layouts import Layout, cube
from benchmarks.work.contract import Work, shape_of

SIDE = 256  # of a cube of uint16 that has 32 MiB


def added(run: Callable[[], Any]) -> int:
    """Bytes by which the process was at most larger than before, while it ran."""
    gc.collect()
    before = _forget()
    result = run()
    peak = _most()
    del result
    return peak - before


def _forget() -> int:
    """How much memory is in use; where the system can, what was the most is forgotten."""
    try:
        Path("/proc/self/clear_refs").write_text("5")  # Linux
        return _status("VmRSS")
    except OSError:
        return _most()


def _most() -> int:
    try:
        return _status("VmHWM")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _status(name: str) -> int:
    """A line of what Linux tells about the process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def _cubes(path: str, times: list[int]) -> npt.NDArray[np.uint16]:
    """One cube, so many times along each side. It lies beside the arrays, once somebody has made it."""
    place = Path(path).with_name("block.npy")
    if not place.exists():
        np.save(place, cube(SIDE))
    return np.tile(np.load(place), times)


class Memory(Work):
    """Reading, writing, and rewriting a part."""

    def make(self, path: str, codec: str, chunk: int, shard: int, times: list[int]) -> int:
        """Makes an array: one cube of 32 MiB, so many times along each side. The bytes that one such cube takes when it
        is stored."""
        self.store(path, Layout(codec, chunk, shard), _cubes(path, times))
        return max(file.stat().st_size for file in Path(path, "c").rglob("*") if file.is_file())

    def read(self, path: str) -> int:
        """Memory added by reading the whole array, its elements included."""
        array, shape = self.adapter.open(path), shape_of(path)
        return added(lambda: self.adapter.read(array, tuple(slice(0, length) for length in shape)))

    def write(self, path: str, codec: str, chunk: int, shard: int, times: list[int]) -> int:
        """Memory added by writing an array that is in memory, without its own."""
        data = _cubes(path, times)
        array = self.new(path, Layout(codec, chunk, shard), data.shape)
        return added(lambda: self.adapter.write(array, data))

    def rewrite(self, path: str) -> int:
        """Memory added by writing a few elements into the middle of a shard."""
        array, middle = self.adapter.open(path, write=True), [length // 2 for length in shape_of(path)]
        box = tuple(slice(at, at + 2) for at in middle)
        return added(lambda: self.adapter.assign(array, box, np.full([2] * len(box), 9, np.uint16)))

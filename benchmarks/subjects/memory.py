"""Peak memory of reading, writing and rewriting, each measured in a process of its own."""

from __future__ import annotations

import gc
import resource
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.environment import THREADS
from benchmarks.layouts import Layout, cube
from benchmarks.peer import PeerError
from benchmarks.report import PROMISE
from benchmarks.runner import Runner, log
from benchmarks.subjects.actions import Actions, shape_of

MiB = 2**20
SIDE = 256  # of a cube of uint16 that has 32 MiB
LAYOUTS = {"chunks": ("zstd", 256, 0), "shards": ("zstd", 32, 256)}  # of 32 MiB, decoded


def peak_added(run: Callable[[], Any]) -> int:
    """Bytes by which the resident memory of the process grew at most during the call."""
    gc.collect()
    before = _reset_peak()
    result = run()
    peak = _peak()
    del result
    return peak - before


def _reset_peak() -> int:
    """Resets the peak where the system supports it; returns the memory in use, or the old peak."""
    try:
        Path("/proc/self/clear_refs").write_text("5")  # Linux
        return _status("VmRSS")
    except OSError:
        return _peak()


def _peak() -> int:
    try:
        return _status("VmHWM")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _status(name: str) -> int:
    """A field of `/proc/self/status`, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def _cubes(path: str, times: list[int]) -> npt.NDArray[np.uint16]:
    """One cube of 32 MiB, repeated along each side. The first call saves the cube beside the arrays."""
    saved = Path(path).with_name("block.npy")
    if not saved.exists():
        np.save(saved, cube(SIDE))
    return np.tile(np.load(saved), times)


class MemoryActions(Actions):
    """Reads, writes, and rewrites a part."""

    def make(self, path: str, codec: str, chunk: int, shard: int, times: list[int]) -> int:
        """Creates an array of repeated cubes; returns the size of its largest file, in bytes."""
        self.store(path, Layout(codec, chunk, shard), _cubes(path, times))
        return max(file.stat().st_size for file in Path(path, "c").rglob("*") if file.is_file())

    def read(self, path: str) -> int:
        """Memory added by reading the whole array, including the result."""
        array, shape = self.adapter.open(path), shape_of(path)
        return peak_added(lambda: self.adapter.read(array, tuple(slice(0, length) for length in shape)))

    def write(self, path: str, codec: str, chunk: int, shard: int, times: list[int]) -> int:
        """Memory added by writing an array that is already in memory."""
        data = _cubes(path, times)
        array = self.create_array(path, Layout(codec, chunk, shard), data.shape)
        return peak_added(lambda: self.adapter.write(array, data))

    def rewrite(self, path: str) -> int:
        """Memory added by writing eight elements into the middle of a shard."""
        array, middle = self.adapter.open(path, write=True), [length // 2 for length in shape_of(path)]
        box = tuple(slice(at, at + 2) for at in middle)
        return peak_added(lambda: self.adapter.assign(array, box, np.full([2] * len(box), 9, np.uint16)))


def measure_memory(runner: Runner) -> None:
    """Measures the peaks, and adds the column of what omnizarr promises."""
    times = runner.scale.large
    blocks = times[0] * times[1] * times[2]
    for kind, (codec, chunk, shard) in LAYOUTS.items():
        path = str(runner.folder / f"large-{kind}")
        layout = {"codec": codec, "chunk": chunk, "shard": shard, "times": times}
        encoded: int = runner.maker.ask("memory.make", path=path, **layout)
        size = 32 * blocks * MiB
        _add_row(runner, f"read {32 * blocks} MiB in {kind} of 32 MiB", 1.15 * size + 64 * MiB, "memory.read", path)
        shutil.rmtree(path)
        row = f"write {32 * blocks} MiB in {kind} of 32 MiB"
        _add_row(runner, row, 64 * MiB + 2 * THREADS * encoded, "memory.write", f"{path}-written", **layout)
    for shard in runner.scale.shards:
        size, side = shard**3 * 2 // MiB, shard // 256
        path = str(runner.folder / f"shard-{size}")
        layout = {"codec": "raw", "chunk": 32, "shard": shard, "times": (side, side, side)}
        runner.maker.ask("memory.make", path=path, **layout)
        promise = (2 * size + 8) * MiB  # twice the shard, and 8 MiB for the rest
        _add_row(runner, f"write 8 elements into a shard of {size} MiB", promise, "memory.rewrite", path)
        shutil.rmtree(path)


def _add_row(runner: Runner, row: str, promise: float, action: str, path: str, **layout: object) -> None:
    cells = runner.cells("memory").setdefault(row, {})
    for name, peer in runner.peers.items():
        fresh = peer.fresh()  # a process that has done nothing else
        log(f"memory: {row}: {name}")
        try:
            cells[name] = fresh.ask(action, path=path, **layout)
        except PeerError as error:
            log(f"{name} has no result for {row}: {error}")
            cells[name] = None
        finally:
            fresh.close()
        if layout:  # the action created the array
            shutil.rmtree(path, ignore_errors=True)
    cells[PROMISE] = promise

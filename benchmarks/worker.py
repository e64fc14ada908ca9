"""One library in a process of its own: answers each line of standard input, a request, with a line of JSON.

`python -m benchmarks.worker LIBRARY`. A request names an action below and its arguments. Times are seconds of one
call; the caller decides how often to ask, and in which order with other libraries.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.layouts import LAYOUTS, Layout, checksum, cube
from benchmarks.libraries import ADAPTERS, Adapter, Selection, stored_values

COUNT = 60  # windows and single elements per call
WINDOW = 32
SMALL_CALLS = 200


def timed(run: Callable[[], Any]) -> float:
    """Seconds of one run; what it returns is freed only after the clock has stopped."""
    gc.collect()
    start = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - start
    del result
    return seconds


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


class Worker:
    """The actions that can be asked for."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._arrays: dict[str, Any] = {}
        self._data: dict[str, Any] = {}

    def _open(self, path: str) -> Any:
        if path not in self._arrays:
            self._arrays[path] = self.adapter.open(path)
        return self._arrays[path]

    def versions(self) -> dict[str, str]:
        return self.adapter.versions()

    def make(self, folder: str, side: int, layouts: list[str]) -> int:
        """Makes the files that all libraries read, and the plain array that all write; its checksum."""
        data = cube(side)
        np.save(f"{folder}/cube.npy", data)
        for name in layouts:
            self._store(f"{folder}/{name}", LAYOUTS[name], data)
        return checksum(data)

    def make_large(self, path: str, chunk: int, times: list[int]) -> None:
        """Makes the array whose reading's memory is measured: one chunk's content, so many times along each side."""
        self._store(path, Layout("zstd", chunk), np.tile(cube(chunk), times))

    def make_small(self, path: str) -> None:
        """Makes an array of one chunk for reads of a few elements."""
        self._store(path, Layout("zstd", 1000), np.arange(1000, dtype=np.uint16))

    def _store(self, path: str, layout: Layout, data: Any) -> None:
        os.makedirs(path)
        Path(path, "zarr.json").write_text(json.dumps(layout.document(data.shape)))
        self.adapter.write(self.adapter.open(path, write=True), data)

    def checksum(self, path: str) -> int:
        """Reads a whole array and sums it up; also warms the cache for what follows."""
        array = self.adapter.open(path)
        shape = tuple(json.loads(Path(path, "zarr.json").read_bytes())["shape"])
        return checksum(self.adapter.read(array, boxes("read", shape)[0]))

    def parts(self, path: str, what: str, side: int) -> float:
        """Seconds to read what `boxes` says."""
        array, read = self._open(path), self.adapter.read
        wanted = boxes(what, (side, side, side))
        return timed(lambda: [read(array, box) for box in wanted])

    def write(self, path: str, layout: str, data: str) -> float:
        """Seconds to write everything into a fresh array."""
        if data not in self._data:
            self._data[data] = np.load(data)
        values = self._data[data]
        os.makedirs(path)
        Path(path, "zarr.json").write_text(json.dumps(LAYOUTS[layout].document(values.shape)))
        array = self.adapter.open(path, write=True)
        return timed(lambda: self.adapter.write(array, values))

    def small(self, path: str, memory: bool) -> float:
        """Seconds per read of five elements from one chunk."""
        array = self.adapter.in_memory(stored_values(path)) if memory else self.adapter.open(path)
        box = (slice(500, 505),)
        if self.adapter.read(array, box).tolist() != [500, 501, 502, 503, 504]:
            raise ValueError("the five elements are wrong")
        read = self.adapter.read
        return timed(lambda: [read(array, box) for _ in range(SMALL_CALLS)]) / SMALL_CALLS

    def memory(self, path: str) -> int:
        """Bytes that reading the whole array added to the most memory this process ever had."""
        array = self.adapter.open(path)
        shape = tuple(json.loads(Path(path, "zarr.json").read_bytes())["shape"])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        data = self.adapter.read(array, boxes("read", shape)[0])
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if data.shape != shape:
            raise ValueError("the array has another shape")
        return (after - before) * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Answers until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    worker: Worker | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if worker is None:
                worker = Worker(ADAPTERS[sys.argv[1]]())
            reply = {"answer": getattr(worker, request.pop("action"))(**request)}
        except NotImplementedError:
            reply = {"answer": None}
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # the panics of Rust libraries are no Exceptions
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()

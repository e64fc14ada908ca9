"""The base class of actions: the adapter of a library, arrays that stay open, and the clock."""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.environment import clock_name
from benchmarks.layouts import Layout
from benchmarks.libraries import Adapter

T = TypeVar("T")
CLOCK: Callable[[], float] = getattr(time, clock_name())


class Actions:
    """The requests of one subject: its methods. Times are seconds per call."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._arrays: dict[str, Any] = {}

    def open_once(self, path: str) -> Any:
        """A handle for reading, created by the first call."""
        if path not in self._arrays:
            self._arrays[path] = self.adapter.open(path)
        return self._arrays[path]

    def store(self, path: str, layout: Layout, data: Any) -> None:
        """Creates an array that holds `data`."""
        self.adapter.write(self.create_array(path, layout, data.shape), data)

    def create_array(self, path: str, layout: Layout, shape: tuple[int, ...]) -> Any:
        """A handle for writing to a new, empty array, whose document is the same for every library."""
        write_document(path, layout.document(shape))
        return self.adapter.open(path, write=True)


def write_document(path: str, document: dict[str, Any]) -> None:
    """Creates the folder of a node, and its `zarr.json`."""
    os.makedirs(path)
    Path(path, "zarr.json").write_text(json.dumps(document))


def shape_of(path: str) -> tuple[int, ...]:
    """The shape of an array, from its document."""
    return tuple(json.loads(Path(path, "zarr.json").read_bytes())["shape"])


def timed(run: Callable[[], T], check: Callable[[T], bool] | None = None) -> float:
    """Seconds of one run. The result is checked and freed after the clock has stopped."""
    gc.collect()
    start = CLOCK()
    result = run()
    seconds = CLOCK() - start
    if check is not None and not check(result):
        raise ValueError("the result is wrong")
    return seconds

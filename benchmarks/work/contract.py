"""What all subjects share: the library's adapter, arrays that stay open, and the clock."""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.layouts import Layout
from benchmarks.libraries import Adapter

T = TypeVar("T")


class Work:
    """One subject: its methods are the actions that can be asked for. Times are seconds of one call."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._arrays: dict[str, Any] = {}

    def opened(self, path: str) -> Any:
        """A handle for reading that is made once."""
        if path not in self._arrays:
            self._arrays[path] = self.adapter.open(path)
        return self._arrays[path]

    def store(self, path: str, layout: Layout, data: Any) -> None:
        """Makes an array that holds `data`."""
        self.adapter.write(self.new(path, layout, data.shape), data)

    def new(self, path: str, layout: Layout, shape: tuple[int, ...]) -> Any:
        """A handle for writing on a new, empty array, whose document is the same for every library."""
        put_document(path, layout.document(shape))
        return self.adapter.open(path, write=True)


def put_document(path: str, document: dict[str, Any]) -> None:
    """Begins a node."""
    os.makedirs(path)
    Path(path, "zarr.json").write_text(json.dumps(document))


def shape_of(path: str) -> tuple[int, ...]:
    """The shape of an array, from its document."""
    return tuple(json.loads(Path(path, "zarr.json").read_bytes())["shape"])


def timed(run: Callable[[], T], check: Callable[[T], bool] | None = None) -> float:
    """Seconds of one run; what it returns is looked at and freed only after the clock has stopped."""
    gc.collect()
    start = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - start
    if check is not None and not check(result):
        raise ValueError("what it gave is wrong")
    return seconds

"""Compares reading from a ZIP archive with reading from a folder: `python -m benchmarks.archives`.

Both take turns, so that other programs on the machine slow down both; the best round of each counts. `--cpu` measures
the CPU time of all threads, which other programs disturb less.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import omnizarr

LAYOUTS: dict[str, dict[str, Any]] = {
    "raw 128³": {"chunks": 128, "compressors": None},
    "raw 32³": {"chunks": 32, "compressors": None},
    "zstd 32³": {"chunks": 32, "compressors": "zstd"},
    "zstd 32³ in shards of 128³": {"chunks": 32, "shards": 128, "compressors": "zstd"},
}
POINTS = 200


def best(actions: list[Callable[[], Any]], rounds: int, clock: Callable[[], float]) -> list[float]:
    """The shortest time of each action, in seconds."""
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(rounds):
        for action, known in zip(actions, times, strict=True):
            start = clock()
            action()
            known.append(clock() - start)
    return [min(known) for known in times]


def points(array: omnizarr.Array) -> Callable[[], Any]:
    """A call that reads `POINTS` single elements."""
    side = array.shape[0]
    return lambda: [array[at % side, at * 7 % side, at * 13 % side] for at in range(POINTS)]


def open_often(path: Path) -> None:
    for _ in range(POINTS):
        omnizarr.open_array(path, mode="r")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.archives", description=__doc__)
    parser.add_argument("--side", type=int, default=256, help="side of the cube of uint16")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--cpu", action="store_true", help="CPU time instead of elapsed time")
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    data = np.random.default_rng(0).integers(0, 1000, (options.side,) * 3).astype("uint16")
    print("| what | folder | archive | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="omnizarr-bench-") as folder:
        for name, layout in LAYOUTS.items():
            paths = [Path(folder) / "x.zarr", Path(folder) / "x.zarr.zip"]
            for path in paths:
                omnizarr.save_array(path, data, **layout)
            arrays = [omnizarr.open_array(path, mode="r") for path in paths]
            for array in arrays:
                assert np.array_equal(array[...], data)
            rows: dict[str, list[Callable[[], Any]]] = {
                "all": [partial(array.__getitem__, ...) for array in arrays],
                "a point": [points(array) for array in arrays],
                "open": [partial(open_often, path) for path in paths],
            }
            for what, actions in rows.items():
                one, two = best(actions, options.rounds, clock)
                scale = 1 if what == "all" else POINTS
                times = [f"{seconds / scale * 1e3:.3f} ms" for seconds in (one, two)]
                print(f"| {name}: {what} | {times[0]} | {times[1]} | {two / one:.2f} |", flush=True)


if __name__ == "__main__":
    main()

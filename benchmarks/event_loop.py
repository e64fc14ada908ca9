"""Measures concurrent small reads on one event loop: `python -m benchmarks.event_loop`.

200 readers read windows of one array at random places, each the next as soon as the last is there. Meanwhile another
task sleeps for a millisecond again and again, and notes for how long the loop is late: a web server answers nothing
else during that time. The first row is a loop that does nothing else, because other programs delay it, too. The same
number of reads, one after another, without an event loop, shows what the loop costs.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import numpy as np

import omnizarr
from omnizarr import aio
from omnizarr.testing import SlowStore

READERS = 200
SIDE = 2000
CHUNK = 100


def keys_at_random(count: int, length: int) -> list[tuple[slice, slice]]:
    """Windows at random places."""
    generator = random.Random(0)
    places = [(generator.randrange(SIDE - length), generator.randrange(SIDE - length)) for _ in range(count)]
    return [np.s_[row : row + length, column : column + length] for row, column in places]


async def watch(late: list[float]) -> None:
    """Notes for how long the loop is late, until it is cancelled."""
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0.001)
        late.append(time.perf_counter() - before - 0.001)


async def _measure(z: aio.AsyncArray, keys: list[tuple[slice, slice]]) -> tuple[float, list[float], list[float]]:
    """Seconds for all reads, seconds of each, and for how long the loop was late."""
    waiting, times, late = list(keys), [], []

    async def read_on() -> None:
        while waiting:
            key = waiting.pop()
            before = time.perf_counter()
            await z[key]
            times.append(time.perf_counter() - before)

    watcher = asyncio.create_task(watch(late))
    await asyncio.sleep(0.01)
    late.clear()
    before = time.perf_counter()
    await asyncio.gather(*[read_on() for _ in range(READERS)])
    total = time.perf_counter() - before
    watcher.cancel()
    return total, times, late


async def _idle() -> list[float]:
    late: list[float] = []
    watcher = asyncio.create_task(watch(late))
    await asyncio.sleep(2)
    watcher.cancel()
    return late


def lateness(late: list[float]) -> str:
    """Two cells of a table."""
    return f"{np.percentile(late, 99) * 1e3:.1f} ms | {max(late) * 1e3:.1f} ms"


def run_on_loop(main: Coroutine[Any, Any, Any], uvloop: bool) -> Any:
    """Runs a coroutine on a loop of asyncio or of uvloop."""
    if not uvloop:
        return asyncio.run(main)
    import uvloop as library

    return library.run(main)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.event_loop", description=__doc__)
    parser.add_argument("--reads", type=int, default=10_000)
    parser.add_argument("--uvloop", action="store_true", help="use the event loop of uvloop")
    options = parser.parse_args()
    print("| store | window | reads/s, one by one | reads/s | read, median | read, 99 % | loop late, 99 % | most |")
    print("|---|---|---|---|---|---|---|---|")
    print(f"| none | | | | | | {lateness(run_on_loop(_idle(), options.uvloop))} |")
    with tempfile.TemporaryDirectory(prefix="omnizarr-bench-") as folder:
        data = np.random.default_rng(0).integers(0, 100, (SIDE, SIDE), "i4")
        local = omnizarr.create_array(Path(folder, "a.zarr"), data=data, chunks=(CHUNK, CHUNK))
        memory = omnizarr.create_array(data=data, chunks=(CHUNK, CHUNK))
        remote = omnizarr.open_array(SlowStore(local.store, 0.02), mode="r")
        cases = [("local files", local, 10), ("local files", local, 300), ("memory", memory, 10), ("20 ms", remote, 10)]
        for name, array, length in cases:
            count = options.reads if not array.store.remote and length < CHUNK else options.reads // 10
            keys = keys_at_random(count, length)
            before = time.perf_counter()
            for key in keys[: count if not array.store.remote else 20]:
                array[key]
            alone = (count if not array.store.remote else 20) / (time.perf_counter() - before)
            total, times, late = run_on_loop(_measure(aio.AsyncArray(array), keys), options.uvloop)
            median, slow = np.percentile(times, [50, 99]) * 1e3
            print(
                f"| {name} | {length} × {length} | {alone:,.0f} | {count / total:,.0f} | {median:.1f} ms "
                f"| {slow:.1f} ms | {lateness(late)} |"
            )


if __name__ == "__main__":
    main()

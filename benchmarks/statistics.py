"""Measures what statistics of chunks save and cost: `python -m benchmarks.statistics [--mebibytes 1024]`.

Peers have no statistics, so each cell is measured with and without them, on the same array. The best time counts.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
import numpy.typing as npt

import omnizarr

CHUNK = 512  # elements of float32 along each axis: 1 MiB
UPDATES = 200


def field(mebibytes: int) -> npt.NDArray[np.float32]:
    """A square of rows that rise slowly, with noise: extremes lie in few chunks."""
    side = int((mebibytes * 2**18) ** 0.5) // CHUNK * CHUNK
    noise = np.random.default_rng(0).normal(size=side).astype("f4")
    rows = np.empty((side, side), "f4")
    for index in range(side):
        np.round(noise + np.float32(index * 0.01), 2, out=rows[index])
    return rows


def best(call: Callable[[], object], times: int) -> float:
    durations = []
    for _ in range(times):
        begin = perf_counter()
        call()
        durations.append(perf_counter() - begin)
    return min(durations)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mebibytes", type=int, default=1024)
    arguments = parser.parse_args()
    data = field(arguments.mebibytes)
    low = float(data.max()) - 0.5
    omnizarr.config.set(max_implicit_bytes=2**50)
    with tempfile.TemporaryDirectory() as folder:
        z = omnizarr.create_array(Path(folder) / "z", shape=data.shape, dtype="f4", chunks=(CHUNK, CHUNK))

        def write() -> None:
            z[...] = data
            z.statistics.flush()

        def update() -> None:
            for number in range(UPDATES):
                z[number * 7 % len(data), :300] = number
            z.statistics.flush()

        questions: dict[str, Callable[[], object]] = {
            "`z.min()`": z.min,
            "`z.mean()`": z.mean,
            "`z.find(low)`, 0.1 % of the elements": lambda: z.find(low),
            "write everything": write,
            f"write {UPDATES} × 300 elements": update,
        }
        without = {name: best(call, 2) for name, call in questions.items()}
        write()
        begin = perf_counter()
        z.statistics.build()
        built = perf_counter() - begin
        z.statistics.remove()
        z.statistics.build()
        with_statistics = {name: best(call, 2) for name, call in questions.items()}
    print(f"{data.nbytes / 2**20:,.0f} MiB in {z.nchunks:,} chunks of 1 MiB; building takes {built:.2f} s\n")
    print("| | without [ms] | with statistics [ms] | without / with |\n|---|---|---|---|")
    for name, seconds in without.items():
        other = with_statistics[name]
        print(f"| {name} | {seconds * 1e3:,.1f} | {other * 1e3:,.1f} | {seconds / other:,.2f} × |")


if __name__ == "__main__":
    main()

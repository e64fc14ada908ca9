"""Measures the commands that look and check: `python -m benchmarks.commands`.

Every row is the best elapsed time of a few processes, in parentheses the best processor time, which other programs on
the machine hardly change, and the most memory that one of them used (`ru_maxrss`). The start of Python alone is the
first row. The last rows compare `diff` of two equal arrays with reading both, block by block into the same memory;
there the commands take turns.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import omnizarr
from benchmarks.options import stop_on_signals
from benchmarks.report import markdown_table

PYTHON = sys.executable
PROGRAM = [PYTHON, "-m", "omnizarr"]
READ = """
import sys
import omnizarr
from omnizarr.tools.regions import regions

for place in sys.argv[1:]:
    z = omnizarr.open_array(place, mode="r")
    out = None
    for region in regions(z.shape, z.chunks, 2**26 // z.dtype.itemsize):
        shape = tuple(part.stop - part.start for part in region)
        if out is None or out.shape != shape:
            out = z.read(region)
        else:
            z.read(region, out=out)
"""


class Cost(NamedTuple):
    """What a process took."""

    seconds: float
    processor: float
    """Seconds of all threads."""
    memory: int
    """Bytes."""


def run(command: Sequence[str | Path]) -> Cost:
    """Runs a command that must succeed, without its output."""
    # With byte code, as an installed program has it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))


def best(rounds: int, *commands: Sequence[str | Path]) -> list[Cost]:
    """The best time and the most memory of each command. They take turns, and the first round does not count."""
    costs = [[run(command) for command in commands] for _ in range(rounds + 1)][1:]
    return [
        Cost(min(c.seconds for c in column), min(c.processor for c in column), max(c.memory for c in column))
        for column in zip(*costs, strict=True)
    ]


def in_process(work: Callable[..., None], *arguments: object) -> None:
    """Calls a function in a process of its own: `ru_maxrss` of a child is at least the memory of its parent."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"{work.__name__} ended with {process.exitcode}")


def make_group(place: Path, count: int, consolidated: bool) -> None:
    """A group of small arrays."""
    group = omnizarr.create_group(place)
    for number in range(count):
        attributes = {"units": "K", "number": number}
        group.create_array(f"a{number:05d}", shape=(100, 100), chunks=(50, 50), dtype="f4", attributes=attributes)
    if consolidated:
        omnizarr.consolidate_metadata(place)


def make_arrays(places: Sequence[Path], rows: int) -> None:
    """Three arrays of the same elements, `rows` × 2 MiB each. The third has other chunks."""
    steps = np.random.default_rng(0).integers(-3, 4, (rows, 2**19), "i4")
    data = np.cumsum(steps, axis=1, dtype="i4")
    for place, chunks in zip(places, [(64, 2**14), (64, 2**14), (128, 2**13)], strict=True):
        omnizarr.create_array(place, data=data, chunks=chunks)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commands", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the data")
    parser.add_argument("--what", default="start,many,diff", help="some of start, many, diff")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    stop_on_signals()
    what, rounds = options.what.split(","), options.rounds
    count, rows = (100, 64) if options.quick else (10_000, 512)
    table: list[tuple[str, Cost, str]] = []
    with tempfile.TemporaryDirectory(prefix="omnizarr-bench-") as name:
        folder = Path(name)
        if "start" in what:
            omnizarr.create_array(folder / "small.zarr", data=np.arange(10_000.0).reshape(100, 100), chunks=(10, 10))
            commands = [PYTHON, "-c", "pass"], [*PROGRAM, "--help"], [*PROGRAM, "info", folder / "small.zarr"]
            names = "python -c pass", "omnizarr --help", "omnizarr info, an array"
            table += [(title, cost, "") for title, cost in zip(names, best(3 * rounds, *commands), strict=True)]
        if "many" in what:
            for verb, state in (("info", "consolidated"), ("validate", "not consolidated")):
                place = folder / f"{verb}.zarr"
                in_process(make_group, place, count, state == "consolidated")
                cost = best(rounds, [*PROGRAM, verb, place])[0]
                table.append((f"omnizarr {verb}, {count:,} arrays, {state}", cost, ""))
        if "diff" in what:
            a, b, c = (folder / f"{letter}.zarr" for letter in "abc")
            in_process(make_arrays, (a, b, c), rows)
            for title, other in (("the same", b), ("other", c)):
                own = [*PROGRAM, "diff", a, other]
                read, ours = best(rounds, [PYTHON, "-c", READ, a, other], own)
                title = f"omnizarr diff, two arrays of {rows * 2:,} MiB, {title} chunks"
                table.append(
                    (title, ours, f"{read.seconds / ours.seconds:.2f} ({read.processor / ours.processor:.2f})")
                )
    lines = [
        [title, f"{cost.seconds * 1e3:.0f} ({cost.processor * 1e3:.0f})", f"{cost.memory / 2**20:.0f}", ratio]
        for title, cost, ratio in table
    ]
    print(markdown_table(["", "ms (of the processor)", "memory (MiB)", "reading both / this"], lines))


if __name__ == "__main__":
    main()

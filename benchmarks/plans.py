"""Measures `copy` and `rechunk` beside others: `python -m benchmarks.plans`, or `make bench-plans`.

Each row runs both sides in turns and prints the median seconds of each, their ratio, and the ratio to reach. A copy is
compared with `cp -r` and, to a server of S3 (`rclone serve s3`), with `rclone copy --transfers 32`; a rechunk with
reading and writing the same regions, each alone. Sources are in the page cache. The whole takes less than five minutes
on an idle machine; `--quick` takes a tenth of the data.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from tests.servers.install import executable
from tests.servers.running import free_port, running

import omnizarr
from benchmarks.options import stop_on_signals
from benchmarks.report import markdown_table
from omnizarr.tools import copy, rechunk
from omnizarr.tools.plans.rechunk import RechunkRegions

ROUNDS = 3
_KEY, _SECRET = "benchmark-key", "benchmark-secret"
_MEMORY = """
import sys
import omnizarr
from omnizarr.tools import rechunk

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

source, target, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
plan = rechunk(omnizarr.open_array(source, mode="r"), target, chunks=eval(sys.argv[4]), max_memory=limit)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
plan.run()
print(len(plan.stages), status("VmHWM"))
"""


class Row(NamedTuple):
    """One comparison. `ratio` is ours divided by the other, in the unit of the goal."""

    what: str
    ours: float
    other: float | None
    ratio: float
    goal: str


def timed(work: Callable[[], object]) -> float:
    """The seconds that a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def erase(place: Path) -> None:
    """Erases a directory, if there is one."""
    shutil.rmtree(place, ignore_errors=True)


def in_turns(*works: Callable[[], float], rounds: int = ROUNDS) -> list[float]:
    """The median seconds of each of several measurements, which take turns."""
    times = [[work() for work in works] for _ in range(rounds)]
    return [median(column) for column in zip(*times, strict=True)]


# -- copy


def make_objects(place: Path, count: int, columns: int = 100) -> None:
    """An array of `count` objects of 64 KiB that do not compress, `columns` of them in each directory."""
    block = np.random.default_rng(0).integers(0, 2**63, (64, 128 * columns), dtype="i8")
    shape = (64 * count // columns, 128 * columns)
    array = omnizarr.create_array(place, shape=shape, dtype="i8", chunks=(64, 128), compressors=None)
    for start in range(0, shape[0], 64):
        array[start : start + 64] = block


def copy_rows(folder: Path, count: int, columns: int) -> Iterator[Row]:
    """Copies on the local disk."""
    source, target, theirs = folder / "a.zarr", folder / "b.zarr", folder / "c.zarr"
    make_objects(source, count, columns)
    shutil.copytree(source, theirs)  # brings the source into the page cache
    resumed: list[float] = []

    def ours() -> float:
        erase(target)
        seconds = timed(lambda: copy(str(source), target).run())
        resumed.append(timed(lambda: copy(str(source), target, resume=True).run(resume=True)))
        return seconds

    def verified() -> float:
        erase(target)
        return timed(lambda: copy(str(source), target, verify=True).run())

    def cp() -> float:
        erase(theirs)
        return timed(lambda: subprocess.run(["cp", "-r", source, theirs], check=True))

    own, checked, other = in_turns(ours, verified, cp)
    what = f"copy {count:,} × 64 KiB, {columns} per directory"
    yield Row(f"{what}; `cp -r`", own, other, other / own, "≥ 0.8")
    yield Row(f"{what} again with `--resume`; the first run", median(resumed), own, median(resumed) / own, "≤ 0.05")
    yield Row(f"{what} with `--verify`; without", checked, own, checked / own, "≤ 1.3")
    for place in (source, target, theirs):
        erase(place)


@contextmanager
def s3_server(folder: Path) -> Iterator[str]:
    """The endpoint of `rclone serve s3`, whose bucket is a directory."""
    port = free_port()
    (folder / "served" / "bucket").mkdir(parents=True)
    command = [executable("rclone"), "serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key", f"{_KEY},{_SECRET}"]
    with running([*command, folder / "served"], port, folder):
        yield f"http://127.0.0.1:{port}"


def bucket_rows(folder: Path, count: int) -> Iterator[Row]:
    """Copies to a bucket."""
    source = folder / "bucket.zarr"
    make_objects(source, count)
    numbers = itertools.count()
    with s3_server(folder) as endpoint:
        options = {"endpoint": endpoint, "region": "us-east-1", "access_key_id": _KEY, "secret_access_key": _SECRET}
        options["conditional"] = "off"  # this server ignores conditions, and there is one writer
        remote = f":s3,provider=Other,endpoint='{endpoint}',access_key_id={_KEY},secret_access_key={_SECRET}:bucket"

        def ours() -> float:
            address = f"s3://bucket/ours-{next(numbers)}"  # the server remembers what it has listed
            return timed(lambda: copy(str(source), address, storage_options=options).run())

        def theirs() -> float:
            address = f"{remote}/theirs-{next(numbers)}"
            command = [executable("rclone"), "copy", source, address, "--transfers", "32", "--quiet"]
            return timed(lambda: subprocess.run(command, check=True))

        own, other = in_turns(ours, theirs)
    erase(folder / "served")
    what = f"copy {count:,} × 64 KiB to S3; `rclone copy --transfers 32`"
    yield Row(what, own, other, other / own, "≥ 1.0")


# -- rechunk


def rechunk_row(folder: Path, what: str, shape: tuple[int, ...], chunks: Any, new: Any, limit: int) -> Row:
    """A rechunk, beside its reads and its writes alone."""
    source, target = folder / "source.zarr", folder / "target.zarr"
    block = np.random.default_rng(0).random((1, *shape[1:]), dtype="f4")
    array = omnizarr.create_array(source, shape=shape, dtype="f4", chunks=chunks, compressors=None, overwrite=True)
    step = chunks[0]
    for start in range(0, shape[0], step):
        array[start : start + step] = np.broadcast_to(block, (min(step, shape[0] - start), *shape[1:]))

    def ours() -> float:
        erase(target)
        plan = rechunk(omnizarr.open_array(source, mode="r"), target, chunks=new, max_memory=limit)
        return timed(plan.run)

    stages = 0

    def alone() -> float:
        nonlocal stages
        erase(target)
        plan = rechunk(omnizarr.open_array(source, mode="r"), target, chunks=new, max_memory=limit)
        plan._start(resume=False)
        stages = len(plan.stages)
        seconds = 0.0
        for stage in plan.stages:
            assert isinstance(stage, RechunkRegions)
            seconds += sum(run_in_threads(stage, read) for read in (False, True))
        return seconds

    own, other = in_turns(ours, alone)
    erase(target)
    erase(source)
    return Row(f"{what} ({stages} stages); its reads and writes alone", own, other, other / own, "≥ 0.8")


def run_in_threads(stage: RechunkRegions, read: bool) -> float:
    """The seconds for reading, or writing, all regions of a stage, in as many threads as a plan has. Writing comes
    first, because the next stage reads what was written."""

    def work(index: int) -> None:
        region = stage.region(index)
        if read:
            stage.source.read(region)
        else:
            stage.target[region] = np.ones([each.stop - each.start for each in region], stage.target.dtype)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return timed(lambda: list(pool.map(work, range(stage.count))))


def series_row(folder: Path, steps: int) -> Row:
    """Maps to time series within 512 MB, in a process of its own."""
    source, target, limit = folder / "maps.zarr", folder / "series.zarr", 512 * 10**6
    shape = (steps, 1000, 1000)
    array = omnizarr.create_array(source, shape=shape, dtype="f4", chunks=(1, 1000, 1000), compressors=None)
    block = np.random.default_rng(0).random((1, 1000, 1000), dtype="f4")
    for start in range(steps):
        array[start : start + 1] = block
    arguments = [str(source), str(target), str(limit), str((steps, 10, 100))]
    start = time.perf_counter()
    output = subprocess.run([sys.executable, "-c", _MEMORY, *arguments], check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    stages, peak = map(int, output.stdout.split())
    what = f"{4 * steps / 1000:.1f} GB to time series in {stages} stages; peak memory {peak / 1e6:.0f} MB, limit 512 MB"
    erase(source)
    erase(target)
    return Row(what, seconds, None, peak / limit, "≤ 1")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plans", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the data")
    parser.add_argument("--only", choices=("copy", "bucket", "rechunk", "series"), help="measure one part")
    parser.add_argument("--folder", help="where the data go; the default is the folder for temporary files")
    options = parser.parse_args()
    stop_on_signals()
    share = 10 if options.quick else 1
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="omnizarr-bench-", dir=options.folder) as name:
        folder = Path(name)
        parts = (options.only,) if options.only else ("copy", "bucket", "rechunk", "series")
        if "copy" in parts:
            for columns in (100, 1):
                rows += copy_rows(folder, 10_000 // share, columns)
        if "bucket" in parts and executable("rclone").exists():
            rows += bucket_rows(folder, 10_000 // share)
        elif "bucket" in parts:
            print("rclone is not installed: `make servers`", file=sys.stderr)
        if "rechunk" in parts:
            limits = (100 * 10**6, 40 * 10**6) if share == 1 else (20 * 10**6,)
            shape, new = (512 // share, 512, 512), (512 // share, 16, 16)
            rows.append(rechunk_row(folder, "rechunk", shape, (8, 512, 512), (64 // share, 128, 128), 400 * 10**6))
            rows += [rechunk_row(folder, "rechunk", shape, (1, 512, 512), new, limit) for limit in limits]
        if "series" in parts:
            rows.append(series_row(folder, 1000 // share))
    cells = [
        [
            row.what,
            f"{row.ours:.2f}",
            "–" if row.other is None else f"{row.other:.2f}",
            f"{row.ratio:.2f}",
            row.goal,
        ]
        for row in rows
    ]
    with suppress(BrokenPipeError):
        print(markdown_table(["ours; the other", "ours (s)", "other (s)", "ratio", "to reach"], cells))


if __name__ == "__main__":
    main()

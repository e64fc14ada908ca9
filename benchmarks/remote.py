"""Reading over a network: `python -m benchmarks.remote`, or `make bench-remote`.

A server on this machine takes 20 ms for every request. What is measured is how many such round trips a read takes: 100
and 1,000 chunks of 64 KiB, and points in shards. zarr-python reads the same addresses through the same client library.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import omnizarr

ROOT = Path(__file__).resolve().parents[1]
LATENCY = 0.02
CHUNK = 2**15  # elements of two bytes
COUNTS = (100, 1000)
TIMES = 7

# Runs where zarr-python is installed; prints a line for each read.
_THEIRS = """
import sys, time
import numpy, obstore.store, zarr
from zarr.storage import ObjectStore
url, times = sys.argv[1], int(sys.argv[2])
client = obstore.store.HTTPStore.from_url(url, client_options={"allow_http": True})
for name in sys.argv[3:]:
    z = zarr.open_array(ObjectStore(client, read_only=True), path=name, mode="r")
    taken = []
    for _ in range(times):
        before = time.perf_counter()
        z[...]
        taken.append(time.perf_counter() - before)
    print(zarr.__version__, name, min(taken[1:]), sorted(taken)[len(taken) // 2], flush=True)
"""


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """The address of a slow server that shows a folder."""
    command = [sys.executable, "-m", "benchmarks.slow_server", str(folder), str(LATENCY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def seconds(act: Callable[[], object]) -> tuple[float, float]:
    """The shortest and the middle time that something takes, once it has run."""
    act()
    taken = []
    for _ in range(TIMES):
        before = time.perf_counter()
        act()
        taken.append(time.perf_counter() - before)
    return min(taken), statistics.median(taken)


def main() -> None:
    """Prints the table."""
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for count in COUNTS:
            data = random.integers(0, 2**16, count * CHUNK, dtype="u2")
            omnizarr.create_array(folder / f"chunks-{count}", data=data, chunks=CHUNK, compressors=None)
        data = random.integers(0, 2**16, (1024, 1024), dtype="u2")
        omnizarr.create_array(folder / "shards", data=data, chunks=(32, 32), shards=(256, 256))
        with server(folder) as url:
            trip, _ = seconds(lambda: urllib.request.urlopen(f"{url}/shards/zarr.json").read())
            print(
                f"one request takes {trip * 1e3:.1f} ms; all figures are round trips: the best of {TIMES}, the median"
            )
            for count in COUNTS:
                z = omnizarr.open_array(f"{url}/chunks-{count}")
                _line(f"omnizarr, {count} chunks of 64 KiB", seconds(lambda z=z: z[...]), trip)  # type: ignore[misc]
            z = omnizarr.open_array(f"{url}/shards")
            _line("omnizarr, 16 points in 16 shards", seconds(lambda: z[::256, ::256]), trip)
            _line("omnizarr, one point in a shard", seconds(lambda: z[700, 300]), trip)
            _theirs(url, trip)


def _line(what: str, taken: tuple[float, float], trip: float) -> None:
    print(f"{what:40} {taken[0] / trip:6.1f} {taken[1] / trip:6.1f}", flush=True)


def _theirs(url: str, trip: float) -> None:
    python = ROOT / ".peers/zarr3/bin/python"
    names = [f"chunks-{count}" for count in COUNTS]
    command = [str(python), "-c", _THEIRS, url, str(TIMES), *names]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    except OSError as error:
        print(f"zarr-python: left out, {error}")
        return
    for line in result.stdout.splitlines():
        version, name, best, middle = line.split()
        count = name.rpartition("-")[2]
        _line(f"zarr-python {version}, {count} chunks of 64 KiB", (float(best), float(middle)), trip)
    if result.returncode:
        print(f"zarr-python: left out, {result.stderr.strip().splitlines()[-1]}")


if __name__ == "__main__":
    main()

"""Reading over a network: `python -m benchmarks.remote`, or `make bench-remote`.

A server on this machine answers every request after 20 ms. The figures are how many such round trips a read takes: 100
and 1,000 chunks of 64 KiB, and points in shards. zarr-python reads the same URLs through the same client library.
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

# Runs in the environment of zarr-python; prints one line per read.
_ZARR_PYTHON_CODE = """
import sys, time
import numpy, obstore.store, zarr
from zarr.storage import ObjectStore
url, times = sys.argv[1], int(sys.argv[2])
client = obstore.store.HTTPStore.from_url(url, client_options={"allow_http": True})
for name in sys.argv[3:]:
    z = zarr.open_array(ObjectStore(client, read_only=True), path=name, mode="r")
    seconds = []
    for _ in range(times):
        before = time.perf_counter()
        z[...]
        seconds.append(time.perf_counter() - before)
    print(zarr.__version__, name, min(seconds[1:]), sorted(seconds)[len(seconds) // 2], flush=True)
"""


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """The URL of a slow server for the files of a folder."""
    command = [sys.executable, "-m", "benchmarks.slow_server", str(folder), str(LATENCY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def seconds(act: Callable[[], object]) -> tuple[float, float]:
    """The shortest and the median time of a call, after one call to warm up."""
    act()
    times = []
    for _ in range(TIMES):
        before = time.perf_counter()
        act()
        times.append(time.perf_counter() - before)
    return min(times), statistics.median(times)


def main() -> None:
    """Prints one line per read."""
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
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
                _print_line(f"omnizarr, {count} chunks of 64 KiB", seconds(lambda z=z: z[...]), trip)  # type: ignore[misc]
            z = omnizarr.open_array(f"{url}/shards")
            _print_line("omnizarr, 16 points in 16 shards", seconds(lambda: z[::256, ::256]), trip)
            _print_line("omnizarr, one point in a shard", seconds(lambda: z[700, 300]), trip)
            _measure_zarr_python(url, trip)


def _print_line(what: str, times: tuple[float, float], trip: float) -> None:
    print(f"{what:40} {times[0] / trip:6.1f} {times[1] / trip:6.1f}", flush=True)


def _measure_zarr_python(url: str, trip: float) -> None:
    python = ROOT / ".peers/zarr3/bin/python"
    names = [f"chunks-{count}" for count in COUNTS]
    command = [str(python), "-c", _ZARR_PYTHON_CODE, url, str(TIMES), *names]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    except OSError as error:
        print(f"zarr-python: left out, {error}")
        return
    for line in result.stdout.splitlines():
        version, name, best, median = line.split()
        count = name.rpartition("-")[2]
        _print_line(f"zarr-python {version}, {count} chunks of 64 KiB", (float(best), float(median)), trip)
    if result.returncode:
        print(f"zarr-python: left out, {result.stderr.strip().splitlines()[-1]}")


if __name__ == "__main__":
    main()

"""Load test of `omnizarr serve` beside nginx, and the speed of the page: `python -m benchmarks.serve`.

The load test needs wrk and nginx (Debian: `apt-get install wrk nginx-light`). Both servers serve the same folder from
the page cache. wrk requests the values of one row of the table again and again, from one thread, and the table shows
the answers per second. The servers take turns; the best of the rounds counts.

The speed of the page needs what `make browser` installs. Chromium runs already, without a graphics card. A time is from
the start of the command `omnizarr view` to the first picture of an array of 1 GB; pictures per second are counted while
the page steps through the time steps of an array. The table shows the best and the median of the rounds.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import omnizarr
from benchmarks.environment import ROOT
from benchmarks.remote.servers import fast_server, slow_server

CONNECTIONS = (1, 16, 64)
COUNT = 64  # values of a row
ROWS = {
    # title: array, headers
    "4 KiB": ("small", {}),
    "256 KiB": ("middle", {}),
    "4 MiB": ("large", {}),
    "4 KiB out of 4 MiB (`Range`)": ("large", {"Range": "bytes=4096-8191"}),
}
CHUNKS = {"small": 4096, "middle": 2**18, "large": 2**22}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
LATENCY = 0.02  # seconds per request of the slow server


def make_values(folder: Path) -> None:
    """Arrays of uncompressed chunks, in v2: v3 can show the same bytes under other keys."""
    group = omnizarr.create_group(folder, zarr_format=2)
    for name, size in CHUNKS.items():
        z = group.create_array(name, shape=(COUNT * size,), chunks=(size,), dtype="u1", compressors=None)
        z[...] = np.random.default_rng(1).integers(0, 256, z.shape, dtype="u1")


def _request(script: Path, base: str, name: str, suffix: str, headers: dict[str, str]) -> list[str]:
    """The arguments of wrk that request all chunks of an array in turn."""
    fields = " ".join(f'wrk.headers["{key}"] = "{value}"' for key, value in headers.items())
    script.write_text(
        f"{fields}\nlocal n = 0\n"
        f'request = function() n = (n + 1) % {COUNT}; return wrk.format("GET", "{base}{name}/{suffix}" .. n) end\n'
    )
    return ["-s", str(script)]


def _load(url: str, arguments: list[str], connections: int, seconds: float) -> tuple[float, str]:
    """Answers per second, and the time in which 99 % arrive."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "--latency", "--timeout", "20s", *arguments, url]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in text or "Socket errors" in text:
        raise SystemExit(f"the server did not answer all requests:\n{text}")
    rate, slow = re.search(r"Requests/sec: +([\d.]+)", text), re.search(r"99% +(\S+)", text)
    assert rate is not None
    assert slow is not None
    return float(rate[1]), slow[1]


@contextmanager
def command_server(*arguments: str) -> Iterator[str]:
    """The address that a command of omnizarr prints while it runs."""
    command = [sys.executable, "-m", "omnizarr", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def print_load(seconds: float, rounds: int) -> None:
    """The table of the load test."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        make_values(home / "x")
        home.chmod(0o755)
        script = home / "request.lua"
        print("| values | connections | nginx, per s | omnizarr, per s | GB/s | 99 % within | omnizarr / nginx |")
        print("|---|---|---|---|---|---|---|", flush=True)
        with (
            fast_server(home / "x", home / "nginx") as (kind, nginx),
            command_server("serve", str(home / "x"), "--port", "0") as address,
        ):
            if kind != "nginx":
                raise SystemExit("nginx is not installed")
            rows = [(f"`/data`, {title}", "/data/", "", *row) for title, row in ROWS.items()]
            rows.append(("`/as/v3` of v2, 256 KiB", "/as/v3/", "c/", "middle", {}))
            for title, base, suffix, array, headers in rows:
                length = 4096 if headers else CHUNKS[array]
                for connections in CONNECTIONS:
                    best = {"nginx": (0.0, ""), "omnizarr": (0.0, "")}
                    for _ in range(rounds):
                        plain = _request(script, "/", array, "", headers)
                        best["nginx"] = max(best["nginx"], _load(nginx, plain, connections, seconds))
                        own = _request(script, base, array, suffix, headers)
                        best["omnizarr"] = max(best["omnizarr"], _load(address, own, connections, seconds))
                    (other, _), (rate, slow) = best["nginx"], best["omnizarr"]
                    numbers = f"{other:,.0f} | {rate:,.0f} | {rate * length / 1e9:.2f} | {slow} | {rate / other:.2f}"
                    print(f"| {title} | {connections} | {numbers} |", flush=True)


def make_pictures(folder: Path) -> tuple[Path, Path]:
    """An array of 1 GB in chunks of about 4 MB, and time steps of a globe at a quarter of a degree."""
    random = np.random.default_rng(2)
    large, steps = folder / "large.zarr", folder / "steps.zarr"
    z = omnizarr.create_array(large, shape=(16, 4096, 4096), chunks=(1, 1024, 1024), dtype="float32", fill_value=-1)
    noise = random.normal(0, 1, (4096, 4096)).astype("float32")
    for n in range(16):
        z[n] = np.roll(noise, n * 100, axis=1) + np.sin(np.arange(4096, dtype="float32") / 300)
    z = omnizarr.create_array(steps, shape=(48, 721, 1440), chunks=(1, 721, 1440), dtype="float32")
    for n in range(48):
        z[n] = np.roll(noise[:721, :1440], n * 10, axis=1)
    return large, steps


def _page(job: dict[str, Any]) -> dict[str, float]:
    run = subprocess.run(
        ["node", "tests/speed.mjs"],
        input=json.dumps({"chromium": CHROMIUM, "python": sys.executable, "root": str(ROOT), **job}),
        cwd=ROOT / "viewer",
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(run.stderr)
    result: dict[str, float] = json.loads(run.stdout)
    return result


def print_page(rounds: int) -> None:
    """The table of the speed of the page."""
    if CHROMIUM is None or not (ROOT / "viewer" / "node_modules" / "playwright-core").exists():
        raise SystemExit("the page needs Chromium and npm packages: run `make browser`")
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        large, steps = make_pictures(home)
        print("| what | figure |\n|---|---|", flush=True)
        local = [_page({"locations": [str(large)]}) for _ in range(rounds)]
        print(f"| command to first picture, 1 GB in a folder | {_seconds(local, 'first')} |", flush=True)
        print(f"| processor time of the server until then | {_seconds(local, 'processor')} |", flush=True)
        with slow_server(home, LATENCY) as url:
            slow = [_page({"locations": [f"{url}/large.zarr"]}) for _ in range(rounds)]
        print(f"| the same over HTTP, {LATENCY * 1e3:g} ms per request | {_seconds(slow, 'first')} |", flush=True)
        rates = [_page({"locations": [str(steps)], "seconds": 5})["rate"] for _ in range(rounds)]
        text = f"{max(rates):.0f} pictures per second, median {np.median(rates):.0f}"
        print(f"| stepping through 721 × 1440 float32, one chunk per step | {text} |")


def _seconds(results: list[dict[str, float]], name: str) -> str:
    times = [result[name] for result in results]
    return f"{min(times):.2f} s, median {np.median(times):.2f} s"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve", description=__doc__)
    parser.add_argument("--what", choices=("load", "page", "both"), default="both")
    parser.add_argument("--seconds", type=float, default=2, help="of one load")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.what != "page":
        if shutil.which("wrk") is None:
            raise SystemExit("wrk is not installed: `apt-get install wrk`")
        print_load(options.seconds, options.rounds)
    if options.what != "load":
        print(flush=True)
        print_page(options.rounds)


if __name__ == "__main__":
    main()

"""Load test of examples/slice_server.py: `python -m benchmarks.web_server`, with aiohttp.

200 clients in a process of their own request windows of 10 × 10 elements at random places, each the next as soon as it
has the last. Meanwhile a task in the server sleeps for a millisecond again and again, and notes for how long its event
loop is late: during that time the server answers no client. The exit status is 1 if that was ever more than 50 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib.util
import io
import multiprocessing
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import omnizarr
from benchmarks.event_loop import CHUNK, READERS, SIDE, keys_at_random, lateness, run_on_loop, watch
from benchmarks.peer import ROOT

LENGTH = 10
LIMIT = 0.05  # seconds
WARM_UP = 400  # requests, which import modules, open files and start threads


def _example() -> Any:
    specification = importlib.util.spec_from_file_location("slice_server", ROOT / "examples" / "slice_server.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


async def _serve(folder: str, pipe: Connection) -> None:
    """Serves until the parent sends a message, and answers it with the lateness of the loop since the one before."""
    from aiohttp import web

    runner = web.AppRunner(await _example().application(folder), access_log=None, handler_cancellation=True)
    await runner.setup()
    gc.collect()
    gc.freeze()  # as the example does when it is run as a program
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    late: list[float] = []
    watcher = asyncio.create_task(watch(late))
    pipe.send(runner.addresses[0][1])
    for _ in range(2):
        await asyncio.to_thread(pipe.recv)
        pipe.send(list(late))
        late.clear()
    watcher.cancel()
    await runner.cleanup()


def _server(folder: str, uvloop: bool, pipe: Connection) -> None:
    run_on_loop(_serve(folder, pipe), uvloop)


async def _load(port: int, count: int, data: Any) -> tuple[float, list[float]]:
    """Seconds for all requests, and for each. Each answer is compared with the data."""
    import aiohttp

    waiting, times = keys_at_random(count, LENGTH), []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=READERS)) as session:

        async def request_on() -> None:
            while waiting:
                rows, columns = key = waiting.pop()
                before = time.perf_counter()
                text = f"{rows.start}:{rows.stop},{columns.start}:{columns.stop}"
                async with session.get(f"http://127.0.0.1:{port}/a/{text}") as answer:
                    body = await answer.read()
                times.append(time.perf_counter() - before)
                assert np.array_equal(np.load(io.BytesIO(body)), data[key]), "the server sent other elements"

        before = time.perf_counter()
        await asyncio.gather(*[request_on() for _ in range(READERS)])
        return time.perf_counter() - before, times


def _client(port: int, count: int, data: Any, pipe: Connection) -> None:
    asyncio.run(_load(port, WARM_UP, data))
    pipe.send(None)
    pipe.recv()
    pipe.send(asyncio.run(_load(port, count, data)))


def measure(count: int, uvloop: bool = False) -> tuple[float, list[float], list[float]]:
    """Seconds for all requests, seconds of each, and for how long the loop of the server was late."""
    spawn: Any = multiprocessing.get_context("spawn")
    data = np.random.default_rng(0).integers(0, 100, (SIDE, SIDE), "i4")
    with tempfile.TemporaryDirectory(prefix="omnizarr-bench-") as folder:
        omnizarr.create_group(Path(folder, "g.zarr")).create_array("a", data=data, chunks=(CHUNK, CHUNK))
        server_end, to_server = spawn.Pipe()
        server = spawn.Process(target=_server, args=(str(Path(folder, "g.zarr")), uvloop, to_server), daemon=True)
        server.start()
        port = server_end.recv()
        client_end, to_client = spawn.Pipe()
        client = spawn.Process(target=_client, args=(port, count, data, to_client), daemon=True)
        client.start()
        client_end.recv()
        server_end.send(None)
        server_end.recv()  # that of the warm-up does not count
        client_end.send(None)
        total, times = client_end.recv()
        server_end.send(None)
        late = server_end.recv()
        client.join()
        server.join()
    return total, times, late


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.web_server", description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--uvloop", action="store_true", help="use the event loop of uvloop in the server")
    options = parser.parse_args()
    total, times, late = measure(options.requests, options.uvloop)
    median, slow = np.percentile(times, [50, 99]) * 1e3
    print("| clients | requests/s | request, median | request, 99 % | loop late, 99 % | most |")
    print("|---|---|---|---|---|---|")
    print(f"| {READERS} | {len(times) / total:,.0f} | {median:.1f} ms | {slow:.1f} ms | {lateness(late)} |")
    sys.exit(max(late) > LIMIT)


if __name__ == "__main__":
    main()

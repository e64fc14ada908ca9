"""A proxy between client and server that delays, loses and fails answers, and ignores parts of requests."""

from __future__ import annotations

import asyncio
import gc
import random
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["Faults", "Proxy", "proxy"]

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_RANGE = re.compile(rb"\r\n(?:x-ms-)?range: [^\r]*", re.IGNORECASE)
_CONDITION = re.compile(rb"\r\nif-(?:none-)?match: [^\r]*", re.IGNORECASE)
_TAG = re.compile(rb"\r\netag: [^\r]*", re.IGNORECASE)


@dataclass
class Faults:
    """The faults of a proxy. Probabilities are per request."""

    latency: float = 0.0
    together: int = 0
    """Hold all answers until so many requests are in flight."""
    fail: float = 0.0
    """Answer 503."""
    status: int = 0
    """Answer every request whose path contains `only` with this status."""
    only: bytes = b""
    reset: float = 0.0
    """Close the connection before the answer."""
    lose: float = 0.0
    """Close the connection instead of the answer, after the server has done what a PUT or DELETE requests. Only if the
    path contains `only`."""
    cut: float = 0.0
    """Close the connection in the middle of the body."""
    stall: float = 0.0
    """Never answer."""
    lost_as: int = 0
    """What the client gets instead of a lost answer: this status; 0 closes the connection, and -1 is silence."""
    no_conditions: bool = False
    """Ignore the conditions of requests."""
    no_ranges: bool = False
    """Answer a range request with status 200 and the whole value."""
    no_tags: bool = False
    """Answer without an ETag."""


@dataclass
class Proxy:
    """A running proxy."""

    endpoint: str
    faults: Faults
    requests: list[bytes] = field(default_factory=list)
    """The first lines of all requests."""
    signed: int = 0
    """How many requests had credentials."""
    lost: int = 0
    """How many answers were lost."""
    most: int = 0
    """How many requests were in flight at once."""
    under_way: int = 0
    running: bool = True


@contextmanager
def proxy(upstream: str, seed: int = 0) -> Iterator[Proxy]:
    """A proxy in front of the server at `upstream`, for the duration of the block."""
    host, _, port = upstream.removeprefix("http://").partition(":")
    found = Proxy("", Faults())
    dice = random.Random(seed)
    ready = threading.Event()
    writers: set[asyncio.StreamWriter] = set()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.add(writer)
        try:
            while found.running:
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                body = await reader.readexactly(int(length[1])) if length else b""
                found.requests.append(head.partition(b"\r\n")[0])
                found.signed += b"\r\nauthorization:" in head.lower()
                found.under_way += 1
                found.most = max(found.most, found.under_way)
                try:
                    if not await answer(head, body, writer):
                        return
                finally:
                    found.under_way -= 1
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writers.discard(writer)
            writer.transport.close() if found.running else writer.transport.abort()

    async def answer(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection can be reused."""
        faults = found.faults
        if faults.latency:
            await asyncio.sleep(faults.latency)
        for _ in range(2000):
            if found.most >= faults.together:
                break
            await asyncio.sleep(0.01)
        if faults.status and faults.only in head.partition(b"\r\n")[0]:
            writer.write(b"HTTP/1.1 %d Fault\r\nContent-Length: 0\r\n\r\n" % faults.status)
            return True
        if dice.random() < faults.fail:
            writer.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
            return True
        if dice.random() < faults.reset:
            return False
        if dice.random() < faults.stall:
            await running[0][1].wait()
            return False
        if faults.no_ranges:
            head = _RANGE.sub(b"", head)
        if faults.no_conditions:
            head = _CONDITION.sub(b"", head)
        reader, out = await asyncio.open_connection(host, int(port))
        try:
            out.write(head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + body)
            answered = await reader.read()
        finally:
            out.close()
        first = head.partition(b"\r\n")[0]
        if first.startswith((b"PUT", b"DELETE")) and faults.only in first and dice.random() < faults.lose:
            found.lost += 1
            if faults.lost_as < 0:
                await running[0][1].wait()
            if faults.lost_as <= 0:
                return False
            writer.write(b"HTTP/1.1 %d Fault\r\nContent-Length: 0\r\n\r\n" % faults.lost_as)
            return True
        if faults.no_tags:
            answered = _TAG.sub(b"", answered, count=1)
        if dice.random() < faults.cut and head.startswith(b"GET"):
            writer.write(answered[: len(answered) - 1 - len(answered.partition(b"\r\n\r\n")[2]) // 2])
            await writer.drain()
            return False
        writer.write(answered)
        await writer.drain()
        return False

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
        found.endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        running.append((asyncio.get_running_loop(), stop := asyncio.Event()))
        ready.set()
        await stop.wait()
        found.running = False
        server.close()
        for writer in writers:
            writer.transport.abort()
        for _ in range(500):  # until the tasks of all connections have ended
            if len(asyncio.all_tasks()) == 1:
                break
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)  # and until the sockets are closed

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield found
    finally:
        loop, stop = running[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        with warnings.catch_warnings():
            # Collect aborted connections here; otherwise their warnings appear in another test.
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()

"""A web server on a loopback port that delays every answer.

`python -m benchmarks.remote.slow_server FOLDER SECONDS [EVERY LATE]` prints its port. Of EVERY requests, the last is
answered after LATE seconds more. It serves the files from memory and does
little else, so that a benchmark does not measure the server.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

_REQUEST = re.compile(rb"(GET|HEAD) /([^ ]*) ")
_RANGE = re.compile(rb"\r\nrange: bytes=(\d*)-(\d*)", re.IGNORECASE)


class Connection(asyncio.Protocol):
    """The connection of one client; answers its requests in order."""

    def __init__(self, values: dict[bytes, bytes], seconds: Callable[[], float]) -> None:
        self._values = values
        self._seconds = seconds
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._head += data
        while b"\r\n\r\n" in self._head:
            head, _, self._head = self._head.partition(b"\r\n\r\n")
            asyncio.get_running_loop().call_later(self._seconds(), self._answer, head)

    def _answer(self, head: bytes) -> None:
        request = _REQUEST.match(head)
        value = self._values.get(request[2]) if request else None
        if request is None or value is None:
            self._transport.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        size, requested = len(value), _RANGE.search(head)
        start, stop = 0, size
        if requested is not None:
            first, last = requested.groups()
            start = int(first) if first else max(0, size - int(last))
            stop = min(size, int(last) + 1) if first and last else size
        status = (
            b"200 OK"
            if requested is None
            else b"206 Partial\r\nContent-Range: bytes %d-%d/%d" % (start, stop - 1, size)
        )
        lines = (
            b'HTTP/1.1 %s\r\nContent-Length: %d\r\nETag: "%x"\r\nLast-Modified: Tue, 01 Jan 2030 00:00:00 GMT\r\n\r\n'
        )
        self._transport.write(lines % (status, stop - start, size))
        if request[1] == b"GET":
            self._transport.write(memoryview(value)[start:stop])  # without a copy


async def serve_values(folder: Path, seconds: float, every: int = 0, late: float = 0.0) -> asyncio.Server:
    """A server of the files in a folder. Of `every` requests, the last is answered after `late` seconds more."""
    files = (path for path in folder.rglob("*") if path.is_file())
    values = {path.relative_to(folder).as_posix().encode(): path.read_bytes() for path in files}
    numbers = count(1)

    def delay() -> float:
        return seconds + late if every and next(numbers) % every == 0 else seconds

    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: Connection(values, delay), "127.0.0.1", 0, backlog=1024)


async def serve(folder: Path, seconds: float, every: int = 0, late: float = 0.0) -> None:
    """Serves until the process ends."""
    server = await serve_values(folder, seconds, every, late)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    stragglers = (int(sys.argv[3]), float(sys.argv[4])) if sys.argv[3:] else ()
    asyncio.run(serve(Path(sys.argv[1]), float(sys.argv[2]), *stragglers))

"""A server with the S3 requests that Zarr libraries send, on a loopback port, which delays every answer.

`python -m benchmarks.remote.bucket_server FOLDER SECONDS` prints its port. The objects of its bucket `bench` are the
files of the folder; it keeps them and all new ones in memory, and checks no signatures. It supports conditions.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import sys
from bisect import bisect_left
from pathlib import Path
from urllib.parse import parse_qs, unquote
from xml.sax.saxutils import escape, unescape

BUCKET = "bench"
_PAGE = 1000  # keys per answer to a listing
_HEADER = re.compile(rb"\r\n(content-length|range|if-match|if-none-match|expect): *([^\r]*)", re.IGNORECASE)
_TIME = "2030-01-01T00:00:00.000Z"


class Bucket:
    """Objects in memory."""

    def __init__(self) -> None:
        self.values: dict[str, tuple[bytes, str]] = {}
        self._sorted: list[str] | None = None

    def put(self, key: str, value: bytes) -> str:
        if key not in self.values:
            self._sorted = None
        tag = f'"{hashlib.blake2b(value, digest_size=8).hexdigest()}"'
        self.values[key] = value, tag
        return tag

    def erase(self, key: str) -> None:
        if self.values.pop(key, None) is not None:
            self._sorted = None

    def page(self, prefix: str, delimiter: str, after: str) -> tuple[list[str], list[str], str]:
        """Keys, common prefixes, and where the next page begins."""
        if self._sorted is None:
            self._sorted = sorted(self.values)
        keys: list[str] = []
        prefixes: list[str] = []
        number = bisect_left(self._sorted, max(prefix, after))
        while number < len(self._sorted) and (key := self._sorted[number]).startswith(prefix):
            if len(keys) + len(prefixes) == _PAGE:
                return keys, prefixes, key
            head, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            if found:
                prefixes.append(prefix + head + delimiter)
                number = bisect_left(self._sorted, prefix + head + chr(ord(delimiter) + 1))
            else:
                keys.append(key)
                number += 1
        return keys, prefixes, ""


class Connection(asyncio.Protocol):
    """The connection of one client."""

    def __init__(self, bucket: Bucket, seconds: float) -> None:
        self._bucket = bucket
        self._seconds = seconds
        self._data = bytearray()
        self._continued = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._data[: end + 2])
            headers = {name.lower(): value for name, value in _HEADER.findall(head)}
            length = int(headers.get(b"content-length", 0))
            if b"expect" in headers and not self._continued:
                self._continued = True
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            if len(self._data) < end + 4 + length:
                return
            body = bytes(self._data[end + 4 : end + 4 + length])
            del self._data[: end + 4 + length]
            self._continued = False
            method, target, _ = head.split(b" ", 2)
            answer = self._answer(method.decode(), target.decode(), headers, body)
            asyncio.get_running_loop().call_later(self._seconds, self._transport.write, answer)

    def _answer(self, method: str, target: str, headers: dict[bytes, bytes], body: bytes) -> bytes:
        path, _, query = target.partition("?")
        key = unquote(path).removeprefix(f"/{BUCKET}").removeprefix("/")
        value, tag = self._bucket.values.get(key, (None, ""))
        if method == "GET" and not key:
            return _reply("200 OK", self._listing(query), "Content-Type: application/xml")
        if method == "POST" and query.startswith("delete"):
            keys = [unescape(name.decode()) for name in re.findall(rb"<Key>([^<]*)</Key>", body)]
            for name in keys:
                self._bucket.erase(name)
            erased = "".join(f"<Deleted><Key>{escape(name)}</Key></Deleted>" for name in keys)
            return _reply("200 OK", f"<DeleteResult>{erased}</DeleteResult>".encode(), "Content-Type: application/xml")
        if method == "PUT":
            wanted = headers.get(b"if-match", b"").decode()
            if (headers.get(b"if-none-match") and value is not None) or (wanted and wanted != tag):
                return _reply("412 Precondition Failed", b"<Error><Code>PreconditionFailed</Code></Error>")
            return _reply("200 OK", b"", f"ETag: {self._bucket.put(key, body)}")
        if method == "DELETE":
            self._bucket.erase(key)
            return _reply("204 No Content", b"")
        if value is None:
            return _reply("404 Not Found", b"<Error><Code>NoSuchKey</Code></Error>")
        lines = [f"ETag: {tag}", "Last-Modified: Tue, 01 Jan 2030 00:00:00 GMT"]
        if method == "HEAD":
            return _reply("200 OK", b"", *lines, length=len(value))
        size, requested = len(value), re.fullmatch(rb"bytes=(\d*)-(\d*)", headers.get(b"range", b""))
        if requested is None:
            return _reply("200 OK", value, *lines)
        first, last = requested.groups()
        start = int(first) if first else max(0, size - int(last))
        stop = min(size, int(last) + 1) if first and last else size
        return _reply("206 Partial", value[start:stop], *lines, f"Content-Range: bytes {start}-{stop - 1}/{size}")

    def _listing(self, query: str) -> bytes:
        asked = {name: values[0] for name, values in parse_qs(query).items()}
        after = asked.get("continuation-token") or asked.get("start-after", "")
        keys, prefixes, following = self._bucket.page(asked.get("prefix", ""), asked.get("delimiter", ""), after)
        parts = [
            f"<Contents><Key>{escape(key)}</Key><LastModified>{_TIME}</LastModified>"
            f"<ETag>{escape(self._bucket.values[key][1])}</ETag><Size>{len(self._bucket.values[key][0])}</Size></Contents>"
            for key in keys
        ]
        parts += [f"<CommonPrefixes><Prefix>{escape(prefix)}</Prefix></CommonPrefixes>" for prefix in prefixes]
        more = f"<NextContinuationToken>{escape(following)}</NextContinuationToken>" if following else ""
        head = f"<Name>{BUCKET}</Name><KeyCount>{len(parts)}</KeyCount><MaxKeys>{_PAGE}</MaxKeys>"
        truncated = f"<IsTruncated>{'true' if following else 'false'}</IsTruncated>{more}"
        return f"<ListBucketResult>{head}{truncated}{''.join(parts)}</ListBucketResult>".encode()


def _reply(status: str, body: bytes, *lines: str, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {size}", *lines, "", ""]).encode() + body


async def serve(folder: Path, seconds: float) -> None:
    """Serves until the process ends."""
    bucket = Bucket()
    for path in folder.rglob("*"):
        if path.is_file():
            bucket.put(path.relative_to(folder).as_posix(), path.read_bytes())
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(bucket, seconds), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), float(sys.argv[2])))

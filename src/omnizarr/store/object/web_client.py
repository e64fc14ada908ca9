"""A client for plain `http://` addresses: GET requests on connections that stay open.

A request takes about half the processor time of one through obstore, because no other thread handles it, and the body
is received straight into its final memory. Everything that is unusual (redirects, compressed or chunked bodies, broken
connections, statuses other than 200, 206 and 404) goes to the client of obstore, which repeats the request.
"""

from __future__ import annotations

import os
import re
import select
import socket
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from omnizarr.errors import TimedOutError
from omnizarr.store.deadline import current_deadline
from omnizarr.store.finalizers import call_on_deletion
from omnizarr.store.object.timed_get import get_before
from omnizarr.store.requests.hedging import MOST_COPIES, Hedging

__all__ = ["StartedRequest", "WebAnswer", "WebClient", "serves"]

_PLAIN_PATH = re.compile(r"[A-Za-z0-9._~/-]+")  # characters that no client escapes
_HEADER = re.compile(
    rb"\r\n(content-length|content-range|content-encoding|transfer-encoding|connection|etag):[ \t]*([^\r\n]*)",
    re.IGNORECASE,
)
_LENGTH = re.compile(rb"[0-9]{1,18}")  # fits in 64 bits
_RANGE = re.compile(rb"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")
_FORM_OF_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[ -~]*")
_SCRATCH = 2**15  # bytes for the head of an answer and the start of its body
_MOST_IDLE = 256  # connections
_MOST_WHOLE = 2**26  # bytes of an answer without a known limit; obstore reads larger ones, in steps
_MOST_UNUSUAL = 3  # unusual answers in sequence, after which all requests go to obstore
_KNOWN_OPTIONS = frozenset(
    {"allow_http", "timeout", "read_timeout", "connect_timeout", "default_headers", "user_agent"}
)
_LOOK_AGAIN = 0.1  # seconds
_QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)  # Linux only
_PROXIES = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")


def serves(root: str, options: Mapping[str, Any]) -> bool:
    """Whether this client can send the requests to a server. Those through TLS or a proxy need obstore."""
    if not root.startswith("http://") or "@" in root or not root.isascii() or not options.keys() <= _KNOWN_OPTIONS:
        return False
    values = (options.get("default_headers") or {}).values()
    if any(os.environ.get(name) for name in _PROXIES) or not all(isinstance(value, str) for value in values):
        return False
    return all(_FORM_OF_HEADER.fullmatch(line) for line in _header_lines(options))


def _header_lines(options: Mapping[str, Any]) -> list[str]:
    agent = options.get("user_agent") or "omnizarr"
    headers = {"User-Agent": agent, "Accept": "*/*", **(options.get("default_headers") or {})}
    return [f"{name}: {value}" for name, value in headers.items()]


class _Unusual(Exception):
    """The answer must be read by obstore."""


class _Refused(_Unusual):
    """The server refused this request, which says nothing about the next."""


class WebAnswer:
    """The parts of obstore's `GetResult` that `ObjectReader` uses."""

    __slots__ = ("_data", "meta", "range")
    attributes: Mapping[str, str] = {}

    def __init__(self, data: memoryview, tag: str | None, size: int, start: int, stop: int) -> None:
        self._data = data
        self.meta = {"e_tag": tag, "size": size, "version": None}
        self.range = (start, stop)

    def buffer(self) -> memoryview:
        return self._data


class _Connection:
    __slots__ = ("read_timeout", "scratch", "socket", "view")

    def __init__(self, address: tuple[str, int], connect_timeout: float, read_timeout: float) -> None:
        self.socket = socket.create_connection(address, connect_timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if sys.platform == "linux":
            # The system checks the time: Python would call poll() before each recv(), and could not wait for all bytes.
            self.socket.settimeout(None)
            limit = struct.pack("ll", int(read_timeout), int(read_timeout % 1 * 1e6))
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        else:
            self.socket.settimeout(read_timeout)
        self.read_timeout = read_timeout
        self.scratch = bytearray(_SCRATCH)
        self.view = memoryview(self.scratch)

    def send(self, request: bytes) -> None:
        self.socket.sendall(request)
        if _QUICK_ACK is not None:
            # Many servers send the end of an answer only after the client has acknowledged the beginning (Nagle's
            # algorithm), which the system delays by 40 ms. It forgets this option after a while.
            self.socket.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)

    def is_usable(self) -> bool:
        """Whether the next request may be sent: the server has neither closed the connection, nor sent more than the
        last answer. Elsewhere than on Linux, only the next answer shows it."""
        if not _DO_NOT_WAIT:
            return True
        try:
            self.socket.recv_into(self.view, 1, _DO_NOT_WAIT | socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def receive(self, target: memoryview, end: float, flags: int = 0) -> int:
        """Receive bytes; 0 if the server has closed the connection. Raises TimedOutError at the time limit of the call,
        and `_Unusual` if the server is silent, or still sends at the time `end` of `time.monotonic`."""
        limit = current_deadline.get()
        if limit is not None:
            if not _readable([self], min(limit.remaining(), self.read_timeout)):
                limit.check()
                raise _Unusual
            flags = 0  # return what has arrived, so that the next call checks the limit
        count = self.socket.recv_into(target, 0, flags)
        if monotonic() > end:
            raise _Unusual
        return count

    def close(self) -> None:
        self.socket.close()


class StartedRequest:
    """A request that was sent, and whose answer was not received."""

    __slots__ = ("connection", "range", "request", "time", "waited")

    def __init__(self, connection: _Connection, request: bytes, range: Any, time: float) -> None:
        self.connection = connection
        self.request = request
        self.range = range
        self.time = time
        """When it was sent, by `time.monotonic`."""
        self.waited = False
        """Whether the answer was not there yet when a thread came to receive it."""

    def abandon(self) -> None:
        """Close the connection, and so drop the answer."""
        self.connection.close()


class WebClient:
    """Sends GET requests itself, and leaves all else to a client of obstore."""

    def __init__(self, root: str, options: Mapping[str, Any], obstore_client: Any) -> None:
        parts = urlsplit(root)
        self._address = (parts.hostname or "", parts.port or 80)
        self._obstore_client = obstore_client
        self._idle: list[_Connection] = []
        self._unusual = 0
        self._hedging = Hedging()
        call_on_deletion(self, _Connection.close, self._idle)

        def seconds(name: str, default: float) -> float:
            value = options.get(name, default)
            return value.total_seconds() if isinstance(value, timedelta) else float(value)

        self._connect_timeout = seconds("connect_timeout", 5.0)
        self._read_timeout = seconds("read_timeout", 20.0)
        self._timeout = seconds("timeout", 60.0)
        lines = [f"Host: {parts.netloc}", *_header_lines(options)]
        self._headers = (" HTTP/1.1\r\n" + "".join(f"{line}\r\n" for line in lines)).encode("latin-1")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._obstore_client, name)

    def get(self, path: str, *, options: Mapping[str, Any] | None = None) -> Any:
        """`get` of obstore."""
        options = options or {}
        if self._unusual < _MOST_UNUSUAL and _PLAIN_PATH.fullmatch(path):
            try:
                answer = self._send(path, options.get("range"), options.get("if_match"))
            except (FileNotFoundError, TimedOutError):
                raise
            except (_Unusual, EOFError, OSError) as error:
                self._unusual += not isinstance(error, _Refused)
            else:
                self._unusual = 0
                return answer
        deadline = current_deadline.get()
        if deadline is not None:
            return get_before(deadline, self._obstore_client, path, options)
        return self._obstore_client.get(path, options=options)

    def get_into(self, path: str, start: int, target: memoryview) -> WebAnswer | None:
        """Fill `target` with the bytes from `start` on; the answer's buffer is the part that was filled. None if `get`
        must send this request. Raises FileNotFoundError."""
        started = self.begin(path, (start, start + len(target)), None) if len(target) else None
        return None if started is None else self.finish(started, target)

    def begin(self, path: str, range: tuple[int, int], tag: str | None) -> StartedRequest | None:
        """Send a request for a part of a value, whose answer `finish` receives. None if `get` must send it."""
        if self._unusual >= _MOST_UNUSUAL or not _PLAIN_PATH.fullmatch(path):
            return None
        request = self._request(path, range, tag)
        connection = self._reuse()
        if connection is None:
            try:
                connection = self._connect()
            except OSError:
                return None
        started = StartedRequest(connection, request, range, monotonic())
        with suppress(OSError):  # `finish` repeats the request
            connection.send(request)
        return started

    def finish(self, started: StartedRequest, target: memoryview | None) -> WebAnswer | None:
        """Receive the answer to a request, into `target` if it is given. None if `get` must repeat the request. Raises
        FileNotFoundError."""
        try:
            try:
                answer = self._receive(started, target)
            except (ConnectionError, EOFError):  # the server closed the idle connection
                answer = self._exchange(self._connect(), started.request, started.range, target)
        except (FileNotFoundError, TimedOutError):
            raise
        except (_Unusual, EOFError, OSError) as error:
            self._unusual += not isinstance(error, _Refused)
            return None
        self._unusual = 0
        return answer

    # -- one request

    def _request(self, path: str, range: Any, tag: str | None) -> bytes:
        request = b"GET /" + path.encode() + self._headers
        if range is not None:
            if isinstance(range, tuple):
                request += b"Range: bytes=%d-%d\r\n" % (range[0], range[1] - 1)
            elif "suffix" in range:
                request += b"Range: bytes=-%d\r\n" % range["suffix"]
            else:
                request += b"Range: bytes=%d-\r\n" % range["offset"]
        if tag is not None:
            request += b"If-Match: " + tag.encode("latin-1") + b"\r\n"
        return request + b"\r\n"

    def _send(self, path: str, range: Any, tag: str | None) -> WebAnswer:
        request = self._request(path, range, tag)
        connection = self._reuse()
        if connection is None:
            return self._exchange(self._connect(), request, range, None)
        try:
            return self._exchange(connection, request, range, None)
        except (ConnectionError, EOFError):  # the server closed the idle connection
            return self._exchange(self._connect(), request, range, None)

    def _reuse(self) -> _Connection | None:
        """An idle connection; None if there is none."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if connection.is_usable():
                return connection
            connection.close()

    def _connect(self) -> _Connection:
        limit = current_deadline.get()
        seconds = self._connect_timeout if limit is None else min(self._connect_timeout, limit.remaining())
        return _Connection(self._address, seconds, self._read_timeout)

    def _exchange(self, connection: _Connection, request: bytes, range: Any, target: memoryview | None) -> WebAnswer:
        """Send a request and receive its answer."""
        started = StartedRequest(connection, request, range, monotonic())
        try:
            connection.send(request)
        except BaseException:
            connection.close()
            raise
        return self._receive(started, target)

    def _receive(self, started: StartedRequest, target: memoryview | None) -> WebAnswer:
        """Receive the answer to a request. The connection is kept only if the answer is complete."""
        keep, connection, range = False, started.connection, started.range
        try:
            end = monotonic() + self._timeout
            connection, received = self._first_to_answer(started)
            status, headers, begin, received = _receive_head(connection, received, end)
            length = headers.get(b"content-length", b"")
            if not _LENGTH.fullmatch(length) or b"transfer-encoding" in headers or b"content-encoding" in headers:
                raise _Unusual
            size = int(length)
            if status == 404:
                if received == begin + size:
                    keep = headers.get(b"connection", b"").lower() != b"close"
                raise FileNotFoundError(f"{self._address[0]} answered 404")
            if status in (412, 416):
                raise _Refused
            start, total = _extent(status, headers, range, size)
            if target is None:
                if size > _MOST_WHOLE and (range is None or "offset" in range):
                    raise _Unusual
                target = np.empty(size, np.uint8).data
            elif size > len(target):
                raise _Unusual
            count = min(received - begin, size)
            if received - begin > size:  # more than one answer
                raise _Unusual
            target[:count] = connection.view[begin : begin + count]
            while count < size:
                more = connection.receive(target[count:size], end, _WAIT_FOR_ALL)
                if not more:
                    raise _Unusual
                count += more
            tag = headers.get(b"etag")
            keep = headers.get(b"connection", b"").lower() != b"close"
            text = None if tag is None else tag.decode("latin-1")
            return WebAnswer(target[:size], text, total, start, start + size)
        finally:
            if keep and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
            else:
                connection.close()

    def _first_to_answer(self, started: StartedRequest) -> tuple[_Connection, int]:
        """Wait for the first bytes. If they are late, send the request on other connections, too; the result is the
        connection on which an answer arrives first, and how many bytes were received. The others are closed."""
        connection, request = started.connection, started.request
        if _DO_NOT_WAIT:
            try:
                return connection, connection.socket.recv_into(connection.view, 0, _DO_NOT_WAIT)
            except BlockingIOError:
                pass
        started.waited = True
        start, hedging, limit = started.time, self._hedging, current_deadline.get()
        racing, sent = [connection], [start]
        winner = None
        try:
            while winner is None:
                waited = monotonic() - start
                seconds = self._read_timeout - waited
                if len(racing) < MOST_COPIES:
                    # Look again soon: what is late may have been unknown when this request was sent.
                    rest = hedging.after * (2 ** len(racing) - 1) - waited  # each copy gets twice the time
                    seconds = min(seconds, rest if 0 < rest < _LOOK_AGAIN else _LOOK_AGAIN)
                if limit is not None:
                    seconds = min(seconds, limit.remaining())
                winner = _readable(racing, seconds)
                if winner is None:
                    waited = monotonic() - start
                    if waited > self._read_timeout:
                        raise _Unusual
                    if limit is not None:
                        limit.check()
                    late = waited >= hedging.after * (2 ** len(racing) - 1)
                    if late and len(racing) < MOST_COPIES and hedging.permit():
                        with suppress(OSError):  # the first answer may still arrive
                            racing.append(self._connect())
                            sent.append(monotonic())
                            racing[-1].send(request)
        finally:
            for other in racing:
                if other is not winner and other is not connection:
                    other.close()
        # The time of this copy: otherwise the late answers at the end of a read would make the next ones seem usual.
        hedging.observe(monotonic() - sent[racing.index(winner)])
        if winner is not connection:
            connection.close()
        return winner, 0


def _readable(connections: list[_Connection], seconds: float) -> _Connection | None:
    """The first connection with bytes to receive; None if there is none within that time."""
    if hasattr(select, "poll"):
        poll = select.poll()
        for connection in connections:
            poll.register(connection.socket, select.POLLIN)
        ready = {number for number, _ in poll.poll(max(1, seconds * 1000))}
    else:
        ready = {other.fileno() for other in select.select([one.socket for one in connections], [], [], seconds)[0]}
    return next((connection for connection in connections if connection.socket.fileno() in ready), None)


_WAIT_FOR_ALL = socket.MSG_WAITALL if sys.platform == "linux" else 0
_DO_NOT_WAIT = socket.MSG_DONTWAIT if sys.platform == "linux" else 0


def _receive_head(connection: _Connection, received: int, end: float) -> tuple[int, dict[bytes, bytes], int, int]:
    """The status, the headers that matter, where the body begins in the scratch memory, and where the received bytes
    end there. The first `received` bytes are there already; the others must arrive before the time `end`."""
    scratch, view = connection.scratch, connection.view
    while True:
        if not received:
            received = connection.receive(view, end)
            if not received:
                raise EOFError
        begin = scratch.find(b"\r\n\r\n", 0, received) + 4
        if begin >= 4:
            break
        if received == len(scratch):
            raise _Unusual
        count = connection.receive(view[received:], end)
        if not count:
            raise _Unusual
        received += count
    head = bytes(view[: begin - 2])
    if not head.startswith(b"HTTP/1.1 ") or not head[9:12].isdigit():
        raise _Unusual
    lines = _HEADER.findall(head)
    headers = {name.lower(): value.strip() for name, value in lines}
    if len(headers) != len(lines):  # one of them twice
        raise _Unusual
    return int(head[9:12]), headers, begin, received


def _extent(status: int, headers: Mapping[bytes, bytes], range: Any, size: int) -> tuple[int, int]:
    """Where the body starts in the value, and the size of the value."""
    if range is None:
        if status != 200:
            raise _Unusual
        return 0, size
    match = _RANGE.fullmatch(headers.get(b"content-range", b""))
    if status != 206 or match is None:
        raise _Unusual
    start, last, total = map(int, match.groups())
    if isinstance(range, tuple):
        first, stop = range[0], min(range[1], total)
    else:
        first, stop = max(0, total - range["suffix"]) if "suffix" in range else range["offset"], total
    if (start, last + 1) != (first, stop) or size != stop - first:
        raise _Unusual  # another part, or only the beginning of it
    return start, total

"""The front end of the standard library: a threaded HTTP/1.1 server on a socket.

Each connection has a thread. A connection that waits for a request, or whose client reads slowly, holds up no other.
When there are too many, the server closes the one that has waited longest.
"""

from __future__ import annotations

import selectors
import socket
import time
from contextlib import suppress
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

from omnizarr.errors import StoreError
from omnizarr.serve.application import Application
from omnizarr.serve.http_syntax import LONGEST_HEAD, RequestHead, parse_head, response_head
from omnizarr.serve.messages import HttpError, HttpResponse, text_response

__all__ = ["HttpServer"]

_MOST_CONNECTIONS = 256
_HEAD_SECONDS = 10.0  # for the head of a request, from its first byte
_IDLE_SECONDS = 60.0  # between two requests
_SEND_SECONDS = 60.0  # for a piece of 256 KiB: slower clients are disconnected
_BUSY_SECONDS = 5.0  # without progress, after which a connection may be closed in favour of a new one


class HttpServer:
    """Listens on an address and answers requests."""

    def __init__(
        self,
        application: Application,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        most_connections: int = _MOST_CONNECTIONS,
        head_seconds: float = _HEAD_SECONDS,
    ) -> None:
        self.application = application
        application.add_host_name(host)
        self._most = most_connections
        self._head_seconds = head_seconds
        self._connections: set[_Connection] = set()
        self._lock = Lock()
        self._stopping = False
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._listener = socket.create_server((host, port), family=family, backlog=512)
        except OSError as error:
            raise StoreError(
                f"cannot listen on {host}, port {port}: {error.strerror or error}",
                hint="choose another --port, or 0 for a free one",
            ) from None
        self._listener.setblocking(False)
        self._wakers = socket.socketpair()
        self._ended = Event()
        self._ended.set()
        self.host = host
        self.port: int = self._listener.getsockname()[1]

    @property
    def address(self) -> str:
        """The address of the server, such as `http://127.0.0.1:8000/`."""
        host = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # every address
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.stop()

    def start(self) -> Self:
        """Serves in a thread of its own until `stop`."""
        self._ended.clear()
        Thread(target=self.run, name="omnizarr-serve", daemon=True).start()
        return self

    def run(self) -> None:
        """Serves until `stop`, or until an exception such as KeyboardInterrupt."""
        self._ended.clear()
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._listener, selectors.EVENT_READ)
                selector.register(self._wakers[0], selectors.EVENT_READ)
                while not self._stopping:
                    selector.select()
                    if not self._stopping:
                        self._accept_one()
        finally:
            self._ended.set()

    def stop(self) -> None:
        """Closes the address and all connections."""
        self._stopping = True
        with suppress(OSError):
            self._wakers[1].send(b"x")
        self._ended.wait()
        for each in (self._listener, *self._wakers):
            each.close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            connection.abort()

    def _accept_one(self) -> None:
        try:
            connected, _ = self._listener.accept()
        except OSError:  # the client has gone, or there are too many open files
            time.sleep(0.01)
            return
        self._accept(connected)

    def _accept(self, connected: socket.socket) -> None:
        connection = _Connection(self, connected, self._head_seconds)
        with self._lock:
            full = len(self._connections) >= self._most
            victim = min(self._connections, key=lambda each: each.since, default=None) if full else None
            if victim is not None and not victim.idle and time.monotonic() - victim.since < _BUSY_SECONDS:
                idle = [each for each in self._connections if each.idle]
                victim = min(idle, key=lambda each: each.since, default=None)
            if victim is not None:
                self._connections.discard(victim)
            accepted = not full or victim is not None
            if accepted:
                self._connections.add(connection)
        if victim is not None:
            victim.abort()
        if not accepted:
            connected.close()  # every connection is busy
            return
        try:
            Thread(target=connection.run, name="omnizarr-connection", daemon=True).start()
        except RuntimeError:  # no more threads
            self._forget(connection)
            connected.close()

    def _forget(self, connection: _Connection) -> None:
        with self._lock:
            self._connections.discard(connection)


class _Connection:
    def __init__(self, server: HttpServer, connected: socket.socket, head_seconds: float) -> None:
        self._server = server
        self._socket = connected
        self._head_seconds = head_seconds
        self._received = b""
        self.idle = True
        """Whether it waits for a request."""
        self.since = time.monotonic()
        """When it last made progress."""

    def abort(self) -> None:
        """Ends the connection, from another thread."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def run(self) -> None:
        """Answers requests until the connection ends."""
        try:
            with suppress(OSError):
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while self._answer_one():
                pass
        except (OSError, EOFError):  # the client has gone, or is too slow
            pass
        finally:
            self._server._forget(self)
            with suppress(OSError):
                self._socket.close()

    def _answer_one(self) -> bool:
        """Answers one request; False if the connection ends after it."""
        self.idle = True
        try:
            head = self._receive_head()
            if head is None:
                return False
            self.idle = False
            if head.expects_continue and head.body_length:
                self._socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._skip(head.body_length)
        except HttpError as error:  # what follows in the stream is unknown
            self._send(text_response(error.status, error.message, error.headers), with_content=True, keep_alive=False)
            self._drain()
            return False
        response = self._server.application.respond(head.request)
        self._send(response, with_content=head.request.method != "HEAD", keep_alive=head.keep_alive)
        return head.keep_alive

    def _receive_head(self) -> RequestHead | None:
        deadline = time.monotonic() + _IDLE_SECONDS
        begun = False
        while True:
            self._received = self._received.lstrip(b"\r\n") if not begun else self._received
            end = self._received.find(b"\r\n\r\n")
            if 0 <= end <= LONGEST_HEAD:
                data, self._received = self._received[:end], self._received[end + 4 :]
                return parse_head(data)
            if len(self._received) > LONGEST_HEAD:
                raise HttpError(431, "the head of the request is too long")
            if self._received and not begun:
                begun, deadline = True, time.monotonic() + self._head_seconds
            data = self._receive(deadline, begun)
            if not data:
                return None
            self._received += data

    def _receive(self, deadline: float, begun: bool) -> bytes:
        left = deadline - time.monotonic()
        self._socket.settimeout(max(left, 0.001))
        try:
            data = self._socket.recv(2**14) if left > 0 else None
        except TimeoutError:
            data = None
        if data is None:
            if begun:
                raise HttpError(408, "the request took too long")
            return b""
        self.since = time.monotonic()
        return data

    def _skip(self, length: int) -> None:
        """Reads and ignores the body of a request."""
        deadline = time.monotonic() + self._head_seconds
        while len(self._received) < length:
            data = self._receive(deadline, begun=True)
            if not data:
                raise EOFError
            self._received += data
        self._received = self._received[length:]

    def _send(self, response: HttpResponse, *, with_content: bool, keep_alive: bool) -> None:
        self._socket.settimeout(_SEND_SECONDS)
        head: bytes = response_head(response, keep_alive)
        try:
            if with_content and response.has_content:
                for piece in response.body.pieces():
                    # One packet for the head and a small content.
                    data = b"".join((head, piece)) if head and len(piece) < 2**14 else piece
                    if head and data is piece:
                        self._socket.sendall(head)
                    head = b""
                    self._socket.sendall(data)
                    self.since = time.monotonic()
            if head:
                self._socket.sendall(head)
        except StoreError as error:  # the length was sent already: only a broken connection tells the client
            raise EOFError from error
        finally:
            response.body.close()

    def _drain(self) -> None:
        """Reads what the client still sends, for a moment: closing a socket with unread bytes discards the response."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
            self._socket.settimeout(0.5)
            for _ in range(64):
                if not self._socket.recv(2**14):
                    break

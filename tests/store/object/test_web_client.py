"""The client for plain http:// addresses: the same answers as obstore's, and obstore for all that is unusual."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from obstore.store import HTTPStore
from tests.servers.proxy import Proxy
from tests.servers.running import RunningServer

import omnizarr
from omnizarr.errors import ChunkError, StoreError, TimedOutError
from omnizarr.store import ObjectStore
from omnizarr.store.object.web_client import WebClient, serves

BODY = bytes(range(256)) * 40


@contextmanager
def _server(answer: Callable[[bytes, int], bytes | None]) -> Iterator[tuple[str, list[bytes]]]:
    """A server that answers the head of each request with the bytes of `answer(head, number)`; None closes."""
    heads: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        with connection, suppress(ConnectionError):
            data = b""
            while True:
                while b"\r\n\r\n" not in data:
                    more = connection.recv(2**16)
                    if not more:
                        return
                    data += more
                head, _, data = data.partition(b"\r\n\r\n")
                heads.append(head)
                reply = answer(head, len(heads))
                if reply is None:
                    return
                connection.sendall(reply)

    with _listener(serve) as url:
        yield url, heads


@contextmanager
def _listener(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that calls `serve` with each connection, in a thread."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


def _reply(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _client(url: str, **options: Any) -> WebClient:
    return WebClient(url, options, HTTPStore(url, client_options={"allow_http": True}, retry_config={"max_retries": 0}))


@pytest.mark.smoke
def test_the_answers_are_those_of_obstore(web: RunningServer, files: Path) -> None:
    (files / "client").mkdir()
    (files / "client/value").write_bytes(BODY)
    (files / "client/big").write_bytes(BODY * 50)
    own, other = _client(web.url), HTTPStore(web.url, client_options={"allow_http": True})
    ranges: list[Any] = [None, (0, 10), (5, 300), (0, 10**6), {"suffix": 17}, {"offset": 100}]
    for path in ("client/value", "client/big"):
        for range in ranges:
            options = {} if range is None else {"range": range}
            mine, theirs = own.get(path, options=options), other.get(path, options=options)
            assert bytes(mine.buffer()) == bytes(theirs.bytes())
            assert (mine.meta["size"], mine.meta["e_tag"], mine.range) == (
                theirs.meta["size"],
                theirs.meta["e_tag"],
                theirs.range,
            )
    with pytest.raises(FileNotFoundError):
        own.get("client/nothing")
    target = memoryview(bytearray(300))
    answer = own.get_into("client/value", 7, target)
    assert answer is not None
    assert bytes(answer.buffer()) == BODY[7:307] == bytes(target)
    assert own._unusual == 0


def test_an_array_over_http_is_the_array(web: RunningServer, files: Path) -> None:
    data = np.random.default_rng(0).integers(0, 999, (60, 70), "u2")
    for name, options in {"c": {"chunks": (7, 9)}, "s": {"chunks": (5, 5), "shards": (20, 20)}}.items():
        omnizarr.create_array(files / "arrays" / name, data=data, **options)  # type: ignore[arg-type]
        z = omnizarr.open_array(f"{web.url}/arrays/{name}")
        assert isinstance(z.store._factory.process_client().client, WebClient)  # type: ignore[attr-defined]
        for key in (..., (slice(3, 50), 7), (33, 44), (slice(None, None, 7), slice(2, 3))):
            assert np.array_equal(z[key], data[key])
        assert np.array_equal(z.oindex[[1, 50, 3], :], data[[1, 50, 3]])


UNUSUAL: dict[str, bytes] = {
    "a chunked body": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    "a compressed body": _reply("200 OK", b"hi", "Content-Encoding: gzip"),
    "no length": b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhi",
    "an old version": b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    "no HTTP": b"SSH-2.0\r\n\r\n",
    "a long head": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 40000 + b"\r\nContent-Length: 2\r\n\r\nhi",
    "a redirect": _reply("302 Found", b"", "Location: /other"),
    "an error": _reply("500 Oops", b""),
    "two answers": _reply("200 OK", b"hi") * 2,
    "two lengths": _reply("200 OK", b"hi").replace(b"Content", b"Content-Length: 1\r\nContent"),
    "a length of many digits": b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\nhi",
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_an_unusual_answer_is_left_to_obstore(name: str) -> None:
    def answer(head: bytes, number: int) -> bytes | None:
        return UNUSUAL[name] if b"omnizarr" in head else _reply("200 OK", b"from obstore")

    with _server(answer) as (url, heads):
        client = _client(url)
        for _ in range(5):
            assert bytes(client.get("key").bytes()) == b"from obstore"
        assert sum(b"omnizarr" in head for head in heads) <= 3  # then it does not try any more


@pytest.mark.parametrize(
    "content_range",
    ["bytes 5-14/100", "bytes 0-9/5", "bytes 0-8/100", "bytes 0-9/*", "x", "", "bytes 0-9/" + "9" * 5000],
)
def test_a_part_that_was_not_requested_is_not_returned(content_range: str) -> None:
    def answer(head: bytes, number: int) -> bytes | None:
        value = content_range if b"omnizarr" in head else "bytes 0-9/100"
        return _reply("206 Partial", b"0123456789", f"Content-Range: {value}")

    with _server(answer) as (url, heads):
        answered = _client(url).get("key", options={"range": (0, 10)})
        assert (answered.range, len(heads)) == ((0, 10), 2)


@pytest.mark.parametrize("part", [(0, 10), (20, 200), {"suffix": 30}, {"offset": 60}])
def test_a_part_that_is_too_short_is_requested_again(part: Any) -> None:
    """A server may send less than it was asked for, which must not pass for the end of the value."""
    first, stop = (
        (max(0, part[0]), min(100, part[1])) if isinstance(part, tuple) else (100 - part.get("suffix", 40), 100)
    )

    def answer(head: bytes, number: int) -> bytes | None:
        last = stop - 1 - (5 if b"omnizarr" in head else 0)
        return _reply("206 Partial", BODY[first : last + 1], f"Content-Range: bytes {first}-{last}/100")

    with _server(answer) as (url, heads):
        client = _client(url)
        answered = client.get("key", options={"range": part})
        assert (answered.range, bytes(answered.buffer()), len(heads)) == ((first, stop), BODY[first:stop], 2)
        if isinstance(part, tuple):
            started = client.begin("key", part, None)
            assert started is not None
            assert client.finish(started, None) is None
            assert client.get_into("key", part[0], memoryview(bytearray(part[1] - part[0]))) is None


@pytest.mark.skipif(sys.platform != "linux", reason="shown by the next answer only")
def test_bytes_after_an_answer_are_not_the_next_answer() -> None:
    stale = _reply("206 Partial", b"stale", "Content-Range: bytes 0-4/5")
    received, sent = threading.Event(), threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection, suppress(ConnectionError):
            connection.recv(2**16)
            connection.sendall(_reply("206 Partial", b"fresh", "Content-Range: bytes 0-4/5"))
            received.wait()
            connection.sendall(stale)
            sent.set()
            while connection.recv(2**16):
                pass

    with _listener(serve) as url:
        client = _client(url)
        for _ in range(3):
            assert bytes(client.get("key", options={"range": (0, 5)}).buffer()) == b"fresh"
            received.set()
            assert sent.wait(30)
            sent.clear()
            received.clear()
        assert client._unusual == 0


@pytest.mark.parametrize(
    "reply", [b"", b"HTTP/1.1 206 Par", _reply("206 P", b"01234", "Content-Range: bytes 0-4/5")[:-2]]
)
@pytest.mark.parametrize("begun", [False, True])
def test_a_request_ends_at_the_time_limit(reply: bytes, begun: bool) -> None:
    with _server(lambda head, number: reply) as (url, _):
        client = _client(url, timeout=3600.0, read_timeout=3600.0)

        def request() -> None:
            if begun:
                started = client.begin("key", (0, 5), None)
                assert started is not None
                client.finish(started, None)
            else:
                client.get("key", options={"range": (0, 5)})

        with omnizarr.timeout(0.2), pytest.raises(TimedOutError):
            request()
        assert not client._idle


@pytest.mark.skipif(sys.platform != "linux", reason="Linux lets connections wait that the server has no room for")
def test_a_connection_ends_at_the_time_limit() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as others:
        for _ in range(8):  # more than the server keeps
            other = others.enter_context(socket.socket())
            other.setblocking(False)
            other.connect_ex(listener.getsockname())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        store = ObjectStore.from_url(url, connect_timeout=3600.0, timeout=3600.0)
        with omnizarr.timeout(0.2), pytest.raises(TimedOutError):
            store.get("key")


def test_an_error_drops_the_answers_of_other_requests(web: RunningServer, files: Path) -> None:
    data = np.arange(4000)
    omnizarr.create_array(files / "damaged", data=data, chunks=50)
    stored = (files / "damaged/c/20").read_bytes()
    (files / "damaged/c/20").write_bytes(b"damaged")
    z = omnizarr.open_array(f"{web.url}/damaged")
    z[:200]
    for _ in range(3):
        with pytest.raises(ChunkError, match="c/20"):
            z[...]
        assert np.array_equal(z[:1000], data[:1000])
        assert np.array_equal(z[1050:], data[1050:])
    (files / "damaged/c/20").write_bytes(stored)
    assert np.array_equal(z[...], data)


def _reads(url: str) -> Any:
    return ObjectStore(_client(url)).versioned_reads


def test_requests_that_were_sent_are_answered_in_any_order(web: RunningServer, files: Path) -> None:
    (files / "begun").mkdir()
    for number in range(5):
        (files / "begun" / str(number)).write_bytes(bytes([number]) * 300_000)
    reads = ObjectStore.from_url(web.url + "/begun").versioned_reads
    assert reads is not None
    assert reads.begins
    started = {key: reads.begin(key, (7, 200_000)) for key in ("0", "1", "2", "3", "4", "5")}
    room = memoryview(bytearray(200_000))
    for key in ("3", "0", "5", "4"):
        request = started.pop(key)
        assert request is not None
        state = request.finish(room if key == "3" else None)
        if key == "5":
            assert state is None
            continue
        assert state is not None
        assert (bytes(state.data or b""), state.size) == (bytes([int(key)]) * 200_000, 300_000)
        assert (key == "3") == (bytes(room[:1]) == bytes([3]) and np.shares_memory(state.data, room))
        assert state.version == reads.get(key).version  # type: ignore[union-attr]
    for request in started.values():
        assert request is not None
        request.abandon()
    client = reads._reader._factory.process_client().client  # type: ignore[attr-defined]
    assert len(client._idle) == 4, "abandoned connections are not used again"


@pytest.mark.parametrize("closed", [1, 2])
def test_a_request_that_was_sent_is_sent_again_after_the_connection_is_closed(closed: int) -> None:
    def answer(head: bytes, number: int) -> bytes | None:
        if number <= closed:
            return None
        return _reply("206 Partial", b"hello", 'ETag: "1"', "Content-Range: bytes 0-4/5")

    with _server(answer) as (url, heads):
        started = _reads(url).begin("key", (0, 5))
        assert bytes(started.finish().data) == b"hello"
        assert len(heads) == closed + 1


def test_other_versions_are_not_returned() -> None:
    def answer(head: bytes, number: int) -> bytes | None:
        if b"if-match" in head.lower() and b"strict" in head:
            return _reply("412 Failed", b"")
        return _reply("206 Partial", b"hello", 'ETag: "1"', "Content-Range: bytes 0-4/5")

    with _server(answer) as (url, _):
        reads = _reads(url)
        assert bytes(reads.begin("any", (0, 5), ('"1"', None)).finish().data) == b"hello"
        for key in ("any", "strict"):
            state = reads.begin(key, (0, 5), ('"2"', None)).finish()
            assert state.data is None


@pytest.mark.parametrize("name", UNUSUAL)
def test_an_unusual_answer_to_a_request_that_was_sent_is_left_to_obstore(name: str) -> None:
    def answer(head: bytes, number: int) -> bytes | None:
        if b"omnizarr" in head:
            return UNUSUAL[name]
        return _reply("206 Partial", b"hello", "Content-Range: bytes 0-4/5")

    with _server(answer) as (url, _):
        assert bytes(_reads(url).begin("key", (0, 5)).finish().data) == b"hello"


def test_nothing_is_begun_without_the_client() -> None:
    reads = ObjectStore(HTTPStore("http://127.0.0.1:9", client_options={"allow_http": True})).versioned_reads
    assert reads is not None
    assert not reads.begins
    assert reads.begin("key", (0, 5)) is None


class _RecordingSocket:
    """Records the options that are set."""

    def __init__(self, inner: socket.socket) -> None:
        self.inner = inner
        self.options: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def setsockopt(self, level: int, option: int, value: Any) -> None:
        self.options.append(option)
        self.inner.setsockopt(level, option, value)


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="the system has no such option")
def test_each_answer_is_acknowledged_at_once() -> None:
    with _server(lambda head, number: _reply("200 OK", b"hello")) as (url, heads):
        client = _client(url)
        client.get("key")
        (connection,) = client._idle
        recording = connection.socket = _RecordingSocket(connection.socket)  # type: ignore[assignment]
        for _ in range(2):
            assert bytes(client.get("key").buffer()) == b"hello"
        assert (recording.options, len(heads)) == ([socket.TCP_QUICKACK] * 2, 3)


def test_a_closed_connection_is_opened_again() -> None:
    def answer(head: bytes, number: int) -> bytes | None:
        return None if number == 2 else _reply("200 OK", b"hello", 'ETag: "1"')

    with _server(answer) as (url, heads):
        client = _client(url)
        assert [bytes(client.get("key").buffer()) for _ in range(3)] == [b"hello"] * 3
        assert len(heads) == 4
        assert client._unusual == 0


def test_the_server_says_when_to_close() -> None:
    with _server(lambda head, number: _reply("200 OK", b"hello", "Connection: close")) as (url, _):
        client = _client(url)
        assert bytes(client.get("key").buffer()) == b"hello"
        assert client._idle == []


def test_headers_of_the_user_are_sent() -> None:
    with _server(lambda head, number: _reply("200 OK", b"hello")) as (url, heads):
        store = ObjectStore.from_url(url, headers={"X-Token": "abc"}, user_agent="me/1")
        assert bytes(store.get("key") or b"") == b"hello"
        assert b"X-Token: abc" in heads[0]
        assert b"User-Agent: me/1" in heads[0]


def test_a_silent_server_is_an_error_after_the_timeout() -> None:
    with _server(lambda head, number: b"") as (url, _):
        store = ObjectStore.from_url(url, read_timeout=0.2, timeout=0.4, max_retries=0, retry_timeout=0.5)
        with pytest.raises(StoreError, match="cannot read `key`"):
            store.get("key")


@pytest.mark.parametrize(
    ("root", "options"),
    [
        ("https://example.org", {}),
        ("http://user:secret@example.org", {}),
        ("http://example.org", {"proxy_url": "http://p"}),
        ("http://example.org", {"default_headers": {"X": "a\r\nHost: b"}}),
        ("http://example.org", {"default_headers": {"X": b"bytes"}}),
        ("http://b\u00fccher.example", {}),
        ("http://example.org", {"http2_only": True}),
    ],
)
def test_other_servers_need_obstore(root: str, options: dict[str, Any]) -> None:
    assert not serves(root, options)


def test_a_proxy_of_the_environment_needs_obstore(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert serves("http://example.org", {"allow_http": True})
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert not serves("http://example.org", {})


def test_answers_that_break_off_are_requested_again(faulty_web: Proxy, files: Path) -> None:
    data = np.arange(4000, dtype="u4")
    omnizarr.create_array(files / "broken", data=data, chunks=100, compressors=None)
    z = omnizarr.open_array(f"{faulty_web.endpoint}/broken")
    faulty_web.faults.cut = 0.3
    assert np.array_equal(z[...], data)

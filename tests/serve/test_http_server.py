"""The threaded server under valid, broken, slow and hostile clients, on raw sockets."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.errors import StoreError
from omnizarr.serve.application import Application
from omnizarr.serve.http_server import HttpServer
from omnizarr.serve.http_syntax import parse_head
from omnizarr.serve.messages import HttpError
from omnizarr.serve.mounts import Site

HOST = b"Host: localhost\r\n"


def exchange(server: HttpServer, data: bytes) -> bytes:
    """What the server answers until it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while piece := connection.recv(65536):
            received += piece
        return received


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def test_keep_alive_and_pipelining(server: HttpServer, weather: Path) -> None:
    one = b"GET /data/t/c/0/0 HTTP/1.1\r\n" + HOST + b"\r\n"
    answer = exchange(server, one * 3)
    assert answer.count(b"HTTP/1.1 200 OK") == 3
    assert answer.count((weather / "t/c/0/0").read_bytes()) == 3
    assert exchange(server, one.replace(HOST, HOST + b"Connection: close\r\n") * 3).count(b"HTTP/1.1 200") == 1
    assert exchange(server, one.replace(b"HTTP/1.1", b"HTTP/1.0") * 2).count(b"HTTP/1.1 200") == 1


def test_one_connection_serves_many_requests(server: HttpServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    for method, path, expected in [
        ("GET", "/data/t/zarr.json", 200),
        ("HEAD", "/data/t/zarr.json", 200),
        ("GET", "/data/absent", 404),
        ("OPTIONS", "/data/t", 204),
        ("POST", "/data/t", 405),
        ("GET", "/data/t/zarr.json", 200),
    ]:
        connection.request(method, path, body=b"x" * 100 if method == "POST" else None)
        reply = connection.getresponse()
        reply.read()
        assert reply.status == expected
    connection.close()


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),  # no host
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n" + HOST + b"\r\n", 505),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (b"GET data HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET /%ff HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b" folded: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"Name : x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"A: x\rB: y\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"A: \0\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 999999999999\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
        (b"GET / HTTP/1.1\r\n" + HOST + b"A: " + b"x" * 20000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + HOST + b"A: x\r\n" * 200 + b"\r\n", 431),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n\r\n", 400),  # TLS
    ],
)
def test_malformed_requests_are_refused(server: HttpServer, request_: bytes, expected: int) -> None:
    answer = exchange(server, request_)
    assert status(answer) == expected
    assert b"Connection: close" in answer


@given(
    st.one_of(
        st.binary(max_size=200),
        st.builds(
            lambda line, fields: line + b"\r\n" + b"\r\n".join(fields),
            st.builds(
                lambda *parts: b" ".join(parts),
                st.sampled_from([b"GET", b"HEAD", b"", b"G\0T", b"get"]),
                st.sampled_from([b"/", b"*", b"http://a/b", b"//x", b"/%", b"/%00", b"/a?b#c", b"\xff"]),
                st.sampled_from([b"HTTP/1.1", b"HTTP/1.0", b"HTTP/9.9", b"HTTP/1", b""]),
            ),
            st.lists(
                st.one_of(
                    st.sampled_from([b"Host: a", b"host:b", b"Connection: close", b"Content-Length: 5", b": x", b"A"]),
                    st.binary(max_size=20),
                ),
                max_size=4,
            ),
        ),
    )
)
def test_any_head_is_parsed_or_refused(data: bytes) -> None:
    try:
        head = parse_head(data)
    except HttpError:
        pass
    else:
        assert head.request.path.startswith("/")
        assert 0 <= head.body_length <= 2**16


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost", True),
        ("127.0.0.1:80", True),
        ("[::1]:80", True),
        ("[::1]", True),
        ("LOCALHOST:1", True),
        ("localhost.", True),
        ("data.example.org", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example:80", False),
        ("evil.example:localhost", False),
        ("", False),
    ],
)
def test_only_names_of_the_server_are_answered(weather: Path, host: str, allowed: bool) -> None:
    application = Application(Site.of([str(weather)]), host_names=["data.example.org"])
    with HttpServer(application).start() as server:
        answer = exchange(
            server, f"GET /data/t/zarr.json HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        )
    assert status(answer) == (200 if allowed else 403)


def test_the_host_of_an_absolute_target_counts(server: HttpServer) -> None:
    answer = exchange(server, b"GET http://evil.example/data/t/zarr.json HTTP/1.1\r\n" + HOST + b"\r\n")
    assert status(answer) == 403


def test_slow_clients_are_disconnected_and_hold_up_no_other(weather: Path) -> None:
    application = Application(Site.of([str(weather)]))
    with HttpServer(application, most_connections=8, head_seconds=0.4).start() as server:
        slow = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(20)]
        for connection in slow:
            connection.sendall(b"GET /data/t/zarr.json HT")
        answer = exchange(server, b"GET /data/t/zarr.json HTTP/1.1\r\n" + HOST + b"\r\n")
        assert status(answer) == 200
        answers = []
        for connection in slow:
            try:
                answers.append(connection.recv(1000))
            except ConnectionError:
                answers.append(b"")
            connection.close()
        assert all(answer == b"" or status(answer) == 408 for answer in answers)


def test_a_client_that_does_not_read_holds_up_no_other(tmp_path: Path, weather: Path) -> None:
    (weather / "big").write_bytes(bytes(2**25))
    try:
        with HttpServer(Application(Site.of([str(weather)]))).start() as server:
            lazy = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(10)]
            for connection in lazy:
                connection.sendall(b"GET /data/big HTTP/1.1\r\n" + HOST + b"\r\n")
            assert status(exchange(server, b"GET /data/t/zarr.json HTTP/1.1\r\n" + HOST + b"\r\n")) == 200
            for connection in lazy:
                connection.close()
    finally:
        (weather / "big").unlink()


def test_clients_that_go_away_leave_no_thread(weather: Path) -> None:
    with HttpServer(Application(Site.of([str(weather)]))).start() as server:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
                connection.sendall(b"GET /data/t/zarr.json HTTP/1.1\r\n")
        deadline = time.monotonic() + 60
        while server._connections and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not server._connections


def test_stop_ends_every_connection(weather: Path) -> None:
    server = HttpServer(Application(Site.of([str(weather)]))).start()
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    connection.sendall(b"GET /data/t/zarr.json HTTP/1.1\r\n" + HOST + b"\r\n")
    assert connection.recv(8).startswith(b"HTTP")
    server.stop()
    while connection.recv(65536):
        pass
    connection.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), timeout=2).close()


def test_threads_read_at_the_same_time(server: HttpServer, weather: Path) -> None:
    expected = (weather / "t/c/0/0").read_bytes()
    failures: list[object] = []

    def read() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        for _ in range(20):
            connection.request("GET", "/data/t/c/0/0")
            if connection.getresponse().read() != expected:
                failures.append("different bytes")
        connection.close()

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize(
    ("bind", "host", "status_"),
    [
        ("127.0.0.2", "127.0.0.2", 200),
        ("127.0.0.2", "127.0.0.3", 403),
        ("0.0.0.0", "127.0.0.1", 200),
        ("0.0.0.0", "0.0.0.0", 403),
        ("0.0.0.0", "evil.example", 403),
    ],
)
def test_the_printed_address_is_answered(weather: Path, bind: str, host: str, status_: int) -> None:
    try:
        server = HttpServer(Application(Site.of([str(weather)])), bind)
    except StoreError:
        pytest.skip(f"{bind} is no address of this system")
    with server.start():
        printed = server.address.removeprefix("http://").rpartition(":")[0]
        assert printed == (bind if bind != "0.0.0.0" else "127.0.0.1")
        connection = http.client.HTTPConnection(printed, server.port, timeout=20)
        connection.request("GET", "/data/zarr.json", headers={"Host": f"{host}:{server.port}"})
        assert connection.getresponse().status == status_
        connection.close()

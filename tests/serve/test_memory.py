"""The limit for the memory of responses that are made at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock
from typing import Any

import numpy as np
import pytest

import omnizarr
import omnizarr.serve
from omnizarr.serve.application import Application
from omnizarr.serve.memory import MemoryLimit
from omnizarr.serve.messages import BytesBody, HttpError, HttpRequest, HttpResponse
from omnizarr.serve.mounts import Site


def test_no_more_is_made_at_once_than_fits() -> None:
    limit, lock, now, most = MemoryLimit(100), Lock(), 0, 0

    def answer() -> HttpResponse:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        Event().wait(0.001)
        with lock:
            now -= 1
        return HttpResponse(200, {}, BytesBody(b"x" * 10))

    def request(_: int) -> None:
        limit.make(30, answer).body.close()

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(request, range(100)))
    assert most <= 3
    assert limit.used == 0


def test_a_content_counts_until_it_is_closed_and_errors_count_nothing() -> None:
    limit = MemoryLimit(100, wait_seconds=0.01)
    sent = limit.make(90, lambda: HttpResponse(200, {}, BytesBody(b"x" * 50)))
    assert limit.used == 50
    with pytest.raises(HttpError) as caught:
        limit.make(60, lambda: HttpResponse(200, {}))
    assert (caught.value.status, caught.value.headers) == (503, {"Retry-After": "5"})
    sent.body.close()
    sent.body.close()
    assert limit.used == 0
    with pytest.raises(ValueError, match="broken"):
        limit.make(60, lambda: (_ for _ in ()).throw(ValueError("broken")))
    assert limit.used == 0


def test_what_never_fits_is_made_alone() -> None:
    limit = MemoryLimit(100)
    response = limit.make(10**9, lambda: HttpResponse(200, {}, BytesBody(b"x" * 1000)))
    assert limit.used == 100
    response.body.close()
    assert limit.used == 0


def test_a_large_request_is_not_overtaken_for_ever() -> None:
    limit, begun = MemoryLimit(100), Event()
    small = limit.make(60, lambda: HttpResponse(200, {}, BytesBody(b"x" * 60)))
    order: list[str] = []

    def make(name: str, size: int) -> None:
        def answer() -> HttpResponse:
            order.append(name)
            return HttpResponse(200, {})

        begun.set()
        limit.make(size, answer)

    with ThreadPoolExecutor(2) as pool:
        large = pool.submit(make, "large", 90)
        begun.wait()
        while not limit._waiting:
            Event().wait(0.001)
        later = pool.submit(make, "small", 20)
        small.body.close()
        large.result(20)
        later.result(20)
    assert order == ["large", "small"]


@pytest.mark.parametrize("target", ["/api/window?token=t&select=...", "/as/v3-neuroglancer/c/0/0"])
def test_windows_and_converted_chunks_are_limited(tmp_path: Path, target: str) -> None:
    omnizarr.create_array(tmp_path / "x", data=np.ones((100, 100)), chunks=(100, 100))
    application = Application(Site.of([str(tmp_path / "x")]), token="t")
    memory: Any = application.site.memory
    memory._wait_seconds = 0.01
    path, _, query = target.partition("?")
    request = HttpRequest("GET", path, query, {"host": "localhost"})
    responses = [application.respond(request)]
    used = memory.used
    assert used == min(responses[0].body.length, used) > 0
    memory._size = used + 100  # what the first response holds, and no room for a second one
    assert application.respond(request).status == 503
    responses[0].body.close()
    assert memory.used == 0
    assert application.respond(request).status == 200


def test_the_server_counts_nothing_after_all_are_sent(tmp_path: Path) -> None:
    import urllib.request

    omnizarr.create_array(tmp_path / "x", data=np.ones((500, 500)), chunks=(100, 100))
    with omnizarr.serve.start(str(tmp_path / "x"), token="t") as server:

        def fetch(_: int) -> int:
            with urllib.request.urlopen(f"{server.address}api/window?token=t&select=...", timeout=60) as reply:
                return len(reply.read())

        with ThreadPoolExecutor(12) as pool:
            sizes = set(pool.map(fetch, range(60)))
        assert all(size > 10**6 for size in sizes)
        memory = server.application.site.memory
        for _ in range(5000):  # the server closes a content just after the client has it
            if not memory.used:
                break
            Event().wait(0.002)
        assert memory.used == 0

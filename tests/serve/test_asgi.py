"""The ASGI front end gives the same answers, called as a server calls it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import omnizarr.serve


def call(app: Any, path: str, method: str = "GET", root: str = "", **headers: str) -> tuple[int, dict[str, str], bytes]:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "root_path": root,
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost")]
        + [(name.replace("_", "-").lower().encode(), value.encode()) for name, value in headers.items()],
    }
    asyncio.run(app(scope, receive, send))
    assert sent[0]["type"] == "http.response.start"
    assert [message["more_body"] for message in sent[1:]] == [True] * (len(sent) - 2) + [False]
    answer = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], answer, b"".join(message["body"] for message in sent[1:])


def test_values_and_ranges(weather: Path) -> None:
    app = omnizarr.serve.app(str(weather))
    stored = (weather / "t/c/0/0").read_bytes()
    status, headers, data = call(app, "/data/t/c/0/0")
    assert (status, data, headers["content-length"]) == (200, stored, str(len(stored)))
    assert call(app, "/data/t/c/0/0", Range="bytes=1-2")[::2] == (206, stored[1:3])
    assert call(app, "/data/t/c/0/0", "HEAD")[::2] == (200, b"")
    assert call(app, "/data/t/c/0/0", If_None_Match=headers["etag"])[::2] == (304, b"")
    assert call(app, "/data/nothing")[0] == 404
    assert call(app, "/data/t/c/0/0", "PUT")[0] == 405


def test_a_framework_may_mount_it_below_a_path(weather: Path) -> None:
    app = omnizarr.serve.app(str(weather))
    assert call(app, "/zarr/data/t/zarr.json", root="/zarr")[0] == 200
    assert call(app, "/data/t/zarr.json", root="/zarr")[0] == 200


def test_lifespan(weather: Path) -> None:
    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    sent: list[str] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    asyncio.run(omnizarr.serve.app(str(weather))({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]

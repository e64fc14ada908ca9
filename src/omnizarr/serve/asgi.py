"""The ASGI front end: the same answers for uvicorn, granian, hypercorn or a framework such as FastAPI."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any, TypeAlias

from omnizarr.errors import OmnizarrError
from omnizarr.serve.application import Application
from omnizarr.serve.messages import HttpRequest, HttpResponse
from omnizarr.store import Buffer

__all__ = ["AsgiApp"]

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


class AsgiApp:
    """An ASGI application for one location. Threads read from the store, so that the event loop never waits."""

    def __init__(self, application: Application) -> None:
        self.application = application

    @property
    def token(self) -> str:
        """The token that requests to `/api` need."""
        return self.application.token

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1003})
        else:
            response = await asyncio.to_thread(self.application.respond, _request(scope))
            try:
                await _send(response, scope["method"] != "HEAD", send)
            finally:
                response.body.close()


def _request(scope: Message) -> HttpRequest:
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    path, root = scope["path"], scope.get("root_path", "")
    if root and path.startswith(f"{root}/"):  # servers and frameworks differ in whether `path` contains it
        path = path[len(root) :]
    return HttpRequest(scope["method"].upper(), path or "/", scope.get("query_string", b"").decode("latin-1"), headers)


async def _send(response: HttpResponse, with_content: bool, send: Send) -> None:
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in response.headers.items()
    ]
    if response.has_content:
        headers.append((b"content-length", str(response.body.length).encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    if with_content and response.has_content:
        pieces = iter(response.body.pieces())
        while True:
            piece = await asyncio.to_thread(_next, pieces)
            if piece is None:
                break
            await send({"type": "http.response.body", "body": bytes(piece), "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _next(pieces: Iterator[Buffer]) -> Buffer | None:
    try:
        return next(pieces, None)
    except OmnizarrError as error:  # the server closes the connection: the length was sent already
        raise RuntimeError(str(error)) from error


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return

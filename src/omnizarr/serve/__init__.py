"""A read-only HTTP server for Zarr of every generation: stored values, plain v3 and v2, and a viewer.

`omnizarr serve` and `omnizarr view` run it. A program serves a location by `serve`, or by any ASGI server:

    # uvicorn module:app
    app = omnizarr.serve.app("weather.zarr", host_names=["data.example.org"])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnizarr.serve.asgi import AsgiApp
    from omnizarr.serve.http_server import HttpServer

__all__ = ["app", "start"]


def app(
    location: Any,
    *,
    storage_options: Mapping[str, Any] | None = None,
    token: str | None = None,
    host_names: Iterable[str] = (),
    allow_origin: Iterable[str] = ("*",),
) -> AsgiApp:
    """An ASGI application that serves a location: a path, a URL, a store, an array or a group; or a list of them.

    Args:
        storage_options: options of the store, such as credentials, if the location is text.
        token: what requests to `/api` must send. None makes a new one, which is the attribute `token` of the result.
        host_names: names under which clients reach the server, besides the loopback names; `"*"` allows every name.
        allow_origin: the origins whose pages may read `/data` and `/as`; `"*"` allows all.
    """
    from omnizarr.serve.application import application  # lazy import: most programs serve nothing
    from omnizarr.serve.asgi import AsgiApp

    options = {"storage_options": storage_options, "token": token, "host_names": host_names}
    return AsgiApp(application(location, options | {"allow_origin": allow_origin}))


def start(location: Any, *, host: str = "127.0.0.1", port: int = 0, **options: Any) -> HttpServer:
    """Serves a location from threads of this process, and returns the server: `address` is its URL, `stop` ends it.

    Args:
        host: the address to listen on.
        port: the port; 0 picks a free one.
        options: those of `app`.
    """
    from omnizarr.serve.application import application  # lazy import: most programs serve nothing
    from omnizarr.serve.http_server import HttpServer

    return HttpServer(application(location, options), host, port).start()

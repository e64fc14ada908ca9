"""`z.view()`: the viewer in a notebook, served by a thread of this process."""

from __future__ import annotations

from html import escape
from typing import Any
from urllib.parse import urlencode

from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array, Group
from omnizarr.serve.browser import tunnel_hint
from omnizarr.serve.http_server import HttpServer

__all__ = ["ViewerFrame", "view"]

_servers: dict[tuple[Any, str], HttpServer] = {}
"""The running servers by store and path, so that showing a node again starts no other one."""
_MOST_SERVERS = 8


class ViewerFrame:
    """A viewer that is running: a frame in a notebook, elsewhere its address. `stop` ends it."""

    def __init__(self, server: HttpServer, height: int) -> None:
        self._server = server
        self._height = height

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"{self._server.address}?{urlencode({'token': self._server.application.token})}"

    def stop(self) -> None:
        """Ends the server."""
        self._server.stop()
        for key, server in list(_servers.items()):
            if server is self._server:
                del _servers[key]

    def _repr_html_(self) -> str:
        return f'<iframe src="{escape(self.url)}" style="width: 100%; height: {self._height}px; border: 0"></iframe>'

    def __repr__(self) -> str:
        hint = tunnel_hint(self._server.port)
        return self.url if hint is None else f"{self.url}\nfrom your own machine: {hint}"


def view(node: Array | Group, height: int = 640) -> ViewerFrame:
    """The viewer of a node. It runs until the process ends, or until `stop`."""
    if not isinstance(height, int) or not 100 <= height <= 10_000:
        raise ArgumentError(f"`height`: expected 100 to 10000 pixels, found {height!r}", argument="height")
    from omnizarr.serve.application import Application  # lazy import: only to serve
    from omnizarr.serve.mounts import Site

    key = (node.store, node.path)
    server = _servers.get(key)
    if server is None:
        while len(_servers) >= _MOST_SERVERS:
            _servers.pop(next(iter(_servers))).stop()
        server = HttpServer(Application(Site.of([node]))).start()
        _servers[key] = server
    return ViewerFrame(server, height)

"""The page of the viewer and its files, which `make viewer` builds from `viewer/`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from omnizarr.serve.messages import HttpError, HttpRequest, HttpResponse
from omnizarr.serve.value_responses import value_response
from omnizarr.serve.values import BytesValue

__all__ = ["page_response"]

_TYPES = {
    "index.html": "text/html; charset=utf-8",
    "viewer.js": "text/javascript; charset=utf-8",
    "viewer.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_POLICY = (
    # Everything comes from this server; pictures are also made in the page (`blob:`, `data:`).
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' blob: data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'"
)


def page_response(request: HttpRequest, name: str) -> HttpResponse:
    """The response with a file of the page; the empty name is the page itself."""
    name = name or "index.html"
    if name not in _TYPES:
        raise HttpError(404, "there is nothing at this address; the data is below /data and /as")
    headers = {"Content-Security-Policy": _POLICY}
    return value_response(request, BytesValue(_content(name)), _TYPES[name], headers)


@cache
def _content(name: str) -> bytes:
    return files("omnizarr.serve").joinpath("static", name).read_bytes()

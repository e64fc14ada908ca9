"""The core of the server: turns a request into a response. It opens no socket; `http_server` and `asgi` receive
requests and send responses.

Rules of this module: every request is checked here, whichever front end received it. A request whose `Host` is not a
name of this server is refused, because a page of another site can reach this address under its own name (DNS
rebinding). `/api` needs the token and has no CORS. Nothing changes stored data.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from omnizarr.errors import (
    ArgumentError,
    InvalidKeyError,
    NodeNotFoundError,
    NodeTypeError,
    OmnizarrError,
    SelectionError,
    TooLargeError,
)
from omnizarr.serve.data import data_response
from omnizarr.serve.messages import HttpError, HttpRequest, HttpResponse, text_response
from omnizarr.serve.mounts import Site

__all__ = ["Application"]

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})
_EVERY_ADDRESS = frozenset({"", "*", "0.0.0.0", "::"})
_EXPOSED = "Accept-Ranges, Content-Length, Content-Range, ETag, Omnizarr-Bytes"
_SAFE = {
    # A value that a browser opens as a page may neither run scripts nor load anything.
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_METHODS = "GET, HEAD, OPTIONS"
TOKEN_HEADER = "x-omnizarr-token"


class Application:
    """Answers requests for some locations."""

    def __init__(
        self,
        site: Site,
        *,
        token: str | None = None,
        host_names: Iterable[str] = (),
        allow_origin: Iterable[str] = ("*",),
    ) -> None:
        self.site = site
        self.token = secrets.token_urlsafe(18) if token is None else token
        self._hosts = frozenset(name.lower() for name in host_names)
        self._origins = frozenset(allow_origin)
        if not self.token.isascii():
            raise ArgumentError("`token`: expected ASCII characters", argument="token")

    def add_host_name(self, address: str) -> None:
        """Allows the address on which a server listens, so that the URL that it prints works. The address of every
        interface is no name: clients never send it, unless they were misled."""
        if address not in _EVERY_ADDRESS:
            self._hosts |= {f"[{address}]".lower() if ":" in address else address.lower()}

    def respond(self, request: HttpRequest) -> HttpResponse:
        """The response to a request. Does not raise."""
        shared = _is_shared(request.path)
        try:
            self._check_host(request)
            if request.method not in ("GET", "HEAD", "OPTIONS"):
                raise HttpError(405, "this server only reads", {"Allow": _METHODS})
            if request.method == "OPTIONS":
                response = HttpResponse(204, {"Allow": _METHODS})
                if shared:
                    response.headers.update(self._preflight_headers(request))
            else:
                response = self._route(request)
        except HttpError as error:
            response = text_response(error.status, error.message, error.headers)
        except OmnizarrError as error:
            response = text_response(_status_of(error), str(error))
        except MemoryError:
            response = text_response(507, "not enough memory for this request")
        except Exception as error:  # a bug: this connection gets an answer, and the others go on
            response = text_response(500, f"{type(error).__name__}: {error}\n\nThis is a bug of omnizarr.")
        for name, value in _SAFE.items():
            response.headers.setdefault(name, value)
        if shared:
            response.headers.update(self._cross_origin_headers(request))
        return response

    # -- checks

    def _check_host(self, request: HttpRequest) -> None:
        if "*" in self._hosts:
            return
        host = request.headers.get("host", "").strip().lower()
        is_bare = host.endswith("]") or (host.count(":") > 1 and not host.startswith("["))
        name = host if is_bare else host.rpartition(":")[0] or host
        name = name.removesuffix(".")
        if name in _LOOPBACK or name in self._hosts or host in self._hosts:
            return
        raise HttpError(403, f"`{name[:100]}` is no name of this server; start it with --host-name to allow it")

    def _check_token(self, request: HttpRequest) -> None:
        token = request.headers.get(TOKEN_HEADER) or request.parameters().get("token", "")
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            raise HttpError(403, "the token is missing or wrong: open the address that the program printed")

    # -- CORS

    def _cross_origin_headers(self, request: HttpRequest) -> dict[str, str]:
        """The headers that let pages of other sites read a response."""
        if "*" in self._origins:
            allowed: str | None = "*"
        else:
            origin = request.headers.get("origin")
            allowed = origin if origin in self._origins else None
        headers = {} if allowed is None else {"Access-Control-Allow-Origin": allowed}
        if allowed is not None:
            headers["Access-Control-Expose-Headers"] = _EXPOSED
            headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        return headers if allowed == "*" else headers | {"Vary": "Origin"}

    def _preflight_headers(self, request: HttpRequest) -> dict[str, str]:
        headers = {
            "Access-Control-Allow-Methods": _METHODS,
            "Access-Control-Allow-Headers": "Range, If-Match, If-None-Match, If-Range, Cache-Control",
            "Access-Control-Max-Age": "86400",
        }
        if request.headers.get("access-control-request-private-network") == "true":
            headers["Access-Control-Allow-Private-Network"] = "true"
        return headers

    # -- routes

    def _route(self, request: HttpRequest) -> HttpResponse:
        area, _, rest = request.path.removeprefix("/").partition("/")
        if area == "data":
            return data_response(request, self.site, rest)
        if area == "as":
            from omnizarr.serve.plain.responses import plain_response  # lazy import: it loads formats and codecs

            return plain_response(request, self.site, rest)
        if area == "api":
            self._check_token(request)
            from omnizarr.serve.api.questions import api_response  # lazy import: the viewer only

            return api_response(request, self.site, rest)
        from omnizarr.serve.page import page_response  # lazy import: the viewer only

        return page_response(request, request.path.removeprefix("/"))


def _is_shared(path: str) -> bool:
    """Whether pages of other sites may read what lies at a path."""
    return path.startswith(("/data/", "/as/")) or path in ("/data", "/as")


def _status_of(error: OmnizarrError) -> int:
    """The status for an error of the library."""
    if isinstance(error, (NodeNotFoundError, InvalidKeyError)):
        return 404
    if isinstance(error, (ArgumentError, SelectionError, NodeTypeError)):
        return 400
    if isinstance(error, TooLargeError):
        return 413
    return 500


def application(location: Any, options: Mapping[str, Any]) -> Application:
    """The application for one location or several, with the options of `omnizarr.serve.app`."""
    several = location if isinstance(location, (list, tuple)) else [location]
    site = Site.of(several, storage_options=options.get("storage_options"))
    own_options = {name: value for name, value in options.items() if name != "storage_options"}
    return Application(site, **own_options)

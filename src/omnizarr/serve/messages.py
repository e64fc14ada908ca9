"""Requests and responses of HTTP as plain objects, which both front ends translate from and to bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import parse_qsl

from omnizarr._json import Json
from omnizarr.store import Buffer

__all__ = [
    "Body",
    "BytesBody",
    "HttpError",
    "HttpRequest",
    "HttpResponse",
    "json_response",
    "text_response",
]

MOST_PARAMETERS = 64  # in a query


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request without a body."""

    method: str
    path: str
    """The path of the target, without percent encoding; begins with `/`."""
    query: str = ""
    """The query of the target as it was sent, without `?`."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The fields by lowercase name; values of repeated fields are joined by commas."""

    def parameters(self) -> dict[str, str]:
        """The parameters of the query. The last value counts if a name is repeated."""
        try:
            pairs = parse_qsl(
                self.query, keep_blank_values=True, max_num_fields=MOST_PARAMETERS, encoding="utf-8", errors="strict"
            )
        except ValueError:  # too many parameters, or no UTF-8
            raise HttpError(400, "the query of the address is not valid") from None
        return dict(pairs)


class Body(Protocol):
    """The content of a response, read piece by piece while it is sent."""

    length: int

    def pieces(self) -> Iterator[Buffer]:
        """The content in pieces of bounded size. Called once."""

    def close(self) -> None:
        """Releases what the pieces are read from, whether they were read or not."""


_PIECE = 2**18  # bytes that are sent at a time: a slow client that still reads is not disconnected


class BytesBody:
    """A content in memory."""

    __slots__ = ("_data", "length")

    def __init__(self, data: Buffer) -> None:
        self._data = memoryview(data)
        self.length = len(data)

    def pieces(self) -> Iterator[Buffer]:
        for start in range(0, self.length, _PIECE):
            yield self._data[start : start + _PIECE]

    def close(self) -> None:
        pass  # nothing is open


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response. `Content-Length` follows from the body and is not among the headers."""

    status: int
    headers: dict[str, str]
    body: Body = field(default_factory=lambda: BytesBody(b""))

    @property
    def has_content(self) -> bool:
        """Whether a response with this status has a body."""
        return self.status not in (204, 304)


class HttpError(Exception):
    """A response with an error status and a sentence for people."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})


def text_response(status: int, text: str, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """A response of plain text."""
    content = {"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"}
    return HttpResponse(status, content | dict(headers or {}), BytesBody(f"{text}\n".encode(errors="replace")))


def json_response(value: Json, status: int = 200) -> HttpResponse:
    """A response of JSON, which browsers keep in no cache."""
    from json import dumps  # lazy import: `/data` needs none

    data = dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(errors="surrogatepass")
    return HttpResponse(status, {"Content-Type": "application/json", "Cache-Control": "no-store"}, BytesBody(data))

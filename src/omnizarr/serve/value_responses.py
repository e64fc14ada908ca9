"""The response to a request for a value: preconditions and ranges of RFC 9110."""

from __future__ import annotations

from collections.abc import Iterator
from secrets import token_hex

from omnizarr.serve.messages import HttpError, HttpRequest, HttpResponse
from omnizarr.serve.ranges import parse_range
from omnizarr.serve.values import ServedValue
from omnizarr.store import Buffer

__all__ = ["value_response"]


class _PartBody:
    """A part of a value."""

    def __init__(self, value: ServedValue, start: int, length: int) -> None:
        self._value = value
        self._start = start
        self.length = length

    def pieces(self) -> Iterator[Buffer]:
        return self._value.pieces(self._start, self.length)

    def close(self) -> None:
        self._value.close()


class _MultipartBody:
    """Several parts of a value, each with a header of its own (RFC 9110, section 14.6)."""

    def __init__(self, value: ServedValue, parts: list[tuple[int, int]], boundary: str, content_type: str) -> None:
        self._value = value
        self._parts = [
            (
                f"\r\n--{boundary}\r\nContent-Type: {content_type}\r\n"
                f"Content-Range: bytes {start}-{start + length - 1}/{value.size}\r\n\r\n".encode(),
                start,
                length,
            )
            for start, length in parts
        ]
        self._end = f"\r\n--{boundary}--\r\n".encode()
        self.length = sum(len(head) + length for head, _, length in self._parts) + len(self._end)

    def pieces(self) -> Iterator[Buffer]:
        for head, start, length in self._parts:
            yield head
            yield from self._value.pieces(start, length)
        yield self._end

    def close(self) -> None:
        self._value.close()


def value_response(
    request: HttpRequest, value: ServedValue, content_type: str, headers: dict[str, str] | None = None
) -> HttpResponse:
    """The response with a value, or the parts of it that the request asks for. The response closes the value."""
    try:
        return _respond(request, value, content_type, headers or {})
    except BaseException:
        value.close()
        raise


def _respond(request: HttpRequest, value: ServedValue, content_type: str, extra: dict[str, str]) -> HttpResponse:
    fields, size = request.headers, value.size
    headers = {"Accept-Ranges": "bytes", "Cache-Control": "no-cache", **extra}
    if value.tag is not None:
        headers["ETag"] = value.tag
    match = fields.get("if-match")
    if match is not None and not _matches(match, value.tag, weak=False):
        raise HttpError(412, "the value has another state than the request expects", headers)
    none_match = fields.get("if-none-match")
    if none_match is not None and _matches(none_match, value.tag, weak=True):
        value.close()
        return HttpResponse(304, headers)
    headers["Content-Type"] = content_type
    parts = None
    # `Range` is defined for GET only. A date in `If-Range` never matches: values have no `Last-Modified` here.
    if request.method == "GET" and fields.get("if-range", value.tag) == value.tag:
        parts = parse_range(fields.get("range"), size)
    if parts is None:
        return HttpResponse(200, headers, _PartBody(value, 0, size))
    if not parts:
        raise HttpError(
            416,
            f"the value has {size} bytes, and the range none of them",
            headers | {"Content-Range": f"bytes */{size}"},
        )
    if len(parts) == 1:
        start, length = parts[0]
        headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{size}"
        return HttpResponse(206, headers, _PartBody(value, start, length))
    boundary = token_hex(16)
    headers["Content-Type"] = f"multipart/byteranges; boundary={boundary}"
    return HttpResponse(206, headers, _MultipartBody(value, parts, boundary, content_type))


def _matches(header: str, tag: str | None, *, weak: bool) -> bool:
    """Whether a list of entity tags holds the tag of the value (RFC 9110, section 13.1)."""
    if header.strip() == "*":
        return True
    if tag is None:
        return False
    for item in header.split(","):
        item = item.strip()
        if item == tag or (weak and item == f"W/{tag}"):
            return True
    return False

"""The syntax of HTTP/1.1 (RFC 9112): the head of a request, from bytes, and the head of a response, to bytes.

A head that is not exactly right is refused, because two programs that read it differently can be played off against
each other (request smuggling).
"""

from __future__ import annotations

import re
from http.client import responses
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from omnizarr.serve.messages import HttpError, HttpRequest, HttpResponse

__all__ = ["LONGEST_HEAD", "RequestHead", "parse_head", "response_head"]

LONGEST_HEAD = 2**14
"""Bytes of a request line and all fields: 16 KiB."""
_LONGEST_LINE = 2**13
_MOST_FIELDS = 100
_LONGEST_BODY = 2**16  # bytes of a body, which is read and ignored

_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([\x21-\x7e\x80-\xff]+) HTTP/(\d)\.(\d)")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e\x80-\xff\t]*?)[ \t]*")
_ABSOLUTE = re.compile(rb"https?://([^/?#]*)(.*)", re.IGNORECASE)
_SINGLE = frozenset({"host", "content-length", "range", "if-range"})  # fields that are no lists


class RequestHead(NamedTuple):
    """A parsed request, and whether the connection stays open after it."""

    request: HttpRequest
    keep_alive: bool
    body_length: int
    """The length of the body, which is ignored."""
    expects_continue: bool


def parse_head(data: bytes) -> RequestHead:
    """The request whose head, without the empty line at the end, is `data`."""
    line, *lines = data.split(b"\r\n")
    if len(line) > _LONGEST_LINE:
        raise HttpError(414, "the address is too long")
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise HttpError(400, "the request line is not valid")
    method, target, major, minor = match.groups()
    if major != b"1":
        raise HttpError(505, "this server speaks HTTP/1.1")
    headers = _fields(lines)
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is not None:  # RFC 9112, 3.2.2: the host of the target replaces that of the field
        headers["host"] = absolute[1].decode("latin-1")
        target = absolute[2] if absolute[2].startswith(b"/") else b"/" + absolute[2]
    elif minor != b"0" and "host" not in headers:
        raise HttpError(400, "the field Host is missing")
    if target == b"*" and method == b"OPTIONS":
        target = b"/"
    if not target.startswith(b"/"):
        raise HttpError(400, "the address must begin with a slash")
    path, query = _split_target(target)
    keep_alive = minor != b"0"
    options = {option.strip().lower() for option in headers.get("connection", "").split(",")}
    if "close" in options:
        keep_alive = False
    elif "keep-alive" in options:
        keep_alive = True
    request = HttpRequest(method.decode(), path, query, headers)
    expects = headers.get("expect", "").lower() == "100-continue"
    return RequestHead(request, keep_alive, _body_length(headers), expects)


def _fields(lines: list[bytes]) -> dict[str, str]:
    if len(lines) > _MOST_FIELDS:
        raise HttpError(431, "the request has too many fields")
    headers: dict[str, str] = {}
    for line in lines:
        match = _FIELD.fullmatch(line)
        if match is None:
            raise HttpError(400, "a field of the request is not valid")
        name, value = match[1].decode().lower(), match[2].decode("latin-1")
        if name not in headers:
            headers[name] = value
        elif name in _SINGLE:
            raise HttpError(400, f"the field {name} appears twice")
        else:
            headers[name] += f", {value}"
    return headers


def _split_target(target: bytes) -> tuple[str, str]:
    path, _, query = target.partition(b"#")[0].partition(b"?")
    try:
        return unquote_to_bytes(path).decode(), query.decode("latin-1")
    except UnicodeDecodeError:
        raise HttpError(400, "the address is not UTF-8") from None


def _body_length(headers: dict[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise HttpError(413, "this server takes no content")
    text = headers.get("content-length", "0")
    if not text.isascii() or not text.isdigit():
        raise HttpError(400, "the field Content-Length is not a number")
    if len(text) > 9 or int(text) > _LONGEST_BODY:
        raise HttpError(413, "this server takes no content")
    return int(text)


def response_head(response: HttpResponse, keep_alive: bool) -> bytes:
    """The head of a response, with the empty line at its end."""
    lines = [f"HTTP/1.1 {response.status} {responses.get(response.status, '')}"]
    lines += [f"{name}: {value}" for name, value in response.headers.items()]
    if response.has_content:
        lines.append(f"Content-Length: {response.body.length}")
    lines.append("Connection: keep-alive" if keep_alive else "Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")

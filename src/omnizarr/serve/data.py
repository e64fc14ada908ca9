"""`/data/…`: the stored values of a location, under their own keys."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from omnizarr.errors import InvalidKeyError
from omnizarr.serve.messages import BytesBody, HttpError, HttpRequest, HttpResponse
from omnizarr.serve.mounts import Mount, Site
from omnizarr.serve.ranges import first_part
from omnizarr.serve.value_responses import value_response
from omnizarr.serve.values import open_value

__all__ = ["content_type", "data_response", "listing_response"]

_MOST_NAMES = 50_000  # of a listing, which takes about 100 bytes for each


def data_response(request: HttpRequest, site: Site, path: str) -> HttpResponse:
    """The response for the value at `path`, or the listing if the path ends in `/`."""
    if len(site.mounts) > 1 and not path:
        return listing_response([], [f"{mount.name}/" for mount in site.mounts])
    target = site.find(path)
    if target is None:
        raise HttpError(404, "there is no such location")
    mount, key = target
    try:
        if not key or key.endswith("/"):
            return _listing(mount, key)
        part = (0, 0) if request.method == "HEAD" else first_part(request.headers.get("range"))
        value = open_value(mount.store, mount.store_key(key), part)
    except InvalidKeyError:
        value = None
    if value is None:
        raise HttpError(404, "there is no such key")
    return value_response(request, value, content_type(key))


def content_type(key: str) -> str:
    """The type of a value. Only documents have one of their own: a browser must show no stored value as a page, because
    a script in it would act in the name of this server."""
    name = key.rpartition("/")[2]
    is_document = name.endswith(".json") or name in (".zarray", ".zgroup", ".zattrs", ".zmetadata", "meta", "attrs")
    return "application/json" if is_document else "application/octet-stream"


def _listing(mount: Mount, prefix: str) -> HttpResponse:
    try:
        names = mount.list_dir(prefix)
    except InvalidKeyError:
        names = None
    if names is None or not any(names):
        raise HttpError(404, "there is nothing to list")
    return listing_response(*names)


def listing_response(keys: Sequence[str], prefixes: Sequence[str]) -> HttpResponse:
    """A page of links, in the form in which programs such as fsspec read listings."""
    names = [*prefixes, *keys][:_MOST_NAMES]
    links = "\n".join(f'<a href="./{quote(name)}">{escape(name)}</a>' for name in names)
    page = f"<!DOCTYPE html><meta charset=utf-8><title>keys</title><pre>\n{links}\n</pre>\n"
    return HttpResponse(
        200,
        {"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache"},
        BytesBody(page.encode(errors="replace")),
    )

"""The responses of `/as/v3/KEY` and `/as/v2/KEY`."""

from __future__ import annotations

from math import prod

from omnizarr.errors import InvalidKeyError, NodeNotFoundError, NodeTypeError
from omnizarr.formats import Dialect, dialect_for
from omnizarr.nodes import Array, Group
from omnizarr.serve.memory import MemoryLimit
from omnizarr.serve.messages import HttpError, HttpRequest, HttpResponse
from omnizarr.serve.mounts import Mount, Site
from omnizarr.serve.plain.casts import VIEWERS
from omnizarr.serve.plain.chunks import chunk_value
from omnizarr.serve.plain.conversion import convert
from omnizarr.serve.plain.documents import node_documents, root_documents
from omnizarr.serve.ranges import first_part
from omnizarr.serve.value_responses import value_response
from omnizarr.serve.values import BytesValue
from omnizarr.store.contract import check_key

__all__ = ["plain_response"]

_HEADER = "Omnizarr-Bytes"
_MOST_DIMENSIONS = 64


def plain_response(request: HttpRequest, site: Site, path: str) -> HttpResponse:
    """The response for `path`, which begins with the generation: `v3/KEY`, `v2/KEY`, or `v3-VIEWER/KEY`."""
    area, _, rest = path.partition("/")
    generation, _, viewer = area.partition("-")
    if generation not in ("v2", "v3"):
        raise HttpError(404, "the addresses are /as/v3/KEY and /as/v2/KEY")
    # Most readers append keys to an address, so that a query would end up in the middle: the path can name the viewer.
    viewer = viewer or request.parameters().get("for", "")
    if viewer and viewer not in VIEWERS:
        raise HttpError(400, f"the viewer is none of {', '.join(VIEWERS)}")
    target = site.find(rest)
    if target is None or not target[1]:
        raise HttpError(404, "there is no such key")
    mount, key = target
    try:
        check_key(key)
        return _respond(request, mount, key, dialect_for(int(generation[1:])), viewer or None, site.memory)
    except (NodeNotFoundError, NodeTypeError, InvalidKeyError):
        raise HttpError(404, "there is no such key") from None


def _respond(
    request: HttpRequest, mount: Mount, key: str, dialect: Dialect, viewer: str | None, memory: MemoryLimit
) -> HttpResponse:
    node_path, _, name = key.rpartition("/")
    consolidated = dialect.consolidated_key("")
    if name in {each.rpartition("/")[2] for each in dialect.keys("")} or key == consolidated:
        node = mount.open(node_path)
        if isinstance(node, Group) and not node_path:
            documents = root_documents(node, dialect, viewer)
        else:
            documents = node_documents(node_path, node, dialect, viewer)
        if key not in documents:
            raise HttpError(404, "there is no such key")
        value = BytesValue(dialect.encoding.dump(documents[key]))
        return value_response(request, value, "application/json", {_HEADER: "generated"})
    array, chunk_key = _array_of(mount, key, dialect)
    conversion = convert(array, dialect, viewer)
    chunk = conversion.model.chunk_keys.coordinates(chunk_key, array.ndim)
    if chunk is None:
        raise HttpError(404, "there is no such key")
    part = (0, 0) if request.method == "HEAD" else first_part(request.headers.get("range"))

    def answer() -> HttpResponse:
        chunk_bytes = chunk_value(conversion, chunk, part)
        if chunk_bytes is None:
            raise HttpError(404, "the chunk is absent: its elements have the fill value")
        return value_response(request, chunk_bytes, "application/octet-stream", {_HEADER: conversion.way})

    if conversion.way == "stored":
        return answer()  # the stored bytes are read while they are sent
    model = conversion.model
    return memory.make(3 * prod(model.grid.chunks) * model.dtype.itemsize, answer)  # decoded, converted, encoded


def _array_of(mount: Mount, key: str, dialect: Dialect) -> tuple[Array, str]:
    """The array that a chunk key belongs to, and the rest of the key. Paths of nodes end where coordinates begin."""
    encoding = dialect.chunk_keys(None)
    parts = key.split("/")
    for count in range(max(0, len(parts) - _MOST_DIMENSIONS - 1), len(parts)):
        chunk_key = "/".join(parts[count:])
        ranks = {chunk_key.count("/"), chunk_key.count(".") + 1, 0}
        if any(encoding.coordinates(chunk_key, rank) is not None for rank in ranks):
            try:
                node = mount.open("/".join(parts[:count]))
            except NodeNotFoundError:
                continue
            if isinstance(node, Array) and encoding.coordinates(chunk_key, node.ndim) is not None:
                return node, chunk_key
    raise HttpError(404, "there is no such key")

"""`checksum`: a digest of the content, and the digest of the DANDI archive.

The digest of the content is equal for equal elements, names, types and attributes, however they are stored. Each array
is divided into tiles whose shape follows from the shape and type of the array alone. A tile is hashed with SHA-256
over its elements in C order, little-endian; text and bytes of any length are preceded by their length. The digest
covers, for each node sorted by path, the SHA-256 of a header (JSON) and, for an array, that of its tiles' digests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Json
from omnizarr.errors import StoreError
from omnizarr.formats.document_keys import STATISTICS_ATTRIBUTE
from omnizarr.nodes import Array, Group
from omnizarr.nodes.unreadable import UnreadableNode
from omnizarr.store import Store
from omnizarr.tools.results import Progress

__all__ = ["Checksum", "checksum", "content_attributes", "dandi_checksum"]

_TILE = 2**20  # bytes; the largest size of a tile
_MOST_BYTES = 2**28  # bytes of elements in memory at once, if the chunks allow it


@dataclass(frozen=True, slots=True)
class Checksum:
    """The digest of a node."""

    algorithm: str
    digest: str
    nodes: int
    nbytes: int
    """The number of hashed bytes."""


def checksum(node: Array | Group, *, attributes: bool = True, progress: Progress | None = None) -> Checksum:
    """The digest of the content of an array, or of a group with all nodes below it.

    Args:
        node: the array or group.
        attributes: whether attributes count.
        progress: called with the number of hashed bytes and their total.
    """
    members: dict[str, Any] = {"": node}
    if isinstance(node, Group):
        members |= dict(node.members(max_depth=None))
    total = sum(member.nbytes for member in members.values() if isinstance(member, Array))
    digest, done = hashlib.sha256(), 0
    for path in sorted(members):
        member = members[path]
        if isinstance(member, UnreadableNode):
            raise member.error
        header = _header(path, member, attributes)
        digest.update(hashlib.sha256(json.dumps(header, sort_keys=True, ensure_ascii=True).encode()).digest())
        if isinstance(member, Array):
            array_digest = hashlib.sha256()
            for size, tile in _tiles(member):
                array_digest.update(tile)
                done += size
                if progress is not None:
                    progress(done, total)
            digest.update(array_digest.digest())
    return Checksum("omnizarr-sha256", digest.hexdigest(), len(members), total)


def content_attributes(node: Array | Group) -> dict[str, Json]:
    """The attributes, without the names of dimensions, which some generations keep there, and without that of stored
    statistics, which a copy does not have."""
    attributes = dict(node.attrs)
    if isinstance(node, Array):
        for name in (*node._context.dialect.dimension_names_attributes, STATISTICS_ATTRIBUTE):
            attributes.pop(name, None)
    return attributes


def _header(path: str, node: Array | Group, attributes: bool) -> dict[str, Any]:
    header: dict[str, Any] = {"path": path, "kind": "array" if isinstance(node, Array) else "group"}
    values = content_attributes(node)
    if isinstance(node, Array):
        names = node.dimension_names
        header["dimension_names"] = list(names) if names and any(names) else None
        header["shape"] = list(node.shape)
        header["type"] = _type_text(node.dtype)
    if attributes:
        header["attributes"] = values
    return header


def _type_text(dtype: np.dtype[Any]) -> Any:
    if dtype.names is not None:
        return [[name, _type_text(dtype[name])] for name in dtype.names]
    if dtype.kind in "OT":
        return "text"
    return dtype.newbyteorder("<").str if dtype.kind != "V" or dtype.str[1:2] == "V" else dtype.name


def _tile_shape(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The shape of tiles: the longest side is halved until a tile is small enough, the first of several such sides."""
    lengths = [max(1, length) for length in shape]
    while prod(lengths) * itemsize > _TILE and max(lengths) > 1:
        axis = max(range(len(lengths)), key=lambda index: (lengths[index], -index))
        lengths[axis] = -(-lengths[axis] // 2)
    return tuple(lengths)


def _tiles(array: Array) -> Iterator[tuple[int, bytes]]:
    """The size and the digest of each tile, in C order of tiles. Tiles in the same chunks are read together."""
    shape, itemsize = array.shape, max(1, array.dtype.itemsize)
    if 0 in shape:
        return
    tile = _tile_shape(shape, itemsize)
    counts = [-(-length // step) for length, step in zip(shape, tile, strict=True)]
    chunk = array._layout.model.grid.edges(shape)
    edges = [max(edge) if isinstance(edge, (tuple, list)) else int(edge) for edge in chunk]
    group = [min(count, -(-edge // step)) for count, edge, step in zip(counts, edges, tile, strict=True)]
    while prod(group) * prod(tile) * itemsize > _MOST_BYTES and max(group) > 1:
        axis = group.index(max(group))
        group[axis] = -(-group[axis] // 2)
    digests: dict[int, bytes] = {}
    following = 0
    for corner in product(*(range(0, count, step) for count, step in zip(counts, group, strict=True))):
        ends = [min(start + step, count) for start, step, count in zip(corner, group, counts, strict=True)]
        origin = [start * step for start, step in zip(corner, tile, strict=True)]
        region = tuple(
            slice(first, min(end * step, length))
            for first, end, step, length in zip(origin, ends, tile, shape, strict=True)
        )
        block = array.read(region)
        for index in product(*(range(start, end) for start, end in zip(corner, ends, strict=True))):
            starts = [i * step - first for i, step, first in zip(index, tile, origin, strict=True)]
            part = tuple(slice(start, start + step) for start, step in zip(starts, tile, strict=True))
            number = 0
            for i, count in zip(index, counts, strict=True):
                number = number * count + i
            piece = block[part] if part else block
            digests[number] = hashlib.sha256(_element_bytes(piece)).digest()
        while following in digests:
            yield prod(tile) * itemsize, digests.pop(following)
            following += 1


def _element_bytes(elements: npt.NDArray[Any]) -> Any:
    """The elements in C order, little-endian and without padding."""
    dtype = elements.dtype
    if dtype.kind in "OT":
        parts = []
        for item in elements.ravel().tolist():
            data = item if isinstance(item, bytes) else str(item).encode("utf-8", "surrogatepass")
            parts += [len(data).to_bytes(8, "little"), data]
        return b"".join(parts)
    if dtype.names is not None:
        return b"".join(bytes(_element_bytes(np.ascontiguousarray(elements[name]))) for name in dtype.names)
    contiguous = np.ascontiguousarray(elements.astype(dtype.newbyteorder("<"), copy=False))
    return contiguous.reshape(-1).view(np.uint8).data if contiguous.size else b""


# -- DANDI


@dataclass(slots=True)
class _Directory:
    files: list[tuple[str, str, int]]
    directories: dict[str, _Directory]


def dandi_checksum(store: Store, prefix: str = "", *, progress: Progress | None = None) -> Checksum:
    """The digest that the package zarr_checksum computes, and that the DANDI archive uses: a tree of MD5 digests of all
    stored values."""
    if not store.listable:
        raise StoreError(f"{store!r} cannot list its keys, so it has no such digest", store=repr(store))
    root = _Directory([], {})
    done = 0
    for key in store.list_prefix(prefix):
        value = store.get(key)
        if value is None:
            continue
        *folders, name = key[len(prefix) :].split("/")
        directory = root
        for folder in folders:
            directory = directory.directories.setdefault(folder, _Directory([], {}))
        directory.files.append((name, hashlib.md5(value, usedforsecurity=False).hexdigest(), len(value)))
        done += len(value)
        if progress is not None:
            progress(done, 0)
    digest, count, size = _directory_digest(root)
    return Checksum("dandi", digest, count, size)


def _directory_digest(directory: _Directory) -> tuple[str, int, int]:
    """The digest, the number of files and their size, of a directory."""
    entries: dict[str, list[dict[str, Any]]] = {"directories": [], "files": []}
    count, size = 0, 0
    for name in sorted(directory.directories):
        digest, files, length = _directory_digest(directory.directories[name])
        entries["directories"].append({"digest": digest, "name": name, "size": length})
        count, size = count + files, size + length
    for name, digest, length in sorted(directory.files):
        entries["files"].append({"digest": digest, "name": name, "size": length})
        count, size = count + 1, size + length
    text = json.dumps(entries, ensure_ascii=True, separators=(",", ":"))
    return f"{hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()}-{count}--{size}", count, size

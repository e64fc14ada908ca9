"""Stored values of N5, made by hand: independent of the code under test."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import struct
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy.typing as npt

__all__ = ["COMPRESS", "array_document", "block", "encode", "hierarchy", "memory_below"]

COMPRESS: dict[str, tuple[dict[str, Any], Callable[[bytes], bytes]]] = {
    "raw": ({"type": "raw"}, bytes),
    "gzip": ({"type": "gzip", "level": -1}, gzip.compress),
    "zlib": ({"type": "gzip", "level": 4, "useZlib": True}, zlib.compress),
    "bzip2": ({"type": "bzip2"}, bz2.compress),
    "xz": ({"type": "xz", "preset": 1}, lzma.compress),
}
"""Compressions that the standard library has: the member of a document, and the function."""


def array_document(dimensions: list[int], block_size: list[int], /, **members: Any) -> dict[str, Any]:
    """The members of an array of `uint16`."""
    document = {
        "dimensions": dimensions,
        "blockSize": block_size,
        "dataType": "uint16",
        "compression": {"type": "raw"},
    }
    document |= members
    return {name: value for name, value in document.items() if value is not None}


def block(
    lengths: tuple[int, ...], content: bytes, *, mode: int = 0, count: int | None = None, ndim: int | None = None
) -> bytes:
    """A block with any header; `lengths` are in the order of N5."""
    ndim = len(lengths) if ndim is None else ndim
    header = struct.pack(f">HH{len(lengths)}I", mode, ndim, *lengths)
    return header + (b"" if count is None else struct.pack(">I", count)) + content


def encode(array: npt.NDArray[Any], compress: Callable[[bytes], bytes] = bytes) -> bytes:
    """A block with the elements of an array, whose last dimension is the first one of N5."""
    return block(array.shape[::-1], compress(array.astype(array.dtype.newbyteorder(">")).tobytes()))


def hierarchy(documents: dict[str, Any], values: dict[str, bytes] | None = None) -> dict[str, bytes]:
    """Stored values: documents by path, and blocks by key."""
    keys = {(f"{path}/" if path else "") + "attributes.json": value for path, value in documents.items()}
    return {**{key: json.dumps(value).encode() for key, value in keys.items()}, **(values or {})}


@contextmanager
def memory_below(limit: int) -> Iterator[None]:
    """Fails if the block allocates more than `limit` bytes at a time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()

"""The Blosc module of zarr-python 1, on top of numcodecs, because its own can no longer be built.

It has the functions that the compiled module had for the rest of zarr-python 1, and rejects what that rejected. It
omits compressors whose bytes would differ from those of zarr-python 1: snappy, which numcodecs lacks, and zstd, whose
version then (0.7) wrote frames that no later version reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numcodecs import blosc

__all__ = [
    "compname_to_compcode",
    "compress",
    "decompress",
    "destroy",
    "get_nthreads",
    "init",
    "list_compressors",
    "set_nthreads",
]

_COMPRESSORS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
_LEFT_OUT = ("snappy", "zstd")


def init() -> None:
    """Does nothing: numcodecs has done it."""


def destroy() -> None:
    """Does nothing: numcodecs will do it."""


def get_nthreads() -> int:
    return 1


def set_nthreads(nthreads: int) -> int:
    return nthreads


def list_compressors() -> list[str]:
    return [name for name in _COMPRESSORS if name not in _LEFT_OUT]


def compname_to_compcode(cname: str | bytes) -> int:
    name = cname.decode() if isinstance(cname, bytes) else cname
    return _COMPRESSORS.index(name) if name in list_compressors() else -1


def compress(source: Any, cname: bytes, clevel: int, shuffle: int) -> bytes:
    """The memory of an array, in C or Fortran order."""
    memoryview(source)  # the original module used the buffer interface, which has no dates
    compressed: bytes = blosc.compress(source, cname, clevel, shuffle, 0)
    return compressed


def decompress(source: bytes, dest: Any) -> None:
    memoryview(dest)
    flat = np.asarray(dest).reshape(-1, order="A")
    blosc.decompress(source, flat)

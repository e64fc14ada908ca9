"""The kernel (`kernel.c`): compiled code that reads and writes chunks of local files, and decodes those that
remote stores have returned.

The kernel is optional. Python does everything that it does, only slower; the setting `native` turns it off. An
installation without a C compiler has none.

The kernel contains no codec. It calls Blosc and Zstandard in numcodecs and gzip in deflate, the libraries that Python
uses as well. `codec` looks up their functions by name, and tests them on a sample before the kernel uses them. Their
signatures have been stable for many years.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from omnizarr._fork import import_library

__all__ = [
    "ABSENT",
    "AXIS_NUMBERS",
    "DECODING_NUMBERS",
    "DONE",
    "MAX_CHUNK_BYTES",
    "MAX_DIMENSIONS",
    "NO_LINKS",
    "PIECE_NUMBERS",
    "TO_DO",
    "UNUSUAL",
    "codec",
    "kernel",
]

_INTERFACE = 8  # that of `kernel.c`; an editable installation may still have an older kernel
_LIBRARIES = {"blosc": "numcodecs.blosc", "zstd": "numcodecs.zstd", "gzip": "deflate._deflate"}
_COMPRESS = {"blosc": ("compress", b"lz4", 5), "zstd": ("compress", 1), "gzip": ("gzip_compress", 1)}
_SAMPLE = bytes(range(256)) * 16


@cache
def kernel() -> Any:
    """The compiled module; None if there is none, or if it was compiled from other sources and not rebuilt."""
    if sys.getfilesystemencoding().lower() != "utf-8":  # the kernel opens paths as UTF-8
        return None
    try:
        module = import_library("omnizarr.native._kernel")
    except ImportError:
        return None
    return module if getattr(module, "INTERFACE", None) == _INTERFACE else None


def _constant(name: str, without_kernel: int) -> int:
    value: int = getattr(kernel(), name, without_kernel)
    return value


# The status of a chunk. Without the kernel there is none; the numbers then only have to differ.
DONE = _constant("DONE", 0)
ABSENT = _constant("ABSENT", 1)
UNUSUAL = _constant("UNUSUAL", 2)
TO_DO = _constant("TO_DO", 3)

# Limits of the kernel, and how many integers describe a piece, an axis and the decoding. Without the kernel they
# exclude every array.
MAX_DIMENSIONS = _constant("MAX_DIMENSIONS", 0)
MAX_CHUNK_BYTES = _constant("MAX_CHUNK_BYTES", 0)
PIECE_NUMBERS = _constant("PIECE_NUMBERS", 0)
AXIS_NUMBERS = _constant("AXIS_NUMBERS", 0)
DECODING_NUMBERS = _constant("DECODING_NUMBERS", 0)

# A flag for opening files: fail if a part of the path is a link.
NO_LINKS = _constant("NO_LINKS", 0)


@cache
def codec(name: str | None) -> int | None:
    """The kernel's number of a codec; None if the kernel cannot decode it."""
    loop = kernel()
    if loop is None:
        return None
    if name == "raw":
        raw: int = loop.RAW
        return raw
    if name not in _LIBRARIES:
        return None
    try:
        number: int = getattr(loop, name.upper())
        library: Any = import_library(_LIBRARIES[name])
        functions = ctypes.CDLL(library.__file__)
        addresses = [
            ctypes.cast(getattr(functions, function), ctypes.c_void_p).value
            for user, function in loop.CODEC_FUNCTIONS
            if user == name
        ]
        loop.use(name, tuple(addresses))
        compress, *options = _COMPRESS[name]
        frame = getattr(library, str(compress))(_SAMPLE, *options)
        return number if loop.decode(number, frame, len(_SAMPLE)) == _SAMPLE else None
    except (ImportError, OSError, AttributeError, ValueError, TypeError):
        return None  # another build of the library, which does not export these functions

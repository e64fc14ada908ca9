"""The compiled loop over chunks (`kernel.c`), where it was compiled when omnizarr was installed. Whatever it does
Python can do as well, in more time: it is never needed, and the setting `native` turns it off.

It brings no codec along. Blosc and Zstandard are those of numcodecs, gzip is that of deflate, which Python uses, too:
their functions, whose form has been the same for many years, are found in those libraries by name, and are tried before
they are trusted.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from omnizarr._fork import import_library

__all__ = ["ABSENT", "DONE", "TO_DO", "UNUSUAL", "codec", "kernel"]

DONE, ABSENT, UNUSUAL, TO_DO = range(4)
"""What the loop says of a chunk: it is read, there is none, or it is left to Python; and what it is told of those that
it is to read."""

_NUMBERS = {"raw": 0, "blosc": 1, "zstd": 2, "gzip": 3}
_LIBRARIES = {"blosc": "numcodecs.blosc", "zstd": "numcodecs.zstd", "gzip": "deflate._deflate"}
_FUNCTIONS = {  # those that are tested before they are used come last
    "blosc": ("blosc_compress_ctx", "blosc_decompress_ctx"),
    "zstd": (
        "ZSTD_createDCtx",
        "ZSTD_freeDCtx",
        "ZSTD_createCCtx",
        "ZSTD_freeCCtx",
        "ZSTD_CCtx_setParameter",
        "ZSTD_compress2",
        "ZSTD_compressBound",
        "ZSTD_isError",
        "ZSTD_sizeof_CCtx",
        "ZSTD_decompressDCtx",
    ),
    "gzip": (
        "libdeflate_alloc_decompressor",
        "libdeflate_free_decompressor",
        "libdeflate_alloc_compressor",
        "libdeflate_free_compressor",
        "libdeflate_gzip_compress",
        "libdeflate_gzip_compress_bound",
        "libdeflate_gzip_decompress_ex",
    ),
}
_COMPRESS = {"blosc": ("compress", b"lz4", 5), "zstd": ("compress", 1), "gzip": ("gzip_compress", 1)}
_SAMPLE = bytes(range(256)) * 16


@cache
def kernel() -> Any:
    """The compiled module; None where there is none."""
    if sys.getfilesystemencoding().lower() != "utf-8":  # in which it takes paths
        return None
    try:
        return import_library("omnizarr.native._kernel")
    except ImportError:
        return None


@cache
def codec(name: str | None) -> int | None:
    """The number by which the loop knows a codec; None if it does not."""
    loop = kernel()
    if loop is None or name not in _NUMBERS:
        return None
    if name == "raw":
        return 0
    try:
        library: Any = import_library(_LIBRARIES[name])
        functions = ctypes.CDLL(library.__file__)
        found = [ctypes.cast(getattr(functions, function), ctypes.c_void_p).value for function in _FUNCTIONS[name]]
        loop.use(name, tuple(found))
        compress, *options = _COMPRESS[name]
        frame = getattr(library, str(compress))(_SAMPLE, *options)
        return _NUMBERS[name] if loop.decode(_NUMBERS[name], frame, len(_SAMPLE)) == _SAMPLE else None
    except (ImportError, OSError, AttributeError, ValueError, TypeError):
        return None  # another build of the library, which hides them

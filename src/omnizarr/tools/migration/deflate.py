"""The same deflate stream in another wrapper: zlib and gzip differ only in what precedes and follows it.

The new checksum needs the content once, but nothing is compressed again.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from omnizarr.config import config
from omnizarr.store import Buffer

__all__ = ["gzip_to_zlib", "zlib_to_gzip"]

_GZIP_HEADER = b"\x1f\x8b\x08" + bytes(6) + b"\xff"  # deflate, no flags, no time, an unknown system
_ZLIB_HEADER = b"\x78\x9c"  # deflate with a window of 32 KiB, the largest
_CHECK_HEADER, _EXTRA, _NAME, _COMMENT, _RESERVED = 2, 4, 8, 16, 0xE0  # flags of gzip
_PIECE = 2**20  # bytes of content in memory


def zlib_to_gzip(value: Buffer) -> bytes | None:
    """The content as gzip; None if `value` is not one intact stream of zlib without a dictionary."""
    data = memoryview(value).cast("B")
    if len(data) < 6 or data[0] & 15 != 8 or (data[0] << 8 | data[1]) % 31 or data[1] & 32:
        return None
    sums = _checksums(data[2:])
    if sums is None or data[-4:] != struct.pack(">I", sums.adler32) or sums.end != len(data) - 6:
        return None
    return b"".join((_GZIP_HEADER, data[2:-4], struct.pack("<II", sums.crc32, sums.length & 0xFFFFFFFF)))


def gzip_to_zlib(value: Buffer) -> bytes | None:
    """The content as zlib; None if `value` is not one intact member of gzip."""
    data = memoryview(value).cast("B")
    start = _end_of_header(data)
    sums = None if start is None else _checksums(data[start:])
    if start is None or sums is None or sums.end != len(data) - start - 8:
        return None
    if data[-8:] != struct.pack("<II", sums.crc32, sums.length & 0xFFFFFFFF):
        return None
    return b"".join((_ZLIB_HEADER, data[start:-8], struct.pack(">I", sums.adler32)))


def _end_of_header(data: memoryview) -> int | None:
    """Where the stream of the first member begins; None if `data` does not begin with a header of gzip."""
    if len(data) < 18 or bytes(data[:3]) != _GZIP_HEADER[:3] or data[3] & _RESERVED:
        return None
    flags, start = data[3], 10
    if flags & _EXTRA:
        start += 2 + int.from_bytes(data[10:12], "little")
    for flag in (_NAME, _COMMENT):
        while flags & flag and start < len(data) and data[start]:
            start += 1
        start += bool(flags & flag)
    start += 2 * bool(flags & _CHECK_HEADER)
    return start if start < len(data) else None


class _Checksums:
    """Of the content of a stream."""

    end = 0
    """Where the stream ends."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.crc32, self.adler32, self.length = 0, 1, 0
        for piece in pieces:
            self.crc32 = zlib.crc32(piece, self.crc32)
            self.adler32 = zlib.adler32(piece, self.adler32)
            self.length += len(piece)


def _checksums(data: memoryview) -> _Checksums | None:
    """The checksums of the content of a deflate stream at the beginning of `data`; None if it is damaged, or longer
    than chunks may be."""
    stream = zlib.decompressobj(-zlib.MAX_WBITS)

    def pieces() -> Iterator[bytes]:
        rest: Buffer = data
        length = 0
        while not stream.eof and length <= config.current.max_chunk_bytes:
            piece = stream.decompress(rest, _PIECE)
            before, rest = rest, stream.unconsumed_tail
            if not piece and len(rest) == len(before):
                return  # it ends too early
            yield piece
            length += len(piece)

    try:
        sums = _Checksums(pieces())
    except zlib.error:
        return None
    sums.end = len(data) - len(stream.unused_data)
    return sums if stream.eof else None

"""Frames of Blosc 1 put together and taken apart, without touching what is compressed in them.

A frame is a header, a table that says where each block starts, and the blocks, in any order. All blocks but the last
decode to the same length, so frames that are alike become one frame by a table of their own: the library then decodes
many chunks in one call, in which it needs nothing of Python. The same table, made shorter, leaves only a few blocks of
a large frame to be decoded.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from omnizarr.codecs.contract import Buffer
from omnizarr.errors import CodecError

__all__ = ["HEADER", "LONGEST", "MEMCPYED", "Header", "excerpt", "joined", "parse_header"]

HEADER = struct.Struct("<BBBBIII")
LONGEST = 2**31 - 1 - HEADER.size  # R93
MEMCPYED, _UNSPLIT = 0x02, 0x10
_FORMAT = 2
_ALIKE = struct.Struct("<QIII")  # a header, with one number before the size of blocks; and where the first block starts
_LENGTH = struct.Struct("<I")  # in front of each stream of a block
_FIRST = HEADER.size + 4  # the only place for it, where there is no other


class Header(NamedTuple):
    """What a frame says of itself; sizes are in bytes."""

    format: int
    compressor_format: int
    flags: int
    typesize: int
    size: int
    """Of what it decodes to."""
    block: int
    length: int
    """Of the frame."""

    @property
    def blocks(self) -> int:
        """How many blocks there are; none if the content is stored as it is."""
        return 0 if self.flags & MEMCPYED or not self.block else -(-self.size // self.block)

    @property
    def start(self) -> int:
        """Where the first block can start, behind the table."""
        return HEADER.size + 4 * self.blocks


def parse_header(data: Buffer, length: int) -> Header:
    """The header of a frame that has `length` bytes, of which `data` are the first; refused if the library must not be
    given such a frame. What it decodes to is not compared with anything yet."""
    if length < HEADER.size:
        raise CodecError("blosc", f"expected at least {HEADER.size} bytes, found {length}")
    header = Header._make(HEADER.unpack_from(data))
    if header.format != _FORMAT:
        raise CodecError("blosc", f"expected a frame of Blosc 1 (format {_FORMAT}), found format {header.format}")
    if header.length != length:
        raise CodecError("blosc", f"expected a frame of {header.length} bytes, as its header says, found {length}")
    if header.size > LONGEST:  # the library would take it for a negative number
        raise CodecError("blosc", f"a frame holds at most {LONGEST} bytes, and this one states {header.size}")
    if not _is_even(header.flags, header.typesize, header.block):
        raise CodecError("blosc", f"blocks of {header.block} bytes are split by elements of {header.typesize} bytes")
    return header


def _is_even(flags: int, typesize: int, block: int) -> bool:
    """Whether blocks can be split as the library will split them, into one stream per byte of an element. No writer
    makes others, and the library would leave their ends as they were in memory."""
    return not _splits(flags, typesize, block) or block % typesize == 0


def _splits(flags: int, typesize: int, block: int) -> bool:
    return not flags & (MEMCPYED | _UNSPLIT) and 0 < typesize <= 16 and block // typesize >= 128


def joined(frames: Sequence[Buffer], size: int) -> bytes | None:
    """One frame that decodes to what all of these do, one after the other; None if they do not all decode to `size`
    bytes, are not alike, or have several blocks, or if one does not end where its last stream does and might so reach
    into the next: then each has to be decoded by itself."""
    lengths = []
    try:
        kind, block, _, _ = _ALIKE.unpack_from(frames[0])
        version, flags, typesize = kind & 0xFF, kind >> 16 & 0xFF, kind >> 24 & 0xFF
        if version != _FORMAT or kind >> 32 != size or flags & MEMCPYED or not _is_even(flags, typesize, block):
            return None
        streams = range(typesize if _splits(flags, typesize, block) else 1)
        for frame in frames:
            length = len(frame)
            if _ALIKE.unpack_from(frame) != (kind, size, length, _FIRST):
                return None
            end = _FIRST
            for _ in streams:
                end += 4 + _LENGTH.unpack_from(frame, end)[0]
            if end != length:
                return None
            lengths.append(length)
    except struct.error:
        return None  # too short
    count = len(lengths)
    *starts, end = accumulate(lengths, initial=HEADER.size + 4 * count)
    if end > LONGEST or size * count > LONGEST:
        return None
    header = HEADER.pack(version, kind >> 8 & 0xFF, flags, typesize, size * count, block, end)
    table = struct.pack(f"<{count}I", *[start + _FIRST for start in starts])
    return b"".join([header, table, *frames])


def excerpt(
    read: Callable[[int, int], Buffer], table: Buffer, header: Header, start: int, length: int
) -> tuple[bytes, int]:
    """A frame of no more blocks of another one than hold `length` of its decoded bytes from `start` on, and how many
    decoded bytes come before the first of those blocks. `read` gives bytes of that frame, from a position on, so many;
    `table` are the first, as many as come before the blocks."""
    block = header.block
    # A shorter block at the end is never alone: only behind others does the library know it for one.
    first = min(start // block, max(0, header.size // block - 1))
    last = (start + length - 1) // block
    starts = struct.unpack_from(f"<{header.blocks}I", table, HEADER.size)
    wanted = starts[first : last + 1]
    begin, beyond = min(wanted), max(wanted)
    if begin < header.start or beyond >= header.length:
        wrong = begin if begin < header.start else beyond
        raise CodecError("blosc", f"a block starts at {wrong}, where none can start")
    # Blocks may lie in any order: the last of them that is wanted ends where the next one starts.
    end = min((start for start in starts if start > beyond), default=header.length)
    shift = HEADER.size + 4 * len(wanted) - begin
    size = min(header.size, (last + 1) * block) - first * block
    head = HEADER.pack(*header[:4], size, block, end + shift)
    places = struct.pack(f"<{len(wanted)}I", *[start + shift for start in wanted])
    return b"".join([head, places, read(begin, end - begin)]), first * block

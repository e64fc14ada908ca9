"""Joining and splitting of Blosc 1 frames without decompressing them.

A frame consists of a header, a table of the position of each block, and the blocks in any order. All blocks but the
last decode to the same length, so similar frames can be joined into one frame with a new table. The library then
decodes many chunks in one call, without the interpreter's lock. A shorter table selects a few blocks of a large frame.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from omnizarr.codecs.contract import Buffer
from omnizarr.errors import CodecError

__all__ = ["HEADER", "MAX_BYTES", "MEMCPYED", "Header", "extract_blocks", "join_frames", "parse_header"]

HEADER = struct.Struct("<BBBBIII")
MAX_BYTES = 2**31 - 1 - HEADER.size  # R93
MEMCPYED, _UNSPLIT = 0x02, 0x10
_FORMAT = 2
# Five fields of the header as one number, the block size, the length of the frame, and the position of the first block.
_JOINABLE = struct.Struct("<QIII")
_LENGTH = struct.Struct("<I")  # precedes each stream of a block
_FIRST = HEADER.size + 4  # position of the block in a frame with a single one


class Header(NamedTuple):
    """The header of a frame; sizes are in bytes."""

    format: int
    compressor_format: int
    flags: int
    typesize: int
    size: int
    """Size of the decoded content."""
    block: int
    """Decoded size of a block."""
    length: int
    """Size of the frame."""

    @property
    def blocks(self) -> int:
        """The number of blocks; 0 if the content is stored uncompressed."""
        return 0 if self.flags & MEMCPYED or not self.block else -(-self.size // self.block)

    @property
    def start(self) -> int:
        """The end of the table, where the first block can start."""
        return HEADER.size + 4 * self.blocks


def parse_header(data: Buffer, length: int) -> Header:
    """The header of a frame of `length` bytes that begins with `data`. Raises CodecError if the library cannot decode
    such a frame safely. The caller checks the decoded size."""
    if length < HEADER.size:
        raise CodecError("blosc", f"expected at least {HEADER.size} bytes, found {length}")
    header = Header._make(HEADER.unpack_from(data))
    if header.format != _FORMAT:
        raise CodecError("blosc", f"expected a frame of Blosc 1 (format {_FORMAT}), found format {header.format}")
    if header.length != length:
        raise CodecError("blosc", f"expected a frame of {header.length} bytes (from its header), found {length}")
    if header.size > MAX_BYTES:  # the library would read it as a negative number
        raise CodecError("blosc", f"expected a frame of at most {MAX_BYTES} decoded bytes, found {header.size}")
    if not _splits_evenly(header.flags, header.typesize, header.block):
        raise CodecError(
            "blosc", f"expected a block size that is a multiple of {header.typesize} bytes, found {header.block}"
        )
    return header


def _splits_evenly(flags: int, typesize: int, block: int) -> bool:
    """Whether a block divides evenly into the streams of the library, one per byte of an element. No writer creates
    other blocks, and the library would leave the end of their memory uninitialized."""
    return not _splits(flags, typesize, block) or block % typesize == 0


def _splits(flags: int, typesize: int, block: int) -> bool:
    return not flags & (MEMCPYED | _UNSPLIT) and 0 < typesize <= 16 and block // typesize >= 128


def join_frames(frames: Sequence[Buffer], size: int) -> bytes | None:
    """One frame with the content of all `frames`, which each decode to `size` bytes; None if they cannot be joined.

    The frames must have equal headers and a single block each, and each must end with its last stream, because
    otherwise a damaged frame could read from the next one.
    """
    lengths = []
    try:
        kind, block, _, _ = _JOINABLE.unpack_from(frames[0])
        version, flags, typesize = kind & 0xFF, kind >> 16 & 0xFF, kind >> 24 & 0xFF
        if version != _FORMAT or kind >> 32 != size or flags & MEMCPYED or not _splits_evenly(flags, typesize, block):
            return None
        streams = range(typesize if _splits(flags, typesize, block) else 1)
        for frame in frames:
            length = len(frame)
            if _JOINABLE.unpack_from(frame) != (kind, size, length, _FIRST):
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
    if end > MAX_BYTES or size * count > MAX_BYTES:
        return None
    header = HEADER.pack(version, kind >> 8 & 0xFF, flags, typesize, size * count, block, end)
    table = struct.pack(f"<{count}I", *[start + _FIRST for start in starts])
    return b"".join([header, table, *frames])


def extract_blocks(
    read: Callable[[int, int], Buffer], table: Buffer, header: Header, start: int, length: int
) -> tuple[bytes, int]:
    """A frame of only the blocks with the decoded bytes from `start` to `start + length`, and the decoded position of
    the first of these blocks. `read(position, count)` returns bytes of the original frame, and `table` is its beginning
    up to the blocks."""
    block = header.block
    # Do not extract a shorter last block alone: the library recognizes it only after a full block.
    first = min(start // block, max(0, header.size // block - 1))
    last = (start + length - 1) // block
    positions = struct.unpack_from(f"<{header.blocks}I", table, HEADER.size)
    selected = positions[first : last + 1]
    lowest, highest = min(selected), max(selected)
    if lowest < header.start or highest >= header.length:
        wrong = lowest if lowest < header.start else highest
        raise CodecError(
            "blosc", f"expected blocks from byte {header.start} to {header.length}, found one at byte {wrong}"
        )
    # Blocks may have any order, so the last selected one ends where the next one of the frame starts.
    end = min((position for position in positions if position > highest), default=header.length)
    shift = HEADER.size + 4 * len(selected) - lowest
    size = min(header.size, (last + 1) * block) - first * block
    new_header = HEADER.pack(*header[:4], size, block, end + shift)
    new_table = struct.pack(f"<{len(selected)}I", *[position + shift for position in selected])
    return b"".join([new_header, new_table, read(lowest, end - lowest)]), first * block

"""The entries of an archive: parsed from its directory, read whole or in part, and checked."""

from __future__ import annotations

from functools import cache
from typing import Any

from omnizarr._fork import import_library
from omnizarr.config import config
from omnizarr.store.contract import Buffer, ByteRange, extent_of
from omnizarr.store.zip.byte_source import ByteSource
from omnizarr.store.zip.records import (
    END_SIZE,
    LOCAL_SIZE,
    STORED,
    Damaged,
    directory_records,
    find_end,
    local_lengths,
)

__all__ = ["Entry", "crc32", "deflate", "entries_of"]

_LARGEST_DIRECTORY = 2**30  # bytes, for about ten million entries; a larger one is probably damaged
_LONGEST_END = END_SIZE + 0xFFFF


@cache
def _isal() -> Any:
    return import_library("isal.isal_zlib")  # its checksum is 30 times as fast as that of zlib, its decompression twice


def crc32(data: Buffer) -> int:
    """The checksum of an entry."""
    checksum: int = _isal().crc32(data)
    return checksum


def deflate(data: Buffer, level: int) -> Buffer:
    """`data` compressed by DEFLATE."""
    compressed: bytearray = import_library("deflate").deflate_compress(data, level)
    return compressed


class Entry:
    """A value in an archive."""

    __slots__ = ("crc", "limit", "method", "name_size", "offset", "size", "source", "start", "stored_size")

    def __init__(
        self, source: ByteSource, offset: int, name_size: int, method: int, crc: int, stored_size: int, size: int
    ) -> None:
        self.source = source
        self.offset = offset
        self.name_size = name_size
        self.method = method
        self.crc = crc
        self.stored_size = stored_size
        self.size = size
        self.start = -1  # where its bytes begin; unknown until its header is read
        self.limit = 0  # where the next entry begins

    # -- the position of its bytes

    def expected_range(self) -> tuple[int, int]:
        """The part of the archive that contains the header and all bytes, if the header is as long as expected."""
        if self.start >= 0:
            return self.start, self.stored_size
        return self.offset, LOCAL_SIZE + self.name_size + self.source.extra + self.stored_size

    def header_range(self) -> tuple[int, int]:
        """The part that holds the header."""
        return self.offset, LOCAL_SIZE

    def parse_header(self, header: bytes | memoryview) -> None:
        """Set the position of the bytes from the header."""
        name_size, extra = local_lengths(header)
        start = self.offset + LOCAL_SIZE + name_size + extra
        if name_size != self.name_size or start + self.stored_size > self.limit:
            raise Damaged("the header of an entry contradicts the directory: the entry would overlap the next one")
        self.start = start
        self.source.extra = extra

    def find_start(self) -> int:
        """Where its bytes begin, read from the header if that is not known."""
        if self.start < 0:
            self.parse_header(self.source.read(*self.header_range()))
        return self.start

    def part(self, start: int, length: int) -> bytes | memoryview:
        """A part of the stored bytes."""
        data = self.source.read(self.find_start() + start, length)
        if len(data) != length:
            raise Damaged("an entry is cut off")
        return data

    # -- its value

    def stored(self, data: bytes | memoryview, guess: tuple[int, int]) -> bytes | memoryview:
        """The stored bytes, from the data that was read for `guess`; reads again if that was too short."""
        if guess[0] != self.start:
            self.parse_header(data)
            data = memoryview(data)[self.start - self.offset :]
        if len(data) >= self.stored_size:
            return data if len(data) == self.stored_size else data[: self.stored_size]
        return self.part(0, self.stored_size)

    def value(self, stored: bytes | memoryview, range: ByteRange | None = None) -> Buffer:
        """The value, or a part of it, from the stored bytes."""
        start, length = extent_of(range, self.size)
        if self.method == STORED:
            self.check(stored)
            return stored if length == self.size else memoryview(stored)[start : start + length]
        return self._inflated(stored, start, length)

    def check(self, value: Buffer) -> None:
        """Raise if the checksum of the value is wrong."""
        if crc32(value) != self.crc:
            raise Damaged("the checksum of an entry is wrong")

    def _inflated(self, stored: bytes | memoryview, start: int, length: int) -> Buffer:
        if not length and self.size:
            return b""
        end = start + length
        if end > config.current.max_chunk_bytes:
            raise Damaged(f"an entry would take {self.size} bytes, more than `config.max_chunk_bytes`")
        whole = end == self.size
        library = _isal()
        stream = library.decompressobj(-15)
        try:
            # One byte more than expected, to detect a longer value; nothing beyond it is decompressed.
            value: bytes = stream.decompress(stored, end + whole or 1)
        except library.error as error:
            raise Damaged(f"an entry cannot be decompressed: {error}") from None
        if len(value) < end or (whole and (len(value) > end or not stream.eof)):
            raise Damaged(f"an entry does not have the {self.size} bytes that its directory says")
        if whole:
            self.check(value)
        return value if len(value) == length else memoryview(value)[start:end]

    def get(self, range: ByteRange | None) -> Buffer:
        """The value, or a part of it."""
        start, length = extent_of(range, self.size)
        if self.method == STORED and length < self.size:
            return self.part(start, length)
        guess = self.expected_range()
        return self.value(self.stored(self.source.read(*guess), guess), range)

    def get_into(self, start: int, target: memoryview) -> int:
        """Fill `target` with the value from `start` on; returns how many bytes there were."""
        if self.method != STORED or self.start < 0:
            value = self.get((start, len(target)))
            target[: len(value)] = value
            return len(value)
        length = min(len(target), max(0, self.size - start))
        if length != len(target):
            target = target[:length]
        if self.source.read_into(self.start + start, target) != length:
            raise Damaged("an entry is cut off")
        if length == self.size:
            self.check(target)
        return length


def entries_of(source: ByteSource) -> tuple[dict[str, Entry], int, list[str]]:
    """The entries of an archive by key, where the directory begins, and the keys that occur more than once. The last
    entry of a key counts: programs that can only append to an archive replace a value in this way."""
    start = max(0, source.size - _LONGEST_END)
    for _ in range(3):  # a tail, the locator if that was cut, and the record to which it leads
        if source.size - start > _LARGEST_DIRECTORY:
            raise Damaged("its end records lie too far from its end")
        directory = find_end(bytes(source.read(start, source.size - start)), source.size)
        if isinstance(directory, tuple):
            break
        start = directory
    else:
        raise Damaged("its end records are damaged")
    offset, length, count = directory
    if length > _LARGEST_DIRECTORY:
        raise Damaged(f"its directory has {length} bytes, more than {_LARGEST_DIRECTORY}")
    data = bytes(source.read(offset, length))
    if len(data) != length:
        raise Damaged("its directory is cut off")
    entries: dict[str, Entry] = {}
    all_entries: list[Entry] = []
    repeated: dict[str, None] = {}
    for key, *fields in directory_records(data, count, offset):
        entry = Entry(source, *fields)
        all_entries.append(entry)
        earlier = entries.get(key)
        if earlier is not None:
            if earlier.offset >= entry.offset:
                raise Damaged(f"it has `{key}` twice, in an order that does not say which one counts")
            repeated[key] = None
        entries[key] = entry
    _set_limits(all_entries, offset)
    return entries, offset, list(repeated)


def _set_limits(entries: list[Entry], end: int) -> None:
    """Set the limit of each entry to the start of the next one; raise if entries overlap."""
    following = end
    for entry in sorted(entries, key=lambda entry: entry.offset, reverse=True):
        if entry.offset + LOCAL_SIZE + entry.name_size + entry.stored_size > following:
            raise Damaged("its entries overlap")
        entry.limit = following
        following = entry.offset

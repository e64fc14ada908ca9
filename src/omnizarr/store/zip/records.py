"""The records of a ZIP archive: written, and parsed without trusting any number in them (APPNOTE 6.3)."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from omnizarr._fork import import_library
from omnizarr.errors import InvalidKeyError
from omnizarr.store.contract import check_key

__all__ = [
    "DEFLATED",
    "END_SIZE",
    "LOCAL_SIZE",
    "STORED",
    "Damaged",
    "DirectoryRecord",
    "central_record",
    "directory_records",
    "end_records",
    "find_end",
    "local_lengths",
    "local_record",
]

STORED, DEFLATED = 0, 8

_LOCAL = Struct("<4sHHHHHIIIHH")
_CENTRAL = Struct("<4sHHHHHHIIIHHHHHII")
_END = Struct("<4sHHHHIIH")
_END_64 = Struct("<4sQHHIIQQQQ")
_LOCATOR = Struct("<4sIQI")
LOCAL_SIZE, END_SIZE = _LOCAL.size, _END.size

_LOCAL_SIGN, _CENTRAL_SIGN, _END_SIGN = b"PK\3\4", b"PK\1\2", b"PK\5\6"
_END_64_SIGN, _LOCATOR_SIGN = b"PK\6\6", b"PK\6\7"

_UTF_8 = 0x800
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_FULL, _FULL_COUNT = 0xFFFF_FFFF, 0xFFFF  # mark a number that is stored in a 64-bit field instead
_ZIP64 = 1  # the extra field with the 64-bit numbers
_DATE = 1 << 5 | 1  # 1 January 1980: the same values give the same archive, whenever it is written
_UNIX_FILE = 3 << 8, 0o100644 << 16  # created on Unix, and a regular file with mode 644

_MOST_INFLATED = 1032  # the largest ratio of DEFLATE; a larger one is an error


class Damaged(Exception):
    """The archive is damaged; the reader adds its location."""


class DirectoryRecord(NamedTuple):
    """The directory record of an entry."""

    key: str
    offset: int
    name_size: int
    method: int
    crc: int
    stored_size: int
    size: int


# -- reading


def find_end(tail: bytes, size: int) -> tuple[int, int, int] | int:
    """The offset, the size and the number of entries of the directory of an archive with `size` bytes that ends in
    `tail`; or one number: the offset from which on the tail must be read to find the directory."""
    at = len(tail) - END_SIZE
    while True:
        at = tail.rfind(_END_SIGN, 0, at + 4) if at >= 0 else -1
        if at < 0:
            raise Damaged("it has no end record: it is cut off, or no ZIP archive")
        if len(tail) - at >= END_SIZE and at + END_SIZE + _END.unpack_from(tail, at)[7] == len(tail):
            break
        at -= 1
    _, disk, first_disk, disk_count, count, length, offset, _ = _END.unpack_from(tail, at)
    end = size - len(tail) + at
    if count == _FULL_COUNT or length == _FULL or offset == _FULL:
        if at < _LOCATOR.size:
            if len(tail) == size:
                raise Damaged("it is shorter than its end record says")
            return max(0, end - _LOCATOR.size)
        sign, _, end_64, _ = _LOCATOR.unpack_from(tail, at - _LOCATOR.size)
        if sign == _LOCATOR_SIGN:
            if end_64 + _END_64.size > end - _LOCATOR.size:
                raise Damaged("the offset of its 64-bit end record is outside the archive")
            begin = end_64 - (size - len(tail))
            if begin < 0:
                return int(end_64)
            record = _END_64.unpack_from(tail, begin)
            if record[0] != _END_64_SIGN:
                raise Damaged("its 64-bit end record is missing")
            disk, first_disk, disk_count, count, length, offset = record[4:]
            end = end_64
    if disk or first_disk or disk_count != count:
        raise Damaged("it is one of several parts")
    if offset + length != end:
        raise Damaged("its directory does not end where its end record begins: it is cut off or was added to")
    return offset, length, count


def directory_records(data: bytes, count: int, end: int) -> Iterator[DirectoryRecord]:
    """The `count` entries of a directory, in its order, without entries for folders. All of them must end before the
    byte `end` of the archive."""
    at = 0
    for _ in range(count):
        if len(data) - at < _CENTRAL.size or data[at : at + 4] != _CENTRAL_SIGN:
            raise Damaged("its directory is damaged: it has fewer entries than its end record says")
        fields = _CENTRAL.unpack_from(data, at)
        flags, method, crc, stored_size, size, name_size, extra_size, comment_size = (*fields[3:5], *fields[7:13])
        offset = fields[16]
        at += _CENTRAL.size
        raw = data[at : at + name_size]
        extra = data[at + name_size : at + name_size + extra_size]
        at += name_size + extra_size + comment_size
        if at > len(data):
            raise Damaged("its directory is damaged: an entry is longer than the rest of it")
        key = _name(raw, flags)
        if _FULL in (size, stored_size, offset):
            size, stored_size, offset = _full(extra, size, stored_size, offset, key)
        if key.endswith("/") and not size:
            _check_name(key[:-1])
            continue
        _check_name(key)
        if flags & _ENCRYPTED:
            raise Damaged(f"its entry `{key}` is encrypted")
        if method not in (STORED, DEFLATED):
            raise Damaged(f"its entry `{key}` is compressed by method {method}; known are 0 and 8")
        if offset + LOCAL_SIZE + name_size + stored_size > end:
            raise Damaged(f"its entry `{key}` is outside the archive")
        if size != stored_size if method == STORED else size > stored_size * _MOST_INFLATED:
            raise Damaged(f"its entry `{key}` cannot have {size} bytes: the archive stores {stored_size} bytes for it")
        yield DirectoryRecord(key, offset, name_size, method, crc, stored_size, size)
    if at != len(data):
        raise Damaged("its directory is damaged: it has more entries than its end record says")


def _name(raw: bytes, flags: int) -> str:
    try:
        if flags & _UTF_8 or raw.isascii():
            return raw.decode("utf-8")
        import_library("encodings.cp437")  # Python would import it without postponing signal handlers
        return raw.decode("cp437")
    except UnicodeDecodeError:
        raise Damaged(f"the name of its entry {raw!r} is not UTF-8, as its flags say") from None


def _check_name(key: str) -> None:
    try:
        check_key(key)
    except InvalidKeyError:
        raise Damaged(f"it has an entry named {key!r}, which is not a valid key") from None


def _full(extra: bytes, size: int, stored_size: int, offset: int, key: str) -> tuple[int, int, int]:
    """The three numbers; those that do not fit in 32 bits are read from the extra field."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = int.from_bytes(extra[at : at + 2], "little"), int.from_bytes(extra[at + 2 : at + 4], "little")
        if kind == _ZIP64:
            field = extra[at + 4 : at + 4 + length]
            numbers = [size, stored_size, offset]
            for which, number in enumerate(numbers):
                if number == _FULL:
                    if len(field) < 8:
                        raise Damaged(f"the size of its entry `{key}` is missing")
                    numbers[which] = int.from_bytes(field[:8], "little")
                    field = field[8:]
            return numbers[0], numbers[1], numbers[2]
        at += 4 + length
    return size, stored_size, offset  # the numbers really are that large


def local_lengths(header: bytes | memoryview) -> tuple[int, int]:
    """The lengths of the name and the extra field after a local header."""
    fields = _LOCAL.unpack_from(header) if len(header) >= LOCAL_SIZE else (b"",)
    if fields[0] != _LOCAL_SIGN:
        raise Damaged("there is no entry where its directory says")
    return fields[9], fields[10]


# -- writing


def local_record(name: bytes, method: int, crc: int, stored_size: int, size: int) -> bytes:
    """The local header before the bytes of an entry."""
    extra = b""
    if max(stored_size, size) >= _FULL:
        extra = Struct("<HHQQ").pack(_ZIP64, 16, size, stored_size)
        stored_size = size = _FULL
    version = 45 if extra else 20
    fields = _LOCAL.pack(
        _LOCAL_SIGN, version, _flags(name), method, 0, _DATE, crc, stored_size, size, len(name), len(extra)
    )
    return fields + name + extra


def central_record(name: bytes, method: int, crc: int, stored_size: int, size: int, offset: int) -> bytes:
    """The directory record of an entry."""
    numbers = [size, stored_size, offset]
    large = [number for number in numbers if number >= _FULL]
    extra = Struct(f"<HH{len(large)}Q").pack(_ZIP64, 8 * len(large), *large) if large else b""
    size, stored_size, offset = (min(number, _FULL) for number in numbers)
    version = 45 if extra else 20
    system, rights = _UNIX_FILE
    fields = _CENTRAL.pack(
        *(_CENTRAL_SIGN, system | version, version, _flags(name), method, 0, _DATE, crc, stored_size, size),
        *(len(name), len(extra), 0, 0, 0, rights, offset),
    )
    return fields + name + extra


def end_records(offset: int, size: int, count: int) -> bytes:
    """The end records after a directory."""
    large = b""
    if offset >= _FULL or size >= _FULL or count >= _FULL_COUNT:
        large = _END_64.pack(_END_64_SIGN, _END_64.size - 12, 45, 45, 0, 0, count, count, size, offset)
        large += _LOCATOR.pack(_LOCATOR_SIGN, 0, offset + size, 1)
    short_count = min(count, _FULL_COUNT)
    return large + _END.pack(_END_SIGN, 0, 0, short_count, short_count, min(size, _FULL), min(offset, _FULL), 0)


def _flags(name: bytes) -> int:
    return 0 if name.isascii() else _UTF_8

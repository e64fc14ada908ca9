"""A new file made of bytes and of parts of an old one, which the system copies without showing them to anybody."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

__all__ = ["Part", "Splice", "write_all", "write_splice"]

Part: TypeAlias = tuple[int, int]
"""Where bytes of the old value start, and how many there are."""

_COPIED = 2**20  # bytes that are copied at once where the system does not do it by itself
_UNABLE = frozenset(
    {errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EPERM, errno.EBADF}
)
_copy_file_range: Callable[[int, int, int, int], int] | None = getattr(os, "copy_file_range", None)


class Splice(NamedTuple):
    """What a new file shall hold: bytes, and parts of the open file `source`."""

    source: int
    pieces: Sequence[bytes | memoryview | Part]


def write_all(file: int, data: bytes | memoryview) -> None:
    """Writes all of it at the file's position."""
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, memoryview(data)[written:])


def write_splice(file: int, splice: Splice) -> None:
    """Writes what a splice says at the file's position."""
    for piece in splice.pieces:
        if isinstance(piece, tuple):
            _copy(splice.source, file, *piece)
        else:
            write_all(file, piece)


def _copy(source: int, file: int, start: int, length: int) -> None:
    able = _copy_file_range is not None
    while length:
        if able:
            try:
                done = _copy_file_range(source, file, length, start)  # type: ignore[misc]
            except OSError as error:
                if error.errno not in _UNABLE:
                    raise
                able = False
                continue
        else:
            os.lseek(source, start, os.SEEK_SET)  # nobody else uses its position
            data = os.read(source, min(length, _COPIED))
            write_all(file, data)
            done = len(data)
        if not done and able:  # some systems say so of files that they cannot copy
            able = False
            continue
        if not done:
            raise OSError(errno.EIO, "the file that parts are copied from ended before them")
        start += done
        length -= done

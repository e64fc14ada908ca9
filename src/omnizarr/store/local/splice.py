"""A new file made of bytes and of parts of an old file, which the system copies."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from omnizarr.store.local.files import write_all
from omnizarr.store.values import Extent

__all__ = ["Splice"]

_STEP = 2**20  # bytes that Python copies at a time where the system cannot copy between files
_UNABLE = frozenset(
    {errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EPERM, errno.EBADF}
)
_copy_file_range: Callable[[int, int, int, int], int] | None = getattr(os, "copy_file_range", None)


class Splice(NamedTuple):
    """The content of a new file: bytes, and parts of the open file `source`."""

    source: int
    parts: Sequence[bytes | memoryview | Extent]

    def write_to(self, file: int) -> None:
        """Write the content at the position of `file`."""
        for part in self.parts:
            if isinstance(part, tuple):
                _copy(self.source, file, *part)
            else:
                write_all(file, part)


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
            os.lseek(source, start, os.SEEK_SET)  # nothing else uses its position
            data = os.read(source, min(length, _STEP))
            write_all(file, data)
            done = len(data)
        if not done and able:  # some systems answer 0 for files that they cannot copy
            able = False
            continue
        if not done:
            raise OSError(errno.EIO, "the old file is shorter than the parts to copy")
        start += done
        length -= done

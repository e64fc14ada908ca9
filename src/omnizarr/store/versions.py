"""Which state of a file it was that somebody read."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["FileVersion"]


class FileVersion:
    """A file as it was when it was opened. It is kept open: files are replaced and never changed, and while one is open
    its number is given to no other, so that the number alone tells whether it is still in its place. The size and the
    date tell of other programs that do change files."""

    __slots__ = ("_file", "state")

    def __init__(self, file: int, status: os.stat_result) -> None:
        self._file = file
        self.state = _state(status)
        """What tells it: the numbers of device and file, the size, and the date in nanoseconds."""

    def is_of(self, status: os.stat_result) -> bool:
        """Whether that is the same state of the same file."""
        return self.state == _state(status)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileVersion) and other.state == self.state

    def __hash__(self) -> int:
        return hash(self.state)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.state,)

    def __del__(self) -> None:
        if self._file != -1:
            os.close(self._file)


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _unpickled(state: tuple[int, ...]) -> FileVersion:
    version = FileVersion.__new__(FileVersion)
    version._file, version.state = -1, state
    return version

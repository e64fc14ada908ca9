"""Snapshots and versions of files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, NoReturn

from omnizarr.store.contract import Buffer, ByteRange
from omnizarr.store.local import files
from omnizarr.store.snapshot import Snapshot

__all__ = ["FileSnapshot", "FileVersion"]

_SETTLED = 100_000_000  # nanoseconds after which a change cannot fall into the same tick of the clock that dates files
_SECOND = 1_000_000_000  # where dates are whole seconds, the clock ticks every second, or every other one


class FileSnapshot(Snapshot):
    """An open file, which others replace and never change. Its number and its dates tell it from others, unless it was
    made a moment ago."""

    def __init__(self, file: int, status: os.stat_result, fail: Callable[[OSError], NoReturn]) -> None:
        self._file = file
        self._fail = fail
        self._status = status
        self.size = status.st_size

    @property
    def version(self) -> object:
        status = self._status
        dates = (status.st_mtime_ns, status.st_ctime_ns)
        tick = 0 if any(date % _SECOND for date in dates) else 2 * _SECOND
        settled = time.time_ns() - max(dates) > _SETTLED + tick
        return (status.st_dev, status.st_ino, status.st_size, *dates) if settled else None

    def get(self, range: ByteRange) -> Buffer:
        try:
            return files.read(self._file, self.size, range)
        except OSError as error:
            self._fail(error)

    @property
    def file(self) -> int:
        """The open file."""
        return self._file

    @property
    def file_version(self) -> FileVersion:
        """What tells, for as long as it is held, whether the file is still in its place."""
        return FileVersion(-1, self._status)

    def get_into(self, start: int, target: memoryview) -> int:
        try:
            return files.read_into(self._file, start, target)
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        os.close(self._file)


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

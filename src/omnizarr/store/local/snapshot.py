"""Snapshots and versions of files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, NoReturn

from omnizarr.native import kernel
from omnizarr.store.contract import Buffer, ByteRange
from omnizarr.store.local import files
from omnizarr.store.snapshot import Snapshot

__all__ = ["FileSnapshot", "FileVersion", "lasting_version", "version_of"]

_LONGEST_TICK = 100_000_000  # nanoseconds of one tick of the file system's clock; changes in one tick look the same
_SECOND = 1_000_000_000  # where times are whole seconds, the clock ticks every one or two seconds


def version_of(status: os.stat_result) -> tuple[int, ...] | None:
    """What identifies the state of a file: device, inode, size and times. None if it was written a moment ago."""
    times = (status.st_mtime_ns, status.st_ctime_ns)
    tick = 0 if any(stamp % _SECOND for stamp in times) else 2 * _SECOND
    is_unique = time.time_ns() - max(times) > _LONGEST_TICK + tick
    return (status.st_dev, status.st_ino, status.st_size, *times) if is_unique else None


def lasting_version(version: object) -> str | None:
    """A version as text for other processes. It leaves out the device, whose number may change at a restart: the time
    of the last change of the inode, which no program can set, distinguishes files of different file systems."""
    if not isinstance(version, tuple):
        return None
    inode, size, modified, changed = version[1:]
    if not (modified % _SECOND or changed % _SECOND):
        return None  # whole seconds: a file system that may show the modification time as that of the inode
    return f"{inode} {size} {modified} {changed}"


class FileSnapshot(Snapshot):
    """An open file, which writers replace and never change. Its inode and its times identify its state, unless it was
    written a moment ago."""

    def __init__(self, file: int, status: os.stat_result, fail: Callable[[OSError], NoReturn]) -> None:
        self._file = file
        self._fail = fail
        self._status = status
        self.size = status.st_size

    @property
    def version(self) -> object:
        return version_of(self._status)

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
        """The version for an update while this snapshot is open."""
        return FileVersion(-1, self._status)

    def get_into(self, start: int, target: memoryview) -> int:
        try:
            return files.read_into(self._file, start, target)
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        os.close(self._file)


class FileVersion:
    """The version of a file. It keeps the file open: while a file is open, the system gives its inode to no other file,
    so that the inode tells whether the file was replaced. The size and the time detect programs that change files in
    place."""

    __slots__ = ("_owner", "state")

    def __init__(self, file: int, status: os.stat_result) -> None:
        self._owner = _owner(file)
        self.state = _state(status)
        """Device, inode, size, and modification time in nanoseconds."""

    def is_of(self, status: os.stat_result) -> bool:
        """Whether `status` is of the same state of the same file."""
        return self.state == _state(status)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileVersion) and other.state == self.state

    def __hash__(self) -> int:
        return hash(self.state)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.state,)


class _Descriptor:
    """The owner of an open file, where there is no kernel."""

    __slots__ = ("__weakref__",)

    def __init__(self, file: int) -> None:
        from omnizarr.store.finalizers import close_on_deletion, closing  # lazy import: only without the kernel

        close_on_deletion(self, closing((file,)))


def _owner(file: int) -> object:
    """An object that closes the file when it is deleted; None for -1. In the kernel's `Descriptor` no signal handler
    runs, so that Ctrl-C is not lost."""
    if file == -1:
        return None
    native = kernel()
    return _Descriptor(file) if native is None else native.Descriptor(file)


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _unpickled(state: tuple[int, ...]) -> FileVersion:
    version = FileVersion.__new__(FileVersion)
    version._owner, version.state = None, state
    return version

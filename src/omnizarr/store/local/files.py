"""Operations on single files: read, write under a temporary name, rename, remove; and tests for links."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from stat import S_ISLNK
from typing import Any, Protocol, TypeVar

from omnizarr.store.contract import ByteRange, extent_of
from omnizarr.store.local import flock, temp_names
from omnizarr.store.local.flock import close_last, open_into

__all__ = [
    "WINDOWS",
    "FileContent",
    "close_last",
    "create_temporary",
    "create_unnamed",
    "discard",
    "flush_folder",
    "is_link",
    "is_linked",
    "link_unnamed",
    "make_directory",
    "open_into",
    "read",
    "read_into",
    "remove",
    "replace",
    "retried",
    "write_all",
]

_T = TypeVar("_T")
WINDOWS = os.name == "nt"
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_UNNAMED = os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC if hasattr(os, "O_TMPFILE") else None
_OPEN_FILES = "/proc/self/fd"
_RETRIES = 50  # times 10 ms, while another program on Windows reads a file that is to be replaced or removed


class FileContent(Protocol):
    """The content of a new file that writes itself, such as a `Splice`."""

    def write_to(self, file: int) -> None:
        """Write the content at the position of `file`."""


def is_link(status: os.stat_result) -> bool:
    """Whether this is a symbolic link or a Windows junction."""
    return S_ISLNK(status.st_mode) or _is_junction(status)


def is_linked(entry: os.DirEntry[str]) -> bool:
    """Whether a directory entry is a symbolic link or a Windows junction."""
    return entry.is_symlink() or (WINDOWS and _is_junction(entry.stat(follow_symlinks=False)))


def _is_junction(status: os.stat_result) -> bool:
    return bool(getattr(status, "st_reparse_tag", 0) == 0xA0000003)  # a Windows directory that is located elsewhere


def make_directory(path: str) -> bool:
    """Create one directory; False if something with this name exists."""
    try:
        os.mkdir(path)
    except FileExistsError:
        return False
    return True


def _seek_and_read(file: int, length: int, start: int) -> bytes:
    os.lseek(file, start, os.SEEK_SET)
    return os.read(file, length)


_pread: Callable[[int, int, int], bytes] = getattr(os, "pread", _seek_and_read)
_preadv: Callable[[int, list[memoryview], int], int] | None = getattr(os, "preadv", None)


def read(file: int, size: int, range: ByteRange | None) -> bytes:
    """A range of an open file that has `size` bytes."""
    start, length = (0, size) if range is None else extent_of(range, size)
    data = _pread(file, length, start)
    if len(data) == length:
        return data
    reads = []  # one read gives 2 GiB at most, and less if the file shrank
    while data:
        reads.append(data)
        start += len(data)
        length -= len(data)
        data = _pread(file, length, start)
    return b"".join(reads)


def read_into(file: int, start: int, target: memoryview) -> int:
    """Fill `target` from an open file; returns how many bytes there were."""
    if _preadv is None:
        data = read(file, os.fstat(file).st_size, (start, len(target)))
        target[: len(data)] = data
        return len(data)
    done: int = _preadv(file, [target], start)
    while done < len(target):  # the file ended, or the file system gives less at a time
        count = _preadv(file, [target[done:]], start + done)
        if not count:
            break
        done += count
    return done


def create_temporary(
    folder: str, data: bytes | memoryview | FileContent, descriptors: list[int], *, guarded: bool
) -> str:
    """Write a temporary file in `folder` and return its path. The file stays open and is added to `descriptors`.
    `guarded` locks it until it is closed, so that no other process removes it."""
    process = os.getpid()
    while True:
        temporary = folder + temp_names.new_name(guarded=guarded)
        try:
            open_into(descriptors, temporary, _CREATE)
            # A process that removes abandoned files may have seen the file before it was locked.
            if not guarded or (flock.lock_if_free(descriptors[-1]) and os.fstat(descriptors[-1]).st_nlink):
                if isinstance(data, (bytes, memoryview)):
                    _write_new(descriptors[-1], data)
                else:
                    data.write_to(descriptors[-1])
                return temporary
            close_last(descriptors)
        except BaseException:
            discard(temporary, process)
            raise
        discard(temporary, process)


def create_unnamed(
    folder: str, data: bytes | memoryview | FileContent, descriptors: list[int], *, guarded: bool
) -> bool:
    """Write a file without a name on the file system of `folder`, for `link_unnamed`; False if this is not possible.
    The system removes it when it is closed, also if the process is killed."""
    if _UNNAMED is None or not os.path.isdir(_OPEN_FILES):
        return False
    try:
        open_into(descriptors, folder, _UNNAMED)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):  # the file system has no such files
            return False
        raise
    try:
        if guarded:
            flock.lock_if_free(descriptors[-1])  # before it gets a name
        if isinstance(data, (bytes, memoryview)):
            _write_new(descriptors[-1], data)
        else:
            data.write_to(descriptors[-1])
    except BaseException:
        close_last(descriptors)
        raise
    return True


def link_unnamed(file: int, path: str) -> bool:
    """Give an open file without a name the name `path`; False if a file has this name already."""
    try:
        # Python follows the link to the open file only with `src_dir_fd`, which has no other effect here.
        os.link(f"{_OPEN_FILES}/{file}", path, src_dir_fd=file, follow_symlinks=True)
    except FileExistsError:
        return False
    return True


def write_all(file: int, data: bytes | memoryview) -> None:
    """Write all of `data` at the position of `file`."""
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, memoryview(data)[written:])


def _write_new(file: int, data: bytes | memoryview) -> None:
    """Write all of `data` to a new file. At fixed positions: if a signal handler forks meanwhile, the child writes the
    same bytes to the same file."""
    if WINDOWS:
        write_all(file, data)
        return
    written = os.pwrite(file, data, 0)
    while written < len(data):
        written += os.pwrite(file, memoryview(data)[written:], written)


def discard(temporary: str, process: int) -> None:
    """Delete a temporary file of a process, if it exists and this is the process. A child that a signal handler forked
    leaves it to its parent."""
    if process != os.getpid():
        return
    try:
        os.unlink(temporary)
    except OSError:
        pass  # the error that led here is the one to report


def remove(path: str) -> bool:
    """Remove a file or a link; False if there is none."""
    try:
        retried(os.unlink, path)
    except FileNotFoundError:
        return False
    return True


def replace(old: str, new: str) -> None:
    """Rename a file, replacing a file that has the new name."""
    retried(os.replace, old, new)


def flush_folder(path: str) -> None:
    """Flush the names in a directory to the disk, where the system can do that."""
    if not WINDOWS:
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def retried(operation: Callable[..., _T], *arguments: Any) -> _T:
    """Repeat the operation on Windows, where a program that reads a file keeps others from replacing it, and one that
    replaces or removes a file or a directory keeps others from opening it."""
    if WINDOWS:
        for _ in range(_RETRIES):
            try:
                return operation(*arguments)
            except PermissionError:
                time.sleep(0.01)
    return operation(*arguments)

"""One file at a time: read all of it or a part, write it beside its place and put it there, remove it; and what is a
link."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from stat import S_ISLNK
from typing import TYPE_CHECKING

from omnizarr.store.contract import ByteRange, span
from omnizarr.store.local import temp_names

if TYPE_CHECKING:
    from omnizarr.store.local.splice import Splice

__all__ = [
    "discard",
    "flush_folder",
    "is_link",
    "is_linked",
    "make_directory",
    "read",
    "read_into",
    "remove",
    "replace",
    "stage",
    "write_all",
]

_WINDOWS = os.name == "nt"
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_PATIENCE = 50  # times 10 ms that Windows is given to let go of a file that somebody is reading


def is_link(status: os.stat_result) -> bool:
    """Whether this is a link, or a junction, its kind on Windows."""
    return S_ISLNK(status.st_mode) or _is_junction(status)


def is_linked(entry: os.DirEntry[str]) -> bool:
    """The same, of an entry of a directory."""
    return entry.is_symlink() or (_WINDOWS and _is_junction(entry.stat(follow_symlinks=False)))


def _is_junction(status: os.stat_result) -> bool:
    return bool(getattr(status, "st_reparse_tag", 0) == 0xA0000003)  # a Windows directory that is somewhere else


def make_directory(path: str) -> bool:
    """Makes one directory; False if something is there already."""
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
    start, length = (0, size) if range is None else span(range, size)
    data = _pread(file, length, start)
    if len(data) == length:
        return data
    pieces = []  # one read gives 2 GiB at most, and less at the end of a file that shrank
    while data:
        pieces.append(data)
        start += len(data)
        length -= len(data)
        data = _pread(file, length, start)
    return b"".join(pieces)


def read_into(file: int, start: int, target: memoryview) -> int:
    """Fills `target` from an open file; how many bytes there were."""
    if _preadv is None:
        data = read(file, os.fstat(file).st_size, (start, len(target)))
        target[: len(data)] = data
        return len(data)
    done: int = _preadv(file, [target], start)
    while done < len(target):  # the file ended, or it is one of those that give less at a time
        count = _preadv(file, [target[done:]], start + done)
        if not count:
            break
        done += count
    return done


def stage(folder: str, data: bytes | memoryview | Splice, unsynced: list[int] | None = None) -> str:
    """Writes a file of another name in `folder`, and gives its path. It is added to `unsynced`, if that is given, open:
    then nothing says yet that it is on the disk."""
    temporary = folder + temp_names.new_name()
    try:
        file = os.open(temporary, _CREATE, 0o666)  # which Ctrl-C may follow at once
        try:
            if isinstance(data, (bytes, memoryview)):
                write_all(file, data)
            else:
                data.write_to(file)
        except BaseException:
            os.close(file)
            raise
        if unsynced is None:
            os.close(file)
        else:
            unsynced.append(file)
    except BaseException:
        discard(temporary)
        raise
    return temporary


def write_all(file: int, data: bytes | memoryview) -> None:
    """Write all of `data` at the position of `file`."""
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, memoryview(data)[written:])


def discard(temporary: str) -> None:
    """Removes what will not be used, if it is there."""
    try:
        os.unlink(temporary)
    except OSError:
        pass  # what went wrong before is what the caller must hear of


def remove(path: str) -> bool:
    """Removes a file or a link; False if there is none."""
    try:
        _patiently(os.unlink, path)
    except FileNotFoundError:
        return False
    return True


def replace(old: str, new: str) -> None:
    """Gives a file another name, in the place of one that has it."""
    _patiently(os.replace, old, new)


def flush_folder(path: str) -> None:
    """Waits until the names in a directory are on the disk, where the system can do that."""
    if not _WINDOWS:
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _patiently(operation: Callable[..., None], *paths: str) -> None:
    """Calls the operation again for a while where somebody who reads a file keeps others from replacing it."""
    if _WINDOWS:
        for _ in range(_PATIENCE):
            try:
                return operation(*paths)
            except PermissionError:
                time.sleep(0.01)
    return operation(*paths)

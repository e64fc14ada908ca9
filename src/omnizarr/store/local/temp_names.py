"""Names of temporary files and task lock files, and cleanup after crashed writers.

Where locks hold between all processes that see a file, a writer keeps its temporary file locked until it is renamed,
and the name says so: such a file is abandoned if its lock is free. Otherwise the process id decides, or the age.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from functools import cache
from itertools import count, islice

from omnizarr._fork import import_library
from omnizarr.store.local import flock

__all__ = ["Sweeper", "is_temporary", "new_name", "task_lock_name", "task_of"]

_TEMPORARY = re.compile(r"\.omnizarr-([0-9a-f]+)-([0-9]+)-[0-9]+(-flock)?\.tmp")
_STALE = 86_400.0  # seconds; no write takes a day, and no two clocks that share a file system differ by that much
_SOME = 4096
_TASK_LOCK = ".turn"
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_numbers = count(time.time_ns())  # a writer that gets the process id of a crashed one must not meet its files


def is_temporary(name: str) -> bool:
    """Whether a file of this name is no value: a temporary file, or a task lock."""
    return name.startswith(".omnizarr-") and (_TEMPORARY.fullmatch(name) is not None or name.endswith(_TASK_LOCK))


def task_lock_name(name: str) -> str:
    """The name of the task lock file beside the file `name`."""
    return f".omnizarr-{name}{_TASK_LOCK}"


def task_of(name: str) -> str | None:
    """The name of the file that a task lock file is about; None if `name` is no task lock."""
    return name.removeprefix(".omnizarr-").removesuffix(_TASK_LOCK) if name.endswith(_TASK_LOCK) else None


def new_name(*, guarded: bool = False) -> str:
    """A name for the next temporary file; it contains the host and the process that write it. `guarded` says that the
    writer locks the file."""
    return f"{_writer()}{next(_numbers)}-flock.tmp" if guarded else f"{_writer()}{next(_numbers)}.tmp"


@cache
def _writer() -> str:
    return f".omnizarr-{_host()}-{os.getpid()}-"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_writer.cache_clear)


class Sweeper:
    """Removes the temporary files of crashed writers, and counts them.

    `by_lock` says that locks of files hold between all processes that see them. A file whose writer is unknown is
    removed if it is `older_than` so many seconds.
    """

    def __init__(self, *, by_lock: bool, older_than: float | None = None) -> None:
        self._by_lock = by_lock
        self._older_than = _STALE if older_than is None else older_than
        self.removed = 0

    def sweep_some(self, folder: str, entries: Iterator[os.DirEntry[str]]) -> bool:
        """Remove abandoned temporary files among the next 4,096 entries of a directory, in 1 to 4 ms; whether there may
        be more entries."""
        some = list(islice(entries, _SOME))
        for entry in some:
            name = entry.name
            if name.startswith(".omnizarr-") and name.endswith(".tmp"):
                self.sweep(folder, name)
        return len(some) == _SOME

    def sweep(self, folder: str, name: str) -> None:
        """Remove a temporary file if its writer does not exist any more."""
        path = os.path.join(folder, name)
        try:
            match = _TEMPORARY.fullmatch(name)
            if match is None:
                return
            if match[1] == _host() and not _is_alive(int(match[2])):
                self._remove(path)
            elif match[3] and self._by_lock:
                self._remove_if_free(path)
            elif time.time() - os.lstat(path).st_mtime > self._older_than:
                self._remove(path)
        except OSError:
            pass  # another process removed it, or only its owner may

    def _remove_if_free(self, path: str) -> None:
        file = os.open(path, _READ)
        try:
            if flock.lock_if_free(file):  # kept until the file is gone: a writer that has just created it notices
                self._remove(path)
        finally:
            os.close(file)

    def _remove(self, path: str) -> None:
        os.unlink(path)
        self.removed += 1


def _is_alive(process: int) -> bool:
    if flock.windows_locks is not None:
        return bool(flock.windows_locks.is_alive(process))  # `os.kill` would end it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OverflowError:
        return False  # no process has such a number
    except OSError:
        return True  # it belongs to another user
    return True


@cache
def _host() -> str:
    """A token for the scope of process ids: this boot of this machine, and on Linux this PID namespace, which the
    containers of one machine do not share. Clones of one machine image have the same host name and differ in this."""
    blake2b = import_library("hashlib").blake2b  # lazy import: only for writers
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            identity = f"{file.read()} {os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        identity = f"{import_library('platform').node()} {import_library('uuid').getnode()}"
    token: str = blake2b(identity.encode(), digest_size=6).hexdigest()
    return token

"""The task lock of a local store: a locked file beside the document that the task is about.

The file is removed when the task ends, and no listing shows it. A non-empty file means that the previous holder crashed
midway. A process removes the file only while it holds the file's lock: otherwise it could remove the file of a holder,
and the next process would lock a new file while that holder still works. Windows removes no file that any process has
open, so that a process there empties the file, closes it and tries to remove it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from omnizarr.errors import StoreError
from omnizarr.store.local import files, flock
from omnizarr.store.local.flock import DirectoryLock
from omnizarr.store.local.temp_names import task_lock_name
from omnizarr.store.thread_locks import TaskLock

__all__ = ["remove_abandoned", "task_lock_file"]

_OPEN = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class _TaskLockFile(TaskLock):
    def __init__(self, lock: DirectoryLock) -> None:
        self._lock = lock
        self.broken = self.begun = os.fstat(lock.file).st_size > 0

    def begin(self) -> None:
        if not self.begun:
            self.begun = True
            try:
                os.write(self._lock.file, b"begun\n")
            except OSError as error:  # the disk is full
                raise StoreError(f"cannot write the lock file {self._lock.path}: {error.strerror}") from error

    def check(self) -> None:
        try:
            intact = self._lock.still_there()
        except OSError as error:
            raise StoreError(f"cannot look at the lock file {self._lock.path}: {error.strerror}") from error
        if not intact:
            raise StoreError(
                f"the lock file {self._lock.path} was removed while this process held it, so that another writer may "
                "work on the same array",
                hint="another program removed the directory of the array; open the array again",
            )

    def remove(self) -> None:
        with suppress(OSError):  # the task is complete; the next holder takes the file for that of a crashed one
            if flock.windows_locks is not None:
                os.ftruncate(self._lock.file, 0)
                self._lock.close()
                os.unlink(self._lock.path)  # fails if another process has opened it, which then removes it
            elif self._lock.still_there():
                files.remove(self._lock.path)


@contextmanager
def task_lock_file(folder: str, name: str) -> Iterator[TaskLock]:
    """The lock of the task about the file `name` in `folder`."""
    path = folder + task_lock_name(name)
    while True:
        with DirectoryLock(path, shared=False, flags=_OPEN | os.O_CREAT, timeout=math.inf) as lock:
            if not lock.still_there():
                continue  # the previous holder removed the file; the next one locks a new file
            task_lock = _TaskLockFile(lock)
            try:
                yield task_lock
            except BaseException:
                if not task_lock.begun:
                    task_lock.remove()
                raise
            task_lock.remove()
            return


def remove_abandoned(path: str, about: str) -> None:
    """Remove the task lock file `path` of a crashed process if `about`, the file of its task, is gone.

    As long as that file exists, the file stays: the next holder must see the mark of the crash. It also stays while a
    process holds its lock.
    """
    if not flock.AVAILABLE or os.path.lexists(about):
        return
    if flock.windows_locks is not None:
        with suppress(OSError):  # a process has opened it
            os.unlink(path)
        return
    with (
        suppress(OSError),  # another process holds the lock or removed the file, or only its owner may
        DirectoryLock(path, shared=False, wait=False, flags=_OPEN) as lock,
    ):
        if lock.still_there() and not os.path.lexists(about):
            files.remove(path)

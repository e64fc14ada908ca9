"""The task lock of a local store: a locked file beside the document that the task is about.

The file is removed when the task ends, and no listing shows it. A non-empty file means that the previous holder crashed
midway.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from omnizarr.store.local import files
from omnizarr.store.local.flock import DirectoryLock
from omnizarr.store.local.temp_names import task_lock_name
from omnizarr.store.thread_locks import TaskLock

__all__ = ["task_lock_file"]

_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class _TaskLockFile(TaskLock):
    def __init__(self, file: int) -> None:
        self._file = file
        self.broken = self.begun = os.fstat(file).st_size > 0

    def begin(self) -> None:
        if not self.begun:
            self.begun = True
            os.write(self._file, b"begun\n")


@contextmanager
def task_lock_file(folder: str, name: str) -> Iterator[TaskLock]:
    """The lock of the task about the file `name` in `folder`."""
    path = folder + task_lock_name(name)
    while True:
        with DirectoryLock(path, shared=False, flags=_OPEN) as held:
            if not held.still_there():
                continue  # the previous holder removed the file; the next one locks a new file
            task_lock = _TaskLockFile(held.file)
            try:
                yield task_lock
            except BaseException:
                if not task_lock.begun:
                    files.remove(path)
                raise
            files.remove(path)
            return

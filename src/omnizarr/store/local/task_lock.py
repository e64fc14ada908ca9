"""One's turn at a task that takes many writes, such as adding to an array, among the processes that share a directory.

A file beside the document that the task is about is locked for as long as the turn takes, and removed when it ends. Its
name shows in no listing. If it is found with a mark in it, somebody died at their task and left it half done.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from omnizarr.store.local import files
from omnizarr.store.local.flock import DirectoryLock
from omnizarr.store.local.temp_names import task_lock_name
from omnizarr.store.process_locks import TaskLock

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
    """One's turn at what `name`, a file in `folder`, is about."""
    path = folder + task_lock_name(name)
    while True:
        with DirectoryLock(path, shared=False, flags=_OPEN) as held:
            if not held.still_there():
                continue  # whoever had the turn before removed it; the next one waits at another
            task_lock = _TaskLockFile(held.file)
            try:
                yield task_lock
            except BaseException:
                if not task_lock.begun:
                    files.remove(path)
                raise
            files.remove(path)
            return

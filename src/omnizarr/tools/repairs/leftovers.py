"""What crashed writers leave in a directory: temporary files and lock files."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

from omnizarr.store import LocalStore
from omnizarr.store.local import flock, temp_names
from omnizarr.store.local.flock import DirectoryLock
from omnizarr.store.local.task_lock import remove_abandoned
from omnizarr.store.local.temp_names import Sweeper

__all__ = ["LockFile", "foreign_temporaries", "lock_files", "remove_lock", "remove_temporaries"]

_FOREIGN = re.compile(r".+\.[0-9a-f]{32}\.partial")
"""The temporary files of zarr-python 2 and 3."""
_STALE = 86_400.0  # seconds: no write takes a day
_OPEN = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class _RecordingSweeper(Sweeper):
    """Records the files that it removes; with a dry run, those that it would remove."""

    def __init__(self, *, by_lock: bool, dry_run: bool) -> None:
        super().__init__(by_lock=by_lock)
        self._dry_run = dry_run
        self.paths: list[str] = []

    def _remove(self, path: str) -> None:
        if not self._dry_run:
            super()._remove(path)
        self.paths.append(path)


@dataclass(frozen=True, slots=True)
class LockFile:
    """The lock file of a task, such as a shrink."""

    path: str
    key: str
    """The key of the document that the task is about."""
    in_use: bool
    begun: bool
    """Whether its holder had begun to change the array."""
    orphaned: bool
    """Whether the document is gone."""


def remove_temporaries(store: LocalStore, prefix: str, *, dry_run: bool) -> list[str]:
    """Removes the temporary files of crashed omnizarr writers, and returns their paths relative to the root."""
    sweeper = _RecordingSweeper(by_lock=store._locks.guards_files(), dry_run=dry_run)
    for folder, name in _files(store, prefix):
        if name.startswith(".omnizarr-") and name.endswith(".tmp"):
            sweeper.sweep(folder, name)
    return [_relative(store, path) for path in sweeper.paths]


def foreign_temporaries(store: LocalStore, prefix: str) -> Iterator[str]:
    """The keys of temporary files that zarr-python left more than a day ago."""
    for folder, name in _files(store, prefix):
        path = os.path.join(folder, name)
        if _FOREIGN.fullmatch(name) and time.time() - os.lstat(path).st_mtime > _STALE:
            yield _relative(store, path)


def lock_files(store: LocalStore, prefix: str) -> Iterator[LockFile]:
    """The lock files of tasks."""
    for folder, name in _files(store, prefix):
        about = temp_names.task_of(name) if temp_names.is_temporary(name) else None
        if about is None:
            continue
        path = os.path.join(folder, name)
        document = os.path.join(folder, about)
        try:
            begun = os.path.getsize(path) > 0
        except OSError:
            continue  # its holder removed it
        yield LockFile(path, _relative(store, document), _in_use(path), begun, not os.path.lexists(document))


def remove_lock(lock: LockFile) -> bool:
    """Removes the lock file of a document that is gone; whether it could."""
    folder, name = os.path.split(lock.path)
    remove_abandoned(lock.path, os.path.join(folder, temp_names.task_of(name) or ""))
    return not os.path.lexists(lock.path)


def _in_use(path: str) -> bool:
    if not flock.AVAILABLE:
        return True
    try:
        with DirectoryLock(path, shared=False, wait=False, flags=_OPEN):
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False  # it is gone


def _files(store: LocalStore, prefix: str) -> Iterator[tuple[str, str]]:
    top = os.path.join(store.location, *prefix.split("/")) if prefix else store.location
    for folder, _, names in os.walk(top):
        for name in names:
            yield folder, name


def _relative(store: LocalStore, path: str) -> str:
    return os.path.relpath(path, store.location).replace(os.sep, "/")

"""Locks on directories, on which all processes of a machine agree.

They are the kernel's (`flock`), so that they end with whoever holds them, however that ends, and nothing is left in the
data. What is locked is the directory that a key's file is in, whatever path led there: handles with different roots,
other users and other containers that see the same directory agree. A directory is removed only by who holds it
exclusively, or it may be gone when the lock is there: `still_there` tells.
"""

from __future__ import annotations

import errno
import os
import threading
from contextlib import suppress
from functools import lru_cache
from types import TracebackType
from typing import Self

try:
    import fcntl
except ImportError:  # Windows has no locks that a killed process leaves without a trace, and on directories none at all
    AVAILABLE = False
else:
    AVAILABLE = True

__all__ = ["AVAILABLE", "DirectoryLock", "Identity", "any_mine", "file_system", "identity", "is_network"]

_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)

Identity = tuple[int, int]
"""The numbers by which the system knows a directory; those of one that is gone are given to others."""


class _Mine(threading.local):
    """The directories that this thread holds, and whether it shares them: it may write there without asking itself."""

    def __init__(self) -> None:
        self.held: dict[Identity, bool] = {}


_mine = _Mine()
_files: set[int] = set()  # open and locked, by any thread
_generation = 0  # of forks that led here


def _let_go_in_child() -> None:
    """A child closes what its parent has locked: else the lock would outlive a parent that is killed."""
    global _mine, _generation
    _generation += 1
    _mine = _Mine()
    for file in _files:
        with suppress(OSError):
            os.close(file)
    _files.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)


def any_mine() -> bool:
    """Whether this thread holds any directory that it is known to hold."""
    return bool(_mine.held)


class DirectoryLock:
    """A locked directory, or a file, until the block ends. If this thread holds it already, it is left as it is, but
    for its shared side, which does not become exclusive; with `known`, what this thread does meanwhile finds it so.

    FileNotFoundError if there is no such directory, or no longer the one that was `seen` there; BlockingIOError if
    somebody else holds it and one is not `patient`.
    """

    __slots__ = ("_generation", "_identity", "file", "path")

    def __init__(
        self,
        path: str,
        *,
        shared: bool,
        patient: bool = True,
        known: bool = False,
        seen: Identity | None = None,
        flags: int = _DIRECTORY,
    ) -> None:
        self.path = path
        self._generation = _generation
        self._identity: Identity | None = None
        # Kept in `self` at once: whatever interrupts what follows, `__del__` closes it.
        self.file = os.open(path, flags, 0o666)
        _files.add(self.file)
        try:
            if seen is not None and identity(os.fstat(self.file)) != seen:
                raise FileNotFoundError(errno.ENOENT, "it was made anew", path)
            mine = _mine.held
            held = mine.get(identity(os.fstat(self.file))) if mine else None
            if held is not None:
                if held and not shared:  # to wait for oneself would take for ever
                    number = errno.EDEADLK if patient else errno.EAGAIN
                    raise OSError(number, "this thread holds the shared side of the lock", path)
                self._close()
                return
            how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(self.file, how if patient else how | fcntl.LOCK_NB)
            if known:
                self._identity = identity(os.fstat(self.file))
                mine[self._identity] = shared
        except BaseException:
            self._close()
            raise

    def still_there(self) -> bool:
        """Whether the path still leads to what is locked."""
        if self.file == -1:
            return True  # this thread holds it
        try:
            return identity(os.stat(self.path)) == identity(os.fstat(self.file))
        except FileNotFoundError:
            return False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        file, self.file = self.file, -1
        if self._identity is not None:
            _mine.held.pop(self._identity, None)
            self._identity = None
        if file != -1 and self._generation == _generation:
            _files.discard(file)
            # Closing would do, but for a process that is being started just now and still has a copy.
            try:
                fcntl.flock(file, fcntl.LOCK_UN)
            except OSError:
                pass  # closing does it
            os.close(file)

    def __del__(self) -> None:
        if getattr(self, "file", -1) != -1:
            self._close()


def identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


_NETWORKS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "lustre", "beegfs", "gpfs", "panfs", "orangefs"}
)


def is_network(kind: str) -> bool:
    """Whether several machines may share a file system of this kind, and locks of directories hold on each of them
    alone, or may be turned off."""
    return kind in _NETWORKS or kind.startswith("fuse")


def file_system(path: str) -> str:
    """What kind of file system a directory is on, as the system calls it; empty if it does not say."""
    try:
        return _kind(os.stat(path).st_dev)
    except OSError:
        return ""


@lru_cache(maxsize=64)
def _kind(device: int) -> str:
    try:
        wanted = f"{os.major(device)}:{os.minor(device)}"
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                before, _, after = line.partition(" - ")
                if before.split(" ", 3)[2] == wanted:
                    return after.split(" ", 1)[0]
    except (OSError, AttributeError, IndexError):
        pass
    return ""

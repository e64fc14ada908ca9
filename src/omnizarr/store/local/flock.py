"""Locks on directories that hold between all processes of a machine.

They are the operating system's (`flock`, and on Windows `LockFileEx`), so that a lock ends with its process, even if
that crashes, and leaves nothing in the data. The locked directory is the one that holds the file of a key. Processes
with different roots, users or containers that see the same directory therefore agree, whatever path leads there. A
process removes a directory only while it holds the exclusive lock; a lock may therefore be granted on a directory that
is gone, which `still_there` detects.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from contextlib import suppress
from functools import lru_cache
from itertools import repeat
from stat import S_ISDIR
from types import ModuleType, TracebackType
from typing import Self

from omnizarr._fork import forks_seen
from omnizarr.config import config

windows_locks: ModuleType | None = None
"""The locks of Windows, where there is no `fcntl`."""
try:
    import fcntl

    AVAILABLE = True
except ImportError:
    try:
        from omnizarr.store.local import windows_locks

        AVAILABLE = True
    except (ImportError, AttributeError, OSError):  # neither POSIX nor Windows
        AVAILABLE = False

__all__ = [
    "AVAILABLE",
    "NO_LOCKS",
    "DirectoryLock",
    "Identity",
    "close_last",
    "file_system",
    "holds_any_lock",
    "identity",
    "is_network",
    "lock_if_free",
    "open_into",
]

_FIRST_PAUSE, _LONGEST_PAUSE = 0.00005, 0.001  # seconds
_MAX_OPENS = 100  # 50 ms at least; a fork takes less than 1 ms unless the process has gigabytes of memory
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)

NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL, errno.EBADF})
"""The error numbers of a file system without locks."""

Identity = tuple[int, int]
"""The device and inode numbers of a directory. The system gives those of a removed directory to a new one."""


class _ThreadLocks(threading.local):
    """What this thread has locked."""

    def __init__(self) -> None:
        self.shared: dict[Identity, bool] = {}
        """The directories that it may write into without another lock, and whether the lock is shared."""
        self.busy: list[tuple[Identity, bool]] = []
        """The other locks that it holds or waits for, and whether they are shared: a signal handler that runs in this
        thread must not wait for them."""


_thread_locks = _ThreadLocks()
_open_files: dict[int, list[int]] = {}  # id -> the file of a lock, of any thread; empty if it is not open
_generation = 0  # the number of forks that led to this process


def _release_in_child() -> None:
    """Close in a forked child what its parent has locked: otherwise the lock would outlive a parent that is killed."""
    global _thread_locks, _generation
    _generation += 1
    _thread_locks = _ThreadLocks()
    for descriptors in _open_files.values():
        while descriptors:
            with suppress(OSError):
                close_last(descriptors)
    _open_files.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_in_child)


def holds_any_lock() -> bool:
    """Whether this thread holds a lock that was taken with `known`."""
    return bool(_thread_locks.shared)


def lock_if_free(file: int) -> bool:
    """Lock an open file until it is closed; False if another process has locked it."""
    try:
        if windows_locks is not None:
            windows_locks.lock(file, windows_locks.BEYOND, shared=False)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class DirectoryLock:
    """The lock of a directory, or of a file, until the block ends.

    With `known`, this thread remembers that it holds the lock. If it holds the lock already, nothing is done; but the
    shared side does not become exclusive.

    Raises FileNotFoundError if there is no such directory, or another one than the `expected`; BlockingIOError if
    another holder has the lock and `wait` is False; TimeoutError after `timeout` seconds, by default the setting
    `lock_timeout`; OSError with EDEADLK in a signal handler, if the thread that it interrupted holds the lock.
    """

    __slots__ = ("__weakref__", "_busy", "_descriptors", "_directory", "_generation", "_shared", "path")

    def __init__(
        self,
        path: str,
        *,
        shared: bool,
        wait: bool = True,
        known: bool = False,
        expected: Identity | None = None,
        flags: int = _DIRECTORY,
        timeout: float | None = None,
    ) -> None:
        from omnizarr.store.finalizers import close_on_deletion, closing  # lazy import: only for writers

        self.path = path
        self._generation = _generation
        self._descriptors: list[int] = []
        """The open file."""
        self._directory: Identity | None = None
        """The directory, if the open file is the lock file of Windows."""
        self._busy: list[tuple[Identity, bool]] = []
        """The own entry in the list of this thread's locks."""
        self._shared: list[Identity] = []
        """The own entry in the table of this thread's locks that are `known`."""
        threads = _thread_locks
        # If Ctrl-C arrives when this object is complete and the block has not begun, its deletion releases the lock.
        close_on_deletion(
            self,
            closing(self._descriptors),
            (_open_files.pop, (id(self._descriptors),), (None,)),
            (threads.busy.remove, self._busy),
            (threads.shared.pop, self._shared, repeat(None)),
        )
        try:
            self._open(path, flags)
            own = self._identify(flags)
            if expected is not None and own != expected:
                raise FileNotFoundError(errno.ENOENT, "the directory was removed and created again", path)
            locks = _thread_locks.shared
            held_shared = locks.get(own) if locks else None
            if held_shared is not None:
                if held_shared and not shared:  # waiting for one's own lock would never end
                    number = errno.EDEADLK if wait else errno.EAGAIN
                    raise OSError(number, "this thread holds the shared side of the lock", path)
                self.close()
                return
            busy = _thread_locks.busy
            if any(other == own and not (shared and other_shared) for other, other_shared in busy):
                number = errno.EDEADLK if wait else errno.EAGAIN
                raise OSError(number, "the thread that was interrupted holds the lock", path)
            self._busy.append((own, shared))  # before the lock is taken: a signal handler may run at once
            busy.append((own, shared))
            if timeout is None:
                timeout = config.current.lock_timeout
            self._lock(shared, timeout if wait else -1, flags)
            if known:
                self._shared.append(own)
                locks[own] = shared
                self._leave()
        except BaseException:
            self.close()
            raise

    @property
    def file(self) -> int:
        """The open file; -1 if there is none."""
        try:
            return self._descriptors[-1]
        except IndexError:
            return -1

    def _open(self, path: str, flags: int) -> None:
        """Open the file and register it.

        If another thread forks in between, the child has a copy that it does not know of and never closes. A lock on
        the copied descriptor would outlive this process, so the file is opened again.
        """
        if windows_locks is not None and flags == _DIRECTORY:  # there are no forks
            status = os.stat(path)
            if not S_ISDIR(status.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            self._directory = identity(status)
            self._descriptors.append(windows_locks.open_lock_file())
            return
        for _ in range(_MAX_OPENS):
            before = forks_seen()
            self._generation = _generation
            _open_files[id(self._descriptors)] = self._descriptors
            open_into(self._descriptors, path, flags)
            if before % 2 == 0 and before == forks_seen():
                return
            while self._descriptors:  # empty if a signal handler forked and this is the child, which closed it
                close_last(self._descriptors)
            time.sleep(0.0005)  # lets the forking thread finish
        _open_files[id(self._descriptors)] = self._descriptors
        open_into(self._descriptors, path, flags)

    def _identify(self, flags: int) -> Identity:
        """The identity of the open file, or of the directory that it stands for."""
        while True:
            try:
                return self._directory or identity(os.fstat(self.file))
            except OSError:
                if self._generation == _generation:
                    raise
                self._open(self.path, flags)  # a signal handler forked, and this is the child, which closed the file

    def _lock(self, shared: bool, timeout: float, flags: int) -> None:
        """Lock the file; TimeoutError if it is not free in time; BlockingIOError at once if `timeout` is negative.

        It tries again and again, because the system has no wait with a timeout. The system grants a shared lock while
        a process waits for the exclusive one, so that processes that share it could keep it for ever."""
        end = time.monotonic() + timeout
        pause = _FIRST_PAUSE
        while True:
            if self._generation != _generation:
                self._open(self.path, flags)  # a signal handler forked, and this is the child, which closed the file
            try:
                if windows_locks is not None:
                    windows_locks.lock(self.file, self._position(), shared=shared)
                else:
                    fcntl.flock(self.file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                if self._generation == _generation:
                    return
                continue
            except BlockingIOError:
                if timeout < 0:
                    raise
                if time.monotonic() > end:
                    raise TimeoutError(
                        errno.ETIMEDOUT, f"other writers kept the lock of this directory for {timeout:.0f} s", self.path
                    ) from None
            except OSError:
                if self._generation == _generation:
                    raise
                continue
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _position(self) -> int:
        """The byte that Windows locks in the open file."""
        assert windows_locks is not None
        return windows_locks.BEYOND if self._directory is None else self._directory[1]

    def _leave(self) -> None:
        with suppress(ValueError, IndexError):  # of another thread, or of the parent of this process; or none
            next(map(_thread_locks.busy.remove, map(list.pop, (self._busy,))))

    def still_there(self) -> bool:
        """Whether the path still leads to the locked directory."""
        if self.file == -1:
            return True  # this thread holds it by another lock object
        try:
            return identity(os.stat(self.path)) == (self._directory or identity(os.fstat(self.file)))
        except OSError as error:
            # In a child that a signal handler forked, the file is closed, and the lock belongs to its parent.
            if isinstance(error, FileNotFoundError) or self._generation != _generation:
                return False
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock, if this has not been done."""
        self._leave()
        with suppress(IndexError):
            next(map(_thread_locks.shared.pop, map(list.pop, (self._shared,)), (None,)))
        # Closing is enough unless a process that is being started just now still has a copy of the descriptor. The file
        # stays registered until it is unlocked: a child that is forked in between closes it, or it would keep the lock
        # of a parent that is killed before it can unlock.
        with suppress(OSError, IndexError):  # closing does it
            if windows_locks is not None:
                windows_locks.unlock(self._descriptors[-1], self._position())
            else:
                fcntl.flock(self._descriptors[-1], fcntl.LOCK_UN)
        # No file: it was closed before, or in a child that a signal handler forked. If the disk is full, the mark of a
        # task lock may be lost, but the lock is released.
        with suppress(OSError, IndexError):
            close_last(self._descriptors)
        _open_files.pop(id(self._descriptors), None)


def open_into(descriptors: list[int], path: str, flags: int) -> None:
    """Open a file and append its descriptor to the list in one call, so that Ctrl-C cannot come in between."""
    descriptors.extend(map(os.open, (path,), (flags,), (0o666,)))


def close_last(descriptors: list[int]) -> None:
    """Close the last file of the list and remove it in one call, so that Ctrl-C cannot come in between."""
    next(map(os.close, map(list.pop, (descriptors,))))


def identity(status: os.stat_result) -> Identity:
    """The identity of a file or a directory."""
    return status.st_dev, status.st_ino


_NETWORKS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "lustre", "beegfs", "gpfs", "panfs", "orangefs"}
)


def is_network(kind: str) -> bool:
    """Whether several machines may share a file system of this kind, so that locks may hold only within one machine."""
    return kind in _NETWORKS or kind.startswith("fuse")


def file_system(path: str) -> str:
    """The kind of file system that a directory is on, in the words of the system; empty if unknown."""
    if windows_locks is not None:
        return "smbfs" if windows_locks.is_remote(path) else ""
    try:
        return _kind(os.stat(path).st_dev)
    except OSError:
        return ""


@lru_cache(maxsize=64)
def _kind(device: int) -> str:
    try:
        numbers = f"{os.major(device)}:{os.minor(device)}"
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                before, _, after = line.partition(" - ")
                if before.split(" ", 3)[2] == numbers:
                    return after.split(" ", 1)[0]
    except (OSError, AttributeError, IndexError):
        pass
    return ""

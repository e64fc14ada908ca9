"""Locks of a local store: which directories are locked, and for how long."""

from __future__ import annotations

import copy
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from omnizarr.config import config
from omnizarr.errors import StoreError, warn
from omnizarr.store.contract import check_key
from omnizarr.store.local import flock
from omnizarr.store.local.paths import NativePaths
from omnizarr.store.thread_locks import TaskLock, thread_lock, thread_task_lock

__all__ = ["DirectoryLocks"]

_ATTEMPTS = 100  # to lock directories that other processes remove at the same time; more than two are rare


class DirectoryLocks:
    """Locks a key by locking its directory, for all processes of the machine; or, if not `enabled`, within the process.

    `locking` is the user's choice: `True` requires locks and does not warn on network file systems, `False` takes none,
    and `None` follows `config.locking`.
    """

    def __init__(self, paths: NativePaths, locking: bool | None) -> None:
        self._paths = paths
        self._required = locking is True
        self._file_system_checked = False
        self._holds_for_all: bool | None = None
        if locking and not flock.AVAILABLE:
            raise StoreError(f"{paths.label}: this system has no locks that processes share", store=paths.label)
        self.enabled = flock.AVAILABLE if locking is None and config.locking else bool(locking)

    def at(self, paths: NativePaths) -> DirectoryLocks:
        """Locks with the same choice for another root."""
        other = copy.copy(self)
        other._paths = paths
        other._file_system_checked = False
        other._holds_for_all = None
        return other

    # -- for the users of the store

    def lock(self, keys: Iterable[str], shared: bool) -> AbstractContextManager[None]:
        if self.enabled:
            return self._lock_directories(list(keys), shared)
        return self._lock_threads(keys)

    def _lock_threads(self, keys: Iterable[str]) -> AbstractContextManager[None]:
        """Locks that hold within the process, where the file system has none. By the real path, because one file may be
        reached through several roots."""
        return thread_lock(self._paths.real_root, keys)

    @contextmanager
    def _lock_directories(self, keys: list[str], shared: bool) -> Iterator[None]:
        """Lock the directories of the keys; create missing ones, and remove those that stay empty."""
        for key in keys:
            check_key(key)
        directories = {key[: key.rfind("/") + 1] for key in keys}
        created: list[str] = []
        try:
            for _ in range(_ATTEMPTS):
                with ExitStack() as stack:
                    if self._lock_each(directories, shared, created, stack):
                        if not self.enabled:  # the file system has no locks, as the first one shows
                            stack.enter_context(self._lock_threads(keys))
                        yield
                        return
            label = self._paths.label
            raise StoreError(
                f"gave up locking `{keys[0]}` in {label} after {_ATTEMPTS} attempts: other processes keep removing its "
                "directory",
                store=label,
                key=keys[0],
            )
        finally:
            for path in reversed(created):
                self.remove_empty(path + os.sep, until=path)

    def _lock_each(self, directories: Collection[str], shared: bool, created: list[str], stack: ExitStack) -> bool:
        """Lock all of them; False if one was removed meanwhile. Every process locks in the order of the directories'
        identities, whichever paths lead there."""
        paths = self._paths
        try:
            os.makedirs(paths.root, exist_ok=True)
            folders = {}
            for directory in directories:
                folder = paths.enter(directory, created)
                folders[flock.identity(os.stat(folder))] = folder
            for identity, folder in sorted(folders.items()):
                # Locking a re-created directory, which has another identity, breaks the lock order and can deadlock;
                # `expected` detects it first.
                lock = stack.enter_context(self.directory(folder, shared=shared, known=True, expected=identity))
                if lock is not None and not lock.still_there():
                    paths.forget_all()
                    return False
        except FileNotFoundError:
            paths.forget_all()
            return False
        except OSError as error:
            paths.fail("lock", min(directories), error)
        return True

    def task_lock(self, key: str) -> AbstractContextManager[TaskLock]:
        if not self.enabled:
            return thread_task_lock(self._paths.real_root, key)
        return self._task_lock_file(key)

    @contextmanager
    def _task_lock_file(self, key: str) -> Iterator[TaskLock]:
        from omnizarr.store.local.task_lock import task_lock_file  # lazy import: only for changes of shape

        self._check_file_system()
        paths = self._paths
        name = key[key.rfind("/") + 1 :]
        folder = ""
        try:
            with ExitStack() as stack:
                for attempt in range(_ATTEMPTS):
                    try:
                        folder = paths.enter_or_create(key, [])
                        task_lock = stack.enter_context(task_lock_file(folder, name))
                        break
                    except FileNotFoundError as error:  # another process removed the directory meanwhile
                        if attempt == _ATTEMPTS - 1:
                            paths.fail("lock", key, error)
                        paths.create_root(key[: key.rfind("/") + 1])
                    except OSError as error:
                        if error.errno not in flock.NO_LOCKS:
                            paths.fail("lock", key, error)
                        self._disable(error)
                        task_lock = stack.enter_context(self.task_lock(key))
                        break
                yield task_lock
        finally:
            if folder and not os.path.lexists(folder + name):  # only the lock file kept the directory
                self.remove_empty(folder)

    # -- for writers

    def directory(
        self,
        folder: str,
        *,
        shared: bool,
        wait: bool = True,
        known: bool = False,
        expected: flock.Identity | None = None,
    ) -> AbstractContextManager[flock.DirectoryLock | None]:
        """The lock of a directory; None inside the block where there are no locks."""
        if not self.enabled:
            return nullcontext()
        if not (shared or self._file_system_checked):
            self._check_file_system()
        try:
            path = self._paths.without_separator(folder)
            return flock.DirectoryLock(path, shared=shared, wait=wait, known=known, expected=expected)
        except OSError as error:
            if error.errno not in flock.NO_LOCKS:
                raise
            self._disable(error)
            return nullcontext()

    def _disable(self, error: OSError) -> None:
        """Take no more locks, because the file system has none; StoreError if the user requires them."""
        label = self._paths.label
        if self._required:
            raise StoreError(
                f"{label} cannot be locked: {error.strerror}",
                hint="`LocalStore(root, locking=False)` takes no locks",
                store=label,
            ) from error
        self.enabled = False
        warn(
            f"{label} is on a file system without locks: processes that write parts of the same chunk at once may "
            "undo each other's changes (`LocalStore(root, locking=False)` says that they do not)"
        )

    def kernel_may_lock(self, *, exclusive: bool) -> bool:
        """Whether the kernel may take the lock of a directory itself: locks are in use, and this thread holds none."""
        if exclusive and not self._file_system_checked:
            self._check_file_system()
        return self.enabled and not flock.holds_any_lock()

    def guards_files(self) -> bool:
        """Whether locks of files hold between all processes that see them, on this machine and on others. Call it when
        the root exists."""
        if self._holds_for_all is None:  # Windows renames no open file
            self._holds_for_all = flock.windows_locks is None and not flock.is_network(
                flock.file_system(self._paths.root)
            )
        return self.enabled and self._holds_for_all

    def guard_no_files(self) -> None:
        """Lock no files: the file system has no locks of files."""
        self._holds_for_all = False

    @contextmanager
    def comparison(self, folder: str, key: str) -> Iterator[None]:
        """The exclusive lock for a comparison and change of `key` in `folder`: that of the directory or, if the file
        system has none, that of `lock`, which this thread may hold already."""
        with self.directory(folder, shared=False) as lock:
            if lock is not None:
                yield
                return
        with self._lock_threads([key]):
            yield

    @contextmanager
    def current_directory(self, folder: str, *, shared: bool, wait: bool = True) -> Iterator[None]:
        """The lock of the directory that `folder` names while the lock is held.

        The last holder may have removed the directory, and another process may have created a new one, which later
        writers lock. (A temporary file in a directory keeps it from being removed, too.) FileNotFoundError if there is
        no directory.
        """
        while True:
            with self.directory(folder, shared=shared, wait=wait) as lock:
                if lock is None or lock.still_there():
                    yield
                    return

    def remove_empty(self, folder: str, until: str = "") -> None:
        """Remove a directory and those above it, as long as they are empty, below the root, and not shorter than
        `until`."""
        paths = self._paths
        while len(folder) > max(len(paths.top), len(until)):
            try:
                # A process that has locked the directory is about to write into it.
                with self.current_directory(folder, shared=False, wait=False):
                    os.rmdir(paths.without_separator(folder))
            except FileNotFoundError:
                pass  # another process removed it, and may have stopped here
            except OSError:
                return  # not empty, or in use
            paths.folders.pop(folder[len(paths.top) :].replace(os.sep, "/"), None)
            folder = folder[: folder.rfind(os.sep, 0, -1) + 1]

    def _check_file_system(self) -> None:
        """Warn once if locks do not hold between machines."""
        if self._required or self._file_system_checked:
            return
        self._file_system_checked = True
        kind = flock.file_system(self._paths.root)
        if flock.is_network(kind):
            warn(
                f"{self._paths.label} is on `{kind}`, where locks keep the processes of one machine apart: other "
                "machines that write parts of the same chunk at once may undo changes (`LocalStore(root, "
                "locking=True)` says that none do)"
            )

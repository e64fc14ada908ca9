"""What of a local store is about other writers: which directories are locked, and for how long."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from omnizarr.config import config
from omnizarr.errors import StoreError, warn
from omnizarr.store.contract import check_key
from omnizarr.store.local import flock
from omnizarr.store.local.paths import LocalPaths
from omnizarr.store.process_locks import TaskLock, process_lock, process_task_lock

__all__ = ["LocalAgreement"]

_ATTEMPTS = 100  # to lock directories that others remove at the same time; more than two are rare
_NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL, errno.EBADF})


class LocalAgreement(LocalPaths):
    """A store in a directory, as far as it agrees with others that show the same one."""

    locking = flock.AVAILABLE

    _place: str
    """Where the root really is, whatever path leads there."""
    _insists: bool
    """Whether the user knows how far locks reach here."""
    _looked: bool
    """Whether it was looked how far they do."""

    def _begin(self, locking: bool | None) -> None:
        """Takes locks, or none, as the user says, or else the settings."""
        self._insists = locking is True
        self._looked = False
        if locking is not None:
            self._locks(locking)
        elif not config.locking:
            self._locks(False)

    def _agree_as(self, other: LocalAgreement) -> None:
        self._insists = other._insists
        self._locks(other.locking)

    def _locks(self, locking: bool) -> None:
        if locking and not flock.AVAILABLE:
            raise StoreError(f"{self!r}: this system has no locks that processes share", store=repr(self))
        self.locking = locking

    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]:
        if self.locking:
            return self._locked(list(keys), shared)
        # By where files really are: one of them may be reached through several roots.
        return process_lock(self._place, keys)

    @contextmanager
    def _locked(self, keys: list[str], shared: bool) -> Iterator[None]:
        """Locks the directories of the keys; missing ones are made, and removed if nothing comes into them."""
        for key in keys:
            check_key(key)
        directories = {key[: key.rfind("/") + 1] for key in keys}
        made: list[str] = []
        try:
            for _ in range(_ATTEMPTS):
                with ExitStack() as stack:
                    if self._lock_each(directories, shared, made, stack):
                        yield
                        return
            raise StoreError(f"{self!r} removes directories again and again", store=repr(self), key=keys[0])
        finally:
            for path in reversed(made):
                self._prune(path + os.sep, until=path)

    def _lock_each(self, directories: Collection[str], shared: bool, made: list[str], stack: ExitStack) -> bool:
        """Locks all of them, or says that one is gone again. Everybody does it in the same order, that of the
        directories' numbers, whichever paths lead there."""
        try:
            os.makedirs(self._root, exist_ok=True)
            folders = {}
            for directory in directories:
                folder = self._enter(directory, made)
                folders[flock.identity(os.stat(folder))] = folder
            for seen, folder in sorted(folders.items()):
                # One that was made anew has another number. Whoever waits for it waits out of order, and perhaps for
                # somebody who waits for him; so it must be noticed before.
                held = stack.enter_context(self._guard(folder, shared=shared, known=True, seen=seen))
                if held is not None and not held.still_there():
                    self._folders = {"": self._top}
                    return False
        except FileNotFoundError:
            self._folders = {"": self._top}
            return False
        except OSError as error:
            self._fail("lock", min(directories), error)
        return True

    def task_lock(self, key: str) -> AbstractContextManager[TaskLock]:
        if not self.locking:
            return process_task_lock(f"{self._place}\0{key}")
        self.check_writable()
        return self._turn(key)

    @contextmanager
    def _turn(self, key: str) -> Iterator[TaskLock]:
        from omnizarr.store.local.task_lock import task_lock_file  # only for who changes shapes

        self._look_at_locks()
        with ExitStack() as stack:
            try:
                path = self._find(key)
                cut = path.rfind(os.sep) + 1
                task_lock = stack.enter_context(task_lock_file(path[:cut], path[cut:]))
            except OSError as error:
                self._fail("lock", key, error)
            yield task_lock

    def _guard(
        self,
        folder: str,
        *,
        shared: bool,
        patient: bool = True,
        known: bool = False,
        seen: flock.Identity | None = None,
    ) -> AbstractContextManager[flock.DirectoryLock | None]:
        """The lock of a directory; nothing, where there are none."""
        if not self.locking:
            return nullcontext()
        if not (shared or self._looked):
            self._look_at_locks()
        try:
            return flock.DirectoryLock(self._bare(folder), shared=shared, patient=patient, known=known, seen=seen)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            if self._insists:
                raise StoreError(
                    f"{self!r} cannot be locked: {error.strerror}",
                    hint="`LocalStore(root, locking=False)` takes no locks",
                    store=repr(self),
                ) from error
            self._locks(False)
            warn(
                f"{self!r} is on a file system without locks: processes that write parts of the same chunk at once may "
                "undo each other's changes (`LocalStore(root, locking=False)` says that they do not)"
            )
            return nullcontext()

    def _locks_at_once(self, *, exclusive: bool) -> bool:
        """Whether a lock can be had, or not, without anything else to be done: this thread has none."""
        if exclusive and not self._looked:
            self._look_at_locks()
        return self.locking and not flock.any_mine()

    @contextmanager
    def _sure(self, folder: str, *, shared: bool, patient: bool = True) -> Iterator[None]:
        """The lock of the directory that the path leads to while it is held: whoever had it before may have removed it,
        and somebody else made another one, which others lock. What is staged in a directory makes sure of that, too.
        FileNotFoundError if there is none."""
        while True:
            with self._guard(folder, shared=shared, patient=patient) as held:
                if held is None or held.still_there():
                    yield
                    return

    def _prune(self, folder: str, until: str = "") -> None:
        """Removes a directory and those above it, as far as they are empty and below the root, and no shorter than
        `until`."""
        while len(folder) > max(len(self._top), len(until)):
            try:
                # Whoever has locked it, to put something into it, must not lose it.
                with self._sure(folder, shared=False, patient=False):
                    os.rmdir(self._bare(folder))
            except FileNotFoundError:
                pass  # somebody else removed it, and may have stopped here
            except OSError:
                return  # not empty, or in use
            self._folders.pop(folder[len(self._top) :].replace(os.sep, "/"), None)
            folder = folder[: folder.rfind(os.sep, 0, -1) + 1]

    def _look_at_locks(self) -> None:
        """Says once if locks will not hold for everybody."""
        if self._insists or self._looked:
            return
        self._looked = True
        kind = flock.file_system(self._root)
        if flock.is_network(kind):
            warn(
                f"{self!r} is on `{kind}`, where locks keep the processes of one machine apart: other machines that "
                "write parts of the same chunk at once may undo changes (`LocalStore(root, locking=True)` says that "
                "none do)"
            )

"""Writing files: each is written under a temporary name and published by a rename, so that readers see the old value or
the new one."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from typing import NoReturn, Self

from omnizarr.config import config
from omnizarr.native import kernel
from omnizarr.store.contract import Buffer, Version, flat
from omnizarr.store.local import files, temp_names
from omnizarr.store.local.listing import Listing
from omnizarr.store.local.locking import DirectoryLocks
from omnizarr.store.local.paths import ABSENT, NativePaths, check_name, is_plain
from omnizarr.store.local.snapshot import FileVersion

__all__ = ["FileWriter", "StagedFiles", "publish"]

_ATTEMPTS = 100  # to write into a directory that other processes remove at the same time; more than two are rare
_TOGETHER = 64  # files that are published under one lock


class StagedFiles:
    """Temporary files of one directory, until they are published or deleted."""

    def __init__(self, durable: bool) -> None:
        self.folder = ""
        self.created: list[str] = []
        """Directories that did not exist before."""
        self.files: list[tuple[str, str]] = []
        """The temporary path and the final name of each file."""
        self.unsynced: list[int] | None = [] if durable else None

    def paths(self) -> tuple[list[str], list[str]]:
        """The temporary paths, and the final ones."""
        return [temporary for temporary, _ in self.files], [self.folder + name for _, name in self.files]

    def sync(self) -> None:
        """Flush the files to the disk. They are written first and synced then, so that they get there together."""
        for file in self.unsynced or ():
            os.fsync(file)
        self._close()

    def _close(self) -> None:
        while self.unsynced:
            os.close(self.unsynced.pop())

    def discard(self) -> None:
        """Delete the files that were not published."""
        self._close()
        while self.files:
            files.discard(self.files.pop()[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.discard()


def publish(folder: str, paths: tuple[list[str], list[str]], expected: tuple[Version] | None, *, follow: bool) -> int:
    """Let the kernel rename the first of `paths` to the second, all in `folder`, under the lock of the directory.

    Returns how many it renamed, from the first on: 0 if there is no kernel, if the lock is not free, or if a version is
    `expected` and the file may have another.
    """
    native = kernel() if config.current.native else None
    if native is None:
        return 0
    state: tuple[int, ...] | None = None
    if expected is not None:
        version = expected[0]
        if version is not None and not isinstance(version, FileVersion):
            return 0
        state = () if version is None else version.state
    try:
        renamed: int = native.publish(folder, *paths, state, follow)
    except (ValueError, OverflowError):  # a name that is no text, or a number that is too large
        return 0
    return max(0, renamed)


class FileWriter:
    """Writes and removes the files of a local store. `durable` flushes every write to the disk before it returns."""

    def __init__(self, paths: NativePaths, locks: DirectoryLocks, listing: Listing, *, durable: bool) -> None:
        self._paths = paths
        self._locks = locks
        self._listing = listing
        self.durable = durable

    # -- writing

    def put(self, key: str, data: bytes | memoryview | files.FileContent, expected: tuple[Version] | None) -> bool:
        """Write a file. With a version that is `expected`, only if the file still has it; returns whether it did."""
        with StagedFiles(self.durable) as staged:
            try:
                self._stage(staged, key, data)
                return self._publish(staged, expected, key)
            except OSError as error:
                self._fail(staged, key, error)

    def put_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        """Write many files; those that follow each other in one directory are published together."""
        with StagedFiles(self.durable) as staged:
            directory = key = ""
            try:
                for key, value in items:
                    own = key[: key.rfind("/") + 1]
                    if staged.files and (own != directory or len(staged.files) == _TOGETHER):
                        self._publish(staged, None)
                    directory = own
                    self._stage(staged, key, flat(value))  # at once: the caller may reuse the memory for the next
                if staged.files:
                    self._publish(staged, None)
            except OSError as error:
                self._fail(staged, key, error)

    def put_by(self, keys: Sequence[str], write: Callable[[list[str]], bytes]) -> bytes | None:
        """`LocalFiles.publish`."""
        directory = keys[0][: keys[0].rfind("/") + 1]
        cut = len(directory)
        names = [key[cut:] for key in keys]
        # A durable write needs open files, and names that need a check take the Python path.
        if self.durable or not self._locks.enabled or not all(map(is_plain, names)):
            return None
        if not all(key.startswith(directory) and key.rfind("/") < cut for key in keys):
            return None
        with StagedFiles(False) as staged:
            try:
                known = self._paths.folders.get(directory)
                staged.folder = folder = known or self._paths.enter_or_create(keys[0], staged.created)
                staged.files = [(folder + temp_names.new_name(), name) for name in names]
                statuses = write([temporary for temporary, _ in staged.files])
                staged.files = [file for file, status in zip(staged.files, statuses, strict=True) if not status]
                if staged.files:
                    self._publish(staged, None)
                elif staged.created:
                    self._locks.remove_empty(staged.created[-1] + os.sep, until=staged.created[0])
                return statuses
            except OSError as error:
                self._fail(staged, keys[0], error)

    def _stage(self, staged: StagedFiles, key: str, data: bytes | memoryview | files.FileContent) -> None:
        paths = self._paths
        cut = key.rfind("/") + 1
        directory = key[:cut]
        folder = paths.folders.get(directory)
        if folder is None or not is_plain(key[cut:]):
            check_name(key)
        for _ in range(_ATTEMPTS):
            try:
                staged.folder = folder or paths.enter(directory, staged.created)
                staged.files.append((files.stage(staged.folder, data, staged.unsynced), key[cut:]))
                return
            except FileNotFoundError:
                # The directory was never created, or another process erased the last key in it.
                paths.create_root(directory)
                folder = None
        raise FileNotFoundError(
            errno.ENOENT, f"gave up after {_ATTEMPTS} attempts: other processes keep removing its directory"
        )

    def _publish(self, staged: StagedFiles, expected: tuple[Version] | None, key: str = "") -> bool:
        """Rename the files to their final names, under one lock. With a version that is `expected`, `key` is the only
        one, and False says that its file has another version. Because they lie in the directory, no other process
        can remove it, so that the locked directory is the right one."""
        staged.sync()
        folder = staged.folder
        paths, locks = self._paths, self._locks
        if not self.durable and locks.kernel_may_lock(exclusive=expected is not None):
            renamed = publish(paths.without_separator(folder), staged.paths(), expected, follow=paths.follow_links)
            del staged.files[:renamed]
        if staged.files:  # another process holds the lock or has changed the file, or something is wrong
            with locks.directory(folder, shared=True) if expected is None else locks.comparison(folder, key):
                if expected is not None and not self._has_version(folder + staged.files[0][1], expected[0]):
                    return False
                while staged.files:
                    temporary, name = staged.files[0]
                    files.replace(temporary, folder + name)
                    del staged.files[0]
        if self.durable:
            self._sync([folder, *map(os.path.dirname, reversed(staged.created))])
        staged.created.clear()
        return True

    def _fail(self, staged: StagedFiles, key: str, error: OSError) -> NoReturn:
        """Delete the temporary files and raise. `key` is one of them; if a rename failed, the error says which."""
        staged.discard()
        if isinstance(error.filename2, str):
            key = key[: key.rfind("/") + 1] + os.path.basename(error.filename2)
        if staged.created:
            self._locks.remove_empty(staged.created[-1] + os.sep, until=staged.created[0])
        self._paths.fail("write", key, error)

    def _sync(self, folders: Iterable[str]) -> None:
        """Flush the names in directories to the disk."""
        for folder in folders:
            files.flush_folder(self._paths.without_separator(folder) if folder.endswith(os.sep) else folder)

    def _has_version(self, path: str, version: Version) -> bool:
        try:
            status = os.stat(path, follow_symlinks=self._paths.follow_links)
        except OSError as error:
            if error.errno not in ABSENT:
                raise
            return version is None
        return isinstance(version, FileVersion) and version.is_of(status)

    # -- removing

    def remove(self, key: str, expected: tuple[Version] | None) -> bool:
        """Remove a file. With a version that is `expected`, only if the file still has it; returns whether it did."""
        path = ""
        try:
            path = self._paths.find(key)
            folder = path[: path.rfind(os.sep) + 1]
            locks = self._locks
            with ExitStack() as stack:
                stack.enter_context(locks.current_directory(folder, shared=expected is None))
                if expected is not None and not locks.enabled:
                    stack.enter_context(locks.comparison(folder, key))
                if expected is not None and not self._has_version(path, expected[0]):
                    return False
                if not files.remove(path):
                    return True
            if self.durable:
                self._sync([folder])
            self._locks.remove_empty(folder)
        except OSError as error:
            # Absent, or a directory, which is no key (A66).
            if error.errno not in ABSENT and not os.path.isdir(path):
                self._paths.fail("erase", key, error)
            return expected is None or self._has_version(path, expected[0])
        return True

    def remove_below(self, prefix: str) -> None:
        """Remove all files below a prefix, and the directories."""
        self._paths.forget_all()  # a directory may have become a link meanwhile, whose target must not be emptied
        try:
            top = self._listing.folder(prefix)
            folders = [] if top is None else [top]
            for folder in folders:  # the list grows meanwhile
                folders += self._remove_files(folder)
        except OSError as error:
            self._paths.fail("erase", prefix, error)
        for folder in reversed(folders):
            self._locks.remove_empty(folder)

    def _remove_files(self, folder: str) -> list[str]:
        """Remove the files of a directory; returns the directories in it."""
        below = []
        with suppress(FileNotFoundError), self._locks.current_directory(folder, shared=True):
            for entry in self._listing.entries(folder, clean=True):
                if files.is_linked(entry) or not entry.is_dir():
                    files.remove(entry.path)
                else:
                    below.append(entry.path + os.sep)
        return below

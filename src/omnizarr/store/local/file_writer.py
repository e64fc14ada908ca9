"""Writing files: each is written under a temporary name and published by a rename, so that readers see the old value or
the new one."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from typing import Any, NoReturn, Self

from omnizarr._fork import forks_seen
from omnizarr.config import config
from omnizarr.native import ABSENT as OTHER_STATE
from omnizarr.native import DONE, kernel
from omnizarr.store.capabilities import WriteFiles
from omnizarr.store.contract import Buffer, Version, flat
from omnizarr.store.local import files, temp_names
from omnizarr.store.local.flock import NO_LOCKS
from omnizarr.store.local.listing import Listing
from omnizarr.store.local.locking import DirectoryLocks
from omnizarr.store.local.paths import ABSENT, NativePaths, check_name, is_plain
from omnizarr.store.local.snapshot import FileVersion
from omnizarr.store.values import reject_key_type

__all__ = ["FileWriter", "TemporaryFiles"]

_ATTEMPTS = 100  # to write into a directory that other processes remove at the same time; more than two are rare
_TOGETHER = 64  # durable files that are synced together
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
# Characters, of at most 4 bytes, of a path that the kernel writes. It opens the directory first, and so could create a
# file whose path is longer than the 4096 bytes that the system allows, which no program can open.
_LONGEST_PATH = 1000
_REMEMBERED = 16_384  # directories; a few megabytes at most
_swept: set[str] = set()  # directories in which this process has removed the files of crashed writers
_sweeping: dict[str, Any] = {}  # large directories in which it has begun to -> open scans
_MOST_SCANS = 16


class TemporaryFiles:
    """Temporary files of one directory, until they are published or deleted."""

    def __init__(self) -> None:
        self.folder = ""
        self.created: list[str] = []
        """Directories that did not exist before."""
        self.files: list[tuple[str, str]] = []
        """The temporary path and the final name of each file. The path is empty if the file has no name yet."""
        self.descriptors: list[int] = []
        """Open files: locked, or still to be synced."""
        self.process = os.getpid()
        self.forks = forks_seen()

    def close(self) -> None:
        """Close the files."""
        while self.descriptors:
            files.close_last(self.descriptors)

    def discard(self) -> None:
        """Delete the files that were not published."""
        try:
            while self.files:
                temporary = self.files.pop()[0]
                if temporary:
                    files.discard(temporary, self.process)
        finally:
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.discard()


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
        if not self.durable and isinstance(data, (bytes, memoryview)):
            done = self._put_native(key, data, expected)
            if done is not None:
                return done
        return self._put_staged(key, data, expected)

    def _put_native(self, key: str, data: bytes | memoryview, expected: tuple[Version] | None) -> bool | None:
        """Let the kernel write and publish the file. None if it cannot: there is no kernel, the name needs a check, the
        lock is not free, or something is wrong."""
        native = kernel() if config.current.native else None
        try:
            cut = key.rfind("/") + 1
        except (AttributeError, TypeError):
            reject_key_type(key)
        if native is None or not is_plain(key[cut:]) or self._is_long(key):
            return None
        state: tuple[int, ...] | None = None
        if expected is not None:
            version = expected[0]
            if version is not None and not isinstance(version, FileVersion):
                return None
            state = () if version is None else version.state
        if not self._locks.kernel_may_lock(exclusive=expected is not None):
            return None
        created: list[str] = []
        status = None
        try:
            folder = self._paths.folders.get(key[:cut]) or self._paths.enter_or_create(key, created)
            if folder not in _swept:
                self._sweep_first(folder, created)
            target = self._target(folder, state)
            status = native.write_files(target, [temp_names.new_name(guarded=target[1])], [key[cut:]], [data])[0]
        except (ValueError, OverflowError, OSError):  # a name that is no text, or a number that is too large
            return None
        finally:
            if status != DONE:
                self._remove_created(created)
        return True if status == DONE else False if status == OTHER_STATE else None

    def _is_long(self, key: str) -> bool:
        return len(self._paths.top) + len(key) > _LONGEST_PATH

    def _target(self, folder: str, state: tuple[int, ...] | None) -> tuple[str, bool, tuple[int, ...] | None, bool]:
        """A directory, as the kernel expects it."""
        paths = self._paths
        return paths.without_separator(folder), self._locks.guards_files(), state, paths.follow_links

    def _put_staged(
        self, key: str, data: bytes | memoryview | files.FileContent, expected: tuple[Version] | None
    ) -> bool:
        with TemporaryFiles() as batch:
            try:
                self._add(batch, key, data)
                if self._publish(batch, expected, key):
                    return True
                batch.discard()
                self._remove_created(batch.created)
                return False
            except OSError as error:
                self._fail(batch, key, error)

    def put_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        """Write many files. Durable ones that follow each other in one directory are synced together."""
        if not self.durable:
            for key, value in items:
                self.put(key, flat(value), None)
            return
        with TemporaryFiles() as batch:
            directory = key = ""
            try:
                for key, value in items:
                    own = key[: key.rfind("/") + 1]
                    if batch.files and (own != directory or len(batch.files) == _TOGETHER):
                        self._publish(batch, None)
                    directory = own
                    self._add(batch, key, flat(value))  # at once: the caller may reuse the memory for the next
                if batch.files:
                    self._publish(batch, None)
            except OSError as error:
                self._fail(batch, key, error)

    def put_by(self, keys: Sequence[str], write: WriteFiles) -> bytes | None:
        """`LocalFiles.publish`."""
        directory = keys[0][: keys[0].rfind("/") + 1]
        cut = len(directory)
        names = [key[cut:] for key in keys]
        # A durable write needs open files, and names that need a check take the Python path.
        if self.durable or not self._locks.kernel_may_lock(exclusive=False) or not all(map(is_plain, names)):
            return None
        if not all(key.startswith(directory) and key.rfind("/") < cut for key in keys) or any(map(self._is_long, keys)):
            return None
        batch = TemporaryFiles()
        try:
            batch.folder = folder = self._paths.folders.get(directory) or self._paths.enter_or_create(
                keys[0], batch.created
            )
            if folder not in _swept:
                self._sweep_first(folder, batch.created)
            target = self._target(folder, None)
            statuses = write(target, [temp_names.new_name(guarded=target[1]) for _ in names], names)
        except FileNotFoundError:  # another thread removes empty directories: the Python path tries many times
            self._remove_created(batch.created)
            return None
        except OSError as error:
            self._fail(batch, keys[0], error)
        if not any(status == DONE for status in statuses):
            self._remove_created(batch.created)
        return statuses

    def _add(self, batch: TemporaryFiles, key: str, data: bytes | memoryview | files.FileContent) -> None:
        """Write a temporary file. If the disk is full, remove the files of crashed writers and try once more."""
        try:
            self._add_in_directory(batch, key, data)
        except OSError as error:
            # With nothing to remove, the second attempt could not succeed either.
            if error.errno not in _FULL or not self._listing.sweep():
                raise
            self._add_in_directory(batch, key, data)

    def _add_in_directory(self, batch: TemporaryFiles, key: str, data: bytes | memoryview | files.FileContent) -> None:
        paths = self._paths
        cut = key.rfind("/") + 1
        directory = key[:cut]
        folder = paths.folders.get(directory)
        if folder is None or not is_plain(key[cut:]):
            check_name(key)
        for _ in range(_ATTEMPTS):
            try:
                batch.folder = folder or paths.enter(directory, batch.created)
                if batch.folder not in _swept:
                    self._sweep_first(batch.folder, batch.created)
                self._write_temporary(batch, key[cut:], data)
                return
            except FileNotFoundError:
                # The directory was never created, or another process erased the last key in it.
                paths.create_root(directory)
                folder = None
        raise FileNotFoundError(
            errno.ENOENT, f"gave up after {_ATTEMPTS} attempts: other processes keep removing its directory"
        )

    def _write_temporary(self, batch: TemporaryFiles, name: str, data: bytes | memoryview | files.FileContent) -> None:
        descriptors = batch.descriptors
        count = len(descriptors)
        guarded = self._locks.guards_files()
        try:
            # The first file of several keeps other processes from removing the directory. The others get no name before
            # they are published, so that a killed process leaves at most one file.
            if batch.files and files.create_unnamed(batch.folder, data, descriptors, guarded=guarded):
                batch.files.append(("", name))
                return
            batch.files.append((files.create_temporary(batch.folder, data, descriptors, guarded=guarded), name))
            if not (guarded or self.durable):
                files.close_last(descriptors)  # a network file system may report a full disk only here
        except BaseException as error:
            while len(descriptors) > count:
                files.close_last(descriptors)
            if guarded and isinstance(error, OSError) and error.errno in NO_LOCKS:
                self._locks.guard_no_files()
                return self._write_temporary(batch, name, data)
            raise

    def _sweep_first(self, folder: str, created: Sequence[str] = ()) -> None:
        """Remove the files of crashed writers, when this process first writes into a directory. In a large one each of
        the first writes looks at some entries: all of 100,000 would take 50 to 200 ms."""
        path = self._paths.without_separator(folder)
        if self._locks.guards_files() and path not in created:  # on a network file system, it may take seconds
            with suppress(OSError):  # no directory, or one that this user may not read
                entries = _sweeping.pop(folder, None) or os.scandir(path)
                if self._listing.sweeper().sweep_some(path, entries) and len(_sweeping) < _MOST_SCANS:
                    if _sweeping.setdefault(folder, entries) is not entries:  # that of another thread
                        entries.close()
                    return
                entries.close()
        if len(_swept) >= _REMEMBERED:
            _swept.clear()
        _swept.add(folder)

    def _publish(self, batch: TemporaryFiles, expected: tuple[Version] | None, key: str = "") -> bool:
        """Rename the files to their final names, under one lock. With a version that is `expected`, `key` is the only
        one, and False says that its file has another version. Because they lie in the directory, no other process
        can remove it, so that the locked directory is the right one."""
        if self.durable:  # written first and synced then, so that they get to the disk together
            for file in batch.descriptors:
                os.fsync(file)
        if files.WINDOWS:  # it renames no open file
            batch.close()
        folder = batch.folder
        locks = self._locks
        with locks.directory(folder, shared=True) if expected is None else locks.comparison(folder, key):
            if expected is not None and not self._has_version(folder + batch.files[0][1], expected[0]):
                return False
            while batch.files:
                temporary, name = batch.files[0]
                if not temporary and self._link_first(batch):
                    del batch.files[0]
                    continue
                temporary = batch.files[0][0]
                try:
                    files.replace(temporary, folder + name)
                except FileNotFoundError:
                    # If a signal handler forked, parent and child go on with one file: the other one renamed it.
                    if batch.forks == forks_seen():
                        raise
                del batch.files[0]
        batch.close()
        if self.durable:
            self._sync([folder, *map(os.path.dirname, reversed(batch.created))])
        batch.created.clear()
        return True

    def _link_first(self, batch: TemporaryFiles) -> bool:
        """Give the first file its name, and return True; or, if another file has the name, a temporary name."""
        place = len(batch.descriptors) - len(batch.files)
        file = batch.descriptors[place]
        name = batch.files[0][1]
        guarded = self._locks.guards_files()
        temporary = batch.folder + temp_names.new_name(guarded=guarded)
        try:
            if files.link_unnamed(file, batch.folder + name):
                return True
            batch.files[0] = temporary, name
            files.link_unnamed(file, temporary)
        except OSError:  # the system has files without names, and does not give them one
            copy: list[int] = []
            content = files.read(file, os.fstat(file).st_size, None)
            batch.files[0] = files.create_temporary(batch.folder, content, copy, guarded=guarded), name
            os.fsync(copy[0])
            batch.descriptors[place] = copy[0]
            os.close(file)
        return False

    def _fail(self, batch: TemporaryFiles, key: str, error: OSError) -> NoReturn:
        """Delete the temporary files and raise. `key` is one of them; if a rename failed, the error says which."""
        batch.discard()
        if isinstance(error.filename2, str):
            key = key[: key.rfind("/") + 1] + os.path.basename(error.filename2)
        self._remove_created(batch.created)
        self._paths.fail("write", key, error)

    def _remove_created(self, created: Sequence[str]) -> None:
        """Remove the directories that were created, as far as they are empty."""
        if created:
            self._locks.remove_empty(created[-1] + os.sep, until=created[0])

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
            for entry in self._listing.entries(folder, sweeper=self._listing.sweeper()):
                if files.is_linked(entry) or not entry.is_dir():
                    files.remove(entry.path)
                else:
                    below.append(entry.path + os.sep)
        return below

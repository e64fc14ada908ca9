"""A store in a directory of the file system: a key is a file, and a file is whole or absent."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from operator import attrgetter
from stat import S_ISREG
from typing import TYPE_CHECKING, Self

from omnizarr._fork import import_library
from omnizarr.store.address.file_urls import key_to_path, path_to_url, url_to_path
from omnizarr.store.capabilities import provides
from omnizarr.store.contract import Buffer, ByteRange, Request, Store, check_prefix, flat, reject_start
from omnizarr.store.local import files
from omnizarr.store.local.capabilities import KernelFiles, LocalSnapshots, LocalSplicing, LocalUpdates
from omnizarr.store.local.file_writer import FileWriter
from omnizarr.store.local.listing import Listing
from omnizarr.store.local.locking import DirectoryLocks
from omnizarr.store.local.paths import ABSENT, NativePaths, absolute
from omnizarr.store.local.small_values import read_small_value, read_small_values
from omnizarr.store.thread_locks import TaskLock

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LocalStore"]


class LocalStore(Store):
    """Keys as files under `root`, a directory that the first write creates.

    A value is written to a temporary file and renamed, so that a reader sees the old value or the new one. A directory
    that loses its last key is removed; one that never had a key is listed as a prefix. A link below the root is not
    followed unless `follow_symlinks` is set; writing to a key that is a link replaces the link, erasing removes it, and
    neither touches its target. `~` is an ordinary character.
    """

    snapshots = provides(attrgetter("_snapshots"))
    updates = provides(
        lambda store: LocalUpdates(store._paths, store._writer, store.check_writable) if store.locking else None
    )
    # Windows replaces no file that is open, as the old value is while parts of it are copied.
    splicing = provides(lambda store: None if files.WINDOWS else LocalSplicing(store._writer, store.check_writable))
    local_files = provides(
        lambda store: (
            KernelFiles(store._paths, store._writer, store.check_writable) if store._paths.for_kernel else None
        )
    )
    _copyable = True

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        read_only: bool = False,
        follow_symlinks: bool = False,
        durable: bool = False,
        locking: bool | None = None,
    ) -> None:
        """`durable` flushes every write to the disk before it returns.

        `locking=False` takes no locks, for file systems that have none; then only the threads of this process agree.
        `True` requires locks and does not warn on network file systems, where they hold between the processes of one
        machine. `None` follows `config.locking`.
        """
        root = absolute(root)
        paths = NativePaths(root, follow_links=follow_symlinks, label=f"{type(self).__name__}({root})")
        self._compose(paths, DirectoryLocks(paths, locking), durable, read_only)

    def _compose(self, paths: NativePaths, locks: DirectoryLocks, durable: bool, read_only: bool) -> None:
        self._paths = paths
        self._snapshots = LocalSnapshots(paths)
        self._locks = locks
        self._listing = Listing(paths, locks)
        self._writer = FileWriter(paths, locks, self._listing, durable=durable)
        self._read_only = read_only

    def __copy__(self) -> Self:
        twin = self.__class__.__new__(self.__class__)  # as `copy.copy` does, but faster
        twin.__dict__.update(self.__dict__)
        return twin

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        read_only: bool = False,
        follow_symlinks: bool = False,
        durable: bool = False,
        locking: bool | None = None,
    ) -> Self:
        """The store at a `file:` URL such as `file:///my%20data` (R117)."""
        return cls(
            url_to_path(url, type(import_library("pathlib").PurePath())),
            read_only=read_only,
            follow_symlinks=follow_symlinks,
            durable=durable,
            locking=locking,
        )

    @property
    def location(self) -> str:
        return self._paths.root

    @property
    def url(self) -> str:
        """The root as a `file:` URL (R117)."""
        return path_to_url(import_library("pathlib").PurePath(self._paths.root))

    @property
    def locking(self) -> bool:  # type: ignore[override]  # the first lock shows whether the file system has locks
        return self._locks.enabled

    def path(self, key: str) -> Path:
        """The file that holds `key`, or would."""
        root: Path = import_library("pathlib").Path(self._paths.root)
        return key_to_path(key, root)

    def file(self, key: str) -> str:
        return str(self.path(key))

    def parent(self) -> tuple[Store, str] | None:
        folder, name = os.path.split(self._paths.root)
        if not name:
            return None
        paths = NativePaths(folder, follow_links=self._paths.follow_links, label=f"LocalStore({folder})")
        above = LocalStore.__new__(LocalStore)
        above._compose(paths, self._locks.at(paths), self._writer.durable, self._read_only)
        return above, name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalStore) and other._paths.root == self._paths.root

    def __hash__(self) -> int:
        return hash(self._paths.root)

    # -- reading

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        file = self._paths.open_known(key) if range is None or (range[0] == 0 and range[1] is not None) else None
        if file == -1:
            return None
        if file is not None:
            try:
                size = os.fstat(file).st_size
                if range is not None and range[1] is not None:
                    size = min(size, range[1])
                data = os.read(file, size)
                if data and len(data) == size:
                    return data
            except OSError:
                pass  # reading it again with all checks raises the right error
            finally:
                os.close(file)
        return self._get_checked(key, range)

    def _get_checked(self, key: str, range: ByteRange | None) -> Buffer | None:
        file = self._paths.open_checked(key)
        if file is None:
            return None
        try:
            status = os.fstat(file)
            return files.read(file, status.st_size, range) if S_ISREG(status.st_mode) else None
        except OSError as error:
            self._paths.fail("read", key, error)
        finally:
            os.close(file)

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        if start < 0:
            reject_start(key, start, repr(self))
        if not target:
            return 0 if self.exists(key) else None  # reading 0 bytes would not notice a directory
        file = self._paths.open(key)
        if file is None:
            return None
        try:
            return files.read_into(file, start, target)
        except OSError as error:
            if error.errno in (errno.EISDIR, errno.ESPIPE):  # a directory or a pipe is no value
                return None
            self._paths.fail("read", key, error)
        finally:
            os.close(file)

    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        # Not for a subclass with its own `get_each`, which it must not bypass.
        usual = type(self).get_each is LocalStore.get_each
        if usual and len(requests) == 1:
            key, part = requests[0]
            value = read_small_value(self._paths, key, part)
            return [self.get(key, part) if isinstance(value, int) else value]
        values = read_small_values(self._paths, requests) if usual else None
        if values is None:
            return super().get_partial_values(requests)
        return [self.get(*requests[index]) if isinstance(value, int) else value for index, value in enumerate(values)]

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        values = read_small_values(self._paths, requests)
        if values is None:
            yield from self._get_parts(requests)
            return
        for index, value in enumerate(values):
            yield index, self.get(*requests[index]) if isinstance(value, int) else value

    def _get_parts(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        # Requests for one key that follow each other are read from one open file, and so from one state of it.
        for key, group in groupby(enumerate(requests), key=lambda item: item[1][0]):
            ranges = [(index, range) for index, (_, range) in group]
            if len(ranges) == 1:
                yield ranges[0][0], self.get(key, ranges[0][1])
            else:
                yield from self._get_ranges(key, ranges)

    def _get_ranges(self, key: str, ranges: list[tuple[int, ByteRange | None]]) -> Iterator[tuple[int, Buffer | None]]:
        file = self._paths.open_checked(key)
        try:
            status = None if file is None else os.fstat(file)
            for index, range in ranges:
                if file is None or status is None or not S_ISREG(status.st_mode):
                    yield index, None
                else:
                    yield index, files.read(file, status.st_size, range)
        except OSError as error:
            self._paths.fail("read", key, error)
        finally:
            if file is not None:
                os.close(file)

    def exists(self, key: str) -> bool:
        return self.size(key) is not None

    def size(self, key: str) -> int | None:
        paths = self._paths
        try:
            path = paths.find(key)
            status = os.stat(path, follow_symlinks=paths.follow_links)
        except OSError as error:
            if error.errno in ABSENT:
                return None
            paths.fail("look at", key, error)
        if files.is_link(status):
            paths.reject_link(key, path)
        return status.st_size if S_ISREG(status.st_mode) else None

    # -- writing

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        self._writer.put(key, flat(value), None)

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()
        self._writer.put_each(items)

    def erase(self, key: str) -> None:
        self.check_writable()
        self._writer.remove(key, None)

    def erase_prefix(self, prefix: str) -> None:
        self.check_writable()
        self._writer.remove_below(check_prefix(prefix))

    # -- listing

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self._listing.keys(check_prefix(prefix), sweeper=None if self.read_only else self._listing.sweeper())

    def _list_sizes(self, prefix: str) -> Iterator[tuple[str, int]]:
        """For `omnizarr.store.sizes`."""
        return self._listing.sizes(check_prefix(prefix), sweeper=None if self.read_only else self._listing.sweeper())

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        return self._listing.children(check_prefix(prefix), sweeper=None if self.read_only else self._listing.sweeper())

    def sweep(self, *, older_than: float | None = None) -> int:
        """Remove the temporary files of crashed writers, and return how many there were.

        On a file system of one machine, locks show whether a writer lives. Elsewhere the files of other machines stay
        for a day, or until they are `older_than` so many seconds: more than any of their writes takes.
        """
        self.check_writable()
        return self._listing.sweep(older_than)

    # -- agreement between writers

    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]:
        return self._locks.lock(keys, shared)

    def task_lock(self, key: str) -> AbstractContextManager[TaskLock]:
        """A locked file beside the file of `key`; a mark in it says that a holder crashed."""
        if self.locking:
            self.check_writable()
        return self._locks.task_lock(key)

"""A store in a directory of the file system: a key is a file, and a file is whole or absent.

Nothing here leaves the root: links below it are refused or skipped unless they are asked for. What is known about a
directory is remembered, so that reading a key costs one open, one fstat, one read and one close.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import PurePath
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, NoReturn, Self

from omnizarr.store.address.file_urls import url_to_path
from omnizarr.store.capabilities import Versioned, provides
from omnizarr.store.contract import (
    Buffer,
    ByteRange,
    Request,
    Store,
    Version,
    check_prefix,
    flat,
    is_text,
    refuse_start,
)
from omnizarr.store.local import files
from omnizarr.store.local.capabilities import KernelFiles, LocalSnapshots, LocalSplicing, LocalUpdates
from omnizarr.store.local.listing import LocalListing
from omnizarr.store.local.paths import ABSENT, absolute, check_name, is_plain
from omnizarr.store.local.snapshot import FileVersion
from omnizarr.store.local.staged import Batch, publish

if TYPE_CHECKING:
    from omnizarr.store.local.splice import Splice

__all__ = ["LocalStore"]

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
# Not to wait for the other end of a pipe: nobody should find one in a store, but whoever does must not hang.
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)

_LINK = frozenset({errno.ELOOP, errno.EMLINK})  # what O_NOFOLLOW answers: the first of them, on FreeBSD the second
_ATTEMPTS = 100  # to write into a directory that others remove at the same time; more than two are rare
_TOGETHER = 64  # files that become visible under one lock


class LocalStore(LocalListing):
    """Keys as files under `root`, which is made by the first write.

    A value is written to a temporary file and renamed, so that a reader sees the old value or the new one. A directory
    that loses its last key is removed; one that never had a key is listed as a prefix all the same. A link below the
    root is not followed unless `follow_symlinks` says so; writing to a key that is a link replaces it, erasing removes
    it, and neither touches what it points to. `~` is an ordinary character.
    """

    snapshots = provides(LocalSnapshots)
    updates = provides(lambda store: LocalUpdates(store) if store.locking else None)
    splicing = provides(LocalSplicing)
    local_files = provides(lambda store: KernelFiles(store) if store._kernel_opens else None)
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
        """`durable` has every write reach the disk before it returns. `locking=False` takes no locks, for file systems
        that have none: then only the threads of this process agree; True takes them and is content, even if the file
        system is one of several machines and they hold on one; None is what `config.locking` says."""
        self._root = absolute(root)
        self._place = os.path.realpath(self._root)  # two spellings of one directory share their locks
        self._top = self._root if self._root.endswith(os.sep) else self._root + os.sep
        self._read_only = read_only
        self._follow = follow_symlinks
        self._durable = durable
        self._begin(locking)
        self._flags = _READ if follow_symlinks else _READ | _NOFOLLOW
        self._looks_for_links = not (follow_symlinks or _NOFOLLOW)
        # A root that is no UTF-8: only Python gives such names back to the system as they were.
        self._kernel_opens = bool(_NOFOLLOW) and is_text(self._root)
        self._folders = {"": self._top}

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
            url_to_path(url, type(PurePath())),
            read_only=read_only,
            follow_symlinks=follow_symlinks,
            durable=durable,
            locking=locking,
        )

    def parent(self) -> tuple[Store, str] | None:
        folder, name = os.path.split(self._root)
        if not name:
            return None
        above = LocalStore(folder, read_only=self._read_only, follow_symlinks=self._follow, durable=self._durable)
        above._agree_as(self)
        return above, name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalStore) and other._root == self._root

    def __hash__(self) -> int:
        return hash(self._root)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_folders": {"": self._top}}

    # -- reading

    def _open(self, key: str) -> int | None:
        """An open file, to be closed by the caller; None if there is no such key."""
        path = ""
        try:
            path = self._find(key)
            if self._looks_for_links and os.path.islink(path):
                self._refuse(key, path)
            return os.open(path, self._flags)
        except OSError as error:
            if error.errno in ABSENT or os.path.isdir(path):
                return None
            if error.errno in _LINK and not self._follow:
                self._refuse(key, path)
            self._fail("read", key, error)

    def _load(self, key: str, range: ByteRange | None) -> tuple[bytes, os.stat_result] | None:
        file = self._open(key)
        if file is None:
            return None
        try:
            status = os.fstat(file)
            return (files.read(file, status.st_size, range), status) if S_ISREG(status.st_mode) else None
        except OSError as error:
            self._fail("read", key, error)
        finally:
            os.close(file)

    def _open_known(self, key: str) -> int | None:
        """An open file, if `key` is an ordinary name in a directory that is known: which nearly every chunk is, and
        then no more is done than the system asks for. -1 if there is no such file; None leaves it to `_open` to find
        out what is the matter."""
        cut = key.rfind("/") + 1
        name = key[cut:]
        folder = self._folders.get(key[:cut])
        if folder is None or not is_plain(name) or self._looks_for_links:
            return None
        try:
            return os.open(folder + name, self._flags)
        except FileNotFoundError:
            return -1
        except OSError:
            return None

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        file = self._open_known(key) if range is None or (range[0] == 0 and range[1] is not None) else None
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
                pass  # the long way says what is wrong
            finally:
                os.close(file)
        found = self._load(key, range)
        return None if found is None else found[0]

    def file(self, key: str) -> str:
        return str(self.path(key))

    def _versioned(self, key: str, limit: int | None) -> Versioned | None:
        """A value and its version; None if it is longer than `limit`."""
        file = self._open_known(key)
        if file is None:
            file = self._open(key)
        if file is None or file == -1:
            return None, None
        try:
            status = os.fstat(file)
            if not S_ISREG(status.st_mode):
                return None, None
            if limit is not None and status.st_size > limit:
                return None
            value = files.read(file, status.st_size, None)
            file, kept = -1, file
            return value, FileVersion(kept, status)
        except OSError as error:
            self._fail("read", key, error)
        finally:
            if file != -1:
                os.close(file)

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        if start < 0:
            refuse_start(key, start, repr(self))
        if not target:
            return 0 if self.exists(key) else None  # a read of nothing would not notice a directory
        file = self._open_known(key)
        if file is None:
            file = self._open(key)
        if file is None or file == -1:
            return None
        try:
            return files.read_into(file, start, target)
        except OSError as error:
            if error.errno in (errno.EISDIR, errno.ESPIPE):  # a directory, a pipe: no value
                return None
            self._fail("read", key, error)
        finally:
            os.close(file)

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        # Requests for one key that follow each other are answered from one open file, and so from one state of it.
        for key, group in groupby(enumerate(requests), key=lambda item: item[1][0]):
            run = [(index, range) for index, (_, range) in group]
            if len(run) == 1:
                yield run[0][0], self.get(key, run[0][1])
            else:
                yield from self._get_run(key, run)

    def _get_run(self, key: str, run: list[tuple[int, ByteRange | None]]) -> Iterator[tuple[int, Buffer | None]]:
        file = self._open(key)
        try:
            status = None if file is None else os.fstat(file)
            for index, range in run:
                if file is None or status is None or not S_ISREG(status.st_mode):
                    yield index, None
                else:
                    yield index, files.read(file, status.st_size, range)
        except OSError as error:
            self._fail("read", key, error)
        finally:
            if file is not None:
                os.close(file)

    def exists(self, key: str) -> bool:
        return self.size(key) is not None

    def size(self, key: str) -> int | None:
        try:
            path = self._find(key)
            status = os.stat(path, follow_symlinks=self._follow)
        except OSError as error:
            if error.errno in ABSENT:
                return None
            self._fail("look at", key, error)
        if files.is_link(status):
            self._refuse(key, path)
        return status.st_size if S_ISREG(status.st_mode) else None

    # -- writing

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        self._put(key, flat(value), None)

    def _put(self, key: str, data: bytes | memoryview | Splice, expected: tuple[Version] | None) -> bool:
        """Writes a file beside its place, and puts it there: in any case, or if what is there is still of the version
        that is expected. Whether that was done."""
        with Batch(self._durable) as batch:
            try:
                self._stage(batch, key, data)
                return self._publish(batch, expected)
            except OSError as error:
                self._give_up(batch, key, error)

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()
        with Batch(self._durable) as batch:
            directory = key = ""
            try:
                for key, value in items:
                    own = key[: key.rfind("/") + 1]
                    if batch.staged and (own != directory or len(batch.staged) == _TOGETHER):
                        self._publish(batch, None)
                    directory = own
                    self._stage(batch, key, flat(value))  # at once: its memory may be used again for the next
                if batch.staged:
                    self._publish(batch, None)
            except OSError as error:
                self._give_up(batch, key, error)

    def _made(self, key: str, made: list[str]) -> str:
        """The native path of a key's directory, which is made where it is missing, and the root with it."""
        check_name(key)
        directory = key[: key.rfind("/") + 1]
        try:
            return self._enter(directory, made)
        except FileNotFoundError:
            self._forget(directory)
            os.makedirs(self._root, exist_ok=True)
            return self._enter(directory, made)

    def _stage(self, batch: Batch, key: str, data: bytes | memoryview | Splice) -> None:
        cut = key.rfind("/") + 1
        directory = key[:cut]
        folder = self._folders.get(directory)
        if folder is None or not is_plain(key[cut:]):
            check_name(key)
        for _ in range(_ATTEMPTS):
            try:
                batch.folder = folder or self._enter(directory, batch.made)
                batch.staged.append((files.stage(batch.folder, data, batch.unsynced), key[cut:]))
                return
            except FileNotFoundError:
                # The directory was never made, or somebody erased the last key in it.
                self._forget(directory)
                os.makedirs(self._root, exist_ok=True)
                folder = None
        raise FileNotFoundError(errno.ENOENT, "its directory is removed again and again")

    def _publish(self, batch: Batch, expected: tuple[Version] | None) -> bool:
        """Puts what is staged in its place, under one lock. That it lies in the directory keeps others from removing
        it, so that it is the one that is locked."""
        batch.sync()
        folder = batch.folder
        if not self._durable and self._locks_at_once(exclusive=expected is not None):
            done = publish(self._bare(folder), batch.paths(), expected, follow=self._follow)
            del batch.staged[:done]
        if batch.staged:  # somebody else has the lock, or has been there; or something is wrong
            with self._guard(folder, shared=expected is None):
                if expected is not None and not self._is(folder + batch.staged[0][1], expected[0]):
                    return False
                while batch.staged:
                    temporary, name = batch.staged[0]
                    files.replace(temporary, folder + name)
                    del batch.staged[0]
        if self._durable:
            self._sync([folder, *map(os.path.dirname, reversed(batch.made))])
        batch.made.clear()
        return True

    def _give_up(self, batch: Batch, key: str, error: OSError) -> NoReturn:
        """Leaves nothing behind. `key` is one of the batch; if a file could not be renamed, the error says which."""
        batch.drop()
        if isinstance(error.filename2, str):
            key = key[: key.rfind("/") + 1] + os.path.basename(error.filename2)
        if batch.made:
            self._prune(batch.made[-1] + os.sep, until=batch.made[0])
        self._fail("write", key, error)

    def _sync(self, folders: Iterable[str]) -> None:
        """Has the names in directories reach the disk."""
        for folder in folders:
            files.flush_folder(self._bare(folder) if folder.endswith(os.sep) else folder)

    def _is(self, path: str, version: Version) -> bool:
        """Whether what lies at `path` is of that version."""
        try:
            status = os.stat(path, follow_symlinks=self._follow)
        except OSError as error:
            if error.errno not in ABSENT:
                raise
            return version is None
        return isinstance(version, FileVersion) and version.is_of(status)

    def erase(self, key: str) -> None:
        self.check_writable()
        self._remove(key, None)

    def _remove(self, key: str, expected: tuple[Version] | None) -> bool:
        """Removes a file: in any case, or if it is still of the version that is expected. Whether that was done."""
        path = ""
        try:
            path = self._find(key)
            folder = path[: path.rfind(os.sep) + 1]
            with self._sure(folder, shared=expected is None):
                if expected is not None and not self._is(path, expected[0]):
                    return False
                if not files.remove(path):
                    return True
            if self._durable:
                self._sync([folder])
            self._prune(folder)
        except OSError as error:
            # Absent, or a directory, which is no key (A66).
            if error.errno not in ABSENT and not os.path.isdir(path):
                self._fail("erase", key, error)
            return expected is None or self._is(path, expected[0])
        return True

    def erase_prefix(self, prefix: str) -> None:
        self.check_writable()
        prefix = check_prefix(prefix)
        self._folders = {"": self._top}  # what was a directory may be a link now, and must not be emptied
        try:
            top = self._enter_prefix(prefix)
            found = [] if top is None else [top]
            for folder in found:  # which grows meanwhile
                found += self._empty(folder)
        except OSError as error:
            self._fail("erase", prefix, error)
        for folder in reversed(found):
            self._prune(folder)

    def _empty(self, folder: str) -> list[str]:
        """Removes the files of a directory; the directories in it."""
        below = []
        with suppress(FileNotFoundError), self._sure(folder, shared=True):
            for entry in self._scan(folder):
                if files.is_linked(entry) or not entry.is_dir():
                    files.remove(entry.path)
                else:
                    below.append(entry.path + os.sep)
        return below

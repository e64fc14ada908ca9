"""The capabilities of a local store: snapshots, updates, splicing, and files for the kernel."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from stat import S_ISREG

from omnizarr.errors import StoreError
from omnizarr.native import NO_LINKS, kernel
from omnizarr.store.capabilities import ABSENT as NO_VALUE
from omnizarr.store.capabilities import LocalFiles, Snapshots, Splicing, Updates, Versioned, WriteFiles
from omnizarr.store.contract import Buffer, Version, flat
from omnizarr.store.local import files, flock
from omnizarr.store.local.file_writer import FileWriter
from omnizarr.store.local.paths import ABSENT, NativePaths, is_plain, is_usual
from omnizarr.store.local.snapshot import FileSnapshot, FileVersion, lasting_version, version_of
from omnizarr.store.snapshot import Snapshot
from omnizarr.store.values import Extent

__all__ = ["KernelFiles", "LocalSnapshots", "LocalSplicing", "LocalUpdates"]


class LocalSnapshots(Snapshots):
    """A snapshot is an open file: writers replace files and never change them."""

    lasting = os.name == "posix"  # elsewhere, the time of the last change of an inode has another meaning

    def __init__(self, paths: NativePaths) -> None:
        self._paths = paths

    def open(self, key: str) -> Snapshot | None:
        paths = self._paths
        file = self._paths.open(key)
        if file is None:
            return None
        try:
            status = os.fstat(file)
            if not S_ISREG(status.st_mode):
                return None
            descriptor, file = file, None
            return FileSnapshot(descriptor, status, lambda error: paths.fail("read", key, error))
        except OSError as error:
            paths.fail("read", key, error)
        finally:
            if file is not None:
                os.close(file)

    def versions(self, keys: Sequence[str]) -> list[object]:
        paths, folders = self._paths, self._paths.folders
        kind = flock.file_system(paths.root)
        if not kind or flock.is_network(kind):
            # NFS may know an old state of a file for a minute, and asks the server when the file is opened.
            return super().versions(keys)
        versions: list[object] = []
        for key in keys:
            cut = key.rfind("/") + 1
            folder = folders.get(key[:cut])
            try:
                path = folder + key[cut:] if folder is not None and is_plain(key[cut:]) else paths.find(key)
                status = os.stat(path, follow_symlinks=paths.follow_links)
            except OSError as error:
                if error.errno not in ABSENT:
                    paths.fail("look at", key, error)
                versions.append(NO_VALUE)
                continue
            # `open` knows what to do with other kinds of files.
            versions += [version_of(status)] if S_ISREG(status.st_mode) else super().versions([key])
        return versions

    def lasting_version(self, version: object) -> str | None:
        return lasting_version(version)


class LocalUpdates(Updates):
    """Compares and replaces a file under the lock of its directory."""

    erases = True

    def __init__(self, paths: NativePaths, writer: FileWriter, check_writable: Callable[[], None]) -> None:
        self._paths = paths
        self._writer = writer
        self._check_writable = check_writable

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        file = self._paths.open(key)
        if file is None:
            return None, None
        try:
            status = os.fstat(file)
            if not S_ISREG(status.st_mode):
                return None, None
            if limit is not None and status.st_size > limit:
                return None
            value = files.read(file, status.st_size, None)
            if files.WINDOWS:  # it replaces no open file, and gives the number of a file to no other one
                return value, FileVersion(-1, status)
            descriptor, file = file, None
            return value, FileVersion(descriptor, status)
        except OSError as error:
            self._paths.fail("read", key, error)
        finally:
            if file is not None:
                os.close(file)

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        self._check_writable()
        return self._writer.put(key, flat(value), (version,))

    def erase(self, key: str, version: Version) -> bool:
        self._check_writable()
        return self._writer.remove(key, (version,))


class LocalSplicing(Splicing):
    """The system copies parts of the old file into the new one."""

    def __init__(self, writer: FileWriter, check_writable: Callable[[], None]) -> None:
        self._writer = writer
        self._check_writable = check_writable

    def splice(self, key: str, parts: Sequence[Buffer | Extent], snapshot: Snapshot) -> bool:
        from omnizarr.store.local.splice import Splice  # lazy import: only for large shards

        self._check_writable()
        if not isinstance(snapshot, FileSnapshot):
            raise StoreError(f"`{key}`: a local store splices only its own snapshots", key=key)
        splice = Splice(snapshot.file, [part if isinstance(part, tuple) else flat(part) for part in parts])
        return self._writer.put(key, splice, (snapshot.file_version,))


class KernelFiles(LocalFiles):
    """Paths of files that the kernel opens, and of temporary files that it writes."""

    def __init__(self, paths: NativePaths, writer: FileWriter, check_writable: Callable[[], None]) -> None:
        self._paths = paths
        self._writer = writer
        self._check_writable = check_writable

    def path(self, key: str) -> tuple[str, int]:
        paths = self._paths
        if paths.opens_unlinked and is_usual(key):
            return paths.top + key, paths.flags | NO_LINKS
        cut = key.rfind("/") + 1
        folder = paths.folders.get(key[:cut])
        if folder is None and (module := kernel()) and module.is_folder(paths.top, key[:cut], paths.follow_links):
            folder = paths.remember(key[:cut])
        if folder is None or not is_plain(key[cut:]):
            return self._find(key), paths.flags
        return folder + key[cut:], paths.flags

    def paths(self, rows: Iterable[tuple[str, Sequence[str]]]) -> tuple[list[str], int]:
        paths = self._paths
        native: list[str] = []
        known: Sequence[str] = ()  # endings of digits; usually all rows have the same
        for start, ends in rows:
            cut = start.rfind("/") + 1
            folder = paths.folders.get(start[:cut])
            # Endings of digits, as chunk keys have them, do not lead to another directory.
            if folder is not None and (ends is known or _are_digits(ends)) and is_plain(start[cut:] + ends[0]):
                known = ends
                beginning = folder + start[cut:]
                native += [beginning + end for end in ends]
            else:
                native += [self._find(start + end) for end in ends]
        return native, paths.flags

    def _find(self, key: str) -> str:
        try:
            return self._paths.find(key)
        except OSError as error:
            if error.errno not in ABSENT:
                self._paths.fail("read", key, error)
            return ""  # no file has this path

    def publish(self, keys: Sequence[str], write: WriteFiles) -> bytes | None:
        self._check_writable()
        return self._writer.put_by(keys, write)


def _are_digits(names: Sequence[str]) -> bool:
    together = "".join(names)
    return together.isdigit() and together.isascii()

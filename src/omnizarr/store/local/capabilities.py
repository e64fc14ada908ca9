"""The capabilities of a local store: snapshots, updates, splicing, and files for the kernel."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from stat import S_ISREG
from typing import TYPE_CHECKING

from omnizarr.errors import StoreError
from omnizarr.store.capabilities import LocalFiles, Snapshots, Splicing, Updates, Versioned
from omnizarr.store.contract import Buffer, Version, flat
from omnizarr.store.local.paths import ABSENT, is_plain
from omnizarr.store.local.snapshot import FileSnapshot
from omnizarr.store.snapshot import Snapshot

if TYPE_CHECKING:
    from omnizarr.store.local.store import LocalStore

__all__ = ["KernelFiles", "LocalSnapshots", "LocalSplicing", "LocalUpdates"]


class LocalSnapshots(Snapshots):
    """A snapshot is an open file: writers replace files and never change them."""

    def __init__(self, store: LocalStore) -> None:
        self._store = store

    def open(self, key: str) -> Snapshot | None:
        store = self._store
        file = store._open(key)
        if file is None:
            return None
        try:
            status = os.fstat(file)
            if not S_ISREG(status.st_mode):
                return None
            kept, file = file, None
            return FileSnapshot(kept, status, lambda error: store._paths.fail("read", key, error))
        finally:
            if file is not None:
                os.close(file)


class LocalUpdates(Updates):
    """Compares and replaces a file under the lock of its directory."""

    erases = True

    def __init__(self, store: LocalStore) -> None:
        self._store = store

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        return self._store._get_versioned(key, limit)

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        self._store.check_writable()
        return self._store._writer.put(key, flat(value), (version,))

    def erase(self, key: str, version: Version) -> bool:
        self._store.check_writable()
        return self._store._writer.remove(key, (version,))


class LocalSplicing(Splicing):
    """The system copies parts of the old file into the new one."""

    def __init__(self, store: LocalStore) -> None:
        self._store = store

    def splice(self, key: str, pieces: Sequence[Buffer | tuple[int, int]], snapshot: Snapshot) -> bool:
        from omnizarr.store.local.splice import Splice  # lazy import: only for large shards

        store = self._store
        store.check_writable()
        if not isinstance(snapshot, FileSnapshot):
            raise StoreError(f"{store!r} splices only its own snapshots", store=repr(store), key=key)
        splice = Splice(snapshot.file, [piece if isinstance(piece, tuple) else flat(piece) for piece in pieces])
        return store._writer.put(key, splice, (snapshot.file_version,))


class KernelFiles(LocalFiles):
    """Paths of files that the kernel opens, and of temporary files that it writes."""

    def __init__(self, store: LocalStore) -> None:
        self._store = store
        self._paths = store._paths

    def path(self, key: str) -> tuple[str, int]:
        paths = self._paths
        cut = key.rfind("/") + 1
        folder = paths.folders.get(key[:cut])
        if folder is None or not is_plain(key[cut:]):
            return self._find(key), paths.flags
        return folder + key[cut:], paths.flags

    def paths(self, rows: Iterable[tuple[str, Sequence[str]]]) -> tuple[list[str], int]:
        paths = self._paths
        native: list[str] = []
        for start, ends in rows:
            cut = start.rfind("/") + 1
            folder = paths.folders.get(start[:cut])
            # Endings of digits, as chunk keys have them, do not lead to another directory.
            if folder is not None and _are_digits(ends) and is_plain(start[cut:] + ends[0]):
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

    def publish(self, keys: Sequence[str], write: Callable[[list[str]], bytes]) -> bytes | None:
        self._store.check_writable()
        return self._store._writer.put_by(keys, write)


def _are_digits(names: Sequence[str]) -> bool:
    together = "".join(names)
    return together.isdigit() and together.isascii()

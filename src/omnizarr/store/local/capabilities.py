"""What a local store offers beyond the verbs: snapshots, updates, splicing, and files for the kernel."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from stat import S_ISREG
from typing import TYPE_CHECKING

from omnizarr.errors import StoreError
from omnizarr.store.capabilities import LocalFiles, Snapshots, Splicing, Updates, Versioned
from omnizarr.store.contract import Buffer, Version, flat
from omnizarr.store.local import temp_names
from omnizarr.store.local.paths import ABSENT, is_plain
from omnizarr.store.local.snapshot import FileSnapshot
from omnizarr.store.local.staged import Batch
from omnizarr.store.snapshot import Snapshot

if TYPE_CHECKING:
    from omnizarr.store.local.store import LocalStore

__all__ = ["KernelFiles", "LocalSnapshots", "LocalSplicing", "LocalUpdates"]


class LocalSnapshots(Snapshots):
    """A snapshot is an open file, which other writers replace and never change."""

    def __init__(self, store: LocalStore) -> None:
        self._store = store

    def open(self, key: str) -> Snapshot | None:
        store = self._store
        file = store._open_known(key)
        if file is None:
            file = store._open(key)
        if file is None or file == -1:
            return None
        try:
            status = os.fstat(file)
            if S_ISREG(status.st_mode):
                file, kept = -1, file
                return FileSnapshot(kept, status, lambda error: store._fail("read", key, error))
            return None
        finally:
            if file != -1:
                os.close(file)


class LocalUpdates(Updates):
    """Compares and replaces a file under the lock of its directory."""

    erases = True

    def __init__(self, store: LocalStore) -> None:
        self._store = store

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        return self._store._versioned(key, limit)

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        self._store.check_writable()
        return self._store._put(key, flat(value), (version,))

    def erase(self, key: str, version: Version) -> bool:
        self._store.check_writable()
        return self._store._remove(key, (version,))


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
        return store._put(key, splice, (snapshot.file_version,))


class KernelFiles(LocalFiles):
    """Paths that the kernel opens, and temporary files that it writes."""

    def __init__(self, store: LocalStore) -> None:
        self._store = store

    def path(self, key: str) -> tuple[str, int]:
        store = self._store
        cut = key.rfind("/") + 1
        folder = store._folders.get(key[:cut])
        if folder is None or not is_plain(key[cut:]):
            (path,), flags = self.paths(((key, ("",)),))
            return path, flags
        return folder + key[cut:], store._flags

    def paths(self, rows: Iterable[tuple[str, Sequence[str]]]) -> tuple[list[str], int]:
        store = self._store
        found: list[str] = []
        for start, ends in rows:
            cut = start.rfind("/") + 1
            folder = store._folders.get(start[:cut])
            # Digits, and chunks have nothing else there, lead to no other directory.
            if folder is not None and _are_digits(ends) and is_plain(start[cut:] + ends[0]):
                lead = folder + start[cut:]
                found += [lead + end for end in ends]
                continue
            for end in ends:
                key = start + end
                try:
                    found.append(store._find(key))
                except OSError as error:
                    if error.errno not in ABSENT:
                        store._fail("read", key, error)
                    found.append("")  # which is never there
        return found, store._flags

    def publish(self, keys: Sequence[str], write: Callable[[list[str]], bytes]) -> bytes | None:
        store = self._store
        directory = keys[0][: keys[0].rfind("/") + 1]
        cut = len(directory)
        names = [key[cut:] for key in keys]
        # Only what needs no closer look; and who waits for the disk wants the files open.
        if store._durable or not store.locking or not all(map(is_plain, names)):
            return None
        if not all(key.startswith(directory) and key.rfind("/") < cut for key in keys):
            return None
        store.check_writable()
        with Batch(False) as batch:
            try:
                batch.folder = folder = store._folders.get(directory) or store._made(keys[0], batch.made)
                batch.staged = [(folder + temp_names.new_name(), name) for name in names]
                became = write([temporary for temporary, _ in batch.staged])
                batch.staged = [staged for staged, failed in zip(batch.staged, became, strict=True) if not failed]
                if batch.staged:
                    store._publish(batch, None)
                elif batch.made:
                    store._prune(batch.made[-1] + os.sep, until=batch.made[0])
                return became
            except OSError as error:
                store._give_up(batch, keys[0], error)


def _are_digits(names: Sequence[str]) -> bool:
    together = "".join(names)
    return together.isdigit() and together.isascii()

"""The capabilities of a session: snapshots, versioned reads, and updates between the threads of this process."""

from __future__ import annotations

from collections.abc import Callable

from omnizarr.store import Buffer, ByteRange, Snapshot, Snapshots, Updates, VersionedReads, check_key
from omnizarr.store.capabilities import Versioned
from omnizarr.store.contract import State, Version, flat
from omnizarr.transformers.versions.session_state import SessionState

__all__ = ["SessionReads", "SessionSnapshots", "SessionUpdates"]


class SessionSnapshots(Snapshots):
    def __init__(self, store: SessionState) -> None:
        self._store = store

    def open(self, key: str) -> Snapshot | None:
        store = self._store
        snapshots = store.inner.snapshots
        assert snapshots is not None
        name = store.relative(key)
        if name is None or store.is_outer(name):
            return snapshots.open(key)
        while (entry := store.entry(name)) is not None:
            snapshot = snapshots.open(store.value_key(entry))
            if snapshot is not None:
                if snapshot.size != entry.size:
                    snapshot.close()
                store.check_length(key, entry, None, snapshot.size)
                return snapshot
            store.check_replaced(key, name, entry)
        return None


class SessionReads(VersionedReads):
    """The version of a value is its name, because a value never changes."""

    def __init__(self, store: SessionState) -> None:
        self._store = store

    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        store = self._store
        reads = store.inner.versioned_reads
        assert reads is not None
        name = store.relative(key)
        if name is None or store.is_outer(name):
            return reads.get(key, range, version)
        while (entry := store.entry(name)) is not None:
            if version is not None and version != entry.name:
                return State(None, entry.name, entry.size)
            value = store.inner.get(store.value_key(entry), range)
            if value is not None:
                store.check_length(key, entry, range, len(value))
                return State(value, entry.name, entry.size)
            store.check_replaced(key, name, entry)
        return None


class SessionUpdates(Updates):
    """The version of a value is its name. Values outside the array have those of the inner store."""

    erases = True

    def __init__(self, store: SessionState) -> None:
        self._store = store
        assert store.inner.updates is not None
        self._inner: Updates = store.inner.updates

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        store = self._store
        name = store.relative(key)
        if name is None:
            return self._inner.read(key, limit)
        if store.is_outer(name):
            answer = self._inner.read(key, limit)
            return None if answer is None else (answer[0], None if answer[0] is None else "0")
        while True:
            entry = store.entry(name)
            if entry is None:
                return None, None
            if limit is not None and entry.size > limit:
                return None
            value = store.inner.get(store.value_key(entry))
            if value is not None:
                store.check_length(key, entry, None, len(value))
                return value, entry.name
            store.check_replaced(key, name, entry)

    def last_known(self, key: str) -> Versioned | None:
        return self._inner.last_known(key) if self._store.relative(key) is None else None

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        store = self._store
        store.check_writable()
        check_key(key)
        name = store.relative(key)
        if name is None:
            return self._inner.write(key, value, version)
        data = flat(value)
        entry = store.new_entry(len(data))
        store.inner.set(store.value_key(entry), data)

        def put() -> None:
            store.changes[name] = entry

        if self._change(name, version, put):
            return True
        store.forget([entry])
        return False

    def erase(self, key: str, version: Version) -> bool:
        store = self._store
        store.check_writable()
        check_key(key)
        name = store.relative(key)
        if name is None:
            return self._inner.erase(key, version)
        return self._change(name, version, lambda: store.erase_locked(name))

    def _change(self, name: str, version: Version, change: Callable[[], None]) -> bool:
        store = self._store
        with store.changing():
            store.check_open()
            current = store.entry(name)
            token = "0" if store.is_outer(name) else None if current is None else current.name
            if token != version:
                return False
            replaced = store.changes.get(name)
            change()
        store.forget([replaced])
        return True

"""A store with entity tags, for the tests of caches."""

from __future__ import annotations

from omnizarr.store import MemoryStore, VersionedReads, provides
from omnizarr.store.contract import Buffer, ByteRange, State, Version


class TaggedStore(MemoryStore):
    """A store with versioned reads by entity tags, like an object store. It records its reads."""

    versioned_reads = provides(lambda store: _TaggedReads(store))
    updates = MemoryStore.updates
    in_memory = False

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[tuple[str, ByteRange | None]] = []
        self.tags: dict[str, int] = {}

    def set(self, key: str, value: Buffer) -> None:
        super().set(key, value)
        self.tags[key] = self.tags.get(key, 0) + 1

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        self.reads.append((key, range))
        return super().get(key, range)

    def get_versioned(self, key: str, range: ByteRange | None, version: Version) -> State | None:
        self.reads.append((key, range))
        value, tag = MemoryStore.get(self, key), (f'"{self.tags.get(key)}"', None)
        if value is None:
            return None
        if version is not None and version != tag:
            return State(None, None, None)
        return State(MemoryStore.get(self, key, range), tag, len(value))


class _TaggedReads(VersionedReads):
    def __init__(self, store: TaggedStore) -> None:
        self._store = store

    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        return self._store.get_versioned(key, range, version)

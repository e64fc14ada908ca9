"""A store of chunks on a store of shards, under the chunks' own keys (S66–S77).

A shard is changed as a whole, under the lock of its key, so that no writer undoes the change of another. Keys that are
no chunks of the array are passed through.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from math import prod
from typing import Any, TypeAlias

from omnizarr.codecs.sharding import ShardIndex
from omnizarr.config import config
from omnizarr.errors import StoreError
from omnizarr.store import Buffer, ByteRange, Request, Store, Updates, WrapperStore, check_prefix
from omnizarr.store.capabilities import Versioned
from omnizarr.store.contract import Patch, Version, flat, patched, patches_by_key, span
from omnizarr.store.wrappers import ForwardedUpdates, forwarded
from omnizarr.transformers.contract import ArrayPlace
from omnizarr.transformers.draft_sharding.keys import ShardKeys
from omnizarr.transformers.draft_sharding.reader import ChunkExtent, Fetch, ShardStateReader, damaged, shard_bytes

__all__ = ["ShardedStore"]

_SHARDS_AT_ONCE = 16  # shards that are changed together on a remote store; elsewhere one after the other
_INDEX_BYTES = 16 * 2**20  # of indexes that a listing requests at once

_Change: TypeAlias = bytes | list[Patch] | None
"""The change of a chunk: a new value, parts of one, or None to erase it."""


class ShardedStore(WrapperStore):
    """The chunks of one array, `chunks_per_shard` of them together in `inner`."""

    # A chunk is compared and set under the lock of its shard, which must hold between processes.
    updates = forwarded("updates", lambda store, inner: _ShardedUpdates(store, inner) if store.inner.locking else None)

    def __init__(self, inner: Store, place: ArrayPlace, chunks_per_shard: Sequence[int]) -> None:
        super().__init__(inner)
        self.in_memory = False  # values are checked and cut out of a shard first
        self.place = place
        self.chunks_per_shard = tuple(chunks_per_shard)
        self._keys = ShardKeys(place, self.chunks_per_shard)
        self._shard = shard_bytes(prod(self.chunks_per_shard))
        self._reader = ShardStateReader(inner, self._shard)
        self._locks = _Locks()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShardedStore) and (other.inner, other.place, other.chunks_per_shard) == (
            self.inner,
            self.place,
            self.chunks_per_shard,
        )

    def __hash__(self) -> int:
        return hash((self.inner, self.place, self.chunks_per_shard))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.inner, self.place, self.chunks_per_shard)

    # -- reading

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        if not self._keys.is_shard(key):
            return self.inner.get(key, range)
        return self.get_partial_values([(key, range)])[0]

    def get_current(self, key: str) -> Buffer | None:
        where = self._keys.locate(key)
        if where is None:
            return self.inner.get_current(key)
        with self._locked([where[0]]):  # a cache below drops what it holds for a locked key
            return self.get(key)

    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        answers: list[Buffer | None] = [None] * len(requests)
        for position, value in self._answers(requests, self._all_at_once):
            answers[position] = value
        return answers

    def _all_at_once(self, batch: Sequence[Request]) -> Iterable[tuple[int, Buffer | None]]:
        return enumerate(self.inner.get_partial_values(batch))

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        return self._answers(requests, self.inner.get_each)

    def _answers(self, requests: Sequence[Request], fetch: Fetch) -> Iterator[tuple[int, Buffer | None]]:
        """The answers with the positions of their requests, after two batches however many there are (S71)."""
        requested: dict[str, list[tuple[int, int, ByteRange | None]]] = {}  # position, chunk number and range by shard
        others: list[tuple[int, Request]] = []
        for position, (key, range) in enumerate(requests):
            where = self._keys.locate(key)
            if where is None:
                others.append((position, (key, range)))
            else:
                requested.setdefault(where[0], []).append((position, where[1], range))

        def select(shard: str, index: ShardIndex) -> list[ChunkExtent]:
            parts = []
            for position, number, range in requested[shard]:
                entry = index[number]
                if entry is not None:
                    start, length = span(range, entry[1])
                    parts.append((position, (entry[0] + start, length)))
            return parts

        for shard, _, values in self._reader.read(requested, select, fetch, others):
            if shard is None:
                yield from values.items()
            else:
                for position, _, _ in requested[shard]:
                    yield position, values.get(position)

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        if not self._keys.is_shard(key):
            return self.inner.get_into(key, start, target)
        return Store.get_into(self, key, start, target)

    def exists(self, key: str) -> bool:
        return self.inner.exists(key) if not self._keys.is_shard(key) else self.size(key) is not None

    def size(self, key: str) -> int | None:
        where = self._keys.locate(key)
        if where is None:
            return self.inner.size(key)
        shard, number = where
        data = self._reader.indexes([shard])[shard]
        entry = None if data is None else self._reader.index(shard, data)[number]
        return None if entry is None else entry[1]

    # -- writing: one value is a batch of one (S77)

    def set(self, key: str, value: Buffer) -> None:
        self.set_each([(key, value)])

    def erase(self, key: str) -> None:
        self.erase_values([key])

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()
        changes: dict[str, dict[int, _Change]] = {}
        others: list[tuple[str, Buffer]] = []
        for key, value in items:
            # Copied, because the producer of the items may reuse their memory.
            data = bytes(flat(value))
            where = self._keys.locate(key)
            if where is None:
                others.append((key, data))
            else:
                changes.setdefault(where[0], {})[where[1]] = data
        if others:
            self.inner.set_each(others)
        self._change(changes)

    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        self.check_writable()
        changes: dict[str, dict[int, _Change]] = {}
        others: list[tuple[str, int, Buffer]] = []
        for key, patches in patches_by_key(items, repr(self)).items():
            where = self._keys.locate(key)
            if where is None:
                others.extend((key, start, value) for start, value in patches)
            else:
                changes.setdefault(where[0], {})[where[1]] = patches
        if others:
            self.inner.set_partial_values(others)
        self._change(changes)

    def erase_values(self, keys: Iterable[str]) -> None:
        self.check_writable()
        changes: dict[str, dict[int, _Change]] = {}
        others: list[str] = []
        for key in keys:
            where = self._keys.locate(key)
            if where is None:
                others.append(key)
            else:
                changes.setdefault(where[0], {})[where[1]] = None
        if others:
            self.inner.erase_values(others)
        self._change(changes)

    def _change(self, changes: Mapping[str, Mapping[int, _Change]]) -> None:
        """Rewrite shards; a shard without chunks is erased (S72, S73)."""
        shards = iter(changes)
        while window := list(islice(shards, _SHARDS_AT_ONCE if self.remote else 1)):
            self._reader.check_index_size(window[0])
            with self._locked(window):
                new: list[tuple[str, Buffer]] = []
                empty: list[str] = []
                for shard, parts in self._new_chunks({shard: changes[shard] for shard in window}):
                    if all(part is None for part in parts):
                        empty.append(shard)
                    else:
                        new.append((shard, self._shard.join(parts)))
                if new:
                    self.inner.set_each(new)
                if empty:
                    self.inner.erase_values(empty)

    def _new_chunks(self, changes: Mapping[str, Mapping[int, _Change]]) -> Iterator[tuple[str, list[Buffer | None]]]:
        """Each changed shard with the new values of all its chunks. Chunks that stay are read; a shard whose chunks are
        all replaced is not."""
        partly_changed: list[str] = []
        for shard, change in changes.items():
            if len(change) == self._shard.count and not any(isinstance(value, list) for value in change.values()):
                yield shard, [_plain(change[number]) for number in range(self._shard.count)]
            else:
                partly_changed.append(shard)

        def select(shard: str, index: ShardIndex) -> list[ChunkExtent]:
            change = changes[shard]
            entries = [(number, index[number]) for number in index.present()]
            parts = [
                (number, entry)
                for number, entry in entries
                if entry is not None and (number not in change or isinstance(change[number], list))
            ]
            limit = config.current.max_chunk_bytes  # overlapping entries could add up to more than the shard
            if sum(entry[1] for _, entry in parts) > limit:
                raise damaged(shard, f"its chunks have more bytes than the limit of {limit}", repr(self.inner))
            return parts

        for name, index, old in self._reader.read(partly_changed, select, self._all_at_once):
            assert name is not None
            change = changes[name]
            if all(value is None and (index is None or index[number] is None) for number, value in change.items()):
                continue  # the chunks to erase do not exist
            parts: list[Buffer | None] = [None] * self._shard.count
            for number, value in old.items():
                parts[number] = value
            for number, new in change.items():
                parts[number] = patched(parts[number], new) if isinstance(new, list) else new
            yield name, parts

    def erase_prefix(self, prefix: str) -> None:
        self.check_writable()
        prefix = check_prefix(prefix)
        if self._keys.outside(prefix) or not self._keys.cuts(prefix):
            self.inner.erase_prefix(prefix)
        else:
            self.erase_values(list(self.list_prefix(prefix)))  # S74

    # -- listing

    def list(self) -> Iterator[str]:
        return self.list_prefix("")

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self._list_keys(check_prefix(prefix))

    def _list_keys(self, prefix: str) -> Iterator[str]:
        """Keys that are no chunks, and the chunks in the indexes (S75)."""
        top = prefix if self._keys.outside(prefix) else self._keys.shards_below(prefix)
        most = max(1, _INDEX_BYTES // self._shard.index_size)
        shards: list[str] = []
        for key in self.inner.list_prefix(top):
            if not self._keys.is_shard(key):
                if key.startswith(prefix):
                    yield key
                continue
            shards.append(key)
            if len(shards) == most:
                yield from self._chunks_of(shards, prefix)
                shards = []
        yield from self._chunks_of(shards, prefix)
        if not prefix.startswith(top):
            yield from (key for key in self.inner.list_prefix(prefix) if not self._keys.is_shard(key))

    def _chunks_of(self, shards: Iterable[str], prefix: str) -> Iterator[str]:
        """The keys of the chunks in `shards` that start with `prefix`."""
        for shard, data in self._reader.indexes(shards).items():
            if data is not None:
                for key in self._keys.chunks(shard, self._reader.index(shard, data).present()):
                    if key.startswith(prefix):
                        yield key

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        # A prefix of shards becomes the prefixes of all chunks that could be in them, without listing them (S76).
        prefix = check_prefix(prefix)
        is_array = prefix == self.place.prefix
        if not is_array and self._keys.outside(prefix):
            return self.inner.list_dir(prefix)
        if not is_array and not self._keys.is_exact(prefix):
            return Store.list_dir(self, prefix)
        top = prefix if is_array else self._keys.shards_below(prefix)
        stored, below = self.inner.list_dir(top)
        keys = {key for key in stored if not self._keys.is_shard(key) and key.startswith(prefix)}
        keys.update(self._chunks_of([key for key in stored if self._keys.is_shard(key)], prefix))
        prefixes: set[str] = set()
        if top != prefix:
            stored, more = self.inner.list_dir(prefix)
            keys.update(key for key in stored if not self._keys.is_shard(key))
            prefixes.update(name for name in more if self._keys.outside(name))
        for name in below:
            chunks = self._keys.chunk_prefixes(prefix, name)
            if chunks is None:
                return Store.list_dir(self, prefix)
            prefixes.update(chunks)
        return sorted(keys), sorted(prefixes)

    # -- agreement between writers

    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]:
        stored = {key if (where := self._keys.locate(key)) is None else where[0] for key in keys}
        return self._locks.record(self.inner.lock(stored, shared=shared), stored)

    def _locked(self, shards: Sequence[str]) -> AbstractContextManager[None]:
        """The locks of `shards`, unless this thread holds them already."""
        locked = self._locks.keys
        if locked.issuperset(shards):
            return nullcontext()
        if locked:
            raise StoreError(
                f"`{shards[0]}` cannot be written while this thread has locked other keys",
                hint="lock all keys that are written together at once",
                store=repr(self),
                key=shards[0],
            )
        return self._locks.record(self.inner.lock(shards), shards)


class _ShardedUpdates(ForwardedUpdates):
    """The version of a chunk is its value: that of its shard changes with the other chunks, too, and exists even if the
    chunk is absent."""

    def __init__(self, store: ShardedStore, inner: Updates) -> None:
        super().__init__(store, inner)
        self._store = store

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        store = self._store
        where = store._keys.locate(key)
        if where is None:
            return super().read(key, limit)
        with store._locked([where[0]]):
            if limit is not None and not store.remote and (store.size(key) or 0) > limit:
                return None
            value = store.get_current(key)
        return value, None if value is None else bytes(value)

    def last_known(self, key: str) -> Versioned | None:
        return None if self._store._keys.is_shard(key) else super().last_known(key)

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        store = self._store
        where = store._keys.locate(key)
        if where is None:
            return super().write(key, value, version)
        store.check_writable()
        with store._locked([where[0]]):
            if self._version(key) != version:
                return False
            store.set(key, value)
            return True

    def erase(self, key: str, version: Version) -> bool:
        store = self._store
        where = store._keys.locate(key)
        if where is None:
            return super().erase(key, version)
        store.check_writable()
        with store._locked([where[0]]):
            if self._version(key) != version:
                return False
            store.erase(key)
            return True

    def _version(self, key: str) -> Version:
        value = self._store.get(key)
        return None if value is None else bytes(value)


class _Locks(threading.local):
    """The keys that the current thread has locked: locks do not nest, but a locked chunk can be written."""

    def __init__(self) -> None:
        self.keys: frozenset[str] = frozenset()

    @contextmanager
    def record(self, lock: AbstractContextManager[None], keys: Iterable[str]) -> Iterator[None]:
        """Hold `lock`, and record its keys for this thread."""
        with lock:
            before, self.keys = self.keys, self.keys.union(keys)
            try:
                yield
            finally:
                self.keys = before


def _plain(change: _Change) -> Buffer | None:
    assert not isinstance(change, list)
    return change

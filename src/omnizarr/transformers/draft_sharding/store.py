"""A store of chunks on a store of shards, under the chunks' own keys (S66–S77).

A shard is changed as a whole: read, and set if it has not changed since, so that no writer undoes the change of
another. Stacked transformers pass this compare-and-set on: a shard is a chunk of the transformer below. Keys that are
no chunks of the array are passed through.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from math import prod
from typing import Any, TypeAlias

from omnizarr.codecs.sharding import ShardIndex
from omnizarr.errors import StoreError
from omnizarr.store import Buffer, ByteRange, Request, Store, WrapperStore, check_prefix
from omnizarr.store.capabilities import Versioned
from omnizarr.store.contract import Patch, Version, extent_of, flat, patched, patches_by_key
from omnizarr.store.thread_locks import TaskLock
from omnizarr.store.update import KeyAccess, LockedAccess, update
from omnizarr.store.wrappers import ForwardedUpdates, forwarded
from omnizarr.transformers.contract import ArrayPlace
from omnizarr.transformers.draft_sharding.keys import ShardKeys
from omnizarr.transformers.draft_sharding.reader import ChunkExtent, Fetch, ShardStateReader, shard_bytes

__all__ = ["ShardedStore"]

_SHARDS_AT_ONCE = 16  # shards that are changed at once on a remote store that does not limit its requests
_INDEX_BYTES = 16 * 2**20  # of indexes that a listing requests at once

_ANY = object()
"""The expected version of an unconditional change."""

_Change: TypeAlias = bytes | list[Patch] | None
"""The change of a chunk: a new value, parts of one, or None to erase it."""


class ShardedStore(WrapperStore):
    """The chunks of one array, `chunks_per_shard` of them together in `inner`."""

    updates = forwarded("updates", lambda store, inner: _ShardedUpdates(store, inner))

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
        return self._reader.chunk(where[0], self.inner.get_current(where[0]), where[1])

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
                    start, length = extent_of(range, entry[1])
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
        """Rewrite shards; on a remote store several at once, unless the caller holds their locks."""
        if len(changes) < 2 or not self.remote or self._locks.keys:
            for shard, change in changes.items():
                self._change_shard(shard, change)
            return
        from omnizarr.store.requests.window import Window  # lazy import: remote stores only
        from omnizarr.store.requests.writes import ConcurrentWrites

        writes = ConcurrentWrites(self.window or Window(_SHARDS_AT_ONCE))
        try:
            for shard, change in changes.items():
                cost = sum(len(value) for value in change.values() if isinstance(value, bytes))
                writes.send(partial(self._change_shard, shard, change), cost)
        finally:
            writes.finish()

    def _change_shard(self, shard: str, change: Mapping[int, _Change], expected: Version = _ANY) -> bool:
        """Rewrite a shard with some chunks changed. With `expected`, only if the single chunk that is changed still has
        this version; returns whether it had.

        The lock keeps the threads of this process from invalidating each other's attempts. Between processes the shard
        is compared and set, if the store below can do that.
        """
        self._reader.check_index_size(shard)
        attempt = partial(self._attempt, shard, change, expected)
        with self._locked([shard]):
            if self.inner.updates is None:
                result = attempt(LockedAccess(self.inner, [shard]))
                assert result is not None, "under the lock nothing changes in between"
                return result[0]
            return update(self.inner, [shard], attempt, optimistic=partial(attempt, outdated=True))[0]

    def _attempt(
        self,
        shard: str,
        change: Mapping[int, _Change],
        expected: Version,
        access: KeyAccess,
        *,
        outdated: bool = False,
    ) -> tuple[bool] | None:
        """One attempt to rewrite a shard; a shard without chunks is erased (S72, S73). `outdated` starts from what the
        store remembers of the shard: only a conditional write can then succeed."""
        whole = len(change) == self._shard.count and not any(isinstance(value, list) for value in change.values())
        if whole and expected is _ANY:  # the old chunks do not matter
            if outdated:
                return None
            new = [_plain(change[number]) for number in range(self._shard.count)]
            access.replace(shard, None if _is_empty(new) else self._shard.join(new))
            return (True,)
        stored = access.last_known(shard) if outdated else access.read(shard, self._reader.limit)
        if stored is None:
            if outdated:
                return None
            raise self._reader.too_long(shard)
        value, version = stored
        parts = self._reader.chunks(shard, value)
        self._reader.check_kept(shard, [part for number, part in enumerate(parts) if number not in change])
        if expected is not _ANY and not self._has_version(parts, change, expected, access):
            return None if outdated else (False,)
        if all(new is None and parts[number] is None for number, new in change.items()):
            return None if outdated else (True,)  # the chunks to erase do not exist
        for number, part in change.items():
            parts[number] = patched(parts[number], part) if isinstance(part, list) else part
        if _is_empty(parts) and access.erases:
            done = access.erase(shard, version)
        else:  # without conditional erasures, an index of absent chunks remains
            done = access.write(shard, self._shard.join(parts), version)
        return (True,) if done else None

    @staticmethod
    def _has_version(
        parts: Sequence[Buffer | None], change: Mapping[int, _Change], expected: Version, access: KeyAccess
    ) -> bool:
        """Whether the chunk to change has the version `expected`; or its new value, if an earlier attempt may have
        stored that."""
        ((number, new),) = change.items()
        version = _version_of(parts[number])
        return version == expected or (access.uncertain is not None and version == new)

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

    def task_lock(self, key: str) -> AbstractContextManager[TaskLock]:
        # Lock the key of the shard: no file of the chunk exists, so a local store would treat the task as obsolete.
        where = self._keys.locate(key)
        return self.inner.task_lock(key if where is None else where[0])

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
    """Compare-and-set of a chunk, by compare-and-set of its shard. The version of a chunk is its value: that of its
    shard changes with the other chunks, too, and exists even if the chunk is absent."""

    store: ShardedStore

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        store = self.store
        where = store._keys.locate(key)
        if where is None:
            return super().read(key, limit)
        shard, number = where
        stored = self.inner.read(shard, store._reader.limit)
        if stored is None:
            raise store._reader.too_long(shard)
        value = store._reader.chunk(shard, stored[0], number)
        return None if limit is not None and len(value or b"") > limit else (value, _version_of(value))

    def last_known(self, key: str) -> Versioned | None:
        return None if self.store._keys.is_shard(key) else super().last_known(key)

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        where = self.store._keys.locate(key)
        if where is None:
            return super().write(key, value, version)
        return self._change(where, bytes(flat(value)), version)

    def erase(self, key: str, version: Version) -> bool:
        where = self.store._keys.locate(key)
        return super().erase(key, version) if where is None else self._change(where, None, version)

    def _change(self, where: tuple[str, int], value: bytes | None, version: Version) -> bool:
        self.store.check_writable()
        shard, number = where
        return self.store._change_shard(shard, {number: value}, version)


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


def _version_of(value: Buffer | None) -> Version:
    return None if value is None else bytes(value)


def _is_empty(parts: Sequence[Buffer | None]) -> bool:
    return all(part is None for part in parts)


def _plain(change: _Change) -> Buffer | None:
    assert not isinstance(change, list)
    return change

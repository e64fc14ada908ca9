"""A store that caches what was read from another one, in memory or on disk, and checks whether it is current."""

from __future__ import annotations

import builtins
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from omnizarr._fork import CACHE_LOCK
from omnizarr.errors import ArgumentError, StoreError
from omnizarr.store.caching.memory import CachedAnswer, CacheStorage, MemoryStorage
from omnizarr.store.capabilities import Updates, VersionedReads
from omnizarr.store.contract import Buffer, ByteRange, Request, State, Store, Version, cut, reject_start
from omnizarr.store.requests.reads import ConcurrentRequests, PendingRequest
from omnizarr.store.requests.window import Window
from omnizarr.store.thread_locks import TaskLock
from omnizarr.store.values import is_path
from omnizarr.store.wrappers import ForwardedReads, ForwardedUpdates, WrapperStore, forwarded

__all__ = ["CacheStore"]

_FEW = 32  # concurrent requests to a store without a window
_MOST_TRIES = 100  # attempts to read several parts of one state of a value that other writers keep replacing

# Held while an answer is stored or dropped, never during a request. One lock for all caches, so that a fork can wait
# until none of them is half changed, and the child finds it free.
_CHANGING = CACHE_LOCK


class CacheStore(WrapperStore):
    """Caches up to `max_bytes` of what was read and drops the least recently used first; in memory, or in files of a
    `folder`, which later programs find again.

    A cached answer is used without a check for `max_age` seconds, or forever if that is None. After that, the cache
    asks the inner store for the version of the value (an ETag, the time of a file), which costs a request and moves no
    data. A write through the cache drops what it holds for the key. Parts of a value whose
    version the inner store cannot tell are cached only with `max_age=None`: parts of two states, such as the index of a
    shard and a chunk, do not fit together.
    """

    versioned_reads = forwarded("versioned_reads", lambda store, inner: _CacheReads(store, inner))
    updates = forwarded("updates", lambda store, inner: _CacheUpdates(store, inner))

    def __init__(
        self,
        inner: Store,
        *,
        max_bytes: int = 256 * 2**20,
        folder: str | os.PathLike[str] | None = None,
        max_age: float | None = 0,
    ) -> None:
        super().__init__(inner)
        if not isinstance(max_bytes, int) or isinstance(max_bytes, bool) or max_bytes < 0:
            raise ArgumentError(
                f"`max_bytes`: expected an integer of at least 0, found {max_bytes!r}", argument="max_bytes"
            )
        if max_age is not None and (not isinstance(max_age, (int, float)) or not max_age >= 0):
            raise ArgumentError(f"`max_age`: expected seconds, or None for ever, found {max_age!r}", argument="max_age")
        self.max_bytes = max_bytes
        self.max_age = max_age
        if folder is not None and not is_path(os.fspath(folder)):
            raise ArgumentError(f"`folder`: {folder!r} is not a directory's path", argument="folder")
        self.folder = None if folder is None else os.path.abspath(folder)
        self._tells = max_age is not None and not (inner.versioned_reads is None and inner.snapshots is None)
        if max_age == 0 and not self._tells:
            raise ArgumentError(
                f"{inner!r} cannot tell whether a value has changed, so that no cached answer could be used",
                argument="max_age",
                hint="set for how many seconds an answer is trusted: `max_age=60`, or None for forever",
            )
        self._start()

    def _start(self) -> None:
        self._storage: CacheStorage
        if self.folder is None:
            self._storage = MemoryStorage(self.max_bytes)
        else:
            from omnizarr.store.caching.disk import DiskStorage

            try:
                self._storage = DiskStorage(self.folder, self.inner.full_location, self.max_bytes)
            except OSError as error:
                raise StoreError(
                    f"cannot create the cache directory {self.folder}: {error.strerror}", store=self.folder
                ) from error
        self._writes = (
            0  # grows with every write: an answer that was requested before a write must not be stored after it
        )
        self._busy: Counter[str] = Counter()  # keys that are being written: their answers are not used or stored
        self._erasing = 0  # above 0: as if all keys were being written

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in ("_storage", "_writes", "_busy", "_erasing"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    @property
    def held_bytes(self) -> int:
        """How many bytes it holds."""
        return self._storage.size

    # -- cached answers

    def _recall(self, key: str, range: ByteRange | None) -> tuple[bool, Buffer | None]:
        """Whether a current answer is cached, and the answer. Asks the inner store for the version if necessary."""
        answer = self._find(key, range)
        return (False, None) if answer is None else (True, answer.value)

    def _find(self, key: str, range: ByteRange | None) -> CachedAnswer | None:
        """The cached answer, if it is current; also a part of a whole value."""
        for known in (range, None) if range is not None else (None,):
            answer = None if self._is_busy(key) else self._storage.find(key, known)
            if answer is not None and self._is_right(key, known, answer):
                if answer.value is None or known == range:
                    return answer
                return answer._replace(value=bytes(cut(answer.value, range)))
        return None

    def _find_all(self, key: str, ranges: Sequence[ByteRange | None]) -> list[Buffer | None] | None:
        """The cached answers for parts of one state of a value; None if one is missing, or they differ in version."""
        answers = [self._find(key, range) for range in ranges]
        known = [answer for answer in answers if answer is not None]
        if len(known) < len(answers) or any(answer.version != known[0].version for answer in known):
            return None
        return [answer.value for answer in known]

    def _is_right(self, key: str, range: ByteRange | None, answer: CachedAnswer) -> bool:
        now = time.time()
        if self.max_age is None or 0 <= now - answer.at < self.max_age:
            return True
        if answer.version is None or answer.value is None or self._version(key) != answer.version:
            self._forget([key])
            return False
        with _CHANGING:
            self._storage.checked(key, range, now)
        return True

    def _version(self, key: str) -> Version:
        """The current version of a value; None if it is absent, or the store cannot tell."""
        reads, snapshots = self.inner.versioned_reads, self.inner.snapshots
        if reads is not None:
            state = reads.get(key, (0, 0))
            return None if state is None else state.version
        snapshot = None if snapshots is None else snapshots.open(key)
        if snapshot is None:
            return None
        try:
            version: Any = snapshot.version
        finally:
            snapshot.close()
        return version  # type: ignore[no-any-return]

    def _note(
        self, key: str, range: ByteRange | None, value: Buffer | None, writes: int, version: Version = None
    ) -> Buffer | None:
        """Store an answer that was requested when the write counter was `writes`."""
        # A view would keep the whole memory alive that it is a part of.
        answer = CachedAnswer(value if value is None or type(value) is bytes else bytes(value), version, time.time())
        if self._tells and version is None and not self.max_age:
            return answer.value  # it could not be checked, and so never used
        if range is not None and answer.value is not None and version is None and self.max_age is not None:
            # It could be combined with a part of another state. The cached parts may be of one: a reader that got
            # the old index and the new one in turn would never find the chunks of a shard.
            self._forget([key])
            return answer.value
        prepared = self._storage.prepare(key, range, answer)
        if prepared is not None:
            with _CHANGING:
                if writes == self._writes and not self._is_busy(key):
                    before = self._storage.find(key, range) if isinstance(self._storage, MemoryStorage) else None
                    # Another writer replaced the value: the other parts are old, too.
                    if before is not None and (before.value, before.version) != (answer.value, answer.version):
                        self._storage.drop(key)
                    self._storage.keep(key, range, prepared)
                else:
                    self._storage.discard(prepared)
        return answer.value

    def _forget(self, keys: Iterable[str], busy: int = 0) -> None:
        """Drop keys; `busy` is 1 when a write of them starts, and -1 when it ends."""
        with _CHANGING:
            self._writes += 1
            for key in keys:
                self._storage.drop(key)
                if busy:
                    self._busy[key] += busy
                    if not self._busy[key]:
                        del self._busy[key]

    def _is_busy(self, key: str) -> bool:
        return bool(self._erasing) or key in self._busy

    @contextmanager
    def _writing(self, keys: Iterable[str]) -> Iterator[None]:
        """Drop keys before and after a write, whether or not it succeeds, and bypass the cache for them meanwhile. A
        cached part of the old value must not be combined with a part of the new one."""
        keys = list(keys)
        self._forget(keys, 1)
        try:
            yield
        finally:
            self._forget(keys, -1)

    def clear(self) -> None:
        """Drop everything."""
        self._clear(0)

    def _clear(self, erasing: int) -> None:
        with _CHANGING:
            self._writes += 1
            self._erasing += erasing
            self._storage.clear()

    # -- reading

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        known, value = self._recall(key, range)
        if known:
            return value
        if self._tells:
            return self._parts(key, [range])[0]
        writes = self._writes
        return self._note(key, range, self.inner.get(key, range), writes)

    def _parts(self, key: str, ranges: Sequence[ByteRange | None]) -> list[Buffer | None]:
        """Parts of one state of a value, requested and cached."""
        for _ in builtins.range(_MOST_TRIES):
            writes = self._writes
            state = self._of_one_state(key, ranges)
            if state is not None:
                version, values = state
                return [
                    self._note(key, range, value, writes, version) for range, value in zip(ranges, values, strict=True)
                ]
        raise StoreError(
            f"cannot read `{key}` in {self!r}: gave up after {_MOST_TRIES} attempts, because other writers keep "
            "replacing it",
            store=repr(self),
            key=key,
        )

    def _of_one_state(self, key: str, ranges: Sequence[ByteRange | None]) -> tuple[Version, list[Buffer | None]] | None:
        """The version and the parts; None if another writer replaced the value in between."""
        reads = self.inner.versioned_reads
        if reads is None:
            snapshots = self.inner.snapshots
            snapshot = None if snapshots is None else snapshots.open(key)
            if snapshot is None:
                return None, self.inner.get_partial_values([(key, range) for range in ranges])
            try:
                version: Any = snapshot.version
                return version, [snapshot.get((0, None) if range is None else range) for range in ranges]
            finally:
                snapshot.close()
        values: list[Buffer | None] = []
        version = None
        for number, range in enumerate(ranges):
            state = reads.get(key, range, version)
            if state is None:
                return (None, [None] * len(ranges)) if not number else None
            if state.data is None or (number and state.version != version):
                return None
            version = state.version
            values.append(state.data)
        return version, values

    def get_current(self, key: str) -> Buffer | None:
        self._forget([key])
        return self.inner.get_current(key)

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        if start < 0:
            reject_start(key, start, repr(self))
        return Store.get_into(self, key, start, target)

    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        if self._tells:
            return Store.get_partial_values(self, requests)
        known, missing = self._split_cached(requests)
        answers = [known.get(position) for position in builtins.range(len(requests))]
        if missing:
            writes = self._writes
            values = self.inner.get_partial_values([requests[position] for position in missing])
            for position, value in zip(missing, values, strict=True):
                answers[position] = self._note(*requests[position], value, writes)
        return answers

    def _split_cached(self, requests: Sequence[Request]) -> tuple[dict[int, Buffer | None], list[int]]:
        """The cached answers, and the positions of the other requests. If one part of a key is not cached, all its
        parts are requested, so that parts that are read together are of one state."""
        answers = [self._recall(key, range) for key, range in requests]
        incomplete = {key for (key, _), (known, _) in zip(requests, answers, strict=True) if not known}
        known, missing = {}, []
        for position, (key, _) in enumerate(requests):
            if key in incomplete:
                missing.append(position)
            else:
                known[position] = answers[position][1]
        return known, missing

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        if self._tells:
            yield from self._each_checked(requests)
            return
        known, missing = self._split_cached(requests)
        yield from known.items()
        if missing:
            writes = self._writes
            for number, value in self.inner.get_each([requests[position] for position in missing]):
                position = missing[number]
                yield position, self._note(*requests[position], value, writes)

    def _each_checked(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        """Key by key: each is checked, and requested if necessary; keys of a remote store concurrently."""
        positions: dict[str, list[int]] = {}
        for position, (key, _) in enumerate(requests):
            positions.setdefault(key, []).append(position)

        def of_one_key(key: str) -> list[Buffer | None]:
            ranges = [requests[position][1] for position in positions[key]]
            answers = self._find_all(key, ranges)
            return self._parts(key, ranges) if answers is None else answers

        window = self.inner.window or (Window(_FEW) if self.remote else None)
        answers: Iterable[tuple[str, list[Buffer | None]]]
        if window is None:
            answers = ((key, of_one_key(key)) for key in positions)
        else:
            pending = (PendingRequest(key, partial(of_one_key, key), window.expected(None)) for key in positions)
            answers = ConcurrentRequests(
                window, pending, lambda values: sum(len(value) for value in values if value is not None)
            )
        for key, values in answers:
            yield from zip(positions[key], values, strict=True)

    def exists(self, key: str) -> bool:
        known, value = self._recall(key, None)
        return value is not None if known else self.inner.exists(key)

    def size(self, key: str) -> int | None:
        known, value = self._recall(key, None)
        if not known:
            return self.inner.size(key)
        return None if value is None else len(value)

    # -- writing

    def set(self, key: str, value: Buffer) -> None:
        with self._writing([key]):
            self.inner.set(key, value)

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        with ExitStack() as written:  # key by key, because `items` may be produced lazily

            def passing() -> Iterator[tuple[str, Buffer]]:
                for key, value in items:
                    written.enter_context(self._writing([key]))
                    yield key, value

            self.inner.set_each(passing())

    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        items = list(items)
        with self._writing({key for key, _, _ in items}):
            self.inner.set_partial_values(items)

    def erase(self, key: str) -> None:
        with self._writing([key]):
            self.inner.erase(key)

    def erase_values(self, keys: Iterable[str]) -> None:
        keys = list(keys)
        with self._writing(keys):
            self.inner.erase_values(keys)

    def erase_prefix(self, prefix: str) -> None:
        self._clear(1)
        try:
            self.inner.erase_prefix(prefix)
        finally:
            self._clear(-1)

    # -- agreement between writers

    # The holder of a lock reads a key in order to change it, and must not start from an old value.

    @contextmanager
    def lock(self, keys: Iterable[str], *, shared: bool = False) -> Iterator[None]:
        keys = list(keys)
        # Another process may put an old answer into a shared folder at any time.
        with self.inner.lock(keys, shared=shared), self._writing(keys):
            yield

    @contextmanager
    def task_lock(self, key: str) -> Iterator[TaskLock]:
        with self.inner.task_lock(key) as task_lock:
            self._forget([key])
            yield task_lock


class _CacheReads(ForwardedReads):
    """Reads with versions: cached answers tell theirs, so that a reader of several parts never mixes two states."""

    def __init__(self, store: CacheStore, inner: VersionedReads) -> None:
        super().__init__(store, inner)
        self._cache = store

    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        cache = self._cache
        answer = cache._find(key, range)
        if answer is not None and answer.value is None and version is None:
            return None
        if answer is not None and answer.version is not None and version in (None, answer.version):
            return State(answer.value, answer.version, len(answer.value or b"") if range is None else None)
        writes = cache._writes
        state = super().get(key, range, version)
        if state is None:
            cache._note(key, range, None, writes)
        elif state.data is not None:
            cache._note(key, range, state.data, writes, state.version)
        else:
            cache._forget([key])  # the value has changed: no cached part is current
        return state


class _CacheUpdates(ForwardedUpdates):
    """Those of the inner store: reads bypass the cache, and writes drop what it holds."""

    def __init__(self, store: CacheStore, inner: Updates) -> None:
        super().__init__(store, inner)
        self._writing = store._writing

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        with self._writing([key]):
            return super().write(key, value, version)

    def erase(self, key: str, version: Version) -> bool:
        with self._writing([key]):
            return super().erase(key, version)

"""A store that records its calls, for tests that count requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from omnizarr.store import Buffer, ByteRange, Request, Store, Updates, VersionedReads, WrapperStore
from omnizarr.store.capabilities import Versioned
from omnizarr.store.contract import State, Version
from omnizarr.store.thread_locks import TaskLock
from omnizarr.store.wrappers import ForwardedReads, ForwardedUpdates, forwarded

__all__ = ["Call", "RecordingStore"]


class Call(NamedTuple):
    """One call of a method."""

    method: str
    key: str | tuple[str, ...]
    """The key or the prefix; for a batch all keys, in order."""
    range: ByteRange | tuple[ByteRange | None, ...] | None = None
    """The requested part; for a batch one per key."""

    @property
    def requests(self) -> int:
        """How many requests a remote store would have had to send."""
        return 1 if isinstance(self.key, str) else len(self.key)


class RecordingStore(WrapperStore):
    """Forwards to `inner` and keeps a list of the calls in `calls`. Many threads may use it at once. A pickle does not
    contain the list.

    It offers `versioned_reads` and `updates` of `inner`, and records them by these names. It offers no snapshots and no
    local files, because what is read through those could not be recorded.
    """

    versioned_reads = forwarded("versioned_reads", lambda store, inner: _RecordedReads(store, inner))
    updates = forwarded("updates", lambda store, inner: _RecordedUpdates(store, inner))

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.calls: list[Call] = []  # appending to a list needs no lock

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "calls": []}

    @property
    def requests(self) -> int:
        """How many requests all calls add up to."""
        return sum(call.requests for call in tuple(self.calls))

    def methods(self) -> list[str]:
        """The names of the methods that were called, in order."""
        return [call.method for call in tuple(self.calls)]

    def of(self, *methods: str) -> list[Call]:
        """The calls of these methods."""
        return [call for call in tuple(self.calls) if call.method in methods]

    def reset(self) -> None:
        """Clear the list of calls."""
        self.calls.clear()

    def _record(self, method: str, key: str | Iterable[str], range: Any = None) -> None:
        self.calls.append(Call(method, key if isinstance(key, str) else tuple(key), range))

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        self._record("get", key, range)
        return self.inner.get(key, range)

    def get_current(self, key: str) -> Buffer | None:
        self._record("get_current", key)
        return self.inner.get_current(key)

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        self._record("get_into", key, (start, len(target)))
        return self.inner.get_into(key, start, target)

    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        self._record("get_partial_values", (key for key, _ in requests), tuple(range for _, range in requests))
        return self.inner.get_partial_values(requests)

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        self._record("get_each", (key for key, _ in requests), tuple(range for _, range in requests))
        return self.inner.get_each(requests)

    def exists(self, key: str) -> bool:
        self._record("exists", key)
        return self.inner.exists(key)

    def size(self, key: str) -> int | None:
        self._record("size", key)
        return self.inner.size(key)

    def set(self, key: str, value: Buffer) -> None:
        self._record("set", key)
        self.inner.set(key, value)

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        items = list(items)
        self._record("set_each", (key for key, _ in items))
        self.inner.set_each(items)

    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        items = list(items)
        ranges = tuple((start, len(value)) for _, start, value in items)
        self._record("set_partial_values", (key for key, _, _ in items), ranges)
        self.inner.set_partial_values(items)

    def erase(self, key: str) -> None:
        self._record("erase", key)
        self.inner.erase(key)

    def erase_values(self, keys: Iterable[str]) -> None:
        keys = list(keys)
        self._record("erase_values", keys)
        self.inner.erase_values(keys)

    def erase_prefix(self, prefix: str) -> None:
        self._record("erase_prefix", prefix)
        self.inner.erase_prefix(prefix)

    def list(self) -> Iterator[str]:
        self._record("list", "")
        return self.inner.list()

    def list_prefix(self, prefix: str) -> Iterator[str]:
        self._record("list_prefix", prefix)
        return self.inner.list_prefix(prefix)

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        self._record("list_dir", prefix)
        return self.inner.list_dir(prefix)

    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]:
        keys = list(keys)
        self._record("lock", keys)
        return self.inner.lock(keys, shared=shared)

    def task_lock(self, key: str) -> AbstractContextManager[TaskLock]:
        self._record("task_lock", key)
        return self.inner.task_lock(key)


class _RecordedReads(ForwardedReads):
    def __init__(self, store: RecordingStore, inner: VersionedReads) -> None:
        super().__init__(store, inner)
        self._record = store._record

    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        self._record("versioned_reads.get", key, range)
        return super().get(key, range, version)


class _RecordedUpdates(ForwardedUpdates):
    def __init__(self, store: RecordingStore, inner: Updates) -> None:
        super().__init__(store, inner)
        self._record = store._record

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        self._record("updates.read", key)
        return super().read(key, limit)

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        self._record("updates.write", key)
        return super().write(key, value, version)

    def erase(self, key: str, version: Version) -> bool:
        self._record("updates.erase", key)
        return super().erase(key, version)

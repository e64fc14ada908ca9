"""Stores in front of another store: `WrapperStore` and `TransparentStore` to derive from, and two that are ready."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn

from omnizarr.errors import ReadOnlyError
from omnizarr.store.capabilities import (
    LocalFiles,
    Snapshots,
    Splicing,
    Updates,
    Versioned,
    VersionedReads,
    provides,
)
from omnizarr.store.contract import Buffer, ByteRange, Request, State, Store, Version, check_prefix
from omnizarr.store.snapshot import Snapshot
from omnizarr.store.thread_locks import TaskLock
from omnizarr.store.values import Extent

if TYPE_CHECKING:
    from omnizarr.store.requests.window import Window

__all__ = [
    "ForwardedFiles",
    "ForwardedReads",
    "ForwardedSnapshots",
    "ForwardedSplicing",
    "ForwardedUpdates",
    "PrefixStore",
    "ReadOnlyStore",
    "TransparentStore",
    "WrapperStore",
    "as_read_only",
    "forwarded",
]


class WrapperStore(Store):
    """Forwards every verb to `inner`, and no capability.

    A subclass that overrides `get`, `set` or `erase` gets the fallbacks of `Store` for the verbs that it does not
    override, so that batches pass through its own verbs. If it shows the same values as `inner`, derive it from
    `TransparentStore`.
    """

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.readable = inner.readable
        self.writable = inner.writable
        self.listable = inner.listable
        self.remote = inner.remote
        self.in_memory = inner.in_memory

    def inner_key(self, key: str) -> str:
        """The key in `inner` that stands for `key`."""
        return key

    @property
    def locking(self) -> bool:  # type: ignore[override]  # it may change when the first lock is taken
        return self.inner.locking

    @property
    def read_only(self) -> bool:
        return self.inner.read_only

    @property
    def location(self) -> str:
        return self.inner.location

    @property
    def full_location(self) -> str:
        return self.inner.full_location

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrapperStore) and type(other) is type(self) and other.inner == self.inner

    def __hash__(self) -> int:
        return hash((type(self), self.inner))

    def parent(self) -> tuple[Store, str] | None:
        return None  # a wrapper was made for this store, and not for the one above it

    @property
    def window(self) -> Window | None:
        return self.inner.window

    def check_writable(self) -> None:
        self.inner.check_writable()

    def flush(self) -> None:
        self.inner.flush()

    def close(self) -> None:
        self.inner.close()

    # -- reading

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        return self.inner.get(self.inner_key(key), range)

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        return self.inner.get_into(self.inner_key(key), start, target)

    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        return self.inner.get_partial_values([(self.inner_key(key), range) for key, range in requests])

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        return self.inner.get_each([(self.inner_key(key), range) for key, range in requests])

    def exists(self, key: str) -> bool:
        return self.inner.exists(self.inner_key(key))

    def size(self, key: str) -> int | None:
        return self.inner.size(self.inner_key(key))

    # -- writing

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        self.inner.set(self.inner_key(key), value)

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()
        self.inner.set_each((self.inner_key(key), value) for key, value in items)

    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        self.check_writable()
        self.inner.set_partial_values((self.inner_key(key), start, value) for key, start, value in items)

    def erase(self, key: str) -> None:
        self.check_writable()
        self.inner.erase(self.inner_key(key))

    def erase_values(self, keys: Iterable[str]) -> None:
        self.check_writable()
        self.inner.erase_values(self.inner_key(key) for key in keys)

    def erase_prefix(self, prefix: str) -> None:
        self.check_writable()
        self.inner.erase_prefix(prefix)

    # -- listing

    def list(self) -> Iterator[str]:
        return self.inner.list()

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self.inner.list_prefix(prefix)

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        return self.inner.list_dir(prefix)

    # -- agreement between writers

    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]:
        return self.inner.lock([self.inner_key(key) for key in keys], shared=shared)

    def task_lock(self, key: str) -> AbstractContextManager[TaskLock]:
        return self.inner.task_lock(self.inner_key(key))


class ForwardedSnapshots(Snapshots):
    """The snapshots of the inner store, under the keys of the wrapper."""

    def __init__(self, store: WrapperStore, inner: Snapshots) -> None:
        self._store = store
        self._key = store.inner_key
        self._inner = inner

    def open(self, key: str) -> Snapshot | None:
        return self._inner.open(self._key(key))


class ForwardedReads(VersionedReads):
    """The versioned reads of the inner store, under the keys of the wrapper."""

    def __init__(self, store: WrapperStore, inner: VersionedReads) -> None:
        self._store = store
        self._key = store.inner_key
        self._inner = inner

    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        return self._inner.get(self._key(key), range, version)


class ForwardedUpdates(Updates):
    """The updates of the inner store, under the keys of the wrapper."""

    def __init__(self, store: WrapperStore, inner: Updates) -> None:
        self._store = store
        self._key = store.inner_key
        self._inner = inner
        self.erases = inner.erases

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        return self._inner.read(self._key(key), limit)

    def last_known(self, key: str) -> Versioned | None:
        return self._inner.last_known(self._key(key))

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        self._store.check_writable()
        return self._inner.write(self._key(key), value, version)

    def erase(self, key: str, version: Version) -> bool:
        self._store.check_writable()
        return self._inner.erase(self._key(key), version)


class ForwardedSplicing(Splicing):
    """The splicing of the inner store, under the keys of the wrapper."""

    def __init__(self, store: WrapperStore, inner: Splicing) -> None:
        self._store = store
        self._inner = inner

    def splice(self, key: str, parts: Sequence[Buffer | Extent], snapshot: Snapshot) -> bool:
        self._store.check_writable()
        return self._inner.splice(self._store.inner_key(key), parts, snapshot)


class ForwardedFiles(LocalFiles):
    """The files of the inner store, under the keys of the wrapper."""

    def __init__(self, store: WrapperStore, inner: LocalFiles) -> None:
        self._store = store
        self._key = store.inner_key
        self._inner = inner

    def path(self, key: str) -> tuple[str, int]:
        return self._inner.path(self._key(key))

    def paths(self, rows: Iterable[tuple[str, Sequence[str]]]) -> tuple[list[str], int]:
        return self._inner.paths([(self._key(start), ends) for start, ends in rows])

    def publish(self, keys: Sequence[str], write: Callable[[list[str]], bytes]) -> bytes | None:
        self._store.check_writable()
        return self._inner.publish([self._key(key) for key in keys], write)


def forwarded(name: str, make: Callable[[Any, Any], object]) -> Any:
    """A class attribute of a wrapper that offers the capability `name` of the inner store, if that has it, as
    `make(wrapper, capability)`."""

    def of(store: WrapperStore) -> object | None:
        inner = getattr(store.inner, name)
        return None if inner is None else make(store, inner)

    return provides(of)


class TransparentStore(WrapperStore):
    """Forwards every verb and every capability to `inner`, under the key that `inner_key` gives.

    For wrappers that show the same values, under a prefix or with other rights. As with every store, a subclass that
    overrides a verb for values keeps the capabilities only by `keeps_capabilities=True`.
    """

    snapshots = forwarded("snapshots", ForwardedSnapshots)
    versioned_reads = forwarded("versioned_reads", ForwardedReads)
    updates = forwarded("updates", ForwardedUpdates)
    splicing = forwarded("splicing", ForwardedSplicing)
    local_files = forwarded("local_files", ForwardedFiles)

    def file(self, key: str) -> str | None:
        return self.inner.file(self.inner_key(key))


class ReadOnlyStore(TransparentStore, keeps_capabilities=True):
    """The same store, for reading only."""

    @property
    def read_only(self) -> bool:
        return True

    def parent(self) -> tuple[Store, str] | None:
        above = self.inner.parent()
        return None if above is None else (as_read_only(above[0]), above[1])

    def check_writable(self) -> NoReturn:
        raise ReadOnlyError(f"{self.inner!r} is open for reading only", store=repr(self.inner))


def as_read_only(store: Store) -> Store:
    """The same location, for reading only. A store of omnizarr gives a copy that refuses to write, from which no
    reference leads to the writable one; other stores are wrapped in a `ReadOnlyStore`."""
    if store.read_only:
        return store
    if store._copyable:
        twin = copy.copy(store)
        twin._read_only = True
        return twin
    return ReadOnlyStore(store)


class PrefixStore(TransparentStore, keeps_capabilities=True):
    """The part of a store that lies under a prefix, as a store of its own."""

    def __init__(self, inner: Store, prefix: str) -> None:
        super().__init__(inner)
        self.prefix = check_prefix(prefix if prefix.endswith("/") or not prefix else prefix + "/")

    def inner_key(self, key: str) -> str:
        return self.prefix + key  # an invalid key stays invalid behind a prefix, so that the inner store refuses it

    @property
    def location(self) -> str:
        location = self.inner.location
        return f"{location.removesuffix('/')}/{self.prefix[:-1]}" if self.prefix else location

    @property
    def full_location(self) -> str:
        return f"{self.inner.full_location}/{self.prefix}"

    __repr__ = Store.__repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrefixStore) and (other.inner, other.prefix) == (self.inner, self.prefix)

    def __hash__(self) -> int:
        return hash((self.inner, self.prefix))

    def parent(self) -> tuple[Store, str] | None:
        if not self.prefix:
            return None
        above, _, name = self.prefix[:-1].rpartition("/")
        return PrefixStore(self.inner, above), name

    def erase_prefix(self, prefix: str) -> None:
        self.check_writable()
        self.inner.erase_prefix(self.prefix + check_prefix(prefix))

    def list(self) -> Iterator[str]:
        return self.list_prefix("")

    def list_prefix(self, prefix: str) -> Iterator[str]:
        keys = self.inner.list_prefix(self.prefix + check_prefix(prefix))
        return (key[len(self.prefix) :] for key in keys)

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        keys, prefixes = self.inner.list_dir(self.prefix + check_prefix(prefix))
        cut = len(self.prefix)
        return [key[cut:] for key in keys], [below[cut:] for below in prefixes]

"""Stores that stand in front of another store and forward to it, and two that change a little on the way."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NoReturn

from omnizarr.errors import ReadOnlyError
from omnizarr.store.contract import Buffer, ByteRange, Request, State, Store, Version, check_prefix
from omnizarr.store.process_locks import TaskLock
from omnizarr.store.snapshot import Snapshot

if TYPE_CHECKING:
    from omnizarr.store.requests.window import Window

__all__ = ["PrefixStore", "ReadOnlyStore", "WrapperStore", "as_read_only"]


class WrapperStore(Store):
    """Forwards everything to `inner`. A subclass that changes `get` or `set` must change the other ways to read and to
    write a value, too: batches are forwarded as batches, and conditional writes as what they are."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.readable = inner.readable
        self.writable = inner.writable
        self.listable = inner.listable
        self.locking = inner.locking
        self.remote = inner.remote
        self.in_memory = inner.in_memory
        # As for every class: one that shows other values than those of `inner` must say itself how they are held, and
        # how they are compared with what is there. Whoever does not is written to under a lock.
        same = type(self).get is WrapperStore.get
        compared = same or type(self).get_versioned is not WrapperStore.get_versioned
        self.conditional = inner.conditional if compared else False
        self.erases_if = inner.erases_if if compared else False
        self.holds = inner.holds if same else False
        # Files are opened without asking anybody: only where it is certain that nobody wants to know.
        certain = type(self).__module__ == __name__
        self.files = inner.files if certain else False
        self.takes_files = inner.takes_files if certain else False
        self.states = inner.states if same or type(self).get_state is not WrapperStore.get_state else False
        changed = (type(self).set, type(self).set_if) != (WrapperStore.set, WrapperStore.set_if)
        self.splices = inner.splices if same and not changed else False

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
        return None  # what stands in front of a store was made for that one, and not for what is above it

    @property
    def window(self) -> Window | None:
        return self.inner.window

    def check_writable(self) -> None:
        self.inner.check_writable()

    def flush(self) -> None:
        self.inner.flush()

    def close(self) -> None:
        self.inner.close()

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        return self.inner.get(key, range)

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        return self.inner.get_into(key, start, target)

    def hold(self, key: str) -> Snapshot | None:
        return self.inner.hold(key) if self.holds else None

    def path_of(self, key: str) -> tuple[str, int]:
        return self.inner.path_of(key)

    def paths(self, rows: Iterable[tuple[str, Sequence[str]]]) -> tuple[list[str], int]:
        return self.inner.paths(rows)

    def get_state(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        return self.inner.get_state(key, range, version) if self.states else Store.get_state(self, key, range)

    def recall(self, key: str) -> tuple[Buffer | None, Version] | None:
        return self.inner.recall(key)

    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        return self.inner.get_partial_values(requests)

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        return self.inner.get_each(requests)

    def exists(self, key: str) -> bool:
        return self.inner.exists(key)

    def size(self, key: str) -> int | None:
        return self.inner.size(key)

    def set(self, key: str, value: Buffer) -> None:
        self.inner.set(key, value)

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.inner.set_each(items)

    def set_files(self, keys: Sequence[str], write: Callable[[list[str]], bytes]) -> bytes | None:
        return self.inner.set_files(keys, write)

    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        self.inner.set_partial_values(items)

    def splice(self, key: str, pieces: Sequence[Buffer | tuple[int, int]], held: Snapshot) -> bool:
        return self.inner.splice(key, pieces, held)

    def erase(self, key: str) -> None:
        self.inner.erase(key)

    def erase_values(self, keys: Iterable[str]) -> None:
        self.inner.erase_values(keys)

    def erase_prefix(self, prefix: str) -> None:
        self.inner.erase_prefix(prefix)

    def list(self) -> Iterator[str]:
        return self.inner.list()

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self.inner.list_prefix(prefix)

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        return self.inner.list_dir(prefix)

    def get_versioned(self, key: str) -> tuple[Buffer | None, Version]:
        return self.inner.get_versioned(key)

    def get_limited(self, key: str, limit: int) -> tuple[Buffer | None, Version] | None:
        if type(self).get_versioned is not WrapperStore.get_versioned:  # who changes what is seen has said so there
            return super().get_limited(key, limit)
        return self.inner.get_limited(key, limit)

    def set_if(self, key: str, value: Buffer, version: Version) -> bool:
        return self.inner.set_if(key, value, version)

    def erase_if(self, key: str, version: Version) -> bool:
        return self.inner.erase_if(key, version)

    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]:
        return self.inner.lock(keys, shared=shared)

    def task_lock(self, key: str) -> AbstractContextManager[TaskLock]:
        return self.inner.task_lock(key)


class ReadOnlyStore(WrapperStore):
    """The same store, for reading only."""

    @property
    def read_only(self) -> bool:
        return True

    def parent(self) -> tuple[Store, str] | None:
        found = self.inner.parent()
        return None if found is None else (as_read_only(found[0]), found[1])

    def check_writable(self) -> NoReturn:
        raise ReadOnlyError(f"{self.inner!r} is open for reading only", store=repr(self.inner))

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()

    def set_files(self, keys: Sequence[str], write: Callable[[list[str]], bytes]) -> bytes | None:
        self.check_writable()

    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        self.check_writable()

    def splice(self, key: str, pieces: Sequence[Buffer | tuple[int, int]], held: Snapshot) -> bool:
        self.check_writable()

    def erase(self, key: str) -> None:
        self.check_writable()

    def erase_values(self, keys: Iterable[str]) -> None:
        self.check_writable()

    def erase_prefix(self, prefix: str) -> None:
        self.check_writable()

    def set_if(self, key: str, value: Buffer, version: Version) -> bool:
        self.check_writable()

    def erase_if(self, key: str, version: Version) -> bool:
        self.check_writable()


def as_read_only(store: Store) -> Store:
    """The same place, for reading only: one of our own stores as a twin that refuses to write, which costs nothing and
    leads nobody back to the one that writes; others behind a `ReadOnlyStore`."""
    if store.read_only:
        return store
    if "_twins" in vars(type(store)):  # a class that is derived from it may have more to refuse
        twin = copy.copy(store)
        twin._read_only = True
        return twin
    return ReadOnlyStore(store)


class PrefixStore(WrapperStore):
    """The part of a store that lies under a prefix, as a store of its own."""

    def __init__(self, inner: Store, prefix: str) -> None:
        super().__init__(inner)
        self.prefix = check_prefix(prefix if prefix.endswith("/") or not prefix else prefix + "/")
        same = type(self).get is PrefixStore.get
        self.holds = inner.holds if same else False
        self.states = inner.states if same or type(self).get_state is not PrefixStore.get_state else False
        changed = (type(self).set, type(self).set_if) != (PrefixStore.set, PrefixStore.set_if)
        self.splices = inner.splices if same and not changed else False

    @property
    def location(self) -> str:
        place = self.inner.location
        return f"{place.removesuffix('/')}/{self.prefix[:-1]}" if self.prefix else place

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

    # A bad key stays a bad key behind a prefix, so that the inner store refuses it.

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        return self.inner.get(self.prefix + key, range)

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        return self.inner.get_into(self.prefix + key, start, target)

    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        return self.inner.get_partial_values([(self.prefix + key, range) for key, range in requests])

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        return self.inner.get_each([(self.prefix + key, range) for key, range in requests])

    def hold(self, key: str) -> Snapshot | None:
        return self.inner.hold(self.prefix + key)

    def path_of(self, key: str) -> tuple[str, int]:
        return self.inner.path_of(self.prefix + key)

    def paths(self, rows: Iterable[tuple[str, Sequence[str]]]) -> tuple[list[str], int]:
        return self.inner.paths([(self.prefix + start, ends) for start, ends in rows])

    def get_state(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        return (
            self.inner.get_state(self.prefix + key, range, version)
            if self.states
            else Store.get_state(self, key, range)
        )

    def recall(self, key: str) -> tuple[Buffer | None, Version] | None:
        return self.inner.recall(self.prefix + key)

    def exists(self, key: str) -> bool:
        return self.inner.exists(self.prefix + key)

    def size(self, key: str) -> int | None:
        return self.inner.size(self.prefix + key)

    def set(self, key: str, value: Buffer) -> None:
        self.inner.set(self.prefix + key, value)

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.inner.set_each((self.prefix + key, value) for key, value in items)

    def set_files(self, keys: Sequence[str], write: Callable[[list[str]], bytes]) -> bytes | None:
        return self.inner.set_files([self.prefix + key for key in keys], write)

    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        self.inner.set_partial_values((self.prefix + key, start, value) for key, start, value in items)

    def splice(self, key: str, pieces: Sequence[Buffer | tuple[int, int]], held: Snapshot) -> bool:
        return self.inner.splice(self.prefix + key, pieces, held)

    def erase(self, key: str) -> None:
        self.inner.erase(self.prefix + key)

    def erase_values(self, keys: Iterable[str]) -> None:
        self.inner.erase_values(self.prefix + key for key in keys)

    def erase_prefix(self, prefix: str) -> None:
        self.inner.erase_prefix(self.prefix + check_prefix(prefix))

    def list(self) -> Iterator[str]:
        return self.list_prefix("")

    def list_prefix(self, prefix: str) -> Iterator[str]:
        found = self.inner.list_prefix(self.prefix + check_prefix(prefix))
        return (key[len(self.prefix) :] for key in found)

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        keys, prefixes = self.inner.list_dir(self.prefix + check_prefix(prefix))
        cut = len(self.prefix)
        return [key[cut:] for key in keys], [below[cut:] for below in prefixes]

    def get_versioned(self, key: str) -> tuple[Buffer | None, Version]:
        return self.inner.get_versioned(self.prefix + key)

    def get_limited(self, key: str, limit: int) -> tuple[Buffer | None, Version] | None:
        return self.inner.get_limited(self.prefix + key, limit)

    def set_if(self, key: str, value: Buffer, version: Version) -> bool:
        return self.inner.set_if(self.prefix + key, value, version)

    def erase_if(self, key: str, version: Version) -> bool:
        return self.inner.erase_if(self.prefix + key, version)

    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]:
        return self.inner.lock([self.prefix + key for key in keys], shared=shared)

    def task_lock(self, key: str) -> AbstractContextManager[TaskLock]:
        return self.inner.task_lock(self.prefix + key)

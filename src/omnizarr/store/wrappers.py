"""Stores that stand in front of another store and forward to it, and two that change a little on the way."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NoReturn

from omnizarr.errors import ReadOnlyError
from omnizarr.store.contract import Buffer, ByteRange, Request, Store, Version, check_prefix
from omnizarr.store.local import LocalStore
from omnizarr.store.memory import MemoryStore

__all__ = ["PrefixStore", "ReadOnlyStore", "WrapperStore", "as_read_only"]


class WrapperStore(Store):
    """Forwards everything to `inner`. A subclass that changes `get` must change the other ways to read a value, too:
    batches are forwarded as batches."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.readable = inner.readable
        self.writable = inner.writable
        self.listable = inner.listable
        self.conditional = inner.conditional
        self.locking = inner.locking
        self.remote = inner.remote
        self.in_memory = inner.in_memory

    @property
    def read_only(self) -> bool:
        return self.inner.read_only

    @property
    def location(self) -> str:
        return self.inner.location

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrapperStore) and type(other) is type(self) and other.inner == self.inner

    def __hash__(self) -> int:
        return hash((type(self), self.inner))

    def check_writable(self) -> None:
        self.inner.check_writable()

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        return self.inner.get(key, range)

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        return self.inner.get_into(key, start, target)

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

    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        self.inner.set_partial_values(items)

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

    def set_if(self, key: str, value: Buffer, version: Version) -> bool:
        return self.inner.set_if(key, value, version)

    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]:
        return self.inner.lock(keys, shared=shared)


class ReadOnlyStore(WrapperStore):
    """The same store, for reading only."""

    @property
    def read_only(self) -> bool:
        return True

    def check_writable(self) -> NoReturn:
        raise ReadOnlyError(f"{self.inner!r} is open for reading only", store=repr(self.inner))

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()

    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        self.check_writable()

    def erase(self, key: str) -> None:
        self.check_writable()

    def erase_values(self, keys: Iterable[str]) -> None:
        self.check_writable()

    def erase_prefix(self, prefix: str) -> None:
        self.check_writable()

    def set_if(self, key: str, value: Buffer, version: Version) -> bool:
        self.check_writable()


def as_read_only(store: Store) -> Store:
    """The same place, for reading only: one of our own stores as a twin that refuses to write, which costs nothing and
    leads nobody back to the one that writes; others behind a `ReadOnlyStore`."""
    if store.read_only:
        return store
    if type(store) in (LocalStore, MemoryStore):
        twin = copy.copy(store)
        twin._read_only = True
        return twin
    return ReadOnlyStore(store)


class PrefixStore(WrapperStore):
    """The part of a store that lies under a prefix, as a store of its own."""

    def __init__(self, inner: Store, prefix: str) -> None:
        super().__init__(inner)
        self.prefix = check_prefix(prefix if prefix.endswith("/") or not prefix else prefix + "/")

    @property
    def location(self) -> str:
        place = self.inner.location
        return f"{place.removesuffix('/')}/{self.prefix[:-1]}" if self.prefix else place

    __repr__ = Store.__repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrefixStore) and (other.inner, other.prefix) == (self.inner, self.prefix)

    def __hash__(self) -> int:
        return hash((self.inner, self.prefix))

    # A bad key stays a bad key behind a prefix, so that the inner store refuses it.

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        return self.inner.get(self.prefix + key, range)

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        return self.inner.get_into(self.prefix + key, start, target)

    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        return self.inner.get_partial_values([(self.prefix + key, range) for key, range in requests])

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        return self.inner.get_each([(self.prefix + key, range) for key, range in requests])

    def exists(self, key: str) -> bool:
        return self.inner.exists(self.prefix + key)

    def size(self, key: str) -> int | None:
        return self.inner.size(self.prefix + key)

    def set(self, key: str, value: Buffer) -> None:
        self.inner.set(self.prefix + key, value)

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.inner.set_each((self.prefix + key, value) for key, value in items)

    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        self.inner.set_partial_values((self.prefix + key, start, value) for key, start, value in items)

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

    def set_if(self, key: str, value: Buffer, version: Version) -> bool:
        return self.inner.set_if(self.prefix + key, value, version)

    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]:
        return self.inner.lock([self.prefix + key for key in keys], shared=shared)

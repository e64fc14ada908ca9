"""A store in the memory of this process."""

from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping, Sequence
from itertools import count
from typing import Any

from omnizarr._fork import MEMORY_LOCK
from omnizarr.errors import ArgumentError
from omnizarr.store.capabilities import Snapshots, Updates, Versioned, provides
from omnizarr.store.contract import Buffer, ByteRange, Store, Version, check_key, check_prefix, cut
from omnizarr.store.key_index import KeyIndex
from omnizarr.store.snapshot import BytesSnapshot, Snapshot

__all__ = ["READ_ONLY_COPY", "MemoryStore"]

READ_ONLY_COPY = (
    "this is a pickled copy of a store in memory, and the original would not get what is written to it: let several "
    "processes write to a folder, a bucket or an SQLite database, or write to a `copy.deepcopy` of the copy"
)
"""The hint of stores that pickles copy, data included."""

# Two stores may show the same dict, so that all stores share the lock under which dicts change. It is held while a
# reference is stored, never while bytes are copied. A fork waits until no dict is half changed.
_CHANGING = MEMORY_LOCK

_NUMBERS = count(1)
_PROCESS = os.urandom(6).hex()  # with the process id: stores of different processes have different locations


class MemoryStore(Store):
    """Keys and values in a dict: `data`, or a new one, which it lists faster.

    Two stores are equal if they show the same dict. A pickle contains the data, and an unpickled store is a copy. It
    cannot be changed, because the process that pickled it would not see that; `copy.deepcopy` makes a copy that can.
    """

    in_memory = True
    locking = True  # no other process can reach it
    snapshots = provides(lambda store: _MemorySnapshots(store))
    updates = provides(lambda store: _MemoryUpdates(store))
    _copyable = True

    def __init__(
        self, data: dict[str, bytes] | None = None, *, name: str | None = None, read_only: bool = False
    ) -> None:
        if data is not None and not isinstance(data, MutableMapping):
            raise ArgumentError(f"`data`: expected a dict, found {type(data).__name__}", argument="data")
        self._data: dict[str, bytes] = {} if data is None else data
        # The user may change a dict of their own, which an index would not notice: it is scanned.
        self._index = KeyIndex() if data is None else None
        self._read_only = read_only
        # The address of a deleted dict may be reused; a number is not. But two stores that show the same dict of the
        # user must have the same location.
        self._name = name or (f"unnamed-{next(_NUMBERS)}" if data is None else f"dict-{id(data):x}")

    @property
    def location(self) -> str:
        return f"memory://{self._name}"

    @property
    def full_location(self) -> str:
        return f"{self.location} {_PROCESS}-{os.getpid()}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryStore) and other._data is self._data

    def __hash__(self) -> int:
        return id(self._data)

    def __copy__(self) -> MemoryStore:
        """Another store that shows the same dict."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> MemoryStore:
        with _CHANGING:
            return _copied(type(self), dict(self._data), self._read_only)

    def __reduce__(self) -> tuple[Any, ...]:
        with _CHANGING:
            return _unpickled, (type(self), dict(self._data), self._read_only)

    # -- reading

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        value = self._data.get(key)
        if value is None:
            check_key(key)  # only here: an existing key was checked when it was set
            return None
        return value if range is None else cut(value, range)

    def exists(self, key: str) -> bool:
        return self.get(key) is not None

    # -- writing

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        check_key(key)
        copied = value if type(value) is bytes else bytes(memoryview(value))
        with _CHANGING:
            self._put(key, copied)

    def _put(self, key: str, value: bytes) -> None:
        if self._index is not None and key not in self._data:
            self._index.add(key)
        self._data[key] = value

    def erase(self, key: str) -> None:
        self.check_writable()
        check_key(key)
        with _CHANGING:
            self._remove(key)

    def _remove(self, key: str) -> None:
        if self._data.pop(key, None) is not None and self._index is not None:
            self._index.remove(key)

    # -- listing

    def list_prefix(self, prefix: str) -> Iterator[str]:
        prefix = check_prefix(prefix)
        if self._index is None:
            return iter([key for key in list(self._data) if key.startswith(prefix)])
        return self._walk(self._index, prefix)

    @staticmethod
    def _walk(index: KeyIndex, prefix: str) -> Iterator[str]:
        waiting = [prefix]
        while waiting:
            with _CHANGING:
                keys, prefixes = index.children(waiting.pop())
            yield from keys
            waiting.extend(prefixes)

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        if self._index is None:
            return super().list_dir(prefix)
        with _CHANGING:
            keys, prefixes = self._index.children(check_prefix(prefix))
        return sorted(keys), sorted(prefixes)


class _MemorySnapshots(Snapshots):
    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def open(self, key: str) -> Snapshot | None:
        value = self._store._data.get(key)
        if value is None:
            check_key(key)
            return None
        return BytesSnapshot(value) if type(value) is bytes else BytesSnapshot(bytes(value))


class _MemoryUpdates(Updates):
    """The version of a value is the value itself."""

    erases = True

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def read(self, key: str, limit: int | None = None) -> Versioned:
        value = self._store.get(key)
        return value, None if value is None else bytes(value)

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        store = self._store
        store.check_writable()
        check_key(key)
        copied = value if type(value) is bytes else bytes(memoryview(value))
        with _CHANGING:
            if self.read(key)[1] != version:
                return False
            if store._index is not None:
                store._index.add(key)
            data = store._data
            # A signal handler runs after a call. There is none between the comparison and the change.
            if (data[key] if key in data else None) == version:  # noqa: SIM401
                data[key] = copied
                return True
            if store._index is not None and key not in data:
                store._index.remove(key)
            return False

    def erase(self, key: str, version: Version) -> bool:
        store = self._store
        store.check_writable()
        check_key(key)
        with _CHANGING:
            if self.read(key)[1] != version:
                return False
            store._remove(key)
            return True


def _unpickled(cls: type[MemoryStore], data: dict[str, bytes], read_only: bool) -> MemoryStore:
    store = _copied(cls, data, read_only)
    store.writable = False
    store.read_only_hint = READ_ONLY_COPY
    return store


def _copied(cls: type[MemoryStore], data: dict[str, bytes], read_only: bool) -> MemoryStore:
    store = cls()
    for key, value in data.items():
        store._put(key, value)
    store._read_only = read_only
    return store

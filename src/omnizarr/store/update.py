"""The one read-modify-write of stored values: `update`; and `set_if_absent`, which creates a value.

With compare-and-set (`Store.updates`) the first attempt takes no lock, and an attempt that another writer overtakes is
repeated. Without it, the keys are locked before they are read.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NoReturn, Protocol, TypeVar

from omnizarr._fork import import_library
from omnizarr.errors import StoreError, UncertainWriteError
from omnizarr.store.capabilities import Updates, Versioned
from omnizarr.store.thread_locks import full_key
from omnizarr.store.values import Buffer, Version

__all__ = ["KeyAccess", "LockedAccess", "set_if_absent", "update"]

R = TypeVar("R")

_LOCKED_ATTEMPTS = 100  # the first one succeeds unless a writer ignores the lock
_PAUSED_ATTEMPTS = 60  # together nearly a minute
_MOST_UNCHANGED = 8  # rejections of a write in a row, although the value has the version that it names; within a second
_FIRST_PAUSE, _LONGEST_PAUSE = 0.004, 2.0  # seconds


class _Store(Protocol):
    """What an update needs of a store. (`Store` itself updates values, and so its module imports this one.)"""

    in_memory: bool
    remote: bool

    @property
    def updates(self) -> Updates | None: ...
    @property
    def locking(self) -> bool: ...
    @property
    def location(self) -> str: ...
    def check_writable(self) -> None: ...
    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]: ...
    def get_current(self, key: str) -> Buffer | None: ...
    def size(self, key: str) -> int | None: ...
    def set(self, key: str, value: Buffer) -> None: ...
    def erase(self, key: str) -> None: ...


class KeyAccess(Updates):
    """How an attempt of `update` reads and changes the keys of the update, and no others."""

    uncertain: UncertainWriteError | None = None
    """The last write of which the store could not tell whether it was stored."""
    unchanged: int = 0
    """How many writes in a row were rejected that named the same version."""

    def __init__(self, store: _Store, keys: Sequence[str]) -> None:
        self._store = store
        self._keys = keys

    def _check(self, key: str) -> None:
        if key not in self._keys:
            raise StoreError(
                f"`{key}` is no key of this update: expected {', '.join(f'`{own}`' for own in self._keys)}",
                store=repr(self._store),
                key=key,
            )

    def replace(self, key: str, value: Buffer | None) -> None:
        """Set a value whatever its version; None erases it. For a value that does not depend on the old one."""
        self._check(key)
        if value is None:
            self._store.erase(key)
        else:
            self._store.set(key, value)

    @abstractmethod
    def erase(self, key: str, version: Version) -> bool:
        """Remove `key` if it still has `version`; False, without a change, if it has not. Only if `erases`."""


def update(
    store: _Store,
    keys: Sequence[str],
    attempt: Callable[[KeyAccess], R | None],
    *,
    optimistic: Callable[[KeyAccess], R | None] | None = None,
) -> R:
    """Call `attempt` until it returns a result; None means that another writer changed one of `keys` in between.

    `attempt` reads, writes and erases `keys` only by the `KeyAccess` that it is given. `optimistic`, if given, is tried
    once before: it may use `KeyAccess.last_known`, which saves a request. Retries hold the lock of the keys if that
    holds between processes; otherwise each follows a pause of random, growing length.
    """
    updates = store.updates
    if updates is not None:
        access = _ConditionalAccess(store, keys, updates)
        result = None if optimistic is None else optimistic(access)
        if result is None:
            result = attempt(access)
        if result is not None:
            return result
        if not store.locking:
            return _attempt_after_pauses(store, keys, attempt, access)
    return _attempt_locked(store, keys, attempt)


def _attempt_locked(store: _Store, keys: Sequence[str], attempt: Callable[[KeyAccess], R | None]) -> R:
    access: KeyAccess | None = None
    for _ in range(_LOCKED_ATTEMPTS):
        with store.lock(keys):
            updates = store.updates  # again, because the first lock shows whether a file system has locks
            if updates is None:
                access = LockedAccess(store, keys)
                with access.exclusive():
                    result = attempt(access)
            else:
                if not isinstance(access, _ConditionalAccess):
                    access = _ConditionalAccess(store, keys, updates)
                result = attempt(access)
        if result is not None:
            return result
    _give_up(store, keys, _LOCKED_ATTEMPTS, access)


def _attempt_after_pauses(
    store: _Store, keys: Sequence[str], attempt: Callable[[KeyAccess], R | None], access: KeyAccess
) -> R:
    random = import_library("random")  # lazy import: contention is rare

    longest = _FIRST_PAUSE
    for _ in range(_PAUSED_ATTEMPTS):
        time.sleep(random.uniform(0, longest))
        longest = min(_LONGEST_PAUSE, 2 * longest)
        result = attempt(access)
        if result is not None:
            return result
        if access.unchanged >= _MOST_UNCHANGED:
            raise StoreError(
                f"cannot update `{keys[0]}` in {store!r}: the store rejected {access.unchanged} conditional writes in "
                "a row, although no other writer changed the value",
                hint="the server does not compare versions as it should",
                store=repr(store),
                key=keys[0],
            ) from access.uncertain
    _give_up(store, keys, _PAUSED_ATTEMPTS, access)


def _give_up(store: _Store, keys: Sequence[str], attempts: int, access: KeyAccess | None) -> NoReturn:
    raise StoreError(
        f"cannot update `{keys[0]}` in {store!r}: gave up after {attempts} attempts, because other writers keep "
        "replacing it",
        store=repr(store),
        key=keys[0],
    ) from (None if access is None else access.uncertain)


def set_if_absent(store: _Store, key: str, value: Buffer) -> bool:
    """Set `key` if there is no such key yet; returns whether there was none."""
    store.check_writable()

    def attempt(access: KeyAccess) -> tuple[bool]:
        if isinstance(access, LockedAccess) and access.read(key, 0) != (None, None):
            return (False,)
        return (access.write(key, value, None),)

    return update(store, [key], attempt)[0]


class _ConditionalAccess(KeyAccess):
    """Access by compare-and-set. An uncertain write is settled by comparing the stored value with the one that was
    sent."""

    def __init__(self, store: _Store, keys: Sequence[str], updates: Updates) -> None:
        super().__init__(store, keys)
        self._updates = updates
        self.erases = updates.erases
        self._rejected: tuple[str, Version] | None = None

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        self._check(key)
        return self._updates.read(key, limit)

    def last_known(self, key: str) -> Versioned | None:
        self._check(key)
        return self._updates.last_known(key)

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        self._check(key)
        try:
            written = self._updates.write(key, value, version)
            self.unchanged = 0 if written or self._rejected != (key, version) else self.unchanged + 1
            self._rejected = (key, version)
            return written
        except UncertainWriteError as error:
            self.uncertain = error
            stored = self._updates.read(key)
            return stored is not None and stored[0] is not None and bytes(stored[0]) == bytes(value)

    def erase(self, key: str, version: Version) -> bool:
        self._check(key)
        try:
            return self._updates.erase(key, version)
        except UncertainWriteError as error:
            self.uncertain = error
            return self._updates.read(key) == (None, None)


class _Updating(threading.local):
    """The keys that the current thread updates under a lock."""

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()


_UPDATING = _Updating()
_STORED = True  # the version of every stored value while its key is locked


class LockedAccess(KeyAccess):
    """Access by the plain verbs of a store without compare-and-set, while the caller holds the lock of the keys."""

    erases = True

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Refuse another update of the keys in this thread until the block ends.

        The lock admits a thread that holds it already. A signal handler that updates a key in the middle of an update
        of the same key would lose its change.
        """
        names = {full_key(self._store.location, key) for key in self._keys}
        before = _UPDATING.names
        if not before.isdisjoint(names):
            raise StoreError(
                f"`{self._keys[0]}` cannot be updated in the middle of another update of it by the same thread",
                hint="a signal handler must not write to a store without `updates`; let it set a flag",
                store=repr(self._store),
                key=self._keys[0],
            )
        _UPDATING.names = before | names
        try:
            yield
        finally:
            _UPDATING.names = before

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        self._check(key)
        store = self._store
        # In memory the length is known with the value; on a remote store asking for it costs as much as the value.
        if limit is not None and not (store.in_memory or store.remote) and (store.size(key) or 0) > limit:
            return None
        value = store.get_current(key)
        return value, None if value is None else _STORED

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        self.replace(key, value)
        return True

    def erase(self, key: str, version: Version) -> bool:
        self.replace(key, None)
        return True

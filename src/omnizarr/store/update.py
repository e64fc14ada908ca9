"""The one read-modify-write of stored values: `update`; and `set_if_absent`, which creates a value.

With compare-and-set (`Store.updates`) the first attempt takes no lock, and an attempt that another writer overtakes is
repeated. Without it, the keys are locked before they are read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

from omnizarr.errors import StoreError
from omnizarr.store.capabilities import UncertainWriteError, Updates, Versioned
from omnizarr.store.contract import Buffer, Store, Version

__all__ = ["LockedUpdates", "set_if_absent", "update"]

R = TypeVar("R")

_LOCKED_ATTEMPTS = 100  # the first one succeeds unless a writer ignores the lock
_PAUSED_ATTEMPTS = 60  # together nearly a minute
_FIRST_PAUSE, _LONGEST_PAUSE = 0.004, 2.0  # seconds


def update(
    store: Store,
    keys: Sequence[str],
    attempt: Callable[[Updates], R | None],
    *,
    optimistic: Callable[[Updates], R | None] | None = None,
) -> R:
    """Call `attempt` until it returns a result; None means that another writer changed one of `keys` in between.

    `attempt` reads, writes and erases `keys` only by the `Updates` that it is given. `optimistic`, if given, is tried
    once before: it may use `Updates.last_known`, which saves a request. Retries hold the lock of the keys if that holds
    between processes; otherwise each follows a pause of random, growing length.
    """
    updates = store.updates
    if updates is None:
        return _attempt_locked(store, keys, attempt, LockedUpdates(store))
    certain = _CertainUpdates(updates)
    result = None if optimistic is None else optimistic(certain)
    if result is None:
        result = attempt(certain)
    if result is not None:
        return result
    if store.locking:
        return _attempt_locked(store, keys, attempt, certain)
    return _attempt_after_pauses(store, keys, attempt, certain)


def _attempt_locked(store: Store, keys: Sequence[str], attempt: Callable[[Updates], R | None], updates: Updates) -> R:
    for _ in range(_LOCKED_ATTEMPTS):
        with store.lock(keys):
            result = attempt(updates)
        if result is not None:
            return result
    _give_up(store, keys, _LOCKED_ATTEMPTS)


def _attempt_after_pauses(
    store: Store, keys: Sequence[str], attempt: Callable[[Updates], R | None], updates: Updates
) -> R:
    import random  # lazy import: contention is rare

    longest = _FIRST_PAUSE
    for _ in range(_PAUSED_ATTEMPTS):
        time.sleep(random.uniform(0, longest))
        longest = min(_LONGEST_PAUSE, 2 * longest)
        result = attempt(updates)
        if result is not None:
            return result
    _give_up(store, keys, _PAUSED_ATTEMPTS)


def _give_up(store: Store, keys: Sequence[str], attempts: int) -> NoReturn:
    raise StoreError(
        f"cannot update `{keys[0]}` in {store!r}: gave up after {attempts} attempts, because other writers keep "
        "replacing it",
        store=repr(store),
        key=keys[0],
    )


def set_if_absent(store: Store, key: str, value: Buffer) -> bool:
    """Set `key` if there is no such key yet; returns whether there was none."""
    store.check_writable()
    if store.updates is not None:
        return _CertainUpdates(store.updates).write(key, value, None)
    with store.lock([key]):
        if store.exists(key):
            return False
        store.set(key, value)
        return True


class _CertainUpdates(Updates):
    """Updates that settle an uncertain write by comparing the stored value with the one that was sent."""

    def __init__(self, updates: Updates) -> None:
        self._updates = updates
        self.erases = updates.erases

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        return self._updates.read(key, limit)

    def last_known(self, key: str) -> Versioned | None:
        return self._updates.last_known(key)

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        try:
            return self._updates.write(key, value, version)
        except UncertainWriteError:
            stored = self._updates.read(key)
            return stored is not None and stored[0] is not None and bytes(stored[0]) == bytes(value)

    def erase(self, key: str, version: Version) -> bool:
        try:
            return self._updates.erase(key, version)
        except UncertainWriteError:
            return self._updates.read(key) == (None, None)


_STORED = True  # the version of every stored value while its key is locked


class LockedUpdates(Updates):
    """Updates by the plain verbs of a store without compare-and-set, while the caller holds the lock of the keys."""

    erases = True

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        store = self._store
        # In memory the length is known with the value; on a remote store asking for it costs as much as the value.
        if limit is not None and not (store.in_memory or store.remote) and (store.size(key) or 0) > limit:
            return None
        value = store.get(key)
        return value, None if value is None else _STORED

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        self._store.set(key, value)
        return True

    def erase(self, key: str, version: Version) -> bool:
        self._store.erase(key)
        return True

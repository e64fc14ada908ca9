"""Updates: change a part of a stored value without losing the changes of other writers.

If the store has compare-and-set (`Store.updates`), the value is read, changed and set, and again from the start if
another writer set it in between. Otherwise the key is locked during the update.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from omnizarr.engine.layout import too_long
from omnizarr.store import Buffer, Store, Updates
from omnizarr.store.contract import Version
from omnizarr.store.thread_locks import Stripes, full_key
from omnizarr.store.update import KeyAccess, update

__all__ = ["Change", "StoredValue", "set_or_erase", "update_chunk"]

# Serialize the threads of this process per chunk; otherwise they keep invalidating each other's update.
_QUEUES = Stripes()


class StoredValue:
    """The stored value and its version, fetched on first use."""

    def __init__(self, updates: Updates, key: str, limit: int) -> None:
        self._updates = updates
        self._key = key
        self._limit = limit
        self.fetched = False
        self.version: Version = None
        self._value: Buffer | None = None

    @classmethod
    def absent(cls, updates: Updates, key: str, limit: int) -> StoredValue:
        """A value that is assumed to be absent, without a request."""
        stored = cls(updates, key, limit)
        stored.fetched = True
        return stored

    def __call__(self) -> Buffer | None:
        if not self.fetched:
            answer = self._updates.read(self._key, self._limit)
            if answer is None:
                raise too_long(self._limit)
            self._value, self.version = answer
            self.fetched = True
        return self._value


class Change(Protocol):
    def __call__(self, stored: StoredValue, *, keep_empty: bool) -> Buffer | None:
        """The new value; None if it holds nothing but the fill value and `keep_empty` is false."""


def update_chunk(
    store: Store,
    key: str,
    limit: int,
    change: Change,
    *,
    keep_empty: bool,
    splice: Callable[[], bool | None] | None = None,
    absent_first: bool = False,
) -> None:
    """Replace the value of `key` by the result of `change`. A value longer than `limit` is an error. `splice`, if
    given, tries to do the same in another way: it returns whether it did, or None if it cannot. With `absent_first` the
    value is created if the key is absent, by one request, and merged into the stored value only if it is not."""

    def create(access: KeyAccess) -> bool | None:
        value = change(StoredValue.absent(access, key, limit), keep_empty=keep_empty)
        if value is None:
            return None  # it must be erased, if it exists
        return access.write(key, value, None) or None

    def attempt(access: KeyAccess) -> bool | None:
        spliced = None if splice is None else splice()
        if spliced is not None:
            return spliced or None
        stored = StoredValue(access, key, limit)
        value = change(stored, keep_empty=keep_empty)
        if not stored.fetched:
            access.replace(key, value)
            return True
        if value is None and stored.version is None:
            return True
        if value is None and not access.erases:
            value = change(stored, keep_empty=True)
        done = access.erase(key, stored.version) if value is None else access.write(key, value, stored.version)
        return done or None

    with _QUEUES.of(full_key(store.location, key)):
        update(store, [key], attempt, optimistic=create if absent_first else None)


def set_or_erase(store: Store, key: str, value: Buffer | None) -> None:
    """Set a value unconditionally; None erases it."""
    if value is None:
        store.erase(key)
    else:
        store.set(key, value)

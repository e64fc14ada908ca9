"""Changing a part of what is stored, so that no other writer's change is lost.

Where a store sets a value only if it is still the one that was read, it is read, changed and set, and all of it again
if somebody else was quicker. Elsewhere the key is locked meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from omnizarr.errors import CodecError
from omnizarr.store import Buffer, Store
from omnizarr.store.contract import Version
from omnizarr.store.process_locks import Stripes
from omnizarr.store.retry import again

__all__ = ["How", "Old", "merge", "put"]

# The threads of this process queue up at a chunk, lest they do again and again what one of them undoes.
_QUEUES = Stripes()


class Old:
    """What is stored, fetched when somebody asks for it, and which version of it that was."""

    def __init__(self, store: Store, key: str, limit: int) -> None:
        self._store = store
        self._key = key
        self._limit = limit
        self.fetched = False
        self.version: Version = None
        self._value: Buffer | None = None

    def __call__(self) -> Buffer | None:
        if not self.fetched:
            store, key, limit = self._store, self._key, self._limit
            found: tuple[Buffer | None, Version] | None
            if store.conditional:
                found = store.get_limited(key, limit)
            elif store.in_memory or store.remote or (store.size(key) or 0) <= limit:
                found = store.get(key), None
            else:
                found = None
            if found is None:
                raise CodecError("chunk", f"what is stored has more than the {limit} bytes that a chunk can have")
            self._value, self.version = found
            self.fetched = True
        return self._value


class How(Protocol):
    def __call__(self, old: Old, *, keep_empty: bool) -> Buffer | None:
        """The new form of what is stored; None if it holds nothing but the fill value, unless that is to be kept."""


def merge(
    store: Store, key: str, limit: int, how: How, *, keep_empty: bool, splice: Callable[[], bool | None] | None = None
) -> None:
    """Makes what `how` makes of the value of `key` its value. One that is longer than `limit` is not looked at.
    `splice`, where there is one, may do the same in another way; it says whether it did, or that somebody else was
    quicker, or None if it cannot."""
    if not store.conditional:
        with store.lock([key]):
            if splice is not None and splice():
                return
            put(store, key, how(Old(store, key, limit), keep_empty=keep_empty))
        return
    with _QUEUES.of(f"{store.location}\0{key}"):
        if _merged(store, key, limit, how, keep_empty, splice):
            return
        for attempt in again(store, [key]):
            with attempt:
                if _merged(store, key, limit, how, keep_empty, splice):
                    return


def _merged(
    store: Store, key: str, limit: int, how: How, keep_empty: bool, splice: Callable[[], bool | None] | None
) -> bool:
    """One attempt; whether nobody else was quicker."""
    done = None if splice is None else splice()
    if done is not None:
        return done
    old = Old(store, key, limit)
    new = how(old, keep_empty=keep_empty)
    if not old.fetched:
        put(store, key, new)
        return True
    if new is None and old.version is None:
        return True
    if new is None and not store.erases_if:
        new = how(old, keep_empty=True)
    return store.erase_if(key, old.version) if new is None else store.set_if(key, new, old.version)


def put(store: Store, key: str, new: Buffer | None) -> None:
    """Sets a value, whatever was there before; None erases it."""
    if new is None:
        store.erase(key)
    else:
        store.set(key, new)

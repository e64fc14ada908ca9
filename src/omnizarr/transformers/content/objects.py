"""The objects of a content-addressed array, and the pointers to them (Z14–Z17).

A writer stores the object first and then the pointer, so that a crash leaves no pointer without an object. Objects
never change. A collector removes objects without a pointer (`collect`). It condemns an object a long time before it
removes it, and a writer never refers to a condemned object.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any

from omnizarr.store import Buffer, ByteRange, CacheStore, Store, WrapperStore
from omnizarr.store.contract import extent_of
from omnizarr.store.current import CurrentStore
from omnizarr.transformers.content.pointer import POINTER_LIMIT, Addresses, Pointer, damaged
from omnizarr.transformers.contract import ArrayPlace

__all__ = ["LONGEST_WRITE", "ContentObjects"]

LONGEST_WRITE = 600.0  # seconds between the check of an object and the pointer to it; then the writer checks again

now = time.time  # the wall clock: a monotonic one may stand still while the machine sleeps


class ContentObjects:
    """Reads and stores values of one array in `inner`."""

    def __init__(self, inner: Store, place: ArrayPlace, addresses: Addresses) -> None:
        self.inner = inner
        self.current = _past_caches(inner)
        """The same store without cached answers, for everything that a change depends on."""
        self.addresses = addresses
        self._prefix = place.prefix
        self._rank = place.rank
        self._coordinates = place.chunk_keys.coordinates

    def is_chunk(self, key: str) -> bool:
        """Whether `key` holds a pointer, if it exists."""
        if not key.startswith(self._prefix):
            return False
        return self._coordinates(key[len(self._prefix) :], self._rank) is not None

    # -- reading

    def read_pointer(self, key: str, *, current: bool = False) -> Pointer | None:
        """The pointer under the key of a chunk, not from a cache if `current`; None if there is none."""
        stored = (self.current if current else self.inner).get(key, (0, POINTER_LIMIT + 1))
        return None if stored is None else self.addresses.parse(stored, key)

    def follow(self, key: str, read: Callable[[Pointer], Any], find: Callable[[], Pointer | None] | None = None) -> Any:
        """What `read` makes of the pointer under `key`; None if there is no pointer. `read` returns None if there is no
        object: then another writer replaced the pointer, and a collector removed the object, or data was lost."""
        before = None
        while True:
            pointer = self.read_pointer(key, current=before is not None) if find is None else find()
            if pointer is None:
                return None
            if pointer == before:
                raise damaged(key, f"its object `{self.addresses.object_key(pointer.name)}` is missing")
            result = read(pointer)
            if result is not None:
                return result
            before = pointer

    def read(self, pointer: Pointer, range: ByteRange | None, key: str) -> Buffer | None:
        """A value or a part of it; None if there is no object. A whole value is compared with its digest."""
        request, whole = self.request(pointer, range)
        data = self.inner.get(*request)
        return None if data is None else self.check(pointer, data, request, whole, key)

    def request(self, pointer: Pointer, range: ByteRange | None) -> tuple[tuple[str, tuple[int, int]], bool]:
        """The request for the object, and whether it is for the whole value."""
        start, length = extent_of(range, pointer.size)
        whole = length == pointer.size
        # One byte more than the pointer says detects an object that is too long.
        return (self.addresses.object_key(pointer.name), (start, length + whole)), whole

    def check(
        self, pointer: Pointer, data: Buffer, request: tuple[str, tuple[int, int]], whole: bool, key: str
    ) -> Buffer:
        object_key, (start, length) = request
        if whole:
            self.verify(pointer, data, key)
        elif len(data) != length:
            raise damaged(
                key, f"its object `{object_key}` ends at byte {start + len(data)} of {pointer.size}: it is damaged"
            )
        return data

    def verify(self, pointer: Pointer, data: Buffer, key: str) -> None:
        """Raise unless `data` is the value that the pointer names."""
        object_key = self.addresses.object_key(pointer.name)
        if len(data) != pointer.size:
            actual = f"{len(data)} bytes" if len(data) < pointer.size else "more"
            raise damaged(key, f"its object `{object_key}` is damaged: expected {pointer.size} bytes, found {actual}")
        digest = self.addresses.digest(data)
        if digest != pointer.digest:
            raise damaged(
                key, f"its object `{object_key}` is damaged: its {self.addresses.algorithm} digest is {digest}"
            )

    # -- writing

    def store(self, values: Sequence[Buffer]) -> list[Pointer]:
        """Pointers to values, whose objects are stored now. Set the pointers at once: a collector waits for
        `LONGEST_WRITE` seconds, and longer, before it removes an object without a pointer."""
        while True:
            started = now()
            pointers = self._store(values)
            if 0 <= now() - started <= LONGEST_WRITE:
                return pointers

    def _store(self, values: Sequence[Buffer]) -> list[Pointer]:
        addresses = self.addresses
        pointers = [addresses.pointer(value) for value in values]
        contents = dict(zip(pointers, values, strict=True))  # equal values are stored once
        # First the marks: without one, an object that is found afterwards stays for long enough. In the other order, a
        # collector could remove the object and then the mark in between.
        marks = self.current.get_partial_values([(addresses.mark_key(usual.name), (0, 0)) for usual in contents])
        to_use = {
            usual: usual if mark is None else usual._replace(copy=secrets.token_hex(8))
            for usual, mark in zip(contents, marks, strict=True)
        }
        # A damaged object must not stand for a value that is written now, so that existing objects are compared. One
        # byte more shows that an object is too long.
        items = [(addresses.object_key(pointer.name), contents[usual]) for usual, pointer in to_use.items()]
        requests = [(key, (0, len(value) + 1)) for key, value in items]
        missing = [
            items[index]
            for index, stored in self.current.get_each(requests)
            if stored is None or bytes(stored) != bytes(items[index][1])
        ]
        if len(missing) == 1:
            self.inner.set(*missing[0])
        elif missing:
            self.inner.set_each(missing)
        return [to_use[usual] for usual in pointers]


def _past_caches(store: Store) -> Store:
    """The store itself, or one that reads past the cache below it."""
    below = store
    while isinstance(below, WrapperStore):
        if isinstance(below, CacheStore):
            return CurrentStore(store)
        below = below.inner
    return store

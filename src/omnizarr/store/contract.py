"""What a store is: bytes under keys, asked for in batches, with fallbacks for whatever a store cannot do itself.

A store that implements `get`, `set`, `erase` and `list_prefix` is complete: everything else has a fallback here, and
a store overrides what it can do better. No store knows what its bytes mean.
"""

from __future__ import annotations

import os
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

from omnizarr.errors import InvalidKeyError, ReadOnlyError, StoreError

__all__ = [
    "Buffer",
    "ByteRange",
    "Request",
    "Store",
    "Version",
    "check_key",
    "check_prefix",
    "cut",
    "flat",
    "is_text",
    "process_lock",
    "span",
]

Buffer: TypeAlias = bytes | bytearray | memoryview
"""A value, as it travels. Who receives one never changes it."""

ByteRange: TypeAlias = tuple[int, int | None]
"""`(start, length)`, `(start, None)` for all from `start`, `(-n, None)` for the last n bytes. What lies beyond the end
of the value is left off, as it is in a slice."""

Request: TypeAlias = tuple[str, ByteRange | None]
"""A key and the part of its value that is wanted; None is the whole of it."""

Version: TypeAlias = Hashable
"""Tells one state of a key from another; None is the state of a key that is absent."""


_MALFORMED = re.compile(r"(?:\A|/)\.{0,2}(?:/|\Z)|\0").search


def check_key(key: str) -> None:
    """Refuses keys that no store may accept: empty, absolute, ending in `/`, with empty, `.` or `..` segments, with a
    zero character, or with half a surrogate pair, which no UTF-8 text can hold (R108, R118)."""
    if _MALFORMED(key) or not (key.isascii() or is_text(key)):
        raise InvalidKeyError(f"{key!r} is not a valid store key", key=key)


def is_text(key: str) -> bool:
    """Whether every character can be written, which half a surrogate pair cannot."""
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_prefix(prefix: str) -> str:
    """The prefix as stores use it, empty or a key followed by `/`. The drafts write a `/` in front (A16), which is
    taken off; without one at the end the specifications do not say what a prefix means (R115), so it is refused."""
    prefix = prefix.removeprefix("/")
    if prefix:
        if not prefix.endswith("/"):
            raise InvalidKeyError(f"{prefix!r} is not a valid prefix: it must end in `/`", key=prefix)
        check_key(prefix[:-1])
    return prefix


def span(range: ByteRange | None, size: int) -> tuple[int, int]:
    """Where the bytes that `range` names start in a value of `size` bytes, and how many they are."""
    if range is None:
        return 0, size
    start, length = range
    start = min(start, size) if start >= 0 else max(0, size + start)
    rest = size - start
    return start, rest if length is None else max(0, min(length, rest))


def cut(value: Buffer, range: ByteRange | None) -> Buffer:
    """The part of `value` that `range` names, without a copy."""
    if range is None:
        return value
    start, length = span(range, len(value))
    return memoryview(value)[start : start + length]


def flat(value: Buffer) -> bytes | memoryview:
    """`value` in single bytes, copied only if they do not lie side by side: a view of numbers counts numbers."""
    if type(value) is bytes:
        return value
    view = memoryview(value)
    if view.itemsize == 1 and view.ndim == 1 and view.c_contiguous and view.format == "B":
        return view
    return view.cast("B") if view.c_contiguous and view.nbytes else bytes(view)


class Store(ABC):
    """Bytes under keys.

    Keys are case-sensitive and never end in `/`; prefixes are empty or end in `/`. An absent key is `None`. Stores may
    be used by many threads at once, can be pickled, and compare equal when they show the same place.
    """

    readable: bool = True
    writable: bool = True
    listable: bool = True
    conditional: bool = False
    """Whether `set_if` is atomic for everybody who uses the place, not only for this process."""
    locking: bool = False
    """Whether `lock` holds for everybody who uses the place, not only for this process."""
    in_memory: bool = False
    """Whether `get` hands out what is in memory already, so that there is nothing to gain from `get_into`."""
    remote: bool = False
    """Whether a request costs so much time that requests should be sent together; else a worker that decodes a value
    also gets it."""

    _read_only: bool = False

    @property
    def read_only(self) -> bool:
        """Whether this object refuses to write; another one at the same place may not."""
        return self._read_only or not self.writable

    @property
    @abstractmethod
    def location(self) -> str:
        """Where it is, as a user would write it; never with credentials."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.location})"

    def check_writable(self) -> None:
        """Raises if this object must not write; every writing method calls it first."""
        if self.read_only:
            raise ReadOnlyError(f"{self!r} is open for reading only", store=repr(self))

    # -- reading

    @abstractmethod
    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        """The value of `key`, or the part of it that `range` names; None if there is no such key."""

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        """Fills `target`, a view of single bytes, with those of `key` from `start` on; how many there were, or None if
        the key is absent."""
        value = self.get(key, (start, len(target)))
        if value is None:
            return None
        target[: len(value)] = value
        return len(value)

    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        """The answers to `requests`, in their order."""
        answers: list[Buffer | None] = [None] * len(requests)
        for index, value in self.get_each(requests):
            answers[index] = value
        return answers

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        """The answers as they arrive, each with its request's position; never more bytes in flight than is sensible."""
        for index, (key, range) in enumerate(requests):
            yield index, self.get(key, range)

    def exists(self, key: str) -> bool:
        """Whether there is such a key."""
        return self.get(key, (0, 0)) is not None

    def size(self, key: str) -> int | None:
        """How many bytes the value of `key` has; None if there is no such key."""
        value = self.get(key)
        return None if value is None else len(value)

    # -- writing

    @abstractmethod
    def set(self, key: str, value: Buffer) -> None:
        """Makes `value` the value of `key`, wholly or not at all."""

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        """Sets many values; what was set before a failure stays set."""
        self.check_writable()
        for key, value in items:
            self.set(key, value)

    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        """Overwrites parts of values: (key, start, bytes). Parts of one key must not overlap. An absent key counts as
        empty, a gap is filled with zeros; each key changes wholly or not at all."""
        self.check_writable()
        parts: dict[str, list[tuple[int, Buffer]]] = {}
        for key, start, value in items:
            parts.setdefault(key, []).append((start, flat(value)))
        for key, pieces in parts.items():
            pieces.sort(key=lambda piece: piece[0])
            end = 0
            for start, value in pieces:
                if start < end:
                    raise StoreError(f"parts of `{key}` overlap or start before 0", store=repr(self), key=key)
                end = start + len(value)
        for key, pieces in parts.items():
            with self.lock([key]):
                whole = bytearray(self.get(key) or b"")
                for start, value in pieces:
                    if start > len(whole):
                        whole.extend(bytes(start - len(whole)))
                    whole[start : start + len(value)] = value
                self.set(key, bytes(whole))

    @abstractmethod
    def erase(self, key: str) -> None:
        """Removes `key`; nothing happens if it is absent."""

    def erase_values(self, keys: Iterable[str]) -> None:
        """Removes many keys."""
        self.check_writable()
        for key in keys:
            self.erase(key)

    def erase_prefix(self, prefix: str) -> None:
        """Removes every key that starts with `prefix`."""
        self.check_writable()
        self.erase_values(list(self.list_prefix(prefix)))

    # -- listing

    def list(self) -> Iterator[str]:
        """Every key."""
        return self.list_prefix("")

    @abstractmethod
    def list_prefix(self, prefix: str) -> Iterator[str]:
        """Every key that starts with `prefix`."""

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        """The keys and the prefixes that lie directly under `prefix`, each sorted and in full."""
        prefix = check_prefix(prefix)
        keys: set[str] = set()
        prefixes: set[str] = set()
        for key in self.list_prefix(prefix):
            name, slash, _ = key[len(prefix) :].partition("/")
            (prefixes if slash else keys).add(prefix + name + slash)
        return sorted(keys), sorted(prefixes)

    # -- agreement between writers

    def get_versioned(self, key: str) -> tuple[Buffer | None, Version]:
        """The value of `key` and its version, for `set_if`."""
        value = self.get(key)
        return value, None if value is None else bytes(value)

    def set_if(self, key: str, value: Buffer, version: Version) -> bool:
        """Sets `key` if it still has that version; False, and nothing is changed, if it has not."""
        self.check_writable()
        with self.lock([key]):
            if self.get_versioned(key)[1] != version:
                return False
            self.set(key, value)
            return True

    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]:
        """Keeps others from changing `keys` meanwhile. This fallback holds within the process; do not nest it."""
        return process_lock(self.location, keys)


# Locks are shared out by hash, so that their number stays fixed however many keys there are. Taken in the order of
# their index, they cannot wait for each other in a circle.
_STRIPES: list[threading.Lock] = [threading.Lock() for _ in range(256)]


def _unlocked_in_child() -> None:
    _STRIPES[:] = [threading.Lock() for _ in _STRIPES]  # their holders are threads that the child does not have


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlocked_in_child)


@contextmanager
def process_lock(location: str, keys: Iterable[str]) -> Iterator[None]:
    """Keeps the other threads of this process from the same keys of the same place."""
    stripes = [_STRIPES[index] for index in sorted({hash((location, key)) % len(_STRIPES) for key in keys})]
    taken: list[threading.Lock] = []
    try:
        for stripe in stripes:
            stripe.acquire()
            taken.append(stripe)
        yield
    finally:
        for stripe in reversed(taken):
            stripe.release()

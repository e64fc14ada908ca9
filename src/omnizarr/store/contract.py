"""What a store is: bytes under keys, asked for in batches, with fallbacks for whatever a store cannot do itself.

A store that implements `get`, `set`, `erase` and `list_prefix` is complete: everything else has a fallback here, and
a store overrides what it can do better. No store knows what its bytes mean.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self, TypeAlias

from omnizarr.errors import InvalidKeyError, ReadOnlyError, StoreError
from omnizarr.store.capabilities import CAPABILITIES, LocalFiles, Snapshots, Splicing, Updates, VersionedReads
from omnizarr.store.process_locks import TaskLock, process_lock, process_task_lock

if TYPE_CHECKING:
    from omnizarr.store.requests.window import Window

__all__ = [
    "Buffer",
    "ByteRange",
    "Piece",
    "Request",
    "State",
    "Store",
    "Version",
    "check_key",
    "check_prefix",
    "cut",
    "flat",
    "is_text",
    "overwritten",
    "parts_by_key",
    "process_lock",
    "refuse_start",
    "span",
]

Buffer: TypeAlias = bytes | bytearray | memoryview
"""A value, as it travels. Who receives one never changes it."""

ByteRange: TypeAlias = tuple[int, int | None]
"""`(start, length)`, `(start, None)` for all from `start`, `(-n, None)` for the last n bytes. What lies beyond the end
of the value is left off, as it is in a slice (S52, R112)."""

Request: TypeAlias = tuple[str, ByteRange | None]
"""A key and the part of its value that is wanted; None is the whole of it."""

Version: TypeAlias = Hashable
"""Tells one state of a key from another; None is the state of a key that is absent."""


class State(NamedTuple):
    """A value or a part of it, of a certain state."""

    data: Buffer | None
    """None if the value is not in the state that was asked for any more."""
    version: Version
    """Of the whole value; None if its states cannot be told apart. If the store has conditional writes, what
    `get_versioned` would have given."""
    size: int | None
    """Of the whole value; None if that is not known."""


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


def refuse_start(key: str, start: int, store: str) -> NoReturn:
    """For reading into memory from before the beginning: only ranges count from the end."""
    raise StoreError(f"cannot read `{key}` from byte {start} on", store=store, key=key)


def flat(value: Buffer) -> bytes | memoryview:
    """`value` in single bytes, copied only if they do not lie side by side: a view of numbers counts numbers."""
    if type(value) is bytes:
        return value
    view = memoryview(value)
    if view.itemsize == 1 and view.ndim == 1 and view.c_contiguous and view.format == "B":
        return view
    return view.cast("B") if view.c_contiguous and view.nbytes else bytes(view)


Piece: TypeAlias = tuple[int, Buffer]
"""Where a part of a value starts, and its bytes."""


def parts_by_key(items: Iterable[tuple[str, int, Buffer]], store: str) -> dict[str, list[Piece]]:
    """The parts that are to be written, by their keys and in order; refused if two of them overlap or one starts before
    the value does (R110, S54). `store` is how messages call it."""
    parts: dict[str, list[Piece]] = {}
    for key, start, value in items:
        parts.setdefault(key, []).append((start, flat(value)))
    for key, pieces in parts.items():
        pieces.sort(key=lambda piece: (piece[0], len(piece[1])))
        end = 0
        for start, value in pieces:
            if start < end:
                raise StoreError(f"parts of `{key}` overlap or start before 0", store=store, key=key)
            end = start + len(value)
    return parts


def overwritten(value: Buffer | None, pieces: Iterable[Piece]) -> bytes:
    """`value` with parts of it replaced: an absent one counts as empty, a gap is filled with zeros."""
    whole = bytearray(b"" if value is None else value)
    for start, part in pieces:
        if start > len(whole):
            whole.extend(bytes(start - len(whole)))
        whole[start : start + len(part)] = part
    return bytes(whole)


class Store(ABC):
    """Bytes under keys.

    Keys are case-sensitive and never end in `/`; prefixes are empty or end in `/`. An absent key is `None`. Stores may
    be used by many threads at once, can be pickled, and compare equal when they show the same location.

    What only some stores can do are capabilities: attributes that are objects, or None. A subclass does not inherit
    them, because it may change what values are and a capability of its base would bypass that. A subclass that shows
    the same values keeps them by `class Mine(LocalStore, keeps_capabilities=True)`; another one may define its own.
    """

    readable: bool = True
    writable: bool = True
    listable: bool = True
    locking: bool = False
    """Whether `lock` holds for every process that uses the location, not only for this one."""
    in_memory: bool = False
    """Whether `get` returns bytes that are in memory already, so that `get_into` would save nothing."""
    remote: bool = False
    """Whether a request takes so long that requests should be sent together."""

    snapshots: Snapshots | None = None
    """Opens one state of a value for several reads."""
    versioned_reads: VersionedReads | None = None
    """Reads parts of one version of a value."""
    updates: Updates | None = None
    """Compare-and-set for every process that uses the location."""
    splicing: Splicing | None = None
    """Builds a value from new bytes and parts of the old value."""
    local_files: LocalFiles | None = None
    """Native paths for the kernel."""

    _read_only: bool = False
    _copyable: bool = False
    """Whether `copy.copy` of a store with `_read_only` set shows the same location and refuses to write. Not inherited:
    a subclass may write in ways that do not ask."""

    def __init_subclass__(cls, *, keeps_capabilities: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not keeps_capabilities:
            for name in _NOT_INHERITED:
                if name not in vars(cls):
                    setattr(cls, name, getattr(Store, name))

    @property
    def read_only(self) -> bool:
        """Whether this object refuses to write; another one at the same place may not."""
        return self._read_only or not self.writable

    @property
    @abstractmethod
    def location(self) -> str:
        """Where it is, as a user would write it; never with credentials."""

    @property
    def full_location(self) -> str:
        """The location and whatever else tells the place from others, such as the server that a bucket is on: the same
        in every program, and never with credentials."""
        return self.location

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.location})"

    def parent(self) -> tuple[Store, str] | None:
        """The store one level up, and the name of this one in it; None where there is no such thing."""
        return None

    def check_writable(self) -> None:
        """Raises if this object must not write; every writing method calls it first."""
        if self.read_only:
            raise ReadOnlyError(f"{self!r} is open for reading only", store=repr(self))

    @property
    def window(self) -> Window | None:
        """How much may be under way at once, if whoever asks may keep many requests waiting in threads of its own; None
        if the store sends the requests of a batch together itself."""
        return None

    # -- its life

    def flush(self) -> None:  # noqa: B027
        """Make everything that was written visible to other processes. Most stores do so with every write."""

    def close(self) -> None:  # noqa: B027
        """Flush, and release resources. The store cannot be used afterwards. Most stores need not be closed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- reading

    @abstractmethod
    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        """The value of `key`, or the part of it that `range` names; None if there is no such key."""

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        """Fills `target`, a view of single bytes, with those of `key` from `start` on, which counts from the beginning;
        how many there were, or None if the key is absent."""
        if start < 0:
            refuse_start(key, start, repr(self))
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

    def file(self, key: str) -> str | None:
        """The native path of the file whose content is the value of `key`, or would be; None if values are no files.

        Like a capability, it is not inherited.
        """
        return None

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
        for key, pieces in parts_by_key(items, repr(self)).items():
            with self.lock([key]):
                self.set(key, overwritten(self.get(key), pieces))

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

    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]:
        """Keep other writers from changing `keys` until the block ends. Several holders of the `shared` side may hold
        it at once. The holder writes only these keys and takes no other lock.

        This fallback holds within the process; `locking` says whether `lock` holds between processes.
        """
        return process_lock(self.location, keys)

    def task_lock(self, key: str) -> AbstractContextManager[TaskLock]:
        """Wait until no other holder works on the task named `key`, which takes many writes, such as `append`. It does
        not keep anything else from writing. `TaskLock.broken` says whether the last holder crashed.

        A store that can keep the mark of a crash keeps it beside the data, so that every process finds it. This
        fallback holds, and remembers crashes, within the process.
        """
        return process_task_lock(f"{self.location}\0{key}")


_NOT_INHERITED = (*CAPABILITIES, "file", "_copyable")

"""What a store is: bytes under keys, asked for in batches, with fallbacks for whatever a store cannot do itself.

A store that implements `get`, `set`, `erase` and `list_prefix` is complete: everything else has a fallback here, and
a store overrides what it can do better. No store knows what its bytes mean.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self, TypeAlias

from omnizarr.errors import InvalidKeyError, ReadOnlyError, StoreError
from omnizarr.store.process_locks import TaskLock, process_lock, process_task_lock

if TYPE_CHECKING:
    from omnizarr.store.requests.window import Window
    from omnizarr.store.snapshot import Snapshot

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


_RELATED = (
    ("holds", "hold", ("get",)),
    ("states", "get_state", ("get",)),
    ("splices", "splice", ("get", "hold", "set", "set_if")),
    ("files", "paths", ("path_of", "get", "get_into", "get_each", "get_partial_values", "hold")),
    ("takes_files", "set_files", ("set", "set_each", "set_if")),
)
"""Capabilities, the methods behind them, and the methods that whoever replaces them has made those wrong."""


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
    erases_if: bool = False
    """Whether `erase_if` is atomic for everybody who uses the place, not only for this process."""
    holds: bool = False
    """Whether `hold` gives values."""
    states: bool = False
    """Whether `get_state` tells states of a value apart."""
    splices: bool = False
    """Whether it has `splice`, which takes less time and memory than to read a value and to set it again."""
    files: bool = False
    """Whether every value is a file of its own, which `paths` names, and which `hold` gives opened."""
    takes_files: bool = False
    """Whether it has `set_files`."""
    remote: bool = False
    """Whether a request costs so much time that requests should be sent together; else a worker that decodes a value
    also gets it."""

    _read_only: bool = False
    _twins: bool = False
    """Whether a copy of an object of this very class that has `_read_only` set shows the same place."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Who shows other values than the class it derives from must say itself how they are held and put together."""
        super().__init_subclass__(**options)
        for capability, method, related in _RELATED:
            first = next(base for base in cls.__mro__ if vars(base).keys() & {method, *related})
            if method not in vars(first) and capability not in vars(cls):
                setattr(cls, capability, False)
        if "paths" in vars(cls) and "path_of" not in vars(cls):
            cls.path_of = Store.path_of  # type: ignore[method-assign]  # which asks the new one

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
        """Makes what was written visible to everybody. Nothing to do for a store that does so with every write."""

    def close(self) -> None:  # noqa: B027
        """Finishes what was begun and lets go of what is held; such a store cannot be used any more. Most stores hold
        nothing and need not be closed."""

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

    def hold(self, key: str) -> Snapshot | None:
        """The value of `key` as it is now, to read several parts of it; to be closed. None if there is none, and from
        a store that cannot promise one state of a value to several requests: `holds` says whether it can."""
        return None

    def path_of(self, key: str) -> tuple[str, int]:
        """`paths` for a single key."""
        (path,), flags = self.paths(((key, ("",)),))
        return path, flags

    def paths(self, rows: Iterable[tuple[str, Sequence[str]]]) -> tuple[list[str], int]:
        """The files that hold the values of keys, or would, and the flags to open them with, for reading. Keys come in
        rows: what they begin with, and how each of them goes on. They may be opened at once and not much later:
        directories on the way were looked at. Only where `files` is so."""
        raise AssertionError(f"{self!r} says that it has no files")

    def get_state(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        """The value of `key` or a part of it, with what tells the state that it is from; None if there is no such key.
        With a `version` from an earlier answer, only from that same state: parts that are asked for one by one are then
        parts of one value. `states` says whether this store can do so."""
        value = self.get(key, range)
        return None if value is None else State(value, None, len(value) if range is None else None)

    def recall(self, key: str) -> tuple[Buffer | None, Version] | None:
        """What `get_versioned` gave last, or would have given after the last `set_if`, without asking; None if that is
        not known any more. It may be long past: only for `set_if`, which notices."""
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

    def set_files(self, keys: Sequence[str], write: Callable[[list[str]], bytes]) -> bytes | None:
        """Has somebody else write files, whose paths `write` is given, and makes those the values of the keys for which
        its answer is 0; gives that answer. What is not there is not missed, and of the others nothing is left. None if
        it cannot be done in this way; only where `takes_files` is so."""
        return None

    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        """Overwrites parts of values: (key, start, bytes). Parts of one key must not overlap. An absent key counts as
        empty, a gap is filled with zeros; each key changes wholly or not at all."""
        self.check_writable()
        for key, pieces in parts_by_key(items, repr(self)).items():
            with self.lock([key]):
                self.set(key, overwritten(self.get(key), pieces))

    def splice(self, key: str, pieces: Sequence[Buffer | tuple[int, int]], held: Snapshot) -> bool:
        """Makes the value of `key` out of bytes and of parts, (start, length), of the value that is held, if that is
        still its value; False, and nothing is changed, if it is not. Only for stores that say that they have it."""
        raise StoreError(f"{self!r} puts no values together out of others", store=repr(self), key=key)

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

    def get_limited(self, key: str, limit: int) -> tuple[Buffer | None, Version] | None:
        """What `get_versioned` gives; None if the value is longer than `limit`, and then it is not read, unless it is
        in memory already, or far away, where to ask for its length would cost as much as the value."""
        if not (self.in_memory or self.remote) and (self.size(key) or 0) > limit:
            return None
        return self.get_versioned(key)

    def set_if(self, key: str, value: Buffer, version: Version) -> bool:
        """Sets `key` if it still has that version; False, and nothing is changed, if it has not."""
        self.check_writable()
        with self.lock([key]):
            if self.get_versioned(key)[1] != version:
                return False
            self.set(key, value)
            return True

    def erase_if(self, key: str, version: Version) -> bool:
        """Removes `key` if it still has that version; False, and nothing is changed, if it has not."""
        self.check_writable()
        with self.lock([key]):
            if self.get_versioned(key)[1] != version:
                return False
            self.erase(key)
            return True

    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]:
        """Keeps others from changing `keys` meanwhile; of those who ask for the `shared` side several may hold it at
        once. Whoever holds a lock writes nothing but its keys, and takes no other one. This fallback holds within the
        process."""
        return process_lock(self.location, keys)

    def task_lock(self, key: str) -> AbstractContextManager[TaskLock]:
        """Waits for one's turn at a task that takes many writes, and has `key` for its name: whoever else wants a turn
        at it waits, and nobody is kept from writing. It tells whether somebody died during theirs. This fallback holds
        within the process."""
        return process_task_lock(f"{self.location}\0{key}")

"""The contract of a store: bytes under keys, read and written singly or in batches.

A store that implements `location`, `get`, `set`, `erase` and `list_prefix` (or `list`, or `list_dir`) is complete. All
other verbs have fallbacks here; a store overrides those that it can do better. A store does not know what its bytes
mean.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Self

from omnizarr.errors import ReadOnlyError
from omnizarr.store.capabilities import CAPABILITIES, LocalFiles, Snapshots, Splicing, Updates, VersionedReads
from omnizarr.store.thread_locks import TaskLock, thread_lock, thread_task_lock
from omnizarr.store.values import (
    Buffer,
    ByteRange,
    Patch,
    Request,
    State,
    Version,
    check_key,
    check_prefix,
    cut,
    extent_of,
    flat,
    is_text,
    patched,
    patches_by_key,
    reject_start,
)
from omnizarr.store.verbs import verb, verbs

if TYPE_CHECKING:
    from omnizarr.store.requests.window import Window

__all__ = [
    "Buffer",
    "ByteRange",
    "Patch",
    "Request",
    "State",
    "Store",
    "Version",
    "check_key",
    "check_prefix",
    "cut",
    "extent_of",
    "flat",
    "is_text",
    "patched",
    "patches_by_key",
    "reject_start",
    "thread_lock",
]


class Store(ABC):
    """Bytes under keys.

    Keys are case-sensitive and never end in `/`; prefixes are empty or end in `/`. An absent key is `None`. Stores may
    be used by many threads at once, can be pickled, and compare equal when they show the same location.

    What only some stores can do are capabilities: attributes that are objects, or None. A subclass that overrides a
    verb that reads or changes values does not inherit them, because they would bypass its verb. If it shows the same
    values, it keeps them by `class Mine(LocalStore, keeps_capabilities=True)`; it may also define its own. It does not
    inherit the other verbs of the same kind either, but gets the fallbacks of this class, which call its own verb.
    """

    readable: bool = True
    writable: bool = True
    listable: bool = True
    locking: bool = False
    """Whether `lock` holds for every process that uses the location, not only for this one."""
    transactional: bool = False
    """Whether readers see no change before a commit of the store itself, so that the order of writes is free."""
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

    read_only_hint: str | None = None
    """What to do instead of writing, for errors of an object that rejects writes."""

    _read_only: bool = False
    _copyable: bool = False
    """Whether `copy.copy` of a store with `_read_only` set shows the same location and rejects writes. Not inherited:
    a subclass may write in ways that do not ask."""

    def __init_subclass__(cls, *, keeps_capabilities: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        defined = {name for base in cls.__mro__ if base is cls or not issubclass(base, Store) for name in vars(base)}
        lacks_verbs = any(getattr(verb, "__isabstractmethod__", False) for verb in (cls.list_prefix, cls.set_each))
        if lacks_verbs and not defined.isdisjoint(("list", "list_dir", "set_partial_values")):
            from omnizarr.store.derived_verbs import derive_verbs  # lazy import: few stores need it

            derive_verbs(cls, Store)
        if keeps_capabilities:
            return
        dropped = {"_copyable"}
        if not defined.isdisjoint(_VALUE_VERBS):
            dropped.update(CAPABILITIES, ("file",))
            for verb, others in _FAMILIES.items():
                if verb in defined:
                    dropped.update(others)
        for name in dropped - defined:
            setattr(cls, name, getattr(Store, name))

    @property
    def read_only(self) -> bool:
        """Whether this object rejects writes; another object for the same location may write."""
        return self._read_only or not self.writable

    @property
    @abstractmethod
    def location(self) -> str:
        """The location as a user would write it, never with credentials."""

    @property
    def full_location(self) -> str:
        """The location with everything that distinguishes it from others, such as the server of a bucket. The same in
        every program, never with credentials."""
        return self.location

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.location})"

    def parent(self) -> tuple[Store, str] | None:
        """The store one level up, and the name of this one in it; None if there is none."""
        return None

    def check_writable(self) -> None:
        """Raise if this object must not write; every writing method calls it first."""
        if self.read_only:
            raise ReadOnlyError(f"{self!r} is open for reading only", hint=self.read_only_hint, store=repr(self))

    @property
    def window(self) -> Window | None:
        """The flow control for callers that send single requests from many threads; None if the store sends the
        requests of a batch together itself."""
        return None

    # -- flush and close

    def flush(self) -> None:  # noqa: B027
        """Make everything that was written visible to other processes. Most stores do so with every write."""

    def close(self) -> None:  # noqa: B027
        """Flush, and release resources. The store cannot be used afterwards. Most stores need not be closed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- reading

    @verb()
    @abstractmethod
    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        """The value of `key`, or the part `range` of it; None if there is no such key."""

    @verb(fallback="get")
    def get_current(self, key: str) -> Buffer | None:
        """The stored value, never from a cache; None if there is no such key. For values that a change depends on."""
        return self.get(key)

    @verb(fallback="get")
    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        """Fill `target`, a view of single bytes, with the bytes of `key` from `start` on.

        Returns how many bytes there were; None if there is no such key.
        """
        if start < 0:
            reject_start(key, start, repr(self))
        value = self.get(key, (start, len(target)))
        if value is None:
            return None
        target[: len(value)] = value
        return len(value)

    @verb(fallback="get")
    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        """The values for `requests`, in their order."""
        answers: list[Buffer | None] = [None] * len(requests)
        for index, value in self.get_each(requests):
            answers[index] = value
        return answers

    @verb(fallback="get")
    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        """The values as they arrive, each with the position of its request. The store limits the bytes in flight."""
        for index, (key, range) in enumerate(requests):
            yield index, self.get(key, range)

    def file(self, key: str) -> str | None:
        """The native path of the file whose content is the value of `key`, or would be; None if values are no files.

        It is inherited like a capability.
        """
        return None

    @verb(fallback="get")
    def exists(self, key: str) -> bool:
        """Whether there is such a key."""
        return self.get(key, (0, 0)) is not None

    @verb(fallback="get")
    def size(self, key: str) -> int | None:
        """The length of the value of `key`; None if there is no such key."""
        value = self.get(key)
        return None if value is None else len(value)

    # -- writing

    @verb(writes=True)
    @abstractmethod
    def set(self, key: str, value: Buffer) -> None:
        """Set the value of `key`; readers see the old value or the new one."""

    @verb(writes=True, fallback="set")
    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        """Set many values; values that were set before a failure stay set."""
        self.check_writable()
        for key, value in items:
            self.set(key, value)

    @verb(writes=True, fallback="set")
    def set_partial_values(self, items: Iterable[tuple[str, int, Buffer]]) -> None:
        """Overwrite parts of values: (key, start, bytes). Parts of one key must not overlap. An absent key counts as
        empty, and a gap is filled with zeros. All parts of a key become visible together."""
        self.check_writable()
        from omnizarr.store.update import KeyAccess, update  # lazy import: few programs write parts of values

        for key, patches in patches_by_key(items, repr(self)).items():

            def attempt(access: KeyAccess, key: str = key, patches: Sequence[Patch] = patches) -> bool | None:
                stored = access.read(key)
                value, version = (None, None) if stored is None else stored
                return access.write(key, patched(value, patches), version) or None

            update(self, [key], attempt)

    @verb(writes=True)
    @abstractmethod
    def erase(self, key: str) -> None:
        """Remove `key`, if it exists."""

    @verb(writes=True, fallback="erase")
    def erase_values(self, keys: Iterable[str]) -> None:
        """Remove many keys."""
        self.check_writable()
        for key in keys:
            self.erase(key)

    @verb(writes=True, fallback="erase")
    def erase_prefix(self, prefix: str) -> None:
        """Remove every key that starts with `prefix`."""
        self.check_writable()
        self.erase_values(list(self.list_prefix(prefix)))

    # -- listing

    @verb(fallback="list_prefix")
    def list(self) -> Iterator[str]:
        """Every key."""
        return self.list_prefix("")

    @verb()
    @abstractmethod
    def list_prefix(self, prefix: str) -> Iterator[str]:
        """Every key that starts with `prefix`."""

    @verb(fallback="list_prefix")
    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        """The keys and the prefixes directly under `prefix`, both sorted and with `prefix` in front."""
        prefix = check_prefix(prefix)
        keys: set[str] = set()
        prefixes: set[str] = set()
        for key in self.list_prefix(prefix):
            name, slash, _ = key[len(prefix) :].partition("/")
            (prefixes if slash else keys).add(prefix + name + slash)
        return sorted(keys), sorted(prefixes)

    # -- agreement between writers

    @verb()
    def lock(self, keys: Iterable[str], *, shared: bool = False) -> AbstractContextManager[None]:
        """Keep other writers from changing `keys` until the block ends. Several holders of the `shared` side may hold
        it at once. The holder writes only these keys and takes no other lock.

        This fallback holds within the process; `locking` says whether `lock` holds between processes.
        """
        return thread_lock(self.location, keys)

    @verb()
    def task_lock(self, key: str) -> AbstractContextManager[TaskLock]:
        """Wait until no other holder works on the task named `key`, which takes many writes, such as `append`. It does
        not keep anything else from writing. `TaskLock.broken` says whether the last holder crashed.

        A store that can keep the mark of a crash keeps it beside the data, so that every process finds it. This
        fallback holds, and remembers crashes, within the process.
        """
        return thread_task_lock(self.location, key)


_VERBS = verbs(Store)
_FAMILIES = {
    first: tuple(name for name, mark in _VERBS.items() if mark.fallback == first)
    for first in ("get", "set", "erase", "list_prefix")
}
"""Verbs, and the verbs whose fallback in `Store` calls them. A subclass that overrides the first gets the fallback of
the others, unless it overrides them too: an inherited `get_into` would bypass its `get`."""
_VALUE_VERBS = frozenset(verb for first in ("get", "set", "erase") for verb in (first, *_FAMILIES[first]))
"""Verbs that read or change values."""

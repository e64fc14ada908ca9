"""Capabilities: what some stores can do beyond the verbs of `Store`.

Each capability is an object that a store offers as an attribute, or None if the store cannot do it: `snapshots`,
`versioned_reads`, `updates`, `splicing`, `local_files`. A store class offers one in its class body:

    class MemoryStore(Store):
        snapshots = provides(MemorySnapshots)

A capability object is a small view of its store. It is made when the attribute is read, so that a copy of a store, a
pickled one and a store whose locks fail later all offer what they can do themselves. Code that runs per chunk keeps the
object instead of reading the attribute again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from omnizarr.store.snapshot import Snapshot
from omnizarr.store.values import Buffer, ByteRange, Extent, State, Version
from omnizarr.store.verbs import verb

__all__ = [
    "ABSENT",
    "CAPABILITIES",
    "LocalFiles",
    "Snapshots",
    "Splicing",
    "StartedRead",
    "Updates",
    "Versioned",
    "VersionedReads",
    "WriteFiles",
    "provides",
]

CAPABILITIES = ("snapshots", "versioned_reads", "updates", "splicing", "local_files")
"""The attributes of a store that are capabilities."""

ABSENT = ""
"""What `Snapshots.versions` gives for an absent key."""

Versioned: TypeAlias = tuple[Buffer | None, Version]
"""A value and its version; `(None, None)` for an absent key."""


def provides(make: Callable[[Any], object | None]) -> Any:
    """A class attribute that offers a capability: `make(store)` gives the object, or None if this store lacks it."""
    return property(make, doc="A capability of this store, or None if it lacks it; `Store` says what it does.")


class Snapshots(ABC):
    """Opens a value so that several reads see one state of it, even if a writer replaces the value in between."""

    lasting: bool = False
    """Whether `lasting_version` may return text."""

    @verb()
    @abstractmethod
    def open(self, key: str) -> Snapshot | None:
        """A snapshot of the current value, which the caller closes; None if there is no such key."""

    @verb()
    def versions(self, keys: Sequence[str]) -> list[object]:
        """For each key the version that `open` would give; ABSENT if there is no such key, None if it has no version
        now."""
        versions: list[object] = []
        for key in keys:
            snapshot = self.open(key)
            if snapshot is None:
                versions.append(ABSENT)
                continue
            try:
                versions.append(snapshot.version)
            finally:
                snapshot.close()
        return versions

    def lasting_version(self, version: object) -> str | None:
        """A version of this store as text that no other state of the same location ever has: it can be stored, and
        compared by other processes and after a restart. None if the store cannot promise that."""
        return None


class VersionedReads(ABC):
    """Reads parts of one version of a value by independent requests, for stores that keep nothing open."""

    @verb()
    @abstractmethod
    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        """The value or a part of it, with its version; None if there is no such key.

        With a `version` from an earlier answer, the data is of that version, or None if the value has changed.
        """

    begins: bool = False
    """Whether `begin` sends requests. Ask before each use of it: a wrapper that changes what `get` returns has none."""

    @verb(fallback="get")
    def begin(self, key: str, range: Extent, version: Version = None) -> StartedRead | None:
        """Send a request for a part of a value, which starts at 0 or later, and return before the answer arrives. None
        if the store cannot do that, or not for this request."""
        return None


class StartedRead(ABC):
    """A request in flight. Either `finish` or `abandon` must be called."""

    waited: bool = False
    """Whether the answer was not there yet when `finish` was called."""

    @abstractmethod
    def finish(self, memory: memoryview | None = None) -> State | None:
        """What `VersionedReads.get` returns. The data may be received into `memory`, if it is long enough."""

    @abstractmethod
    def abandon(self) -> None:
        """Drop the answer."""


class Updates(ABC):
    """Compare-and-set that is atomic for every process that uses the location, not only for this one."""

    erases: bool = False
    """Whether `erase` is available."""

    @verb()
    @abstractmethod
    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        """The stored value and its version, never from a cache; None if the value is longer than `limit` bytes.

        A store that would have to ask for the length first may ignore `limit`.
        """

    @verb()
    def last_known(self, key: str) -> Versioned | None:
        """What the last `read` gave, or the last `write` left, without a request; None if that is not known.

        It may be outdated. That is safe for `write`, which compares the version.
        """
        return None

    @verb(writes=True)
    @abstractmethod
    def write(self, key: str, value: Buffer, version: Version) -> bool:
        """Set `key` if it still has `version` (None: if it is still absent); False, without a change, if it has not.

        Raises `omnizarr.errors.UncertainWriteError` if the store cannot tell.
        """

    @verb(writes=True)
    def erase(self, key: str, version: Version) -> bool:
        """Remove `key` if it still has `version`; False, without a change, if it has not. Only if `erases`."""
        raise NotImplementedError  # `erases` is false: callers do not call it


class Splicing(ABC):
    """Builds a value from new bytes and parts of the old value without moving those parts through this process."""

    @verb(writes=True)
    @abstractmethod
    def splice(self, key: str, parts: Sequence[Buffer | Extent], snapshot: Snapshot) -> bool:
        """Set `key` to `parts`, one after the other, where an extent is a part of `snapshot`.

        False, without a change, if `snapshot` is no longer the value of `key`.
        """


WriteFiles: TypeAlias = Callable[[tuple[object, ...], list[str], list[str]], bytes]
"""Writes each file under a temporary name and renames it, under the lock of the directory."""


class LocalFiles(ABC):
    """Native paths for the kernel, of a store in which every value is one file."""

    @verb()
    @abstractmethod
    def path(self, key: str) -> tuple[str, int]:
        """The path of the file that holds `key`, or would, and the flags for `open`.

        Open the file at once: the directories on the way were checked just now, or the flags have `NO_LINKS`, which
        only the kernel knows: it then checks them while it opens the file.
        """

    @verb()
    @abstractmethod
    def paths(self, rows: Iterable[tuple[str, Sequence[str]]]) -> tuple[list[str], int]:
        """`path` for many keys. Keys come in rows: the beginning of the keys, and the endings."""

    @verb(writes=True)
    @abstractmethod
    def publish(self, keys: Sequence[str], write: WriteFiles) -> bytes | None:
        """Store the values of keys of one directory by a call of `write(target, temporary_names, names)`, and return
        its result: one status byte per key, 0 if it is stored. `target` is what the kernel needs to know about the
        directory. None, without a call, if this way is not possible for these keys."""

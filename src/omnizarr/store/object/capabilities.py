"""The capabilities of an object store: snapshots, reads of one version, and conditional requests."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeAlias

from omnizarr.errors import StoreError
from omnizarr.store.capabilities import Snapshots, Updates, Versioned, VersionedReads
from omnizarr.store.contract import Buffer, ByteRange, State, Version, flat
from omnizarr.store.object.reader import ObjectReader, version_of
from omnizarr.store.snapshot import Snapshot

__all__ = ["LastKnownValues", "ObjectSnapshots", "ObjectUpdates", "ObjectVersionedReads"]

_Put: TypeAlias = Callable[[str, Buffer, Any], Any]

_MOST_VALUES = 256
_LONGEST_VALUE = 2**15  # bytes


class LastKnownValues:
    """Small values with the versions that the last requests found, for `Updates.last_known`; drops the oldest."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, tuple[bytes | None, Version]] = OrderedDict()

    def get(self, key: str) -> Versioned | None:
        return self._values.get(key)

    def forget(self, key: str) -> None:
        self._values.pop(key, None)

    def remember(self, key: str, value: Buffer | None, version: Version) -> None:
        """Keep a value with its version, or, if both are None, that the key is absent."""
        values = self._values
        values.pop(key, None)
        if (version is None) != (value is None) or (value is not None and len(value) > _LONGEST_VALUE):
            return
        values[key] = None if value is None else bytes(value), version
        if len(values) > _MOST_VALUES:
            try:
                values.popitem(last=False)
            except KeyError:  # another thread did it
                pass


class ObjectSnapshots(Snapshots):
    """A snapshot is a version: no request stays open."""

    def __init__(self, reader: ObjectReader) -> None:
        self._reader = reader

    def open(self, key: str) -> Snapshot | None:
        head = self._reader.head(key)
        return None if head is None else _ObjectSnapshot(self._reader, key, head["size"], version_of(head))


class ObjectVersionedReads(VersionedReads):
    """The version of a value is its ETag, and its version in a bucket that keeps old ones."""

    def __init__(self, reader: ObjectReader) -> None:
        self._reader = reader

    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        return self._reader.read(key, range, version)


class ObjectUpdates(Updates):
    """Conditional requests: the server compares the ETag."""

    def __init__(self, reader: ObjectReader, put: _Put, last_known: LastKnownValues) -> None:
        """`put(key, value, mode)` returns the metadata of the new object; None if the condition of `mode` fails."""
        self._reader = reader
        self._put = put
        self._last_known = last_known

    def read(self, key: str, limit: int | None = None) -> Versioned:
        state = self._reader.read(key)  # to ask for the length first would cost as much as a small value
        if state is None or state.data is None:
            self._last_known.remember(key, None, None)
            return None, None
        self._last_known.remember(key, state.data, state.version)
        return state.data, state.version

    def last_known(self, key: str) -> Versioned | None:
        return self._last_known.get(key)

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        if isinstance(version, tuple):
            names = ("e_tag", "version")
            mode: Any = {name: part for name, part in zip(names, version, strict=True) if part is not None}
        else:
            mode = "create"
        head = self._put(key, value, mode)
        if head is None:
            return False
        self._last_known.remember(key, bytes(flat(value)), version_of(head))
        return True


class _ObjectSnapshot(Snapshot):
    """One version of an object. If a writer replaces the object, reading raises an error."""

    def __init__(self, reader: ObjectReader, key: str, size: int, version: Version) -> None:
        self._reader = reader
        self._key = key
        self.size = size
        self._version = version

    @property
    def version(self) -> object:
        return self._version

    def get(self, range: ByteRange) -> Buffer:
        state = self._reader.read(self._key, range, self._version)
        if state is None or state.data is None or (self._version is None and state.size != self.size):
            raise StoreError(
                f"`{self._key}` in {self._reader.store} was replaced while it was read",
                hint="read it again",
                store=self._reader.store,
                key=self._key,
            )
        return state.data

    def close(self) -> None:
        pass  # it holds no resources

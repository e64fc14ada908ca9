"""The capabilities of an object store that read: snapshots, and reads of one version."""

from __future__ import annotations

from collections import OrderedDict

from omnizarr.errors import StoreError
from omnizarr.store.capabilities import Snapshots, StartedRead, Versioned, VersionedReads
from omnizarr.store.contract import Buffer, ByteRange, State, Version
from omnizarr.store.object.reader import ObjectReader, version_of
from omnizarr.store.snapshot import Snapshot
from omnizarr.store.values import Extent

__all__ = ["LastKnownValues", "ObjectSnapshots", "ObjectVersionedReads"]

_WITH_ETAGS = ("s3", "gs", "az")  # kinds of servers whose ETags differ for all states of an object
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
        # Servers of other kinds may make ETags of times that repeat.
        self.lasting = reader.kind in _WITH_ETAGS

    def open(self, key: str) -> Snapshot | None:
        head = self._reader.head(key)
        return None if head is None else _ObjectSnapshot(self._reader, key, head["size"], version_of(head))

    def lasting_version(self, version: object) -> str | None:
        return repr(version) if self.lasting and isinstance(version, tuple) else None


class ObjectVersionedReads(VersionedReads):
    """The version of a value is its ETag, and its version in a bucket that keeps old ones."""

    def __init__(self, reader: ObjectReader) -> None:
        self._reader = reader

    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        return self._reader.read(key, range, version)

    @property
    def begins(self) -> bool:  # type: ignore[override]
        return self._reader.begins

    def begin(self, key: str, range: Extent, version: Version = None) -> StartedRead | None:
        return self._reader.begin(key, range, version)


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

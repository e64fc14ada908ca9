"""Capabilities of a content-addressed store. Objects never change, so that a pointer is a version of its value."""

from __future__ import annotations

from omnizarr.errors import StoreError
from omnizarr.store import Buffer, ByteRange, Snapshot, Snapshots, Updates, VersionedReads
from omnizarr.store.capabilities import Versioned
from omnizarr.store.contract import State, Version, extent_of, flat
from omnizarr.store.snapshot import BytesSnapshot, SnapshotPart
from omnizarr.transformers.content.objects import ContentObjects
from omnizarr.transformers.content.pointer import POINTER_LIMIT, Pointer, damaged

__all__ = ["ContentReads", "ContentSnapshots", "ContentUpdates"]


class _ContentSnapshot(Snapshot):
    """An object. A read of the whole value compares it with its digest; a read of a part does not."""

    def __init__(self, objects: ContentObjects, key: str, pointer: Pointer, opened: Snapshot | None) -> None:
        self._objects = objects
        self._key = key
        self._pointer = pointer
        self._opened = opened
        self.size = pointer.size

    @property
    def version(self) -> object:
        return self._pointer

    def get(self, range: ByteRange) -> Buffer:
        data: Buffer | None
        if self._opened is None:
            data = self._objects.read(self._pointer, range, self._key)
            if data is None:
                raise StoreError(
                    f"the value of `{self._key}` was replaced and removed",
                    store=repr(self._objects.inner),
                    key=self._key,
                )
            return data
        start, length = extent_of(range, self.size)
        data = self._opened.get((start, length))
        if length == self.size:
            self._objects.verify(self._pointer, data, self._key)
        return data

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


class ContentSnapshots(Snapshots):
    """A snapshot is an object, open if the store below can open values."""

    def __init__(self, objects: ContentObjects) -> None:
        self._objects = objects
        self._inner = objects.inner.snapshots

    def open(self, key: str) -> Snapshot | None:
        objects, inner = self._objects, self._inner
        if not objects.is_chunk(key):
            if inner is not None:
                return inner.open(key)
            value = objects.inner.get(key)
            # A part of a snapshot has no version: nothing tells whether the value is still the same.
            return None if value is None else SnapshotPart(BytesSnapshot(bytes(value)), 0, len(value))

        def opened(pointer: Pointer) -> Snapshot | None:
            object_key = objects.addresses.object_key(pointer.name)
            if inner is None:
                exists = objects.inner.exists(object_key)
                return _ContentSnapshot(objects, key, pointer, None) if exists else None
            snapshot = inner.open(object_key)
            if snapshot is None:
                return None
            if snapshot.size != pointer.size:
                snapshot.close()
                raise damaged(
                    key,
                    f"its object `{object_key}` is damaged: expected {pointer.size} bytes, found {snapshot.size}",
                )
            return _ContentSnapshot(objects, key, pointer, snapshot)

        snapshot: Snapshot | None = objects.follow(key, opened)
        return snapshot


class ContentReads(VersionedReads):
    """Parts of an object; its pointer is the version, so that later parts take one request each."""

    def __init__(self, objects: ContentObjects) -> None:
        self._objects = objects
        inner = objects.inner.versioned_reads
        assert inner is not None
        self._inner: VersionedReads = inner

    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        objects = self._objects
        if not objects.is_chunk(key):
            return self._inner.get(key, range, version)

        def read(pointer: Pointer) -> State | None:
            data = objects.read(pointer, range, key)
            return None if data is None else State(data, objects.addresses.dump(pointer), pointer.size)

        if version is None:
            state: State | None = objects.follow(key, read)
            return state
        assert isinstance(version, bytes)
        pointer = objects.addresses.parse(version, key)
        return read(pointer) or State(None, None, None)


class ContentUpdates(Updates):
    """Compare-and-set of the pointer. A version is the text of a pointer: equal values have equal versions."""

    def __init__(self, objects: ContentObjects) -> None:
        self._objects = objects
        inner = objects.inner.updates
        assert inner is not None
        self._inner: Updates = inner
        self.erases = inner.erases

    def _read(self, key: str) -> tuple[bytes | None, Version]:
        """The stored pointer as bytes, and its version in the inner store."""
        answer = self._inner.read(key, POINTER_LIMIT)
        if answer is None:
            raise damaged(key, f"expected a pointer, found more than {POINTER_LIMIT} bytes")
        stored, version = answer
        return None if stored is None else bytes(stored), version

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        objects = self._objects
        if not objects.is_chunk(key):
            return self._inner.read(key, limit)

        def find() -> Pointer | None:
            stored, _ = self._read(key)
            return None if stored is None else objects.addresses.parse(stored, key)

        def read(pointer: Pointer) -> tuple[Pointer, Buffer | None] | None:
            if limit is not None and pointer.size > limit:
                return pointer, None
            value = objects.read(pointer, None, key)
            return None if value is None else (pointer, value)

        answer: tuple[Pointer, Buffer | None] | None = objects.follow(key, read, find)
        if answer is None:
            return None, None
        pointer, value = answer
        return None if value is None else (value, objects.addresses.dump(pointer))

    def last_known(self, key: str) -> Versioned | None:
        return None if self._objects.is_chunk(key) else self._inner.last_known(key)

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        objects = self._objects
        if not objects.is_chunk(key):
            return self._inner.write(key, value, version)
        objects.inner.check_writable()
        inner_version = self._inner_version(key, version)
        if inner_version is False:
            return False
        (pointer,) = objects.store([flat(value)])
        return self._inner.write(key, objects.addresses.dump(pointer), inner_version)

    def erase(self, key: str, version: Version) -> bool:
        objects = self._objects
        if not objects.is_chunk(key):
            return self._inner.erase(key, version)
        objects.inner.check_writable()
        inner_version = self._inner_version(key, version)
        return inner_version is not False and self._inner.erase(key, inner_version)

    def _inner_version(self, key: str, version: Version) -> Version:
        """The version in the inner store of the pointer `version`; False if the key holds another one."""
        if version is None:
            return None
        stored, inner_version = self._read(key)
        return inner_version if stored is not None and stored == version else False

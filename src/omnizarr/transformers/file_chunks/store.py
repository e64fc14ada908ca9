"""A store that shows parts of other files as chunks, where no chunk of its own is stored.

- A stored chunk takes precedence over an entry of the manifest.
- Writing a chunk stores it. Other files are never changed.
- Erasing a chunk that the manifest has stores an empty value, which hides the entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, NoReturn

from omnizarr.config import config
from omnizarr.errors import StoreError
from omnizarr.store import Buffer, ByteRange, Request, Snapshot, Snapshots, Store, Updates, WrapperStore, provides
from omnizarr.store.capabilities import Versioned
from omnizarr.store.references.targets import Targets, without_password
from omnizarr.store.values import Version, check_prefix, extent_of, flat
from omnizarr.transformers.contract import ArrayPlace
from omnizarr.transformers.file_chunks.manifest import FilePart, Manifest, parse_manifest

__all__ = ["FileChunkStore"]

_PARSED: dict[tuple[bytes, object], Manifest] = {}
_MOST_PARSED = 4  # manifests that handles of the process share, so that a resized array need not parse its own again


class FileChunkStore(WrapperStore):
    """The chunks of one array: those in `inner`, and parts of files that the manifest gives for the others."""

    snapshots = provides(lambda store: None if store.inner.snapshots is None else _FileSnapshots(store))
    updates = provides(lambda store: None if store.inner.updates is None else _FileUpdates(store))

    def __init__(self, inner: Store, place: ArrayPlace, manifest: str) -> None:
        super().__init__(inner)
        self.place = place
        self.manifest_key = place.prefix + manifest
        self.in_memory = False
        allowed, options = ((), {}) if place.files is None else (place.files.locations, place.files.options)
        self._targets = Targets(
            inner,
            place.prefix,
            allowed,
            options,
            hint="if you trust it, allow it: `storage_transformers=[omnizarr.transformers.AllowFiles([…])]`",
        )
        self.remote = inner.remote or any("://" in one and not one.startswith("file:") for one in allowed)
        self._manifest: Manifest | None = None

    def _identity(self) -> tuple[Any, ...]:
        return self.inner, self.place, self.manifest_key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileChunkStore) and other._identity() == self._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.inner, self.place, self.manifest_key[len(self.place.prefix) :])

    # -- the manifest

    def _coordinates(self, key: str) -> tuple[int, ...] | None:
        """The coordinates of a chunk; None if `key` is not the key of a chunk (S66)."""
        prefix = self.place.prefix
        if not key.startswith(prefix):
            return None
        return self.place.chunk_keys.coordinates(key[len(prefix) :], self.place.rank)

    def is_chunk(self, key: str) -> bool:
        """Whether `key` is the key of a chunk, which the manifest may have."""
        return self._coordinates(key) is not None

    def part(self, key: str) -> FilePart | None:
        """The part of a file that the manifest gives for a chunk; None if there is none."""
        coordinates = self._coordinates(key)
        return None if coordinates is None else self.manifest().find(coordinates)

    def manifest(self) -> Manifest:
        """The manifest, which is loaded once."""
        if self._manifest is None:
            self._manifest = self._load()  # two threads may load it at once, which is harmless
        return self._manifest

    def _load(self) -> Manifest:
        limit = config.current.max_document_bytes
        key, keys, rank = self.manifest_key, self.place.chunk_keys, self.place.rank
        value = self.inner.get(key, (0, limit + 1))
        if value is None:
            raise StoreError(
                f"the chunk manifest `{key}` in {self.inner!r} does not exist",
                hint="`omnizarr.write_chunk_manifest` writes one",
                store=repr(self),
                key=key,
            )
        known = blake2b(value, digest_size=16).digest(), (rank, keys)
        manifest = _PARSED.get(known)
        if manifest is None:
            manifest = parse_manifest(value, rank, keys, f"the chunk manifest `{key}` in {self.inner!r}", limit)
            while len(_PARSED) >= _MOST_PARSED:
                try:
                    _PARSED.pop(next(iter(_PARSED)), None)
                except (StopIteration, RuntimeError):  # another thread dropped one
                    break
            _PARSED[known] = manifest
        return manifest

    # -- reading

    def _read(self, key: str, part: FilePart, range: ByteRange | None) -> Buffer:
        store, target = self._targets.find(_relative(part.path), repr(self))
        start, length = extent_of(range, part.length)
        value = store.get(target, (part.offset + start, length)) if length else b""
        return self.checked(key, part, length, value)

    def checked(self, key: str, part: FilePart, length: int, value: Buffer | None) -> Buffer:
        """A value that was read from a file; StoreError if it is missing or too short."""
        if value is None:
            self._fail(key, part, "which does not exist")
        if len(value) != length:
            self._fail(key, part, "which is too short")
        return value

    def _fail(self, key: str, part: FilePart, what: str) -> NoReturn:
        raise StoreError(
            f"`{key}` in {self!r} is a part of `{without_password(part.path)}`, {what}",
            hint="the file was moved, removed or changed after the chunk manifest was written",
            store=repr(self),
            key=key,
        )

    def is_hidden(self, key: str) -> bool:
        """Whether an empty stored value means that there is no chunk: the manifest has it, and it was erased."""
        return self.part(key) is not None and self.inner.size(key) == 0

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        value = self.inner.get(key, range)
        return self._answer(key, range, value)

    def get_current(self, key: str) -> Buffer | None:
        return self._answer(key, None, self.inner.get_current(key))

    def _answer(self, key: str, range: ByteRange | None, value: Buffer | None) -> Buffer | None:
        if value is not None:
            return None if not len(value) and self.is_chunk(key) and self.is_hidden(key) else value
        part = self.part(key)
        return None if part is None else self._read(key, part, range)

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        """Stored chunks first; then the parts of files, together for each store."""
        stores: dict[int, tuple[Store, list[tuple[int, FilePart, str, tuple[int, int]]]]] = {}
        for index, value in self.inner.get_each(requests):
            key, range = requests[index]
            part = self.part(key) if value is None else None
            if part is None:
                yield index, self._answer(key, range, value)
                continue
            store, target = self._targets.find(_relative(part.path), repr(self))
            start, length = extent_of(range, part.length)
            stores.setdefault(id(store), (store, []))[1].append((index, part, target, (part.offset + start, length)))
        for store, parts in stores.values():
            for position, value in store.get_each([(target, extent) for _, _, target, extent in parts]):
                index, part, _, (_, length) = parts[position]
                yield index, self.checked(requests[index][0], part, length, value)

    def exists(self, key: str) -> bool:
        return self.size(key) is not None

    def size(self, key: str) -> int | None:
        size = self.inner.size(key)
        if size or not self.is_chunk(key):
            return size
        part = self.part(key)
        if part is None:
            return size
        return part.length if size is None else None

    # -- writing

    def set(self, key: str, value: Buffer) -> None:
        self.check_value(key, value)
        self.inner.set(key, value)

    def check_value(self, key: str, value: Buffer) -> None:
        """Reject an empty value for a chunk of the manifest, because it would mean that there is no chunk."""
        if not len(flat(value)) and self.part(key) is not None:
            raise StoreError(
                f"an empty value cannot be stored as `{key}` in {self!r}: it marks an erased chunk of the manifest",
                store=repr(self),
                key=key,
            )

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        def checked() -> Iterator[tuple[str, Buffer]]:
            for key, value in items:
                self.check_value(key, value)
                yield key, value

        self.check_writable()
        self.inner.set_each(checked())

    def erase(self, key: str) -> None:
        self.erase_values([key])

    def erase_values(self, keys: Iterable[str]) -> None:
        self.check_writable()
        hidden: list[str] = []
        others: list[str] = []
        for key in keys:
            (others if self.part(key) is None else hidden).append(key)
        if hidden:
            self.inner.set_each((key, b"") for key in hidden)
        if others:
            self.inner.erase_values(others)

    # -- listing

    def list(self) -> Iterator[str]:
        return self.list_prefix("")

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self._listed(check_prefix(prefix))

    def _listed(self, prefix: str) -> Iterator[str]:
        stored: set[str] = set()
        own = self.place.prefix
        related = self._is_related(prefix)
        for key in self.inner.list_prefix(prefix):
            if related and self.part(key) is not None:
                stored.add(key)
                if self.inner.size(key) == 0:
                    continue
            yield key
        if related and self.inner.exists(self.manifest_key):
            for chunk in self.manifest().chunks():
                key = own + self.place.chunk_keys.key(chunk)
                if key.startswith(prefix) and key not in stored:
                    yield key

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        prefix = check_prefix(prefix)
        return Store.list_dir(self, prefix) if self._is_related(prefix) else self.inner.list_dir(prefix)

    def _is_related(self, prefix: str) -> bool:
        """Whether chunks of the array may lie below a prefix."""
        return prefix.startswith(self.place.prefix) or self.place.prefix.startswith(prefix)


def _relative(path: str) -> str:
    return path.removeprefix("./")


class _FileSnapshots(Snapshots):
    def __init__(self, store: FileChunkStore) -> None:
        self._store = store

    def open(self, key: str) -> Snapshot | None:
        store = self._store
        snapshots = store.inner.snapshots
        assert snapshots is not None
        snapshot = snapshots.open(key)
        if snapshot is not None:
            if snapshot.size or store.part(key) is None:
                return snapshot
            snapshot.close()  # an erased chunk of the manifest
            return None
        part = store.part(key)
        return None if part is None else _PartSnapshot(store, key, part)


class _PartSnapshot(Snapshot):
    """A part of a file. The file must not change: its bytes are read when they are needed."""

    def __init__(self, store: FileChunkStore, key: str, part: FilePart) -> None:
        self._store = store
        self._key = key
        self._part = part
        self.size = part.length

    @property
    def version(self) -> object:
        return self._part

    def get(self, range: ByteRange) -> Buffer:
        return self._store._read(self._key, self._part, range)

    def close(self) -> None:
        pass


class _FileUpdates(Updates):
    """The version of a stored chunk is that of the inner store, and that of a chunk in a file is the part of the file.

    An erased chunk of the manifest is absent, so that its version is None; the inner store has an empty value."""

    def __init__(self, store: FileChunkStore) -> None:
        self._store = store
        assert store.inner.updates is not None
        self._inner: Updates = store.inner.updates
        self.erases = self._inner.erases

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        store = self._store
        answer = self._inner.read(key, limit)
        if answer is None or not store.is_chunk(key) or (answer[0] is not None and len(answer[0])):
            return answer
        part = store.part(key)
        if part is None:
            return answer
        if answer[0] is not None:
            return None, None
        return None if limit is not None and part.length > limit else (store._read(key, part, None), part)

    def last_known(self, key: str) -> Versioned | None:
        return None if self._store.is_chunk(key) else self._inner.last_known(key)

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        self._store.check_writable()
        self._store.check_value(key, value)
        return self._change(key, value, version)

    def erase(self, key: str, version: Version) -> bool:
        self._store.check_writable()
        if self._store.part(key) is None:
            return self._inner.erase(key, version)
        return (version is None and self._hidden(key) is not None) or self._change(key, b"", version)

    def _change(self, key: str, value: Buffer, version: Version) -> bool:
        part = self._store.part(key)
        if part is None:
            return self._inner.write(key, value, version)
        if version is None:
            hidden = self._hidden(key)
            return hidden is not None and self._inner.write(key, value, hidden)
        if isinstance(version, FilePart):
            return version == part and self._inner.write(key, value, None)
        return self._inner.write(key, value, version)

    def _hidden(self, key: str) -> Version:
        """The inner version of the empty value that hides an entry; None if there is none."""
        answer = self._inner.read(key)
        return answer[1] if answer is not None and answer[0] is not None and not len(answer[0]) else None

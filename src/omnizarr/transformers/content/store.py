"""A store of values by their digest: the key of a chunk holds a pointer, and the pointer names an object (Z14–Z16)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from omnizarr.errors import ArgumentError
from omnizarr.store import Buffer, ByteRange, Request, Store, WrapperStore, check_prefix, provides
from omnizarr.store.contract import extent_of, flat, reject_start
from omnizarr.transformers.content.capabilities import ContentReads, ContentSnapshots, ContentUpdates
from omnizarr.transformers.content.objects import ContentObjects
from omnizarr.transformers.content.pointer import FOLDER, POINTER_LIMIT, Addresses, Pointer
from omnizarr.transformers.contract import ArrayPlace

__all__ = ["ContentStore"]

_BATCH_ITEMS, _BATCH_BYTES = 64, 64 * 2**20  # values that are stored together


class ContentStore(WrapperStore):
    """The chunks of one array as objects in `inner`, under the digests of their values."""

    snapshots = provides(lambda store: ContentSnapshots(store.objects))
    versioned_reads = provides(
        lambda store: None if store.inner.versioned_reads is None else ContentReads(store.objects)
    )
    updates = provides(lambda store: None if store.inner.updates is None else ContentUpdates(store.objects))

    def __init__(self, inner: Store, place: ArrayPlace, addresses: Addresses) -> None:
        super().__init__(inner)
        self.in_memory = False  # values are checked first
        self.place = place
        self.addresses = addresses
        self.objects = ContentObjects(inner, place, addresses)
        self._hidden = addresses.folder
        if place.chunk_keys.key((0,) * place.rank).startswith(FOLDER):
            raise ArgumentError(
                f"the chunk keys {place.chunk_keys!r} begin with `{FOLDER}`, where objects are stored",
                argument="chunk_key_encoding",
            )
        below = inner
        while isinstance(below, WrapperStore):
            if isinstance(below, ContentStore) and below.place.prefix == place.prefix:
                raise ArgumentError("an array can be content-addressed only once", argument="storage_transformers")
            below = below.inner

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ContentStore) and (other.inner, other.place, other.addresses) == (
            self.inner,
            self.place,
            self.addresses,
        )

    def __hash__(self) -> int:
        return hash((self.inner, self.place, self.addresses))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.inner, self.place, self.addresses)

    # -- reading

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        if not self.objects.is_chunk(key):
            return self.inner.get(key, range)
        data: Buffer | None = self.objects.follow(key, lambda pointer: self.objects.read(pointer, range, key))
        return data

    def get_current(self, key: str) -> Buffer | None:
        if not self.objects.is_chunk(key):
            return self.inner.get_current(key)

        def find() -> Pointer | None:
            return self.objects.read_pointer(key, current=True)

        data: Buffer | None = self.objects.follow(key, lambda pointer: self.objects.read(pointer, None, key), find)
        return data

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        if not self.objects.is_chunk(key):
            return self.inner.get_into(key, start, target)
        if start < 0:
            reject_start(key, start, repr(self))

        def read(pointer: Pointer) -> int | None:
            at, length = extent_of((start, len(target)), pointer.size)
            part = target[:length]
            object_key = self.addresses.object_key(pointer.name)
            count = self.inner.get_into(object_key, at, part)
            if count is not None:
                whole = length == pointer.size
                self.objects.check(pointer, part[:count], (object_key, (at, length)), whole, key)
            return count

        count: int | None = self.objects.follow(key, read)
        return count

    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        return Store.get_partial_values(self, requests)

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        """Two batches however many requests there are: the pointers, then the objects."""
        chunks = list(dict.fromkeys(key for key, _ in requests if self.objects.is_chunk(key)))
        stored = self.inner.get_partial_values([(key, (0, POINTER_LIMIT + 1)) for key in chunks]) if chunks else []
        pointers = {
            key: None if value is None else self.addresses.parse(value, key)
            for key, value in zip(chunks, stored, strict=True)
        }
        batch: list[Request] = []
        origins: list[tuple[int, bool]] = []
        for index, (key, range) in enumerate(requests):
            if key not in pointers:
                batch.append((key, range))
                origins.append((index, False))
            elif (pointer := pointers[key]) is None:
                yield index, None
            else:
                request, whole = self.objects.request(pointer, range)
                batch.append(request)
                origins.append((index, whole))
        for number, data in self.inner.get_each(batch):
            index, whole = origins[number]
            key, range = requests[index]
            pointer = pointers.get(key)
            if pointer is None:
                yield index, data
            elif data is None:
                yield index, self.get(key, range)  # the pointer may have changed
            else:
                request, _ = self.objects.request(pointer, range)
                yield index, self.objects.check(pointer, data, request, whole, key)

    def exists(self, key: str) -> bool:
        return self.inner.exists(key)

    def size(self, key: str) -> int | None:
        if not self.objects.is_chunk(key):
            return self.inner.size(key)
        pointer = self.objects.read_pointer(key)
        return None if pointer is None else pointer.size

    # -- writing

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        if self.objects.is_chunk(key):
            (pointer,) = self.objects.store([flat(value)])
            value = self.addresses.dump(pointer)
        self.inner.set(key, value)

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()
        batch: list[tuple[str, Buffer]] = []
        size = 0
        for key, value in items:
            if not self.objects.is_chunk(key):
                self.inner.set(key, value)
                continue
            data = bytes(flat(value))  # copied, because the producer of the items may reuse their memory
            batch.append((key, data))
            size += len(data)
            if len(batch) == _BATCH_ITEMS or size >= _BATCH_BYTES:
                self._set_batch(batch)
                batch, size = [], 0
        if batch:
            self._set_batch(batch)

    def _set_batch(self, batch: Sequence[tuple[str, Buffer]]) -> None:
        pointers = self.objects.store([data for _, data in batch])
        self.inner.set_each(
            (key, self.addresses.dump(pointer)) for (key, _), pointer in zip(batch, pointers, strict=True)
        )

    def erase_prefix(self, prefix: str) -> None:
        self.check_writable()
        prefix = check_prefix(prefix)
        if self._hidden.startswith(prefix) or prefix.startswith(self._hidden):
            # ContentObjects stay: another writer may be about to refer to them.
            self.inner.erase_values(list(self.list_prefix(prefix)))
        else:
            self.inner.erase_prefix(prefix)

    # -- listing: pointers are shown as values, and objects are not shown

    def list(self) -> Iterator[str]:
        return self.list_prefix("")

    def list_prefix(self, prefix: str) -> Iterator[str]:
        prefix = check_prefix(prefix)
        if prefix.startswith(self._hidden):
            return iter(())
        return (key for key in self.inner.list_prefix(prefix) if not key.startswith(self._hidden))

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        prefix = check_prefix(prefix)
        if prefix.startswith(self._hidden):
            return [], []
        keys, prefixes = self.inner.list_dir(prefix)
        if not self._hidden.startswith(prefix):
            return keys, prefixes
        above = prefix + self._hidden[len(prefix) :].partition("/")[0] + "/"
        if above in prefixes and next(self.list_prefix(above), None) is None:
            prefixes = [name for name in prefixes if name != above]
        return keys, prefixes

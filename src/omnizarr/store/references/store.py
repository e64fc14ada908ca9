"""A store of references: values are parts of other files, in the format of kerchunk and VirtualiZarr."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NoReturn

from omnizarr import _json
from omnizarr.config import config
from omnizarr.errors import StoreError
from omnizarr.store.address.parse import value_at
from omnizarr.store.contract import Buffer, ByteRange, Request, Store, check_key, check_prefix, cut, extent_of
from omnizarr.store.object.options import deobfuscate, obfuscate
from omnizarr.store.references.json_ import Reference, parse_references
from omnizarr.store.references.table import ReferenceTable
from omnizarr.store.references.targets import Targets, without_password

__all__ = ["ReferenceStore", "open_inside"]

_ReferencesValue = tuple[Store, str]
"""The store and the key of a document or of a folder with parquet files."""


class ReferenceStore(Store):
    """Shows the chunks that lie in other files, for reading only.

    `references` is a path or a URL of a JSON document, or of a folder of parquet files; or the document itself, as a
    dict. The store reads target files in the folder of the references, and below the paths and URLs in `allow`; it
    rejects all others. `target_options` are the storage options for stores of other locations; they may be nested under
    the names of schemes.
    """

    writable = False

    def __init__(
        self,
        references: str | os.PathLike[str] | Mapping[str, Any],
        *,
        allow: Iterable[str | os.PathLike[str]] = (),
        storage_options: Mapping[str, Any] | None = None,
        target_options: Mapping[str, Any] | None = None,
    ) -> None:
        value: _ReferencesValue | None = None
        document: Mapping[str, Any] | None = None
        if isinstance(references, Mapping):
            document = references
        else:
            value = value_at(os.fspath(references), storage_options)
        self._begin(value, document, allow, dict(target_options or {}))

    @classmethod
    def inside(
        cls,
        store: Store,
        key: str,
        *,
        allow: Iterable[str | os.PathLike[str]] = (),
        target_options: Mapping[str, Any] | None = None,
    ) -> ReferenceStore:
        """The references that lie under a key of another store: a value, or a prefix with parquet files."""
        new = cls.__new__(cls)
        new._begin((store, key), None, allow, dict(target_options or {}))
        return new

    def _begin(
        self,
        value: _ReferencesValue | None,
        document: Mapping[str, Any] | None,
        allow: Iterable[str | os.PathLike[str]],
        options: dict[str, Any],
    ) -> None:
        self._value = value
        self._document = document
        self._target_options = options
        store, prefix = (None, "") if value is None else (value[0], value[1][: value[1].rfind("/") + 1])
        self._targets = Targets(store, prefix, allow, options)
        self._loaded: ReferenceTable | None = None
        self.remote = (value is not None and value[0].remote) or any(
            "://" in address and not address.startswith("file:") for address in self._targets.allowed
        )

    @property
    def location(self) -> str:
        if self._value is None:
            return "reference::<dict>"
        return f"reference::{self._value[0].location.removesuffix('/')}/{self._value[1]}"

    @property
    def full_location(self) -> str:
        if self._value is None:
            return f"{self.location} {blake2b(_json.dump(self._document, allow_nan=True), digest_size=16).hexdigest()}"
        return f"reference::{self._value[0].full_location}/{self._value[1]}"

    def _identity(self) -> tuple[Any, ...]:
        return self._value or (id(self._document),), self._targets.allowed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReferenceStore) and other._identity() == self._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[Any, ...]:
        options = obfuscate({"allow": self._targets.allowed, "target_options": self._target_options})
        return _restore, (type(self), self._value, self._document, options)

    # -- the references

    def _table(self) -> ReferenceTable:
        if self._loaded is None:
            self._loaded = self._load()  # two threads may load it at once, which is harmless
        return self._loaded

    def _load(self) -> ReferenceTable:
        what = f"the references {self.location.removeprefix('reference::')}"
        limit = config.current.max_document_bytes
        if self._value is None:
            return ReferenceTable(parse_references(self._document, what))
        store, key = self._value
        value = store.get(key, (0, limit + 1))
        if value is not None:
            return ReferenceTable(parse_references(_json.parse(value, what, limit=limit), what))
        value = store.get(f"{key}/.zmetadata", (0, limit + 1))
        if value is None:
            raise StoreError(f"no references found at {self.location}", store=repr(self), key=key)
        from omnizarr.store.references.parquet import parquet_table

        return parquet_table(store, key, _json.parse(value, what, limit=limit), what)

    def _reference(self, key: str) -> Reference | None:
        reference = self._table().get(key)
        if reference is None:
            check_key(key)
        return reference

    # -- reading

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        reference = self._reference(key)
        if reference is None:
            return None
        if isinstance(reference, bytes):
            return cut(reference, range)
        store, target = self._targets.find(reference[0], repr(self))
        target_range = _target_range(reference, range)
        return self._check_value(key, reference, target_range, store.get(target, target_range))

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        stores: dict[int, tuple[Store, list[tuple[int, Reference, str, ByteRange | None]]]] = {}
        for number, (key, range) in enumerate(requests):
            reference = self._reference(key)
            if reference is None or isinstance(reference, bytes):
                yield number, None if reference is None else cut(reference, range)
            else:
                store, target = self._targets.find(reference[0], repr(self))
                stores.setdefault(id(store), (store, []))[1].append(
                    (number, reference, target, _target_range(reference, range))
                )
        for store, pending in stores.values():
            for position, value in store.get_each([(target, target_range) for _, _, target, target_range in pending]):
                number, reference, _, target_range = pending[position]
                yield number, self._check_value(requests[number][0], reference, target_range, value)

    def _check_value(
        self, key: str, reference: Reference, target_range: ByteRange | None, value: Buffer | None
    ) -> Buffer:
        url = str(reference[0])
        if value is None:
            self._fail(
                key, url, "which does not exist", "the file was moved or removed after the references were created"
            )
        if reference[2] is not None and target_range is not None and len(value) != target_range[1]:
            self._fail(key, url, "which is too short", "the file was changed after the references were created")
        return value

    def _fail(self, key: str, url: str, what: str, hint: str) -> NoReturn:
        raise StoreError(
            f"`{key}` in {self!r} is a part of `{without_password(url)}`, {what}", hint=hint, store=repr(self), key=key
        )

    def exists(self, key: str) -> bool:
        return self._reference(key) is not None

    def size(self, key: str) -> int | None:
        reference = self._reference(key)
        if reference is None:
            return None
        if isinstance(reference, bytes):
            return len(reference)
        if reference[2] is not None:
            return reference[2]
        store, target = self._targets.find(reference[0], repr(self))
        size = store.size(target)
        return None if size is None else max(0, size - reference[1])

    # -- writing is not possible

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()

    def erase(self, key: str) -> None:
        self.check_writable()

    # -- listing

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self._table().below(check_prefix(prefix))

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        keys, prefixes = self._table().children(check_prefix(prefix))
        return sorted(keys), sorted(prefixes)


def _target_range(reference: Reference, range: ByteRange | None) -> ByteRange | None:
    """The part of the target file for a part of the value."""
    assert not isinstance(reference, bytes)
    _, offset, length = reference
    if length is None:
        return range  # the whole file
    start, count = extent_of(range, length)
    return offset + start, count


def _restore(
    cls: type[ReferenceStore], value: _ReferencesValue | None, document: Any, options: Mapping[str, Any]
) -> ReferenceStore:
    new = cls.__new__(cls)
    plain = deobfuscate(options)
    new._begin(value, document, plain["allow"], plain["target_options"])
    return new


def open_inside(
    store: Store,
    key: str,
    *,
    allow: Iterable[str | os.PathLike[str]] = (),
    target_options: Mapping[str, Any] | None = None,
) -> ReferenceStore:
    """The references that are the value of `key`."""
    return ReferenceStore.inside(store, key, allow=allow, target_options=target_options)

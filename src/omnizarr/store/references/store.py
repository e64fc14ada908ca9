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
from omnizarr.store.contract import Buffer, ByteRange, Request, Store, check_key, check_prefix, cut, span
from omnizarr.store.object.options import deobfuscate, obfuscate
from omnizarr.store.references.json_ import Reference, parse_references
from omnizarr.store.references.table import ReferenceTable
from omnizarr.store.references.targets import Targets, shown

__all__ = ["ReferenceStore", "open_inside"]

_Place = tuple[Store, str]


class ReferenceStore(Store):
    """Shows the chunks that lie in other files, for reading only.

    `references` is a path or a URL of a JSON document, or of a folder of parquet files; or the document itself, as a
    dict. Files beside it may be read, and those below the places that `allow` names; all others are refused. The
    stores of other places are given `target_options`, which may be divided by scheme.
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
        place: _Place | None = None
        document: Mapping[str, Any] | None = None
        if isinstance(references, Mapping):
            document = references
        else:
            place = value_at(os.fspath(references), storage_options)
        self._begin(place, document, allow, dict(target_options or {}))

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
        made = cls.__new__(cls)
        made._begin((store, key), None, allow, dict(target_options or {}))
        return made

    def _begin(
        self,
        place: _Place | None,
        document: Mapping[str, Any] | None,
        allow: Iterable[str | os.PathLike[str]],
        options: dict[str, Any],
    ) -> None:
        self._place = place
        self._document = document
        self._target_options = options
        beside, prefix = (None, "") if place is None else (place[0], place[1][: place[1].rfind("/") + 1])
        self._targets = Targets(beside, prefix, allow, options)
        self._loaded: ReferenceTable | None = None
        remote = [place] if place is not None and place[0].remote else []
        self.remote = bool(remote) or any("://" in one and not one.startswith("file:") for one in self._targets.allowed)

    @property
    def location(self) -> str:
        if self._place is None:
            return "reference::<dict>"
        return f"reference::{self._place[0].location.removesuffix('/')}/{self._place[1]}"

    @property
    def full_location(self) -> str:
        if self._place is None:
            return f"{self.location} {blake2b(_json.dump(self._document, allow_nan=True), digest_size=16).hexdigest()}"
        return f"reference::{self._place[0].full_location}/{self._place[1]}"

    def _identity(self) -> tuple[Any, ...]:
        return self._place or (id(self._document),), self._targets.allowed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReferenceStore) and other._identity() == self._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[Any, ...]:
        said = obfuscate({"allow": self._targets.allowed, "target_options": self._target_options})
        return _restored, (type(self), self._place, self._document, said)

    # -- the references

    def _table(self) -> ReferenceTable:
        if self._loaded is None:
            self._loaded = self._load()  # two threads may load it at once, which is harmless
        return self._loaded

    def _load(self) -> ReferenceTable:
        what = f"the references {self.location.removeprefix('reference::')}"
        limit = config.current.max_document_bytes
        if self._place is None:
            return ReferenceTable(parse_references(self._document, what))
        store, key = self._place
        value = store.get(key, (0, limit + 1))
        if value is not None:
            return ReferenceTable(parse_references(_json.parse(value, what, limit=limit), what))
        value = store.get(f"{key}/.zmetadata", (0, limit + 1))
        if value is None:
            raise StoreError(f"no references found at {self.location}", store=repr(self), key=key)
        from omnizarr.store.references.parquet import parquet_table

        return parquet_table(store, key, _json.parse(value, what, limit=limit), what)

    def _reference(self, key: str) -> Reference | None:
        found = self._table().get(key)
        if found is None:
            check_key(key)
        return found

    # -- reading

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        found = self._reference(key)
        if found is None:
            return None
        if isinstance(found, bytes):
            return cut(found, range)
        store, target = self._targets.find(found[0], repr(self))
        asked = _asked(found, range)
        return self._checked(key, found, asked, store.get(target, asked))

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        stores: dict[int, tuple[Store, list[tuple[int, Reference, str, ByteRange | None]]]] = {}
        for number, (key, range) in enumerate(requests):
            found = self._reference(key)
            if found is None or isinstance(found, bytes):
                yield number, None if found is None else cut(found, range)
            else:
                store, target = self._targets.find(found[0], repr(self))
                stores.setdefault(id(store), (store, []))[1].append((number, found, target, _asked(found, range)))
        for store, wanted in stores.values():
            for position, value in store.get_each([(target, asked) for _, _, target, asked in wanted]):
                number, found, _, asked = wanted[position]
                yield number, self._checked(requests[number][0], found, asked, value)

    def _checked(self, key: str, found: Reference, asked: ByteRange | None, value: Buffer | None) -> Buffer:
        url = str(found[0])
        if value is None:
            self._fail(
                key, url, "which does not exist", "the file was moved or removed after the references were created"
            )
        if found[2] is not None and asked is not None and len(value) != asked[1]:
            self._fail(key, url, "which is too short", "the file was changed after the references were created")
        return value

    def _fail(self, key: str, url: str, what: str, hint: str) -> NoReturn:
        raise StoreError(
            f"`{key}` in {self!r} is a part of `{shown(url)}`, {what}", hint=hint, store=repr(self), key=key
        )

    def exists(self, key: str) -> bool:
        return self._reference(key) is not None

    def size(self, key: str) -> int | None:
        found = self._reference(key)
        if found is None:
            return None
        if isinstance(found, bytes):
            return len(found)
        if found[2] is not None:
            return found[2]
        store, target = self._targets.find(found[0], repr(self))
        size = store.size(target)
        return None if size is None else max(0, size - found[1])

    # -- writing is refused

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


def _asked(found: Reference, range: ByteRange | None) -> ByteRange | None:
    """The part of the target file for a part of the value."""
    assert not isinstance(found, bytes)
    _, offset, length = found
    if length is None:
        return range  # the whole file
    start, wanted = span(range, length)
    return offset + start, wanted


def _restored(
    cls: type[ReferenceStore], place: _Place | None, document: Any, said: Mapping[str, Any]
) -> ReferenceStore:
    made = cls.__new__(cls)
    known = deobfuscate(said)
    made._begin(place, document, known["allow"], known["target_options"])
    return made


def open_inside(
    store: Store,
    key: str,
    *,
    allow: Iterable[str | os.PathLike[str]] = (),
    target_options: Mapping[str, Any] | None = None,
) -> ReferenceStore:
    """The references that are the value of `key`."""
    return ReferenceStore.inside(store, key, allow=allow, target_options=target_options)

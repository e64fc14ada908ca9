"""Stores in front of another store: `WrapperStore` and `TransparentStore` to derive from, and two that are ready."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from omnizarr.errors import ArgumentError, ReadOnlyError
from omnizarr.store.capabilities import (
    LocalFiles,
    Snapshots,
    Splicing,
    Updates,
    VersionedReads,
    provides,
)
from omnizarr.store.contract import Store, check_prefix
from omnizarr.store.verbs import forwards

if TYPE_CHECKING:
    from omnizarr.store.requests.window import Window

__all__ = [
    "ForwardedFiles",
    "ForwardedReads",
    "ForwardedSnapshots",
    "ForwardedSplicing",
    "ForwardedUpdates",
    "MappedStore",
    "PrefixStore",
    "ReadOnlyStore",
    "TransparentStore",
    "WrapperStore",
    "as_read_only",
    "forwarded",
]

C = TypeVar("C")


@forwards
class WrapperStore(Store):
    """Forwards every verb to `inner`, under the same keys, and no capability.

    A subclass that overrides `get`, `set` or `erase` gets the fallbacks of `Store` for the verbs that it does not
    override, so that batches pass through its own verbs. If it shows the same values as `inner`, derive it from
    `TransparentStore`.
    """

    _inner_key: Callable[[str], str] | None = None  # only a `MappedStore` has other keys than `inner`

    def __init__(self, inner: Store) -> None:
        if not isinstance(inner, Store):
            raise ArgumentError(
                f"`inner`: expected a store, found {type(inner).__name__}",
                argument="inner",
                hint="`omnizarr.open_group(location).store` is the store of a path or URL",
            )
        self.inner = inner
        self.readable = inner.readable
        self.writable = inner.writable
        self.listable = inner.listable
        self.remote = inner.remote
        self.in_memory = inner.in_memory
        self.transactional = inner.transactional

    @property
    def locking(self) -> bool:  # type: ignore[override]  # it may change when the first lock is taken
        return self.inner.locking

    @property
    def read_only(self) -> bool:
        return self.inner.read_only

    @property
    def read_only_hint(self) -> str | None:  # type: ignore[override]  # that of the inner store, which may be a copy
        """What to do instead of writing, for errors of an object that rejects writes."""
        return self.inner.read_only_hint

    @property
    def location(self) -> str:
        return self.inner.location

    @property
    def full_location(self) -> str:
        return self.inner.full_location

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrapperStore) and type(other) is type(self) and other.inner == self.inner

    def __hash__(self) -> int:
        return hash((type(self), self.inner))

    def parent(self) -> tuple[Store, str] | None:
        return None  # a wrapper was made for this store, and not for the one above it

    @property
    def window(self) -> Window | None:
        return self.inner.window

    def check_writable(self) -> None:
        self.inner.check_writable()

    def flush(self) -> None:
        self.inner.flush()

    def close(self) -> None:
        self.inner.close()

    if TYPE_CHECKING:  # `forwards` defines them
        get = Store.get
        set = Store.set
        erase = Store.erase
        list_prefix = Store.list_prefix


class _Forwarded(Generic[C]):
    """The capability `inner` of the inner store, under the keys of the wrapper `store`."""

    def __init__(self, store: WrapperStore, inner: C) -> None:
        self.store = store
        self.inner = inner
        self._inner_key = store._inner_key

    def check_writable(self) -> None:
        self.store.check_writable()


@forwards
class ForwardedSnapshots(_Forwarded[Snapshots], Snapshots):
    @property
    def lasting(self) -> bool:  # type: ignore[override]  # that of the inner store
        return self.inner.lasting

    def lasting_version(self, version: object) -> str | None:
        return self.inner.lasting_version(version)

    if TYPE_CHECKING:
        open = Snapshots.open


@forwards
class ForwardedReads(_Forwarded[VersionedReads], VersionedReads):
    @property
    def begins(self) -> bool:  # type: ignore[override]
        return type(self).get is ForwardedReads.get and self.inner.begins  # a subclass may have its own `get`

    if TYPE_CHECKING:
        get = VersionedReads.get


@forwards
class ForwardedUpdates(_Forwarded[Updates], Updates):
    @property
    def erases(self) -> bool:  # type: ignore[override]  # that of the inner store, which may depend on its options
        return self.inner.erases

    if TYPE_CHECKING:
        read = Updates.read
        write = Updates.write


@forwards
class ForwardedSplicing(_Forwarded[Splicing], Splicing):
    if TYPE_CHECKING:
        splice = Splicing.splice


@forwards
class ForwardedFiles(_Forwarded[LocalFiles], LocalFiles):
    if TYPE_CHECKING:
        path = LocalFiles.path
        paths = LocalFiles.paths
        publish = LocalFiles.publish


def forwarded(name: str, make: Callable[[Any, Any], object]) -> Any:
    """A class attribute of a wrapper that offers the capability `name` of the inner store, if that has it, as
    `make(wrapper, capability)`."""

    def of(store: WrapperStore) -> object | None:
        inner = getattr(store.inner, name)
        return None if inner is None else make(store, inner)

    return provides(of)


class TransparentStore(WrapperStore):
    """Forwards every verb and every capability to `inner`.

    For wrappers that show the same values, such as with other rights. As with every store, a subclass that
    overrides a verb for values keeps the capabilities only by `keeps_capabilities=True`.
    """

    snapshots = forwarded("snapshots", ForwardedSnapshots)
    versioned_reads = forwarded("versioned_reads", ForwardedReads)
    updates = forwarded("updates", ForwardedUpdates)
    splicing = forwarded("splicing", ForwardedSplicing)
    local_files = forwarded("local_files", ForwardedFiles)

    def file(self, key: str) -> str | None:
        return self.inner.file(key)


class ReadOnlyStore(TransparentStore, keeps_capabilities=True):
    """The same store, for reading only."""

    @property
    def read_only(self) -> bool:
        return True

    def parent(self) -> tuple[Store, str] | None:
        above = self.inner.parent()
        return None if above is None else (as_read_only(above[0]), above[1])

    def check_writable(self) -> NoReturn:
        raise ReadOnlyError(f"{self.inner!r} is open for reading only", store=repr(self.inner))


def as_read_only(store: Store) -> Store:
    """The same location, for reading only. A store of omnizarr gives a copy that rejects writes, from which no
    reference leads to the writable one; other stores are wrapped in a `ReadOnlyStore`."""
    if store.read_only:
        return store
    if store._copyable:
        twin = copy.copy(store)
        twin._read_only = True
        return twin
    return ReadOnlyStore(store)


class MappedStore(TransparentStore, keeps_capabilities=True):
    """Shows the values of `inner` under other keys.

    Every verb and every capability goes through `inner_key`, and every listing through `own_key`. A subclass may list
    and erase prefixes faster.
    """

    @abstractmethod
    def inner_key(self, key: str) -> str:
        """The key in `inner` that stands for `key`. An invalid key must stay invalid, so that `inner` rejects it."""

    @abstractmethod
    def own_key(self, inner_key: str) -> str | None:
        """The key that stands for a key of `inner`; None if this store does not show it."""

    @abstractmethod
    def inner_prefixes(self, prefix: str) -> Iterable[str]:
        """Prefixes of `inner` that contain every key below `prefix`, and do not overlap."""

    @property
    def _inner_key(self) -> Callable[[str], str]:  # type: ignore[override]
        return self.inner_key

    def file(self, key: str) -> str | None:
        return self.inner.file(self.inner_key(key))

    def list(self) -> Iterator[str]:
        return self._keys_below("")

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self._keys_below(check_prefix(prefix))

    def _keys_below(self, prefix: str) -> Iterator[str]:
        for inner_prefix in self.inner_prefixes(prefix):
            for inner_key in self.inner.list_prefix(inner_prefix):
                key = self.own_key(inner_key)
                if key is not None and key.startswith(prefix):
                    yield key

    list_dir = Store.list_dir
    erase_prefix = Store.erase_prefix


class _PrefixFiles(ForwardedFiles):
    store: PrefixStore

    def paths(self, rows: Iterable[tuple[str, Sequence[str]]]) -> tuple[list[str], int]:
        return self.inner.paths([(self.store.prefix + start, ends) for start, ends in rows])


class PrefixStore(MappedStore, keeps_capabilities=True):
    """The part of a store that lies under a prefix, as a store of its own."""

    local_files = forwarded("local_files", _PrefixFiles)

    def __init__(self, inner: Store, prefix: str) -> None:
        super().__init__(inner)
        self.prefix = check_prefix(prefix if prefix.endswith("/") or not prefix else prefix + "/")

    def inner_key(self, key: str) -> str:
        return self.prefix + key

    def own_key(self, inner_key: str) -> str:
        return inner_key[len(self.prefix) :]

    def inner_prefixes(self, prefix: str) -> Iterable[str]:
        return (self.prefix + prefix,)

    @property
    def location(self) -> str:
        location = self.inner.location
        return f"{location.removesuffix('/')}/{self.prefix[:-1]}" if self.prefix else location

    @property
    def full_location(self) -> str:
        return f"{self.inner.full_location}/{self.prefix}"

    __repr__ = Store.__repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrefixStore) and (other.inner, other.prefix) == (self.inner, self.prefix)

    def __hash__(self) -> int:
        return hash((self.inner, self.prefix))

    def parent(self) -> tuple[Store, str] | None:
        if not self.prefix:
            return None
        above, _, name = self.prefix[:-1].rpartition("/")
        return PrefixStore(self.inner, above), name

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        keys, prefixes = self.inner.list_dir(self.prefix + check_prefix(prefix))
        return [self.own_key(key) for key in keys], [self.own_key(below) for below in prefixes]

    def erase_prefix(self, prefix: str) -> None:
        self.check_writable()
        self.inner.erase_prefix(self.prefix + check_prefix(prefix))

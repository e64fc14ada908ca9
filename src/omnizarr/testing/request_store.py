"""A wrapper that splits batches, so that every request to the inner store passes through one method."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from omnizarr.store import Buffer, ByteRange, Store, Updates, VersionedReads, WrapperStore
from omnizarr.store.capabilities import Versioned
from omnizarr.store.contract import State, Version, flat
from omnizarr.store.wrappers import ForwardedReads, ForwardedUpdates, forwarded

__all__ = ["RequestStore"]

T = TypeVar("T")


class RequestStore(WrapperStore):
    """Passes every single request through `request`; a batch is as many requests as it has keys.

    It offers `versioned_reads` and `updates` of `inner`, and passes them through `request`, too. It offers no snapshots
    and no local files, because these are read without a request.
    """

    versioned_reads = forwarded("versioned_reads", lambda store, inner: _RequestedReads(store, inner))
    updates = forwarded("updates", lambda store, inner: _RequestedUpdates(store, inner))

    @abstractmethod
    def request(self, method: str, key: str, act: Callable[[], T], *, torn: Callable[[], object] | None = None) -> T:
        """Call `act`, which sends the request to the inner store, and return its result. `torn` is half of a write."""

    # The fallbacks of the contract split batches into single requests.
    get_partial_values = Store.get_partial_values
    get_each = Store.get_each
    set_each = Store.set_each
    set_partial_values = Store.set_partial_values
    erase_values = Store.erase_values
    list = Store.list

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        return self.request("get", key, lambda: self.inner.get(key, range))

    def get_current(self, key: str) -> Buffer | None:
        return self.request("get_current", key, lambda: self.inner.get_current(key))

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        return self.request("get_into", key, lambda: self.inner.get_into(key, start, target))

    def exists(self, key: str) -> bool:
        return self.request("exists", key, lambda: self.inner.exists(key))

    def size(self, key: str) -> int | None:
        return self.request("size", key, lambda: self.inner.size(key))

    def set(self, key: str, value: Buffer) -> None:
        data = flat(value)
        half = data[: len(data) // 2]
        self.request("set", key, lambda: self.inner.set(key, data), torn=lambda: self.inner.set(key, half))

    def erase(self, key: str) -> None:
        self.request("erase", key, lambda: self.inner.erase(key))

    def erase_prefix(self, prefix: str) -> None:
        def torn() -> None:
            keys = sorted(self.inner.list_prefix(prefix))
            self.inner.erase_values(keys[: len(keys) // 2])

        self.request("erase_prefix", prefix, lambda: self.inner.erase_prefix(prefix), torn=torn)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self.request("list_prefix", prefix, lambda: self.inner.list_prefix(prefix))

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        return self.request("list_dir", prefix, lambda: self.inner.list_dir(prefix))


class _RequestedReads(ForwardedReads):
    def __init__(self, store: RequestStore, inner: VersionedReads) -> None:
        super().__init__(store, inner)
        self._request = store.request

    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        return self._request("versioned_reads.get", key, lambda: self.inner.get(key, range, version))


class _RequestedUpdates(ForwardedUpdates):
    def __init__(self, store: RequestStore, inner: Updates) -> None:
        super().__init__(store, inner)
        self._request = store.request

    def read(self, key: str, limit: int | None = None) -> Versioned | None:
        return self._request("updates.read", key, lambda: self.inner.read(key, limit))

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        data = flat(value)
        half = data[: len(data) // 2]
        return self._request(
            "updates.write",
            key,
            lambda: self.inner.write(key, data, version),
            torn=lambda: self.inner.write(key, half, version),
        )

    def erase(self, key: str, version: Version) -> bool:
        return self._request("updates.erase", key, lambda: self.inner.erase(key, version))

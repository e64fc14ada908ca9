"""A store that counts what is read through it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock

from omnizarr.store import Buffer, ByteRange, Request, Store, WrapperStore
from omnizarr.store.contract import State, Version
from omnizarr.store.wrappers import ForwardedReads, forwarded

__all__ = ["CountingStore"]


class CountingStore(WrapperStore):
    """Forwards to `inner`, and counts requests and bytes. For remote stores: what is read through other capabilities
    than `versioned_reads` would not be counted, so it offers none."""

    versioned_reads = forwarded("versioned_reads", lambda store, inner: _CountedReads(store, inner))

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.requests = 0
        self.bytes_read = 0
        self._lock = Lock()

    def count(self, data: Buffer | None) -> None:
        """Adds a request and its answer."""
        with self._lock:
            self.requests += 1
            self.bytes_read += 0 if data is None else len(data)

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        data = self.inner.get(key, range)
        self.count(data)
        return data

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        for index, data in self.inner.get_each(requests):
            self.count(data)
            yield index, data


class _CountedReads(ForwardedReads):
    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        state = self.inner.get(key, range, version)
        store = self.store
        assert isinstance(store, CountingStore)
        store.count(None if state is None else state.data)
        return state

"""Reading past caches: the documents that a change of stored data starts from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from omnizarr.store.contract import Buffer, ByteRange, Request, cut
from omnizarr.store.wrappers import WrapperStore

__all__ = ["CurrentStore"]

_FEW = 32  # concurrent requests to a store without a window


class CurrentStore(WrapperStore):
    """Reads what is stored now, and never a cached answer. For documents: each value is read as a whole."""

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        value = self.inner.get_current(key)
        return None if value is None else cut(value, range)

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        if not self.inner.remote or len(requests) == 1:
            for index, (key, range) in enumerate(requests):
                yield index, self.get(key, range)
            return
        from omnizarr.store.requests.reads import ConcurrentRequests, PendingRequest  # lazy import: remote stores only
        from omnizarr.store.requests.window import Window

        window = self.inner.window or Window(_FEW)
        pending = [PendingRequest(index, partial(self.get, *request), 0) for index, request in enumerate(requests)]
        yield from ConcurrentRequests(window, pending)

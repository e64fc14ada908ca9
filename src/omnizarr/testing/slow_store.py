"""A store that simulates a remote one: every request is delayed, and a batch sends many at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from typing import TypeVar

from omnizarr.store import Buffer, Request, Store
from omnizarr.testing.request_store import RequestStore

__all__ = ["SlowStore"]

T = TypeVar("T")


class SlowStore(RequestStore, keeps_capabilities=True):
    """Adds `latency` seconds to every request. A batch of N requests keeps `limit` of them in flight, so that it takes
    about ceil(N / limit) latencies. A test that does not want to wait replaces `sleep`."""

    def __init__(
        self,
        inner: Store,
        latency: float = 0.01,
        *,
        limit: int = 16,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        super().__init__(inner)
        self.remote = True
        self.latency = latency
        self.limit = limit
        self.sleep = sleep

    @property
    def window(self) -> None:
        """None: the store sends batches itself."""
        return None

    def request(self, method: str, key: str, act: Callable[[], T], *, torn: Callable[[], object] | None = None) -> T:
        self.sleep(self.latency)
        return act()

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        return self._together([partial(self.get, key, range) for key, range in requests])

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()
        for _ in self._together([partial(self.set, key, value) for key, value in items]):
            pass

    def erase_values(self, keys: Iterable[str]) -> None:
        self.check_writable()
        for _ in self._together([partial(self.erase, key) for key in keys]):
            pass

    def _together(self, actions: Sequence[Callable[[], T]]) -> Iterator[tuple[int, T]]:
        if len(actions) < 2:  # needs no thread
            yield from ((number, action()) for number, action in enumerate(actions))
            return
        pool = ThreadPoolExecutor(min(self.limit, len(actions)), thread_name_prefix="omnizarr-slow-store")
        try:
            numbers = {pool.submit(action): number for number, action in enumerate(actions)}
            for future in as_completed(numbers):
                yield numbers[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)

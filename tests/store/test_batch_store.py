"""StoreWithPartialAccess: a store that implements only batch operations passes the store suite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from omnizarr.store import Buffer, MemoryStore, Request, Store, StoreWithPartialAccess
from omnizarr.testing import StoreSuite


class BatchStore(StoreWithPartialAccess):
    """A store of batch operations that counts its batches."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.batches = 0

    @property
    def location(self) -> str:
        return self.inner.location

    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        self.batches += 1
        return self.inner.get_partial_values(requests)

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()
        self.batches += 1
        self.inner.set_each(items)

    def erase_values(self, keys: Iterable[str]) -> None:
        self.check_writable()
        self.batches += 1
        self.inner.erase_values(keys)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self.inner.list_prefix(prefix)


class TestBatchStore(StoreSuite):
    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> Store:
        return BatchStore(MemoryStore())


def test_S61_S77_one_value_is_a_batch_of_one() -> None:
    store = BatchStore(MemoryStore())
    store.set("k", b"long value")
    store.set("k", b"short")
    assert store.get("k", (0, None)) == store.get("k") == b"short"
    assert list(store.get_each([("k", (1, 2)), ("absent", None)])) == [(0, b"ho"), (1, None)]
    store.erase("k")
    assert not store.exists("k")
    assert store.batches == 7

"""Route J, for a store that answers at once: the same elements, and many requests as soon as the store is slow."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from obstore.store import MemoryStore as ObstoreMemory
from tests.engine.read.test_remote import DATA, LAYOUTS, _slices

import omnizarr
from omnizarr.engine.read import direct
from omnizarr.errors import ChunkError
from omnizarr.store import ByteRange, ObjectStore
from omnizarr.store.contract import State, Version
from omnizarr.store.wrappers import ForwardedReads, forwarded
from omnizarr.testing.request_store import RequestStore


class _Threads(RequestStore):
    """Answers after `seconds`, and counts requests and the threads that send them."""

    def __init__(self, inner: ObjectStore, seconds: float = 0.0) -> None:
        super().__init__(inner)
        self.seconds = seconds
        self.threads: set[str] = set()
        self.most = self.running = 0
        self._lock = threading.Lock()

    def request(self, method: str, key: str, act: Any, *, torn: Any = None) -> Any:
        with self._lock:
            self.threads.add(threading.current_thread().name)
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(self.seconds)
        with self._lock:
            self.running -= 1
        return act()


def _store(fast: bool) -> ObjectStore:
    store = ObjectStore(ObstoreMemory())
    store.window.hedging = None  # as for a client that sends late requests again itself
    store.window.observe(1e-5 if fast else 1.0)
    return store


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fast", [True, False])
@settings(max_examples=8)
@given(data=st.data())
def test_same_elements_by_both_ways(layout: str, fast: bool, data: st.DataObject) -> None:
    z = omnizarr.create_array(_store(fast), data=DATA, **LAYOUTS[layout])
    for _ in range(3):
        key = (data.draw(_slices(21)), data.draw(_slices(18)))
        z.store.window._latency = 1e-5 if fast else 1.0  # type: ignore[attr-defined]
        assert np.array_equal(z.oindex[key], omnizarr.array(DATA).oindex[key])


def test_a_fast_store_is_read_by_few_threads() -> None:
    store = _Threads(_store(fast=True))
    omnizarr.create_array(store, data=np.arange(500), chunks=1)
    z = omnizarr.open_array(store)
    store.window._latency = 1e-5  # type: ignore[union-attr]
    store.threads.clear()
    store.most = 0
    with omnizarr.config(threads=2):
        assert z[...].tolist() == list(range(500))
    assert not any(name.startswith("omnizarr-request") for name in store.threads)
    assert store.most <= 4


def test_a_store_that_becomes_slow_gets_many_requests() -> None:
    store = _Threads(_store(fast=True))
    omnizarr.create_array(store, data=np.arange(600), chunks=1)
    z = omnizarr.open_array(store)
    store.window._latency = 1e-5  # type: ignore[union-attr]
    store.seconds, store.most = 0.004, 0
    with omnizarr.config(threads=2):
        assert z[...].tolist() == list(range(600))
    assert store.most > 16
    assert store.window.slow_until > time.perf_counter()  # type: ignore[union-attr]


def test_a_client_that_cannot_hedge_gets_many_requests() -> None:
    """The threads of route J would wait for its late answers."""
    store = _Threads(ObjectStore(ObstoreMemory()))
    omnizarr.create_array(store, data=np.arange(500), chunks=1)
    z = omnizarr.open_array(store)
    store.window._latency = 1e-5  # type: ignore[union-attr]
    store.threads.clear()
    assert z[...].tolist() == list(range(500))
    assert any(name.startswith("omnizarr-request") for name in store.threads)


def test_requests_earn_retries() -> None:
    store = _store(fast=True)
    z = omnizarr.create_array(store, data=np.arange(500), chunks=1)
    while store.window.retries.spend():
        pass
    store.window._latency = 1e-5
    assert z[...].tolist() == list(range(500))
    assert store.window.retries.spend()


def test_one_slow_answer_does_not_count() -> None:
    cells = direct._Cells(iter(()))
    z = omnizarr.create_array(_store(fast=True), data=np.arange(4), chunks=1)
    window = z.store.window
    assert window is not None
    reader = direct._DirectReader.__new__(direct._DirectReader)
    reader._window, reader._cells, reader._requests, reader._shortest = window, cells, 0, direct._AT_ONCE
    for number in range(200):
        reader._observe(0.0001 if number % 10 == 0 else 0.5, None)
    assert not cells.slow
    for _ in range(2 * direct._LOOK):
        reader._observe(0.5, None)
    assert cells.slow


def test_a_damaged_chunk_is_named() -> None:
    store = _store(fast=True)
    z = omnizarr.create_array(store, data=np.arange(40), chunks=4)
    store.set("c/7", b"damaged")
    store.window._latency = 1e-5
    with pytest.raises(ChunkError, match=r"\(7,\)"):
        z[...]


class _FailingReads(ForwardedReads):
    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        if key == "c/300":
            raise omnizarr.errors.StoreError("the server is gone", store="", key=key)
        return self.inner.get(key, range, version)


class _Failing(RequestStore):
    versioned_reads = forwarded("versioned_reads", _FailingReads)

    def request(self, method: str, key: str, act: Any, *, torn: Any = None) -> Any:
        return act()


def test_an_error_of_the_store_ends_the_read() -> None:
    store = _Failing(_store(fast=True))
    z = omnizarr.create_array(store, data=np.arange(500), chunks=1)
    store.window._latency = 1e-5  # type: ignore[union-attr]
    with pytest.raises(omnizarr.errors.StoreError, match="the server is gone"):
        z[...]

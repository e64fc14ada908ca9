"""The cost model (rows and threads), and the reuse of row buffers."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.codecs import Chain
from omnizarr.engine import buffers, pool, schedule
from omnizarr.engine.buffers import WorkerBuffer, borrow_buffer, return_buffer
from omnizarr.engine.schedule import decode_row, max_workers, plan_rows
from omnizarr.errors import CodecError
from omnizarr.store import MemoryStore

MIB = 2**20


def chain_of(**options: Any) -> Chain:
    chain = omnizarr.create_array(None, **{"dtype": "u1", "compressors": "zstd", **options})._layout.uniform
    assert chain is not None
    return chain


def test_memory_limits_the_threads_for_large_chunks() -> None:
    """Reading takes at most 64 MiB and 0.15 times the result in addition to it, for chunks of up to 32 MiB."""
    large = chain_of(shape=(8, 64 * MIB), chunks=(1, 32 * MIB))
    for result in (32 * MIB, 128 * MIB, 1024 * MIB):
        workers = max_workers(large, result)
        assert workers == 1 or workers * 1.6 * 32 * MIB <= 64 * MIB + 0.15 * result
    assert max_workers(large, 128 * MIB) == 1
    assert max_workers(large, 1024 * MIB) > 1
    assert max_workers(chain_of(shape=64 * MIB, chunks=MIB), 64 * MIB) > 8
    assert max_workers(chain_of(shape=64 * MIB, chunks=MIB, shards=32 * MIB), 64 * MIB) > 8
    assert max_workers(None, 0) > 8


def test_little_work_is_one_row_of_the_calling_thread() -> None:
    chain = chain_of(shape=MIB, chunks=2**14)
    assert plan_rows(chain, 8, 2, 1000) == (8, True)
    assert plan_rows(chain, 10**6, 2, 2**34) == (64, False)
    shards = chain_of(shape=MIB, chunks=2**10, shards=2**16)
    assert plan_rows(shards, 4, 2, 100) == (4, True)
    assert plan_rows(shards, 10**4, 2, 10**4 * 2**16)[0] == 1
    assert plan_rows(chain_of(shape=(), chunks=()), 1, 2, 1) == (1, True)


def test_a_buffer_is_reused_for_the_same_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_idle", [])
    chain, other = chain_of(shape=100, chunks=10), chain_of(shape=100, chunks=20)
    buffer = borrow_buffer(chain)
    room = buffer.row(chain, 4)
    return_buffer(buffer)
    assert borrow_buffer(other) is not buffer
    again = borrow_buffer(chain)
    assert again is buffer
    assert again.row(chain, 3) is room
    assert borrow_buffer(chain) is not buffer  # it is in use


def test_few_and_only_small_buffers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_idle", [])
    for _ in range(20):
        buffer = WorkerBuffer()
        buffer.row(chain_of(shape=100, chunks=10), 1)
        return_buffer(buffer)
    assert len(buffers._idle) == 4
    large = chain_of(shape=64 * MIB, chunks=32 * MIB)
    buffer = WorkerBuffer()
    buffer.row(large, 1)
    return_buffer(buffer)
    return_buffer(WorkerBuffer())  # it holds no memory
    assert buffer not in buffers._idle
    assert len(buffers._idle) == 4


class BlockingStore(MemoryStore):
    """Blocks the second thread in `get`; the main thread waits until that one has started."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()
        self.waits = threading.Event()

    def get(self, key: str, range: Any = None) -> Any:
        if key.startswith("c/"):
            if threading.current_thread() is threading.main_thread():
                self.waits.wait(60)
            else:
                self.waits.set()
                self.go_on.wait(60)
        return super().get(key, range)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals to a thread")
def test_a_buffer_that_a_thread_still_uses_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the calling thread, which is finished, waits for another thread."""
    monkeypatch.setattr(buffers, "_idle", [])
    monkeypatch.setattr(schedule, "_TINY_US", 0)
    monkeypatch.setattr(schedule, "_SHORT_US", 0)
    store = BlockingStore()
    z = omnizarr.create_array(store, data=np.arange(64 * 64).reshape(64, 64), chunks=(8, 8))
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        if store.waits.wait(60):
            time.sleep(0.2)
            signal.pthread_kill(main, signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    try:
        with omnizarr.config(threads=2), pytest.raises(KeyboardInterrupt):
            z[...]
        assert buffers._idle == []
    finally:
        store.go_on.set()
        interrupter.join()
    np.testing.assert_array_equal(z[...], np.arange(64 * 64).reshape(64, 64))


def test_old_content_of_a_buffer_does_not_appear() -> None:
    """Chunks that are not stored hold the fill value, whatever the buffer held before."""
    z = omnizarr.create_array(None, shape=(64, 64), chunks=(8, 8), dtype="u2", fill_value=7)
    z[3:20, 3:20] = 1
    expected = np.full((64, 64), 7, "u2")
    expected[3:20, 3:20] = 1
    for _ in range(2):
        np.testing.assert_array_equal(z[...], expected)
        np.testing.assert_array_equal(z[2:50, 2:50], expected[2:50, 2:50])


@pytest.mark.parametrize("helper", ["real", "none", "late"])
@pytest.mark.parametrize("damaged", [None, 0, 5, 7])
def test_decode_row_waits_for_all_shares(helper: str, damaged: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "_SHARE_US", 0.001)
    if helper == "none":
        monkeypatch.setattr(schedule, "submit", lambda work: None)
    elif helper == "late":
        monkeypatch.setattr(schedule, "submit", lambda work: pool.submit(lambda: (time.sleep(0.02), work())))
    chain = chain_of(shape=800, chunks=100, dtype="u1")
    contents = [np.full(100, number, "u1") for number in range(8)]
    values = [bytes(chain.encode(content)) for content in contents]
    if damaged is not None:
        values[damaged] = values[damaged][:-3]
    row = borrow_buffer(None).row(chain, 8)
    row.memory[:] = bytes(800)
    with omnizarr.config(threads=3):
        if damaged is None:
            decode_row(chain, values, row.chunks, row.memories, row.memory)
            np.testing.assert_array_equal(np.array(row.chunks), contents)
        else:
            with pytest.raises(CodecError):
                decode_row(chain, values, row.chunks, row.memories, row.memory)
            before = bytes(row.memory)
            time.sleep(0.03)
            assert bytes(row.memory) == before  # no thread writes any more

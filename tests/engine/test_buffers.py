"""How many chunks are worked on together, by how many threads, in which memory."""

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


def test_large_chunks_are_staged_by_as_many_threads_as_memory_allows() -> None:
    """Reading takes at most 64 MiB and 0.15 times the result beside it, for chunks of up to 32 MiB."""
    large = chain_of(shape=(8, 64 * MIB), chunks=(1, 32 * MIB))
    for result in (32 * MIB, 128 * MIB, 1024 * MIB):
        workers = max_workers(large, result)
        assert workers == 1 or workers * 1.6 * 32 * MIB <= 64 * MIB + 0.15 * result
    assert max_workers(large, 128 * MIB) == 1
    assert max_workers(large, 1024 * MIB) > 1
    assert max_workers(chain_of(shape=64 * MIB, chunks=MIB), 64 * MIB) > 8
    assert max_workers(chain_of(shape=64 * MIB, chunks=MIB, shards=32 * MIB), 64 * MIB) > 8
    assert max_workers(None, 0) > 8


def test_little_work_is_done_alone_and_in_one_row() -> None:
    chain = chain_of(shape=MIB, chunks=2**14)
    assert plan_rows(chain, 8, 2, 1000) == (8, True)
    assert plan_rows(chain, 10**6, 2, 2**34) == (64, False)
    shards = chain_of(shape=MIB, chunks=2**10, shards=2**16)
    assert plan_rows(shards, 4, 2, 100) == (4, True)
    assert plan_rows(shards, 10**4, 2, 10**4 * 2**16)[0] == 1
    assert plan_rows(chain_of(shape=(), chunks=()), 1, 2, 1) == (1, True)


def test_a_stage_is_used_again_for_chunks_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_idle", [])
    chain, other = chain_of(shape=100, chunks=10), chain_of(shape=100, chunks=20)
    stage = borrow_buffer(chain)
    room = stage.row(chain, 4)
    return_buffer(stage)
    assert borrow_buffer(other) is not stage
    again = borrow_buffer(chain)
    assert again is stage
    assert again.row(chain, 3) is room
    assert borrow_buffer(chain) is not stage  # it is in use


def test_large_stages_and_many_of_them_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "_idle", [])
    for _ in range(20):
        stage = WorkerBuffer()
        stage.row(chain_of(shape=100, chunks=10), 1)
        return_buffer(stage)
    assert len(buffers._idle) == 4
    large = chain_of(shape=64 * MIB, chunks=32 * MIB)
    stage = WorkerBuffer()
    stage.row(large, 1)
    return_buffer(stage)
    return_buffer(WorkerBuffer())  # nothing was staged
    assert stage not in buffers._idle
    assert len(buffers._idle) == 4


class Snapshot(MemoryStore):
    """Keeps another thread waiting, once there is one; the main thread does not do all the work before."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()
        self.waits = threading.Event()

    def get(self, key: str, range: Any = None) -> Any:
        if key.startswith("c/"):
            if threading.current_thread() is threading.main_thread():
                self.waits.wait(10)
            else:
                self.waits.set()
                self.go_on.wait(10)
        return super().get(key, range)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals are sent to a thread")
def test_a_stage_in_which_somebody_still_works_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C, while the caller, done with its own part, waits for another thread."""
    monkeypatch.setattr(buffers, "_idle", [])
    monkeypatch.setattr(schedule, "_TINY_US", 0)
    monkeypatch.setattr(schedule, "_SHORT_US", 0)
    store = Snapshot()
    z = omnizarr.create_array(store, data=np.arange(64 * 64).reshape(64, 64), chunks=(8, 8))
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        if store.waits.wait(5):
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


def test_what_one_read_left_behind_is_not_in_the_next() -> None:
    """Chunks that are not stored hold the fill value, whatever lay in the stage before."""
    z = omnizarr.create_array(None, shape=(64, 64), chunks=(8, 8), dtype="u2", fill_value=7)
    z[3:20, 3:20] = 1
    expected = np.full((64, 64), 7, "u2")
    expected[3:20, 3:20] = 1
    for _ in range(2):
        np.testing.assert_array_equal(z[...], expected)
        np.testing.assert_array_equal(z[2:50, 2:50], expected[2:50, 2:50])


@pytest.mark.parametrize("helper", ["real", "none", "late"])
@pytest.mark.parametrize("damaged", [None, 0, 5, 7])
def test_a_row_that_is_shared_out_is_decoded_as_a_whole(
    helper: str, damaged: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    staging = borrow_buffer(None).row(chain, 8)
    staging.memory[:] = bytes(800)
    with omnizarr.config(threads=3):
        if damaged is None:
            decode_row(chain, values, staging.chunks, staging.memories, staging.memory)
            np.testing.assert_array_equal(np.array(staging.chunks), contents)
        else:
            with pytest.raises(CodecError):
                decode_row(chain, values, staging.chunks, staging.memories, staging.memory)
            before = bytes(staging.memory)
            time.sleep(0.03)
            assert bytes(staging.memory) == before  # nobody is still at work

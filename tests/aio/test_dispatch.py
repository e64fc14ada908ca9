"""Functions in threads: the event loop stays free, settings reach them, and cancelled ones stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest

import omnizarr
from omnizarr import aio
from omnizarr.aio import dispatch
from omnizarr.store import MemoryStore
from omnizarr.testing import RequestStore

T = TypeVar("T")


class GatedStore(RequestStore, keeps_capabilities=True):
    """Holds requests for chunks until `gate` is set, and counts them."""

    def __init__(self, *, remote: bool = False) -> None:
        super().__init__(MemoryStore())
        self.remote = remote
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.methods: list[str] = []

    def close_gate(self) -> None:
        self.gate.clear()
        self.entered.clear()
        self.methods.clear()

    def request(self, method: str, key: str, act: Callable[[], T], *, torn: Callable[[], object] | None = None) -> T:
        if key.startswith("c/"):
            self.methods.append(method)
            self.entered.set()
            assert self.gate.wait(30)
        return act()


def gated_array(*, remote: bool = False) -> tuple[GatedStore, aio.AsyncArray]:
    store = GatedStore(remote=remote)
    z = omnizarr.create_array(store, shape=400, chunks=1, dtype="i4")
    z[...] = np.arange(1, 401)
    store.close_gate()
    return store, aio.AsyncArray(z)


async def until_entered(store: GatedStore) -> None:
    assert await asyncio.to_thread(store.entered.wait, 30)


@pytest.mark.parametrize("remote", [False, True])
def test_a_cancelled_read_stops(remote: bool) -> None:
    async def main() -> None:
        store, z = gated_array(remote=remote)
        task = asyncio.ensure_future(z[...])
        await until_entered(store)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task  # although the thread still waits for the store
        store.gate.set()
        assert (await z[5:6]).tolist() == [6]
        assert len(store.methods) < 400

    asyncio.run(main())


def test_a_cancelled_write_has_stopped_when_the_task_ends() -> None:
    async def main() -> None:
        store, z = gated_array()
        task = asyncio.ensure_future(z.write(..., 7))
        await until_entered(store)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=0.05)
        assert not done, "the thread still writes"
        task.cancel()  # again: must not end it either
        store.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        count = len(store.methods)
        assert count < 400
        elements = await z[...]
        assert len(store.methods) - count == 400, "only those of this read"
        assert 0 < (elements == 7).sum() < 400

    asyncio.run(main())


def test_a_task_that_has_not_started_never_runs() -> None:
    async def main() -> None:
        store, z = gated_array()
        calls = []
        blockers = [asyncio.ensure_future(z[0:1]) for _ in range(dispatch._EXTRA_THREADS + omnizarr.config.workers)]
        await until_entered(store)
        waiting = asyncio.ensure_future(z._change(calls.append, 1))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        store.gate.set()
        await asyncio.gather(*blockers)
        await z[0:1]
        assert calls == []

    asyncio.run(main())


def test_a_cancelled_append_leaves_the_array_as_it_was() -> None:
    async def main() -> None:
        store, z = gated_array()
        task = asyncio.ensure_future(z.append(np.full(50, 9)))
        await until_entered(store)
        task.cancel()
        store.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        shape = await z.append([5])
        assert (await z.refresh()).shape == shape
        elements = await z[...]
        assert elements[:400].tolist() == list(range(1, 401))
        assert elements[-1] == 5

    asyncio.run(main())


def test_the_loop_runs_while_a_read_waits() -> None:
    async def main() -> None:
        store, z = gated_array()
        task = asyncio.ensure_future(z[...])
        await until_entered(store)
        for _ in range(10):
            await asyncio.sleep(0)
        assert not task.done()
        store.gate.set()
        assert (await task).sum() == 400 * 401 // 2

    asyncio.run(main())


def test_settings_of_the_caller_hold_in_the_thread() -> None:
    async def main() -> None:
        with omnizarr.config(max_chunk_bytes=123):
            assert await aio.run_sync(lambda: omnizarr.config.max_chunk_bytes) == 123
        assert await aio.run_sync(lambda: omnizarr.config.max_chunk_bytes) != 123

    asyncio.run(main())


def test_errors_reach_the_coroutine() -> None:
    async def main() -> None:
        with pytest.raises(omnizarr.errors.NodeNotFoundError):
            await aio.open(MemoryStore())
        z = await aio.create_array(shape=4, dtype="i4")
        with pytest.raises(omnizarr.errors.SelectionError):
            await z[9]
        with pytest.raises(KeyError):
            await z.attrs.delete("absent")

    asyncio.run(main())


def test_several_event_loops_at_once() -> None:
    z = omnizarr.create_array(data=np.arange(1000), chunks=10)
    sums: list[Any] = []

    async def main() -> None:
        handle = aio.AsyncArray(z)
        parts = await asyncio.gather(*[handle[start : start + 10] for start in range(0, 1000, 10)])
        sums.append(sum(int(part.sum()) for part in parts))

    threads = [threading.Thread(target=lambda: asyncio.run(main())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [499_500] * 4


def test_uvloop() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def main() -> None:
        store, z = gated_array()
        task = asyncio.ensure_future(z.write(..., 7))
        await until_entered(store)
        task.cancel()
        store.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        parts = await asyncio.gather(*[z[index] for index in range(200)])
        assert len(parts) == 200
        assert [block.shape async for _, block in z.blocks(max_bytes=400)] == [(25,)] * 16

    uvloop.run(main())

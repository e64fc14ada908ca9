"""Concurrent writers do not lose each other's changes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np

import omnizarr
from omnizarr.store import MemoryStore, WrapperStore
from omnizarr.store.wrappers import ForwardedUpdates, forwarded


def test_handles_with_different_roots_lose_no_update(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path, name="a", shape=200, dtype="i4", chunks=200)
    handles = [omnizarr.open_group(tmp_path)["a"], omnizarr.open_array(tmp_path / "a")]

    def work(which: int) -> None:
        for index in range(which, 200, 2):
            handles[which][index] = index + 1

    threads = [threading.Thread(target=work, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(handles[0][...], np.arange(1, 201))


def test_a_partial_write_does_not_undo_a_whole_one() -> None:
    """The whole write comes after the partial writer has read the old chunk, which then reads it again."""
    inner = MemoryStore()
    omnizarr.create_array(inner, shape=4, dtype="i4", chunks=4)[...] = 1
    read, written = threading.Event(), threading.Event()

    class SlowUpdates(ForwardedUpdates):
        def read(self, key: str, limit: int | None = None) -> Any:
            value = super().read(key, limit)
            if key == "c/0" and not read.is_set():
                read.set()
                written.wait()
            return value

    class Slow(WrapperStore):
        updates = forwarded("updates", SlowUpdates)

    partial = threading.Thread(target=lambda: omnizarr.open_array(Slow(inner)).__setitem__(0, 5))
    partial.start()
    read.wait()
    omnizarr.open_array(inner)[...] = 9
    written.set()
    partial.join()
    assert omnizarr.open_array(inner)[...].tolist() == [5, 9, 9, 9]


def test_a_signal_handler_may_write_to_the_chunk_that_its_thread_updates() -> None:
    """The handler runs in the middle of the update. The thread must not wait for itself."""
    inner = MemoryStore()
    omnizarr.create_array(inner, shape=4, dtype="i4", chunks=4)[...] = 1
    handled: list[bool] = []

    class HandlingUpdates(ForwardedUpdates):
        def read(self, key: str, limit: int | None = None) -> Any:
            value = super().read(key, limit)
            if key == "c/0" and not handled:
                handled.append(True)
                z[1] = 7  # as a handler would
            return value

    class Handling(WrapperStore):
        updates = forwarded("updates", HandlingUpdates)

    z = omnizarr.open_array(Handling(inner))
    writer = threading.Thread(target=lambda: z.__setitem__(0, 5), daemon=True)
    writer.start()
    writer.join(30)
    assert not writer.is_alive()
    assert omnizarr.open_array(inner)[...].tolist() == [5, 7, 1, 1]

"""Rows that another thread copies to the block arrive there, and its errors are raised."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.codecs import CODECS

import omnizarr
from omnizarr.engine import buffers, pool, schedule


@pytest.mark.python_loop
@pytest.mark.parametrize("shards", [None, (8, 16, 20)])
@pytest.mark.parametrize("helper", ["none", "at once", "late", "real"])
@pytest.mark.parametrize("codec", CODECS)
def test_rows_arrive_at_their_place(
    helper: str, codec: str, shards: tuple[int, ...] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no other thread, one that copies at once, one that is late, and threads of the pool."""
    a = np.arange(16 * 48 * 40, dtype="u2").reshape(16, 48, 40)
    a[4:8, 8:16, 4:8] = 9
    options: dict[str, Any] = {"chunks": (4, 8, 4), "shards": shards, "compressors": CODECS[codec], "fill_value": 9}
    z = omnizarr.create_array(tmp_path, data=a, **options)
    placed: list[str] = []

    def submit(work: Any) -> Future[object] | None:
        if helper == "none":
            return None
        if helper == "real":
            return pool.submit(work)
        placed.append(helper)
        done: Future[object] = Future()
        if helper == "at once":
            done.set_result(work())
        else:
            threading.Timer(0.02, lambda: done.set_result(work())).start()
        return done

    monkeypatch.setattr(buffers, "submit", submit)
    monkeypatch.setattr(schedule, "_LONG_ROW", 0)
    monkeypatch.setattr(schedule, "_TINY_US", 0)
    with omnizarr.config(threads=2):
        np.testing.assert_array_equal(z[...], a)
        np.testing.assert_array_equal(z[2:13, 3:41, 1:39], a[2:13, 3:41, 1:39])
    assert bool(placed) == (helper in ("at once", "late"))


@pytest.mark.parametrize("codec", CODECS)
def test_rows_of_a_temporary_array_are_placed_at_once(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mask that takes a whole shard gives rows like a slice, but they go to a temporary array first."""
    a = np.random.default_rng(0).integers(0, 2**16, 4096).astype("u2")
    z = omnizarr.create_array(None, data=a, chunks=(32,), shards=(512,), compressors=CODECS[codec])
    mask = np.ones(len(a), bool)
    mask[[5, 3000]] = False

    def submit(work: Any) -> Future[object]:
        done: Future[object] = Future()
        threading.Timer(0.02, lambda: done.set_result(work())).start()
        return done

    monkeypatch.setattr(buffers, "submit", submit)
    monkeypatch.setattr(schedule, "_LONG_ROW", 0)
    monkeypatch.setattr(schedule, "_TINY_US", 0)
    with omnizarr.config(threads=2):
        np.testing.assert_array_equal(z[mask], a[mask])


def test_an_error_of_the_placing_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    z = omnizarr.create_array(None, data=np.arange(64 * 64).reshape(64, 64), chunks=(2, 2), compressors=None)

    submitted: list[Any] = []

    def submit(work: Any) -> Future[object]:
        submitted.append(work)
        done: Future[object] = Future()
        done.set_exception(MemoryError("no room"))
        return done

    monkeypatch.setattr(buffers, "submit", submit)
    monkeypatch.setattr(schedule, "_LONG_ROW", 0)
    monkeypatch.setattr(schedule, "_TINY_US", 0)
    with omnizarr.config(threads=2), pytest.raises(MemoryError, match="no room"):
        z[...]
    assert len(submitted) == 1  # no thread writes to a block after an error

"""Reading in order reads ahead from remote stores, within a budget, and stops with the caller."""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.engine import read_ahead
from omnizarr.engine.read_ahead import read_in_order
from omnizarr.testing import RecordingStore

DATA = np.arange(40 * 6, dtype="u4").reshape(40, 6)


class _Remote(RecordingStore):
    def __init__(self) -> None:
        super().__init__(omnizarr.MemoryStore())
        self.remote = True


def _chunks_read(store: RecordingStore) -> int:
    keys = [(call.key,) if isinstance(call.key, str) else call.key for call in store.calls]
    return len({key for batch in keys for key in batch if key.startswith("c/")})


def _wait_for(condition: Any) -> bool:
    for _ in range(3000):
        if condition():
            return True
        time.sleep(0.01)
    return False


@pytest.fixture
def array() -> omnizarr.Array:
    store = _Remote()
    z = omnizarr.create_array(store, data=DATA, chunks=(3, 6))
    store.reset()
    return z


def test_blocks_and_rows_are_those_of_the_array(array: omnizarr.Array) -> None:
    blocks = list(array.blocks)
    assert [len(block) for block in blocks] == [3] * 13 + [1]
    np.testing.assert_array_equal(np.concatenate(blocks), DATA)
    np.testing.assert_array_equal(np.stack(list(array)), DATA)


def test_local_blocks_are_the_same(tmp_path: Any) -> None:
    z = omnizarr.create_array(tmp_path, data=DATA, chunks=(3, 6))
    np.testing.assert_array_equal(np.concatenate(list(z.blocks)), DATA)
    empty = omnizarr.create_array(None, shape=(0, 3), dtype="u1")
    assert list(empty.blocks) == []
    with pytest.raises(TypeError):
        iter(omnizarr.create_array(None, shape=(), dtype="u1").blocks)
    with pytest.raises(TypeError):
        iter(z.oindex)


def test_the_next_blocks_are_read_before_they_are_needed(array: omnizarr.Array) -> None:
    store = array.store
    assert isinstance(store, RecordingStore)
    blocks = iter(array.blocks)
    next(blocks)
    assert _wait_for(lambda: _chunks_read(store) == 1 + read_ahead._MOST_PARTS)
    del blocks
    gc.collect()
    time.sleep(0.05)
    assert _chunks_read(store) == 1 + read_ahead._MOST_PARTS


def test_the_budget_limits_what_is_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "_MOST_BYTES", 250)
    started: list[int] = []

    def read(key: int) -> Any:
        started.append(key)
        return key

    answers = read_in_order(read, ((number, 100) for number in range(20)), ahead=True)
    for number in range(20):
        assert next(answers) == number
        time.sleep(0.01)
        assert len(started) <= number + 2
    large = read_in_order(read, ((number, 1000) for number in range(3)), ahead=True)
    started.clear()
    assert next(large) == 0
    assert started == [0]


def test_an_error_is_raised_in_its_place(array: omnizarr.Array) -> None:
    array.store.set("c/2/0", b"damaged")
    blocks = iter(array.blocks)
    next(blocks)
    next(blocks)
    with pytest.raises(omnizarr.errors.ChunkError):
        next(blocks)

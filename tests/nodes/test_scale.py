"""Operations whose number of requests does not depend on the number of chunks, and which never list (docs/scale.md)."""

from __future__ import annotations

import numpy as np
import pytest

import omnizarr
from omnizarr.testing import RecordingStore

SIDE = 10**4  # 10¹² chunks of one element


@pytest.fixture
def store() -> RecordingStore:
    return RecordingStore(omnizarr.MemoryStore())


def _listings(store: RecordingStore) -> list[str]:
    return [call.method for call in store.calls if call.method.startswith("list")]


def test_creating_and_opening_never_list(store: RecordingStore) -> None:
    omnizarr.create_array(store, shape=(SIDE,) * 3, chunks=(1, 1, 1), dtype="u1")
    assert _listings(store) == []
    store.reset()
    omnizarr.open_array(store, mode="r")
    assert store.methods() == ["get_partial_values"]


def test_elements_are_read_and_written_without_a_listing(store: RecordingStore) -> None:
    z = omnizarr.create_array(store, shape=(SIDE,) * 3, chunks=(1, 1, 1), dtype="u1")
    store.reset()
    z[5, 6, 7] = 3
    assert z[5, 6, 7] == 3
    assert z[9999, 0, 1] == 0
    assert _listings(store) == []
    assert store.requests <= 4


def test_enlarging_never_lists(store: RecordingStore) -> None:
    z = omnizarr.create_array(store, shape=(SIDE,) * 3, chunks=(1, 1, 1), dtype="u1")
    store.reset()
    z.resize((2 * SIDE, SIDE, SIDE))
    assert _listings(store) == []
    assert store.requests <= 4


def test_appending_never_lists(store: RecordingStore) -> None:
    z = omnizarr.create_array(store, shape=(SIDE, 2), chunks=(1, 2), dtype="u1")
    store.reset()
    z.append(np.ones((1, 2), "u1"))
    assert z.shape == (SIDE + 1, 2)
    assert _listings(store) == []

"""`z.explain[selection]` says what a read costs, and reads no chunk."""

from __future__ import annotations

from threading import Barrier
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.store import MemoryStore
from omnizarr.testing import RecordingStore


def recorded(shape: tuple[int, ...], **options: Any) -> tuple[omnizarr.Array, RecordingStore]:
    store = RecordingStore(omnizarr.store.MemoryStore())
    data = np.arange(np.prod(shape), dtype="i4").reshape(shape)
    return omnizarr.create_array(store, data=data, **options), store


@pytest.mark.parametrize("key", [0, np.s_[:, 3], np.s_[10:20, 5:6], np.s_[::7, ::9], ..., ([1, 30], [2, 50])])
def test_chunks_requests_and_bytes(key: Any) -> None:
    z, _ = recorded((40, 60), chunks=(8, 12), compressors=None)
    cost = z.explain[key]
    assert cost.shape == np.shape(z[key])
    assert cost.selected_bytes == np.asarray(z[key]).nbytes
    touched = {(row // 8, column // 12) for row, column in np.argwhere(np.isin(z[...], z[key]))}
    assert cost.chunks == cost.requests == cost.decoded_chunks == len(touched)
    assert cost.stored_bytes == cost.decoded_bytes == len(touched) * 8 * 12 * 4
    assert cost.amplification == round(cost.decoded_bytes / cost.selected_bytes, 2)
    assert (cost.absent, cost.estimated) == (0, False)


def test_shards_count_inner_chunks_and_their_index() -> None:
    z, _ = recorded((40, 60), chunks=(4, 6), shards=(20, 30), compressors=None)
    cost = z.explain[0, 0]
    assert (cost.chunks, cost.decoded_chunks, cost.requests) == (1, 1, 2)
    assert cost.decoded_bytes == 4 * 6 * 4
    assert cost.stored_bytes == 4 * 6 * 4 + 25 * 16 + 4
    whole = z.explain[...]
    assert (whole.chunks, whole.decoded_chunks, whole.requests) == (4, 100, 4)
    assert whole.amplification == 1.0


def test_absent_chunks_are_not_decoded() -> None:
    z = omnizarr.create_array({}, shape=(100,), chunks=10, dtype="i4")
    z[35] = 1
    cost = z.explain[...]
    assert (cost.chunks, cost.absent, cost.decoded_chunks, cost.requests) == (10, 9, 1, 10)


def test_advice_names_chunks_that_fit() -> None:
    z = omnizarr.create_array({}, shape=(512, 512, 64), chunks=(1, 512, 64), dtype="f4", compressors=None)
    z[...] = 1
    (advice,) = z.explain[:, 10, 3].advice
    assert advice.startswith("you decode 32,768 × what you use: chunks of 512 × ")
    assert z.explain[5].advice == ()
    assert "advice" in str(z.explain[:, 10, 3])


def test_many_chunks_are_estimated_and_nothing_is_decoded() -> None:
    z = omnizarr.create_array({}, shape=(100_000,), chunks=10, dtype="u1", compressors=None)
    z[...] = 1
    cost = z.explain[...]
    assert cost.estimated
    assert cost.chunks == 10_000
    assert abs(cost.decoded_bytes - 100_000) < 1000
    empty = z.explain[:0]
    assert (empty.requests, empty.selected_bytes) == (0, 0)
    for key in [key for key in z.store.list() if key.startswith("c/")][:50]:
        z.store.set(key, b"not a chunk")
    assert z.explain[:100].chunks == 10


@pytest.mark.parametrize("count", [2000, 2001, 3000, 4001, 10_001])
def test_costs_of_many_chunks_are_extrapolated_from_those_that_were_looked_up(count: int) -> None:
    z = omnizarr.create_array(None, data=np.ones(2 * count, "i4"), chunks=2, compressors=None)
    cost = z.explain[:]
    assert cost.estimated == (count > 2000)
    assert (cost.chunks, cost.requests, cost.decoded_chunks) == (count, count, count)
    assert cost.decoded_bytes == cost.selected_bytes == cost.stored_bytes


def test_a_huge_grid_is_sampled() -> None:
    z = omnizarr.create_array({}, shape=(10**6,) * 3, chunks=(1000, 1000, 10), dtype="f8")
    cost = z.explain[...]
    assert (cost.chunks, cost.absent, cost.estimated) == (10**11, 10**11, True)
    assert "about 100,000,000,000 of them absent" in str(cost)


def test_sizes_of_chunks_in_a_remote_store_are_requested_together() -> None:
    class Slow(MemoryStore, keeps_capabilities=True):
        remote = True
        meeting = Barrier(8)

        def size(self, key: str) -> int | None:
            if key.startswith("c/"):
                self.meeting.wait(60)  # passes only if eight requests are under way
            return super().size(key)

    z = omnizarr.create_array(Slow(), data=np.ones(64, "u1"), chunks=1, compressors=None)
    cost = z.explain[...]
    assert (cost.chunks, cost.absent, cost.requests, cost.stored_bytes) == (64, 0, 64, 64)

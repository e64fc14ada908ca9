"""Writes to a new array in a remote store send no GET: chunks at the edge are put if they are absent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from obstore.store import MemoryStore as ObstoreMemory

import omnizarr
from omnizarr.store import ObjectStore, Store
from omnizarr.testing import RecordingStore

DATA = np.arange(1, 23 * 17 + 1, dtype="i4").reshape(23, 17)


class _RemoteRecording(RecordingStore):
    """Records the requests to a store that is remote."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.remote = True


def _reads(store: RecordingStore) -> list[str]:
    return [call.method for call in store.calls if "read" in call.method or "get" in call.method]


@pytest.mark.parametrize("options", [{"chunks": (10, 10)}, {"chunks": (5, 5), "shards": (10, 10)}])
def test_writing_a_new_array_reads_nothing(options: dict[str, Any]) -> None:
    store = _RemoteRecording(ObjectStore(ObstoreMemory()))
    z = omnizarr.create_array(store, shape=DATA.shape, dtype="i4", **options)
    store.reset()
    z[...] = DATA
    assert _reads(store) == []
    assert sum(call.method in ("set", "updates.write") for call in store.calls) == 6
    assert np.array_equal(omnizarr.open_array(store)[...], DATA)


@pytest.mark.parametrize("options", [{"chunks": (10, 10)}, {"chunks": (5, 5), "shards": (10, 10)}])
def test_a_chunk_that_exists_is_merged(options: dict[str, Any]) -> None:
    """Elements outside the array stay as they are: another process may have enlarged the array."""
    inner = ObjectStore(ObstoreMemory())
    omnizarr.create_array(inner, data=np.full((30, 30), 7, "i4"), **options)
    z = omnizarr.open_array(_RemoteRecording(inner), mode="r+")
    document = bytes(inner.get("zarr.json") or b"")
    z.resize((23, 17))
    z[...] = DATA
    inner.set("zarr.json", document)
    larger = omnizarr.open_array(inner, mode="r")
    assert np.array_equal(larger[:23, :17], DATA)


def test_fill_values_in_a_new_array_are_not_stored() -> None:
    inner = ObjectStore(ObstoreMemory())
    z = omnizarr.create_array(_RemoteRecording(inner), shape=DATA.shape, dtype="i4", chunks=(10, 10))
    z[...] = 0
    assert [key for key in inner.list_prefix("") if key.startswith("c/")] == []
    z[...] = DATA
    z[...] = 0
    assert (z[...] == 0).all()


def test_another_writer_wins_the_race_and_both_are_kept() -> None:
    """Between the decision to create an edge chunk and the request, another writer creates it."""
    inner = ObjectStore(ObstoreMemory())
    z = omnizarr.create_array(inner, shape=15, dtype="i4", chunks=10)
    wide = omnizarr.create_array(ObjectStore(ObstoreMemory()), data=np.full(20, 9, "i4"), chunks=10)
    state = wide.store.get("c/1")
    assert state is not None
    inner.set("c/1", bytes(state))  # as of an array of 20 elements
    z[...] = np.arange(15)
    assert z[...].tolist() == list(range(15))
    stored = omnizarr.create_array(ObjectStore(ObstoreMemory()), shape=20, dtype="i4", chunks=10)
    stored.store.set("c/1", bytes(inner.get("c/1") or b""))
    assert stored[10:].tolist() == [10, 11, 12, 13, 14, 9, 9, 9, 9, 9]

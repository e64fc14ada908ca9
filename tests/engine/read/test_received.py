"""Stored values that remote stores return: the kernel gives the same elements and errors as Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import MemoryStore as ObstoreMemory
from tests.engine.read.test_blosc_parts import reordered
from tests.engine.read.test_native import BLOSC, CODECS, arrays, keys

import omnizarr
from omnizarr.errors import ChunkError
from omnizarr.store import ObjectStore


def _store(fast: bool) -> ObjectStore:
    """Route J reads from a fast one, and route G from another."""
    store = ObjectStore(ObstoreMemory())
    store.window.hedging = None  # as for a client that sends late requests again itself
    store.window.observe(1e-5 if fast else 1.0)
    return store


@pytest.mark.parametrize("fast", [True, False])
@given(data=st.data())
def test_slices_match_numpy(fast: bool, data: st.DataObject) -> None:
    a, options = data.draw(arrays())
    z = omnizarr.create_array(_store(fast), shape=a.shape, dtype=a.dtype, **options)
    half = tuple(slice(0, data.draw(st.integers(0, length))) for length in a.shape)
    z[half] = a[half]  # the rest is not stored
    expected = np.full(a.shape, z.fill_value, a.dtype)
    expected[half] = a[half]
    for _ in range(4):
        key = data.draw(keys(a.shape))
        np.testing.assert_array_equal(z[key[0] if len(key) == 1 else key], expected[key])
        outer = np.full([length * 2 for length in expected[key].shape], b"" if a.dtype.kind in "SV" else 0, a.dtype)
        out = outer[tuple(slice(None, None, -2) for _ in outer.shape)]
        if out.shape:
            z.read(key, out=out)
            np.testing.assert_array_equal(out, expected[key])


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("shards", [None, (4, 6)])
def test_the_kernel_is_used(calls: list[str], codec: str, shards: Any) -> None:
    a = np.arange(8 * 9, dtype="i4").reshape(8, 9)
    z = omnizarr.create_array(_store(True), data=a, chunks=(2, 3), shards=shards, compressors=CODECS[codec])
    for key in (..., (slice(1, 7), slice(2, 9)), (slice(1, 2), slice(1, 5))):
        calls.clear()
        assert np.array_equal(z[key], a[key])
        assert calls
        assert "read" in calls or not shards or key is not ...  # whole shards


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("codec", ["zstd", "blosc", "gzip", "raw"])
@pytest.mark.parametrize("damage", ["shorter", "longer", "other"])
def test_damaged_chunks_are_named(codec: str, damage: str, fast: bool) -> None:
    store = _store(fast)
    z = omnizarr.create_array(store, data=np.arange(600, dtype="i4"), chunks=200, compressors=CODECS[codec])
    stored = bytes(store.get("c/1") or b"")
    values = {"shorter": stored[:-3], "longer": stored + b"123", "other": bytes(len(stored))}
    if damage == "other" and codec == "raw":
        pytest.skip("any bytes of the right length are valid")
    store.set("c/1", values[damage])
    with pytest.raises(ChunkError, match="c/1"):
        z[...]
    assert z[:200].tolist() == list(range(200))


@pytest.mark.parametrize("fast", [True, False])
def test_parts_of_blosc_chunks(fast: bool) -> None:
    """Of chunks with many blocks, in any order, only some are decoded."""
    a = np.random.default_rng(0).integers(0, 50, (70, 60, 130)).astype("u2")
    store = _store(fast)
    z = omnizarr.create_array(store, data=a, chunks=(64, 60, 128), compressors=BLOSC)
    store.set("c/0/0/0", reordered(bytes(store.get("c/0/0/0") or b"")))
    for key in ((5, 6, 7), (slice(3, 5),), (slice(60, 66), slice(None), slice(120, 130)), (slice(None), 3), ...):
        assert np.array_equal(z[key], a[key])


def test_a_read_does_not_change_received_values() -> None:
    store = _store(True)
    z = omnizarr.create_array(store, data=np.arange(100), chunks=10, compressors=None)
    first = z[...]
    first += 1
    assert z[...].tolist() == list(range(100))

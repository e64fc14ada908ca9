"""Promise 6, its last part: `on_corrupt` replaces damaged chunks, and the rest of the array can be read."""

from __future__ import annotations

import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ArgumentError, ChunkError

DATA = np.arange(1, 61).reshape(6, 10)
LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (4, 4)},
    "shards": {"chunks": (2, 2), "shards": (4, 4)},
    "compressed shards": {"chunks": (2, 2), "shards": (4, 4), "compressors": ["zstd"]},
    "v2": {"chunks": (4, 4), "zarr_format": 2},
}


def damaged(place: Any, layout: str) -> np.ndarray:
    """An array whose second chunk is damaged, and a mask of the elements that it holds."""
    z = omnizarr.create_array(place, data=DATA, fill_value=-1, overwrite=True, **LAYOUTS[layout])
    key = "0.1" if layout == "v2" else "c/0/1"
    z.store.set(key, b"no good")
    lost = np.zeros(DATA.shape, bool)
    lost[:4, 4:8] = True
    return lost


@pytest.mark.parametrize("layout", LAYOUTS)
def test_undamaged_chunks_are_read(layout: str) -> None:
    store = omnizarr.MemoryStore()
    lost = damaged(store, layout)
    expected = np.where(lost, -1, DATA)
    with pytest.raises(ChunkError, match=r"chunk \(0, 1\) of array `/`"):
        omnizarr.open_array(store)[...]
    z = omnizarr.open_array(store, on_corrupt="fill")
    mask = DATA % 3 == 0
    for key in (..., (0, 5), np.s_[::2, ::-3], ([0, 5, 1], [4, 9, 5]), mask, np.s_[5:], np.s_[1:3, 4:6], (2, None)):
        np.testing.assert_array_equal(z[key], expected[key])
    np.testing.assert_array_equal(z.oindex[[5, 0], [9, 4, 5]], expected[np.ix_([5, 0], [9, 4, 5])])
    out = np.zeros((10, 6), "f8").T
    z.read(out=out)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("shards", [None, (20,)])
def test_a_mask_that_reaches_into_an_edge_chunk(shards: Any) -> None:
    a = np.arange(1, 51)
    z = omnizarr.create_array(None, data=a, chunks=(4,), shards=shards, fill_value=-1)
    z.store.set("c/1", b"no good")
    mask = a % 3 != 1
    expected = a.copy()
    expected[slice(20, 40) if shards else slice(4, 8)] = -1
    filled = omnizarr.open_array(z.store, on_corrupt="fill")
    np.testing.assert_array_equal(filled[mask], expected[mask])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_function_replaces_a_damaged_chunk(layout: str) -> None:
    store = omnizarr.MemoryStore()
    lost = damaged(store, layout)
    met: list[ChunkError] = []

    def ask(error: ChunkError) -> Any:
        met.append(error)
        return 7

    np.testing.assert_array_equal(omnizarr.open(store, on_corrupt=ask)[...], np.where(lost, 7, DATA))
    assert {(error.chunk, error.array) for error in met} == {((0, 1), "/")}
    np.testing.assert_array_equal(omnizarr.open(store, on_corrupt=lambda error: None)[...], np.where(lost, -1, DATA))
    with pytest.raises(ArgumentError, match="on_corrupt"):
        omnizarr.open(store, on_corrupt=lambda error: np.ones(3))[...]
    with pytest.raises(ZeroDivisionError):
        omnizarr.open(store, on_corrupt=lambda error: 1 / 0)[...]


def test_only_damaged_inner_chunks_are_replaced() -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, data=np.arange(1, 17), chunks=4, shards=16, compressors=["crc32c"])
    data = bytearray(store.get("c/0") or b"")
    data[5] ^= 1
    store.set("c/0", bytes(data))
    with pytest.raises(ChunkError, match="crc32c"):
        z[...]
    found = omnizarr.open_array(store, on_corrupt="fill")[...].tolist()
    assert found == [0, 0, 0, 0, *range(5, 17)]


def test_arrays_of_a_group_inherit_on_corrupt(tmp_path: Path) -> None:
    damaged(tmp_path / "a", "chunks")
    omnizarr.create_group(tmp_path)
    for group in (omnizarr.open_group(tmp_path, on_corrupt="fill"), omnizarr.open(tmp_path, on_corrupt="fill")):
        assert group["a"][0, 4] == -1
        assert pickle.loads(pickle.dumps(group["a"]))[0, 4] == -1
    with pytest.raises(ChunkError):
        omnizarr.open_group(tmp_path)["a"][0, 4]


def test_writes_do_not_replace_damaged_chunks(tmp_path: Path) -> None:
    damaged(tmp_path, "shards")
    z = omnizarr.open_array(tmp_path, on_corrupt="fill")
    with pytest.raises(ChunkError, match="cannot write"):
        z[0, 4] = 1
    z[:4, 4:8] = 3
    assert (z[:4, 4:8] == 3).all()


@pytest.mark.parametrize("wrong", ["ignore", None, 0, True])
def test_invalid_values_of_on_corrupt(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match='"raise", "fill" or a function'):
        omnizarr.open(omnizarr.MemoryStore(), on_corrupt=wrong)


@pytest.mark.parametrize("layout", ["chunks", "shards"])
@pytest.mark.parametrize("shape", [(8, 8), (7, 9)])
def test_a_whole_write_repairs_a_damaged_chunk(layout: str, shape: Any, tmp_path: Path) -> None:
    for store in (omnizarr.MemoryStore(), omnizarr.LocalStore(tmp_path)):
        z = omnizarr.create_array(store, data=np.ones(shape, "i4"), overwrite=True, **LAYOUTS[layout])
        for key in list(store.list_prefix("c/")):
            value = bytes(store.get(key) or b"")
            store.set(key, value[: len(value) // 2] if key != "c/0/0" else value * 9)
        with pytest.raises(ChunkError):
            z[5, 5] = 2
        z[...] = 3
        assert (z[...] == 3).all()


def _claimed(shape: int, chunks: int, inner: int | None, dtype: str = "uint8") -> omnizarr.MemoryStore:
    """An array of huge chunks, whose only chunk is damaged."""
    store = omnizarr.MemoryStore()
    options: Any = {"chunks": chunks} if inner is None else {"chunks": inner, "shards": chunks}
    omnizarr.create_array(store, shape=shape, dtype=dtype, fill_value=7, compressors=None, **options)
    store.set("c/0", b"damaged")
    return store


@pytest.mark.parametrize(
    "store",
    [
        _claimed(2**40, 2**34, None),
        _claimed(2**40, 2**31, None),
        _claimed(2**26, 2**26, 1),
        _claimed(2**40, 2**34, 2**10),
        _claimed(2**40, 2**34, 1),
    ],
    ids=["a chunk of 16 GiB", "a chunk of 2 GiB", "2**26 inner chunks", "2**24 inner chunks", "2**34 inner chunks"],
)
@pytest.mark.parametrize("on_corrupt", ["fill", lambda error: 5])
@pytest.mark.parametrize("key", [slice(2), [0, 9], np.s_[3:50:40]], ids=["slice", "indices", "steps"])
def test_a_damaged_chunk_takes_only_the_memory_of_the_selection(store: Any, on_corrupt: Any, key: Any) -> None:
    z = omnizarr.open_array(store, on_corrupt=on_corrupt)
    tracemalloc.start()
    try:
        assert z[key].tolist() == [7 if on_corrupt == "fill" else 5] * 2
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_a_damaged_index_is_decoded_once_for_all_inner_chunks() -> None:
    """Time that grows with the square of the number of inner chunks would make this test hang."""
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=2**15, dtype="u1", chunks=1, shards=2**15, fill_value=7, compressors=None)
    z[...] = 1
    data = bytearray(store.get("c/0") or b"")
    data[-8] ^= 1
    store.set("c/0", bytes(data))
    assert (omnizarr.open_array(store, on_corrupt="fill")[...] == 7).all()
    errors: list[Any] = []
    replaced = omnizarr.open_array(store, on_corrupt=lambda error: errors.append(error) or 3)  # type: ignore[func-returns-value]
    assert (replaced[:100] == 3).all()
    assert len(errors) == 100


@pytest.mark.parametrize("shards", [None, (8, 9)])
def test_any_selection_of_a_damaged_array(shards: Any) -> None:
    """A replacement with different elements shows that each element comes from its place in the chunk."""
    a = np.arange(20 * 27).reshape(20, 27)
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, data=a, chunks=(4, 3), shards=shards, compressors=["crc32c"])
    expected = a.copy()
    for key in ("c/0/0", "c/1/2", "c/2/1"):
        data = bytearray(store.get(key) or b"")
        if shards is None:
            del data[-1]
        else:
            data[10] ^= 1  # in the first inner chunk
        store.set(key, bytes(data))
        rows, columns = (int(part) for part in key.split("/")[1:])
        height, width = (4, 3) if shards is None else shards
        part = expected[rows * height :, columns * width :][:4, :3]
        part[...] = -np.arange(12).reshape(4, 3)[: part.shape[0], : part.shape[1]]
    z = omnizarr.open_array(store, on_corrupt=lambda error: -np.arange(12).reshape(4, 3))
    mask = a % 3 == 0
    for key in (
        ...,
        np.s_[1:19:3, ::2],
        np.s_[::-1, 5],
        np.s_[[9, 0, 1], 3:],
        np.s_[[9, 0, 1], [2, 6, 2]],
        mask,
        (0, 0),
    ):
        np.testing.assert_array_equal(z[key], expected[key])
    np.testing.assert_array_equal(z.oindex[[9, 0, 1], [2, 6, 20]], expected[np.ix_([9, 0, 1], [2, 6, 20])])
    out = np.empty((27, 20), a.dtype).T
    z.read(out=out)
    np.testing.assert_array_equal(out, expected)

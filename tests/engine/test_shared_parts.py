"""Arrays with equal metadata share what the engine derives from it, and nothing else."""

from __future__ import annotations

import gc
import pickle
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.codecs import Blosc, Transpose, Zstd
from omnizarr.model import ZarrFormat

FORMS: dict[str, dict[str, Any]] = {
    "raw": {"compressors": None},
    "zstd": {"compressors": Zstd()},
    "blosc": {"compressors": Blosc()},
    "transposed": {"filters": Transpose((1, 0))},
    "shards": {"shards": (8, 6)},
    "boolean": {"dtype": "bool"},
    "text": {"dtype": "U3"},
}


@pytest.mark.smoke
@pytest.mark.parametrize("form", FORMS)
def test_arrays_of_equal_metadata_have_their_own_elements(tmp_path: Path, form: str) -> None:
    options = {"shape": (10, 9), "chunks": (4, 3), "dtype": "i2"} | FORMS[form]
    dtype = np.dtype(options["dtype"])
    values = {number: np.arange(90).reshape(10, 9) * (number + 1) for number in range(4)}
    places: dict[int, Any] = {0: tmp_path / "a", 1: tmp_path / "b", 2: omnizarr.MemoryStore(), 3: tmp_path / "c.zip"}
    for number, place in places.items():
        z = omnizarr.create_array(place, attributes={"n": number % 2}, **options)
        z[:7] = values[number][:7].astype(dtype)  # rows of chunks are absent
        z.store.close()
    fill = np.zeros((), dtype)
    for _ in range(2):
        for number, place in places.items():
            expected = values[number].astype(dtype)
            expected[7:] = fill
            z = omnizarr.open_array(place, mode="r")
            assert z.attrs["n"] == number % 2
            assert np.array_equal(z[2:5, 1:7], expected[2:5, 1:7])
            assert np.array_equal(z[8], expected[8])
            assert z[1, 1] == expected[1, 1]
            assert np.array_equal(z[...], expected)
            z.store.close()


@pytest.mark.parametrize("zarr_format", [1, 2, 3, "3-draft-2020", "3-draft-2022"])
def test_a_handle_whose_shape_changes_shares_nothing_old(tmp_path: Path, zarr_format: ZarrFormat) -> None:
    for name in "ab":
        omnizarr.create_array(tmp_path / name, data=np.arange(20), chunks=(8,), zarr_format=zarr_format)
    a, b = (omnizarr.open_array(tmp_path / name, mode="r+") for name in "ab")
    assert a[-1] == b[-1] == 19
    a.resize((25,))
    a[20:] = 7
    b.attrs["x"] = 1
    assert a[...].tolist() == [*range(20), *[7] * 5]
    assert b[...].tolist() == [*range(20)]
    a = omnizarr.open_array(tmp_path / "a", mode="r")
    assert a[...].tolist() == [*range(20), *[7] * 5]


def test_chunk_caches_and_damaged_chunks_concern_one_array(tmp_path: Path) -> None:
    for name in "ab":
        omnizarr.create_array(tmp_path / name, data=np.arange(20), chunks=(8,), compressors=Zstd())
    (tmp_path / "a" / "c" / "1").write_bytes(b"damaged")
    for _ in range(2):
        with pytest.raises(omnizarr.errors.ChunkError):
            omnizarr.open_array(tmp_path / "a", mode="r")[...]
        assert omnizarr.open_array(tmp_path / "b", mode="r")[...].tolist() == [*range(20)]
        assert omnizarr.open_array(tmp_path / "b", mode="r", cache="1 MiB")[3:9].tolist() == [*range(3, 9)]


def test_no_store_stays_in_memory(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path / "a", data=np.arange(20))
    z = omnizarr.open_array(tmp_path / "a", mode="r")
    assert z[3] == 3
    store = weakref.ref(z.store)
    del z
    gc.collect()
    assert store() is None


def test_handles_that_were_read_can_be_pickled(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path / "a", data=np.arange(20))
    z = omnizarr.open_array(tmp_path / "a", mode="r")
    assert z[3] == 3
    assert pickle.loads(pickle.dumps(z))[4] == 4
    assert pickle.loads(pickle.dumps(z.metadata)) == z.metadata

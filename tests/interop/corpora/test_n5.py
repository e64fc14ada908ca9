"""We read the stored corpus of N5, written by three programs."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.corpora.reading import CORPORA, Stored, all_stored

import omnizarr

ARRAYS = list(all_stored("n5"))
WRITERS = sorted({stored.writer for stored in ARRAYS})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("stored", ARRAYS, ids=str)
def test_we_read_the_corpus(stored: Stored) -> None:
    expected = stored.expected
    for array in (
        omnizarr.open_array(stored.location, path=expected.path, mode="r"),
        omnizarr.open_array(stored.location / expected.path, mode="r"),
    ):
        assert (array.zarr_format, array.shape, array.chunks) == ("n5", expected.shape, expected.chunks)
        assert array.attrs.asdict() == expected.attributes
        assert array.fill_value == 0
        assert expected.agrees(array[...])


@pytest.mark.parametrize("writer", WRITERS)
def test_K2_we_list_the_hierarchies(writer: str) -> None:
    place = CORPORA / "n5" / writer / "all.n5"
    # TensorStore writes arrays only: no version, and no documents of groups.
    root = omnizarr.open_group(place, mode="r", zarr_format="n5" if writer.startswith("tensorstore") else None)
    arrays = sorted(path for path, node in root.members(max_depth=None) if isinstance(node, omnizarr.Array))
    assert arrays == sorted(stored.expected.path for stored in ARRAYS if stored.writer == writer)
    assert list(root.group_keys()) == ["compressions", "shapes", "types"]


@pytest.mark.parametrize("writer", WRITERS)
def test_we_copy_and_change_the_arrays(tmp_path: Path, writer: str) -> None:
    shutil.copytree(CORPORA / "n5" / writer / "all.n5", tmp_path / "x.n5")
    for stored in ARRAYS:
        if stored.writer != writer:
            continue
        array = omnizarr.open_array(tmp_path / "x.n5", path=stored.expected.path)
        data = array[...]
        copy = omnizarr.from_array(None, data=array, zarr_format=3, compressors="auto")
        assert copy[...].tobytes() == data.tobytes()
        again = omnizarr.from_array(None, data=copy, zarr_format="n5")
        assert again[...].tobytes() == data.tobytes()
        assert again.attrs == array.attrs
        if array.ndim:
            array.append(data[:1])
            array[0] = 1
            data = np.concatenate([data, data[:1]])
            data[0] = 1
            assert omnizarr.open_array(tmp_path / "x.n5", path=stored.expected.path)[...].tobytes() == data.tobytes()

"""Parts of uncompressed chunks whose rows lie far apart in the file: the kernel reads each row by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import omnizarr
from omnizarr import config

SHAPE = (40, 48, 300)  # in a chunk of 20 × 48 × 300 elements of 2 bytes, rows of a plane are 28,800 bytes apart
KEYS = (
    np.s_[:, 7, :],
    np.s_[:, 7:8, :],
    np.s_[::-1, 7, :],
    np.s_[1:39:3, 5, 10:290],
    np.s_[:, 5, ::2],
    np.s_[:, 5:7, :],
    np.s_[:, 5:9:3, :],
    np.s_[:, :, 17],
    np.s_[:, 3, 4],
    np.s_[25, 7, :],
    np.s_[[3, 3, 30], 7, :],
)


@pytest.mark.parametrize("order", ["C", "transposed"])
@pytest.mark.parametrize("shards", [None, (40, 48, 300)])
def test_planes_equal_those_of_numpy(tmp_path: Path, order: str, shards: tuple[int, ...] | None) -> None:
    elements = np.random.default_rng(5).integers(0, 2**16, SHAPE).astype("u2")
    filters = omnizarr.codecs.Transpose((1, 0, 2)) if order == "transposed" else None
    omnizarr.create_array(
        tmp_path / "z", data=elements, chunks=(20, 48, 300), shards=shards, compressors=None, filters=filters
    )
    with config(threads=3):
        z = omnizarr.open_array(tmp_path / "z", mode="r")
        for key in KEYS:
            assert np.array_equal(z[key], elements[key])
        out = np.zeros((300, 40), "u2")  # its rows are not contiguous
        z.read(np.s_[:, 9, :], out=out.T)
        assert np.array_equal(out.T, elements[:, 9, :])


def test_a_chunk_that_is_too_short_is_reported(tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path / "z", data=np.ones(SHAPE, "u2"), chunks=(20, 48, 300), compressors=None)
    chunk = tmp_path / "z" / "c" / "1" / "0" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-1])
    with pytest.raises(omnizarr.errors.ChunkError):
        omnizarr.open_array(tmp_path / "z", mode="r")[:, 7, :]

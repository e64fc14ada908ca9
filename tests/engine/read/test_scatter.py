"""Rows that indices take from uncompressed chunks in any order, which the kernel reads by vectored calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import ChunkError

WIDTHS = (100, 1024, 1500)  # bytes of a row: shorter than, equal to and longer than the least that is scattered


@pytest.fixture(scope="module")
def arrays(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, bool], tuple[omnizarr.Array, Any]]:
    """Arrays of 2,500 rows, in chunks of 1,100 and in shards of 1,200, by the bytes of a row."""
    folder = tmp_path_factory.mktemp("rows")
    made = {}
    for width in WIDTHS:
        data = np.random.default_rng(width).integers(0, 256, (2500, width), "u1")
        for sharded in (False, True):
            layout: dict[str, Any] = (
                {"chunks": (300, width), "shards": (1200, width)} if sharded else {"chunks": (1100, width)}
            )
            path = folder / f"{width}-{sharded}"
            omnizarr.create_array(path, data=data, compressors=None, **layout)
            made[width, sharded] = omnizarr.open_array(path, mode="r"), data
    return made


@given(
    st.sampled_from(WIDTHS),
    st.booleans(),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1.0, 0.9, 0.4, 0.05]),
    st.sampled_from(["sorted", "backwards", "shuffled", "repeated"]),
)
def test_rows_in_any_order(
    arrays: dict[tuple[int, bool], tuple[omnizarr.Array, Any]],
    width: int,
    sharded: bool,
    seed: int,
    density: float,
    order: str,
) -> None:
    z, data = arrays[width, sharded]
    random = np.random.default_rng(seed)
    rows = np.flatnonzero(random.random(len(data)) < density)
    if order == "backwards":
        rows = rows[::-1]
    elif order != "sorted":
        random.shuffle(rows)
    if order == "repeated" and len(rows):
        rows = np.concatenate([rows, rows[:3]])
    np.testing.assert_array_equal(z.take(rows), data[rows])
    out = np.full((len(rows), 2 * width), 7, "u1")[:, :width]  # rows that are apart in the target
    np.testing.assert_array_equal(z.oindex[rows], data[rows])
    z.take(rows, out=out)
    np.testing.assert_array_equal(out, data[rows])


@pytest.mark.parametrize("columns", [slice(0, 1200), slice(300, 1500), slice(0, 1500, 1)])
def test_rows_of_which_a_part_is_selected(
    arrays: dict[tuple[int, bool], tuple[omnizarr.Array, Any]], columns: slice
) -> None:
    z, data = arrays[1500, False]
    rows = np.random.default_rng(1).permutation(len(data))
    np.testing.assert_array_equal(z.oindex[rows, columns], data[rows][:, columns])


def test_a_chunk_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    data = np.arange(64 * 1024, dtype="u4").reshape(64, 1024)
    z = omnizarr.create_array(tmp_path / "a.zarr", data=data, chunks=(32, 1024), compressors=None)
    chunk = tmp_path / "a.zarr" / "c" / "1" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-5000])
    rows = np.random.default_rng(2).permutation(64)
    with pytest.raises(ChunkError, match="c/1/0"):
        z.take(rows)
    np.testing.assert_array_equal(z.take(rows[rows < 32]), data[rows[rows < 32]])

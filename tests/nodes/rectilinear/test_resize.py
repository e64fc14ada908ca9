"""Resizing arrays on a rectilinear grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nodes.rectilinear.arrays import DATA, create, grid_of, rectilinear, with_grid

import omnizarr
from omnizarr.codecs import Sharding
from omnizarr.errors import ArgumentError

# -- resizing


def test_growing_within_the_edges_keeps_them() -> None:
    z = create(chunks=([10, 20, 40, 50], 5))
    before = grid_of(z)
    z.append(DATA[:30])
    assert z.shape == (90, 12)
    assert z.chunks == ((10, 20, 40, 20), (5, 5, 2))
    assert grid_of(z) == before
    np.testing.assert_array_equal(z[...], np.concatenate([DATA, DATA[:30]]))


def test_growing_beyond_the_edges_repeats_the_last_length() -> None:
    z = create()
    z.append(DATA[:31])
    assert z.chunks == ((10, 20, 30, 30, 1), (5, 5, 2))
    assert grid_of(z) == rectilinear([10, 20, [30, 3]], [[5, 2], 2])
    z.append(np.zeros((91, 4), "int32"), axis=1)
    assert z.chunks[1] == (5, 5, 2, 2, 2)
    np.testing.assert_array_equal(z[:60, :12], DATA)
    assert omnizarr.open_array(z.store).chunks == z.chunks


def test_shrinking_keeps_only_the_edges() -> None:
    z = create()
    before = grid_of(z)
    z.resize((25, 12))
    assert z.chunks == ((10, 15), (5, 5, 2))
    assert grid_of(z) == before
    assert sorted({key.split("/")[1] for key in z.store.list_prefix("c/")}) == ["0", "1"]
    z.resize((60, 12))
    assert grid_of(z) == before
    np.testing.assert_array_equal(z[:25], DATA[:25])
    assert (z[25:] == 0).all()


def test_append_to_listed_shards() -> None:
    z = create(chunks=(5, 2), shards=([10, 20, 30], [4, 8]))
    z.append(DATA[:3])
    assert z.shards == ((10, 20, 30, 3), (4, 8))
    np.testing.assert_array_equal(omnizarr.open_array(z.store)[...], np.concatenate([DATA, DATA[:3]]))


def test_a_dimension_without_edges_can_be_read_and_cannot_grow() -> None:
    z = omnizarr.open_array(with_grid(rectilinear([], [5, 7]), (0, 12)))
    assert z.chunks == ((), (5, 7))
    assert (z.cdata_shape, z.nchunks, z.nchunks_initialized) == ((0, 2), 0, 0)
    assert z[...].shape == (0, 12)
    z[...] = 5
    z.store.set("c/0/0", b"stray")
    z.resize((0, 6))
    before = grid_of(z)
    with pytest.raises(ArgumentError, match="cannot grow"):
        z.append(np.zeros((1, 6), "int32"))
    assert grid_of(z) == before
    assert omnizarr.open_array(with_grid(rectilinear([]), (0,), [Sharding((4,)).to_json()])).shape == (0,)


SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=5)


@given(SIZES, SIZES, st.booleans(), st.lists(st.tuples(st.integers(0, 16), st.integers(0, 16)), max_size=4))
def test_any_series_of_resizes_matches_numpy(rows: Any, columns: Any, sharded: bool, shapes: Any) -> None:
    data = np.arange(1, sum(rows) * sum(columns) + 1, dtype="i2").reshape(sum(rows), sum(columns))
    layout = {"chunks": (rows, columns)} if not sharded else {"chunks": 1, "shards": (rows, columns)}
    z = omnizarr.create_array(None, data=data, **layout)
    for shape in shapes:
        z.resize(shape)
        new = np.zeros(shape, data.dtype)
        common = tuple(slice(min(pair)) for pair in zip(data.shape, shape, strict=True))
        new[common] = data[common]
        data = new
        np.testing.assert_array_equal(z[...], data)
        assert tuple(map(sum, z.shards or z.chunks)) == shape  # type: ignore[arg-type]
        if data.size:
            z[-1] = data[-1] = 9
    np.testing.assert_array_equal(omnizarr.open_array(z.store)[...], data)

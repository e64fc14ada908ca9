"""Creating arrays in one line: `create`, `array`, `empty`, `zeros`, `ones` and `full`."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import omnizarr


def test_every_public_name_exists() -> None:
    names = [
        "open",
        "open_array",
        "open_group",
        "create",
        "create_array",
        "create_group",
        "array",
        "from_array",
        "empty",
        "zeros",
        "ones",
        "full",
    ]
    names += [
        "empty_like",
        "zeros_like",
        "ones_like",
        "full_like",
        "save",
        "save_array",
        "save_group",
        "load",
        "tree",
        "group",
    ]
    for name in [*names, "consolidate_metadata"]:
        assert callable(getattr(omnizarr, name))
        assert name in omnizarr.__all__
        assert inspect.getdoc(getattr(omnizarr, name))


def test_create_puts_the_shape_first() -> None:
    z = omnizarr.create((2, 3))
    assert (z.shape, z.dtype) == ((2, 3), np.dtype("float64"))
    assert omnizarr.create(5, dtype="int8", chunks=2).chunks == (2,)
    assert omnizarr.create(data=[1, 2]).dtype == "int64"
    assert omnizarr.create(3, data=None).shape == (3,)
    store = omnizarr.MemoryStore()
    assert omnizarr.create(3, store=store, path="a/b").same_array(omnizarr.open(store, path="a/b"))


def test_array_holds_data() -> None:
    z = omnizarr.array([[1, 2], [3, 4]], chunks=(1, 2))
    assert z[...].tolist() == [[1, 2], [3, 4]]
    store = omnizarr.MemoryStore()
    assert omnizarr.array(z, store=store, path="copy")[...].tolist() == [[1, 2], [3, 4]]
    assert "copy" in omnizarr.open_group(store)


@pytest.mark.parametrize(
    ("made", "value"),
    [
        (omnizarr.empty((2, 2)), 0.0),
        (omnizarr.zeros((2, 2)), 0.0),
        (omnizarr.ones((2, 2), dtype="int8"), 1),
        (omnizarr.full((2, 2), 7, dtype="int16"), 7),
        (omnizarr.full((2, 2), np.nan), np.nan),
        (omnizarr.empty((2, 2), fill_value=3), 3.0),
        (omnizarr.zeros((2, 2), dtype="M8[s]"), np.datetime64(0, "s")),
        (omnizarr.empty((2, 2), dtype="M8[s]"), np.datetime64("NaT", "s")),
        (omnizarr.zeros((2, 2), dtype="U3"), ""),
        (omnizarr.full((2, 2), "x", dtype=str), "x"),
        (omnizarr.zeros_like(omnizarr.full((2, 2), 7, dtype="m8[s]")), np.timedelta64(0, "s")),
        (omnizarr.full_like(omnizarr.full((2, 2), "x", dtype=str), "yz"), "yz"),
    ],
)
def test_arrays_of_one_value_take_no_space(made: omnizarr.Array, value: Any) -> None:
    np.testing.assert_array_equal(made[...], np.full((2, 2), value))
    assert list(made.store.list()) == ["zarr.json"]

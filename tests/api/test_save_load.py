"""Saving and loading whole arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ArgumentError, NodeExistsError


def test_save_and_load_one_array(tmp_path: Path) -> None:
    omnizarr.save(tmp_path / "a.zarr", np.arange(5))
    assert omnizarr.load(tmp_path / "a.zarr").tolist() == [0, 1, 2, 3, 4]
    omnizarr.save(tmp_path / "a.zarr", [7])
    assert omnizarr.load(tmp_path / "a.zarr").tolist() == [7]
    omnizarr.save_array(tmp_path / "b.zarr", [1, 2], path="x/y", chunks=1)
    assert omnizarr.load(tmp_path / "b.zarr", path="x/y").tolist() == [1, 2]
    with pytest.raises(NodeExistsError):
        omnizarr.save_array(tmp_path / "a.zarr", [1], overwrite=False)


def test_save_and_load_several() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.save(store, [1], [2.5], named=[[3]])
    loaded = omnizarr.load(store)
    assert {name: values.tolist() for name, values in loaded.items()} == {"arr_0": [1], "arr_1": [2.5], "named": [[3]]}
    omnizarr.save_group(store, only=[1])
    assert list(omnizarr.load(store)) == ["only"]
    omnizarr.save_group(store, [1], path="g")
    assert list(omnizarr.load(store, path="g")) == ["arr_0"]
    assert list(omnizarr.open_group(store)) == ["g", "only"]
    for save in (omnizarr.save, omnizarr.save_group):
        with pytest.raises(ArgumentError, match="at least one array to save"):
            save(store)


def test_load_of_an_absent_node() -> None:
    with pytest.raises(FileNotFoundError):
        omnizarr.load(omnizarr.MemoryStore())

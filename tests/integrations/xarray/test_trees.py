"""Trees in all generations and stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

xr = pytest.importorskip("xarray")

import omnizarr  # noqa: E402
import omnizarr.integrations.xarray  # noqa: E402


@pytest.mark.parametrize("name", ["w.zarr", "w.zip", "w.sqlite"])
@pytest.mark.parametrize("zarr_format", [2, "3-draft-2020", "3-draft-2022", 3, "n5"])
def test_trees_in_all_generations_and_stores(tmp_path: Path, zarr_format: Any, name: str) -> None:
    below = xr.Dataset({"sum": ("time", np.arange(20.0))})
    text = xr.Dataset({"name": ("y", ["a", "bb"]), "value": (("time", "y"), np.ones((20, 2)))}, {"time": np.arange(20)})
    tree = xr.DataTree.from_dict({"/": below, "/a": text, "/consolidated": below})
    if zarr_format == "n5":  # it has no text
        tree = xr.DataTree.from_dict({"/a": below, "/b/c": below})
    tree.omnizarr.to_zarr(tmp_path / name, zarr_format=zarr_format)
    assert omnizarr.open_group(tmp_path / name, mode="r").zarr_format == zarr_format
    xr.testing.assert_identical(xr.open_datatree(tmp_path / name, engine="omnizarr").load(), tree)


def test_the_group_of_consolidated_metadata_is_no_dataset(tmp_path: Path) -> None:
    """In the draft of 2020 it is a group document of its own."""
    tree = xr.DataTree.from_dict({"/": xr.Dataset({"v": ("x", [1, 2])})})
    tree.omnizarr.to_zarr(tmp_path, zarr_format="3-draft-2020")
    assert "consolidated" in omnizarr.open_group(tmp_path, mode="r")
    xr.testing.assert_identical(xr.open_datatree(tmp_path, engine="omnizarr").load(), tree)

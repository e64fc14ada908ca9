"""Locations and selections as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import ArgumentError, NodeNotFoundError, NodeTypeError
from omnizarr.tools import open_location, parse_selection, split_selection
from omnizarr.tools.selections import selection_text

BOUNDS = st.none() | st.integers(-9, 9)
SLICES = st.builds(slice, BOUNDS, BOUNDS, st.none() | st.integers(-3, 3).filter(bool))


@given(st.lists(st.integers(-99, 99) | SLICES | st.just(...) | st.lists(st.integers(0, 9), min_size=1), min_size=1))
def test_selections_have_a_text(items: list[Any]) -> None:
    assert parse_selection(selection_text(tuple(items))) == tuple(items)
    assert split_selection(f"x[1].zarr/a[{selection_text(tuple(items))}]") == ("x[1].zarr/a", tuple(items))


@pytest.mark.parametrize("text", ["x", "1.5", "1:2:3:4", "::0", "[1, x]", ",", "1 2", "9" * 5000])
def test_invalid_selections(text: str) -> None:
    with pytest.raises(ArgumentError):
        parse_selection(text)


@given(st.text())
def test_any_text_is_a_selection_or_an_error(text: str) -> None:
    try:
        parse_selection(text)
    except ArgumentError:
        pass


@pytest.mark.parametrize("zarr_format", [2, "3-draft-2020", "3-draft-2022", 3, "n5"])
@pytest.mark.parametrize("consolidated", [False, True])
def test_the_root_is_found_by_looking(tmp_path: Path, zarr_format: Any, consolidated: bool) -> None:
    place = tmp_path / "folder" / "data"  # no suffix tells where it begins
    omnizarr.create_group(place, zarr_format=zarr_format).create_array("a/b/c", data=[1, 2])
    if consolidated:
        if zarr_format in ("3-draft-2022", "n5"):
            pytest.skip("it has no consolidated metadata")
        omnizarr.consolidate_metadata(place)
    for path in ("", "a", "a/b", "a/b/c"):
        node = open_location(str(place / path)).node
        assert (node.path, node.store.location.rstrip("/")) == (path, str(place)), path
    assert open_location(f"{place}/a/b/c[1]", select=True).selection == (1,)


def test_groups_without_documents_below_a_zarr_suffix(tmp_path: Path) -> None:
    omnizarr.create_group(tmp_path / "x.zarr").create_array("a/b", data=[1])
    (tmp_path / "x.zarr/a/zarr.json").unlink()
    assert open_location(str(tmp_path / "x.zarr/a/b")).node.path == "a/b"


def test_a_directory_whose_name_ends_like_a_selection(tmp_path: Path) -> None:
    omnizarr.save_array(tmp_path / "a[0]", np.arange(3))
    opened = open_location(str(tmp_path / "a[0]"), select=True)
    assert (opened.selection, opened.array.shape) == (None, (3,))
    assert open_location(f"{tmp_path}/a[0][2]", select=True).selection == (2,)


def test_what_is_not_there(tmp_path: Path) -> None:
    omnizarr.create_group(tmp_path / "x.zarr").create_array("good", data=[1])
    with pytest.raises(NodeNotFoundError, match="did you mean `.*/x.zarr/good`"):
        open_location(str(tmp_path / "x.zarr/goof"))
    with pytest.raises(NodeTypeError, match="is a group"):
        _ = open_location(str(tmp_path / "x.zarr")).array

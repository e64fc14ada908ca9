"""The commands on every generation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import omnizarr

Run = Callable[..., Result]
GENERATIONS: tuple[Any, ...] = (1, 2, "3-draft-2020", "3-draft-2022", 3, "n5")
HIERARCHIES = GENERATIONS[1:]
NAMES = {
    1: "Zarr v1",
    2: "Zarr v2",
    "3-draft-2020": "the 2020 draft of Zarr v3",
    "3-draft-2022": "the 2022 draft of Zarr v3",
    3: "Zarr v3",
    "n5": "N5",
}


def make_example(location: Path, zarr_format: Any) -> Path:
    root = omnizarr.create_group(location, zarr_format=zarr_format, attributes={"title": "x"})
    root.create_array("a/b", data=np.arange(6.0).reshape(2, 3), dimension_names=["y", "x"])
    return location


@pytest.mark.parametrize("zarr_format", HIERARCHIES)
def test_hierarchies(run: Run, tmp_path: Path, zarr_format: Any) -> None:
    location = make_example(tmp_path / "x", zarr_format)
    drawn = "/\n└── a\n    └── b (y 2, x 3) float64, 48 B, chunks 2 × 3\n"
    assert run("tree", location).stdout == drawn
    assert f"{NAMES[zarr_format]}, " in run("info", location).stdout
    shown = run("info", location / "a" / "b").stdout
    assert f"Array /a/b in {location}\n" in shown
    assert re.search("Dimensions +y 2 × x 3\n", shown)
    facts = json.loads(run("info", location / "a" / "b", "--json").stdout)
    assert (facts["store"], facts["path"]) == (str(location), "a/b")
    assert (facts["zarr_format"], facts["shape"], facts["data_type"]) == (zarr_format, [2, 3], "float64")
    assert facts["dimension_names"] == ["y", "x"]


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_single_arrays(run: Run, tmp_path: Path, zarr_format: Any) -> None:
    omnizarr.create_array(tmp_path / "x", data=[1.5], zarr_format=zarr_format, attributes={"units": "K"})
    assert run("tree", tmp_path / "x").stdout == "/ (1) float64, 8 B, chunks 1\n"
    shown = run("info", tmp_path / "x").stdout
    assert f"\n{NAMES[zarr_format]}, float64, 1, 8 B\n" in shown
    assert "  units  K\n" in shown


@pytest.mark.parametrize("zarr_format", [2, "3-draft-2020", 3])
def test_consolidated_metadata_is_used_unless_disabled(run: Run, tmp_path: Path, zarr_format: Any) -> None:
    location = make_example(tmp_path / "x", zarr_format)
    before = omnizarr.open_group(location)
    omnizarr.consolidate_metadata(location)
    before.create_array("late", data=[1])  # this handle does not know the consolidated metadata
    assert "late" not in run("tree", location).stdout
    assert "late" in run("tree", location, "--no-consolidated").stdout
    # In the draft of 2020, the copies lie in a group of their own.
    assert re.search(r", consolidated, \d nodes \(1 array, ", run("info", location).stdout)
    assert re.search(r", \d nodes \(2 arrays, ", run("info", location, "--no-consolidated").stdout)


def test_unreadable_members_do_not_hide_others(run: Run, tmp_path: Path) -> None:
    location = make_example(tmp_path / "x", 2)
    omnizarr.open_group(location).create_array("objects", shape=3, dtype=object, filters=["json2"])
    document = json.loads((location / "objects" / ".zarray").read_text())
    for name, change in (
        ("bare", {"filters": None}),
        ("odd", {"filters": [{"id": "mystery"}]}),
        ("what", {"dtype": "|T"}),
    ):
        (location / name).mkdir()
        (location / name / ".zarray").write_text(json.dumps(document | change))
    shown = run("tree", location)
    assert shown.exit_code == 0
    assert shown.stdout.count("unreadable") == 3
    assert "objects (3) object" in shown.stdout
    assert "(2 arrays, 1 group, 3 unreadable)" in run("info", location).stdout

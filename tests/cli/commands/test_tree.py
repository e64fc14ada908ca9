"""`omnizarr tree`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import omnizarr

Run = Callable[..., Result]


@pytest.mark.smoke
def test_the_lines_of_a_tree(run: Run, location: Path) -> None:
    result = run("tree", location)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "/",
        "├── inner",
        "│   ├── broken (unreadable: $.chunk_grid.name: unknown chunk grid `reguler` (and 1 more))",
        "│   └── sharded (8, 8) uint16, 128 B, chunks 2 × 2, shards 4 × 4",
        "└── temperature (y 3, x 4) float32, 48 B, chunks 2 × 4",
    ]


def test_levels_and_inner_paths(run: Run, location: Path) -> None:
    assert run("tree", location, "-L", "0").stdout == "/\n"
    assert run("tree", location, "--level", "1").stdout.splitlines()[1:] == [
        "├── inner",
        "└── temperature (y 3, x 4) float32, 48 B, chunks 2 × 4",
    ]
    assert run("tree", location / "inner").stdout.startswith("/inner\n├── broken (unreadable")
    assert run("tree", location / "inner/sharded").stdout.startswith("/inner/sharded (8, 8) uint16")


def test_times_have_their_unit(run: Run, tmp_path: Path) -> None:
    omnizarr.save_array(tmp_path / "t", np.array(["2026-01-01"], "M8[10m]"))
    assert "(1) datetime64[10m], " in run("tree", tmp_path / "t").stdout


def test_a_pipe_gets_no_colours(run: Run, location: Path) -> None:
    assert "\x1b" not in run("tree", location).stdout


def test_html_is_a_page_with_all_nodes(run: Run, tmp_path: Path) -> None:
    group = omnizarr.create_group(tmp_path / "<b>")
    for index in range(250):
        group.create_group(f"g{index}")
    page = run("tree", tmp_path / "<b>", "--html").stdout
    assert page.startswith("<!DOCTYPE html>")
    assert "<b></title>" not in page
    assert page.count("<summary>g") == 250


def test_json_lists_the_members(run: Run, location: Path) -> None:
    facts = json.loads(run("tree", location, "--json").stdout)
    assert {member["path"] for member in facts["members"]} == {"inner", "inner/broken", "inner/sharded", "temperature"}

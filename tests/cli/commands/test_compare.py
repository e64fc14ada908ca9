"""`omnizarr diff`, `checksum`, `explain` and `advise`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import omnizarr

Run = Callable[..., Result]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    data = np.arange(24, dtype="i4").reshape(4, 6)
    for name, zarr_format in (("a.zarr", 3), ("b.zarr", 2)):
        group = omnizarr.create_group(tmp_path / name, zarr_format=zarr_format)
        group.create_array(
            "x", data=data, chunks=(2, zarr_format), dimension_names=["r", "c"], attributes={"units": "m"}
        )
    return tmp_path / "a.zarr", tmp_path / "b.zarr"


@pytest.mark.smoke
def test_diff(run: Run, pair: tuple[Path, Path]) -> None:
    result = run("diff", *pair)
    assert (result.exit_code, result.stdout) == (0, "equal: compared 1 array, 96 B\n")
    x = omnizarr.open_array(pair[1], path="x")
    x[1, 2] = 100
    x.attrs["units"] = "km"
    result = run("diff", *pair)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        '/x attributes.units: "m" | "km"',
        "/x[1, 2]: 8 | 100; 1 of 24 elements differ; largest difference 92",
        "different: compared 1 array, 96 B",
    ]
    assert run("diff", *pair, "--data-only", "--atol", "92").exit_code == 0
    assert json.loads(run("diff", *pair, "--json").stdout)["data"][0]["index"] == [1, 2]
    assert run("diff", pair[0], pair[0] / "gone").exit_code == 1


def test_checksum(run: Run, pair: tuple[Path, Path]) -> None:
    first, second = (run("checksum", place).stdout for place in pair)
    assert first == second
    assert len(first.strip()) == 64
    assert run("checksum", pair[0] / "x").stdout != first
    assert run("checksum", pair[0], "--dandi").stdout.strip().count("-") == 3
    assert json.loads(run("checksum", pair[0], "--json").stdout)["digest"] == first.strip()


def test_explain(run: Run, pair: tuple[Path, Path]) -> None:
    result = run("explain", f"{pair[0] / 'x'}[0]")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:2] == ["selects   24 B, shape (6,)", "touches   2 chunks, 0 of them absent"]
    assert json.loads(run("explain", f"{pair[0] / 'x'}[0, :3]", "--json").stdout)["chunks"] == 1
    assert run("explain", pair[0]).exit_code == 2


def test_advise(run: Run, pair: tuple[Path, Path]) -> None:
    result = run("advise", pair[0] / "x", "--access", "r", "--access", "c:2")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].startswith("now  2 × 3")
    assert run("advise", pair[0] / "x", "--access", "z").exit_code == 2

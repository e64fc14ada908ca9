"""`omnizarr migrate`: dry runs, losses, in place, and refusals."""

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
def source(tmp_path: Path) -> Path:
    group = omnizarr.create_group(tmp_path / "old.zarr", zarr_format=2)
    group.create_array("x", data=np.arange(60).reshape(6, 10), chunks=(2, 5))
    group.create_array("flags", data=np.arange(5) > 2)
    return tmp_path / "old.zarr"


@pytest.mark.smoke
def test_migrate_in_place(run: Run, source: Path) -> None:
    before = sorted(source.rglob("*"))
    dry = run("migrate", source, "--to", "3", "--dry-run")
    assert dry.exit_code == 0
    assert "arrays: 2 metadata" in dry.stdout
    assert sorted(source.rglob("*")) == before
    done = run("migrate", source, "--to", "3", "--remove-old")
    assert done.exit_code == 0, done.stderr
    assert omnizarr.open_group(source, mode="r").zarr_format == 3
    assert not list(source.rglob(".z*"))
    again = run("migrate", source, "--to", "3")
    assert again.exit_code == 2
    assert "already" in again.stderr


def test_losses(run: Run, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.n5"
    refused = run("migrate", source, target, "--to", "n5")
    assert refused.exit_code == 2
    assert "its data type: bool becomes uint8" in refused.stderr
    assert "--accept-losses" in refused.stderr
    assert not target.exists()
    dry = json.loads(run("migrate", source, target, "--to", "n5", "--dry-run", "--json").stdout)
    assert {array["path"]: array["way"] for array in dry["arrays"]} == {"x": "re-encode", "flags": "re-encode"}
    assert dry["losses"] == ["`flags`: its data type: bool becomes uint8"]
    done = run("migrate", source, target, "--to", "n5", "--accept-losses", "--json")
    assert json.loads(done.stdout)["finished"] is True
    assert run("migrate", source, target, "--to", "n5", "--accept-losses").exit_code == 3
    np.testing.assert_array_equal(omnizarr.open_array(target, path="x")[...], np.arange(60).reshape(6, 10))


def test_refusals(run: Run, source: Path) -> None:
    assert run("migrate", source, "--to", "4").exit_code == 2
    assert run("migrate", source).exit_code == 2
    hidden = run("migrate", source, "--to", "n5")
    assert hidden.exit_code == 2
    assert "--remove-old" in hidden.stderr
    assert run("migrate", source.parent / "none.zarr", "--to", "3").exit_code == 1

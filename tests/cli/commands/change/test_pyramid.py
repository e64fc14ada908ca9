"""`omnizarr pyramid`: arguments, dry runs, resume and refusals."""

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
def image(tmp_path: Path) -> Path:
    group = omnizarr.create_group(tmp_path / "i.zarr")
    group.create_array("0", data=np.arange(2 * 40 * 30, dtype="i2").reshape(2, 40, 30), chunks=(1, 16, 16))
    return tmp_path / "i.zarr"


@pytest.mark.smoke
def test_pyramid(run: Run, image: Path) -> None:
    arguments = ("pyramid", image, "--levels", "2", "--axes", "cyx", "--scale", "y=0.5,x=2", "--units", "x=meter")
    dry = run(*arguments, "--dry-run")
    assert dry.exit_code == 0, dry.stderr
    assert "2 reduce" in dry.stdout
    assert "note: level `2` leaves out the last element of dimension 2" in dry.stdout
    assert list(omnizarr.open_group(image, mode="r")) == ["0"]
    done = run(*arguments, "--verify", "--json")
    assert (done.exit_code, json.loads(done.stdout)["finished"]) == (0, True)
    assert run("validate", image, "--convention", "ome", "--data", "--strict").exit_code == 0
    again = run(*arguments)
    assert again.exit_code == 3
    assert "--force" in again.stderr
    assert run(*arguments, "--force", "--method", "max").exit_code == 0
    assert omnizarr.open_array(image / "1", mode="r")[0, 0, 0] == 31


def test_target_and_errors(run: Run, image: Path, tmp_path: Path) -> None:
    target = tmp_path / "t.zarr"
    done = run("pyramid", f"{image}/0", target, "--ome", "0.4", "--axes", "c,y,x", "--missing", "-1", "--edges", "keep")
    assert done.exit_code == 0, done.stderr
    assert omnizarr.open_array(target / "1", mode="r").zarr_format == 2
    for arguments, message in (
        (("--scale", "y=a"), "expected values such as y=0.5"),
        (("--axes", "yx"), "3 dimensions"),
        (("--geo",), "names of the two spatial dimensions"),
        (("--levels", "0"), "--levels"),
    ):
        failed = run("pyramid", image, *arguments)
        assert (failed.exit_code, message in failed.stderr) == (2, True), failed.stderr

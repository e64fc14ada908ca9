"""`omnizarr copy`: dry runs, resume, parts, and refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import omnizarr

Run = Callable[..., Result]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    group = omnizarr.create_group(tmp_path / "old.zarr")
    group.create_array("x", data=np.arange(600).reshape(20, 30), chunks=(1, 1), dimension_names=["r", "c"])
    group.create_array("y", data=np.arange(5))
    return tmp_path / "old.zarr"


@pytest.mark.smoke
def test_copy(run: Run, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.zarr"
    dry = run("copy", source, target, "--dry-run")
    assert dry.exit_code == 0
    assert "1 copy objects" in dry.stdout
    assert not target.exists()
    done = run("copy", source, target, "--verify", "--json")
    assert (done.exit_code, json.loads(done.stdout)["finished"]) == (0, True)
    assert run("diff", source, target).exit_code == 0
    again = run("copy", source, target)
    assert again.exit_code == 3
    assert "--force" in again.stderr
    resumed = run("copy", source, target, "--resume", "--json")
    assert (resumed.exit_code, json.loads(resumed.stdout)["bytes"]) == (0, 0)
    assert run("copy", source, target, "--force").exit_code == 0
    assert run("diff", source, target).exit_code == 0


def test_other_encoding(run: Run, source: Path, tmp_path: Path) -> None:
    result = run(
        "copy", f"{source}/x", tmp_path / "x.zip", "--chunks", "r=-1,c=10", "--codecs", "gzip", "--zarr-format", "2"
    )
    assert result.exit_code == 0, result.stderr
    array = omnizarr.open_array(str(tmp_path / "x.zip"), mode="r")
    assert (array.chunks, array.zarr_format) == ((20, 10), 2)
    np.testing.assert_array_equal(array[...], np.arange(600).reshape(20, 30))


def test_parts_and_finish(run: Run, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.zarr"
    first = run("copy", source, target, "--task", "1/2")
    assert first.exit_code == 0
    assert "--finish" in first.stdout
    refused = run("copy", source, target, "--finish")
    assert refused.exit_code == 3
    assert "are not done: 0, 2" in refused.stderr
    assert run("copy", source, target, "--task", "0/2").exit_code == 0
    assert run("copy", source, target, "--finish").exit_code == 0
    assert run("diff", source, target).exit_code == 0
    assert not (target / ".omnizarr-plan").exists()


def test_an_interrupted_run_says_how_to_go_on(
    run: Run, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("omnizarr.tools.plans.objects.CopyObjects.run", interrupt)
    stopped = run("copy", source, tmp_path / "b.zarr", "-j", "1")
    assert (stopped.exit_code, stopped.stderr.strip()) == (
        130,
        "interrupted: the same command with --resume continues",
    )
    monkeypatch.undo()
    assert run("copy", source, tmp_path / "b.zarr", "--resume").exit_code == 0


def test_force_begins_again_after_an_interrupted_run(
    run: Run, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> int:
        raise KeyboardInterrupt

    target = tmp_path / "b.zarr"
    monkeypatch.setattr("omnizarr.tools.plans.objects.CopyObjects.run", interrupt)
    assert run("copy", source, target, "-j", "1").exit_code == 130
    monkeypatch.undo()
    omnizarr.open_group(source, mode="r+").create_array("new", data=np.arange(3))
    assert run("copy", source, target).exit_code == 3
    assert run("copy", source, target, "--force").exit_code == 0
    assert run("diff", source, target).exit_code == 0
    assert not (target / ".omnizarr-plan").exists()


def test_patterns_that_match_nothing(run: Run, source: Path, tmp_path: Path) -> None:
    result = run("copy", source, tmp_path / "b.zarr", "--include", "z*")
    assert (result.exit_code, "matches z*" in result.stderr, (tmp_path / "b.zarr").exists()) == (2, True, False)


def test_a_dry_run_estimates_the_size(run: Run, source: Path, tmp_path: Path) -> None:
    stored = sum(file.stat().st_size for file in source.rglob("*") if file.is_file() and file.name != "zarr.json")
    dry = json.loads(run("copy", source, tmp_path / "b.zarr", "--dry-run", "--json").stdout)
    assert dry["cost"]["read"] == pytest.approx(stored, rel=0.1)


def test_wrong_options(run: Run, source: Path, tmp_path: Path) -> None:
    for options in (["--task", "2/2"], ["--task", "x"], ["--chunks", "a,b"], ["--chunks", "lat=1"]):
        assert run("copy", source, tmp_path / "new.zarr", *options).exit_code == 2
    assert run("copy", tmp_path / "none.zarr", tmp_path / "new.zarr").exit_code == 1


def test_rechunk(run: Run, source: Path, tmp_path: Path) -> None:
    options = ("--chunks", "r=-1,c=5", "--max-memory", "1MB")
    dry = run("rechunk", source, tmp_path / "new.zarr", *options, "--dry-run", "--json")
    assert [stage["name"] for stage in json.loads(dry.stdout)["stages"]] == ["copy objects", "rechunk"]
    assert run("rechunk", source, tmp_path / "new.zarr", *options, "--verify").exit_code == 0
    assert omnizarr.open_array(tmp_path / "new.zarr/x", mode="r").chunks == (20, 5)
    assert run("rechunk", source, tmp_path / "other.zarr").exit_code == 2
    assert run("rechunk", source, tmp_path / "other.zarr", "--chunks", "r=1", "--max-memory", "x").exit_code == 2

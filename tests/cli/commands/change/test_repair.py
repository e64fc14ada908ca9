"""`omnizarr repair`: reports, exit codes and `--undo`."""

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
def test_repair_and_undo(run: Run, tmp_path: Path) -> None:
    group = omnizarr.create_group(tmp_path / "x.zarr")
    group.create_array("a", data=np.arange(8), chunks=(2,), compressors="zstd")
    assert "sound, 4 chunks decoded" in run("repair", tmp_path / "x.zarr").stdout
    chunk = tmp_path / "x.zarr/a/c/1"
    chunk.write_bytes(b"xyz")
    dry = run("repair", tmp_path / "x.zarr", "--dry-run")
    assert dry.exit_code == 1
    assert "chunk a/c/1" in dry.stdout
    assert "would be: moved to quarantine" in dry.stdout
    assert chunk.exists()
    assert run("repair", tmp_path / "x.zarr", "--no-data").exit_code == 0
    done = run("repair", tmp_path / "x.zarr", "--json")
    result = json.loads(done.stdout)
    assert (done.exit_code, [one["key"] for one in result["repairs"]]) == (0, ["a/c/1"])
    assert not chunk.exists()
    undone = run("repair", tmp_path / "x.zarr", "--undo", result["quarantine"])
    assert (undone.exit_code, chunk.read_bytes()) == (0, b"xyz")
    assert run("repair", tmp_path / "x.zarr", "--undo").exit_code == 2


def test_what_stays_and_what_was_written_since(run: Run, tmp_path: Path) -> None:
    group = omnizarr.create_group(tmp_path / "x.zarr")
    array = group.create_array("a", data=np.arange(8), chunks=(2,))
    for number in range(3):
        (tmp_path / f"x.zarr/a/c/{number}").write_bytes(b"x")
    refused = run("repair", tmp_path / "x.zarr")
    assert refused.exit_code == 1
    assert "3 of 4 chunks cannot be decoded" in refused.stdout
    forced = run("repair", tmp_path / "x.zarr", "--force")
    assert forced.exit_code == 0
    assert "repaired 3" in forced.stdout
    array[:2] = 1
    undone = run("repair", tmp_path / "x.zarr", "--undo")
    assert undone.exit_code == 1
    assert "kept a/c/0" in undone.stdout
    assert "put back 2 values" in undone.stdout

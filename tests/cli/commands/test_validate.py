"""`omnizarr validate` and `omnizarr conformance`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import omnizarr

Run = Callable[..., Result]


@pytest.mark.smoke
def test_findings_have_rule_place_and_mend(run: Run, location: Path) -> None:
    result = run("validate", location)
    assert result.exit_code == 1
    mend = "  fix:   install the package that offers the extension, or write the array with a registered one"
    assert result.stdout.splitlines() == [
        "error R37 inner/broken/zarr.json $.chunk_grid.name",
        "  found: unknown chunk grid `reguler`",
        f"{mend} (did you mean `regular`?)",
        "error R37 inner/broken/zarr.json $.codecs[1].name",
        "  found: unknown codec `zstt`",
        f"{mend} (did you mean `zstd`?)",
        "Zarr v3, 3 arrays, 2 groups: not valid; 2 errors, 0 warnings",
    ]


def test_one_array_of_a_hierarchy(run: Run, location: Path) -> None:
    result = run("validate", location / "temperature", "--data")
    assert result.exit_code == 0
    assert result.stdout == "Zarr v3, 1 array, 0 groups, 2 chunks: valid; 0 errors, 0 warnings\n"


def test_json(run: Run, location: Path) -> None:
    report = json.loads(run("validate", location, "--json", "--readers").stdout)
    assert report["valid"] is False
    assert {finding["rule"] for finding in report["findings"]} == {"R37"}
    assert {reader["program"] for reader in report["readers"]} >= {"zarr-python", "TensorStore", "GDAL", "netCDF-C"}
    assert all(reader["sources"] for reader in report["readers"])


def test_damaged_data_and_strictness(run: Run, tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path / "a.zarr", data=np.arange(8), chunks=4, attributes={"x": 1})
    chunk = tmp_path / "a.zarr" / "c" / "1"
    chunk.write_bytes(chunk.read_bytes()[:-2])
    assert run("validate", tmp_path / "a.zarr").exit_code == 0
    result = run("validate", tmp_path / "a.zarr", "--data")
    assert result.exit_code == 1
    assert "torn: " in result.stdout
    document = tmp_path / "a.zarr" / "zarr.json"
    document.write_text(document.read_text().replace('"fill_value": 0', '"fill_value": null'))
    assert run("validate", tmp_path / "a.zarr").exit_code == 0
    assert run("validate", tmp_path / "a.zarr", "--strict").exit_code == 1


def test_nothing_there_and_wrong_usage(run: Run, tmp_path: Path) -> None:
    assert run("validate", tmp_path).exit_code == 1
    assert run("validate", tmp_path, "--convention", "none").exit_code == 2


@pytest.mark.parametrize("zarr_format", [1, 2, 3])
def test_conformance_as_the_tests_of_other_implementations_call_it(tmp_path: Path, zarr_format: int) -> None:
    place = tmp_path / "int32.zarr"
    omnizarr.create_array(place, data=np.arange(4, dtype="i4").reshape(2, 2), zarr_format=zarr_format)
    command = [sys.executable, "-m", "omnizarr", "conformance", f"--array_path={place}"]
    assert json.loads(subprocess.run(command, check=True, capture_output=True).stdout) == [[0, 1], [2, 3]]
    missing = [sys.executable, "-m", "omnizarr", "conformance", f"--array_path={place}x"]
    assert subprocess.run(missing, check=False, capture_output=True).returncode == 1


def test_fix_shows_a_diff_mends_and_keeps_a_backup(run: Run, tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path / "x.zarr", data=np.arange(3))
    document = tmp_path / "x.zarr" / "zarr.json"
    members = json.loads(document.read_text())
    old = json.dumps({**members, "fill_value": "0"})
    document.write_text(old)
    dry = run("validate", tmp_path / "x.zarr", "--fix", "--dry-run")
    assert dry.exit_code == 1
    assert "would fix zarr.json (R54)" in dry.stdout
    assert '-  "fill_value": "0"' in dry.stdout
    assert document.read_text() == old
    fixed = run("validate", tmp_path / "x.zarr", "--fix", "--json")
    result = json.loads(fixed.stdout)
    assert (fixed.exit_code, result["report"]["valid"], len(result["fix"]["fixes"])) == (0, True, 1)
    assert run("repair", tmp_path / "x.zarr", "--undo", result["fix"]["backup"]).exit_code == 0
    assert document.read_text() == old
    assert run("validate", tmp_path / "x.zarr", "--dry-run").exit_code == 2

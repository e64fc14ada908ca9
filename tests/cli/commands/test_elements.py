"""`omnizarr head` and `omnizarr cat`."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from click.testing import Result

import omnizarr

Run = Callable[..., Result]

DATA = np.arange(2 * 3 * 4, dtype="int16").reshape(2, 3, 4)


@pytest.fixture(scope="module")
def cube(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("elements") / "x.zarr"
    group = omnizarr.create_group(place)
    group.create_array("cube", data=DATA, chunks=(1, 2, 3), dimension_names=["t", "y", "x"])
    group.create_array("scalar", data=np.float64(1.5))
    group.create_array("text", data=np.array(["a,b", 'c"d', "e\nf"], dtype=np.dtypes.StringDType()))
    group.create_array("times", data=np.array(["2026-01-01", "NaT"], "M8[D]"))
    group.create_array("empty", shape=(0, 3), dtype="f4")
    return place


@pytest.mark.smoke
def test_cat_text(run: Run, cube: Path) -> None:
    assert run("cat", f"{cube}/cube[0]").stdout == "0 1 2 3\n4 5 6 7\n8 9 10 11\n"
    assert run("cat", f"{cube}/cube[:, 0, ::2]").stdout == "0 2\n12 14\n"
    assert run("cat", f"{cube}/cube").stdout.split("\n\n")[1].startswith("12 13 14 15\n")
    assert run("cat", f"{cube}/cube[0, 1, ...]").stdout == "4\n5\n6\n7\n"
    assert run("cat", f"{cube}/cube[1, 2, 3]").stdout == "23\n"
    assert run("cat", f"{cube}/scalar").stdout == "1.5\n"
    assert run("cat", f"{cube}/empty").stdout == ""
    assert run("cat", f"{cube}/text").stdout == 'a,b\nc"d\ne\\nf\n'


@pytest.mark.parametrize("selection", ["", "[1]", "[:, ::2, -1]", "[0, 0, 0]", "[..., [0, 2]]", "[1:, 1, 0]"])
def test_cat_json_and_csv_give_the_elements(run: Run, cube: Path, selection: str) -> None:
    from omnizarr.tools import split_selection

    index = split_selection(f"x{selection}")[1]
    expected: npt.NDArray[Any] = DATA if index is None else np.asarray(DATA[index])
    assert json.loads(run("cat", f"{cube}/cube{selection}", "--json").stdout) == expected.tolist()
    rows = list(csv.reader(io.StringIO(run("cat", f"{cube}/cube{selection}", "--csv").stdout)))
    assert len(rows) == expected.size + 1
    for *place, value in rows[1:]:
        assert expected[tuple(map(int, place))] == int(value)


def test_csv_has_the_names_of_dimensions(run: Run, cube: Path) -> None:
    assert run("cat", f"{cube}/cube", "--csv").stdout.startswith("t,y,x,value\n0,0,0,0\n")
    assert run("cat", f"{cube}/times", "--json").stdout == '["2026-01-01", "NaT"]\n'


@pytest.mark.parametrize("selection", ["", "[1, :, ::-1]"])
def test_npy_and_raw(cube: Path, selection: str) -> None:
    expected = DATA[1, :, ::-1] if selection else DATA
    command = [sys.executable, "-m", "omnizarr", "cat", f"{cube}/cube{selection}"]
    loaded = np.load(io.BytesIO(subprocess.run([*command, "--npy"], stdout=subprocess.PIPE, check=True).stdout))
    assert (loaded.dtype, loaded.shape, loaded.tolist()) == (expected.dtype, expected.shape, expected.tolist())
    raw = subprocess.run([*command, "--raw"], stdout=subprocess.PIPE, check=True).stdout
    assert raw == expected.astype("<i2").tobytes()


def test_blocks_in_order_cover_every_element_once() -> None:
    from omnizarr.tools.elements import Elements

    array = omnizarr.create_array(None, data=np.arange(5 * 7 * 9).reshape(5, 7, 9), chunks=(2, 3, 4))
    for block_bytes in (1, 64, 100, 600, 2000, 10**6):
        elements = Elements(array)
        flat = np.concatenate([elements.read(region).reshape(-1) for region in elements.in_order(block_bytes)])
        assert (flat == np.arange(5 * 7 * 9)).all()
        seen = sorted(np.concatenate([elements.read(part).reshape(-1) for part in elements.whole_chunks(block_bytes)]))
        assert seen == list(range(5 * 7 * 9))


def test_head(run: Run, cube: Path) -> None:
    shown = run("head", f"{cube}/cube", "-n", "2").stdout.splitlines()
    assert shown[0] == "cube[0, :2, :4] of 2 × 3 × 4, int16"
    assert [line.split() for line in shown[1:]] == [["0", "1", "2", "3"], ["0", "0", "1", "2", "3"], ["1", *"4567"]]
    assert run("head", f"{cube}/scalar").exit_code == 0
    assert "no elements" in run("head", f"{cube}/empty").stdout
    assert run("head", f"{cube}/times").stdout.splitlines()[1:] == ["0  2026-01-01", "1  NaT"]
    listed = run("head", cube)
    assert listed.exit_code == 0
    assert "2026-01-01, NaT" in listed.stdout


@pytest.mark.parametrize("selection", ["[5]", "[a]", "[0, 0, 0, 0]", "[::0]", "['x']"])
def test_invalid_selections_are_wrong_usage(run: Run, cube: Path, selection: str) -> None:
    result = run("cat", f"{cube}/cube{selection}")
    assert result.exit_code == 2, result.stderr
    assert result.stderr.startswith("error: ")


def test_a_group_has_no_elements(run: Run, cube: Path) -> None:
    result = run("cat", cube)
    assert result.exit_code == 2
    assert f"such as `{cube}/cube`" in result.stderr
    assert run("info", f"{cube}/cube[0]").exit_code == 2


def test_head_of_a_group_goes_on_after_an_array_that_cannot_be_read(run: Run, tmp_path: Path) -> None:
    group = omnizarr.create_group(tmp_path / "g")
    for name in ("bad", "good"):
        group.create_array(name, data=np.arange(4), compressors=None)
    (tmp_path / "g/bad/c/0").write_bytes(b"short")
    result = run("head", tmp_path / "g")
    assert result.exit_code == 3
    assert result.stderr.startswith("error: cannot read chunk (0,) of array `bad`")
    assert result.stdout.splitlines()[1].split() == ["good", "int64", "0,", "1,", "2,", "3"]

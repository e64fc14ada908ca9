"""`create`, `append`, `attrs set`, `attrs del`, `mv`, `rm`, `consolidate`, `import` and `export`."""

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
def data() -> np.ndarray:
    return np.arange(12, dtype="int32").reshape(3, 4)


@pytest.mark.smoke
def test_create_append_and_attributes(run: Run, tmp_path: Path, data: np.ndarray) -> None:
    root = tmp_path / "a.zarr"
    assert run("create", root, "--attribute", "title=x", "--dry-run").exit_code == 0
    assert not root.exists()
    assert run("create", root, "--attribute", "title=x").exit_code == 0
    options = ["--shape", "3,4", "--dtype", "i4", "--chunks", "2,2", "--dimensions", "y,x", "--fill-value", "7"]
    created = run("create", f"{root}/t", *options, "--codecs", "gzip", "--json")
    assert json.loads(created.stdout)["kind"] == "array"
    again = run("create", f"{root}/t", *options)
    assert (again.exit_code, "--force" in again.stderr) == (3, True)
    assert run("create", f"{root}/t", *options, "--dry-run").exit_code == 3
    assert run("create", f"{root}/t", *options, "--force").exit_code == 0
    array = omnizarr.open_array(root / "t", mode="r")
    assert (array.shape, array.chunks, array.dimension_names, int(array.fill_value)) == ((3, 4), (2, 2), ("y", "x"), 7)
    np.save(tmp_path / "more.npy", data)
    dry = run("append", f"{root}/t", tmp_path / "more.npy", "--dry-run")
    done = run("append", f"{root}/t", tmp_path / "more.npy")
    assert (dry.exit_code, done.exit_code) == (0, 0)
    assert dry.stdout.replace("would append", "appended") == done.stdout
    np.testing.assert_array_equal(omnizarr.open_array(root / "t", mode="r")[3:], data)
    (tmp_path / "bad.npy").write_bytes(b"no")
    assert run("append", f"{root}/t", tmp_path / "bad.npy").exit_code == 3
    assert run("attrs", "set", f"{root}/t", "units=K", "valid=[0, 4]", "--json").exit_code == 0
    assert run("attrs", "set", f"{root}/t", "units=m", "--dry-run").stdout.split() == ["would", "set", "units", "m"]
    assert run("attrs", "del", f"{root}/t", "units", "--dry-run").stdout == "would remove units\n"
    assert "NAME=VALUE: expected K=V" in run("attrs", "set", f"{root}/t", "units").stderr
    assert omnizarr.open_array(root / "t", mode="r").attrs.asdict() == {"units": "K", "valid": [0, 4]}
    assert run("attrs", "del", f"{root}/t", "none").exit_code == 1
    assert run("attrs", "del", f"{root}/t", "valid").exit_code == 0
    assert omnizarr.open_array(root / "t", mode="r").attrs.asdict() == {"units": "K"}
    assert run("create", root, "--chunks", "3").exit_code == 2
    assert run("consolidate", root).exit_code == 0
    assert run("create", f"{root}/later", "--shape", "3").exit_code == 0
    opened = omnizarr.open_group(root, mode="r")
    assert opened.consolidated
    assert "later" in opened


def test_consolidate_move_and_erase(run: Run, tmp_path: Path, data: np.ndarray) -> None:
    root = tmp_path / "a.zarr"
    group = omnizarr.create_group(root)
    group.create_array("t", data=data)
    group.create_array("inner/u", data=data)
    assert run("consolidate", root, "--dry-run").exit_code == 0
    assert not omnizarr.open_group(root, mode="r").consolidated
    assert "3 nodes" in run("consolidate", root).stdout
    assert omnizarr.open_group(root, mode="r").consolidated
    assert run("consolidate", f"{root}/t").exit_code == 2
    assert run("mv", f"{root}/t", f"{root}/new/t", "--dry-run").exit_code == 0
    assert run("mv", f"{root}/t", f"{root}/new/t").exit_code == 0
    assert run("mv", f"{root}/none", f"{root}/x").exit_code == 1
    assert run("mv", f"{root}/new/t", tmp_path / "b.zarr/t").exit_code == 2
    assert run("mv", f"{root}/new/t", f"{root}/inner/u").exit_code == 3
    opened = omnizarr.open_group(root, mode="r")
    assert "new/t" in opened
    assert opened.consolidated
    assert run("rm", f"{root}/inner").exit_code == 2
    assert run("rm", f"{root}/inner", "--dry-run").exit_code == 0
    assert run("rm", f"{root}/inner", "-r").exit_code == 0
    assert run("rm", f"{root}/new/t").exit_code == 0
    assert [path for path, _ in omnizarr.open_group(root, mode="r").members(max_depth=None)] == ["new"]
    assert run("validate", root).exit_code == 0
    assert run("rm", root, "-r").exit_code == 0
    assert run("info", root).exit_code == 1


@pytest.mark.parametrize("kind", ["npy", "raw", "csv", "h5", "nc", "tif"])
def test_export_and_import(run: Run, tmp_path: Path, data: np.ndarray, kind: str) -> None:
    for needed in {"h5": ["h5py"], "nc": ["netCDF4", "h5py"], "tif": ["tifffile"]}.get(kind, []):
        pytest.importorskip(needed)
    omnizarr.create_array(
        tmp_path / "a.zarr", data=data, chunks=(2, 2), dimension_names=["y", "x"], attributes={"units": "K"}
    )
    file, back = tmp_path / f"a.{kind}", tmp_path / "b.zarr"
    assert run("export", tmp_path / "a.zarr", file, "--dry-run").exit_code == 0
    assert not file.exists()
    exported = run("export", tmp_path / "a.zarr", file)
    assert exported.exit_code == 0, exported.stderr
    assert run("export", tmp_path / "a.zarr", file).exit_code == 3
    assert run("export", tmp_path / "a.zarr", file, "--force").exit_code == 0
    options = {"raw": ["--dtype", "i4", "--shape", "3,4"], "csv": ["--dtype", "i4"]}.get(kind, [])
    assert run("import", file, back, *options, "--dry-run").exit_code == 0
    assert not back.exists()
    imported = run("import", file, back, *options, "--json")
    assert imported.exit_code == 0, imported.stderr
    again = run("import", file, back, *options)
    assert (again.exit_code, "--force" in again.stderr) == (3, True)
    path = back / "data" if kind in ("h5", "nc") else back
    array = omnizarr.open_array(path, mode="r")
    np.testing.assert_array_equal(array[...], data)
    assert array.dtype == data.dtype
    if kind in ("h5", "nc"):
        assert (array.attrs["units"], array.dimension_names) == ("K", ("y", "x"))


def test_groups_to_hdf5_and_netcdf(run: Run, tmp_path: Path, data: np.ndarray) -> None:
    pytest.importorskip("h5py")
    group = omnizarr.create_group(tmp_path / "a.zarr", attributes={"title": "x"})
    group.create_array("t", data=data, dimension_names=["y", "x"])
    group.create_array("inner/names", data=np.array(["a", "bcd"], dtype=object), dtype="str")
    group.create_array("time", data=np.arange(3).astype("M8[s]"))
    for kind in ("h5", "nc"):
        if kind == "nc":
            pytest.importorskip("netCDF4")
        exported = run("export", tmp_path / "a.zarr", tmp_path / f"a.{kind}")
        assert exported.exit_code == 0, exported.stderr
        imported = run("import", tmp_path / f"a.{kind}", tmp_path / f"{kind}.zarr")
        assert imported.exit_code == 0, imported.stderr
        back = omnizarr.open_group(tmp_path / f"{kind}.zarr", mode="r")
        assert sorted(path for path, _ in back.members(max_depth=None)) == ["inner", "inner/names", "t", "time"]
        assert back.attrs["title"] == "x"
        np.testing.assert_array_equal(back["t"][...], data)
        assert back["inner/names"][...].tolist() == ["a", "bcd"]


def test_wrong_files(run: Run, tmp_path: Path, data: np.ndarray) -> None:
    for name in ("x.npy", "x.csv", "x.unknown"):
        (tmp_path / name).write_text("a,b\nc,d\n")
    (tmp_path / "x.raw").write_bytes(b"123")
    assert run("import", tmp_path / "x.npy", tmp_path / "b.zarr").exit_code == 3
    assert run("import", tmp_path / "x.csv", tmp_path / "b.zarr").exit_code == 3
    assert run("import", tmp_path / "x.unknown", tmp_path / "b.zarr").exit_code == 2
    assert run("import", tmp_path / "x.raw", tmp_path / "b.zarr").exit_code == 2
    assert run("import", tmp_path / "x.raw", tmp_path / "b.zarr", "--dtype", "i4").exit_code == 2
    omnizarr.create_array(tmp_path / "a.zarr", data=data.reshape(3, 2, 2))
    assert run("export", tmp_path / "a.zarr", tmp_path / "y.csv").exit_code == 2
    selected = run("export", f"{tmp_path}/a.zarr[0]", tmp_path / "y.csv")
    assert (selected.exit_code, (tmp_path / "y.csv").read_text()) == (0, "0,1\n2,3\n")
    assert not list(tmp_path.glob("*.part"))

"""The example of `make demo` runs, and its data agree with its output."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from tests.pages import ROOT

import omnizarr


def test_the_example(tmp_path: Path) -> None:
    """Run as a program, with a folder for the data."""
    command = [sys.executable, str(ROOT / "examples" / "weather.py"), str(tmp_path)]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    shown = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True, env=environment)
    assert shown.stderr == ""
    group = omnizarr.open_group(tmp_path / "weather.zarr", mode="r")
    assert str(group.tree()) in shown.stdout
    arrays = dict(group.arrays())
    assert arrays["temperature"].dimension_names == ("time", "lat", "lon")
    assert arrays["temperature"].shape == tuple(len(arrays[name]) for name in ("time", "lat", "lon"))
    assert arrays["pressure"].shards == (24, 180, 360)
    assert len(list(group.store.list_prefix("pressure/"))) == 2
    mean = arrays["temperature"][...].mean(axis=0)
    assert f"from {mean.min():.1f} K (blank) to {mean.max():.1f} K (@)" in shown.stdout
    assert str(arrays["pressure"][12, 135, ::60]) in shown.stdout
    assert all(np.isfinite(array[...]).all() for array in arrays.values())

"""The page in headless Chromium: open, click, slide, zoom, permalink, compare, keys, hostile names, every data type."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
import omnizarr.serve
from tests.serve.viewer.datasets import make_datasets

ROOT = Path(__file__).resolve().parents[3]
STATIC = ROOT / "src" / "omnizarr" / "serve" / "static"
VIEWER = ROOT / "viewer"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def needs(*packages: str) -> None:
    """Skips the test if Node.js or a package of the viewer is missing."""
    if shutil.which("node") is None:
        pytest.skip("Node.js is not installed")
    for package in packages:
        if not (VIEWER / "node_modules" / package).exists():
            pytest.skip(f"the npm package `{package}` is not installed; run `make browser`")


def test_the_page_is_small() -> None:
    files = list(STATIC.iterdir())
    assert {file.name for file in files} == {"index.html", "viewer.js", "viewer.css", "icon.svg"}
    assert sum(len(gzip.compress(file.read_bytes(), mtime=0)) for file in files) <= 150_000


def test_the_built_files_are_those_of_the_source(tmp_path: Path) -> None:
    needs("esbuild", "preact", "world-atlas")
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=VIEWER, check=True, timeout=200)
    for file in STATIC.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), f"{file.name}: run `make viewer`"


def test_the_types_of_the_source_are_right() -> None:
    needs("typescript")
    subprocess.run(["node", "node_modules/typescript/bin/tsc", "--noEmit"], cwd=VIEWER, check=True, timeout=200)


def make_matrix(place: Path) -> None:
    """An array of every data type, in two dimensions where possible."""
    group = omnizarr.create_group(place)
    numbers = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "M8[ns]", "m8[s]"]
    for name in numbers:
        group.create_array(f"number-{name.replace('[', '-').strip(']')}", data=np.arange(12).reshape(3, 4).astype(name))
    for name in ("bfloat16", "float8_e4m3", "int4", "uint2"):
        z = group.create_array(f"small-{name}", shape=(3, 4), dtype=name)
        z[...] = 1
    for name in ("S3", "U3", "V4"):
        group.create_array(f"fixed-{name}", data=np.array([b"abc", b"de"]).astype(name))
    group.create_array("text", data=np.array([["a", "ü"], ["", "b"]], dtype=object), dtype="string")
    group.create_array("record", data=np.zeros((2, 3), [("a", "<i4"), ("b", "<f4")]))
    group.create_array("nothing", shape=(0, 5), dtype="f4")
    group.create_array("nan", data=np.full((3, 4), np.nan))
    group.create_array("constant", data=np.full((3, 4), 5.0))
    group.create_array("one", data=np.ones((1, 1)))
    group.create_array("long", data=np.ones((2, 3000)))
    group.create_array("deep", data=np.ones((1, 2, 1, 2, 3, 4)))


def test_in_chromium(tmp_path: Path) -> None:
    needs("playwright-core")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed; run `make browser`")
    data = make_datasets(tmp_path)
    make_matrix(tmp_path / "matrix.zarr")
    changed = omnizarr.create_group(tmp_path / "changed.zarr")
    original = omnizarr.open_group(data["weather"], mode="r")
    values: Any = np.asarray(original["t2m"][:])
    values[:, 50:90, 100:200] += 3
    changed.create_array("t2m", data=values, chunks=(1, 181, 360), dimension_names=["time", "latitude", "longitude"])
    places = {name: [str(place)] for name, place in data.items()}
    places |= {
        "compare": [str(data["weather"]), str(tmp_path / "changed.zarr")],
        "matrix": [str(tmp_path / "matrix.zarr")],
    }
    servers = {name: omnizarr.serve.start(several, token="sesame") for name, several in places.items()}
    try:
        urls = {name: f"{server.address}?token=sesame" for name, server in servers.items()}
        job = {
            "chromium": CHROMIUM,
            "screenshots": os.environ.get("OMNIZARR_SCREENSHOTS"),
            "urls": urls,
            "compare": urls["compare"],
            "matrix": urls["matrix"],
        }
        run = subprocess.run(
            ["node", "tests/browser.mjs"],
            input=json.dumps(job),
            cwd=VIEWER,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
    finally:
        for server in servers.values():
            server.stop()
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    print(json.dumps(report, indent=1, ensure_ascii=False))
    assert {name: result for name, result in report["checks"].items() if result is not True} == {}
    assert report["errors"] == []
    assert report["outside"] == []

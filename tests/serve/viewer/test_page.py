"""The page in headless Chromium: mouse, keys, permalink, comparison, hostile names, every array of the corpora."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
import omnizarr.serve
from omnizarr.serve.api import windows
from tests.serve.viewer.arrays import corpora, make_matrix, members
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


def run(kind: str, urls: dict[str, str], **job: Any) -> dict[str, Any]:
    """The report of `viewer/tests/browser.mjs`."""
    needs("playwright-core")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed; run `make browser`")
    done = subprocess.run(
        ["node", "tests/browser.mjs"],
        input=json.dumps({"kind": kind, "chromium": CHROMIUM, "urls": urls, **job}),
        cwd=VIEWER,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    print(json.dumps(report, indent=1, ensure_ascii=False))
    assert {name: result for name, result in report["checks"].items() if result is not True} == {}
    assert report["checks"]
    assert report["errors"] == []
    assert report["outside"] == []
    return report


@contextmanager
def served(places: dict[str, Any]) -> Iterator[dict[str, str]]:
    """The addresses of pages for locations, by name."""
    with ExitStack() as stack:
        servers = {name: stack.enter_context(omnizarr.serve.start(place, token="t")) for name, place in places.items()}
        yield {name: f"{server.address}?token=t" for name, server in servers.items()}


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("datasets")
    made: dict[str, Any] = {name: str(path) for name, path in make_datasets(place).items()}
    values: Any = np.asarray(omnizarr.open_group(made["weather"], mode="r")["t2m"][:])
    values[:, 50:90, 100:200] += 3
    changed = omnizarr.create_group(place / "changed.zarr")
    changed.create_array("t2m", data=values, chunks=(1, 181, 360), dimension_names=["time", "latitude", "longitude"])
    return made | {"compare": [made["weather"], str(place / "changed.zarr")]}


def test_the_page_with_mouse_and_keys(datasets: dict[str, Any]) -> None:
    with served(datasets) as urls:
        run("page", urls, screenshots=os.environ.get("OMNIZARR_SCREENSHOTS"))


def test_a_large_read_is_asked_for(datasets: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "ASKS_FROM", 1_500_000)
    with served(datasets) as urls:
        run("large", urls)


@pytest.mark.filterwarnings("ignore::omnizarr.OmnizarrWarning")
def test_every_array_of_the_corpora_and_every_data_type(tmp_path: Path) -> None:
    needs("playwright-core")
    make_matrix(tmp_path / "matrix.zarr")
    arrays = [*members(tmp_path / "matrix.zarr"), *corpora()]
    with served({"every": arrays}) as urls:
        report = run("every", urls, count=len(arrays))
    assert sum(report["figures"].values()) == len(arrays)
    assert report["figures"].get("problem", 0) < 0.1 * len(arrays)

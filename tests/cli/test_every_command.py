"""Every command that reads, on every generation, in every kind of store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from tests.servers.running import RunningServer, moto

import omnizarr
from omnizarr.cli.program import COMMANDS

Run = Callable[..., Result]
GENERATIONS: tuple[Any, ...] = (1, 2, "3-draft-2020", "3-draft-2022", 3, "n5")
DATA = np.arange(24, dtype="f4").reshape(4, 6)
ELSEWHERE = {"completion", "demo", "doctor", "serve", "view"} | set(COMMANDS["Change"])
"""Commands that read no location, that do not end, or that write."""

OF_LOCATIONS = [
    *(["info"], ["info", "--stored", "--stats"], ["tree"], ["tree", "-L", "1"], ["ls"], ["ls", "-lR"]),
    *(["find", "--type", "array"], ["find", "--attr", "units"], ["attrs", "get"], ["diff", "SAME"], ["checksum"]),
    *(["validate"], ["validate", "--data", "--strict"], ["validate", "--readers"], ["checksum", "--dandi"]),
]
OF_ARRAYS = [
    *(["info", "--stored", "--stats"], ["head"], ["cat"], ["attrs", "get"], ["validate", "--data"], ["diff", "SAME"]),
    *(["checksum"], ["explain"], ["bench", "--seconds", "0.01"], ["advise", "--access", "0,1:2"], ["attrs", "get"]),
]
WITHOUT_JSON = [["cat", "--csv"], ["cat", "--raw"], ["cat", "--npy"], ["conformance", "PATH"]]
SELECTED = [["cat"], ["head"], ["explain"]]


@pytest.fixture(autouse=True)
def short_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    """`advise` measures each of 18 ways to store for 50 ms."""
    monkeypatch.setattr("omnizarr.tools.advice._MEASURE", 0.001)


def make(store: Any, zarr_format: Any, **options: Any) -> str:
    """Fills a store, and returns the path of its array."""
    content: dict[str, Any] = {"data": DATA, "chunks": (2, 3), "attributes": {"units": "K"}}
    if zarr_format == 1:
        omnizarr.create_array(store, zarr_format=1, **content, **options)
        return ""
    root = omnizarr.create_group(store, zarr_format=zarr_format, attributes={"title": "t"}, **options)
    root.create_array("a/b", dimension_names=["y", "x"], **content)
    return "/a/b"


def check(run: Run, location: str, path: str, options: tuple[str, ...] = ()) -> set[str]:
    """Runs all commands, which must answer yes and say nothing on standard error. Returns their names."""
    array = location + path
    lines = [
        *([*line, "--json"] for line in (*_filled(OF_LOCATIONS, location), *_filled(OF_ARRAYS, array))),
        *_filled(WITHOUT_JSON, array),
        *_filled(SELECTED, f"{array}[1:3, ::2]"),
        *_filled(OF_LOCATIONS[:4], location),
        *_filled(OF_ARRAYS[1:4], array),
    ]
    for line in lines:
        result = run(*line, *(() if line[0] == "conformance" else options))
        assert (result.exit_code, result.stderr) == (0, ""), (line, result.output, result.stderr, result.exception)
        if "--json" in line:
            json.loads(result.stdout)
    assert run("cat", f"{array}[1, 4:]", *options).stdout == "10.0\n11.0\n"
    return {line[0] for line in lines}


def _filled(lines: list[list[str]], location: str) -> Iterator[list[str]]:
    for command, *rest in lines:
        if rest == ["PATH"]:
            yield [command, f"--array_path={location}"]
        elif command == "attrs":
            yield [command, *rest, location]
        else:
            yield [command, location, *(location if word == "SAME" else word for word in rest)]


@pytest.mark.parametrize("kind", ["zarr", "zip", "sqlite"])
@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_files(run: Run, tmp_path: Path, zarr_format: Any, kind: str) -> None:
    location = tmp_path / f"x.{kind}"
    stores: dict[str, Any] = {"zip": omnizarr.ZipStore, "sqlite": omnizarr.SQLiteStore}
    store = stores.get(kind, omnizarr.LocalStore)(location)
    path = make(store, zarr_format)
    store.close()
    commands = check(run, str(location), path)
    assert commands == {name for section in COMMANDS.values() for name in section} - ELSEWHERE


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with moto(tmp_path_factory.mktemp("moto")) as server:
        yield server


@pytest.mark.parametrize("zarr_format", [2, "3-draft-2020"])
def test_buckets(run: Run, s3: RunningServer, monkeypatch: pytest.MonkeyPatch, zarr_format: Any) -> None:
    place = s3.new()
    path = make(place, zarr_format, storage_options=s3.options)
    for name in ("endpoint_url", "region", "access_key_id", "secret_access_key"):
        monkeypatch.setenv(f"AWS_{name.upper()}", s3.options[name.removesuffix("_url")])
    check(run, place, path)

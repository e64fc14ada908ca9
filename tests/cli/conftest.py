"""Fixtures: a small hierarchy with an unreadable member, and a function that runs the program."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import omnizarr
from omnizarr.cli.program import program


@pytest.fixture(scope="session")
def location(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`temperature` and `inner/sharded` are arrays; `inner/broken` names a codec and a grid that do not exist."""
    directory = tmp_path_factory.mktemp("cli") / "data.zarr"
    group = omnizarr.create_group(directory, attributes={"title": "for tests"})
    group.create_array(
        "temperature",
        data=np.arange(12, dtype="float32").reshape(3, 4),
        chunks=(2, 4),
        fill_value=np.nan,
        dimension_names=["y", "x"],
        attributes={"units": "K", "valid": [0, 400]},
    )
    group.create_array("inner/sharded", shape=(8, 8), dtype="uint16", chunks=(2, 2), shards=(4, 4))[:4, :3] = 7
    group.create_array("inner/broken", shape=3, dtype="int8")
    document = directory / "inner" / "broken" / "zarr.json"
    broken = json.loads(document.read_text())
    broken["chunk_grid"]["name"] = "reguler"
    broken["codecs"][-1]["name"] = "zstt"
    document.write_text(json.dumps(broken))
    return directory


@pytest.fixture
def run() -> Callable[..., Result]:
    """Runs the program with arguments; `result.output` is its output, `result.stderr` its messages."""

    def call(*arguments: object) -> Result:
        return CliRunner().invoke(program, [str(argument) for argument in arguments], prog_name="omnizarr")

    return call

"""A group with 10,000 members."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import omnizarr

Run = Callable[..., Result]
COUNT = 10_000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """10,000 arrays that only the consolidated metadata has."""
    place = tmp_path_factory.mktemp("many") / "many.zarr"
    omnizarr.create_group(place).create_array("a", shape=(100, 100), dtype="f4", attributes={"units": "K"})
    document = json.loads((place / "a/zarr.json").read_text())
    root = json.loads((place / "zarr.json").read_text())
    copies = {f"a{index:05}": document for index in range(COUNT)}
    inline = {"kind": "inline", "must_understand": False, "metadata": copies}
    (place / "zarr.json").write_text(json.dumps(root | {"consolidated_metadata": inline}))
    return place


def test_every_member_is_in_a_pipe(run: Run, many: Path) -> None:
    shown = run("info", many).stdout
    assert "Zarr v3, consolidated, 10,001 nodes (10,000 arrays), 381.5 MiB (400,000,000 bytes)" in shown
    assert len(shown.splitlines()) == COUNT + 4
    assert len(run("tree", many).stdout.splitlines()) == COUNT + 1
    assert len(run("ls", many).stdout.split()) == COUNT
    assert run("find", many, "--name", "a0999?").stdout.split() == [f"a0999{digit}" for digit in range(10)]
    assert len(json.loads(run("info", many, "--json").stdout)["members"]) == COUNT

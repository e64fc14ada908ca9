"""`omnizarr statistics`, and what `info --stats` makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import omnizarr
from omnizarr.nodes.statistics import chunk_states
from omnizarr.tools import build_statistics, check_statistics, pyramid, remove_statistics
from omnizarr.tools.element_statistics import statistics

Run = Callable[..., Result]


@pytest.fixture
def group(tmp_path: Path) -> Path:
    root = omnizarr.create_group(tmp_path / "g")
    data = np.arange(400, dtype="f8").reshape(20, 20)
    data[0, :3] = np.nan, np.inf, 0
    root.create_array("numbers", data=data, chunks=(5, 5))
    root.create_array("texts", data=np.array(["a", "b"]))
    return tmp_path / "g"


def test_build_check_and_remove(run: Run, group: Path) -> None:
    assert run("statistics", group, "--check").exit_code == 1
    built = run("statistics", group)
    assert (built.exit_code, built.stderr) == (0, "")
    assert "/numbers" in built.output
    assert "have no order" in built.output
    assert run("statistics", group, "--check").exit_code == 0
    (group / "numbers/c/1/1").unlink()
    assert run("statistics", group / "numbers", "--check").exit_code == 0  # an absent chunk needs no entry
    (group / "numbers/c/1/1").write_bytes((group / "numbers/c/2/2").read_bytes())
    checked = run("statistics", group / "numbers", "--check", "--json")
    assert checked.exit_code == 1
    assert json.loads(checked.output)[0]["state"] == {"chunks": 16, "absent": 0, "fresh": 15, "stale": 1}
    assert run("statistics", group, "--remove").output == "erased the statistics of 1 array\n"
    assert run("statistics", group, "--remove", "--check").exit_code == 2
    assert run("statistics", group / "texts").exit_code == 2


def test_info_reads_no_chunk_that_has_statistics(run: Run, group: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = json.loads(run("info", group / "numbers", "--stats", "--json").output)["statistics"]
    run("statistics", group)
    monkeypatch.setattr(chunk_states.ChunkStates, "read", None)
    assert json.loads(run("info", group / "numbers", "--stats", "--json").output)["statistics"] == before


def test_results(run: Run, group: Path) -> None:
    node = omnizarr.open_group(group)
    amounts: list[tuple[int, int]] = []
    results = build_statistics(node, progress=lambda done, total: amounts.append((done, total)))
    assert [(result.path, result.state is None, result.failed) for result in results] == [
        ("numbers", False, False),
        ("texts", True, False),
    ]
    assert amounts[-1][0] == 3200
    assert check_statistics(node)[0] == results[0]
    z = node["numbers"]
    assert isinstance(z, omnizarr.Array)
    of_chunks, of_part = statistics(z), statistics(z, (slice(None),))
    assert of_chunks == of_part
    (group / "numbers/.omnizarr-statistics/zarr.json").write_bytes(b"damaged")
    assert len(remove_statistics(node)) == 1
    assert not (group / "numbers/.omnizarr-statistics").exists()
    assert statistics(z) == of_chunks
    (group / "texts/zarr.json").write_bytes(b"damaged")
    assert [(result.path, result.failed) for result in check_statistics(node)] == [("numbers", False), ("texts", True)]
    assert [result.path for result in remove_statistics(node)] == ["texts"]
    removed = run("statistics", group, "--remove")
    assert (removed.exit_code, removed.output.splitlines()[-1]) == (3, "erased the statistics of 0 arrays")
    (group / "numbers/c/1/1").write_bytes(b"damaged")
    assert [result.failed for result in build_statistics(node)] == [True, True]
    assert run("statistics", group).exit_code == 3


def test_statistics_are_no_content(run: Run, group: Path) -> None:
    before = run("checksum", group).output
    run("statistics", group)
    assert run("checksum", group).output == before
    assert run("copy", group, group.with_name("copy")).exit_code == 0
    assert run("diff", group, group.with_name("copy")).exit_code == 0
    h5py = pytest.importorskip("h5py")
    assert run("export", group / "numbers", group.with_name("numbers.h5")).exit_code == 0
    with h5py.File(group.with_name("numbers.h5")) as file:
        assert dict(file["data"].attrs) == {}


def test_other_levels_of_a_pyramid_have_no_statistics(tmp_path: Path) -> None:
    root = omnizarr.create_group(tmp_path / "g")
    z = root.create_array("b", data=np.zeros((64, 64), "f4"), chunks=(16, 16), dimension_names=["y", "x"])
    z.statistics.build()
    pyramid(root, levels=2, geo=True).run()
    marked = [path for path, node in root.members(max_depth=None) if "omnizarr_statistics" in node.attrs]
    assert len([path for path, node in root.members(max_depth=None) if isinstance(node, omnizarr.Array)]) > 1
    assert len(marked) <= 1

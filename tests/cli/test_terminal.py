"""The commands on a terminal: colours, widths, cut values and listings, and names that try to control the terminal."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from tests.cli.terminal_runs import run_in_terminal

import omnizarr

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A group with long names, long attributes and a sharded array."""
    location = tmp_path_factory.mktemp("terminal") / "wide.zarr"
    group = omnizarr.create_group(location, attributes={"history": "x" * 200_000, **{f"a{i}": i for i in range(200)}})
    group.create_array(
        "a_rather_long_name_of_an_array_that_fills_the_line",
        shape=(1000, 2000, 3000),
        dtype="f8",
        chunks=(10, 200, 300),
        shards=(100, 2000, 3000),
        dimension_names=["time", "latitude", "longitude"],
        attributes={"history": "y" * 5000},
    )
    for index in range(120):
        group.create_array(f"b{index:03}", shape=3, dtype="i4")
    return location


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_is_wider_than_the_terminal(wide: Path, columns: int) -> None:
    array = wide / "a_rather_long_name_of_an_array_that_fills_the_line"
    for arguments in (("info", wide), ("info", array), ("tree", wide), ("ls", "-l", wide), ("head", wide / "b000")):
        shown = run_in_terminal(*arguments, columns=columns)
        assert shown.code == 0
        assert max(map(len, shown.lines[2:])) <= columns, arguments


def test_long_values_and_listings_are_cut_unless_full(wide: Path) -> None:
    cut = run_in_terminal("info", wide)
    assert "… (200,000 characters)" in cut.text
    assert "… and 21 more arrays (--full shows all)" in cut.text
    assert "… and 161 more (--full shows all)" in cut.text
    assert len(cut.text) < 20_000
    full = run_in_terminal("info", wide, "--full")
    assert full.text.replace("\n", "").count("x" * 1000) == 200
    assert "b119" in full.text
    assert "a199" in full.text


def test_a_tree_of_many_members_is_summarised(wide: Path) -> None:
    shown = run_in_terminal("tree", wide)
    assert shown.lines[-1] == "└── … and 81 more (--full shows all)"
    assert len(shown.lines) == 42
    assert len(run_in_terminal("tree", wide, "--full").lines) == 122


def test_colours_only_if_wanted(wide: Path) -> None:
    assert "\x1b[" in run_in_terminal("tree", wide).raw
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b[3" not in run_in_terminal("tree", wide, **variables).raw


def test_names_and_values_cannot_control_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b2Jx\u202e\r\n[bold]"
    group = omnizarr.create_group(tmp_path / "g", attributes={evil: evil})
    group.create_array("plain", data=np.array([evil]), attributes={evil: [evil]})
    documents = {f"{evil.replace('/', '')}/zarr.json": json.loads((tmp_path / "g/plain/zarr.json").read_text())}
    root = json.loads((tmp_path / "g/zarr.json").read_text())
    inner = {"kind": "inline", "must_understand": False, "metadata": {}}
    inner["metadata"] = {key.removesuffix("/zarr.json"): document for key, document in documents.items()}
    (tmp_path / "g/zarr.json").write_text(json.dumps(root | {"consolidated_metadata": inner}))
    omnizarr.create_group(tmp_path / "empty")
    commands = [("info",), ("tree",), ("ls",), ("ls", "-l"), ("attrs", "get"), ("find",), ("info", "--full")]
    commands += [("info", "--json"), ("diff", str(tmp_path / "empty")), ("diff", "--json", str(tmp_path / "empty"))]
    for arguments in commands:
        shown = run_in_terminal(*arguments, tmp_path / "g")
        assert shown.code == int(arguments[0] == "diff"), shown.text
        for control in ("\x1b]", "\x07", "\x1b[2J", "\x9b", "\u202e"):
            assert control not in shown.raw, arguments
    for arguments in (("head",), ("cat",)):
        shown = run_in_terminal(*arguments, tmp_path / "g/plain")
        assert not {"\x07", "\u202e"} & set(shown.raw)


def test_bytes_are_not_printed_on_a_terminal(wide: Path) -> None:
    shown = run_in_terminal("cat", wide / "b000", "--npy")
    assert shown.code == 2
    assert "redirect them to a file" in shown.text


def test_progress_appears_after_a_second(tmp_path: Path) -> None:
    code = (
        "import time\nfrom omnizarr.cli.progress import progress\n"
        "with progress('reading', bytes=True) as report:\n"
        "    for step in range(14):\n        time.sleep(0.1)\n        report and report(step << 20, 100 << 20)\n"
    )
    import subprocess
    import sys

    silent = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")
    from tests.cli import terminal_runs

    shown = terminal_runs.run_python_in_terminal(code)
    assert "reading" in shown.text
    assert "MiB/s" in shown.text

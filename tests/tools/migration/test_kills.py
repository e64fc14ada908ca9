"""A migration in place that is killed at any system call leaves the old hierarchy or the new one, and another run
completes it."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.store.local import temp_names
from omnizarr.tools import migrate
from tests.safety.ptrace import kill_at, reason_not_to

REASON = reason_not_to()
DATA = np.arange(24, dtype="i4").reshape(4, 6) + 1
PAIRS: list[tuple[Any, Any]] = [
    (2, 3),
    (3, 2),
    (3, "3-draft-2022"),
    ("3-draft-2020", 3),
    ("3-draft-2022", 2),
    (2, "3-draft-2020"),
    ("n5", 2),
    ("n5", 3),
    (2, "n5"),
]


def made(place: Path, zarr_format: Any) -> dict[str, Any]:
    group = omnizarr.create_group(place, zarr_format=zarr_format, attributes={"title": "old"})
    group.create_array("a", data=DATA, chunks=(2, 6), attributes={"units": "K"})
    sharded: dict[str, Any] = {"chunks": (2, 2), "shards": (4, 2)} if zarr_format == 3 else {"chunks": (2, 2)}
    group.create_array("b/c", data=DATA * 2, **sharded)
    return content(place)


def content(place: Path) -> dict[str, Any]:
    """All that readers see."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", omnizarr.OmnizarrWarning)  # two generations lie side by side
        group = omnizarr.open_group(place, mode="r")
        found: dict[str, Any] = {"": dict(group.attrs)}
        for path, node in group.members(max_depth=None):
            assert not isinstance(node, omnizarr.UnreadableNode), node
            found[path] = dict(node.attrs)
            if isinstance(node, omnizarr.Array):
                found[path]["elements"] = node[...].tolist()
    return found


def run(place: Path, to: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", omnizarr.OmnizarrWarning)
        migrate(str(place), to=to, remove_old=True, resume=True).run(workers=1, resume=True)


@pytest.mark.skipif(REASON is not None, reason=str(REASON))
@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_killed_at_any_system_call(tmp_path: Path, old: Any, new: Any) -> None:
    expected = made_before(tmp_path, old, new)
    random = Random(f"{old} {new}")
    stop = random.randint(1, 400)
    kills = 0
    while kill_once(tmp_path, new, expected, stop) is None:
        kills += 1
        stop += random.randint(200, 700)
    assert kills


def made_before(folder: Path, old: Any, new: Any) -> dict[str, Any]:
    expected = made(folder / "before", old)
    shutil.copytree(folder / "before", folder / "whole")
    run(folder / "whole", new)
    assert content(folder / "whole") == expected
    return expected


def kill_once(folder: Path, new: Any, expected: dict[str, Any], stop: int) -> int | None:
    """Kills a migration at a stop. The number of its stops if it finished before."""
    place = folder / "x"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "before", place)
    with omnizarr.config(threads=1):
        stops = kill_at(lambda: run(place, new), stop)
    assert content(place) == expected
    check_resumed(place, new, expected, folder / "whole")
    return stops


def check_resumed(place: Path, new: Any, expected: dict[str, Any], whole: Path) -> None:
    run(place, new)
    assert omnizarr.open_group(place, mode="r").zarr_format == new
    assert content(place) == expected
    left = {path for path in files(place) if not temp_names.is_temporary(path.rpartition("/")[2])}
    assert left == files(whole), "nothing is left, nothing is missing"


def files(place: Path) -> set[str]:
    return {file.relative_to(place).as_posix() for file in place.rglob("*") if file.is_file()}

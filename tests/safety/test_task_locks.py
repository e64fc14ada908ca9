"""The task lock of an array: one holder at a time, whatever happens to its file and to the array."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.store.local import flock
from omnizarr.store.local.temp_names import task_lock_name
from tests.safety.processes import forked, wait_for

pytestmark = pytest.mark.skipif(not flock.AVAILABLE, reason="there are no locks between processes here")

LOCK = task_lock_name("zarr.json")


def test_a_listing_keeps_the_lock_file_of_a_holder_while_the_document_is_absent(tmp_path: Path) -> None:
    store = omnizarr.LocalStore(tmp_path)
    store.set("zarr.json", b"{}")
    store.set("c/0", b"x")
    with store.task_lock("zarr.json"):
        store.erase("zarr.json")
        list(store.list())
        store.sweep()
        assert (tmp_path / LOCK).exists()
    assert not (tmp_path / LOCK).exists()


def test_a_listing_removes_the_lock_file_of_a_crashed_holder_whose_document_is_gone(tmp_path: Path) -> None:
    store = omnizarr.LocalStore(tmp_path)
    store.set("zarr.json", b"{}")
    (tmp_path / LOCK).write_bytes(b"begun\n")
    list(store.list())
    assert (tmp_path / LOCK).exists(), "the next holder must see the mark"
    store.erase("zarr.json")
    list(store.list())
    assert not (tmp_path / LOCK).exists()


def test_a_holder_whose_file_was_removed_leaves_the_file_of_the_next_holder(tmp_path: Path) -> None:
    store = omnizarr.LocalStore(tmp_path)
    with store.task_lock("zarr.json") as first:
        (tmp_path / LOCK).unlink()
        with store.task_lock("zarr.json") as second:
            with pytest.raises(omnizarr.errors.StoreError, match="was removed while this process held it"):
                first.check()
            second.check()
            (tmp_path / LOCK).rename(tmp_path / "aside")
            (tmp_path / LOCK).write_bytes(b"")
    assert (tmp_path / LOCK).exists(), "neither holder had locked this file"


def test_the_lock_of_an_absent_array_leaves_no_directory(tmp_path: Path) -> None:
    store = omnizarr.LocalStore(tmp_path / "root")
    with store.task_lock("a/b/zarr.json"):
        assert (tmp_path / "root/a/b").is_dir()
    assert not (tmp_path / "root/a").exists()


@pytest.mark.parametrize("change", ["overwrite", "delete", "move", "mode"])
@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_a_change_of_the_node_waits_for_the_task_lock(tmp_path: Path, kind: str, change: str) -> None:
    store = omnizarr.LocalStore(tmp_path) if kind == "folder" else omnizarr.MemoryStore()
    group = omnizarr.create_group(store)
    group.create_array("a", data=[1, 2, 3])
    changes: dict[str, Any] = {
        "overwrite": lambda: group.create_array("a", shape=0, dtype="u1", overwrite=True),
        "delete": lambda: group.__delitem__("a"),
        "move": lambda: group.move("a", "b"),
        "mode": lambda: omnizarr.open_array(store, path="a", mode="w", shape=0, dtype="u1"),
    }
    thread = threading.Thread(target=changes[change])
    with store.task_lock("a/zarr.json"):
        thread.start()
        thread.join(0.1)
        assert thread.is_alive()
        assert store.get("a/zarr.json") is not None, "the old array is still there"
    thread.join(30)
    assert not thread.is_alive()


def append_for(place: Path, number: int, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        omnizarr.open_array(place).append(np.full(3, number))


def append_late(place: Path, number: int) -> None:
    for step in range(6):
        omnizarr.open_array(place).append(np.full(3, 1000 * number + step))


def overwrite(place: Path) -> None:
    for _ in range(12):
        omnizarr.create_array(place, shape=0, dtype="i8", chunks=4, fill_value=-1, overwrite=True)
        time.sleep(0.01)


def survive(work: Any, *given: Any) -> None:
    """Calls `work` again when it opens the array in the moment in which there is none."""
    while True:
        try:
            return work(*given)
        except omnizarr.errors.NodeNotFoundError:
            continue


@pytest.mark.parametrize("round_", range(3))
def test_appends_that_race_overwrites_are_whole_and_later_ones_are_kept(tmp_path: Path, round_: int) -> None:
    place = tmp_path / "x"
    omnizarr.create_array(place, shape=0, dtype="i8", chunks=4, fill_value=-1)
    early = [forked(lambda n=n: survive(append_for, place, n, 0.3)) for n in (1, 2)]  # type: ignore[misc]
    sweeper = forked(lambda: [list(omnizarr.LocalStore(place).list()) for _ in range(300)])
    assert wait_for(forked(lambda: overwrite(place))) == 0
    late = [forked(lambda n=n: append_late(place, n)) for n in (3, 4, 5)]  # type: ignore[misc]
    assert [wait_for(child) for child in (*early, sweeper, *late)] == [0] * 6
    values, counts = np.unique(omnizarr.open_array(place)[...], return_counts=True)
    found = dict(zip(values.tolist(), counts.tolist(), strict=True))
    assert -1 not in found, "no row lacks its data"
    assert all(count % 3 == 0 for count in found.values())
    assert all(found.get(1000 * n + step) == 3 for n in (3, 4, 5) for step in range(6))

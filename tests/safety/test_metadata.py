"""Promises 2 and 4: appends, resizes and attribute changes of concurrent writers; and elements outside a smaller shape
are deleted."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.api import hierarchy
from omnizarr.nodes import array_state
from omnizarr.testing import Fault, FaultyStore, RecordingStore
from tests.formats.draft.documents import conventions
from tests.safety.processes import program, run_all

GENERATIONS: tuple[Any, ...] = (1, 2, "3-draft-2020", "3-draft-2022", 3, "n5")
UNSHARDED: tuple[Any, ...] = (1, 2, "n5")
FILLS: dict[Any, int] = {"n5": 0}


def add_rows(place: Any, number: int) -> None:
    z = omnizarr.open_array(place)
    for step in range(6):
        rows = step % 3 + 1
        z.append(np.full((rows, 3), number * 100 + step, "i4"))
        z.attrs[f"writer {number}"] = step


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_concurrent_appends_get_separate_rows(tmp_path: Path, zarr_format: Any) -> None:
    layout = {"shards": (8, 4), **conventions(zarr_format)} if zarr_format not in UNSHARDED else {}
    fill = FILLS.get(zarr_format, -1)
    z = omnizarr.create_array(
        tmp_path / "x", shape=(0, 3), dtype="i4", chunks=(4, 2), zarr_format=zarr_format, fill_value=fill, **layout
    )
    run_all(add_rows, [(tmp_path / "x", number) for number in range(6)])
    z.refresh()
    assert z.shape == (6 * 12, 3)
    found = z[...]
    assert (found == found[:, :1]).all(), "a row belongs to one writer"
    for number in range(6):
        for step in range(6):
            assert (found[:, 0] == number * 100 + step).sum() == step % 3 + 1
            mine = found[:, 0][found[:, 0] // 100 == number]
        assert mine.tolist() == sorted(mine.tolist()), "in the order of the appends"
    assert z.attrs.asdict() == {f"writer {number}": 5 for number in range(6)}


def test_an_append_that_fails_or_crashes_leaves_the_array_unchanged() -> None:
    inner = omnizarr.MemoryStore()
    omnizarr.create_array(inner, data=np.arange(1, 7), chunks=4)
    store = FaultyStore(inner)
    z = omnizarr.open_array(store)
    store.count, store.faults = 0, (Fault("delay", seconds=0),)
    omnizarr.open_array(FaultyStore(omnizarr.MemoryStore(dict(inner._data)))).append([7, 8, 9])
    for number in range(1, 40):
        store.count, store.faults = 0, (Fault("fail", calls=[number]),)
        try:
            z.append([7, 8, 9])
        except omnizarr.OmnizarrError:
            store.faults = ()
            fresh = omnizarr.open_array(inner)
            assert fresh[...].tolist() == list(range(1, 7))
            fresh.resize(10)
            assert fresh[...].tolist() == [*range(1, 7), 0, 0, 0, 0], "leftover data outside the array do not appear"
            fresh.resize(6)
        else:
            break
    assert number > 3
    assert omnizarr.open_array(inner)[...].tolist() == list(range(1, 10))


def test_an_append_whose_requests_are_sent_twice_is_done_once() -> None:
    for methods in (["updates.write"], ["set"], None):
        inner = omnizarr.MemoryStore()
        omnizarr.create_array(inner, data=[1, 2, 3], chunks=2)
        z = omnizarr.open_array(FaultyStore(inner, [Fault("duplicate", methods=methods)]))
        assert z.append([4, 5]) == (5,)
        z[1] = 7
        z.attrs["a"] = 1
        assert omnizarr.open_array(inner)[...].tolist() == [1, 7, 3, 4, 5]


def test_append_writes_data_before_the_shape_with_locks_and_after_it_without() -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    z = omnizarr.create_array(store, shape=4, dtype="u1", chunks=4)
    store.reset()
    z.append([1, 2, 3, 4])
    writes = [call.key for call in store.of("set", "updates.write")]
    assert writes == ["c/1", "zarr.json"]
    store.inner.locking = False
    store.reset()
    z.append([1, 2, 3, 4])
    assert [call.key for call in store.of("set", "updates.write")] == ["zarr.json", "c/2"]


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_elements_outside_a_smaller_shape_do_not_come_back(tmp_path: Path, zarr_format: Any) -> None:
    fill = FILLS.get(zarr_format, -1)
    for layout in ({}, {"shards": (4, 6), **conventions(zarr_format)})[: 1 if zarr_format in UNSHARDED else 2]:
        place = tmp_path / f"{len(layout)}"
        data = np.arange(1, 71).reshape(7, 10)
        z = omnizarr.create_array(place, data=data, chunks=(2, 3), fill_value=fill, zarr_format=zarr_format, **layout)
        for shape in ((3, 10), (3, 4), (1, 1), (0, 4)):
            z.resize(shape)
            z.resize((7, 10))
            data = np.where(np.indices(data.shape)[0] < shape[0], data, fill)
            data = np.where(np.indices(data.shape)[1] < shape[1], data, fill)
            np.testing.assert_array_equal(z[...], data)
            np.testing.assert_array_equal(omnizarr.open(place)[...], data)


def test_a_stale_handle_never_shortens_an_array_that_others_extended() -> None:
    z = omnizarr.create_array(None, shape=(4, 2), dtype="u1", chunks=(2, 2))
    stale = omnizarr.open_array(z.store)
    z.append(np.ones((6, 2), "u1"))
    stale.resize((5, 2))  # longer than the four rows of its stale shape
    assert stale.shape == (10, 2)
    assert (stale[4:] == 1).all()
    other = omnizarr.open_array(z.store)
    z.append(np.ones((1, 2), "u1"))
    other.resize((10, 4))
    assert other.shape == (11, 4)
    other.resize((3, 4))  # shorter than its known shape: shrinks
    assert z.refresh().shape == (3, 4)


def test_a_stale_handle_does_not_restore_old_metadata() -> None:
    z = omnizarr.create_array(None, shape=4, dtype="u1", attributes={"a": 1, "b": 1})
    stale = omnizarr.open_array(z.store)
    z.attrs["a"] = 2
    del z.attrs["b"]
    z.resize(8)
    stale.attrs["c"] = 3
    assert omnizarr.open_array(z.store).attrs.asdict() == {"a": 2, "c": 3}
    assert omnizarr.open_array(z.store).shape == (8,)
    assert stale.attrs.setdefault("a", 9) == 2
    other = omnizarr.open_array(z.store)
    z.attrs["d"] = 4
    assert other.attrs.setdefault("d", 9) == 4, "another writer was first"


def test_groups_agree_on_attributes_and_members(tmp_path: Path) -> None:
    omnizarr.create_group(tmp_path / "g")
    run_all(fill_group, [(tmp_path / "g", number) for number in range(4)])
    group = omnizarr.open_group(tmp_path / "g")
    assert group.attrs.asdict() == {f"{number} {step}": step for number in range(4) for step in range(8)}
    assert len(group) == 4 * 8 + 1
    assert sum(group["shared"].attrs.values()) == 1, "one of them created it"


def fill_group(place: Path, number: int) -> None:
    group = omnizarr.open_group(place)
    try:
        group.create_array("shared", shape=2, dtype="u1", attributes={f"{number}": 1})
    except omnizarr.errors.NodeExistsError:
        pass
    for step in range(8):
        group.attrs[f"{number} {step}"] = step
        group.create_array(f"{number}-{step}", shape=2, dtype="u1")


CONSOLIDATING: tuple[Any, ...] = (2, "3-draft-2020", 3)


def fill_consolidated(place: Path, number: int) -> None:
    group = omnizarr.open_group(place)
    z = group["rows"]
    for step in range(8):
        z.append([number])
        z.attrs[f"{number}"] = step
        group.create_array(f"{number}-{step}", shape=2, dtype="u1")


@pytest.mark.parametrize("zarr_format", CONSOLIDATING)
def test_consolidated_metadata_of_several_writers_matches_the_documents(tmp_path: Path, zarr_format: Any) -> None:
    group = omnizarr.create_group(tmp_path / "g", zarr_format=zarr_format)
    group.create_array("rows", shape=0, dtype="u1", chunks=4)
    omnizarr.consolidate_metadata(tmp_path / "g")
    run_all(fill_consolidated, [(tmp_path / "g", number) for number in range(4)])
    one, other = (omnizarr.open_group(tmp_path / "g", mode="r", use_consolidated=use) for use in (True, False))
    assert one["rows"].shape == other["rows"].shape == (4 * 8,)
    assert one["rows"].attrs.asdict() == other["rows"].attrs.asdict() == {f"{number}": 7 for number in range(4)}
    assert set(one) - set(other) == set()
    assert set(other) - set(one) <= {"consolidated"}  # a group of its own, in the draft


@pytest.mark.parametrize("zarr_format", CONSOLIDATING)
def test_a_node_that_changes_during_consolidation_is_newer_in_the_copy(zarr_format: Any) -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store, zarr_format=zarr_format).create_array("a", shape=2, dtype="u1")
    root = omnizarr.consolidate_metadata(store)
    slow, quick = root["a"], omnizarr.open_group(store)["a"]
    known = slow._context.consolidated
    record_nodes = known.record_nodes

    def late(nodes: Any) -> None:
        quick.attrs["b"] = 2
        record_nodes(nodes)

    known.record_nodes = late
    slow.attrs["a"] = 1
    assert omnizarr.open_group(store, mode="r")["a"].attrs.asdict() == {"a": 1, "b": 2}


@pytest.mark.parametrize("zarr_format", CONSOLIDATING)
def test_a_node_created_during_consolidation_is_included(monkeypatch: pytest.MonkeyPatch, zarr_format: Any) -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store, zarr_format=zarr_format).create_array("a", shape=2, dtype="u1")
    root = omnizarr.consolidate_metadata(store)
    gather = hierarchy._collect_all

    def slow(group: omnizarr.Group) -> Any:
        found = gather(group)
        if "late" not in root:
            root.create_array("late", shape=2, dtype="u1")
        return found

    monkeypatch.setattr(hierarchy, "_collect_all", slow)
    omnizarr.consolidate_metadata(store)
    assert "late" in omnizarr.open_group(store, mode="r", use_consolidated=True)


def test_threads_that_share_a_handle_get_the_rows_that_they_appended(tmp_path: Path) -> None:
    """With a locking store, and with conditional writes only: there the shape comes first, and a row of one element
    must not spread over the rows of others."""
    for store in (omnizarr.LocalStore(tmp_path / "x"), omnizarr.SQLiteStore(tmp_path / "x.sqlite")):
        z = omnizarr.create_array(store, shape=0, dtype="i4", chunks=16)
        wrong = []

        def work(number: int, z: omnizarr.Array = z, wrong: list[Any] = wrong) -> None:
            for step in range(12):
                value = 100 * number + step
                (end,) = z.append([value])
                if z[end - 1] != value:
                    wrong.append((value, end))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        assert wrong == []
        assert sorted(z[...].tolist()) == sorted(100 * number + step for number in range(4) for step in range(12))


def test_a_thread_with_an_older_state_does_not_restore_it_in_the_handle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    z = omnizarr.create_array(None, shape=3, dtype="u1", chunks=2)
    fetched, go_on, fetch = threading.Event(), threading.Event(), array_state.fetch_model

    def slowly(*arguments: Any) -> Any:
        found = fetch(*arguments)
        if threading.current_thread() is reader:
            fetched.set()
            go_on.wait(1)  # times out if the other thread waits for this one
        return found

    monkeypatch.setattr(array_state, "fetch_model", slowly)
    reader = threading.Thread(target=z.refresh)
    reader.start()
    fetched.wait()
    z.append([4, 5])
    go_on.set()
    reader.join()
    assert z.shape == (5,)


DYING = """
import sys, time
import omnizarr
from omnizarr.nodes import array, resize
z = omnizarr.open_array(sys.argv[1])
def stopped(*arguments):
    print("written", flush=True)
    time.sleep(60)
resize._store_shape = stopped
z.append([7] * 9)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_a_waiting_writer_cleans_up_after_a_crashed_lock_holder(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path / "x", data=[1, 2, 3], chunks=4)
    with program(DYING, tmp_path / "x", stdout=-1) as dying:
        assert dying.stdout is not None
        assert dying.stdout.readline() == b"written\n"
        assert omnizarr.open_array(tmp_path / "x")[...].tolist() == [1, 2, 3]
        dying.kill()
    assert [path for path in os.listdir(tmp_path / "x") if path.endswith(".turn")] != []
    assert sorted(z.store.list()) == ["c/0", "c/1", "c/2", "zarr.json"]
    assert z.append([4, 5]) == (5,)
    z.resize(12)
    assert z[...].tolist() == [1, 2, 3, 4, 5, *[0] * 7]
    assert sorted(z.store.list()) == ["c/0", "c/1", "zarr.json"]
    assert sorted(os.listdir(tmp_path / "x")) == ["c", "zarr.json"]

"""`copy`: every store and generation, objects as they are and in another encoding, resumed and verified."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ArgumentError, NodeExistsError, OmnizarrError, StoreError
from omnizarr.store import LocalStore, MemoryStore, SQLiteStore, Store, ZipStore
from omnizarr.testing import RecordingStore
from omnizarr.tools import Plan, copy, diff
from omnizarr.tools.plans.plan import run_task
from tests.corpora.reading import all_stored

DATA = np.arange(60, dtype="i4").reshape(6, 10)
GENERATIONS: list[Any] = [2, 3, "3-draft-2020", "3-draft-2022", "n5"]


def make_source(store: Any, zarr_format: Any = 3) -> omnizarr.Group:
    group = omnizarr.create_group(store, zarr_format=zarr_format, attributes={"title": "weather"})
    group.create_array("t", data=DATA, chunks=(2, 5), attributes={"units": "K"})
    group.create_group("daily").create_array("rain", data=DATA[0], chunks=(3,))
    group.create_array("daily/empty", shape=(4, 4), dtype="f4", chunks=(2, 2))
    return omnizarr.open_group(store, mode="r")


@pytest.mark.parametrize("zarr_format", GENERATIONS)
def test_copies_every_generation_as_it_is(zarr_format: Any) -> None:
    source = make_source(MemoryStore(), zarr_format)
    target = MemoryStore()
    copy(source, target).run()
    new = omnizarr.open_group(target, mode="r")
    assert new.zarr_format == zarr_format
    assert diff(source, new).equal
    assert {key: bytes(target.get(key) or b"") for key in target.list()} == {
        key: bytes(source.store.get(key) or b"") for key in source.store.list()
    }


@pytest.mark.parametrize("before", GENERATIONS)
@pytest.mark.parametrize("after", GENERATIONS)
def test_copies_into_every_generation(before: Any, after: Any) -> None:
    source = make_source(MemoryStore(), before)
    target = MemoryStore()
    copy(source, target, zarr_format=after, compressors="gzip").run(workers=2)
    new = omnizarr.open_group(target, mode="r")
    assert new.zarr_format == after
    assert diff(source, new, data_only=True).equal


@pytest.mark.parametrize("generation", ["v1", "v2", "draft-2020", "n5"])
@pytest.mark.filterwarnings("ignore::omnizarr.OmnizarrWarning")
def test_copies_arrays_of_other_writers(generation: str) -> None:
    """Among them are arrays whose documents do not tell the keys of their chunks."""
    for stored in all_stored(generation):
        peculiar = {"separator-unsaid", "implicit", "lower-case"} & stored.expected.marks
        if stored.expected.marks & {"reject", "shards-lost"} or not (peculiar or stored.expected.shape == ()):
            continue
        source = omnizarr.open_array(stored.location, path=stored.expected.path, mode="r")
        target = MemoryStore()
        copy(source, target).run(workers=1)
        assert stored.expected.agrees(omnizarr.open_array(target, mode="r")[...]), stored


@pytest.mark.parametrize("native", [0, 1])
def test_small_objects_of_a_directory_are_copied_together(tmp_path: Path, native: int) -> None:
    array = omnizarr.create_array(tmp_path / "a", data=np.arange(900).reshape(30, 30), chunks=(10, 2))
    plan = copy(str(tmp_path / "a"), tmp_path / "b", verify=True)
    array.store.erase("c/0/3")  # since the plan was made
    plan.begin()
    with omnizarr.config(native=native):
        written = plan.stages[0].run(0)
    names = {file.relative_to(tmp_path / "a") for file in (tmp_path / "a" / "c").rglob("*") if file.is_file()}
    assert len(names) == 44
    assert written == sum((tmp_path / "a" / name).stat().st_size for name in names)
    for name in names:
        assert (tmp_path / "b" / name).read_bytes() == (tmp_path / "a" / name).read_bytes()
    assert not (tmp_path / "b" / "c" / "0" / "3").exists()


def stores(tmp_path: Path) -> list[Store]:
    return [
        LocalStore(tmp_path / "new.zarr"),
        ZipStore(tmp_path / "new.zip"),
        SQLiteStore(tmp_path / "new.sqlite"),
        MemoryStore(),
    ]


def test_copies_into_and_out_of_every_kind_of_store(tmp_path: Path) -> None:
    source = make_source(LocalStore(tmp_path / "old.zarr"))
    for store in stores(tmp_path):
        copy(source, store, verify=True).run()
        copied = omnizarr.open_group(store, mode="r")
        assert diff(source, copied).equal
        again = MemoryStore()
        copy(copied, again).run()
        assert diff(source, omnizarr.open_group(again, mode="r")).equal
        store.close()


def test_an_archive_has_its_metadata_first(tmp_path: Path) -> None:
    import zipfile

    copy(make_source(MemoryStore()), ZipStore(tmp_path / "new.zip")).run()
    with zipfile.ZipFile(tmp_path / "new.zip") as archive:
        documents = [name.endswith("zarr.json") for name in archive.namelist()]
    assert documents == sorted(documents, reverse=True)
    assert sum(documents) == 5


def test_changes_chunks_shards_codecs_and_type() -> None:
    source = make_source(MemoryStore())
    target = MemoryStore()
    copy(source["t"], target, chunks=(3, 5), shards=(6, 5), compressors="zstd", dtype="f8").run()
    new = omnizarr.open_array(target, mode="r")
    assert (new.chunks, new.shards, new.dtype) == ((3, 5), (6, 5), np.dtype("f8"))
    assert dict(new.attrs) == {"units": "K"}
    np.testing.assert_array_equal(new[...], DATA)


def test_include_and_exclude() -> None:
    source = make_source(MemoryStore())

    def names(**options: Any) -> set[str]:
        target = MemoryStore()
        copy(source, target, **options).run()
        return {path for path, _ in omnizarr.open_group(target, mode="r").members(max_depth=None)}

    assert names() == {"t", "daily", "daily/rain", "daily/empty"}
    assert names(include=["rain"]) == {"daily", "daily/rain"}
    assert names(include=["daily"]) == {"daily", "daily/rain", "daily/empty"}
    assert names(exclude=["daily"]) == {"t"}
    assert names(include=["daily/*"], exclude=["empty"]) == {"daily", "daily/rain"}


def test_replaces_nothing_without_force() -> None:
    source, target = make_source(MemoryStore()), MemoryStore()
    omnizarr.save_array(target, np.ones(3), zarr_format=2)
    with pytest.raises(NodeExistsError, match="there is a node at"):
        copy(source, target).run()
    copy(source, target, force=True).run()
    assert diff(source, omnizarr.open_group(target, mode="r")).equal
    with pytest.raises(ArgumentError, match="would erase the source"):
        copy(omnizarr.open_group(target), target, force=True)


def test_copies_into_an_existing_group(tmp_path: Path) -> None:
    source = make_source(MemoryStore())
    omnizarr.create_group(tmp_path / "new.zarr", attributes={"kept": 1})
    copy(source["t"], str(tmp_path / "new.zarr" / "below" / "t")).run()
    group = omnizarr.open_group(tmp_path / "new.zarr", mode="r")
    assert dict(group.attrs) == {"kept": 1}
    np.testing.assert_array_equal(omnizarr.open_array(tmp_path / "new.zarr" / "below" / "t")[...], DATA)


def test_resume_of_a_finished_copy_copies_only_what_differs() -> None:
    source, target = make_source(MemoryStore()), MemoryStore()
    first = copy(source, target).run()
    assert first.bytes > 0
    recorded = RecordingStore(target)
    assert copy(source, recorded, resume=True).run(resume=True).bytes == 0
    target.erase("t/c/1/1")
    assert copy(source, target, resume=True).run(resume=True).bytes > 0
    assert diff(source, omnizarr.open_group(target, mode="r")).equal


def test_resume_of_a_finished_encoding_does_nothing(tmp_path: Path) -> None:
    """A late job of a batch system leaves no journal in the finished copy."""
    source, target = make_source(MemoryStore()), LocalStore(tmp_path / "b.zarr")
    copy(source, target, compressors="gzip").run()
    recorded = RecordingStore(target)
    plan = copy(source, recorded, compressors="gzip", resume=True)
    assert plan.run(resume=True).tasks == plan.run_part(1, 3).tasks == 0
    plan.finish()
    assert {"set", "set_each", "erase", "erase_prefix", "updates"}.isdisjoint(recorded.methods())


@pytest.mark.parametrize("options", [{}, {"compressors": "gzip"}])
def test_resume_does_not_write_into_another_node(options: dict[str, Any]) -> None:
    source, target = make_source(MemoryStore()), MemoryStore()
    copy(source, target, compressors="zstd").run()
    before = {key: bytes(target.get(key) or b"") for key in target.list()}
    with pytest.raises(NodeExistsError, match="which is not what this plan makes"):
        copy(source, target, resume=True, **options).run(resume=True)
    assert {key: bytes(target.get(key) or b"") for key in target.list()} == before


def test_resume_after_a_crash_uses_the_tasks_of_the_first_run(tmp_path: Path) -> None:
    source = make_source(LocalStore(tmp_path / "old.zarr"))
    target = LocalStore(tmp_path / "new.zarr")
    plan = copy(source, target)
    plan._start(resume=False)
    run_task(plan.stages[0], plan.journal, 0, 0, 0)
    with pytest.raises(NodeExistsError, match="did not finish"):
        copy(source, target).run()
    result = copy(source, target, resume=True).run(resume=True)
    assert (result.tasks, result.skipped) == (plan.tasks - 1, 1)
    assert diff(source, omnizarr.open_group(target, mode="r")).equal
    assert not list(target.list_prefix(".omnizarr-plan/"))


def test_verify_finds_a_store_that_loses_bytes() -> None:
    class Losing(MemoryStore):
        def set(self, key: str, value: Any) -> None:
            super().set(key, bytes(value)[:-1] if "/c/" in key else value)

    with pytest.raises(StoreError, match="differs from its source"):
        copy(make_source(MemoryStore()), Losing(), verify=True).run()


def test_arrays_of_a_group_are_encoded_side_by_side(tmp_path: Path) -> None:
    """Parts of a batch system need no stage per array."""
    group = omnizarr.create_group(tmp_path / "a.zarr")
    for number in range(4):
        group.create_array(f"t{number}", data=DATA + number, chunks=(2, 5))
    target = LocalStore(tmp_path / "b.zarr")

    def plan() -> Plan:
        return copy(group, target, compressors="gzip", resume=True)

    assert [stage.count for stage in plan().stages] == [4]
    assert {(stage.number, stage.array) for stage in plan().describe().stages} == {(1, f"t{n}") for n in range(4)}
    for part in (2, 0, 2):
        plan().run_part(part, 3)
    with pytest.raises(OmnizarrError, match=r"1 of 4 tasks of stage 1 \(stages of 4 arrays\) are not done: 1"):
        plan().finish()
    plan().run_part(1, 3)
    plan().finish()
    assert diff(group, omnizarr.open_group(target, mode="r")).equal


def test_lengths_apply_to_the_arrays_with_these_dimensions() -> None:
    group = omnizarr.create_group(MemoryStore())
    for name in ("time", "lat"):
        group.create_array(name, data=np.arange(8), chunks=1, dimension_names=[name])
    target = MemoryStore()
    copy(group, target, chunks={"time": 4}).run()
    made = omnizarr.open_group(target, mode="r")
    assert (made["time"].chunks, made["lat"].chunks) == ((4,), (1,))
    with pytest.raises(ArgumentError, match="no array has a dimension `tiem`; the names are lat, time"):
        copy(group, MemoryStore(), chunks={"tiem": 4})


def test_a_group_is_not_copied_into_itself(tmp_path: Path) -> None:
    group = make_source(tmp_path / "a.zarr")
    with pytest.raises(ArgumentError, match="expected a location outside the source"):
        copy(group, tmp_path / "a.zarr" / "new")
    copy(group["t"], tmp_path / "a.zarr" / "t2").run()


def test_chunk_lengths_by_dimension_name() -> None:
    store = MemoryStore()
    options: dict[str, Any] = {"dimension_names": ["time", "x"], "chunks": (2, 5)}
    array = omnizarr.create_array(store, data=DATA, **options)
    target = MemoryStore()
    copy(array, target, chunks={"time": -1}).run()
    assert omnizarr.open_array(target).chunks == (6, 5)
    with pytest.raises(ArgumentError, match="has no dimension `lat`; it has time, x"):
        copy(array, MemoryStore(), chunks={"lat": 1})


def test_tasks_are_small(tmp_path: Path) -> None:
    group = omnizarr.create_group(LocalStore(tmp_path / "old.zarr"))
    array = group.create_array("t", data=DATA, chunks=(1, 1), attributes={"text": "x" * 100_000})
    for options in ({}, {"compressors": "gzip"}):
        plan = copy(array, LocalStore(tmp_path / "new.zarr"), **options)  # type: ignore[arg-type]
        assert len(pickle.dumps(partial(run_task, plan.stages[0], plan.journal, 0, 5, 5))) < 10_000

"""`rechunk`: equal elements in other chunks, few operations, bounded memory, resumed runs."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import ArgumentError, OmnizarrError
from omnizarr.store import LocalStore, MemoryStore, Store
from omnizarr.tools import rechunk
from omnizarr.tools.plans.passes import Lengths, count_common, find_passes, intermediate_edges, measure_passes
from tests.peers.environments import find


@st.composite
def _cases(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]:
    shape = tuple(draw(st.lists(st.integers(1, 40), min_size=1, max_size=3)))
    source = tuple(draw(st.integers(1, length)) for length in shape)
    target = tuple(draw(st.integers(1, length)) for length in shape)
    return shape, source, target, draw(st.integers(1, 5))


@given(_cases())
@settings(max_examples=60)
def test_elements_stay_equal(case: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]) -> None:
    shape, source, target, room = case
    data = np.arange(prod(shape), dtype="int32").reshape(shape)
    array = omnizarr.create_array(MemoryStore(), data=data, chunks=source, compressors=None)
    memory = int(2 * (3.2 * 4 * prod(source) + room * 3 * 4 * max(prod(source), prod(target)))) + 10
    store = MemoryStore()
    plan = rechunk(array, store, chunks=target, max_memory=memory)
    plan.run(workers=1)
    copy = omnizarr.open_array(store, mode="r")
    np.testing.assert_array_equal(copy[...], data)
    assert copy.chunks == target
    assert not list(store.list_prefix(".omnizarr-plan/"))
    assert plan.describe().cost.memory <= memory


class _Counting(MemoryStore):
    """Counts how often each object is read and written."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []
        self.writes: list[str] = []

    def get(self, key: str, *arguments: object) -> object:  # type: ignore[override]
        self.reads.append(key)
        return super().get(key, *arguments)  # type: ignore[arg-type]

    def set(self, key: str, value: object) -> None:  # type: ignore[override]
        self.writes.append(key)
        super().set(key, value)  # type: ignore[arg-type]


def test_1000_to_999_takes_two_passes_and_no_object_is_read_twice() -> None:
    data = np.arange(100_000, dtype="float64")
    source = _Counting()
    omnizarr.create_array(source, data=data, chunks=1000)
    source.reads.clear()
    target = _Counting()
    plan = rechunk(omnizarr.open_array(source, mode="r"), target, chunks=999, max_memory=130_000)
    plan.run()
    np.testing.assert_array_equal(omnizarr.open_array(target, mode="r")[...], data)
    assert len(plan.stages) <= 2
    chunks = [key for key in source.reads if "/" in key]
    operations = len(chunks) + sum("/c/" in f"/{key}" for key in target.writes)
    assert operations <= 100 + 2 * count_common(1000, 999, 100_000) + 101


def _random_case(rng: random.Random) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]:
    shape = tuple(int(10 ** rng.uniform(0.5, 3)) for _ in range(rng.randint(1, 4)))

    def chunks() -> tuple[int, ...]:
        return tuple(
            rng.choice([1, length, rng.randint(1, length), max(1, int(length * rng.random() ** 3))]) for length in shape
        )

    source, target = chunks(), chunks()
    return shape, source, target, 8 * max(prod(source), prod(target)) * rng.choice([1, 2, 5, 20])


_RECHUNKER = """
import json, sys
from rechunker.algorithm import rechunking_plan
for shape, source, target, most in json.load(sys.stdin):
    read, _, write = rechunking_plan(shape, source, target, 8, most)
    print(json.dumps([read, write]))
"""


def test_takes_at_most_the_operations_of_rechunker() -> None:
    environment = find("rechunker")
    if environment is None or not environment.python:
        pytest.skip("no environment with rechunker")
    rng = random.Random(19)
    cases = [_random_case(rng) for _ in range(100)]
    output = subprocess.run(
        [str(environment.python), "-c", _RECHUNKER], input=json.dumps(cases), capture_output=True, text=True, check=True
    ).stdout
    for (shape, source, target, most), line in zip(cases, output.splitlines(), strict=True):
        theirs = measure_passes(shape, 8, source, target, [tuple(lengths) for lengths in json.loads(line)])
        passes = find_passes(shape, 8, source, target, most)
        assert passes.operations <= theirs.operations, (shape, source, target, most)


def test_regions_fit_and_targets_are_whole() -> None:
    rng = random.Random(3)
    for _ in range(200):
        shape, source, target, most = _random_case(rng)
        passes = find_passes(shape, 8, source, target, most)
        assert all(8 * prod(lengths) <= most for lengths in passes.regions)
        for length, chunk, size in zip(passes.regions[-1], target, shape, strict=True):
            assert length % chunk == 0 or length == size


def test_edges_are_common_pieces() -> None:
    assert intermediate_edges(5, 7, 20) == [5, 2, 3, 4, 1, 5]
    assert count_common(5, 7, 20) == 6


def test_a_group_rechunks_the_arrays_with_the_named_dimensions(tmp_path: Path) -> None:
    group = omnizarr.create_group(tmp_path / "a.zarr", attributes={"title": "x"})
    data = np.arange(600).reshape(20, 30)
    group.create_array("t", data=data, chunks=(1, 30), dimension_names=["time", "lat"])
    group.create_array("lat", data=np.arange(30), chunks=7, dimension_names=["lat"])
    group.create_array("other", data=np.arange(4), chunks=2)
    rechunk(str(tmp_path / "a.zarr"), tmp_path / "b.zarr", chunks={"time": -1, "lat": 10}, max_memory=10**6).run()
    copy = omnizarr.open_group(tmp_path / "b.zarr", mode="r")
    assert [copy[name].chunks for name in ("t", "lat", "other")] == [(20, 10), (10,), (2,)]
    assert copy.attrs["title"] == "x"
    np.testing.assert_array_equal(copy["t"][...], data)


def test_dimensions_are_named_or_numbered_and_typing_errors_are_noticed() -> None:
    array = omnizarr.create_array(MemoryStore(), data=np.zeros((4, 6)), chunks=(1, 6), dimension_names=["time", None])
    for chunks in ({0: 4, 1: 2}, {"0": 4, "1": 2}, {"time": -1, 1: 2}):
        target = MemoryStore()
        rechunk(array, target, chunks=chunks, max_memory=10**6).run()
        assert omnizarr.open_array(target).chunks == (4, 2)
    with pytest.raises(ArgumentError, match="has no dimension `tiem`; it has time, 1"):
        rechunk(array, MemoryStore(), chunks={"tiem": -1})


def test_shards_are_whole_tasks(tmp_path: Path) -> None:
    data = np.random.default_rng(0).random((64, 64))
    array = omnizarr.create_array(tmp_path / "a.zarr", data=data, chunks=(1, 64))
    plan = rechunk(array, tmp_path / "b.zarr", chunks=(8, 8), shards=(64, 16), max_memory=80_000)
    plan.run()
    copy = omnizarr.open_array(tmp_path / "b.zarr", mode="r")
    assert (copy.chunks, copy.shards) == ((8, 8), (64, 16))
    np.testing.assert_array_equal(copy[...], data)


def test_resume_after_each_task(tmp_path: Path) -> None:
    data = np.arange(900).reshape(30, 30)
    array = omnizarr.create_array(tmp_path / "a.zarr", data=data, chunks=(1, 30))
    options = {"chunks": (30, 1), "max_memory": 4000}
    store: Store = LocalStore(tmp_path / "b.zarr")
    plan = rechunk(array, store, **options)  # type: ignore[arg-type]
    assert len(plan.stages) >= 2
    for stage in range(len(plan.stages)):
        for part in random.sample(range(5), 5):
            rechunk(array, store, resume=True, **options).run_part(part, 5, stage=stage + 1)  # type: ignore[arg-type]
    rechunk(array, store, resume=True, **options).finish()  # type: ignore[arg-type]
    np.testing.assert_array_equal(omnizarr.open_array(store, mode="r")[...], data)
    assert sorted(path.name for path in (tmp_path / "b.zarr").iterdir()) == ["c", "zarr.json"]


def test_too_little_memory_and_no_chunks(tmp_path: Path) -> None:
    array = omnizarr.create_array(MemoryStore(), data=np.zeros((100, 100)), chunks=(100, 100))
    with pytest.raises(ArgumentError, match="needs at least"):
        rechunk(array, tmp_path / "b.zarr", chunks=(10, 100), max_memory=100_000)
    with pytest.raises(ArgumentError, match="expected the new chunk lengths"):
        rechunk(array, tmp_path / "b.zarr")
    many = omnizarr.create_array(MemoryStore(), data=np.zeros((100, 100)), chunks=(1, 100))
    with pytest.raises(OmnizarrError, match="cannot hold the intermediate"):
        rechunk(many, str(tmp_path / "b.zip"), chunks=(100, 1), max_memory=20_000)


_MEMORY = """
import json, sys
import numpy as np
import omnizarr
from omnizarr.store import MemoryStore
from omnizarr.tools import rechunk

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

source, target, chunks, limit = sys.argv[1], sys.argv[2], tuple(json.loads(sys.argv[3])), int(sys.argv[4])
small = omnizarr.create_array(MemoryStore(), data=np.zeros((9, 9)), chunks=(1, 9))
rechunk(small, MemoryStore(), chunks=(9, 1), max_memory=2000).run()  # imports
plan = rechunk(omnizarr.open_array(source, mode="r"), target, chunks=chunks, max_memory=limit)
before = status("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
plan.run()
print(len(plan.stages), status("VmHWM") - before)
"""


def _random_plan(rng: random.Random, shape: tuple[int, ...], number: int) -> tuple[Lengths, Lengths, int]:
    """The chunks of source and target, and a limit of memory that allows this plan."""
    if number == 0:  # 84 tasks, each of which decodes all chunks of 13 MB to write three thin columns
        return (80, *shape[1:]), (shape[0], 1, *shape[2:]), 80 * 10**6
    while True:
        source, target = (tuple(rng.choice([1, n, rng.randint(1, n)]) for n in shape) for _ in range(2))
        if number % 5 == 0:
            source, target = (rng.randint(40, 100), *shape[1:]), (shape[0], 1, *shape[2:])
        limit = rng.choice([64, 80, 96]) * 10**6
        most = max(prod(shape) / prod(chunks) for chunks in (source, target))
        if most <= 3000 and 8 * (3.2 * prod(source) + 3 * prod(target)) + 2**25 <= limit:
            return source, target, limit


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory is read from /proc")
def test_peak_memory_stays_within_the_limit(tmp_path: Path) -> None:
    """`RECHUNK_PLANS=50` tries more plans than the few of an ordinary run, and `-s` prints their peaks."""
    rng = random.Random(int(os.environ.get("RECHUNK_SEED", "1")))
    data = np.random.default_rng(0).integers(0, 1000, (800, 250, 80)).astype("float64")  # 128 MB
    beyond = []
    for number in range(int(os.environ.get("RECHUNK_PLANS", "2"))):
        source, target, limit = _random_plan(rng, data.shape, number)
        omnizarr.create_array(tmp_path / "a.zarr", data=data, chunks=source, overwrite=True)
        arguments = [tmp_path / "a.zarr", tmp_path / "b.zarr", json.dumps(target), f"{limit}"]
        output = subprocess.run(
            [sys.executable, "-c", _MEMORY, *arguments], capture_output=True, text=True, check=True
        ).stdout
        stages, peak = map(int, output.split())
        plan = f"{source} to {target}, {stages} stages: {peak / 10**6:.0f} MB of {limit // 10**6}"
        print(plan, flush=True)
        if peak > limit:
            beyond.append(plan)
        shutil.rmtree(tmp_path / "b.zarr")
    assert not beyond


def test_memory_may_be_given_as_text() -> None:
    array = omnizarr.create_array(MemoryStore(), data=np.arange(10), chunks=5)
    plans = [rechunk(array, MemoryStore(), chunks=2, max_memory=memory) for memory in ("64 MB", 64 * 10**6)]
    assert plans[0].max_memory == plans[1].max_memory
    with pytest.raises(ArgumentError, match='`max_memory`: expected a number of bytes, or text such as "256 MiB"'):
        rechunk(array, MemoryStore(), chunks=2, max_memory="much")

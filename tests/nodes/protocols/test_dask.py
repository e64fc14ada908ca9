"""Arrays in dask: reading, writing, pickles, and a cluster of processes of which one dies."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import ArgumentError, ReadOnlyError
from omnizarr.testing import RecordingStore

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

DATA: npt.NDArray[Any] = np.arange(60 * 50, dtype="i4").reshape(60, 50)


def sharded(store: Any = None, **options: Any) -> omnizarr.Array:
    return omnizarr.create_array(
        store, **{"shape": (60, 50), "chunks": (5, 10), "shards": (20, 20), "dtype": "i4", **options}
    )


# -- reading


def test_from_array_reads_blocks_of_whole_shards() -> None:
    z = sharded()
    z[...] = DATA
    x = da.from_array(z)
    assert (x[::3, [4, 1, 40]].compute() == DATA[::3][:, [4, 1, 40]]).all()
    with dask.config.set({"array.chunk-size": "2 kiB"}):
        assert da.from_array(z).chunks == z.to_dask().chunks == ((20, 20, 20), (20, 20, 10))
    assert z.to_dask(chunks=None).chunks == ((20, 20, 20), (20, 20, 10))
    assert z.to_dask(chunks=(30, -1)).chunks == ((30, 30), (50,))
    assert z.to_dask().sum().compute() == DATA.sum()
    assert z.to_dask(chunks=None, inline_array=True).sum().compute() == DATA.sum()


def test_to_dask_reads_nothing_before_compute(tmp_path: Path) -> None:
    sharded(tmp_path)[...] = DATA
    store = RecordingStore(omnizarr.LocalStore(tmp_path))
    z = omnizarr.open_array(store)
    store.reset()
    x = z.to_dask(chunks=None)
    assert store.calls == []
    assert (x[5, :].compute() == DATA[5]).all()
    assert "c/1/" not in repr(store.calls)


@pytest.mark.parametrize(
    "data",
    [
        np.array(5.5),
        np.zeros((0, 3), "i2"),
        np.array(["a", "bcd", ""], np.dtypes.StringDType()),
        np.array(["a", "bcd"], "U3"),
        np.array(["2001-02-03", "NaT"], "M8[D]"),
        np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")]),
    ],
    ids=lambda data: str(data.dtype),
)
def test_all_kinds_of_elements_pass_through_dask(data: npt.NDArray[Any], tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path / "a", data=data)
    x = z.to_dask()
    assert (x.shape, x.dtype) == (data.shape, data.dtype)
    np.testing.assert_array_equal(x.compute(), data)
    copy = omnizarr.from_dask(x, tmp_path / "b")
    np.testing.assert_array_equal(copy[...], data)


def test_chunks_of_different_lengths_are_blocks() -> None:
    z = omnizarr.create_array(data=np.arange(10), chunks=[[3, 3, 4]])
    assert z.to_dask(chunks=None).chunks == ((3, 3, 4),)
    assert z.to_dask().compute().tolist() == list(range(10))


# -- writing


@settings(max_examples=25, deadline=None)
@given(
    blocks=st.tuples(st.integers(1, 60), st.integers(1, 50)),
    shards=st.sampled_from([None, (20, 20), (10, 50)]),
    threads=st.integers(1, 8),
)
def test_store_loses_nothing_if_blocks_are_not_aligned(
    blocks: tuple[int, int], shards: tuple[int, int] | None, threads: int
) -> None:
    z = sharded(shards=shards)
    with dask.config.set(scheduler="threads", num_workers=threads):
        da.store(da.from_array(DATA, chunks=blocks), z, lock=False)
    assert (z[...] == DATA).all()


def test_from_dask_takes_the_blocks_as_chunks(tmp_path: Path) -> None:
    x = da.from_array(DATA, chunks=(20, 30))
    z = omnizarr.from_dask(x, tmp_path / "a", name="b/c", attributes={"x": 1}, dimension_names=["y", "x"])
    assert (z.chunks, z.shape, z.dtype, z.path) == ((20, 30), x.shape, x.dtype, "b/c")
    assert z.attrs == {"x": 1}
    assert (omnizarr.open_array(tmp_path / "a" / "b" / "c")[...] == DATA).all()
    other = omnizarr.from_dask(x, tmp_path / "d", chunks=(6, 5), shards=(30, 50), zarr_format=3, dtype="f8")
    assert (other.chunks, other.shards, other.dtype) == ((6, 5), (30, 50), np.dtype("f8"))
    assert (other[...] == DATA).all()
    uneven = omnizarr.from_dask(da.from_array(DATA, chunks=((7, 33, 20), 50)))
    assert (uneven[...] == DATA).all()
    assert isinstance(uneven.chunks[0], int)


def test_from_dask_can_be_delayed(tmp_path: Path) -> None:
    delayed = omnizarr.from_dask(da.from_array(DATA, chunks=(20, 30)), tmp_path, compute=False)
    assert not omnizarr.open_array(tmp_path)[...].any()
    assert (delayed.compute()[...] == DATA).all()
    assert (omnizarr.open_array(tmp_path)[...] == DATA).all()


def test_from_dask_rejects_what_it_cannot_store(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="expected a dask array, found ndarray"):
        omnizarr.from_dask(DATA, tmp_path)
    x = da.from_array(DATA, chunks=10)
    with pytest.raises(ArgumentError, match="compute_chunk_sizes"):
        omnizarr.from_dask(x[x > 5], tmp_path)
    with pytest.raises(ArgumentError, match="no option `shape`"):
        omnizarr.from_dask(x, tmp_path, shape=(1, 1))
    assert not list(tmp_path.iterdir())


def test_persist_after_a_write_shows_the_new_elements(tmp_path: Path) -> None:
    z = sharded(tmp_path)
    before = z.to_dask().persist()
    z[...] = DATA
    after = z.to_dask().persist()
    assert before.name != after.name
    assert (after.compute() == DATA).all()


# -- pickles


@pytest.mark.parametrize("kind", ["folder", "sqlite", "zip", "s3", "group"])
def test_pickled_handles_are_small_and_hold_no_secrets(kind: str, tmp_path: Path) -> None:
    group = omnizarr.create_group(tmp_path / "g")
    for number in range(50):
        group.create_array(f"a{number}", shape=(60, 50), chunks=(5, 10), shards=(20, 20), dtype="i4")
    omnizarr.consolidate_metadata(tmp_path / "g")
    if kind == "group":
        node: Any = omnizarr.open_group(tmp_path / "g", mode="r", use_consolidated=True)["a7"]
    elif kind == "s3":
        options = {"access_key_id": "MY-KEY-ID", "secret_access_key": "TOP-SECRET", "endpoint": "http://127.0.0.1:1"}
        bucket = omnizarr.ObjectStore.from_url("s3://bucket/data", **options)
        node = omnizarr.Array(group["a7"]._context._replace(store=bucket), group["a7"].metadata)
    elif kind == "folder":
        node = group["a7"]
    else:
        store = omnizarr.SQLiteStore(tmp_path / "x.db") if kind == "sqlite" else omnizarr.ZipStore(tmp_path / "x.zip")
        with store:
            sharded(store)[...] = DATA
        node = omnizarr.open_array(f"{kind}::{store.location}", mode="r")
    data = pickle.dumps(node)
    assert len(data) < 10_000
    assert b"SECRET" not in data
    assert b"MY-KEY" not in data
    assert pickle.loads(data).shape == (60, 50)


# -- threads


def test_a_worker_process_of_dask_uses_as_many_threads_as_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    class State:
        nthreads = 1

    class Worker:
        state = State()
        _instances: Any = ()

    class Module:
        pass

    module: Any = Module()
    module.Worker = Worker
    monkeypatch.setitem(sys.modules, "distributed.worker", module)
    cores = omnizarr.config.workers
    Worker._instances = [Worker()]
    assert omnizarr.config.workers == 1
    State.nthreads = 1000
    assert omnizarr.config.workers == cores
    del Worker._instances  # another release of distributed
    assert omnizarr.config.workers == cores


# -- a cluster of processes


def _die_once(block: npt.NDArray[Any], mark: str, numbers: list[int]) -> npt.NDArray[Any]:
    """The block. The first task that computes one of `numbers` kills its process."""
    if int(block.flat[0]) in numbers:
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return block
        os._exit(1)
    return block


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    options = {"distributed.worker.daemon": True, "distributed.comm.timeouts.connect": "60s"}
    with (
        dask.config.set(options),
        distributed.LocalCluster(2, threads_per_worker=2, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster, timeout=60) as client,
    ):
        yield client


@pytest.mark.filterwarnings("default")
def test_a_cluster_loses_nothing_even_if_a_worker_dies(client: Any, tmp_path: Path) -> None:
    z = sharded(tmp_path / "z")
    source = da.from_array(DATA, chunks=(7, 9))
    x = source.map_blocks(_die_once, mark=str(tmp_path / "mark"), numbers=[int(DATA[28, 18])], dtype="i4")
    da.store(x, z, lock=False)
    assert (tmp_path / "mark").exists()
    assert (z[...] == DATA).all()
    assert (z.to_dask(chunks=(13, 11)).sum(axis=0).compute() == DATA.sum(axis=0)).all()

    token = z.to_dask().name
    da.store(source + 1, z, lock=False)
    assert z.to_dask().name != token  # other processes wrote it
    assert (z.to_dask().persist().compute() == DATA + 1).all()

    assert all(threads <= 2 for threads in client.run(lambda: omnizarr.config.workers).values())

    memory = sharded()
    with pytest.raises(ReadOnlyError, match="pickled copy of a store in memory"):
        da.store(source, memory, lock=False)
    memory[...] = DATA
    assert memory.to_dask().sum().compute() == DATA.sum()  # reading a copy is fine


def test_dask_is_not_imported_without_need() -> None:
    code = "import sys, omnizarr; omnizarr.zeros(3)[:]; omnizarr.config.workers; print('dask' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"

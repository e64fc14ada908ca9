"""Stores of zarr-python 3 and ours, each used as the other.

zarr-python needs a newer Python than we do, and must not share an environment with the tests of everything else. So
this file runs twice: here it starts itself in the environment `together`, which has both; there are the tests.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.peers import environments

import omnizarr
from omnizarr.errors import ReadOnlyError, StoreError
from omnizarr.store import LocalStore, MemoryStore, SQLiteStore, Store, ZipStore
from omnizarr.testing import RecordingStore, SlowStore, StoreSuite

TOGETHER = importlib.util.find_spec("zarr") is not None and importlib.util.find_spec("icechunk") is not None


@pytest.mark.skipif(TOGETHER, reason="this is the environment that has both")
def test_in_the_environment_that_has_both() -> None:
    environment = environments.find("together")
    if environment is None or environment.missing:
        pytest.skip(f"there is no environment with zarr-python and Icechunk: {environment and environment.missing}")
    root = Path(__file__).parents[3]
    source = str(Path(omnizarr.__file__).parents[1])
    command = [str(environment.python), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-W", "default"]
    result = subprocess.run(
        [*command, str(Path(__file__))],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([source, str(root)])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-2000:]
    assert " passed" in result.stdout


if TOGETHER:
    import icechunk
    import zarr

    from omnizarr.store import ZarrPythonStore, as_zarr_store

    DATA = np.arange(600, dtype="int32").reshape(20, 30)

    # -- theirs as ours

    class TestTheirMemory(StoreSuite):
        pickled_is_equal = False

        def make_store(self, tmp_path: Path) -> ZarrPythonStore:
            return ZarrPythonStore(zarr.storage.MemoryStore())

    class TestTheirFolder(StoreSuite):
        case_sensitive = False

        def make_store(self, tmp_path: Path) -> ZarrPythonStore:
            return ZarrPythonStore(zarr.storage.LocalStore(tmp_path / "x"))

        def test_threads_write_erase_and_list_concurrently(self, writable: Store) -> None:
            pytest.skip("theirs loses a folder that one thread removes while another writes to it")

        def test_threads_never_read_partly_written_values(self, writable: Store) -> None:
            pytest.skip("the same")

    def _session(repository: icechunk.Repository) -> Any:
        return repository.writable_session("main")

    @pytest.fixture
    def repository() -> icechunk.Repository:
        return icechunk.Repository.create(icechunk.in_memory_storage())

    def test_an_icechunk_session(repository: icechunk.Repository) -> None:
        session = _session(repository)
        group = omnizarr.open_group(session.store, mode="w", attributes={"title": "versioned"})
        z = group.create_array("a/b", data=DATA, chunks=(7, 11))
        assert np.array_equal(z[...], DATA)
        z[3, 5:9] = -1
        z.attrs["units"] = "K"
        session.commit("written by omnizarr")
        reading = repository.readonly_session("main")
        again = omnizarr.open_group(reading.store)
        assert again.store.read_only
        expected = DATA.copy()
        expected[3, 5:9] = -1
        assert np.array_equal(again["a/b"][...], expected)  # type: ignore[index]
        assert np.array_equal(zarr.open_group(reading.store, mode="r")["a/b"][...], expected)
        assert (again.attrs["title"], again["a/b"].attrs["units"]) == ("versioned", "K")
        assert list(again) == ["a"]
        with pytest.raises(ReadOnlyError):
            again.create_group("c")
        with pytest.raises(ReadOnlyError):
            omnizarr.open_array(reading.store, path="a/b", mode="r+")

    def test_what_others_wrote_to_icechunk(repository: icechunk.Repository) -> None:
        session = _session(repository)
        theirs = zarr.create_array(session.store, name="x", data=DATA, chunks=(5, 5), shards=(10, 10))
        session.commit("written by zarr-python")
        z = omnizarr.open_array(repository.readonly_session("main").store, path="x", mode="r")
        assert np.array_equal(z[...], theirs[...])
        assert np.array_equal(z[3:17:4, ::7], DATA[3:17:4, ::7])

    def test_a_session_on_disk_travels_in_a_pickle(tmp_path: Path) -> None:
        storage = icechunk.local_filesystem_storage(str(tmp_path / "repository"))
        session = _session(icechunk.Repository.create(storage))
        omnizarr.create_array(session.store, name="x", data=DATA)
        session.commit("one")
        reading = icechunk.Repository.open(storage).readonly_session("main")
        z = omnizarr.open_array(reading.store, path="x", mode="r")
        again = pickle.loads(pickle.dumps(z))
        assert np.array_equal(again[...], DATA)

    def test_erasing_and_listing_in_a_session(repository: icechunk.Repository) -> None:
        session = _session(repository)
        group = omnizarr.open_group(session.store, mode="w")
        for name in ("a", "b", "c/d"):
            group.create_array(name, data=DATA, chunks=10)
        del group["b"]
        assert sorted(group) == ["a", "c"]
        group["a"].resize((5, 5))  # type: ignore[union-attr]
        assert np.array_equal(group["a"][...], DATA[:5, :5])  # type: ignore[index]
        omnizarr.create_array(session.store, name="a", data=[1, 2], overwrite=True)
        assert group["a"][...].tolist() == [1, 2]  # type: ignore[index]

    def test_their_stores_are_places(tmp_path: Path) -> None:
        store = zarr.storage.MemoryStore()
        zarr.create_group(store).create_array("a/b", data=DATA)
        assert np.array_equal(omnizarr.open_array(store, path="a/b")[...], DATA)
        path = zarr.storage.StorePath(store, "a")
        assert np.array_equal(omnizarr.open_array(path, path="b")[...], DATA)
        assert list(omnizarr.open_group(path)) == ["b"]
        closed = zarr.storage.LocalStore(tmp_path, read_only=True)
        with pytest.raises(ReadOnlyError):
            omnizarr.create_group(closed)

    def test_ranges_that_they_refuse_are_cut(repository: icechunk.Repository) -> None:
        store = ZarrPythonStore(_session(repository).store)
        omnizarr.create_array(store, name="x", data=np.arange(10, dtype="u1"), chunks=10, compressors=None)
        for part in ((0, 5), (3, None), (-4, None), (8, 100), (50, 5), (50, None), (-50, None), (2, 0), (0, 2**62)):
            start = part[0] if part[0] >= 0 else max(0, 10 + part[0])
            expected = bytes(range(10))[start:] if part[1] is None else bytes(range(10))[start : start + part[1]]
            assert bytes(store.get("x/c/0", part) or b"") == expected
            assert [bytes(value or b"") for value in store.get_partial_values([("x/c/0", part)])] == [expected]
            assert store.get("x/c/1", part) is None

    class _Far(zarr.storage.MemoryStore):
        """One that is not called as those are that lie nearby. It answers nothing about chunks before so many have been
        asked for together, and breaks if it is told so."""

        together = 1
        broken = False
        asked = under_way = 0

        async def get(self, key: str, *arguments: Any, **named: Any) -> Any:
            if "c/" in key:
                self.asked += 1
                if self.broken:
                    raise OSError("broken")
                self.under_way += 1
                for _ in range(1000):
                    if self.under_way >= self.together:
                        self.together = 0
                        break
                    await asyncio.sleep(0.01)
                else:
                    raise OSError("the others do not come")
            return await super().get(key, *arguments, **named)

    def test_those_that_are_far_away_are_asked_for_many_chunks_at_once() -> None:
        inner = _Far()
        z = omnizarr.create_array(inner, data=np.ones(2**14), chunks=2**8)
        assert z.store.remote
        assert z.store.window is not None  # which bounds what is under way, and what waits to be decoded
        inner.together = 20
        assert z[...].all()
        answers = dict(z.store.get_each([("c/0", None), ("c/1", (0, 1)), ("c/x", None)]))
        assert (len(answers[1]), answers[2]) == (1, None)
        z.store.set_each((f"x/{number}", bytes([number])) for number in range(5))
        assert [bytes(z.store.get(f"x/{number}")) for number in range(5)] == [bytes([number]) for number in range(5)]
        assert pickle.loads(pickle.dumps(ZarrPythonStore(inner))).window is not None

    def test_the_first_error_ends_the_rest() -> None:
        inner = _Far()
        z = omnizarr.create_array(inner, data=np.ones(4000), chunks=2)
        inner.asked, inner.broken = 0, True
        with pytest.raises(StoreError, match="broken"):
            z[...]
        assert inner.asked < 1000

    def test_their_errors_become_ours() -> None:
        class Broken(zarr.storage.MemoryStore):
            async def get(self, *arguments: Any, **options: Any) -> Any:
                raise ConnectionError("the line is dead")

        with pytest.raises(StoreError, match="ConnectionError: the line is dead"):
            ZarrPythonStore(Broken()).get("a")
        with pytest.raises(StoreError, match="no store of zarr-python"):
            ZarrPythonStore({})

    # -- ours as theirs

    def _places(tmp_path: Path) -> list[Store]:
        return [
            MemoryStore(),
            LocalStore(tmp_path / "x.zarr"),
            ZipStore(tmp_path / "x.zip"),
            SQLiteStore(tmp_path / "x.sqlite"),
            SlowStore(MemoryStore(), latency=0),
        ]

    @pytest.mark.parametrize("number", range(5))
    @pytest.mark.parametrize("zarr_format", [2, 3])
    def test_zarr_python_on_our_stores(tmp_path: Path, number: int, zarr_format: Any) -> None:
        store = _places(tmp_path)[number]
        group = zarr.open_group(as_zarr_store(store), mode="w", zarr_format=zarr_format, attributes={"a": 1})
        shards = {"shards": (10, 10)} if zarr_format == 3 else {}
        theirs = group.create_array("deep/x", data=DATA, chunks=(5, 5), **shards)
        theirs[2:4] = 7
        expected = DATA.copy()
        expected[2:4] = 7
        assert np.array_equal(theirs[...], expected)
        assert np.array_equal(theirs[1:17:3, 4], expected[1:17:3, 4])
        assert np.array_equal(omnizarr.open_array(store, path="deep/x", mode="r")[...], expected)
        again = zarr.open_group(as_zarr_store(store, read_only=True), mode="r")
        assert [name for name, _ in again.members()] == ["deep"]
        assert sorted(name for name, _ in again.members(max_depth=None)) == ["deep", "deep/x"]
        assert again["deep/x"].nchunks_initialized == theirs.nchunks_initialized > 0
        zarr.consolidate_metadata(as_zarr_store(store), zarr_format=zarr_format)
        assert zarr.open_consolidated(as_zarr_store(store), zarr_format=zarr_format)["deep/x"].shape == (20, 30)
        del group["deep"]
        assert list(group) == []
        with pytest.raises(Exception, match="read"):
            zarr.create_group(as_zarr_store(store, read_only=True), path="new")

    @pytest.mark.filterwarnings("ignore:Duplicate name")
    def test_archives_of_zarr_python(tmp_path: Path) -> None:
        path = tmp_path / "theirs.zip"
        with zarr.storage.ZipStore(path, mode="w") as archive:
            group = zarr.create_group(archive)
            group.create_array("x", data=DATA, chunks=(5, 5))
            for number in range(3):
                group["x"].attrs["number"] = number  # each of which adds another zarr.json
        with pytest.warns(omnizarr.OmnizarrWarning, match="more than once"):
            z = omnizarr.open_array(f"{path}/x", mode="r")
        assert np.array_equal(z[...], DATA)
        assert z.attrs["number"] == 2
        with omnizarr.ZipStore(tmp_path / "ours.zip") as ours:
            omnizarr.create_array(ours, name="x", data=DATA, chunks=5, attributes={"a": 1})
        with zarr.storage.ZipStore(tmp_path / "ours.zip", mode="r") as archive:
            theirs = zarr.open_array(archive, path="x", mode="r")
            assert np.array_equal(theirs[...], DATA)
            assert theirs.attrs["a"] == 1

    def test_ours_by_address(tmp_path: Path) -> None:
        omnizarr.create_group(tmp_path / "x.zip").create_array("a/b", data=DATA).store.close()
        assert np.array_equal(zarr.open_array(as_zarr_store(f"{tmp_path}/x.zip"), path="a/b", mode="r")[...], DATA)
        assert np.array_equal(zarr.open_array(as_zarr_store(f"{tmp_path}/x.zip/a/b"), mode="r")[...], DATA)

    def test_ours_pickle_and_compare(tmp_path: Path) -> None:
        store = as_zarr_store(LocalStore(tmp_path))
        assert pickle.loads(pickle.dumps(store)) == store
        assert store != as_zarr_store(LocalStore(tmp_path / "other"))
        assert store.with_read_only(True).read_only
        assert str(tmp_path) in repr(store)
        with pytest.raises(ReadOnlyError):
            store.with_read_only(True).with_read_only(False)

    def test_their_batches_are_our_batches() -> None:
        inner = RecordingStore(SlowStore(MemoryStore(), latency=0))
        omnizarr.create_array(inner, data=DATA, chunks=5)
        inner.reset()
        assert np.array_equal(zarr.open_array(as_zarr_store(inner), mode="r")[...], DATA)
        assert set(inner.methods()) <= {"get", "get_partial_values", "get_each", "exists"}

    def test_there_and_back_again() -> None:
        store = MemoryStore()
        wrapped = ZarrPythonStore(as_zarr_store(store))
        omnizarr.create_array(wrapped, data=DATA)
        assert np.array_equal(omnizarr.open_array(store)[...], DATA)
        assert sys.version_info >= (3, 11)

"""Stores of zarr-python 3 used by omnizarr, and stores of omnizarr used by zarr-python 3.

zarr-python needs a newer Python than omnizarr, so the environment of the other tests does not have it. This file
therefore runs twice: one test starts pytest on it in the environment `together`, which has both libraries. The other
tests run only there.
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


@pytest.mark.skipif(TOGETHER, reason="this is the environment `together`")
def test_in_the_environment_with_both_libraries() -> None:
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

    # -- stores of zarr-python in omnizarr

    class TestZarrPythonMemoryStore(StoreSuite):
        pickled_is_equal = False

        def make_store(self, tmp_path: Path) -> ZarrPythonStore:
            return ZarrPythonStore(zarr.storage.MemoryStore())

    class TestZarrPythonLocalStore(StoreSuite):
        case_sensitive = False

        def make_store(self, tmp_path: Path) -> ZarrPythonStore:
            return ZarrPythonStore(zarr.storage.LocalStore(tmp_path / "x"))

        def test_threads_write_erase_and_list_concurrently(self, writable: Store) -> None:
            pytest.skip("zarr-python fails if one thread removes a folder while another writes to it")

        def test_threads_never_read_partly_written_values(self, writable: Store) -> None:
            pytest.skip("zarr-python fails if one thread removes a folder while another writes to it")

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
        read_session = repository.readonly_session("main")
        reopened = omnizarr.open_group(read_session.store)
        assert reopened.store.read_only
        expected = DATA.copy()
        expected[3, 5:9] = -1
        assert np.array_equal(reopened["a/b"][...], expected)  # type: ignore[index]
        assert np.array_equal(zarr.open_group(read_session.store, mode="r")["a/b"][...], expected)
        assert (reopened.attrs["title"], reopened["a/b"].attrs["units"]) == ("versioned", "K")
        assert list(reopened) == ["a"]
        with pytest.raises(ReadOnlyError):
            reopened.create_group("c")
        with pytest.raises(ReadOnlyError):
            omnizarr.open_array(read_session.store, path="a/b", mode="r+")

    def test_an_icechunk_array_written_by_zarr_python(repository: icechunk.Repository) -> None:
        session = _session(repository)
        theirs = zarr.create_array(session.store, name="x", data=DATA, chunks=(5, 5), shards=(10, 10))
        session.commit("written by zarr-python")
        z = omnizarr.open_array(repository.readonly_session("main").store, path="x", mode="r")
        assert np.array_equal(z[...], theirs[...])
        assert np.array_equal(z[3:17:4, ::7], DATA[3:17:4, ::7])

    def test_pickles_of_arrays_in_a_session_on_disk(tmp_path: Path) -> None:
        storage = icechunk.local_filesystem_storage(str(tmp_path / "repository"))
        session = _session(icechunk.Repository.create(storage))
        omnizarr.create_array(session.store, name="x", data=DATA)
        session.commit("one")
        read_session = icechunk.Repository.open(storage).readonly_session("main")
        z = omnizarr.open_array(read_session.store, path="x", mode="r")
        unpickled = pickle.loads(pickle.dumps(z))
        assert np.array_equal(unpickled[...], DATA)

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

    def test_zarr_python_stores_are_accepted_as_locations(tmp_path: Path) -> None:
        store = zarr.storage.MemoryStore()
        zarr.create_group(store).create_array("a/b", data=DATA)
        assert np.array_equal(omnizarr.open_array(store, path="a/b")[...], DATA)
        path = zarr.storage.StorePath(store, "a")
        assert np.array_equal(omnizarr.open_array(path, path="b")[...], DATA)
        assert list(omnizarr.open_group(path)) == ["b"]
        protected = zarr.storage.LocalStore(tmp_path, read_only=True)
        with pytest.raises(ReadOnlyError):
            omnizarr.create_group(protected)

    def test_ranges_beyond_the_end_of_a_value(repository: icechunk.Repository) -> None:
        store = ZarrPythonStore(_session(repository).store)
        omnizarr.create_array(store, name="x", data=np.arange(10, dtype="u1"), chunks=10, compressors=None)
        for part in ((0, 5), (3, None), (-4, None), (8, 100), (50, 5), (50, None), (-50, None), (2, 0), (0, 2**62)):
            start = part[0] if part[0] >= 0 else max(0, 10 + part[0])
            expected = bytes(range(10))[start:] if part[1] is None else bytes(range(10))[start : start + part[1]]
            assert bytes(store.get("x/c/0", part) or b"") == expected
            assert [bytes(value or b"") for value in store.get_partial_values([("x/c/0", part)])] == [expected]
            assert store.get("x/c/1", part) is None

    class _RemoteStore(zarr.storage.MemoryStore):
        """A store that omnizarr takes for a remote one. Reads of chunks wait until `together` of them run at once, and
        fail if `broken`."""

        together = 1
        broken = False
        reads = under_way = 0

        async def get(self, key: str, *arguments: Any, **named: Any) -> Any:
            if "c/" in key:
                self.reads += 1
                if self.broken:
                    raise OSError("broken")
                self.under_way += 1
                for _ in range(1000):
                    if self.under_way >= self.together:
                        self.together = 0
                        break
                    await asyncio.sleep(0.01)
                else:
                    raise OSError("timeout: too few concurrent reads")
            return await super().get(key, *arguments, **named)

    def test_chunks_of_a_remote_store_are_read_concurrently() -> None:
        inner = _RemoteStore()
        z = omnizarr.create_array(inner, data=np.ones(2**14), chunks=2**8)
        assert z.store.remote
        assert z.store.window is not None  # limits requests, and answers that wait to be decoded
        inner.together = 20
        assert z[...].all()
        answers = dict(z.store.get_each([("c/0", None), ("c/1", (0, 1)), ("c/x", None)]))
        assert (len(answers[1]), answers[2]) == (1, None)
        z.store.set_each((f"x/{number}", bytes([number])) for number in range(5))
        assert [bytes(z.store.get(f"x/{number}")) for number in range(5)] == [bytes([number]) for number in range(5)]
        assert pickle.loads(pickle.dumps(ZarrPythonStore(inner))).window is not None

    def test_the_first_error_cancels_other_requests() -> None:
        inner = _RemoteStore()
        z = omnizarr.create_array(inner, data=np.ones(4000), chunks=2)
        inner.reads, inner.broken = 0, True
        with pytest.raises(StoreError, match="broken"):
            z[...]
        assert inner.reads < 1000

    def test_errors_of_zarr_python_become_store_errors() -> None:
        class Broken(zarr.storage.MemoryStore):
            async def get(self, *arguments: Any, **options: Any) -> Any:
                raise ConnectionError("connection lost")

        with pytest.raises(StoreError, match="ConnectionError: connection lost"):
            ZarrPythonStore(Broken()).get("a")
        with pytest.raises(StoreError, match="expected a store of zarr-python 3"):
            ZarrPythonStore({})

    # -- stores of omnizarr in zarr-python

    def _stores(tmp_path: Path) -> list[Store]:
        return [
            MemoryStore(),
            LocalStore(tmp_path / "x.zarr"),
            ZipStore(tmp_path / "x.zip"),
            SQLiteStore(tmp_path / "x.sqlite"),
            SlowStore(MemoryStore(), latency=0),
        ]

    @pytest.mark.parametrize("number", range(5))
    @pytest.mark.parametrize("zarr_format", [2, 3])
    def test_zarr_python_on_stores_of_omnizarr(tmp_path: Path, number: int, zarr_format: Any) -> None:
        store = _stores(tmp_path)[number]
        group = zarr.open_group(as_zarr_store(store), mode="w", zarr_format=zarr_format, attributes={"a": 1})
        shards = {"shards": (10, 10)} if zarr_format == 3 else {}
        theirs = group.create_array("deep/x", data=DATA, chunks=(5, 5), **shards)
        theirs[2:4] = 7
        expected = DATA.copy()
        expected[2:4] = 7
        assert np.array_equal(theirs[...], expected)
        assert np.array_equal(theirs[1:17:3, 4], expected[1:17:3, 4])
        assert np.array_equal(omnizarr.open_array(store, path="deep/x", mode="r")[...], expected)
        reopened = zarr.open_group(as_zarr_store(store, read_only=True), mode="r")
        assert [name for name, _ in reopened.members()] == ["deep"]
        assert sorted(name for name, _ in reopened.members(max_depth=None)) == ["deep", "deep/x"]
        assert reopened["deep/x"].nchunks_initialized == theirs.nchunks_initialized > 0
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
                group["x"].attrs["number"] = number  # each adds another zarr.json
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

    def test_stores_by_address(tmp_path: Path) -> None:
        omnizarr.create_group(tmp_path / "x.zip").create_array("a/b", data=DATA).store.close()
        assert np.array_equal(zarr.open_array(as_zarr_store(f"{tmp_path}/x.zip"), path="a/b", mode="r")[...], DATA)
        assert np.array_equal(zarr.open_array(as_zarr_store(f"{tmp_path}/x.zip/a/b"), mode="r")[...], DATA)

    def test_pickle_equality_and_repr(tmp_path: Path) -> None:
        store = as_zarr_store(LocalStore(tmp_path))
        assert pickle.loads(pickle.dumps(store)) == store
        assert store != as_zarr_store(LocalStore(tmp_path / "other"))
        assert store.with_read_only(True).read_only
        assert str(tmp_path) in repr(store)
        with pytest.raises(ReadOnlyError):
            store.with_read_only(True).with_read_only(False)

    def test_zarr_python_batches_become_batches_of_the_store() -> None:
        inner = RecordingStore(SlowStore(MemoryStore(), latency=0))
        omnizarr.create_array(inner, data=DATA, chunks=5)
        inner.reset()
        assert np.array_equal(zarr.open_array(as_zarr_store(inner), mode="r")[...], DATA)
        assert set(inner.methods()) <= {"get", "get_partial_values", "get_each", "exists"}

    def test_a_wrapped_store_can_be_wrapped_again() -> None:
        store = MemoryStore()
        wrapped = ZarrPythonStore(as_zarr_store(store))
        omnizarr.create_array(wrapped, data=DATA)
        assert np.array_equal(omnizarr.open_array(store)[...], DATA)
        assert sys.version_info >= (3, 11)

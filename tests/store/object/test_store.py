"""ObjectStore: the store suite on S3, Azure, a web server and obstore's memory; URLs, options and requests."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from obstore.store import LocalStore as ObstoreLocal
from obstore.store import MemoryStore as ObstoreMemory
from tests.servers.running import RunningServer

import omnizarr
from omnizarr.errors import ArgumentError, LocationError, StoreError
from omnizarr.store import ObjectStore, Store
from omnizarr.testing import RecordingStore, StoreSuite

_NUMBERS = count()


class TestS3(StoreSuite):
    threads = 2

    @pytest.fixture(autouse=True)
    def _start(self, s3: RunningServer) -> None:
        self.server = s3

    def make_store(self, tmp_path: Path) -> Store:
        return ObjectStore.from_url(self.server.new(), **self.server.options)


class TestAzure(StoreSuite):
    threads = 2

    @pytest.fixture(autouse=True)
    def _start(self, azure: RunningServer) -> None:
        self.server = azure

    def make_store(self, tmp_path: Path) -> Store:
        return ObjectStore.from_url(self.server.new(), **self.server.options)


class TestWeb(StoreSuite):
    """A server that can neither be written to nor listed."""

    @pytest.fixture(autouse=True)
    def _start(self, web: RunningServer, files: Path) -> None:
        self.server, self.files = web, files

    def make_store(self, tmp_path: Path) -> Store:
        self.folder = f"suite-{next(_NUMBERS)}"
        return ObjectStore.from_url(f"{self.server.url}/{self.folder}")

    def fill(self, store: Store, contents: Mapping[str, bytes]) -> Store:
        root = self.files / self.folder
        shutil.rmtree(root, ignore_errors=True)
        for key, value in contents.items():
            (root / key).parent.mkdir(parents=True, exist_ok=True)
            (root / key).write_bytes(value)
        return store


class TestObstoreMemory(StoreSuite):
    shared_by_processes = False

    def make_store(self, tmp_path: Path) -> Store:
        return ObjectStore(ObstoreMemory(), prefix="a/b")

    def test_it_pickles(self, store: Store) -> None:
        pytest.skip("obstore's memory store cannot be pickled")


def test_obstore_objects_are_accepted_as_locations(tmp_path: Path) -> None:
    client = ObstoreMemory()
    z = omnizarr.create_array(client, name="a/z", data=range(10))  # type: ignore[arg-type]
    assert isinstance(z.store, ObjectStore)
    assert (omnizarr.open(client, path="a/z")[...] == range(10)).all()  # type: ignore[index, arg-type]
    z = omnizarr.create_array(ObstoreLocal(str(tmp_path)), data=range(10))  # type: ignore[arg-type]
    assert isinstance(z.store, omnizarr.LocalStore)
    assert (tmp_path / "zarr.json").exists()


def test_a_web_server_can_neither_be_listed_nor_written(web: RunningServer) -> None:
    store = ObjectStore.from_url(f"{web.url}/x")
    assert not store.listable
    assert store.read_only
    with pytest.raises(StoreError, match="cannot be listed"):
        store.list()
    with pytest.raises(PermissionError):
        store.set("a", b"")


@pytest.mark.parametrize("url", ["s3://my bucket/x", "s3://bücket/x", "gs://a^b", "az://a\nb", "http://[::1/x"])
def test_invalid_urls_are_rejected(url: str) -> None:
    with pytest.raises(LocationError):
        ObjectStore.from_url(url)


@pytest.mark.parametrize("endpoint", ["localhost:9000", "http://my server", "http://", "ftp://x", "http://h/a b"])
def test_invalid_endpoints_are_rejected(endpoint: str) -> None:
    for scheme in ("s3", "gs", "az"):
        with pytest.raises(LocationError, match="`endpoint`"):
            ObjectStore.from_url(f"{scheme}://bucket", endpoint=endpoint)


class PanicException(BaseException):
    """An exception with the name of the one that obstore raises when its Rust code panics."""


class _Panicking:
    def _panic(self, *_: object, **__: object) -> None:
        raise PanicException("InvalidUriChar")

    get = head = put = delete = list = list_with_delimiter = _panic


def test_panics_become_store_errors() -> None:
    store = ObjectStore(_Panicking())
    for operation in (
        lambda: store.get("a"),
        lambda: store.size("a"),
        lambda: store.set("a", b""),
        lambda: store.erase("a"),
        lambda: store.erase_values(["a", "b"]),
        lambda: store.list_dir(""),
        lambda: list(store.list()),
        lambda: store.get_partial_values([("a", None), ("b", None)]),
    ):
        with pytest.raises(StoreError, match="InvalidUriChar"):
            operation()


def test_suffix_ranges_take_one_request_if_the_server_supports_them(s3: RunningServer, azure: RunningServer) -> None:
    for server, supported in ((s3, True), (azure, False)):
        store = ObjectStore.from_url(server.new(), **server.options)
        store.set("k", b"0123456789")
        assert bytes(store.get("k", (-3, None)) or b"") == b"789"
        assert store._reader.suffixes is supported


def test_versioned_reads_detect_every_change(s3: RunningServer, azure: RunningServer) -> None:
    for server in (s3, azure):
        store = ObjectStore.from_url(server.new(), **server.options)
        store.set("k", b"0123456789")
        first = store.versioned_reads.get("k", (0, 4))
        assert first is not None
        assert first.size == 10
        assert bytes(store.versioned_reads.get("k", (4, 4), first.version).data) == b"4567"  # type: ignore[union-attr, arg-type]
        store.set("k", b"9876543210")
        for part in ((4, 4), (-2, None), None, (0, 0), (100, 4), (100, None)):
            changed = store.versioned_reads.get("k", part, first.version)
            assert changed is not None
            assert changed.data is None
        store.erase("k")
        erased = store.versioned_reads.get("k", (4, 4), first.version)
        assert erased is None or erased.data is None  # Azure checks the condition first


def test_arrays_by_bucket_url(s3: RunningServer, azure: RunningServer) -> None:
    for server in (s3, azure):
        url = server.new()
        z = omnizarr.create_array(f"{url}/a/b.zarr", data=range(100), chunks=10, storage_options=server.options)
        assert z.store.location == f"{url}/a/b.zarr"
        assert (omnizarr.open(url, path="a/b.zarr", mode="r", storage_options=server.options)[...] == range(100)).all()
        group = omnizarr.open(f"{url}/a", mode="a", storage_options=server.options)
        assert sorted(group.keys()) == ["b.zarr"]  # type: ignore[union-attr]


def test_arrays_by_web_address(web: RunningServer, files: Path) -> None:
    z = omnizarr.create_array(files / "a b.zarr", data=range(100), chunks=10, shards=50)
    opened = omnizarr.open(f"{web.url}/a%20b.zarr")
    assert (opened[...] == z[...]).all()  # type: ignore[index]
    assert opened.store.location == f"{web.url}/a b.zarr"
    with pytest.raises(omnizarr.errors.NodeNotFoundError):
        omnizarr.open(f"{web.url}/nothing")


@pytest.mark.parametrize(
    ("url", "options", "message"),
    [
        ("s3://", {}, "name of a bucket"),
        ("s3://bucket", {"regoin": "x"}, "regoin"),
        ("s3://bucket", {"timeout": "soon"}, "number of seconds"),
        ("s3://bucket", {"max_retries": -1}, "at least 0"),
        ("s3://bucket", {"max_concurrency": 0}, "at least 1"),
        ("http://example.org/x?sig=secret", {}, "query"),
        ("az://box", {"access_key_id": "x"}, "access_key_id"),
    ],
)
def test_invalid_urls_and_options_are_rejected_when_opening(url: str, options: dict[str, object], message: str) -> None:
    with pytest.raises((LocationError, ArgumentError), match=message):
        omnizarr.open(url, storage_options=options)


def test_few_requests(s3: RunningServer) -> None:
    """The maximum number of requests to create, open, read, write and describe an array."""
    store = RecordingStore(ObjectStore.from_url(s3.new(), **s3.options))
    group = omnizarr.create_group(store)
    store.reset()
    z = group.create_array("z", shape=(64, 64), dtype="i4", chunks=(16, 16), shards=(32, 32))
    assert store.methods() == ["get_partial_values", "updates.write"]
    assert store.requests == 2
    z[...] = 7
    store.reset()
    z = omnizarr.open_array(store, path="z", mode="r+", zarr_format=3)
    assert store.requests == 1
    store.reset()
    assert z[3, 4] == 7
    assert store.methods() == ["versioned_reads.get", "versioned_reads.get"]  # the shard index and the inner chunk
    store.reset()
    assert z[20, 4] == 7
    assert store.methods() == ["versioned_reads.get"]
    store.reset()
    z[:32, :32] = 8
    assert [method for method in store.methods() if method != "lock"] == ["set"]
    store.reset()
    z.attrs.update(a=1, b=2)
    assert store.methods() == ["updates.write"]
    store.reset()
    z.attrs.update(a=2)
    assert store.methods() == ["updates.write"]
    other = omnizarr.open_array(store, path="z", mode="r+", zarr_format=3)
    other.attrs["c"] = 3
    store.reset()
    z.attrs["d"] = 4
    reopened = omnizarr.open_array(store, path="z", mode="r", zarr_format=3)
    assert reopened.attrs.asdict() == {"a": 2, "b": 2, "c": 3, "d": 4}


def test_attribute_updates_of_two_handles_are_kept(s3: RunningServer) -> None:
    """Both handles have cached different versions of the document."""
    url = s3.new()
    z = omnizarr.create_array(url, data=[1], storage_options=s3.options)
    other = omnizarr.open_array(url, mode="r+", storage_options=s3.options)
    other.attrs["a"] = 1
    z.attrs["b"] = 2
    other.attrs["a"] = 1
    del z.attrs["a"]
    assert omnizarr.open_array(url, mode="r", storage_options=s3.options).attrs.asdict() == {"b": 2}


class _Obspec:
    """A client with only the methods of the obspec protocols."""

    def __init__(self) -> None:
        self._inner = ObstoreMemory()

    def get(self, path: str, *, options: Any = None) -> Any:
        return self._inner.get(path, options=options)

    def head(self, path: str) -> Any:
        return self._inner.head(path)

    def put(self, path: str, file: Any, **options: Any) -> Any:
        return self._inner.put(path, file, **options)

    def delete(self, paths: Any) -> None:
        self._inner.delete(paths)

    def list(self, prefix: str | None = None, *, chunk_size: int = 50) -> Any:
        return self._inner.list(prefix, chunk_size=chunk_size)

    def list_with_delimiter(self, prefix: str | None = None) -> Any:
        return self._inner.list_with_delimiter(prefix)


def test_objects_with_the_methods_of_obspec_are_accepted_as_locations() -> None:
    client = _Obspec()
    group = omnizarr.create_group(client)
    group.create_array("a", data=range(100), chunks=5, shards=50)
    opened = omnizarr.open(client, mode="r+")
    assert (opened["a"][3::7] == range(3, 100, 7)).all()  # type: ignore[index]
    opened.attrs["b"] = 1
    assert list(opened.keys()) == ["a"]  # type: ignore[union-attr]
    assert ObjectStore(client) == ObjectStore(client)
    assert ObjectStore(client) != ObjectStore(_Obspec())

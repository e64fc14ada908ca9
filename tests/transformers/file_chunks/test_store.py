"""Chunks in other files: which files may be read, precedence of stored chunks, erasing, and all verbs of a store."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import omnizarr
from omnizarr.chunk_keys import DefaultKeys
from omnizarr.errors import ArgumentError, MetadataError, StoreError
from omnizarr.store import LocalStore, MemoryStore, Store
from omnizarr.testing import RecordingStore, StoreSuite
from omnizarr.transformers import AllowFiles, ArrayPlace, FileChunks, MemoryCache, wrap_all
from omnizarr.transformers.file_chunks import FileChunkStore, Manifest, parse_manifest

FORMATS: list[Any] = [3, "3-draft-2022"]
PLACE = ArrayPlace("a/b/", (20, 20), (10, 10), DefaultKeys())


class WithManifest(FileChunkStore):
    """A manifest that is no key of the store, because the suite expects an empty store."""

    entries: ClassVar[dict[str, Any]] = {"0.0": {"path": "gone.bin", "offset": 0, "length": 5}}

    def _load(self) -> Manifest:
        return parse_manifest(json.dumps(self.entries).encode(), 2, DefaultKeys(), "manifest", 1000)

    def _listed(self, prefix: str) -> Iterator[str]:
        self.manifest_key = next(iter(self.inner.list()), "none")  # a key that exists, as that of the manifest would
        return super()._listed(prefix)


class TestStoreInMemory(StoreSuite):
    """The suite uses a chunk of the manifest, which is erased at first."""

    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> Store:
        store = WithManifest(MemoryStore(), PLACE, "manifest.json")
        store.erase("a/b/c/0/0")
        return store


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A file with a header and 40 numbers."""
    path = tmp_path / "raw" / "model.bin"
    path.parent.mkdir()
    path.write_bytes(b"header!!" + np.arange(40, dtype="<i4").tobytes())
    return path


def create(store: Any, raw: Path | str, *, chunks: int = 3, **options: Any) -> omnizarr.Array:
    """An array of four chunks, the first three of which are parts of the file."""
    given = {"storage_transformers": [FileChunks()], **options}
    z = omnizarr.create_array(store, shape=40, chunks=10, dtype="<i4", compressors=None, fill_value=-1, **given)
    omnizarr.write_chunk_manifest(z, {(n,): (os.fspath(raw), 8 + 40 * n, 40) for n in range(chunks)})
    return z


def open_(store: Any, *allowed: Path | str, **options: Any) -> omnizarr.Array:
    return omnizarr.open_array(store, storage_transformers=[AllowFiles(allowed)], **options)


EXPECTED = [*range(30), *[-1] * 10]


@pytest.mark.smoke
@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("kind", ["files", "memory"])
def test_Z21_chunks_are_parts_of_files(zarr_format: Any, kind: str, raw: Path, tmp_path: Path) -> None:
    store = MemoryStore() if kind == "memory" else LocalStore(tmp_path / "a.zarr")
    create(store, raw, name="g/a", zarr_format=zarr_format)
    z = open_(store, raw.parent, path="g/a")
    assert z[:].tolist() == EXPECTED
    assert z[5:25:7].tolist() == [5, 12, 19]
    assert z[12] == 12
    assert z.nchunks_initialized == 3
    assert z.metadata.storage_transformers == (FileChunks(),)
    group = omnizarr.open_group(store, path="g", storage_transformers=[AllowFiles([raw])])
    assert group["a"][:].tolist() == EXPECTED
    assert pickle.loads(pickle.dumps(z))[:].tolist() == EXPECTED if kind == "files" else True


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_Z22_stored_chunks_take_precedence(zarr_format: Any, raw: Path) -> None:
    store = MemoryStore()
    create(store, raw, zarr_format=zarr_format)
    before = raw.read_bytes()
    z = open_(store, raw.parent)
    z[3] = 100  # a part of a chunk: the rest comes from the file
    z[20:30] = 7
    z[35] = 8
    expected = [*EXPECTED]
    expected[3], expected[20:30], expected[35] = 100, [7] * 10, 8
    assert z[:].tolist() == expected
    assert open_(store, raw.parent)[:].tolist() == expected
    assert z.nchunks_initialized == 4
    assert raw.read_bytes() == before


@pytest.mark.parametrize("kind", ["files", "memory"])
def test_Z23_erasing_hides_an_entry(kind: str, raw: Path, tmp_path: Path) -> None:
    store = MemoryStore() if kind == "memory" else LocalStore(tmp_path / "a.zarr")
    create(store, raw)
    z = open_(store, raw.parent)
    z[10:20] = -1  # the fill value: the chunk is erased
    expected = [*range(10), *[-1] * 10, *range(20, 30), *[-1] * 10]
    assert z[:].tolist() == open_(store, raw.parent)[:].tolist() == expected
    assert store.get("c/1") == b""
    assert z.nchunks_initialized == 2
    z[12] = 5
    expected[12] = 5
    assert open_(store, raw.parent)[:].tolist() == expected
    z.resize(5)
    z.resize(40)
    assert z[:].tolist() == [*range(5), *[-1] * 35]
    assert z.nchunks_initialized == 1


def test_only_allowed_files_are_read(raw: Path, tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "a.zarr")
    for path in (
        raw,
        raw.as_uri(),
        "../raw/model.bin",
        "s3://bucket/x",
        "/etc/passwd",
        f"{raw.parent}/../raw/model.bin",
    ):
        z = create(store, path, overwrite=True)
        for allowed in ((), (tmp_path / "ra",), ("s3://other",)):
            with pytest.raises(StoreError, match="neither in its folder nor in an allowed location"):
                open_(store, *allowed)[:]
        with pytest.raises(StoreError, match="AllowFiles"):
            z[:]
    for path in (raw, raw.as_uri()):
        create(store, path, overwrite=True)
        for folder in (raw, raw.parent, raw.parent.as_uri(), tmp_path):
            assert open_(store, folder)[:].tolist() == EXPECTED
    create(store, "./part.bin", overwrite=True)
    store.set("part.bin", raw.read_bytes())
    assert omnizarr.open_array(store)[:].tolist() == EXPECTED, "a file in the folder of the array"
    link = tmp_path / "a.zarr" / "link.bin"
    link.symlink_to(raw)
    omnizarr.write_chunk_manifest(omnizarr.open_array(store), {(0,): ("link.bin", 8, 40)})
    with pytest.raises(StoreError):
        omnizarr.open_array(store)[:10]


def test_files_that_changed_are_an_error(raw: Path) -> None:
    store = MemoryStore()
    create(store, raw)
    raw.write_bytes(raw.read_bytes()[:100])
    z = open_(store, raw.parent)
    assert z[:20].tolist() == EXPECTED[:20]
    with pytest.raises(StoreError, match=r"`c/2`.*which is too short"):
        z[20:]
    with pytest.raises(StoreError, match="which is too short"):
        z[:]
    raw.unlink()
    with pytest.raises(StoreError, match="which does not exist"):
        z[:20]


def test_hostile_manifests_are_an_error_of_ours(raw: Path) -> None:
    store = MemoryStore()
    z = create(store, raw)
    for data in (b"", b"{", b"[]", b'{"x": 1}', b"\xff", b'{"0": {"path": "../../etc", "offset": 0, "length": 1}}'):
        store.set("manifest.json", data)
        with pytest.raises((MetadataError, StoreError)):
            open_(store, raw.parent)[:]
    store.erase("manifest.json")
    with pytest.raises(StoreError, match=r"the chunk manifest `manifest\.json`.*does not exist"):
        open_(store, raw.parent)[:]
    document = bytes(store.get("zarr.json") or b"")
    for path in (b"../manifest.json", b"/etc/passwd", b"s3://bucket/m.json", b"", b"c/0"):
        store.set("zarr.json", document.replace(b"./manifest.json", path))
        with pytest.raises((MetadataError, ArgumentError)):
            omnizarr.open_array(store)
    with pytest.raises(ArgumentError, match="a path in the array's folder"):
        FileChunks("../x")
    with pytest.raises(ArgumentError, match="expected a list"):
        AllowFiles("/data")
    plain = omnizarr.create_array(MemoryStore(), shape=4, dtype="i4")
    with pytest.raises(ArgumentError, match="has no chunk manifest"):
        omnizarr.write_chunk_manifest(plain, {})
    assert z.ndim == 1


def test_a_document_cannot_allow_files(raw: Path) -> None:
    with pytest.raises((MetadataError, ArgumentError)):
        create(MemoryStore(), raw, storage_transformers=[FileChunks(), AllowFiles([raw])])


def test_chunks_are_read_in_parts(raw: Path) -> None:
    """Only the bytes that are needed are read from a file."""
    inner = RecordingStore(MemoryStore())
    data = np.arange(1 << 16, dtype="<i4")
    inner.set("a/file.bin", data.tobytes())
    place = ArrayPlace("a/", data.shape, data.shape, DefaultKeys())
    inner.set("a/manifest.json", json.dumps({"0": {"path": "file.bin", "offset": 4, "length": 1 << 18}}).encode())
    store = wrap_all(inner, [FileChunks()], place)
    assert store.size("a/c/0") == 1 << 18
    inner.reset()
    assert store.get("a/c/0", (400, 8)) == data[101:103].tobytes()
    assert [call.range for call in inner.of("get") if call.key == "a/file.bin"] == [(404, 8)]
    with pytest.raises(StoreError, match="too short"):
        store.get("a/c/0", (-4, None))
    values = dict(store.get_each([("a/c/0", (0, 4)), ("a/c/1", None), ("a/manifest.json", (0, 1)), ("a/c/0", (4, 4))]))
    assert {index: None if value is None else bytes(value) for index, value in values.items()} == {
        0: data[1:2].tobytes(),
        1: None,
        2: b"{",
        3: data[2:3].tobytes(),
    }


def test_large_slices_use_parts_of_files(tmp_path: Path) -> None:
    data = np.arange(1 << 20, dtype="<i8")
    (tmp_path / "big.bin").write_bytes(data.tobytes())
    store = LocalStore(tmp_path / "a.zarr")
    z = omnizarr.create_array(
        store, shape=data.shape, chunks=data.shape, dtype="<i8", compressors=None, storage_transformers=[FileChunks()]
    )
    omnizarr.write_chunk_manifest(z, {(0,): (os.fspath(tmp_path / "big.bin"), 0, data.nbytes)})
    z = open_(store, tmp_path, cache="64 MiB")
    for key in (slice(5, 9), slice(1000, 900_000, 3), slice(None)):
        assert (z[key] == data[key]).all()
    z[77] = 0
    data[77] = 0
    assert (z[:] == data).all()


def test_updates_start_from_the_file(raw: Path) -> None:
    inner = MemoryStore()
    create(inner, raw)
    store = open_(inner, raw.parent)._layout.store
    updates = store.updates
    assert updates is not None
    value, version = updates.read("c/0") or (None, None)
    assert bytes(value or b"") == raw.read_bytes()[8:48]
    assert updates.read("c/0", 10) is None
    assert not updates.write("c/0", b"x" * 40, None)
    assert not updates.write("c/0", b"x" * 40, "another version")
    assert updates.write("c/0", b"x" * 40, version)
    assert not updates.write("c/0", b"y" * 40, version)
    assert store.get("c/0") == b"x" * 40
    _, version = updates.read("c/1") or (None, None)
    assert updates.erase("c/1", version)
    assert updates.read("c/1") == (None, None)
    assert store.get("c/1") is None
    assert not store.exists("c/1")
    assert updates.erase("c/1", None)
    assert updates.write("c/1", b"z", None)
    assert not updates.write("c/1", b"w", None)
    with pytest.raises(StoreError, match="empty value"):
        store.set("c/2", b"")
    store.set("c/3", b"")
    assert store.get("c/3") == b"", "only entries of the manifest are hidden by empty values"


def test_a_cache_above_and_a_second_manifest(raw: Path) -> None:
    store = MemoryStore()
    z = create(store, raw)
    cached = omnizarr.open_array(store, storage_transformers=[MemoryCache(), AllowFiles([raw])])
    assert cached[:].tolist() == cached[:].tolist() == EXPECTED
    omnizarr.write_chunk_manifest(z, {(3,): (os.fspath(raw), 8, 40)})
    assert open_(store, raw)[:].tolist() == [*[-1] * 30, *range(10)]

"""One target per parser: a function that takes any bytes and may raise only OmnizarrError; and valid bytes as seeds."""

from __future__ import annotations

import atexit
import io
import json
import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import omnizarr
from omnizarr._json import Problems
from omnizarr.codecs import ArrayCodec, Bytes, Chain, Codec, Crc32c, Serializer, Sharding, codecs
from omnizarr.codecs.contract import ChunkSpec
from omnizarr.errors import OmnizarrError
from omnizarr.nodes.versioned_array import VersionedArray
from omnizarr.store import MemoryStore
from omnizarr.transformers import ContentAddressed, FileChunks, Versions
from tests.fuzz.chains import check_random_chain
from tests.fuzz.conversions import check_random_case
from tests.testing.test_codec_suite import samples

__all__ = ["TARGETS", "Target", "survives"]


class Target(NamedTuple):
    """A function that reads bytes, and bytes that it can read."""

    read: Callable[[bytes], object]
    seeds: list[bytes]


def survives(target: Target, data: bytes) -> None:
    """Has a target read some bytes; lets foreign errors through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            target.read(data)
        except OmnizarrError:
            pass


# -- documents


def _hierarchy(zarr_format: Any) -> dict[str, bytes]:
    values: dict[str, bytes] = {}
    store = MemoryStore(values)
    options: dict[str, Any] = {"chunks": (2, 2), "attributes": {"a": [1, None]}, "zarr_format": zarr_format}
    if zarr_format == 1:
        omnizarr.create_array(store, data=np.ones((3, 4), "f4"), **options)
        return values
    root = omnizarr.create_group(store, zarr_format=zarr_format, attributes={"r": 1})
    root.create_array("a", data=np.ones((3, 4), "f4"), **{**options, "zarr_format": zarr_format})
    if zarr_format in (2, 3):
        omnizarr.consolidate_metadata(store)
    return values


def _is_document(key: str) -> bool:
    return key.endswith(("json", ".zarray", ".zattrs", ".zgroup", ".zmetadata", "meta", "attrs"))


def _reading_document(values: dict[str, bytes], key: str) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        node = omnizarr.open(MemoryStore({**values, key: data}), mode="r")
        for found in (node, *(member for _, member in node.members())) if isinstance(node, omnizarr.Group) else (node,):
            if isinstance(found, omnizarr.Array):
                repr(found), found.attrs.asdict(), found.info
                if found.size < 1000:
                    found[...]

    return read


def _documents() -> dict[str, Target]:
    found = {}
    for zarr_format in (1, 2, "3-draft-2020", "3-draft-2022", 3, "n5"):
        values = _hierarchy(zarr_format)
        for key in filter(_is_document, values):
            found[f"document {zarr_format} {key}"] = Target(_reading_document(values, key), [values[key]])
    return found


# -- files that the kernel reads


def _reading_file(codec: dict[str, Any] | None, shards: tuple[int, int] | None) -> Target:
    folder = Path(tempfile.mkdtemp(prefix="omnizarr-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    a = np.arange(1024, dtype="<u4").reshape(32, 32) % 97
    z = omnizarr.create_array(folder, data=a, chunks=(16, 16), shards=shards, compressors=codec)
    file = folder / "c" / "0" / "0"
    seed = file.read_bytes()

    def read(data: bytes) -> None:
        """The Python path is the reference: the kernel must give the same result or error."""
        file.write_bytes(data)
        outcomes: list[Any] = []
        for native in (1, 0):
            with omnizarr.config(native=native):
                try:
                    outcomes.append([z[...].tolist(), z[3:20, 5:7].tolist(), z[4, 5].item()])
                except OmnizarrError as error:
                    outcomes.append((type(error), getattr(error, "chunk", None)))
        assert outcomes[0] == outcomes[1], [str(outcome)[:300] for outcome in outcomes]

    return Target(read, [seed])


def _files() -> dict[str, Target]:
    blosc = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle"}}
    chains: dict[str, Any] = {"raw": None, "blosc": blosc, "zstd": "zstd", "gzip": "gzip"}
    return {
        f"file {name}{' in a shard' if shards else ''}": _reading_file(codec, shards)
        for name, codec in chains.items()
        for shards in (None, (32, 32))
    }


# -- chunks


def _reading_chunk(spec: ChunkSpec, codec: Codec) -> Target | None:
    chain_codecs: list[Codec] = [codec]
    if not isinstance(codec, Serializer):
        chain_codecs.insert(1 if isinstance(codec, ArrayCodec) else 0, Bytes("little"))
    problems = Problems()
    chain = Chain.bind(chain_codecs, spec, "$", problems)
    if chain is None or problems:
        return None
    array = np.arange(int(np.prod(spec.shape))).reshape(spec.shape).astype(spec.dtype)
    try:
        seed = bytes(chain.encode(array))
    except OmnizarrError:
        return None
    return Target(lambda data: chain.decode(data), [seed])


def _codecs() -> dict[str, Target]:
    found: dict[str, Target] = {}
    for name in codecs.names():
        for codec in samples(name):
            for dtype, shape in (("<i4", (6, 10)), ("<f8", (30,)), ("|u1", (60,)), ("|b1", (64,))):
                spec = ChunkSpec(shape, np.dtype(dtype), np.zeros((), dtype))
                target = _reading_chunk(spec, codec)
                if target is not None and f"codec {name}" not in found:
                    found[f"codec {name}"] = target
    for name, value in (("vlen-utf8", ["a", "bcd", ""]), ("vlen-bytes", [b"a", b"bcd", b""])):
        z = omnizarr.create_array(None, shape=3, dtype="string" if name == "vlen-utf8" else "bytes", compressors=None)
        z[...] = value

        def read(data: bytes, z: omnizarr.Array = z) -> None:
            z.store.set("c/0", data)
            z[...]

        found[f"codec {name}"] = Target(read, [bytes(z.store.get("c/0") or b"")])
    return found


def _n5_blocks() -> dict[str, Target]:
    found = {}
    for name in (None, "gzip", "zlib", "bz2", "lzma", "lz4", "blosc", "zstd"):
        store = MemoryStore()
        z = omnizarr.create_array(
            store, data=np.arange(60, dtype="u2").reshape(6, 10), chunks=(4, 7), compressors=name, zarr_format="n5"
        )

        def read(data: bytes, z: omnizarr.Array = z, store: MemoryStore = store) -> None:
            store.set("0/0", data)
            z[...]

        seeds = [bytes(store.get("0/0") or b"")]
        if name is None:
            seeds += [b"\0\0\0\2\0\0\0\1\0\0\0\2abcd", b"\0\1\0\2\0\0\0\1\0\0\0\2\0\0\0\2abcd"]
        found[f"N5 block, {name}"] = Target(read, seeds)
    return found


def _shards() -> dict[str, Target]:
    found = {}
    for place, checksum in (("end", True), ("end", False), ("start", False)):
        index = (Bytes("little"), Crc32c()) if checksum else (Bytes("little"),)
        store = MemoryStore()
        z = omnizarr.create_array(
            store,
            data=np.arange(64, dtype="u1").reshape(8, 8),
            chunks=(8, 8),
            serializer=Sharding((2, 4), (Bytes("little"),), index, place),  # type: ignore[arg-type]
            compressors=None,
        )

        def read(data: bytes, z: omnizarr.Array = z, store: MemoryStore = store) -> None:
            store.set("c/0/0", data)
            for key in (np.s_[1, 2], ..., np.s_[::3, 5:]):
                try:
                    z[key]
                except OmnizarrError:
                    pass
            z[2, 2] = 1

        found[f"shard, index at the {place}{', checked' if checksum else ''}"] = Target(
            read, [bytes(store.get("c/0/0") or b"")]
        )
    return found


def _content() -> dict[str, Target]:
    """The pointers of a content-addressed array, and the marks of its condemned objects."""
    store = MemoryStore()
    transformers = [ContentAddressed()]
    z = omnizarr.create_array(store, data=np.arange(8), chunks=4, compressors=None, storage_transformers=transformers)
    pointer = bytes(store.get("c/0") or b"")
    z[4:] = 1
    omnizarr.collect_garbage(z)
    key = next(store.list_prefix("content/condemned/"))
    usual = f"content/{pointer[7:10].decode()}/{pointer[10:71].decode()}"
    store.set(f"{usual}.{'0' * 16}", bytes(store.get(usual) or b""))

    def read_pointer(data: bytes) -> None:
        store.set("c/0", data)
        for index in (0, ..., slice(1, 3)):
            try:
                z[index]
            except OmnizarrError:
                pass
        z[1] = 1

    def read_mark(data: bytes) -> None:
        store.set("c/0", pointer)
        store.set(key, data)
        omnizarr.collect_garbage(z)

    return {
        "pointer": Target(read_pointer, [pointer, pointer + b" " + b"0" * 16]),
        "mark": Target(read_mark, [bytes(store.get(key) or b"")]),
    }


def _versions() -> dict[str, Target]:
    """The records of a versioned array."""
    store = MemoryStore()
    z = omnizarr.create_array(store, data=np.arange(8), chunks=2, storage_transformers=[Versions()])
    assert isinstance(z, VersionedArray)
    z[:3] = 1
    z.commit("second")
    keys = sorted(store.list_prefix("__versions__/"))
    stored = {key: bytes(store.get(key) or b"") for key in keys}
    found = {}
    for kind in ("head", "commits", "pages"):
        key = next(key for key in keys if f"/{kind}" in key)

        def read(data: bytes, key: str = key) -> None:
            store.set_each(stored.items())
            store.set(key, data)
            array = omnizarr.open_array(store)
            assert isinstance(array, VersionedArray)
            array[:]
            array.versions()
            omnizarr.open_array(store, version=1)[:]
            array.prune(keep=1, dry_run=True)

        found[f"record of versions, {kind}"] = Target(read, [stored[key]])
    return found


def _manifests() -> dict[str, Target]:
    store = MemoryStore()
    z = omnizarr.create_array(
        store, shape=(4, 4), chunks=(2, 2), dtype="u1", compressors=None, storage_transformers=[FileChunks()]
    )
    store.set("data.bin", bytes(16))
    omnizarr.write_chunk_manifest(z, {(0, 0): ("data.bin", 0, 4), (1, 1): ("./data.bin", 12, 4)})

    def read(data: bytes) -> None:
        store.set("manifest.json", data)
        array = omnizarr.open_array(store)
        list(array._layout.store.list())
        for index in ((0, 0), ..., np.s_[1:3]):
            try:
                array[index]
            except OmnizarrError:
                pass

    written = bytes(store.get("manifest.json") or b"")
    entry = {"length": 4, "path": "data.bin", "offset": 4, "other": [None]}
    return {"chunk manifest": Target(read, [written, json.dumps({"c/0/1": entry}, indent=1).encode()])}


# -- containers


def _read_zip(data: bytes) -> None:
    with omnizarr.ZipStore(io.BytesIO(data), read_only=True) as store:
        for key in list(store.list())[:50]:
            store.get(key, (0, 1000))
        store.list_dir("")
        omnizarr.open(store, mode="r")


def _zips() -> list[bytes]:
    seeds = []
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", compression) as archive:
            for key, value in _hierarchy(3).items():
                archive.writestr(key, value)
        seeds.append(made.getvalue())
    return seeds


def _read_sqlite(data: bytes) -> None:
    from omnizarr.store import SQLiteStore

    path = _sqlite_folder() / "data.sqlite"
    path.write_bytes(data)
    with SQLiteStore(path, read_only=True, timeout=0.1) as store:
        for key in list(store.list())[:50]:
            store.get(key, (0, 1000))
        store.list_dir("")
        omnizarr.open(store, mode="r")


@cache
def _sqlite_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="omnizarr-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _databases() -> list[bytes]:
    """A small database, so that many mutations change its schema."""
    import sqlite3

    path = _sqlite_folder() / "seed.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size = 512")
        connection.execute("CREATE TABLE zarr (k TEXT PRIMARY KEY, v BLOB)")
        connection.executemany("INSERT INTO zarr VALUES (?, ?)", list(_hierarchy(3).items()))
        connection.commit()
    return [path.read_bytes()]


def _read_references(data: bytes) -> None:
    from omnizarr.store import ReferenceStore

    with MemoryStoreOf(data) as store:
        references = ReferenceStore.inside(store, "r.json")
        for key in list(references.list())[:50]:
            references.get(key, (0, 100))
        omnizarr.open(references, mode="r")


class MemoryStoreOf(MemoryStore):
    """A store with some references."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.set_each([("r.json", data), ("data.bin", bytes(100)), ("file.bin", bytes(100))])


def _references() -> list[bytes]:
    values = {key: value.decode("latin-1") for key, value in _hierarchy(2).items()}
    some: dict[str, Any] = {**values, "a/0.0": ["data.bin", 0, 10], "a/0.1": "base64:AAAA", "a/1.0": ["file.bin"]}
    generated = [
        {"key": "b/{{i}}", "url": "{{u}}", "offset": "{{i * 10}}", "length": "10", "dimensions": {"i": [0, 1]}}
    ]
    return [
        json.dumps(some).encode(),
        json.dumps({"version": 1, "templates": {"u": "file.bin"}, "gen": generated, "refs": some}).encode(),
    ]


def _targets() -> dict[str, Target]:
    return {
        **_documents(),
        **_files(),
        **_shards(),
        **_content(),
        **_versions(),
        **_manifests(),
        **_n5_blocks(),
        **_codecs(),
        "zip": Target(_read_zip, _zips()),
        "references": Target(_read_references, _references()),
        "sqlite": Target(_read_sqlite, _databases()),
        # The bytes only choose the options of an array.
        "conversions": Target(check_random_case, [b"%d" % number for number in range(10)]),
        "codec chains": Target(check_random_chain, [b"%d" % number for number in range(10)]),
    }


TARGETS: dict[str, Target] = _targets()

"""Names of zarr-python beside arrays, groups and codecs: caches, migration, logs, memory, metadata, pipelines."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import numpy as np
import pytest

import omnizarr
from omnizarr.compat import zarr
from omnizarr.compat.zarr.abc.store import RangeByteRequest, SupportsSyncStore, SyncByteSetter
from omnizarr.compat.zarr.core.buffer import default_buffer_prototype
from omnizarr.compat.zarr.core.codec_pipeline import BatchedCodecPipeline, FusedCodecPipeline
from omnizarr.compat.zarr.core.group import ConsolidatedMetadata, GroupMetadata
from omnizarr.compat.zarr.experimental.cache_store import CacheStore
from omnizarr.compat.zarr.metadata.migrate_v3 import migrate_v2_to_v3, remove_metadata
from omnizarr.compat.zarr.storage import LoggingStore, ManagedMemoryStore, MemoryStore, StorePath, WrapperStore

DATA = np.arange(24, dtype="i4").reshape(4, 6)
PROTOTYPE = default_buffer_prototype()


def buffer(data: bytes) -> zarr.buffer.cpu.Buffer:
    return PROTOTYPE.buffer.from_bytes(data)


# -- CacheStore


def test_a_cache_answers_the_second_read() -> None:
    source, cache = MemoryStore(), MemoryStore()
    store = CacheStore(source, cache_store=cache, cache_set_data=False)
    zarr.create_array(store, data=DATA, chunks=(2, 6))
    assert "c/0/0" not in cache._store_dict
    array = zarr.open_array(store)
    before = store.cache_stats()["hits"]
    for _ in range(2):
        assert np.array_equal(array[...], DATA)
    assert store.cache_stats()["hits"] - before == 2
    array[0] = 7
    assert array[0].tolist() == [7] * 6, "the changed chunk is not that of the cache"
    asyncio.run(store.clear_cache())
    assert store.cache_info()["current_size"] == store.cache_info()["cached_keys"] == 0
    assert array[0, 0] == 7


def test_a_cache_stays_below_its_size_and_age() -> None:
    async def main() -> None:
        store = CacheStore(MemoryStore(), cache_store=MemoryStore(), max_size=10)
        for name in "abc":
            await store.set(name, buffer(b"12345"))
        info = store.cache_info()
        assert (info["current_size"], info["cached_keys"], store.cache_stats()["evictions"]) == (10, 2, 1)
        await store.set("large", buffer(bytes(11)))
        assert store.cache_info()["current_size"] == 10
        part = RangeByteRequest(1, 3)
        for _ in range(2):
            value = await store.get("c", PROTOTYPE, part)
            assert value is not None
            assert value.to_bytes() == b"23"
        assert store.cache_stats()["hits"] == 1
        await store.set("c", buffer(b"abcde"))
        value = await store.get("c", PROTOTYPE, part)
        assert value is not None
        assert value.to_bytes() == b"bc"
        old = CacheStore(MemoryStore(), cache_store=MemoryStore(), max_age_seconds=0)
        await old.set("a", buffer(b"1"))
        await old.get("a", PROTOTYPE)
        assert old.cache_stats()["hits"] == 0
        await store.delete_dir("")
        assert await store.get("c", PROTOTYPE) is None

    asyncio.run(main())


# -- migration


def test_v2_documents_get_v3_documents_beside_them(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=2, attributes={"t": 1})
    group.create_array("x/y", data=DATA, chunks=(2, 6), order="F")
    migrate_v2_to_v3(input_store=group.store, dry_run=True)
    assert not (tmp_path / "a.zarr/zarr.json").exists()
    migrate_v2_to_v3(input_store=group.store)
    newer = zarr.open_group(tmp_path / "a.zarr", mode="r", zarr_format=3)
    assert newer.attrs["t"] == 1
    assert np.array_equal(newer["x/y"][...], DATA)
    asyncio.run(remove_metadata(group.store, 2))
    assert not list((tmp_path / "a.zarr").rglob(".z*"))
    assert omnizarr.open_array(tmp_path / "a.zarr/x/y").zarr_format == 3
    with pytest.raises(ValueError, match="no v2 metadata exists"):
        asyncio.run(remove_metadata(group.store, 3))


# -- stores


def test_calls_are_logged_and_counted() -> None:
    messages: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    store = LoggingStore(MemoryStore())
    store.logger.addHandler(Handler())
    zarr.create_array(store, data=np.arange(2))
    assert store.counter["set"] == 2
    assert " Calling MemoryStore.set(c/0)" in messages


def test_named_memory_is_shared_while_it_exists() -> None:
    store = ManagedMemoryStore("test-shared")
    zarr.create_array(store, name="a/b", data=DATA)
    below = ManagedMemoryStore.from_url("memory://test-shared/a")
    assert np.array_equal(zarr.open_array(below, path="b")[...], DATA)
    assert str(below) == "memory://test-shared/a"
    assert ManagedMemoryStore("test-shared") == store != below
    zarr.create_array(below, name="c", shape=1, dtype="i4")
    assert "a/c/zarr.json" in store._store_dict
    del store, below
    with pytest.raises(ValueError, match="garbage collected"):
        ManagedMemoryStore.from_url("memory://test-shared")


def test_without_coroutines() -> None:
    store = WrapperStore(MemoryStore())
    assert isinstance(store, SupportsSyncStore)
    place = StorePath(store, "a")
    assert isinstance(place, SyncByteSetter)
    place.set_sync(buffer(b"abcdef"))
    value = place.get_sync(byte_range=RangeByteRequest(1, 3))
    assert value is not None
    assert value.to_bytes() == b"bc"
    parts = store.get_ranges_sync("a", [RangeByteRequest(0, 2), None], prototype=PROTOTYPE)
    assert [(number, part and part.to_bytes()) for number, part in parts] == [(0, b"ab"), (1, b"abcdef")]
    with pytest.raises(ExceptionGroup):
        store.get_ranges_sync("b", [None], prototype=PROTOTYPE)
    place.delete_sync()
    assert place.get_sync() is None


# -- metadata


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata_is_nested(zarr_format: int) -> None:
    store = MemoryStore()
    group = zarr.create_group(store, zarr_format=zarr_format)
    group.create_array("a/b/c", shape=1, dtype="i4", attributes={"n": 1})
    with pytest.warns(zarr.errors.ZarrUserWarning) if zarr_format == 3 else _nothing():
        consolidated = zarr.consolidate_metadata(store).metadata.consolidated_metadata
    assert list(consolidated.metadata) == ["a"]
    assert sorted(consolidated.flattened_metadata) == ["a", "a/b", "a/b/c"]
    assert ConsolidatedMetadata.from_dict(consolidated.to_dict()) == consolidated
    metadata = zarr.open_group(store).metadata
    assert GroupMetadata.from_dict(metadata.to_dict()) == metadata
    assert zarr.open_group(store, use_consolidated=False).metadata.consolidated_metadata is None
    expected = {".zgroup", ".zattrs", ".zmetadata"} if zarr_format == 2 else {"zarr.json"}
    assert set(metadata.to_buffer_dict()) == expected


class _nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize("dtype", [[("a", "i4"), ("b", "S3")], "V4", "M8[s]", "c16", ">f4", "U3", "S2"])
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.filterwarnings("ignore::omnizarr.compat.zarr.errors.UnstableSpecificationWarning")
def test_metadata_of_each_type_survives_json(dtype: object, zarr_format: int) -> None:
    array = zarr.create_array({}, shape=2, dtype=dtype, zarr_format=zarr_format)
    metadata = array.metadata
    assert type(metadata).from_dict(metadata.to_dict()) == metadata
    if dtype != "V4":  # omnizarr warns about the name that zarr-python gives this type
        assert zarr.AsyncArray(metadata, array.store_path).dtype == array.dtype
    if zarr_format == 2:
        assert array[:].dtype == array[0].dtype == array.dtype == np.dtype(dtype)  # type: ignore[call-overload]


# -- buffers


def test_a_function_of_arrays_takes_and_returns_buffers() -> None:
    wrapped = zarr.buffer.cpu.as_numpy_array_wrapper(lambda array: bytes(array + 1), buffer(b"ab"), PROTOTYPE)
    assert wrapped.to_bytes() == b"bc"


# -- pipelines


def test_a_pipeline_encodes_chunks() -> None:
    array = zarr.create_array({}, shape=(4, 6), dtype="i4")
    spec = array.metadata.get_chunk_spec((0, 0), array.config, PROTOTYPE)
    codecs = [zarr.codecs.TransposeCodec(order=(1, 0)), zarr.codecs.BytesCodec(), zarr.codecs.GzipCodec()]
    pipeline = BatchedCodecPipeline.from_codecs(codecs).evolve_from_array_spec(spec)
    assert list(pipeline) == codecs

    async def main() -> None:
        data = PROTOTYPE.nd_buffer.from_numpy_array(DATA)
        encoded = await pipeline.encode([(data, spec), (None, spec)])
        assert encoded[1] is None
        decoded = await pipeline.decode([(encoded[0], spec)])
        assert np.array_equal(decoded[0].as_numpy_array(), DATA)

    asyncio.run(main())
    with pytest.raises(ValueError, match="exactly one"):
        BatchedCodecPipeline.from_codecs([zarr.codecs.GzipCodec()])
    with pytest.raises(TypeError, match="order"):
        BatchedCodecPipeline.from_codecs([zarr.codecs.GzipCodec(), zarr.codecs.BytesCodec()])


def test_the_pipeline_has_the_configured_name() -> None:
    array = zarr.create_array({}, shape=(4, 6), dtype="i4")
    assert str(array._async_array.codec_pipeline).startswith("BatchedCodecPipeline(")
    with zarr.config.set({"codec_pipeline.path": "zarr.core.codec_pipeline.FusedCodecPipeline"}):
        assert zarr.registry.get_pipeline_class() is FusedCodecPipeline
        assert list(array._async_array.codec_pipeline) == list(array.metadata.codecs)
        assert "Fused" in str(array._async_array.codec_pipeline)

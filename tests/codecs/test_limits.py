"""Limits for chains of codecs: their number, and the size of a chunk between two of them."""

from __future__ import annotations

import gzip
import json
import struct
import tracemalloc
import zlib
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr._json import Problems
from omnizarr.codecs import Bytes, Chain, Codec, Gzip, Sharding
from omnizarr.codecs.contract import ChunkSpec, with_slack
from omnizarr.errors import ChunkError, MetadataError, OmnizarrError

GZIP = {"name": "gzip", "configuration": {"level": 1}}
MIB = 2**20


def bound(*codecs: Codec, length: int = 16) -> Chain:
    problems = Problems()
    spec = ChunkSpec((length,), np.dtype("u1"), np.zeros((), "u1"))
    chain = Chain.bind(codecs, spec, "$", problems)
    assert chain is not None, problems.found
    return chain


@pytest.mark.parametrize("count", [1, 2, 5, 20, 31])
def test_the_limit_of_a_chain_does_not_double_with_each_codec(count: int) -> None:
    chain = bound(Bytes(), *[Gzip(1)] * count)
    assert chain.encoded.limit <= 16 * 16 + 2**17
    data = np.arange(16, dtype="u1")
    assert (chain.decode(chain.encode(data)) == data).all()


def test_the_limit_follows_max_chunk_bytes_for_large_chunks() -> None:
    with omnizarr.config(max_chunk_bytes=MIB):
        chain = bound(Bytes(), *[Gzip(1)] * 10, length=MIB)
        assert chain.encoded.limit == with_slack(MIB) == MIB + MIB // 8 + 2**17
        data = np.random.default_rng(1).integers(0, 255, MIB, "u1")
        assert (chain.decode(chain.encode(data)) == data).all()


def test_a_bomb_behind_many_codecs_is_rejected_at_its_step() -> None:
    z = omnizarr.create_array(None, shape=16, dtype="u1", chunks=16, compressors=["gzip"] * 20)
    z.store.set("c/0", gzip.compress(bytes(8 * MIB)))
    with pytest.raises(ChunkError, match="expected 131328 bytes, found more"):
        z[...]


def test_shards_within_shards_do_not_double_the_limit() -> None:
    codec: Codec = Bytes()
    for _ in range(30):
        codec = Sharding((16,), (codec,))
    assert bound(codec).encoded.limit < 31 * (16 + 2 * 20) + 16


def test_conditions_within_conditions_do_not_double_the_limit() -> None:
    from omnizarr.codecs import Conditional

    codec: Any = Gzip(1)
    for _ in range(30):
        codec = Conditional((Gzip(1), codec))
    assert bound(Bytes(), codec).encoded.limit <= 16 * 16 + 2**17


def test_a_chunk_that_could_not_be_decoded_again_is_not_written() -> None:
    """Base64 lengthens its input by a third each time, which soon exceeds 16 times the chunk."""
    z = omnizarr.create_array(None, shape=MIB, dtype="u1", chunks=MIB, filters=[{"id": "base64"}] * 12, zarr_format=2)
    with pytest.raises(ChunkError, match="more than the limit of"):
        z[...] = 1
    assert z.store.get("0") is None


def test_filters_that_enlarge_a_chunk_are_limited_by_max_chunk_bytes() -> None:
    body = {
        "zarr_format": 2, "shape": [MIB], "chunks": [MIB // 2], "dtype": "|u1", "fill_value": 0, "order": "C",
        "compressor": None, "filters": [{"id": "astype", "encode_dtype": "<f8", "decode_dtype": "|u1"}],
    }  # fmt: skip
    store = omnizarr.MemoryStore({".zarray": json.dumps(body).encode(), "0": b"x"})
    with omnizarr.config(max_chunk_bytes=MIB):
        z = omnizarr.open_array(store, mode="r+")
        for act in (lambda: z[...], lambda: z.__setitem__(0, 1), lambda: z.__setitem__(..., 1)):
            with pytest.raises(ChunkError, match="between its codecs, more than the limit"):
                act()


def v3(count: int) -> omnizarr.MemoryStore:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, shape=16, dtype="u1", chunks=16)
    document = json.loads(bytes(store.get("zarr.json") or b""))
    store.set("zarr.json", json.dumps({**document, "codecs": [{"name": "bytes"}, *[GZIP] * (count - 1)]}).encode())
    return store


def v3_in_shards(count: int) -> omnizarr.MemoryStore:
    store = v3(2)
    document = json.loads(bytes(store.get("zarr.json") or b""))
    configuration = {
        "chunk_shape": [4],
        "codecs": [{"name": "bytes"}, *[GZIP] * (count - 1)],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }
    document["codecs"] = [{"name": "sharding_indexed", "configuration": configuration}]
    store.set("zarr.json", json.dumps(document).encode())
    return store


def v3_conditional(count: int) -> omnizarr.MemoryStore:
    store = v3(2)
    document = json.loads(bytes(store.get("zarr.json") or b""))
    document["codecs"] = [{"name": "bytes"}, {"name": "conditional", "configuration": {"codecs": [GZIP] * count}}]
    store.set("zarr.json", json.dumps(document).encode())
    return store


def v2(count: int) -> omnizarr.MemoryStore:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, shape=16, dtype="u1", chunks=16, zarr_format=2)
    document = json.loads(bytes(store.get(".zarray") or b""))
    filters = [{"id": "gzip", "level": 1}] * (count - 2)  # the serializer counts, too
    store.set(".zarray", json.dumps({**document, "filters": filters, "compressor": {"id": "gzip"}}).encode())
    return store


def draft_2022(count: int) -> omnizarr.MemoryStore:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, shape=16, dtype="u1", chunks=16, zarr_format="3-draft-2022")
    (key,) = (key for key in store.list() if key.endswith("array.json"))
    document = json.loads(bytes(store.get(key) or b""))
    uri = "https://purl.org/zarr/spec/codecs/gzip/1.0"
    document["codecs"] = [{"type": uri, "configuration": {"level": 1}}] * (count - 1)
    store.set(key, json.dumps(document).encode())
    return store


def draft_2020(count: int) -> omnizarr.MemoryStore:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, shape=16, dtype="u1", chunks=16, zarr_format="3-draft-2020", compressors=None)
    (key,) = (key for key in store.list() if key.endswith("array.json"))
    document = json.loads(bytes(store.get(key) or b""))
    document["attributes"] = {"filters": [{"id": "gzip", "level": 1}] * (count - 1)}
    store.set(key, json.dumps(document).encode())
    return store


@pytest.mark.parametrize("make", [v3, v3_in_shards, v3_conditional, v2, draft_2020, draft_2022])
def test_all_generations_limit_the_number_of_codecs(make: Any) -> None:
    assert omnizarr.config.max_codecs == 32
    assert omnizarr.open_array(make(32))[...].tolist() == [0] * 16
    with pytest.raises(MetadataError, match="more than the 32 allowed") as caught:
        omnizarr.open_array(make(33))[...]
    assert "max_codecs" in (caught.value.hint or "")
    with omnizarr.config(max_codecs=40):
        assert omnizarr.open_array(make(33))[...].tolist() == [0] * 16


@pytest.mark.parametrize(("zarr_format", "key", "name"), [(1, "meta", "zlib"), ("n5", "attributes.json", "gzip")])
def test_generations_with_one_compressor_have_the_same_limits(zarr_format: Any, key: str, name: str) -> None:
    """Their documents have no list of codecs: the serializer and one compressor."""
    store = omnizarr.MemoryStore()
    with omnizarr.config(max_codecs=1), pytest.raises(MetadataError, match="more than the 1 allowed"):
        omnizarr.create_array(store, shape=16, dtype="u1", zarr_format=zarr_format)
    z = omnizarr.create_array(store, shape=16, dtype="u1", chunks=16, zarr_format=zarr_format, compressors=name)
    with omnizarr.config(max_codecs=1), pytest.raises(MetadataError, match="more than the 1 allowed"):
        omnizarr.open_array(store)
    header = b"" if zarr_format == 1 else b"\0\0\0\1\0\0\0\x10"
    bomb = bytes(64 * MIB)
    store.set("0", header + (zlib.compress(bomb) if zarr_format == 1 else gzip.compress(bomb)))
    del bomb
    tracemalloc.start()
    try:
        with pytest.raises(ChunkError, match="expected 16 bytes, found more"):
            z[...]
        assert tracemalloc.get_traced_memory()[1] < MIB
    finally:
        tracemalloc.stop()
    document = json.loads(bytes(store.get(key) or b""))
    many: list[Any] = [{"type": name}] * 2 if zarr_format == "n5" else [name] * 2
    store.set(key, json.dumps({**document, "compression": many}).encode())
    with pytest.raises(MetadataError):
        omnizarr.open_array(store)
    store.set(key, json.dumps({**document, "note": "x" * MIB}).encode())
    with omnizarr.config(max_document_bytes=MIB), pytest.raises(OmnizarrError, match="longer than the limit"):
        omnizarr.open_array(store, zarr_format=zarr_format)


@pytest.mark.parametrize(("sizes", "problem"), [((2**31 - 1,), "16"), ((2**31 - 1, 2**31 - 1), "dimension")])
def test_the_header_of_an_n5_block_cannot_claim_more_than_a_chunk(sizes: tuple[int, ...], problem: str) -> None:
    z = omnizarr.create_array(None, shape=16, dtype="u1", chunks=16, zarr_format="n5", compressors="gzip")
    header = struct.pack(f">HH{len(sizes)}I", 0, len(sizes), *sizes)
    z.store.set("0", header + gzip.compress(bytes(64 * MIB)))
    tracemalloc.start()
    try:
        with pytest.raises(ChunkError, match=problem):
            z[...]
        assert tracemalloc.get_traced_memory()[1] < MIB
    finally:
        tracemalloc.stop()


def test_an_array_with_too_many_codecs_is_not_created() -> None:
    store = omnizarr.MemoryStore()
    with pytest.raises(OmnizarrError, match="more than the 32 allowed"):
        omnizarr.create_array(store, shape=16, dtype="u1", compressors=["gzip"] * 32)
    assert not list(store.list())
    inner = Sharding((4,), ("bytes", *["gzip"] * 32))
    with pytest.raises(OmnizarrError, match="more than the 32 allowed"):
        omnizarr.create_array(store, shape=16, dtype="u1", chunks=16, serializer=inner, compressors=None)

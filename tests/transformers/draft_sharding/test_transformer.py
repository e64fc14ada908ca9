"""The sharding transformer: its configuration, its URIs, and the same shards as the codec `sharding_indexed`."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from tests.transformers.draft_sharding.sharded_stores import FOO
from tests.transformers.places import place, shard_of

import omnizarr
from omnizarr._json import Problems
from omnizarr.chunk_keys import DefaultKeys
from omnizarr.codecs import Bytes, Zstd
from omnizarr.errors import ArgumentError
from omnizarr.store import MemoryStore
from omnizarr.testing import SlowStore
from omnizarr.transformers import (
    SHARDING_URIS,
    ArrayPlace,
    ShardingTransformer,
    find_transformer,
    storage_transformers,
    wrap_all,
)


def parsed(configuration: dict[str, Any]) -> tuple[ShardingTransformer | None, list[str]]:
    problems = Problems()
    found = ShardingTransformer.parse(configuration, "$.storage_transformers[0]", problems)
    return found, [problem.path.removeprefix("$.storage_transformers[0].configuration") for problem in problems.found]


# -- configuration


@pytest.mark.smoke
def test_S64_the_configuration_is_read_and_written() -> None:
    found, problems = parsed({"chunks_per_shard": [2, 2]})
    assert problems == []
    assert found == ShardingTransformer((2, 2))
    assert found is not None
    assert found.configuration() == {"chunks_per_shard": [2, 2]}
    assert hash(found) == hash(pickle.loads(pickle.dumps(found)))
    assert found.layout
    assert ShardingTransformer([np.int64(3)]).configuration() == {"chunks_per_shard": [3]}  # type: ignore[arg-type]


@pytest.mark.parametrize("counts", [None, 2, "2", [2, 0], [-1], [1.0], [True], [2**63], [[2]], {}])
def test_S65_wrong_numbers_are_reported(counts: Any) -> None:
    assert parsed({"chunks_per_shard": counts}) == (None, [".chunks_per_shard"])


def test_every_problem_of_a_configuration_is_reported() -> None:
    assert parsed({"chunk_per_shard": [2]}) == (None, [".chunk_per_shard", ".chunks_per_shard"])


def test_S65_there_is_a_number_for_each_dimension() -> None:
    problems = Problems()
    ShardingTransformer((2, 2)).check((10, 10), "$", problems)
    assert not problems
    ShardingTransformer((2, 2)).check((10,), "$", problems)
    assert [problem.path for problem in problems.found] == ["$.configuration.chunks_per_shard"]
    for misfit in (2, (0,), (1.5,), ("1",), (True,)):
        with pytest.raises(ArgumentError):
            ShardingTransformer(misfit)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError):
        ShardingTransformer((2, 2)).wrap(MemoryStore(), place(1))
    with pytest.raises(ArgumentError):
        ArrayPlace("", (10, 10), (5,), DefaultKeys())


@pytest.mark.parametrize(
    "uri",
    [
        *SHARDING_URIS,
        "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.1",
        "https://purl.org/zarr/spec/storage_transformers/sharding",
        "http://purl.org/zarr/spec/storage-transformers/sharding/1.0/",
    ],
)
def test_A3_every_uri_of_documents_is_found(uri: str) -> None:
    assert find_transformer(uri, "indexed") is ShardingTransformer
    assert find_transformer(uri, "other") is None
    assert find_transformer(uri) is None


@pytest.mark.parametrize(
    "uri",
    [
        "sharding",
        "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/2.0",
        "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0/more",
        "https://purl.org/zarr/spec/extensions/storage-transformers/caching/1.0",
        "https://purl.org/zarr/spec/codecs/sharding/1.0",
    ],
)
def test_A3_other_extensions_are_not(uri: str) -> None:
    assert find_transformer(uri, "indexed") is None


def test_every_registered_transformer_is_tested() -> None:
    public = [name for name in storage_transformers.names() if not name.startswith("omnizarr.")]
    assert public == ["chunk-manifest-json", ShardingTransformer.name]


# -- the same shards as the codec


@pytest.mark.smoke
@pytest.mark.parametrize("inner", [MemoryStore, lambda: SlowStore(MemoryStore(), 0)], ids=["memory", "remote"])
def test_codec_and_transformer_read_shards_of_each_other(inner: Any) -> None:
    data = np.arange(7 * 9, dtype="u2").reshape(7, 9)
    store = inner()
    transformer = ShardingTransformer((2, 3))
    top = transformer.wrap(store, ArrayPlace("", data.shape, (2, 2), DefaultKeys("/")))
    z = omnizarr.create_array(top, shape=data.shape, dtype="u2", chunks=(2, 2), compressors=[Zstd()], fill_value=0)
    z[...] = data
    z[3:5, ::2] = 7
    data[3:5, ::2] = 7
    assert np.array_equal(omnizarr.open_array(top, mode="r")[...], data)
    assert sorted(store.list()) == ["c/0/0", "c/0/1", "c/1/0", "c/1/1", "zarr.json"]

    shape, codec = transformer.as_codec((2, 2), [Bytes("little"), Zstd()])
    assert shape == (4, 6)
    new = MemoryStore()
    y = omnizarr.create_array(new, shape=data.shape, dtype="u2", chunks=shape, serializer=codec, compressors=None)
    new.set_each([(key, store.get(key)) for key in store.list() if key != "zarr.json"])
    assert np.array_equal(y[...], data)
    assert np.array_equal(y[2:5, 3], data[2:5, 3])
    y[...] = data + 1
    store.set_each([(key, new.get(key)) for key in new.list() if key != "zarr.json"])
    assert np.array_equal(z[...], data + 1)


def test_shards_of_shards() -> None:
    inner = MemoryStore()
    stack = [ShardingTransformer((2,)), ShardingTransformer((3,))]
    store = wrap_all(inner, stack, place(1))
    store.set_each([(f"{FOO}c{number}", b"%d" % number) for number in range(14)])
    assert sorted(inner.list()) == [FOO + "c0", FOO + "c1", FOO + "c2"]
    assert [store.get(f"{FOO}c{number}") for number in range(15)] == [*(b"%d" % number for number in range(14)), None]
    below = stack[1].wrap(inner, stack[0].below(place(1)))
    assert stack[0].below(place(1)).chunk_shape == (20,)
    assert below.get(FOO + "c3") == shard_of((0, 1), (1, 1), data=b"67")

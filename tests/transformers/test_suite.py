"""All transformers pass the suite that third parties use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from omnizarr.nodes import Array
from omnizarr.nodes.versioned_array import VersionedArray
from omnizarr.store import Store
from omnizarr.testing import TransformerSuite
from omnizarr.transformers import (
    ContentAddressed,
    FileChunks,
    HashedDirectories,
    MemoryCache,
    ShardingTransformer,
    StorageTransformer,
    Versions,
)


class TestHashedDirectories(TransformerSuite):
    wrong_configurations = ({"depth": 0}, {"width": 5}, {"depth": "1"})

    def make_transformers(self) -> Sequence[StorageTransformer]:
        return [HashedDirectories(), HashedDirectories(2, 1)]


class TestContentAddressed(TransformerSuite):
    limits: ClassVar[Mapping[str, str]] = {"twice": "an array is content-addressed once"}
    wrong_configurations = ({"algorithm": "md5"}, {"depth": 9}, {"algorithm": ["sha256"]})

    def make_transformers(self) -> Sequence[StorageTransformer]:
        return [ContentAddressed(), ContentAddressed("blake2b", 2, 1)]


class TestSharding(TransformerSuite):
    formats: Any = ("3-draft-2022", "3-draft-2020")  # v3 has a codec instead
    limits: ClassVar[Mapping[str, str]] = {"exact prefixes": "S76 lists the prefixes of all chunks of a shard"}
    wrong_configurations = ({}, {"chunks_per_shard": [0, 1]}, {"chunks_per_shard": 2}, {"chunks_per_shard": ["2"]})

    def make_transformers(self) -> Sequence[StorageTransformer]:
        return [ShardingTransformer((2,)), ShardingTransformer((3, 2)), ShardingTransformer(())]


class TestFileChunks(TransformerSuite):
    wrong_configurations = ({"manifest": "../manifest.json"}, {"manifest": ""}, {"manifest": 3}, {"manifest": "/m"})

    def make_transformers(self) -> Sequence[StorageTransformer]:
        return [FileChunks()]

    def prepare(self, store: Store, prefix: str) -> None:
        store.set(f"{prefix}manifest.json", b"{}")


class TestVersions(TransformerSuite):
    limits: ClassVar[Mapping[str, str]] = {"shared": "changes are private until they are committed"}
    shared_by_processes = False

    def make_transformers(self) -> Sequence[StorageTransformer]:
        return [Versions()]

    def publish(self, array: Array) -> None:
        assert isinstance(array, VersionedArray)
        array.commit("changes")


class TestMemoryCache(TransformerSuite):
    limits: ClassVar[Mapping[str, str]] = {"shared": "the cache does not detect other writers"}
    wrong_configurations = ({"max_bytes": -1}, {"max_bytes": "1"})

    def make_transformers(self) -> Sequence[StorageTransformer]:
        return [MemoryCache(), MemoryCache(100)]

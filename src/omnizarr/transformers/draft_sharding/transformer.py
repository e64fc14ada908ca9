"""The sharding transformer of the drafts: it stores many chunks in one shard (S64–S77). The codec `sharding_indexed`
replaced it; shards have the same format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems, is_integer
from omnizarr.codecs import Bytes, Codec, Sharding
from omnizarr.errors import ArgumentError
from omnizarr.store import Store
from omnizarr.transformers.contract import ArrayPlace, StorageTransformer, storage_transformers
from omnizarr.transformers.draft_sharding.store import ShardedStore

__all__ = ["SHARDING_URIS", "ShardingTransformer"]

SHARDING_URIS = (
    "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0",
    "https://purl.org/zarr/spec/extensions/storage_transformers/sharding/1.0",
    "https://purl.org/zarr/spec/storage_transformers/sharding/1.0",
)
"""The URIs in documents: of the specification's title, of its example, and of writers of that time (A3)."""


@dataclass(frozen=True, slots=True)
class ShardingTransformer(StorageTransformer):
    """A shard contains `chunks_per_shard` chunks along each dimension, followed by an index without a checksum (S65,
    S68)."""

    name: ClassVar[str] = SHARDING_URIS[0]
    type: ClassVar[str | None] = "indexed"

    chunks_per_shard: tuple[int, ...]

    def __post_init__(self) -> None:
        counts = self.chunks_per_shard
        if not isinstance(counts, (tuple, list)) or not all(
            isinstance(count, (int, np.integer)) and not isinstance(count, bool) and count > 0 for count in counts
        ):
            raise ArgumentError(
                f"`chunks_per_shard`: expected integers of at least 1, found {counts!r}", argument="chunks_per_shard"
            )
        object.__setattr__(self, "chunks_per_shard", tuple(int(count) for count in counts))

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> ShardingTransformer | None:
        at = f"{path}.configuration"
        before = len(problems.found)
        check_members(configuration, ("chunks_per_shard",), at, problems, rule="S64")
        counts = configuration.get("chunks_per_shard")
        if "chunks_per_shard" not in configuration:
            problems.add(f"{at}.chunks_per_shard", "is missing", rule="S64")
        elif not isinstance(counts, list) or not all(is_integer(count) and 0 < count < 2**63 for count in counts):
            problems.expected(f"{at}.chunks_per_shard", "a list of integers of at least 1", counts, rule="S65")
        return cls(tuple(counts)) if len(problems.found) == before and isinstance(counts, list) else None

    def configuration(self) -> dict[str, Json]:
        return {"chunks_per_shard": list(self.chunks_per_shard)}

    def check(self, shape: tuple[int, ...], path: str, problems: Problems) -> None:
        if len(self.chunks_per_shard) != len(shape):
            problems.add(f"{path}.configuration.chunks_per_shard", self._misfit(len(shape)), rule="S65")

    def _misfit(self, rank: int) -> str:
        return f"has {len(self.chunks_per_shard)} numbers, but the array has {rank} dimensions"

    def below(self, place: ArrayPlace) -> ArrayPlace:
        return replace(place, chunk_shape=self._shard_shape(place.chunk_shape))

    def wrap(self, store: Store, place: ArrayPlace) -> ShardedStore:
        self._shard_shape(place.chunk_shape)
        return ShardedStore(store, place, self.chunks_per_shard)

    def as_codec(self, chunk_shape: Sequence[int], codecs: Sequence[Codec]) -> tuple[tuple[int, ...], Sharding]:
        """The equivalent in v3: the shape of the shards, which become the chunks, and their codec. Keys and
        stored bytes are identical."""
        shape = self._shard_shape(chunk_shape)
        return shape, Sharding(tuple(chunk_shape), tuple(codecs), index_codecs=(Bytes("little"),))

    def _shard_shape(self, chunk_shape: Sequence[int]) -> tuple[int, ...]:
        if len(chunk_shape) != len(self.chunks_per_shard):
            raise ArgumentError(f"`chunks_per_shard` {self._misfit(len(chunk_shape))}", argument="chunks_per_shard")
        return tuple(size * count for size, count in zip(chunk_shape, self.chunks_per_shard, strict=True))


storage_transformers.register(ShardingTransformer.name, ShardingTransformer, aliases=SHARDING_URIS[1:])

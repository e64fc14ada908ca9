"""Sharding: many inner chunks in one stored value, with an index (R95–R107)."""

from omnizarr.codecs.sharding.codec import INDEX_CODECS, BoundSharding, Sharding
from omnizarr.codecs.sharding.index import ShardIndex
from omnizarr.codecs.sharding.shard import ShardBytes, index_spec

__all__ = ["INDEX_CODECS", "BoundSharding", "ShardBytes", "ShardIndex", "Sharding", "index_spec"]

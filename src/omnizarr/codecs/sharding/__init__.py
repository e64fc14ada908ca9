"""Sharding: many inner chunks in one stored object, found by an index (R95–R107)."""

from omnizarr.codecs.sharding.codec import INDEX_CODECS, BoundSharding, Sharding

__all__ = ["INDEX_CODECS", "BoundSharding", "Sharding"]

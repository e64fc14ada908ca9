"""Sharding: many inner chunks in one stored object, found by an index (R95–R107)."""

from omnizarr.codecs.sharding.codec import BoundSharding, Sharding

__all__ = ["BoundSharding", "Sharding"]

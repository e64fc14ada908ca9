"""The engine: moves chunks between a store and memory, many at a time.

Reads and writes of elements go through `engine/route`; statistics, validation and copies of stored objects read chunks
themselves."""

from omnizarr.engine.chunk_cache import ChunkCache
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.read.salvage import OnCorrupt, check_on_corrupt

__all__ = ["ChunkCache", "Layout", "OnCorrupt", "check_on_corrupt", "sharding_of"]

"""The engine: moves chunks between a store and memory, many at a time. Only it calls stores for chunks."""

from omnizarr.engine.chunk_cache import ChunkCache
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.read.salvage import OnCorrupt, check_on_corrupt

__all__ = ["ChunkCache", "Layout", "OnCorrupt", "check_on_corrupt", "sharding_of"]

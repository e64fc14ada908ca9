"""The engine: moves chunks between a store and memory, many at a time. Only it calls stores for chunks."""

from omnizarr.engine.cache import ChunkCache
from omnizarr.engine.corrupt import OnCorrupt, check_on_corrupt
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.read import read
from omnizarr.engine.small import read_small
from omnizarr.engine.write import write

__all__ = ["ChunkCache", "Layout", "OnCorrupt", "check_on_corrupt", "read", "read_small", "sharding_of", "write"]

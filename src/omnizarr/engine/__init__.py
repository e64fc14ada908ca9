"""The engine: moves chunks between a store and memory, many at a time. Only it calls stores for chunks."""

from omnizarr.engine.cache import ChunkCache
from omnizarr.engine.corrupt import OnCorrupt, check_on_corrupt
from omnizarr.engine.elements import element
from omnizarr.engine.layout import Layout, sharding_of
from omnizarr.engine.read import read
from omnizarr.engine.write import write

__all__ = ["ChunkCache", "Layout", "OnCorrupt", "check_on_corrupt", "element", "read", "sharding_of", "write"]

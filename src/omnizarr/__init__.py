"""omnizarr: chunked, compressed N-dimensional arrays in the Zarr format.

import omnizarr
z = omnizarr.create_array("data.zarr", shape=(1000, 1000), dtype="float32")
z[:100] = 1.5
omnizarr.open("data.zarr", mode="r")[99, :3]
"""

from omnizarr import codecs, errors
from omnizarr.api import (
    array,
    consolidate_metadata,
    create,
    create_array,
    create_group,
    empty,
    empty_like,
    from_array,
    full,
    full_like,
    group,
    load,
    ones,
    ones_like,
    open,
    open_array,
    open_group,
    save,
    save_array,
    save_group,
    tree,
    zeros,
    zeros_like,
)
from omnizarr.config import config
from omnizarr.errors import OmnizarrError, OmnizarrWarning
from omnizarr.nodes import Array, Attributes, Group, UnreadableNode
from omnizarr.store import LocalStore, MemoryStore, Store

__version__ = "0.1.0"

__all__ = [
    "Array",
    "Attributes",
    "Group",
    "LocalStore",
    "MemoryStore",
    "OmnizarrError",
    "OmnizarrWarning",
    "Store",
    "UnreadableNode",
    "__version__",
    "array",
    "codecs",
    "config",
    "consolidate_metadata",
    "create",
    "create_array",
    "create_group",
    "empty",
    "empty_like",
    "errors",
    "from_array",
    "full",
    "full_like",
    "group",
    "load",
    "ones",
    "ones_like",
    "open",
    "open_array",
    "open_group",
    "save",
    "save_array",
    "save_group",
    "tree",
    "zeros",
    "zeros_like",
]

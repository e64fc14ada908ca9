"""Chunked, compressed N-dimensional arrays in the Zarr format.

    import omnizarr
    z = omnizarr.create_array("data.zarr", shape=(1000, 1000), dtype="float32")
    z[:100] = 1.5
    omnizarr.open("data.zarr", mode="r")[99, :3]

Where to look, with `help`:

    omnizarr.open, open_array, open_group          open what exists, of every generation
    omnizarr.create_array, create_group            create, with chunks, shards and codecs
    omnizarr.save, load                            whole NumPy arrays
    omnizarr.Array, Group                          what these return; `z[...]` reads and writes as in NumPy
    omnizarr.LocalStore, ObjectStore, ZipStore     stores, for more options than a path or a URL has
    omnizarr.codecs, config, errors                compressors and filters, settings, errors
    omnizarr.tools, aio, extending                 copy, check and convert; coroutines; your own extensions

`omnizarr demo` in a terminal shows the library at work. The documentation is at https://omnizarr.github.io/omnizarr/.

All names are imported on first use, so that `omnizarr --help` does not wait for NumPy.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnizarr import (
    _fork,  # noqa: F401  registers fork handlers; must be the first import
    errors,
)
from omnizarr.config import config  # not lazy: the submodule of the same name would hide it
from omnizarr.errors import OmnizarrError, OmnizarrWarning

if TYPE_CHECKING:
    from omnizarr import aio, codecs
    from omnizarr.api import (
        array,
        collect_garbage,
        concat,
        consolidate_metadata,
        create,
        create_array,
        create_group,
        empty,
        empty_like,
        from_array,
        from_dask,
        full,
        full_like,
        group,
        load,
        loader,
        ones,
        ones_like,
        open,
        open_array,
        open_group,
        save,
        save_array,
        save_group,
        stack,
        take,
        tree,
        write_chunk_manifest,
        zeros,
        zeros_like,
    )
    from omnizarr.engine import ChunkCache
    from omnizarr.engine.shared_cache import SharedChunkCache
    from omnizarr.extending import (
        register_chunk_grid,
        register_chunk_key_encoding,
        register_chunk_memory_layout,
        register_codec,
        register_data_type,
        register_extension,
        register_metadata_encoding,
        register_storage_transformer,
        register_store,
    )
    from omnizarr.nodes import Array, Attributes, Group, UnreadableNode
    from omnizarr.nodes.views import LazyView
    from omnizarr.store import (
        CacheStore,
        FsspecStore,
        LocalStore,
        MemoryStore,
        ObjectStore,
        ReferenceStore,
        SQLiteStore,
        Store,
        ZipStore,
        as_zarr_store,
    )
    from omnizarr.store.deadline import timeout

__version__ = "0.1.0"

__all__ = [
    "Array",
    "Attributes",
    "CacheStore",
    "ChunkCache",
    "FsspecStore",
    "Group",
    "LazyView",
    "LocalStore",
    "MemoryStore",
    "ObjectStore",
    "OmnizarrError",
    "OmnizarrWarning",
    "ReferenceStore",
    "SQLiteStore",
    "SharedChunkCache",
    "Store",
    "UnreadableNode",
    "ZipStore",
    "__version__",
    "aio",
    "array",
    "as_zarr_store",
    "codecs",
    "collect_garbage",
    "concat",
    "config",
    "consolidate_metadata",
    "create",
    "create_array",
    "create_group",
    "empty",
    "empty_like",
    "errors",
    "from_array",
    "from_dask",
    "full",
    "full_like",
    "group",
    "load",
    "loader",
    "ones",
    "ones_like",
    "open",
    "open_array",
    "open_group",
    "register_chunk_grid",
    "register_chunk_key_encoding",
    "register_chunk_memory_layout",
    "register_codec",
    "register_data_type",
    "register_extension",
    "register_metadata_encoding",
    "register_storage_transformer",
    "register_store",
    "save",
    "save_array",
    "save_group",
    "stack",
    "take",
    "timeout",
    "tree",
    "write_chunk_manifest",
    "zeros",
    "zeros_like",
]

_MODULES = {
    "extending": (
        "register_chunk_grid",
        "register_chunk_key_encoding",
        "register_chunk_memory_layout",
        "register_codec",
        "register_data_type",
        "register_extension",
        "register_metadata_encoding",
        "register_storage_transformer",
        "register_store",
    ),
    "engine": ("ChunkCache",),
    "engine.shared_cache": ("SharedChunkCache",),
    "nodes": ("Array", "Attributes", "Group", "UnreadableNode"),
    "nodes.views": ("LazyView",),
    "store": (
        "CacheStore",
        "FsspecStore",
        "LocalStore",
        "MemoryStore",
        "ObjectStore",
        "ReferenceStore",
        "SQLiteStore",
        "Store",
        "ZipStore",
        "as_zarr_store",
    ),
    "store.deadline": ("timeout",),
}


if not TYPE_CHECKING:  # so that type checkers report unknown names

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module `omnizarr` has no attribute `{name}`")
        if name in ("aio", "codecs"):
            return import_module(f"omnizarr.{name}")
        module = next((module for module, names in _MODULES.items() if name in names), "api")
        value = globals()[name] = getattr(import_module(f"omnizarr.{module}"), name)
        return value


def __dir__() -> list[str]:
    return list(__all__)


if os.environ.get("OMNIZARR_COMPAT") == "1":  # `import zarr` loads omnizarr.compat.zarr from now on
    import_module("omnizarr.compat").install()

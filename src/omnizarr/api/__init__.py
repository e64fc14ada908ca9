"""The functions of the package: open, create, save, load, consolidate. Each module is imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnizarr.api.array_like import empty_like, from_array, full_like, ones_like, zeros_like
    from omnizarr.api.chunk_manifest import write_chunk_manifest
    from omnizarr.api.create_nodes import create_array, create_group, group
    from omnizarr.api.dask_arrays import from_dask
    from omnizarr.api.garbage import collect_garbage
    from omnizarr.api.hierarchy import consolidate_metadata, tree
    from omnizarr.api.new_arrays import array, create, empty, full, ones, zeros
    from omnizarr.api.open_nodes import open, open_array, open_group
    from omnizarr.api.save_load import load, save, save_array, save_group
    from omnizarr.api.several_arrays import take
    from omnizarr.api.side_by_side import concat, stack
    from omnizarr.api.training import loader

__all__ = [
    "array",
    "collect_garbage",
    "concat",
    "consolidate_metadata",
    "create",
    "create_array",
    "create_group",
    "empty",
    "empty_like",
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
    "save",
    "save_array",
    "save_group",
    "stack",
    "take",
    "tree",
    "write_chunk_manifest",
    "zeros",
    "zeros_like",
]

_MODULES = {
    "array_like": ("empty_like", "from_array", "full_like", "ones_like", "zeros_like"),
    "create_nodes": ("create_array", "create_group", "group"),
    "side_by_side": ("concat", "stack"),
    "several_arrays": ("take",),
    "chunk_manifest": ("write_chunk_manifest",),
    "dask_arrays": ("from_dask",),
    "garbage": ("collect_garbage",),
    "hierarchy": ("consolidate_metadata", "tree"),
    "new_arrays": ("array", "create", "empty", "full", "ones", "zeros"),
    "open_nodes": ("open", "open_array", "open_group"),
    "training": ("loader",),
    "save_load": ("load", "save", "save_array", "save_group"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module `omnizarr.api` has no attribute `{name}`")
    module = next(module for module, names in _MODULES.items() if name in names)
    value = globals()[name] = getattr(import_module(f"omnizarr.api.{module}"), name)
    return value

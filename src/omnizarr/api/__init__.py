"""The functions that users call first: open, create, save, load, consolidate. A file is loaded when it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnizarr.api.convenience import (
        array,
        create,
        empty,
        empty_like,
        from_array,
        full,
        full_like,
        load,
        ones,
        ones_like,
        save,
        save_array,
        save_group,
        zeros,
        zeros_like,
    )
    from omnizarr.api.create_nodes import create_array, create_group, group
    from omnizarr.api.hierarchy import (
        consolidate_metadata,
        tree,
    )
    from omnizarr.api.open_nodes import open, open_array, open_group

__all__ = [
    "array",
    "consolidate_metadata",
    "create",
    "create_array",
    "create_group",
    "empty",
    "empty_like",
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

_HOMES = {
    "create_nodes": ("create_array", "create_group", "group"),
    "hierarchy": ("consolidate_metadata", "tree"),
    "open_nodes": ("open", "open_array", "open_group"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module `omnizarr.api` has no attribute `{name}`")
    home = next((home for home, names in _HOMES.items() if name in names), "convenience")
    value = globals()[name] = getattr(import_module(f"omnizarr.api.{home}"), name)
    return value

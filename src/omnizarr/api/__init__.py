"""The functions that users call first: open, create, save, load, consolidate."""

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
from omnizarr.api.creation import create_array, create_group, group
from omnizarr.api.hierarchy import consolidate_metadata, tree
from omnizarr.api.opening import open, open_array, open_group

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

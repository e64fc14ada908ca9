"""Shell completion of locations: files and directories, and the members of a group in a local hierarchy."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

__all__ = ["complete_location"]

_MOST_MEMBERS = 1000  # to offer


def complete_location(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The members whose names begin with the last part of the text; file names are left to the shell."""
    from click.shell_completion import CompletionItem

    above, slash, start = incomplete.rpartition("/")
    if "://" in incomplete or "[" in incomplete or not slash or not _may_be_zarr(above):
        return [CompletionItem(incomplete, type="file")]
    from omnizarr.errors import OmnizarrError
    from omnizarr.nodes import Group
    from omnizarr.tools import open_location

    try:
        node = open_location(above).node
        members = node.keys() if isinstance(node, Group) else ()
    except OmnizarrError:
        return [CompletionItem(incomplete, type="file")]
    names = [name for name in members if name.startswith(start) and name.isprintable()]
    return [CompletionItem(f"{above}/{name}") for name in names[:_MOST_MEMBERS]]


def _may_be_zarr(path: str) -> bool:
    """Whether a directory may hold a node: a check without imports, because the shell waits for every key."""
    names = ("zarr.json", ".zgroup", ".zmetadata", "attributes.json")
    return os.path.isfile(path) or any(os.path.exists(os.path.join(path, name)) for name in names)

"""`open_location`: opens what a text names, such as `s3://bucket/x.zarr/t2m[0, 100:103]`.

A location is a path or a URL that leads to a node, with an optional selection. Which part of it is the store and which
is the path in the hierarchy is not in the text: this module looks which groups enclose the node.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from omnizarr._json import nearest
from omnizarr.api.location import Location, hierarchy_above, resolve
from omnizarr.api.open_nodes import open as open_node
from omnizarr.errors import ArgumentError, NodeNotFoundError, NodeTypeError, OmnizarrError
from omnizarr.formats import identify_dialect, identifying_keys
from omnizarr.nodes import Array, Group
from omnizarr.nodes.group import handle
from omnizarr.nodes.metadata.documents import document_values, parse_documents
from omnizarr.store import Store, as_read_only
from omnizarr.store.address.schemes import scheme_of
from omnizarr.tools.selections import Index, split_selection

__all__ = ["OpenLocation", "node_not_found", "open_location"]

_MOST_LEVELS = 32  # to search upwards; hierarchies are not deeper, and every level costs a request
_MOST_NAMES = 10_000  # to compare a misspelt name with
_SUFFIXES = (".zarr", ".n5", ".zr3")
"""Names that begin a hierarchy. Below one, groups without documents of their own do not end the search."""


@dataclass(frozen=True, slots=True)
class OpenLocation:
    """What a location names."""

    location: str
    """The text without the selection."""
    node: Array | Group
    """The node, in the store of its whole hierarchy: `node.path` is the path from the root of the hierarchy."""
    selection: Index | None = None

    @property
    def array(self) -> Array:
        """The node, if it is an array; NodeTypeError if it is a group."""
        if isinstance(self.node, Array):
            return self.node
        names = _names(self.node)[:4]
        hint = f"name one of its arrays, such as `{self.location.rstrip('/')}/{names[0]}`" if names else None
        raise NodeTypeError(f"`{self.location}` is a group, not an array", path=self.node.path, hint=hint)

    def array_members(self) -> Iterator[Array]:
        """The arrays directly below the node, if it is a group."""
        if isinstance(self.node, Group):
            yield from self.node.array_values()


def open_location(
    location: str,
    *,
    storage_options: Mapping[str, Any] | None = None,
    use_consolidated: bool | None = None,
    select: bool = False,
    writable: bool = False,
) -> OpenLocation:
    """Opens a location, for reading unless `writable`. Raises NodeNotFoundError, with a hint if a similar name exists.

    Args:
        location: a path or a URL of a node in a store of any kind, with a selection in brackets if `select`.
        storage_options: options of the store, such as credentials.
        use_consolidated: False reads the documents of the nodes; None reads consolidated metadata if there is any.
        select: whether the location may end in a selection. A file whose name ends so takes precedence.
    """
    selection: Index | None = None
    if location.endswith("]") and (scheme_of(location) is not None or not os.path.exists(location)):
        bare, selection = split_selection(location)
        if not select:
            raise ArgumentError(
                f"`{location}`: this command takes no selection", argument="location", hint=f"give `{bare}`"
            )
        location = bare
    options = dict(storage_options or {}) or None
    try:
        mode: Literal["r", "r+"] = "r+" if writable else "r"
        node = open_node(location, mode=mode, storage_options=options, use_consolidated=use_consolidated)
    except NodeNotFoundError as error:
        raise node_not_found(location, options, error) from None
    return OpenLocation(location, _in_hierarchy(node, use_consolidated, mode), selection)


def _in_hierarchy(node: Array | Group, use_consolidated: bool | None, mode: Literal["r", "r+"]) -> Array | Group:
    """The same node, in the store of the hierarchy that encloses it."""
    if node.path:
        return node  # the root of an archive, of a draft or of N5 is known
    root, path = _root_above(node, as_read_only if mode == "r" else lambda store: store)
    if not path:
        return node
    own = isinstance(node, Group) and node.consolidated
    if not own and use_consolidated is not False and (mode == "r+" or isinstance(node, Group)):
        # A change must also reach the copies in the consolidated metadata of the root.
        # Without consolidated metadata of its own, it may be part of that of the root: a web server needs it for
        # listings.
        above = open_node(root, mode=mode)
        if isinstance(above, Group) and above.consolidated and path in above:
            return above[path]
    if isinstance(node, Group) and node.consolidated:
        return open_node(root, path=path, mode=mode, use_consolidated=use_consolidated)
    return handle(node._context._replace(store=root, path=path), node.metadata)


def _root_above(node: Array | Group, protect: Callable[[Store], Store]) -> Location:
    """The location of a node at the root of its store in the outermost group that encloses it."""
    store, path = node.store, ""
    root = Location(store, path)
    if node._context.dialect.implicit_groups:  # the root of such a hierarchy has a document that says so
        above = hierarchy_above(store, path)
        return root if above is None else Location(protect(above.store), above.path)
    for _ in range(_MOST_LEVELS):
        parent = store.parent()
        if parent is None:
            break
        store, name = parent
        path = f"{name}/{path}" if path else name
        if _is_group(store, node):
            root = Location(protect(store), path)
        elif not any(part.lower().endswith(_SUFFIXES) for part in store.location.split("/")):
            break
    return root


def _is_group(store: Store, node: Array | Group) -> bool:
    """Whether a group of the same generation lies at the root of a store."""
    try:
        documents = parse_documents(store, document_values(store, identifying_keys("")))
        dialect = identify_dialect("", documents)
        same = dialect is not None and dialect.zarr_format == node.zarr_format
        return dialect is not None and same and dialect.node_type("", documents) == "group"
    except OmnizarrError:  # the directory above may be unreadable, or contain other files
        return False


# -- names that do not exist


def node_not_found(location: str, options: dict[str, Any] | None, error: NodeNotFoundError) -> NodeNotFoundError:
    """The error for a location without a node, with a hint if a similar name exists."""
    hint = error.hint or _nearest_member(location, options) or _nearest_file(location)
    return NodeNotFoundError(f"there is no Zarr array or group at `{location}`", path=error.path, hint=hint)


def _nearest_member(location: str, options: dict[str, Any] | None) -> str | None:
    """A hint with the most similar member of the group that would hold the node."""
    above, slash, name = location.rstrip("/").rpartition("/")
    if not slash or not name or above.endswith(("/", ":")):
        return None
    try:
        resolve(above, options)
        group = open_node(above, mode="r", storage_options=options)
        if not isinstance(group, Group):
            return f"`{above}` is an array, which has no members"
        names = _names(group)
    except OmnizarrError:
        return None
    similar = nearest(name, names)
    if similar is not None:
        return similar.replace("`", f"`{above}/", 1)
    listed = ", ".join(f"`{known}`" for known in names[:8])
    return f"`{above}` contains {listed}{' and more' * (len(names) > 8)}" if names else f"`{above}` is an empty group"


def _names(group: Group) -> list[str]:
    try:
        return list(group.keys()[:_MOST_NAMES])
    except OmnizarrError:  # the store cannot list
        return []


def _nearest_file(location: str) -> str | None:
    """A hint with a similar file, or with the hierarchies in a directory that is none itself."""
    if scheme_of(location) is not None:
        return None
    try:
        if os.path.isdir(location):
            inside = sorted(name for name in os.listdir(location) if _looks_like_zarr(name))
            shown = ", ".join(f"`{os.path.join(location, name)}`" for name in inside[:4])
            return f"it is a directory that contains {shown}{' and more' * (len(inside) > 4)}" if inside else None
        folder, name = os.path.split(location.rstrip("/"))
        similar = nearest(name, os.listdir(folder or ".")[:_MOST_NAMES])
    except OSError:
        return None
    return None if similar is None else similar.replace("`", f"`{os.path.join(folder, '')}", 1)


def _looks_like_zarr(name: str) -> bool:
    return name.lower().endswith((*_SUFFIXES, ".zarr.zip"))

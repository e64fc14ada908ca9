"""`Group`, the handle of a group: a mapping of names to arrays and groups."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import numpy as np

from omnizarr._json import Json, is_integer
from omnizarr.errors import ArgumentError, NodeExistsError, NodeNotFoundError, NodeTypeError, OmnizarrError
from omnizarr.formats import NodeModel, dialect_for
from omnizarr.model import ArrayModel, GroupModel, ZarrFormat, join_path, normal_path
from omnizarr.nodes.array import Array
from omnizarr.nodes.create.array_handle import array_handle
from omnizarr.nodes.create.option_names import ArrayOptions, check_flag, check_names, takes_array_options
from omnizarr.nodes.handle_lock import handle_lock
from omnizarr.nodes.metadata.changes import change_node
from omnizarr.nodes.metadata.children import (
    NameIterator,
    list_all_below,
    list_children,
    list_members,
    node_exists,
)
from omnizarr.nodes.metadata.documents import describe_location, parse_node
from omnizarr.nodes.metadata.fetch import fetch_children, fetch_model, not_found
from omnizarr.nodes.node import Node, NodeContext
from omnizarr.nodes.unreadable import UnreadableNode

if TYPE_CHECKING:
    from omnizarr.display.info import NodeInfo
    from omnizarr.display.tree import Tree
    from omnizarr.nodes.metadata.whole_listing import WholeListing

__all__ = ["Group", "Member", "handle", "new_group"]

Member: TypeAlias = "Array | Group | UnreadableNode"


def handle(context: NodeContext, model: NodeModel) -> Array | Group:
    """The handle of a node, from its model."""
    return array_handle(context, model) if isinstance(model, ArrayModel) else Group(context, model)


def new_group(context: NodeContext, attributes: Any = None, **options: Any) -> Group:
    """Creates a group; the options are those of `create_group_node`."""
    from omnizarr.nodes.create.group import create_group_node  # lazy import: most programs only read

    return Group(*create_group_node(context, attributes, **options))


class Group(Node, MutableMapping[str, Any]):
    """A group of arrays and groups: a mapping of names to nodes.

    Names can be paths: `g["a/b"]`. `members` and the views list a member that cannot be read as an `UnreadableNode`,
    which holds the error. `omnizarr.create_group` creates a group, `omnizarr.open_group` opens one.

    Example:
        >>> g = omnizarr.open_group("weather.zarr")
        >>> temps = g.create_array("daily/temps", shape=(365, 24), dtype="f4")
        >>> list(g)
        ['daily']
        >>> g["daily/temps"].shape
        (365, 24)
        >>> del g["daily"]
    """

    _kind = "group"

    def __init__(self, context: NodeContext, model: GroupModel) -> None:
        self._context = context
        self._model = model
        self._iterator: weakref.ref[NameIterator] | None = None

    # -- properties

    @property
    def zarr_format(self) -> ZarrFormat:
        """The generation of the format, as in `create_group`."""
        return self._model.zarr_format

    @property
    def metadata(self) -> GroupModel:
        """The model of the group: all its metadata, in one form for all generations."""
        return self._model

    @property
    def consolidated(self) -> bool:
        """Whether the group, or a group above it through which it was opened, has consolidated metadata."""
        return self._context.consolidated is not None or self._model.consolidated is not None

    # -- members

    def __getitem__(self, path: str) -> Array | Group:
        return self._open(path, exact=False)

    def get_array(self, path: str) -> Array:
        """The array at `path`; NodeTypeError if it is a group."""
        return self._as_array(self[path])

    def get_group(self, path: str) -> Group:
        """The group at `path`; NodeTypeError if it is an array."""
        return self._as_group(self[path])

    def _open(self, path: str, *, exact: bool) -> Array | Group:
        """The member at `path`; unless `exact`, also one whose writer stored the name in lower case."""
        full_path = self._full_path(path)
        context = self._context
        consolidated = context.consolidated
        if consolidated is not None and consolidated.trusted:
            if not consolidated.has(full_path):
                raise NodeNotFoundError(
                    f"the consolidated metadata has no array or group at {describe_location(self.store, full_path)}",
                    path=full_path,
                    hint="open with `use_consolidated=False` to look for it in the store",
                )
            return handle(context.at(full_path), consolidated.node(full_path))
        model = fetch_model(context.store, full_path, context.dialect)
        if model is None and not exact:
            from omnizarr.nodes.metadata.lowercase_names import fetch_lowercase  # lazy import: seldom needed

            lowercase = fetch_lowercase(context.store, full_path, context.dialect)
            if lowercase is not None:
                full_path, model = lowercase[0], lowercase[1].node
        if model is None:
            raise not_found(context.store, full_path)
        return handle(context.at(full_path), model)

    def _full_path(self, path: str) -> str:
        """The path in the store of the member at `path`."""
        if not isinstance(path, str):
            raise ArgumentError(f"the name of a member is a string, not {type(path).__name__}", argument="path")
        relative = self._context.dialect.normalize_path(normal_path(path))
        if not relative:
            raise ArgumentError("the name of a member is empty", argument="path")
        return join_path(self._context.path, relative)

    def __contains__(self, path: object) -> bool:
        """Whether a node, readable or not, lies at `path`."""
        if not isinstance(path, str):
            return False
        try:
            full_path = self._full_path(path)
        except ArgumentError:
            return False
        consolidated = self._context.consolidated
        if consolidated is not None and consolidated.trusted:
            return consolidated.has(full_path)
        return node_exists(self.store, self._context.dialect, full_path)

    def get(self, path: str, default: Any = None) -> Any:
        """The member at `path`, or `default` if there is none."""
        try:
            return self[path]
        except NodeNotFoundError:
            return default

    def __delitem__(self, path: str) -> None:
        """Erases the member at `path`, with all nodes below it."""
        full_path = self._full_path(path)
        self._check_writable()
        if not node_exists(self.store, self._context.dialect, full_path):
            raise NodeNotFoundError(
                f"there is no array or group at {describe_location(self.store, full_path)}", path=full_path
            )
        from omnizarr.nodes.create.node import erase_node  # lazy import: most programs only read

        erase_node(self._context.at(full_path))

    def __setitem__(self, path: str, value: Any) -> None:
        """Stores `value` as an array at `path`, and replaces a node that lies there."""
        if isinstance(value, Group):
            raise ArgumentError("a group cannot be assigned to a name", argument="value", hint="`Group.move` moves one")
        dtype = value.data_type if isinstance(value, Array) else None
        self.create_array(path, data=np.asarray(value), dtype=dtype, overwrite=True)

    def __iter__(self) -> Iterator[str]:
        iterator = NameIterator(list(self.keys()))
        self._iterator = weakref.ref(iterator)
        return iterator

    def __len__(self) -> int:
        # `list(group)` creates an iterator, calls `len`, and then iterates: answer both from one listing.
        iterator = None if self._iterator is None else self._iterator()
        return len(iterator.names) if iterator is not None and not iterator.begun else self.nmembers()

    def _children(self, whole: WholeListing | None = None) -> Iterator[tuple[str, Member]]:
        """The direct members, sorted by name. Costs one listing and one batch of requests for all documents, unless
        `whole` has them."""
        context = self._context
        consolidated = context.consolidated
        children = list_children(context, whole)
        if consolidated is None or not consolidated.trusted:
            for name, model in fetch_children(context.store, context.path, context.dialect, children, whole):
                yield name, self._member(name, model)
            return
        for child in children:
            path = join_path(context.path, child.name)
            try:
                yield child.name, handle(context.at(path), consolidated.node(path))
            except OmnizarrError as error:
                yield child.name, self._member(child.name, error)

    def _member(self, name: str, model: NodeModel | OmnizarrError) -> Member:
        path = join_path(self.path, name)
        if isinstance(model, OmnizarrError):
            return UnreadableNode(path, model)
        return handle(self._context.at(path), model)

    def members(self, max_depth: int | None = 0) -> tuple[tuple[str, Member], ...]:
        """The names and nodes of the members, each group before its own members.

        `max_depth` is the number of further levels below the direct members; None for all. A member that cannot be read
        is an `UnreadableNode`.
        """
        return tuple(self._walk(_depth(max_depth, "max_depth")))

    def _walk(self, max_depth: int | None) -> Iterator[tuple[str, Member]]:
        whole = list_all_below(self._context) if max_depth is None else None
        pending: deque[tuple[str, Group, int]] = deque([("", self, 0)])
        while pending:
            prefix, group, depth = pending.popleft()
            for name, node in group._children(whole):
                path = join_path(prefix, name)
                yield path, node
                if isinstance(node, Group) and (max_depth is None or depth < max_depth):
                    pending.append((path, node, depth + 1))

    def nmembers(self, max_depth: int | None = 0) -> int:
        """The number of members; `max_depth` as in `members`."""
        depth = _depth(max_depth, "max_depth")
        return len(list_members(self._context)) if depth == 0 else sum(1 for _ in self._walk(depth))

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """The arrays among the direct members, by name."""
        return ((name, node) for name, node in self._children() if isinstance(node, Array))

    def groups(self) -> Iterator[tuple[str, Group]]:
        """The groups among the direct members, by name."""
        return ((name, node) for name, node in self._children() if isinstance(node, Group))

    def array_keys(self) -> Iterator[str]:
        """The names of the arrays among the direct members."""
        return (child.name for child in list_members(self._context) if child.kind == "array")

    def array_values(self) -> Iterator[Array]:
        """The arrays among the direct members."""
        return (array for _, array in self.arrays())

    def group_keys(self) -> Iterator[str]:
        """The names of the groups among the direct members."""
        return (child.name for child in list_members(self._context) if child.kind == "group")

    def group_values(self) -> Iterator[Group]:
        """The groups among the direct members."""
        return (group for _, group in self.groups())

    def items(self) -> tuple[tuple[str, Member], ...]:  # type: ignore[override]  # not a view: listing takes requests
        """The names and nodes of the direct members, unreadable ones included."""
        return self.members()

    def values(self) -> tuple[Member, ...]:  # type: ignore[override]
        """The direct members, unreadable ones included."""
        return tuple(node for _, node in self.members())

    def keys(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the direct members."""
        return tuple(child.name for child in list_members(self._context))

    def clear(self) -> None:
        """Erases all members, readable or not."""
        for name in self.keys():  # a tuple: it does not change while members are erased
            del self[name]

    def tree(self, level: int | None = None) -> Tree:
        """The hierarchy below the group as a printable tree; `level` is the number of levels, None for all."""
        depth = _depth(level, "level")
        members = self._walk(None if depth is None else depth - 1) if depth != 0 else ()
        from omnizarr.display.tree import Tree  # lazy import: display only

        return Tree(self.basename or "/", self, members)

    # -- creating members

    @takes_array_options(without=("zarr_format", "storage_options"))
    def create_array(self, name: str, **options: Unpack[ArrayOptions]) -> Array:
        """Creates an array at the path `name` below this group; the options are those of `omnizarr.create_array`."""
        self._check_writable()
        zarr_format = options.pop("zarr_format", None)
        if zarr_format is not None and dialect_for(zarr_format).zarr_format != self.zarr_format:
            raise ArgumentError(
                f"`zarr_format`: expected {self.zarr_format!r}, the generation of the hierarchy, found {zarr_format!r}",
                argument="zarr_format",
            )
        from omnizarr.nodes.create.array import new_array  # lazy import: most programs only read

        return new_array(self._context.at(self._full_path(name)), known_group=self.path, **options)

    def create_group(self, name: str, *, attributes: dict[str, Json] | None = None, overwrite: bool = False) -> Group:
        """Creates a group at the path `name` below this one."""
        self._check_writable()
        return new_group(
            self._context.at(self._full_path(name)), attributes, overwrite=overwrite, known_group=self.path
        )

    def _as_array(self, node: Array | Group) -> Array:
        if not isinstance(node, Array):
            raise NodeTypeError(f"{describe_location(self.store, node.path)} is a group, not an array", path=node.path)
        return node

    def _as_group(self, node: Array | Group) -> Group:
        if not isinstance(node, Group):
            raise NodeTypeError(f"{describe_location(self.store, node.path)} is an array, not a group", path=node.path)
        return node

    def _open_existing(self, path: str) -> Array | Group | None:
        """The member at exactly this path, or None."""
        try:
            return self._open(path, exact=True)
        except NodeNotFoundError:
            return None

    def require_group(self, name: str, *, overwrite: bool = False) -> Group:
        """The group at `name`, which is created if there is none."""
        check_flag(overwrite, "overwrite")
        node = None if overwrite else self._open_existing(name)
        return self.create_group(name, overwrite=overwrite) if node is None else self._as_group(node)

    @takes_array_options(without=("zarr_format", "storage_options"))
    def require_array(self, name: str, *, exact: bool = False, **options: Unpack[ArrayOptions]) -> Array:
        """The array at `name`, which is created with `options` if there is none.

        Raises NodeExistsError unless an existing array has the given shape, and a dtype to which the given one can be
        cast safely; with `exact`, the same dtype.
        """
        check_names(options)
        overwrite = options.get("overwrite", False)
        check_flag(overwrite, "overwrite")
        existing = None if overwrite else self._open_existing(name)
        if existing is None:
            return self.create_array(name, **options)
        node = self._as_array(existing)
        data = options.get("data")
        shape = options.get("shape") if data is None else np.shape(data)
        dtype = options.get("dtype")
        if dtype is None and data is not None:
            dtype = np.asarray(data).dtype
        from omnizarr.nodes.create.chunk_shapes import as_lengths
        from omnizarr.nodes.create.options import split_subarray

        dtype, subarray_shape = split_subarray(dtype)
        expected_shape = node.shape if shape is None else (*as_lengths(shape, "shape", least=0), *subarray_shape)
        if expected_shape != node.shape:
            raise self._mismatch(node, f"the shape {node.shape}, not {expected_shape}")
        expected_dtype = node.dtype if dtype is None else self._context.dialect.data_type(dtype).dtype
        if expected_dtype != node.dtype and (exact or not np.can_cast(expected_dtype, node.dtype)):
            raise self._mismatch(node, f"the dtype {node.dtype}, not {expected_dtype}")
        return node

    def _mismatch(self, array: Array, difference: str) -> NodeExistsError:
        return NodeExistsError(f"array {describe_location(self.store, array.path)} has {difference}", path=array.path)

    def move(self, source: str, dest: str) -> None:
        """Moves the member at `source`, with all nodes below it, to the path `dest` of this group."""
        self._check_writable()
        from omnizarr.nodes.move import move_node  # lazy import: seldom needed

        move_node(self._context, self._full_path(source), self._full_path(dest))

    # -- metadata

    def _attributes(self) -> dict[str, Json]:
        return self._model.visible_attributes

    def _change_attributes(self, edit: Callable[[dict[str, Json]], dict[str, Json]]) -> None:
        self._check_writable()
        context = self._context

        def edit_model(model: GroupModel) -> GroupModel:
            return replace(model.with_visible_attributes(edit(model.visible_attributes)), implicit=False)

        with handle_lock(self):
            self._model = change_node(context.store, context.dialect, context.path, edit_model, GroupModel)
        if context.consolidated is not None:
            context.consolidated.record_nodes([context.path])

    def refresh(self) -> Group:
        """Loads the attributes and the consolidated metadata again, and returns the handle."""
        store, path, consolidated = self.store, self.path, self._context.consolidated
        with handle_lock(self, consolidated):
            model = fetch_model(store, path, self._context.dialect)
            if model is None:
                raise not_found(store, path)
            if not isinstance(model, GroupModel):
                raise NodeTypeError(f"{describe_location(store, path)} is not a group any more", path=path)
            self._model = model
            if consolidated is not None and consolidated.root == path:
                consolidated.refresh(model)
        return self

    # -- Python protocols

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Group):
            return NotImplemented
        return (self.store, self.path, self._model) == (other.store, other.path, other._model)

    __hash__ = None  # type: ignore[assignment]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.keys())

    def __repr__(self) -> str:
        from omnizarr.display.texts import printable  # lazy import: display only

        return printable(f"<Group {describe_location(self.store, self.path)}>")

    def info_complete(self) -> NodeInfo:
        """`info` with the number and the size of all arrays below the group. Reads their metadata."""
        from omnizarr.display.info import NodeInfo  # lazy import: display only

        return NodeInfo.of_group(self, [node for _, node in self._walk(None)])

    def _known_members(self) -> list[tuple[str, Member]] | None:
        """All nodes below the group if consolidated metadata tells them without a request, else None."""
        consolidated = self._context.consolidated
        return list(self._walk(None)) if consolidated is not None and consolidated.trusted else None

    def __reduce__(self) -> tuple[Any, ...]:
        documents = None if self._model.implicit else self._context.dialect.dump(self.path, self._model)
        return _unpickle, (self._context, documents)


def _depth(value: Any, argument: str) -> int | None:
    if value is None or (is_integer(value) and value >= 0):
        return value
    raise ArgumentError(f"`{argument}`: expected an integer of at least 0 or None, found {value!r}", argument=argument)


def _unpickle(context: NodeContext, documents: dict[str, Json] | None) -> Group:
    if documents is None:
        return Group(context, context.dialect.new_group(implicit=True))
    model = parse_node(context.dialect, context.store, context.path, documents, quiet=True)
    assert isinstance(model, GroupModel)
    return Group(context, model)

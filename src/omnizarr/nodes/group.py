"""The group that a user holds: a mapping of names to arrays and groups."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import replace
from typing import Any, TypeAlias, Unpack

import numpy as np

from omnizarr._json import Json, is_integer
from omnizarr.errors import (
    ArgumentError,
    ExtensionError,
    MissingDependencyError,
    NodeExistsError,
    NodeNotFoundError,
    NodeTypeError,
    OmnizarrError,
    ReadOnlyError,
)
from omnizarr.formats import NodeModel, dialect_for, format_name
from omnizarr.model import ArrayModel, GroupModel, ZarrFormat, join_path, normal_path
from omnizarr.nodes.array import Array
from omnizarr.nodes.attributes import as_attributes
from omnizarr.nodes.create.chunk_shapes import as_lengths
from omnizarr.nodes.create.node import create_node, erase_node
from omnizarr.nodes.create.options import ArrayOptions, array_model, check_names, takes_array_options, unfolded
from omnizarr.nodes.handle_lock import handle_lock
from omnizarr.nodes.metadata.changes import change_node
from omnizarr.nodes.metadata.children import Names, children, exists, names
from omnizarr.nodes.metadata.documents import describe_location, parse_node
from omnizarr.nodes.metadata.fetch import fetch_children, fetch_model, not_found
from omnizarr.nodes.node import Node, NodeContext
from omnizarr.nodes.tree import Tree
from omnizarr.nodes.unreadable import UnreadableNode

__all__ = ["Group", "Member", "handle", "new_array", "new_group"]

Member: TypeAlias = "Array | Group | UnreadableNode"


def handle(context: NodeContext, model: NodeModel) -> Array | Group:
    """The handle of a node."""
    return Array(context, model) if isinstance(model, ArrayModel) else Group(context, model)


def new_array(context: NodeContext, *, known_group: str | None = None, **options: Unpack[ArrayOptions]) -> Array:
    """Creates an array, with its data if there are any."""
    check_names(options)
    overwrite = options.pop("overwrite", False)
    write_empty_chunks = options.pop("write_empty_chunks", False)
    options.pop("zarr_format", None)
    try:
        model, data = array_model(context.dialect, **options)  # type: ignore[misc]
    except (ExtensionError, MissingDependencyError) as error:
        raise error.add_context(
            f"cannot create array {describe_location(context.store, context.path)}"
        ) from error.__cause__
    if any(getattr(codec, "allowed", False) for codec in model.codecs):  # whoever writes pickles trusts them
        context = replace(
            context, dialect=context.dialect.with_read_options(replace(context.dialect.read_options, allow_pickle=True))
        )
    context = create_node(context, model, overwrite=overwrite, known_group=known_group)
    array = Array(context, model, write_empty_chunks=write_empty_chunks)
    if data is not None:
        array[...] = data
    return array


def new_group(
    context: NodeContext,
    attributes: Any = None,
    *,
    overwrite: bool = False,
    known_group: str | None = None,
    extensions: Any = None,
    metadata_encoding: Any = None,
) -> Group:
    """Creates a group. With it may come a hierarchy, for which the drafts have `extensions` and `metadata_encoding`."""
    if extensions is not None or metadata_encoding is not None:
        if context.path:
            raise ArgumentError(
                "`extensions` and `metadata_encoding` belong to a whole hierarchy, so to the group at its root",
                argument="extensions" if extensions is not None else "metadata_encoding",
            )
        context = replace(context, dialect=context.dialect.with_hierarchy_options(extensions, metadata_encoding))
    model = GroupModel(attributes=as_attributes(attributes), zarr_format=context.dialect.zarr_format)
    return Group(create_node(context, model, overwrite=overwrite, known_group=known_group), model)


class Group(Node, MutableMapping[str, Any]):
    """A group of arrays and groups.

    A mapping: `g["a/b"]`, `"a" in g`, `del g["a"]`, `for name in g`. A member that cannot be read is listed all the
    same, as an `UnreadableNode` that says why. Use `omnizarr.create_group` and `omnizarr.open_group` to get one.
    """

    def __init__(self, context: NodeContext, model: GroupModel) -> None:
        self._context = context
        self._model = model
        self._listed: weakref.ref[Names] | None = None

    # -- what it is

    @property
    def zarr_format(self) -> ZarrFormat:
        """The generation of the format, as `create_group` takes it."""
        return self._model.zarr_format

    @property
    def metadata(self) -> GroupModel:
        """Everything that the group's document says."""
        return self._model

    @property
    def consolidated(self) -> bool:
        """Whether the group, or one above it through which it was opened, has consolidated metadata."""
        return self._context.consolidated is not None or self._model.consolidated is not None

    # -- members

    def __getitem__(self, path: str) -> Any:  # an Array or a Group: a union would make every user of a member cast
        return self._found(path, exact=False)

    def _found(self, path: str, *, exact: bool) -> Any:
        """The member at `path`; if `exact`, of that very name."""
        where = self._below(path)
        known = self._context.consolidated
        if known is not None and known.trusted:
            if not known.has(where):
                raise NodeNotFoundError(
                    f"the consolidated metadata has no array or group at {describe_location(self.store, where)}",
                    path=where,
                    hint="open with `use_consolidated=False` to look for it in the store",
                )
            return handle(self._context.at(where), known.node(where))
        context = self._context
        model = fetch_model(context.store, where, context.dialect)
        if model is None and not exact:
            from omnizarr.nodes.metadata.lowercase_names import fetch_in_lower_case  # seldom needed

            lower = fetch_in_lower_case(context.store, where, context.dialect.read_options, context.dialect)
            where, model = (where, None) if lower is None else (lower[0], lower[1].node)
        if model is None:
            raise not_found(context.store, where)
        return handle(context.at(where), model)

    def _below(self, path: str) -> str:
        if not isinstance(path, str):
            raise ArgumentError(f"the name of a member is a string, not {type(path).__name__}", argument="path")
        relative = self._context.dialect.normalize_path(normal_path(path))
        if not relative:
            raise ArgumentError("the name of a member is empty", argument="path")
        return join_path(self.path, relative)

    def __contains__(self, path: object) -> bool:
        """Whether a node is there, readable or not."""
        if not isinstance(path, str):
            return False
        try:
            where = self._below(path)
        except ArgumentError:
            return False
        known = self._context.consolidated
        if known is not None and known.trusted:
            return known.has(where)
        return exists(self.store, self._context.dialect, where)

    def get(self, path: str, default: Any = None) -> Any:
        """The member at `path`, or `default` if there is none."""
        try:
            return self[path]
        except NodeNotFoundError:
            return default

    def __delitem__(self, path: str) -> None:
        where = self._below(path)
        self._check_writable()
        if not exists(self.store, self._context.dialect, where):
            raise NodeNotFoundError(f"there is no array or group at {describe_location(self.store, where)}", path=where)
        erase_node(self._context.at(where))

    def __setitem__(self, path: str, value: Any) -> None:
        """Stores an array of values under a name; what lies there is replaced."""
        if isinstance(value, Group):
            raise ArgumentError("a group cannot be assigned to a name; `move` moves one", argument="value")
        dtype = value.data_type if isinstance(value, Array) else None
        self.create_array(path, data=np.asarray(value), dtype=dtype, overwrite=True)

    def __iter__(self) -> Iterator[str]:
        listed = Names(list(self.keys()))
        self._listed = weakref.ref(listed)
        return listed

    def __len__(self) -> int:
        # `list(group)` takes an iterator, asks for the length and only then begins: one listing must do for both.
        listed = None if self._listed is None else self._listed()
        return len(listed.all) if listed is not None and not listed.begun else self.nmembers()

    def _children(self) -> Iterator[tuple[str, Member]]:
        """The direct members by name, in order: one listing, and all their documents together."""
        context = self._context
        known = context.consolidated
        listed = children(context)
        if known is None or not known.trusted:
            for name, there in fetch_children(context.store, context.path, context.dialect, listed):
                yield name, self._member(name, there)
            return
        for child in listed:
            path = join_path(context.path, child.name)
            try:
                yield child.name, handle(context.at(path), known.node(path))
            except OmnizarrError as error:
                yield child.name, self._member(child.name, error)

    def _member(self, name: str, there: NodeModel | OmnizarrError) -> Member:
        path = join_path(self.path, name)
        return (
            UnreadableNode(path, there) if isinstance(there, OmnizarrError) else handle(self._context.at(path), there)
        )

    def members(self, max_depth: int | None = 0) -> tuple[tuple[str, Member], ...]:
        """Names and nodes: the direct members, or also those up to `max_depth` levels further down; None goes all the
        way. A group comes before its members."""
        return tuple(self._walk(_depth(max_depth, "max_depth")))

    def _walk(self, max_depth: int | None) -> Iterator[tuple[str, Member]]:
        pending: deque[tuple[str, Group, int]] = deque([("", self, 0)])
        while pending:
            prefix, group, depth = pending.popleft()
            for name, node in group._children():
                path = join_path(prefix, name)
                yield path, node
                if isinstance(node, Group) and (max_depth is None or depth < max_depth):
                    pending.append((path, node, depth + 1))

    def nmembers(self, max_depth: int | None = 0) -> int:
        """How many members there are."""
        depth = _depth(max_depth, "max_depth")
        return len(names(self._context)) if depth == 0 else sum(1 for _ in self._walk(depth))

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """The arrays among the direct members, by name."""
        return ((name, node) for name, node in self._children() if isinstance(node, Array))

    def groups(self) -> Iterator[tuple[str, Group]]:
        """The groups among the direct members, by name."""
        return ((name, node) for name, node in self._children() if isinstance(node, Group))

    def array_keys(self) -> Iterator[str]:
        """The names of the arrays among the direct members."""
        return (child.name for child in names(self._context) if child.kind == "array")

    def array_values(self) -> Iterator[Array]:
        """The arrays among the direct members."""
        return (array for _, array in self.arrays())

    def group_keys(self) -> Iterator[str]:
        """The names of the groups among the direct members."""
        return (child.name for child in names(self._context) if child.kind == "group")

    def group_values(self) -> Iterator[Group]:
        """The groups among the direct members."""
        return (group for _, group in self.groups())

    def items(self) -> Any:
        """Names and nodes of the direct members; unreadable ones too."""
        return self.members()

    def values(self) -> Any:
        """The direct members; unreadable ones too."""
        return tuple(node for _, node in self.members())

    def keys(self) -> Any:
        """The names of the direct members."""
        return tuple(child.name for child in names(self._context))

    def clear(self) -> None:
        """Removes all members, readable or not."""
        for name in self.keys():  # a tuple of now, not a view that changes meanwhile
            del self[name]

    def tree(self, level: int | None = None) -> Tree:
        """Everything below, drawn as a tree; `level` is how many levels are shown."""
        depth = _depth(level, "level")
        members = self._walk(None if depth is None else depth - 1) if depth != 0 else ()
        return Tree(self.basename or "/", self, members)

    # -- creating

    @takes_array_options(without=("zarr_format", "storage_options"))
    def create_array(self, name: str, **options: Unpack[ArrayOptions]) -> Array:
        """Creates an array below this group; the options are those of `omnizarr.create_array`."""
        self._check_writable()
        wanted = options.pop("zarr_format", None)
        if wanted is not None and dialect_for(wanted).zarr_format != self.zarr_format:
            raise ArgumentError(
                f"`zarr_format`: all nodes of a hierarchy are of one generation, and this one is of "
                f"{format_name(self.zarr_format)}",
                argument="zarr_format",
            )
        return new_array(self._context.at(self._below(name)), known_group=self.path, **options)

    def create_group(self, name: str, *, attributes: dict[str, Json] | None = None, overwrite: bool = False) -> Group:
        """Creates a group below this one."""
        self._check_writable()
        return new_group(self._context.at(self._below(name)), attributes, overwrite=overwrite, known_group=self.path)

    def _if_there(self, path: str) -> Any:
        """The member of that very name, or None."""
        try:
            return self._found(path, exact=True)
        except NodeNotFoundError:
            return None

    def require_group(self, name: str, *, overwrite: bool = False) -> Group:
        """The group at `name`; a new one if there is none."""
        found = None if overwrite else self._if_there(name)
        if found is None:
            return self.create_group(name, overwrite=overwrite)
        if not isinstance(found, Group):
            raise NodeTypeError(
                f"{describe_location(self.store, found.path)} is an array, not a group", path=found.path
            )
        return found

    @takes_array_options(without=("zarr_format", "storage_options"))
    def require_array(self, name: str, *, exact: bool = False, **options: Unpack[ArrayOptions]) -> Array:
        """The array at `name`, if it has the shape and (a type that can hold) the dtype that are asked for; a new one
        if there is none. `exact` asks for the very dtype."""
        check_names(options)
        found = None if options.get("overwrite") else self._if_there(name)
        if found is None:
            return self.create_array(name, **options)
        if not isinstance(found, Array):
            raise NodeTypeError(
                f"{describe_location(self.store, found.path)} is a group, not an array", path=found.path
            )
        data = options.get("data")
        shape = options.get("shape") if data is None else np.shape(data)
        dtype = options.get("dtype")
        if dtype is None and data is not None:
            dtype = np.asarray(data).dtype
        dtype, inner = unfolded(dtype)
        wanted = found.shape if shape is None else (*as_lengths(shape, "shape", least=0), *inner)
        if wanted != found.shape:
            raise self._differs(found, f"the shape {found.shape}, not {wanted}")
        kind = found.dtype if dtype is None else self._context.dialect.data_type(dtype).dtype
        if kind != found.dtype and (exact or not np.can_cast(kind, found.dtype)):
            raise self._differs(found, f"the dtype {found.dtype}, not {kind}")
        return found

    def _differs(self, array: Array, what: str) -> NodeExistsError:
        return NodeExistsError(f"array {describe_location(self.store, array.path)} has {what}", path=array.path)

    def move(self, source: str, dest: str) -> None:
        """Moves a node, with all that lies below it, to another path of this group."""
        self._check_writable()
        from omnizarr.nodes.move import move_node  # seldom needed

        move_node(self._context, self._below(source), self._below(dest))

    # -- attributes

    def _check_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyError(
                f"group {describe_location(self.store, self.path)} is open for reading only", store=repr(self.store)
            )

    def _attributes(self) -> dict[str, Json]:
        return self._model.attributes

    def _change_attributes(self, how: Callable[[dict[str, Json]], dict[str, Json]]) -> None:
        self._check_writable()
        context = self._context

        def changed(model: GroupModel) -> GroupModel:
            return replace(model, attributes=how(model.attributes), implicit=False)

        with handle_lock(self):
            self._model = change_node(context.store, context.dialect, context.path, changed, GroupModel)
        if context.consolidated is not None:
            context.consolidated.written({context.path: self._model})

    def refresh(self) -> Group:
        """Takes up what others changed: the attributes, and consolidated metadata, as they are stored now."""
        store, path, known = self.store, self.path, self._context.consolidated
        with handle_lock(self, known):
            model = fetch_model(store, path, self._context.dialect)
            if model is None:
                raise not_found(store, path)
            if not isinstance(model, GroupModel):
                raise NodeTypeError(f"{describe_location(store, path)} is not a group any more", path=path)
            self._model = model
            if known is not None and known.root == path:
                known.refresh(model)
        return self

    # -- among Python's objects

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Group):
            return NotImplemented
        return (self.store, self.path, self._model) == (other.store, other.path, other._model)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Group {describe_location(self.store, self.path)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        documents = None if self._model.implicit else self._context.dialect.dump(self.path, self._model)
        return _unpickled, (self._context, documents)


def _depth(value: Any, argument: str) -> int | None:
    if value is None or (is_integer(value) and value >= 0):
        return value
    raise ArgumentError(f"`{argument}`: expected an integer of at least 0 or None, found {value!r}", argument=argument)


def _unpickled(context: NodeContext, documents: dict[str, Json] | None) -> Group:
    if documents is None:
        return Group(context, GroupModel(zarr_format=context.dialect.zarr_format, implicit=True))
    model = parse_node(context.dialect, context.store, context.path, documents, quiet=True)
    assert isinstance(model, GroupModel)
    return Group(context, model)

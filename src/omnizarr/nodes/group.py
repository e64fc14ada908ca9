"""The group that a user holds: a mapping of names to arrays and groups."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import replace
from typing import Any, TypeAlias, Unpack

import numpy as np

from omnizarr._json import Json
from omnizarr.dtypes import data_type_of
from omnizarr.errors import (
    ArgumentError,
    NodeExistsError,
    NodeNotFoundError,
    NodeTypeError,
    OmnizarrError,
    ReadOnlyError,
)
from omnizarr.formats import Node, candidates, dialect
from omnizarr.model import ArrayModel, GroupModel, ZarrFormat, join_path, normal_path
from omnizarr.nodes.array import Array
from omnizarr.nodes.attributes import Attributes, as_attributes
from omnizarr.nodes.creating import create_node, erase_node
from omnizarr.nodes.documents import change, describe_place, fetch, fetch_many, parse_node
from omnizarr.nodes.lengths import as_lengths
from omnizarr.nodes.moving import move_node
from omnizarr.nodes.options import ArrayOptions, array_model, check_names, takes_array_options
from omnizarr.nodes.site import Site
from omnizarr.nodes.tree import Tree
from omnizarr.nodes.unreadable import UnreadableNode
from omnizarr.store import Store

__all__ = ["Group", "Member", "handle", "new_array", "new_group"]

Member: TypeAlias = "Array | Group | UnreadableNode"


def handle(site: Site, model: Node) -> Array | Group:
    """The handle of a node."""
    return Array(site, model) if isinstance(model, ArrayModel) else Group(site, model)


def new_array(site: Site, *, known_group: str | None = None, **options: Unpack[ArrayOptions]) -> Array:
    """Creates an array, with its data if there are any."""
    check_names(options)
    overwrite = options.pop("overwrite", False)
    write_empty_chunks = options.pop("write_empty_chunks", False)
    model, data = array_model(**{**options, "zarr_format": site.dialect.zarr_format})  # type: ignore[arg-type]
    site = create_node(site, model, overwrite=overwrite, known_group=known_group)
    array = Array(site, model, write_empty_chunks=write_empty_chunks)
    if data is not None:
        array[...] = data
    return array


def new_group(site: Site, attributes: Any = None, *, overwrite: bool = False, known_group: str | None = None) -> Group:
    """Creates a group."""
    model = GroupModel(attributes=as_attributes(attributes), zarr_format=site.dialect.zarr_format)
    return Group(create_node(site, model, overwrite=overwrite, known_group=known_group), model)


class Group(MutableMapping[str, Any]):
    """A group of arrays and groups.

    A mapping: `g["a/b"]`, `"a" in g`, `del g["a"]`, `for name in g`. A member that cannot be read is listed all the
    same, as an `UnreadableNode` that says why. Use `omnizarr.create_group` and `omnizarr.open_group` to get one.
    """

    def __init__(self, site: Site, model: GroupModel) -> None:
        self._site = site
        self._model = model
        self._listed: weakref.ref[_Names] | None = None

    # -- what it is and where

    @property
    def store(self) -> Store:
        """Where its bytes lie."""
        return self._site.store

    @property
    def path(self) -> str:
        """Where it lies in its store, without a leading slash."""
        return self._site.path

    @property
    def name(self) -> str:
        """Where it lies in its store, with a leading slash."""
        return f"/{self._site.path}"

    @property
    def basename(self) -> str:
        """The last part of its path."""
        return self._site.path.rpartition("/")[2]

    @property
    def read_only(self) -> bool:
        """Whether this handle refuses to write."""
        return self.store.read_only

    @property
    def zarr_format(self) -> ZarrFormat:
        """The generation of the format, as `create_group` takes it."""
        return self._model.zarr_format

    @property
    def metadata(self) -> GroupModel:
        """Everything that the group's document says."""
        return self._model

    # -- members

    def __getitem__(self, path: str) -> Any:  # an Array or a Group: a union would make every user of a member cast
        where = self._below(path)
        known = self._site.consolidated
        if known is not None and known.trusted:
            if not known.has(where):
                raise NodeNotFoundError(
                    f"there is no array or group at {describe_place(self.store, where)} in the consolidated metadata",
                    path=where,
                    hint="open with `use_consolidated=False` to look for it in the store",
                )
            return handle(self._site.at(where), known.node(where))
        found, model = fetch(self.store, where)
        return handle(self._site.at(where, found), model)

    def _below(self, path: str) -> str:
        if not isinstance(path, str):
            raise ArgumentError(f"the name of a member is a string, not {type(path).__name__}", argument="path")
        relative = normal_path(path)
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
        known = self._site.consolidated
        if known is not None and known.trusted:
            return known.has(where)
        return any(self.store.exists(key) for key in candidates(where))

    def get(self, path: str, default: Any = None) -> Any:
        """The member at `path`, or `default` if there is none."""
        try:
            return self[path]
        except NodeNotFoundError:
            return default

    def __delitem__(self, path: str) -> None:
        where = self._below(path)
        self._check_writable()
        if not any(self.store.exists(key) for key in candidates(where)):
            raise NodeNotFoundError(f"there is no array or group at {describe_place(self.store, where)}", path=where)
        erase_node(self._site.at(where))

    def __setitem__(self, path: str, value: Any) -> None:
        """Stores an array of values under a name; what lies there is replaced."""
        if isinstance(value, Group):
            raise ArgumentError("a group cannot be assigned to a name; `move` moves one", argument="value")
        self.create_array(path, data=np.asarray(value), overwrite=True)

    def __iter__(self) -> Iterator[str]:
        names = _Names([name for name, _ in self._children()])
        self._listed = weakref.ref(names)
        return names

    def __len__(self) -> int:
        # `list(group)` takes an iterator, asks for the length and only then begins: one listing must do for both.
        names = None if self._listed is None else self._listed()
        return len(names.all) if names is not None and not names.begun else self.nmembers()

    def _children(self) -> Iterator[tuple[str, Member]]:
        """The direct members by name, in order: one listing, and all their documents together."""
        site = self._site
        known = site.consolidated
        if known is not None and known.trusted:
            for name in sorted(known.children(site.path)):
                path = join_path(site.path, name)
                try:
                    yield name, handle(site.at(path), known.node(path))
                except OmnizarrError as error:
                    yield name, UnreadableNode(path, error)
            return
        found = site.dialect
        names = sorted(found.children(site.path, self.store.list_dir(found.listing_prefix(site.path))))
        for path, there in fetch_many(self.store, [join_path(site.path, name) for name in names]):
            name = path.rpartition("/")[2]
            if isinstance(there, OmnizarrError):
                yield name, UnreadableNode(path, there)
            elif there is not None:
                yield name, handle(site.at(path, there[0]), there[1])

    def members(self, max_depth: int | None = 0) -> tuple[tuple[str, Member], ...]:
        """Names and nodes: the direct members, or also those up to `max_depth` levels further down; None goes all the
        way. A group comes before its members."""
        return tuple(self._walk(max_depth))

    def _walk(self, max_depth: int | None) -> Iterator[tuple[str, Member]]:
        pending: list[tuple[str, Group, int]] = [("", self, 0)]
        while pending:
            prefix, group, depth = pending.pop(0)
            for name, node in group._children():
                path = join_path(prefix, name)
                yield path, node
                if isinstance(node, Group) and (max_depth is None or depth < max_depth):
                    pending.append((path, node, depth + 1))

    def nmembers(self, max_depth: int | None = 0) -> int:
        """How many members there are."""
        return sum(1 for _ in self._walk(max_depth))

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """The arrays among the direct members, by name."""
        return ((name, node) for name, node in self._children() if isinstance(node, Array))

    def groups(self) -> Iterator[tuple[str, Group]]:
        """The groups among the direct members, by name."""
        return ((name, node) for name, node in self._children() if isinstance(node, Group))

    def array_keys(self) -> Iterator[str]:
        """The names of the arrays among the direct members."""
        return (name for name, _ in self.arrays())

    def array_values(self) -> Iterator[Array]:
        """The arrays among the direct members."""
        return (array for _, array in self.arrays())

    def group_keys(self) -> Iterator[str]:
        """The names of the groups among the direct members."""
        return (name for name, _ in self.groups())

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
        return tuple(name for name, _ in self._children())

    def clear(self) -> None:
        """Removes all members, readable or not."""
        for name in self.keys():  # a tuple of now, not a view that changes meanwhile
            del self[name]

    def tree(self, level: int | None = None) -> Tree:
        """Everything below, drawn as a tree; `level` is how many levels are shown."""
        members = self._walk(None if level is None else level - 1) if level != 0 else ()
        return Tree(self.basename or "/", self, members)

    # -- creating

    @takes_array_options
    def create_array(self, name: str, **options: Unpack[ArrayOptions]) -> Array:
        """Creates an array below this group; the options are those of `omnizarr.create_array`."""
        self._check_writable()
        found = dialect(options.pop("zarr_format", self.zarr_format))
        return new_array(self._site.at(self._below(name), found), known_group=self.path, **options)

    def create_group(self, name: str, *, attributes: dict[str, Json] | None = None, overwrite: bool = False) -> Group:
        """Creates a group below this one."""
        self._check_writable()
        return new_group(self._site.at(self._below(name)), attributes, overwrite=overwrite, known_group=self.path)

    def require_group(self, name: str, *, overwrite: bool = False) -> Group:
        """The group at `name`; a new one if there is none."""
        found = None if overwrite else self.get(name)
        if found is None:
            return self.create_group(name, overwrite=overwrite)
        if not isinstance(found, Group):
            raise NodeTypeError(f"{describe_place(self.store, found.path)} is an array, not a group", path=found.path)
        return found

    @takes_array_options
    def require_array(self, name: str, *, exact: bool = False, **options: Unpack[ArrayOptions]) -> Array:
        """The array at `name`, if it has the shape and (a type that can hold) the dtype that are asked for; a new one
        if there is none. `exact` asks for the very dtype."""
        check_names(options)
        found = None if options.get("overwrite") else self.get(name)
        if found is None:
            return self.create_array(name, **options)
        if not isinstance(found, Array):
            raise NodeTypeError(f"{describe_place(self.store, found.path)} is a group, not an array", path=found.path)
        data = options.get("data")
        shape = options.get("shape") if data is None else np.shape(data)
        dtype = options.get("dtype") if data is None else np.asarray(data).dtype
        wanted = found.shape if shape is None else as_lengths(shape, "shape", least=0)
        if wanted != found.shape:
            raise self._differs(found, f"the shape {found.shape}, not {wanted}")
        kind = found.dtype if dtype is None else data_type_of(dtype).dtype
        if kind != found.dtype and (exact or not np.can_cast(kind, found.dtype)):
            raise self._differs(found, f"the dtype {found.dtype}, not {kind}")
        return found

    def _differs(self, array: Array, what: str) -> NodeExistsError:
        return NodeExistsError(f"array {describe_place(self.store, array.path)} has {what}", path=array.path)

    def move(self, source: str, dest: str) -> None:
        """Moves a node, with all that lies below it, to another path of this group."""
        self._check_writable()
        move_node(self._site, self._below(source), self._below(dest))

    # -- attributes

    def _check_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyError(
                f"group {describe_place(self.store, self.path)} is open for reading only", store=repr(self.store)
            )

    @property
    def attrs(self) -> Attributes:
        """What users say about the group; every change is stored at once."""
        return Attributes(self)

    def _attributes(self) -> dict[str, Json]:
        return self._model.attributes

    def _change_attributes(self, how: Callable[[dict[str, Json]], dict[str, Json]]) -> None:
        self._check_writable()
        site = self._site

        def changed(model: GroupModel) -> GroupModel:
            return replace(model, attributes=how(model.attributes))

        self._model = change(site.store, site.dialect, site.path, changed, GroupModel)
        if site.consolidated is not None:
            site.consolidated.written({site.path: self._model})

    def update_attributes(self, new_attributes: dict[str, Json]) -> Group:
        """Adds or replaces attributes, in one write."""
        self.attrs.update(new_attributes)
        return self

    def refresh(self) -> Group:
        """Takes up what others changed: the attributes, and consolidated metadata, as they are stored now."""
        _, model = fetch(self.store, self.path, self.zarr_format)
        if not isinstance(model, GroupModel):
            raise NodeTypeError(f"{describe_place(self.store, self.path)} is not a group any more", path=self.path)
        self._model = model
        known = self._site.consolidated
        if known is not None and known.root == self.path and model.consolidated is not None:
            known.documents = model.consolidated
        return self

    # -- among Python's objects

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Group):
            return NotImplemented
        return (self.store, self.path, self._model) == (other.store, other.path, other._model)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Group {describe_place(self.store, self.path)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._site, self._site.dialect.dump(self.path, self._model))


class _Names(Iterator[str]):
    """Names that are known, and whether anybody has taken one."""

    def __init__(self, names: list[str]) -> None:
        self.all = names
        self.begun = False
        self._rest = iter(names)

    def __next__(self) -> str:
        self.begun = True
        return next(self._rest)


def _unpickled(site: Site, documents: dict[str, Json]) -> Group:
    model = parse_node(site.dialect, site.store, site.path, documents)
    assert isinstance(model, GroupModel)
    return Group(site, model)

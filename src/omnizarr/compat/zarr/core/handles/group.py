"""`Group`: the handle of a group."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from omnizarr import errors as own
from omnizarr.compat.zarr.core import create
from omnizarr.compat.zarr.core._info import GroupInfo
from omnizarr.compat.zarr.core._tree import TreeRepr
from omnizarr.compat.zarr.core.attributes import Attributes
from omnizarr.compat.zarr.core.handles.array import Array
from omnizarr.compat.zarr.core.handles.new_members import NewMembers
from omnizarr.compat.zarr.core.metadata.group import ConsolidatedMetadata, GroupMetadata, is_extra_field
from omnizarr.compat.zarr.core.new_array import like_create_array, new_array
from omnizarr.compat.zarr.errors import (
    ArrayNotFoundError,
    ContainsArrayError,
    ContainsGroupError,
    GroupNotFoundError,
    translated,
)
from omnizarr.compat.zarr.storage._common import StorePath, store_path_of
from omnizarr.compat.zarr.storage._utils import normalize_path
from omnizarr.nodes import Array as OwnArray
from omnizarr.nodes import Group as OwnGroup
from omnizarr.nodes import UnreadableNode

__all__ = ["Group", "node_of"]


def node_of(handle: Any, place: StorePath, root: str, use_consolidated: Any = None) -> Any:
    """The array or group of this package for a handle of omnizarr. `use_consolidated` is that of the group above it."""
    below = StorePath(place.store)
    below.path = handle.path
    if isinstance(handle, UnreadableNode):
        raise handle.error
    if isinstance(handle, OwnArray):
        return Array._of(handle, below)
    return Group._of(handle, below, use_consolidated)


class Group(NewMembers):
    """A group of arrays and groups."""

    _async_class: ClassVar[Any]
    """`AsyncGroup`, which a module above this one sets."""
    _create_hierarchy: ClassVar[Any]
    """The function of `zarr.core.sync_group`, which that module sets."""

    def __init__(self, async_group: Any) -> None:
        group = getattr(async_group, "_group", async_group)
        self._handle: OwnGroup = group._handle
        self.store_path: StorePath = group.store_path
        self._shows_consolidated: bool = group._shows_consolidated

    @classmethod
    def _of(cls, handle: OwnGroup, store_path: StorePath, use_consolidated: Any = None) -> Self:
        group = cls.__new__(cls)
        group._handle = handle
        group.store_path = store_path
        group._shows_consolidated = use_consolidated is not False
        return group

    @classmethod
    @translated
    def from_store(cls, store: Any, *, attributes: Any = None, zarr_format: Any = 3, overwrite: bool = False) -> Self:
        """Creates a group."""
        place = store_path_of(store)
        return cls._of(create.create_group_handle(place, zarr_format, attributes, overwrite), place)

    @classmethod
    @translated
    def open(cls, store: Any, zarr_format: Any = None, use_consolidated: Any = None) -> Self:
        """Opens a group."""
        place = store_path_of(store)
        return cls._of(create.open_handle(place, "group", zarr_format, use_consolidated), place, use_consolidated)

    # -- properties

    @property
    def _async_group(self) -> Any:
        return self._async_class._of(self)

    @property
    def store(self) -> Any:
        """The store."""
        return self.store_path.store

    @property
    def path(self) -> str:
        """The path in the store."""
        return self.store_path.path

    @property
    def name(self) -> str:
        """The path with a leading slash."""
        return f"/{self.path}"

    @property
    def basename(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def attrs(self) -> Attributes:
        """The attributes."""
        return Attributes(self)

    @property
    def read_only(self) -> bool:
        """Whether the store rejects writes."""
        return self.store_path.read_only

    @property
    def synchronizer(self) -> None:
        """None: omnizarr synchronizes writers itself."""
        return None

    @property
    def zarr_format(self) -> Any:
        """The generation."""
        return self._handle.zarr_format

    @property
    def metadata(self) -> GroupMetadata:
        """What the document says."""
        model = self._handle._model
        cached = self.__dict__.get("_metadata")
        if cached is not None and cached[0] is model and not self._handle.consolidated:
            return cached[1]  # type: ignore[no-any-return]
        consolidated = None
        if self._shows_consolidated and self._handle.consolidated:
            prefix = f"{self.path}/" if self.path else ""
            members = self._handle._known_members()
            if members is None:
                members = list(self._handle.members(max_depth=None))
            consolidated = ConsolidatedMetadata.from_flat(
                {
                    node.path[len(prefix) :]: node_of(node, self.store_path, self.path).metadata
                    for _, node in members
                    if not isinstance(node, UnreadableNode)
                }
            )
        metadata = GroupMetadata(dict(self._handle._attributes()), self.zarr_format, consolidated, self._extra_fields())
        self.__dict__["_metadata"] = (model, metadata)
        return metadata

    def _extra_fields(self) -> dict[str, Any]:
        """Members of the document that readers may ignore."""
        extra = self._handle._model.extra if self.zarr_format == 3 else {}
        return {name: dict(value) for name, value in extra.items() if is_extra_field(value)}

    @property
    def info(self) -> Any:
        """A printable summary."""
        return self._info(self.metadata.consolidated_metadata is not None)

    def info_complete(self) -> Any:
        """A printable summary with the number of nodes below the group."""
        return self._info(True)

    def _info(self, counted: bool) -> GroupInfo:
        members = [node for _, node in self.members(max_depth=None)] if counted else None
        return GroupInfo(
            _name=self.store_path.path,
            _read_only=self.read_only,
            _store_type=type(self.store).__name__,
            _zarr_format=self.zarr_format,
            _count_members=None if members is None else len(members),
            _count_arrays=None if members is None else sum(isinstance(node, Array) for node in members),
            _count_groups=None if members is None else sum(isinstance(node, Group) for node in members),
        )

    def create_hierarchy(self, nodes: dict[str, Any], *, overwrite: bool = False) -> Iterator[tuple[str, Any]]:
        """Creates nodes below this group with the groups above them, and yields their paths and handles."""
        if not all(node.zarr_format == self.zarr_format for node in nodes.values()):
            raise ValueError("The zarr_format of the nodes must be the same as the parent group.")
        prefix = f"{self.path}/" if self.path else ""
        below = {prefix + normalize_path(path): node for path, node in nodes.items()}
        if prefix in below:
            raise ValueError(
                "Found this key in the input: ''. It is an error to use this method to create a root node. "
                "Use `zarr.create_hierarchy`, or leave it out."
            )
        for path, node in self._create_hierarchy(store=self.store, nodes=below, overwrite=overwrite):
            if path != self.path:
                yield path.removeprefix(prefix), node

    # -- members

    @translated
    def __getitem__(self, path: str) -> Any:
        below = normalize_path(path)
        try:
            if not below:  # the group itself, which may have been deleted since
                return Group.open(self.store_path, self.zarr_format)
            return node_of(self._handle[below], self.store_path, self.path, self._shows_consolidated)
        except (own.NodeNotFoundError, GroupNotFoundError):
            raise KeyError(path) from None

    def get(self, path: str, default: Any = None) -> Any:
        """The member at `path`, or `default`."""
        try:
            return self[path]
        except KeyError:
            return default

    def get_array(self, path: str) -> Array:
        """The array at `path`."""
        node = self.get(path)
        if node is None:
            raise ArrayNotFoundError(self.store, (self.store_path / path).path)
        if not isinstance(node, Array):
            raise ContainsGroupError(self.store, node.path)
        return node

    def get_group(self, path: str) -> Group:
        """The group at `path`."""
        node = self.get(path)
        if node is None:
            raise GroupNotFoundError(self.store, (self.store_path / path).path)
        if not isinstance(node, Group):
            raise ContainsArrayError(self.store, node.path)
        return node

    @translated
    def __delitem__(self, key: str) -> None:
        try:
            del self._handle[normalize_path(key)]
        except own.NodeNotFoundError:
            pass

    @translated
    def __setitem__(self, key: str, value: Any) -> None:
        if not (hasattr(value, "shape") and hasattr(value, "dtype")):
            raise TypeError(f"{type(value).__name__} is not an array")
        self.create_array(normalize_path(key), data=np.asarray(value), overwrite=True)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return self.nmembers()

    def __contains__(self, member: object) -> bool:
        return member in self._handle

    @translated
    def members(
        self, max_depth: int | None = 0, *, use_consolidated_for_children: bool = True
    ) -> tuple[tuple[str, Any], ...]:
        """The names and nodes of the members; `max_depth` further levels."""
        if max_depth is not None and max_depth < 0:
            raise ValueError(f"max_depth must be None or >= 0. Got '{max_depth}' instead")
        members = self._handle.members(max_depth)
        return tuple(
            (name, node_of(node, self.store_path, self.path, self._shows_consolidated)) for name, node in members
        )

    @translated
    def nmembers(self, max_depth: int | None = 0) -> int:
        """The number of members."""
        return self._handle.nmembers(max_depth)

    def keys(self) -> Iterator[str]:
        """The names of the members."""
        return iter(self._handle.keys())

    def values(self) -> Iterator[Any]:
        """The members."""
        return (node for _, node in self.members())

    def items(self) -> Iterator[tuple[str, Any]]:
        """The names and nodes of the members."""
        return iter(self.members())

    def groups(self) -> Iterator[tuple[str, Group]]:
        """The groups among the members."""
        return ((name, node) for name, node in self.members() if isinstance(node, Group))

    def group_keys(self) -> Iterator[str]:
        """The names of the groups among the members."""
        return iter(self._handle.group_keys())

    def group_values(self) -> Iterator[Group]:
        """The groups among the members."""
        return (node for _, node in self.groups())

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """The arrays among the members."""
        return ((name, node) for name, node in self.members() if isinstance(node, Array))

    def array_keys(self) -> Iterator[str]:
        """The names of the arrays among the members."""
        return iter(self._handle.array_keys())

    def array_values(self) -> Iterator[Array]:
        """The arrays among the members."""
        return (node for _, node in self.arrays())

    def tree(
        self, expand: Any = None, level: int | None = None, *, max_nodes: int = 500, plain: bool = False
    ) -> TreeRepr:
        """The hierarchy below the group, printable: at most `max_nodes` nodes, without bold names if `plain`."""
        if expand is not None:
            raise NotImplementedError("'expand' is not yet implemented.")
        members = self.members(max_depth=level)
        return TreeRepr(self.name, dict(members), max_nodes=max_nodes, plain=plain)

    @translated
    def move(self, source: str, dest: str) -> None:
        """Moves a member."""
        self._handle.move(source, dest)

    # -- changes

    @translated
    def update_attributes(self, new_attributes: dict[str, Any]) -> Self:
        """Adds or replaces attributes."""
        self.attrs.update(new_attributes)
        return self

    async def update_attributes_async(self, new_attributes: dict[str, Any]) -> Self:
        """`update_attributes`, as a coroutine."""
        return await asyncio.to_thread(self.update_attributes, new_attributes)

    @translated
    def create_group(self, name: str, *, overwrite: bool = False, attributes: Any = None) -> Group:
        """Creates a group below this one."""
        place = self.store_path / name
        self.store_path.store._check_writable()
        if place.path == self.path:
            return Group._of(create.create_group_handle(place, self.zarr_format, attributes, overwrite), place)
        try:
            handle = self._handle.create_group(place.path[len(self.path) :], attributes=attributes, overwrite=overwrite)
        except own.NodeExistsError as error:
            raise create._exists(place, error) from error
        return Group._of(handle, place, use_consolidated=False)  # its own document has none

    def require_group(self, name: str, *, overwrite: bool = False) -> Group:
        """The group `name`, which is created if there is none."""
        if overwrite:
            return self.create_group(name, overwrite=True)
        node = self.get(name)
        if node is None:
            return self.create_group(name)
        if not isinstance(node, Group):
            raise TypeError(f"Incompatible object (Async{type(node).__name__}) already exists")
        return node

    def require_groups(self, *names: str) -> tuple[Group, ...]:
        """Several groups, which are created if there are none."""
        return tuple(self.require_group(name) for name in names)

    @like_create_array("self", "name", leave_out=("store", "zarr_format"))
    @translated
    def create_array(self, name: str, **options: Any) -> Array:
        """Creates an array below this group."""
        options.pop("storage_options", None)
        if options.pop("zarr_format", self.zarr_format) not in (self.zarr_format, None):
            raise ValueError(f"The zarr_format of the array must be that of the group, {self.zarr_format}.")
        if self.zarr_format == 2 and isinstance(options.get("compressors", "auto"), str):
            options.setdefault("compressor", {"id": "blosc"})  # not the default of `zarr.create_array`
        return self._refreshed(new_array(self.store_path / name, zarr_format=self.zarr_format, **options))

    def _refreshed(self, array: Array) -> Array:
        consolidated = self._handle._context.consolidated
        if consolidated is not None:
            consolidated.record_nodes([array.path])
        return array

    create = create_array

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Group):
            return NotImplemented
        return self.store_path == other.store_path and self.metadata == other.metadata

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Group {self.store_path}>"

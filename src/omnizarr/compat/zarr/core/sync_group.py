"""`Group`: the handle of a group, and what its document says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np

from omnizarr import errors as own
from omnizarr.compat.zarr.abc.metadata import Metadata
from omnizarr.compat.zarr.core import create
from omnizarr.compat.zarr.core.attributes import Attributes
from omnizarr.compat.zarr.core.new_array import new_array
from omnizarr.compat.zarr.core.sync_array import Array
from omnizarr.compat.zarr.errors import translated
from omnizarr.compat.zarr.storage._common import StorePath, store_path_of
from omnizarr.compat.zarr.storage._utils import normalize_path
from omnizarr.nodes import Array as OwnArray
from omnizarr.nodes import Group as OwnGroup
from omnizarr.nodes import UnreadableNode

__all__ = ["ConsolidatedMetadata", "Group", "GroupMetadata", "node_of"]


@dataclass(frozen=True)
class ConsolidatedMetadata:
    """The metadata of all nodes below a group, by path."""

    metadata: dict[str, Any] = field(default_factory=dict)
    kind: Literal["inline"] = "inline"
    must_understand: Literal[False] = False

    @property
    def flattened_metadata(self) -> dict[str, Any]:
        """The metadata of all nodes, by path."""
        return self.metadata


@dataclass(frozen=True)
class GroupMetadata(Metadata):
    """What the document of a group says."""

    attributes: dict[str, Any] = field(default_factory=dict)
    zarr_format: Any = 3
    consolidated_metadata: ConsolidatedMetadata | None = None
    node_type: Literal["group"] = field(default="group", init=False)

    def to_dict(self) -> dict[str, Any]:
        return {"attributes": self.attributes, "zarr_format": self.zarr_format, "node_type": "group"}


def node_of(handle: Any, place: StorePath, root: str) -> Any:
    """The array or group of this package for a handle of omnizarr."""
    below = StorePath(place.store)
    below.path = handle.path
    if isinstance(handle, UnreadableNode):
        raise handle.error
    if isinstance(handle, OwnArray):
        return Array._of(handle, below)
    return Group._of(handle, below)


class Group:
    """A group of arrays and groups."""

    _async_class: ClassVar[Any]
    """`AsyncGroup`, which a module above this one sets."""

    def __init__(self, async_group: Any) -> None:
        group = getattr(async_group, "_group", async_group)
        self._handle: OwnGroup = group._handle
        self.store_path: StorePath = group.store_path

    @classmethod
    def _of(cls, handle: OwnGroup, store_path: StorePath) -> Self:
        group = cls.__new__(cls)
        group._handle = handle
        group.store_path = store_path
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
        return cls._of(create.open_handle(place, "group", zarr_format, use_consolidated), place)

    # -- properties

    @property
    def _async_group(self) -> Any:
        return self._async_class(self)

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
        consolidated = None
        if self._handle.consolidated:
            prefix = f"{self.path}/" if self.path else ""
            members = self._handle._known_members()
            if members is None:
                members = list(self._handle.members(max_depth=None))
            consolidated = ConsolidatedMetadata(
                {
                    node.path[len(prefix) :]: node_of(node, self.store_path, self.path).metadata
                    for _, node in members
                    if not isinstance(node, UnreadableNode)
                }
            )
        return GroupMetadata(dict(self._handle._attributes()), self.zarr_format, consolidated)

    @property
    def info(self) -> Any:
        """A printable summary."""
        return self._handle.info

    def info_complete(self) -> Any:
        """A printable summary of everything below the group."""
        return self._handle.info_complete()

    # -- members

    @translated
    def __getitem__(self, path: str) -> Any:
        try:
            return node_of(self._handle[normalize_path(path)], self.store_path, self.path)
        except own.NodeNotFoundError:
            raise KeyError(path) from None

    def get(self, path: str, default: Any = None) -> Any:
        """The member at `path`, or `default`."""
        try:
            return self[path]
        except KeyError:
            return default

    def get_array(self, path: str) -> Array:
        """The array at `path`."""
        node = self[path]
        if not isinstance(node, Array):
            raise ValueError(f"{path} is not an array")
        return node

    def get_group(self, path: str) -> Group:
        """The group at `path`."""
        node = self[path]
        if not isinstance(node, Group):
            raise ValueError(f"{path} is not a group")
        return node

    @translated
    def __delitem__(self, key: str) -> None:
        try:
            del self._handle[normalize_path(key)]
        except own.NodeNotFoundError:
            pass

    @translated
    def __setitem__(self, key: str, value: Any) -> None:
        self._handle[normalize_path(key)] = np.asarray(value)

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
        found = self._handle.members(max_depth)
        return tuple((name, node_of(node, self.store_path, self.path)) for name, node in found)

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

    def tree(self, expand: Any = None, level: int | None = None) -> Any:
        """The hierarchy below the group, printable."""
        return self._handle.tree(level)

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

    @translated
    def create_group(self, name: str, *, overwrite: bool = False, attributes: Any = None) -> Group:
        """Creates a group below this one."""
        place = self.store_path / name
        self.store_path.store._check_writable()
        try:
            handle = self._handle.create_group(place.path[len(self.path) :], attributes=attributes, overwrite=overwrite)
        except own.NodeExistsError as error:
            raise create._exists(place, error) from error
        return Group._of(handle, place)

    def require_group(self, name: str, *, overwrite: bool = False) -> Group:
        """The group `name`, which is created if there is none."""
        if overwrite:
            return self.create_group(name, overwrite=True)
        node = self.get(name)
        if node is None:
            return self.create_group(name)
        if not isinstance(node, Group):
            raise TypeError(f"Incompatible object ({type(node).__name__}) already exists")
        return node

    def require_groups(self, *names: str) -> tuple[Group, ...]:
        """Several groups, which are created if there are none."""
        return tuple(self.require_group(name) for name in names)

    @translated
    def create_array(self, name: str, **options: Any) -> Array:
        """Creates an array below this group."""
        options.pop("storage_options", None)
        return self._refreshed(new_array(self.store_path / name, zarr_format=self.zarr_format, **options))

    def _refreshed(self, array: Array) -> Array:
        consolidated = self._handle._context.consolidated
        if consolidated is not None:
            consolidated.record_nodes([array.path])
        return array

    create = create_array

    def create_dataset(self, name: str, **options: Any) -> Array:
        """Creates an array: the name of `create_array` in h5py."""
        data = options.pop("data", None)
        if data is not None and "shape" not in options:
            options["data"] = data
            return self.create_array(name, **options)
        array = self.create_array(name, **options)
        if data is not None:
            array[...] = data
        return array

    def require_array(self, name: str, *, shape: Any, dtype: Any = None, exact: bool = False, **options: Any) -> Array:
        """The array `name`, which is created if there is none."""
        node = self.get(name)
        if node is None:
            return self.create_array(name, shape=shape, dtype=dtype, **options)
        if not isinstance(node, Array):
            raise TypeError(f"Incompatible object ({type(node).__name__}) already exists")
        lengths = (shape,) if isinstance(shape, int) else tuple(shape)
        if lengths != node.shape:
            raise TypeError(f"Incompatible shape ({node.shape} vs {lengths})")
        wanted = np.dtype(dtype)
        if exact and node.dtype != wanted:
            raise TypeError(f"Incompatible dtype ({node.dtype} vs {wanted})")
        if not np.can_cast(node.dtype, wanted):
            raise TypeError(f"Incompatible dtype ({node.dtype} vs {wanted})")
        return node

    require_dataset = require_array

    def array(self, name: str, *, data: Any = None, **options: Any) -> Array:
        """Creates an array from data."""
        if data is not None and options.get("shape") is None:
            options.pop("shape", None)
            options.pop("dtype", None) if options.get("dtype") is None else None
            if "dtype" in options:
                data = np.asarray(data, options.pop("dtype"))
            return self.create_array(name, data=data, **options)
        return self.create_dataset(name, data=data, **options)

    def empty(self, *, name: str, shape: Any, **options: Any) -> Array:
        """Creates an array."""
        return self.create_array(name, shape=shape, **{"dtype": "float64", **options})

    def zeros(self, *, name: str, shape: Any, **options: Any) -> Array:
        """Creates an array of zeros."""
        return self.full(name=name, shape=shape, fill_value=0, **options)

    def ones(self, *, name: str, shape: Any, **options: Any) -> Array:
        """Creates an array of ones."""
        return self.full(name=name, shape=shape, fill_value=1, **options)

    def full(self, *, name: str, shape: Any, fill_value: Any, **options: Any) -> Array:
        """Creates an array of one value."""
        return self.create_array(name, shape=shape, fill_value=fill_value, **{"dtype": "float64", **options})

    def _like(self, data: Any, options: dict[str, Any]) -> dict[str, Any]:
        chunks = getattr(data, "chunks", None)
        like = {"shape": data.shape, "dtype": data.dtype} | ({} if chunks is None else {"chunks": chunks})
        return like | options

    def empty_like(self, *, name: str, data: Any, **options: Any) -> Array:
        """Creates an array with the shape and type of another one."""
        return self.empty(name=name, **self._like(data, options))

    def zeros_like(self, *, name: str, data: Any, **options: Any) -> Array:
        """Creates an array of zeros with the shape and type of another one."""
        return self.zeros(name=name, **self._like(data, options))

    def ones_like(self, *, name: str, data: Any, **options: Any) -> Array:
        """Creates an array of ones with the shape and type of another one."""
        return self.ones(name=name, **self._like(data, options))

    def full_like(self, *, name: str, data: Any, fill_value: Any = 0, **options: Any) -> Array:
        """Creates an array of one value with the shape and type of another one."""
        return self.full(name=name, fill_value=fill_value, **self._like(data, options))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Group):
            return NotImplemented
        return self.store_path == other.store_path and self.metadata == other.metadata

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Group {self.store_path}>"

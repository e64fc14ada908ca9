"""`describe`: the properties of an array, or of a group and everything below it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias

from omnizarr._json import Json
from omnizarr.display.texts import type_text
from omnizarr.errors import StoreError
from omnizarr.nodes import Array, Group, UnreadableNode

__all__ = [
    "AnyMember",
    "ArrayInfo",
    "ArrayMember",
    "GroupInfo",
    "GroupMember",
    "UnreadableMember",
    "describe",
    "describe_array",
    "describe_group",
    "describe_member",
    "iterate_members",
    "member_of",
]

MOST_MEMBERS = 100_000
"""Nodes below a group to describe; more would not fit in memory on small machines."""


@dataclass(frozen=True, slots=True)
class ArrayMember:
    """What a table shows of an array."""

    path: str
    """Relative to the group that is described."""
    node_type: Literal["array"]
    dimension_names: tuple[str | None, ...] | None
    shape: tuple[int, ...]
    data_type: Json
    """As in a document of v3."""
    type: str
    """The data type in short, with the unit of times."""
    chunks: Any
    """The chunk shape; that of the inner chunks if the array is sharded."""
    shards: Any
    """The shape of the shards; None if the array is not sharded."""
    codecs: tuple[str, ...]
    """The names of the codecs of a chunk."""
    fill_value: Json
    """As in a document of v3; None if it is undefined."""
    attributes: int
    """The number of attributes."""
    nbytes: int


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A group below the group that is described."""

    path: str
    node_type: Literal["group"]
    attributes: int


@dataclass(frozen=True, slots=True)
class UnreadableMember:
    """A node below the group whose metadata cannot be used."""

    path: str
    node_type: Literal["unreadable"]
    error: str


AnyMember: TypeAlias = ArrayMember | GroupMember | UnreadableMember


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """An array, in the words of v3 whatever its generation."""

    store: str
    path: str
    """The path in the hierarchy; empty for its root."""
    node_type: Literal["array"]
    zarr_format: Any
    format_name: str
    shape: tuple[int, ...]
    data_type: Json
    type: str
    chunks: Any
    shards: Any
    dimension_names: tuple[str | None, ...] | None
    fill_value: Json
    order: str
    filters: tuple[Json, ...]
    serializer: Json
    compressors: tuple[Json, ...]
    attributes: dict[str, Json]
    nbytes: int
    nchunks: int


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """A group and the nodes below it."""

    store: str
    path: str
    node_type: Literal["group"]
    zarr_format: Any
    format_name: str
    consolidated: bool
    attributes: dict[str, Json]
    members: tuple[AnyMember, ...] | None
    """All nodes below the group; None if the store cannot list them."""
    complete: bool
    """Whether `members` has all of them: at most 100,000 are described."""
    nbytes: int
    """The logical size of all arrays below the group."""


def describe(node: Array | Group) -> ArrayInfo | GroupInfo:
    """The properties of a node, from its metadata; for a group, also of all nodes below it."""
    return describe_array(node) if isinstance(node, Array) else describe_group(node)


def describe_array(array: Array) -> ArrayInfo:
    """The properties of an array, from its metadata."""
    model = array.metadata
    return ArrayInfo(
        store=array.store.location,
        path=array.path,
        node_type="array",
        zarr_format=array.zarr_format,
        format_name=array._context.dialect.format_name,
        shape=array.shape,
        data_type=array.data_type.to_json(),
        type=type_text(array.data_type),
        chunks=_chunks(array),
        shards=None if model.sharding is None else model.grid.chunks,
        dimension_names=array.dimension_names,
        fill_value=_fill(array),
        order=array.order,
        filters=tuple(codec.to_json() for codec in array.filters),
        serializer=array.serializer.to_json(),
        compressors=tuple(codec.to_json() for codec in array.compressors),
        attributes=array.attrs.asdict(),
        nbytes=array.nbytes,
        nchunks=array.nchunks,
    )


def _chunks(array: Array) -> Any:
    model = array.metadata
    return model.grid.chunks if model.sharding is None else array.chunks


def _fill(array: Array) -> Json:
    fill = array.metadata.fill
    return None if fill is None else array.data_type.dump_fill(fill)


def describe_group(group: Group, levels: int | None = None) -> GroupInfo:
    """The properties of a group and of the nodes below it: those of so many levels, or all."""
    members: tuple[AnyMember, ...] | None
    try:
        members = tuple(islice(iterate_members(group, levels), MOST_MEMBERS + 1))
    except StoreError:
        if group.store.listable:
            raise
        members = None
    known = members or ()
    return GroupInfo(
        store=group.store.location,
        path=group.path,
        node_type="group",
        zarr_format=group.zarr_format,
        format_name=group._context.dialect.format_name,
        consolidated=group.consolidated,
        attributes=group.attrs.asdict(),
        members=None if members is None else members[:MOST_MEMBERS],
        complete=members is not None and len(members) <= MOST_MEMBERS,
        nbytes=sum(member.nbytes for member in known if isinstance(member, ArrayMember)),
    )


def iterate_members(group: Group, levels: int | None) -> Iterator[AnyMember]:
    """The nodes below a group. A handle is dropped as soon as it is described, so that memory stays small."""
    if levels == 0:
        return
    for path, node in group._walk(None if levels is None else levels - 1):
        yield member_of(path, node)


def member_of(path: str, node: Array | Group | UnreadableNode) -> AnyMember:
    """What a listing shows of a node."""
    if isinstance(node, UnreadableNode):
        return UnreadableMember(path, "unreadable", node.reason)
    if isinstance(node, Group):
        return GroupMember(path, "group", len(node.metadata.visible_attributes))
    return describe_member(path, node)


def describe_member(path: str, array: Array) -> ArrayMember:
    """What a table shows of an array."""
    model = array.metadata
    codecs = (*array.filters, array.serializer, *array.compressors)
    return ArrayMember(
        path=path,
        node_type="array",
        dimension_names=array.dimension_names,
        shape=model.shape,
        data_type=array.data_type.to_json(),
        type=type_text(array.data_type),
        chunks=_chunks(array),
        shards=None if model.sharding is None else model.grid.chunks,
        codecs=tuple(str(codec.name) for codec in codecs),
        fill_value=_fill(array),
        attributes=len(array.attrs),
        nbytes=model.nbytes,
    )

"""The output of `omnizarr info --json`: the properties of a node as JSON values."""

from __future__ import annotations

from typing import Any

from omnizarr.nodes import Array, Group, UnreadableNode

__all__ = ["array_facts", "group_facts"]


def array_facts(array: Array, *, complete: bool) -> dict[str, Any]:
    """The properties of an array, spelled as in its document; `complete` adds the stored size and number of chunks."""
    model = array.metadata
    facts: dict[str, Any] = {
        **_location(array),
        "node_type": "array",
        "zarr_format": array.zarr_format,
        "shape": array.shape,
        "data_type": array.data_type.to_json(),
        "chunks": model.grid.chunks if model.sharding is None else array.chunks,
        "shards": None if model.sharding is None else model.grid.chunks,
        "dimension_names": array.dimension_names,
        "fill_value": None if model.fill is None else array.data_type.dump_fill(model.fill),
        "order": array.order,
        "filters": [codec.to_json() for codec in array.filters],
        "serializer": array.serializer.to_json(),
        "compressors": [codec.to_json() for codec in array.compressors],
        "attributes": array.attrs.asdict(),
        "nbytes": array.nbytes,
        "nchunks": array.nchunks,
    }
    if complete:
        facts["nbytes_stored"] = array.nbytes_stored()
        facts["nchunks_initialized"] = array.nchunks_initialized
    return facts


def group_facts(group: Group, *, complete: bool) -> dict[str, Any]:
    """The properties and direct members of a group; `complete` adds the totals of all arrays below it."""
    facts: dict[str, Any] = {
        **_location(group),
        "node_type": "group",
        "zarr_format": group.zarr_format,
        "attributes": group.attrs.asdict(),
        "consolidated": group.consolidated,
        "members": {name: _member(node) for name, node in group.members()},
    }
    if complete:
        arrays = [node for _, node in group.members(max_depth=None) if isinstance(node, Array)]
        facts["arrays"] = len(arrays)
        facts["nbytes"] = sum(array.nbytes for array in arrays)
        facts["nbytes_stored"] = sum(array.nbytes_stored() for array in arrays)
    return facts


def _location(node: Array | Group) -> dict[str, Any]:
    return {"store": node.store.location, "path": node.path}


def _member(node: Array | Group | UnreadableNode) -> dict[str, Any]:
    if isinstance(node, UnreadableNode):
        return {"error": node.reason}
    if isinstance(node, Group):
        return {"node_type": "group"}
    return {"node_type": "array", "shape": node.shape, "data_type": node.data_type.to_json()}

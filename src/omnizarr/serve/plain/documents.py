"""The documents of a hierarchy in the generation in which it is shown."""

from __future__ import annotations

from itertools import islice

from omnizarr._json import Json
from omnizarr.errors import OmnizarrError
from omnizarr.formats import Dialect
from omnizarr.model import GroupModel
from omnizarr.nodes import Array, Group
from omnizarr.serve.plain.conversion import convert, plain_attributes

__all__ = ["node_documents", "root_documents"]

_MOST_NODES = 10_000  # in consolidated metadata, which is made for each request


def node_documents(path: str, node: Array | Group, dialect: Dialect, viewer: str | None) -> dict[str, Json]:
    """The documents of a node, by key."""
    if isinstance(node, Array):
        return dialect.dump(path, convert(node, dialect, viewer).model)
    return dialect.dump(path, _group(node, dialect))


def root_documents(group: Group, dialect: Dialect, viewer: str | None) -> dict[str, Json]:
    """The documents of the root, with consolidated metadata: readers cannot list over HTTP."""
    documents: dict[str, Json] = {}
    try:
        members = list(islice(group._walk(None), _MOST_NODES + 1))
    except OmnizarrError:  # the store cannot list
        members = []
    consolidates = 0 < len(members) <= _MOST_NODES
    for path, node in members if consolidates else ():
        try:
            if isinstance(node, (Array, Group)):
                documents |= node_documents(path, node, dialect, viewer)
        except OmnizarrError:
            pass  # a request for this node tells the reason
    root = _group(group, dialect)
    if not consolidates:
        return dialect.dump("", root)
    key = dialect.consolidated_key("")
    if key is None:
        return dialect.dump("", GroupModel(root.attributes, documents, dialect.zarr_format))
    own = dialect.dump("", root)
    return own | {key: dialect.dump_consolidated("", own | documents)}


def _group(group: Group, dialect: Dialect) -> GroupModel:
    return dialect.new_group(plain_attributes(group))

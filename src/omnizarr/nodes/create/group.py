"""Creating a group."""

from __future__ import annotations

from typing import Any

from omnizarr.errors import ArgumentError
from omnizarr.model import GroupModel
from omnizarr.nodes.attributes import as_attributes
from omnizarr.nodes.create.node import create_node
from omnizarr.nodes.node import NodeContext

__all__ = ["create_group_node"]


def create_group_node(
    context: NodeContext,
    attributes: Any = None,
    *,
    overwrite: bool = False,
    known_group: str | None = None,
    extensions: Any = None,
    metadata_encoding: Any = None,
) -> tuple[NodeContext, GroupModel]:
    """Stores a new group. `extensions` and `metadata_encoding` are options of a new draft hierarchy, at its root."""
    if extensions is not None or metadata_encoding is not None:
        if context.path:
            raise ArgumentError(
                "`extensions` and `metadata_encoding` are options of a hierarchy: only its root group takes them",
                argument="extensions" if extensions is not None else "metadata_encoding",
            )
        context = context._replace(dialect=context.dialect.with_hierarchy_options(extensions, metadata_encoding))
    model = context.dialect.new_group(as_attributes(attributes))
    return create_node(context, model, overwrite=overwrite, known_group=known_group), model

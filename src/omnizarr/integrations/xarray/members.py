"""The arrays of a group with shapes that belong together, while a writer appends to all of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from omnizarr.nodes import Array, Group
from omnizarr.nodes.array_state import with_shape
from omnizarr.nodes.joint_append.journal import Journal, journal_of

__all__ = ["consistent_members"]

_ATTEMPTS = 5
_PAUSE = 0.05  # seconds


def consistent_members(group: Group, members: Sequence[tuple[str, Any]] | None = None) -> list[tuple[str, Any]]:
    """The members of a group, such as `members`, which were fetched already; arrays with their valid shapes.

    An append changes the documents of arrays one after another. The journal in the attributes says which shapes belong
    together. If the lengths of a dimension still differ, an append began after the attributes were read: read again.
    """
    consolidated = group._context.consolidated
    if consolidated is not None and consolidated.trusted:  # one document holds all shapes
        return list(group.members() if members is None else members)
    for attempt in range(_ATTEMPTS):
        items = group.members() if members is None or attempt else members
        journal = journal_of(group._model.attributes)
        valid = [(name, node if journal is None else _with_valid_shape(node, journal, name)) for name, node in items]
        if not _conflict(node for _, node in valid):
            break
        time.sleep(_PAUSE * attempt)
        group.refresh()
    return valid


def _with_valid_shape(node: Any, journal: Journal, name: str) -> Any:
    if type(node) is not Array or (shape := journal.valid_shape(name, node.shape)) == node.shape:
        return node
    return Array(node._context._replace(consolidated=None), with_shape(node._model, shape))


def _conflict(nodes: Iterable[Any]) -> bool:
    """Whether a dimension has different lengths in different arrays."""
    lengths: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, Array):
            for name, length in zip(node.dimension_names or (), node.shape, strict=False):
                if name is not None and lengths.setdefault(name, length) != length:
                    return True
    return False

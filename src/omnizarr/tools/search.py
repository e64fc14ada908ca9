"""`find_nodes`: the nodes of a hierarchy with a certain name, type or attribute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any

import numpy as np

from omnizarr._json import Json, nearest
from omnizarr.dtypes import data_types
from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array, Group, UnreadableNode
from omnizarr.tools.describe import AnyMember, member_of

__all__ = ["find_nodes"]

_KINDS = ("array", "group", "unreadable")


def find_nodes(
    node: Array | Group,
    *,
    names: Sequence[str] = (),
    types: Sequence[str] = (),
    attributes: Sequence[tuple[str, Json]] | Sequence[tuple[str]] = (),
) -> Iterator[AnyMember]:
    """The node itself and the nodes below it that match one of the names, one of the types, and all attributes.

    Args:
        names: patterns such as `t*`; one with a `/` is compared with the whole path, others with the last part of it.
        types: `array`, `group`, `unreadable`, or data types or patterns of them, such as `float*`.
        attributes: names of attributes, optionally with the value that they must have.
    """
    for pattern in (*names, *types):
        if not pattern:
            raise ArgumentError("a pattern is empty", argument="names")
    types = [_type_pattern(text) for text in types]
    below = () if isinstance(node, Array) else node._walk(None)
    for path, member in chain([("", node)], below):
        if names and not any(_matches_name(path or node.basename, pattern) for pattern in names):
            continue
        if types and not any(_matches_type(member, pattern) for pattern in types):
            continue
        if attributes and not _matches_attributes(member, attributes):
            continue
        yield member_of(path, member)


def _type_pattern(text: str) -> str:
    """The pattern of a type: the name of NumPy for texts such as `<f4`. Raises ArgumentError if it is misspelt, because
    it would find nothing."""
    known = (*_KINDS, *data_types.names())
    if any(character in text for character in "*?[") or text in known:
        return text
    try:
        return str(np.dtype(text).newbyteorder("="))
    except TypeError:
        raise ArgumentError(f"unknown type `{text}`", argument="types", hint=nearest(text, known)) from None


def _matches_name(path: str, pattern: str) -> bool:
    return fnmatchcase(path if "/" in pattern else path.rpartition("/")[2], pattern)


def _matches_type(node: Array | Group | UnreadableNode, pattern: str) -> bool:
    kind = "array" if isinstance(node, Array) else "group" if isinstance(node, Group) else "unreadable"
    if pattern in _KINDS:
        return pattern == kind
    if not isinstance(node, Array):
        return False
    return fnmatchcase(node.data_type.name, pattern) or fnmatchcase(str(node.dtype), pattern)


def _matches_attributes(node: Array | Group | UnreadableNode, conditions: Sequence[tuple[Any, ...]]) -> bool:
    if isinstance(node, UnreadableNode):
        return False
    attributes = node.attrs
    for name, *values in conditions:
        if name not in attributes:
            return False
        if values and attributes[name] not in (values[0], str(values[0])):
            return False
    return True

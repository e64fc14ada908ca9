"""`Tree`: the printable tree of a hierarchy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from omnizarr.nodes.array import Array
from omnizarr.nodes.unreadable import UnreadableNode

__all__ = ["Tree", "label"]


def label(name: str, node: Any) -> str:
    """The line of a node in a tree."""
    if isinstance(node, Array):
        return f"{name} {node.shape} {node.data_type.name}"
    if isinstance(node, UnreadableNode):
        return f"{name} (unreadable: {node.reason})"
    return name


class Tree:
    """The result of `Group.tree()`. Its text is the drawn tree."""

    def __init__(self, name: str, root: Any, members: Iterable[tuple[str, Any]]) -> None:
        self.name = name
        self.root = root
        self.members = tuple(sorted(members, key=lambda member: member[0].split("/")))

    def __str__(self) -> str:
        last = {path.rpartition("/")[0]: path for path, _ in self.members}  # the last member of each group
        lines = [label(self.name, self.root)]
        indents = {"": ""}
        for path, node in self.members:  # a group comes before its members
            group, _, name = path.rpartition("/")
            ends = last[group] == path
            lines.append(f"{indents[group]}{'└── ' if ends else '├── '}{label(name, node)}")
            indents[path] = indents[group] + ("    " if ends else "│   ")
        return "\n".join(lines)

    __repr__ = __str__

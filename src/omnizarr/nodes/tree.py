"""A hierarchy drawn as a tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from omnizarr.nodes.array import Array
from omnizarr.nodes.unreadable import UnreadableNode

__all__ = ["Tree", "label"]


def label(name: str, node: Any) -> str:
    """One line about a node."""
    if isinstance(node, Array):
        return f"{name} {node.shape} {node.data_type.name}"
    if isinstance(node, UnreadableNode):
        return f"{name} (unreadable: {node.reason})"
    return name


class Tree:
    """What `Group.tree()` gives; print it."""

    def __init__(self, name: str, root: Any, members: Iterable[tuple[str, Any]]) -> None:
        self.name = name
        self.root = root
        self.members = tuple(sorted(members, key=lambda member: member[0].split("/")))

    def __str__(self) -> str:
        children: dict[str, list[tuple[str, Any]]] = {}
        for path, node in self.members:
            children.setdefault(path.rpartition("/")[0], []).append((path, node))
        lines = [label(self.name, self.root)]

        def draw(parent: str, indent: str) -> None:
            siblings = children.get(parent, [])
            for number, (path, node) in enumerate(siblings, 1):
                last = number == len(siblings)
                lines.append(f"{indent}{'└── ' if last else '├── '}{label(path.rpartition('/')[2], node)}")
                draw(path, indent + ("    " if last else "│   "))

        draw("", "")
        return "\n".join(lines)

    __repr__ = __str__

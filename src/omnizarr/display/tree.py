"""`Tree`: the printable tree of a hierarchy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from omnizarr.display.texts import by_path, label

__all__ = ["Tree"]


class Tree:
    """The result of `Group.tree()`. Its text is the drawn tree."""

    def __init__(self, name: str, root: Any, members: Iterable[tuple[str, Any]]) -> None:
        self.name = name
        self.root = root
        self.members = tuple(sorted(members, key=by_path))

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

    def _repr_html_(self) -> str:
        from omnizarr.display.html import tree_html  # lazy import: notebooks only

        return tree_html(self.name, self.root, self.members)

    def __rich__(self) -> Any:
        from omnizarr.display.terminal import coloured_tree  # lazy import: rich takes 30 ms

        return coloured_tree(self.name, self.root, self.members)

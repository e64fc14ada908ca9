"""A hierarchy as conventions see it: attributes, arrays and dimension names by path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from omnizarr._json import Json
from omnizarr.model import ArrayModel, join_path
from omnizarr.tools.validation.findings import Finding, Level
from omnizarr.tools.validation.nodes import CheckedNode, Hierarchy

__all__ = ["HierarchyView", "is_number"]


class HierarchyView:
    """The readable nodes of a hierarchy, and the findings of one convention."""

    def __init__(self, convention: str, hierarchy: Hierarchy, nodes: Sequence[CheckedNode]) -> None:
        self.findings: list[Finding] = []
        self.top = hierarchy.top.path
        self.zarr_format = hierarchy.dialect.zarr_format
        self._convention = convention
        self._dialect = hierarchy.dialect
        self._nodes = {node.path: node for node in nodes if node.model is not None}

    def attributes(self, path: str) -> dict[str, Json]:
        node = self._nodes.get(path)
        return {} if node is None or node.model is None else node.model.attributes

    def array(self, path: str) -> ArrayModel | None:
        node = self._nodes.get(path)
        return None if node is None else node.array

    def is_group(self, path: str) -> bool:
        node = self._nodes.get(path)
        return node is not None and node.kind == "group"

    def __contains__(self, path: str) -> bool:
        return path in self._nodes

    def groups(self) -> Iterator[str]:
        return (path for path, node in self._nodes.items() if node.kind == "group")

    def arrays(self, group: str | None = None) -> Iterator[tuple[str, ArrayModel]]:
        """The arrays by path; with `group`, those directly in it."""
        for path, node in self._nodes.items():
            if node.array is not None and (group is None or (path and path.rpartition("/")[0] == group)):
                yield path, node.array

    def dimensions(self, path: str) -> tuple[str | None, ...] | None:
        """The names of an array's dimensions."""
        array = self.array(path)
        return None if array is None else self._dialect.dimension_names(array)

    def sibling(self, path: str, name: str) -> str | None:
        """The path of the array `name` in the group of an array, or in a group above it."""
        group = path.rpartition("/")[0]
        if name.startswith("/"):
            return name.strip("/") if name.strip("/") in self else None
        while True:
            if (sibling := join_path(group, name)) in self:
                return sibling
            if not group or group == self.top:
                return None
            group = group.rpartition("/")[0]

    def add(
        self, rule: str, path: str, message: str, mend: str, *, place: str | None = None, level: Level = "error"
    ) -> None:
        """Adds a finding. `rule` names the rule inside the convention."""
        finding = Finding(level, f"{self._convention}: {rule}", "convention", f"/{path}", None, place, message, mend)
        self.findings.append(finding)


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)

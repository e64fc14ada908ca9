"""Consolidated metadata: the documents of all nodes below a group, gathered in one place, read instead of them or kept
up to date with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from omnizarr._json import Json
from omnizarr.formats import Dialect, Node
from omnizarr.model import GroupModel, join_path
from omnizarr.nodes.documents import change, parse_node
from omnizarr.store import Store

__all__ = ["Consolidated", "gathered"]


class Consolidated:
    """The consolidated metadata that a handle came through: of the group at `root`, with documents by relative path.

    A handle that reads from it (`trusted`) asks for no other document; a handle that does not only keeps it up to date.
    """

    def __init__(self, store: Store, dialect: Dialect, root: str, documents: dict[str, Json], *, trusted: bool) -> None:
        self.root = root
        self.trusted = trusted
        self._store = store
        self._dialect = dialect
        self._documents = documents

    def _relative(self, path: str) -> str:
        return path[len(self.root) + 1 :] if self.root else path

    def has(self, path: str) -> bool:
        return self._relative(path) in self._documents

    def node(self, path: str) -> Node:
        """The node at `path`, from its gathered document."""
        (key,) = self._dialect.keys(path)
        return parse_node(self._dialect, self._store, path, {key: self._documents[self._relative(path)]})

    def children(self, path: str) -> Iterator[str]:
        """The names of the nodes directly below `path`."""
        below = self._relative(path) if path != self.root else ""
        prefix = f"{below}/" if below else ""
        for known in self._documents:
            if known.startswith(prefix) and known != below and "/" not in known[len(prefix) :]:
                yield known[len(prefix) :]

    def note(self, path: str, document: Json | None) -> None:
        """Brings the stored copy up to date after the node at `path` was written, or erased (None)."""
        relative = self._relative(path)
        if not relative:
            return

        def noted(group: GroupModel) -> GroupModel:
            if group.consolidated is None:  # somebody removed it; then there is nothing to keep up to date
                return group
            return replace(group, consolidated=_with(group.consolidated, relative, document))

        self._documents = _with(self._documents, relative, document)
        change(self._store, self._dialect, self.root, noted, GroupModel)


def _with(documents: dict[str, Json], path: str, document: Json | None) -> dict[str, Json]:
    if document is not None:
        return documents | {path: document}
    return {known: kept for known, kept in documents.items() if known != path and not known.startswith(f"{path}/")}


def gathered(dialect: Dialect, root: str, nodes: Iterator[tuple[str, Node]]) -> dict[str, Json]:
    """Documents of nodes (with paths relative to `root`) as they stand in consolidated metadata."""
    documents = {}
    for path, node in nodes:
        if isinstance(node, GroupModel):
            node = replace(node, consolidated=None)
        documents[path] = next(iter(dialect.dump(join_path(root, path), node).values()))
    return documents

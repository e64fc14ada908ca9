"""Consolidated metadata: the documents of all nodes below a group, gathered in one place, read instead of them or kept
up to date with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from omnizarr._json import Json
from omnizarr.formats import Dialect, Node
from omnizarr.model import GroupModel
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
        self.documents = documents
        self._store = store
        self._dialect = dialect

    def bare(self) -> Consolidated:
        """The same for a handle that only keeps it up to date, which needs none of the documents."""
        return Consolidated(self._store, self._dialect, self.root, {}, trusted=False)

    def _relative(self, path: str) -> str:
        return path[len(self.root) + 1 :] if self.root else path

    def has(self, path: str) -> bool:
        return self._relative(path) in self.documents

    def node(self, path: str) -> Node:
        """The node at `path`, from its gathered document."""
        (key,) = self._dialect.keys(path)
        return parse_node(self._dialect, self._store, path, {key: self.documents[self._relative(path)]})

    def children(self, path: str) -> Iterator[str]:
        """The names of the nodes directly below `path`."""
        below = self._relative(path) if path != self.root else ""
        prefix = f"{below}/" if below else ""
        for known in self.documents:
            if known.startswith(prefix) and known != below and "/" not in known[len(prefix) :]:
                yield known[len(prefix) :]

    def written(self, nodes: dict[str, Node]) -> None:
        """Brings the stored copy up to date after nodes were written, given by their path."""
        new = {self._relative(path): gathered(self._dialect, path, node) for path, node in nodes.items()}
        new.pop("", None)  # the group itself is not among them
        if new:
            self._change(lambda documents: documents | new)

    def moved(self, old: str, new: str | None) -> None:
        """Brings the stored copy up to date after a node was moved, with all below it; or erased, if `new` is None."""
        before, after = self._relative(old), None if new is None else self._relative(new)

        def renamed(documents: dict[str, Json]) -> dict[str, Json]:
            kept = {}
            for path, document in documents.items():
                if path != before and not path.startswith(f"{before}/"):
                    kept[path] = document
                elif after is not None:
                    kept[after + path[len(before) :]] = document
            return kept

        self._change(renamed)

    def _change(self, how: Callable[[dict[str, Json]], dict[str, Json]]) -> None:
        def changed(group: GroupModel) -> GroupModel:
            if group.consolidated is None:  # somebody removed it; then there is nothing to keep up to date
                return group
            return replace(group, consolidated=how(group.consolidated))

        self.documents = how(self.documents)
        change(self._store, self._dialect, self.root, changed, GroupModel)


def gathered(dialect: Dialect, path: str, node: Node) -> Json:
    """The document of a node as it stands in consolidated metadata: a group's without any of its own."""
    if isinstance(node, GroupModel):
        node = replace(node, consolidated=None)
    return next(iter(dialect.dump(path, node).values()))

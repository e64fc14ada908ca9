"""A group behaves like nested dicts, whatever is done to it in whatever order, with consolidated metadata or not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import omnizarr
from omnizarr.errors import OmnizarrError

NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
NUMBERS = st.integers(-100, 100)


class GroupAgainstDict(RuleBasedStateMachine):
    """Nodes are kept in a plain dict by path: an array as its number, a group as None."""

    def __init__(self) -> None:
        super().__init__()
        self.store = omnizarr.MemoryStore()
        self.root = omnizarr.create_group(self.store)
        self.nodes: dict[str, int | None] = {}
        self.attributes: dict[str, dict[str, int]] = {}

    def _above(self, path: str) -> list[str]:
        parts = path.split("/")
        return ["/".join(parts[:count]) for count in range(1, len(parts))]

    def _blocked(self, path: str) -> bool:
        return any(self.nodes.get(group) is not None for group in self._above(path))

    def _forget(self, path: str) -> None:
        for nodes in (self.nodes, self.attributes):
            for known in [known for known in nodes if known == path or known.startswith(f"{path}/")]:
                del nodes[known]  # type: ignore[attr-defined]

    def _add(self, path: str, value: int | None) -> None:
        for group in self._above(path):
            self.nodes.setdefault(group, None)
        self.nodes[path] = value

    @rule(path=PATHS, number=NUMBERS)
    def assign(self, path: str, number: int) -> None:
        if self._blocked(path):
            with pytest.raises(TypeError):
                self.root[path] = number
            return
        self.root[path] = number
        self._forget(path)
        self._add(path, number)

    @rule(path=PATHS, number=st.none() | NUMBERS)
    def create(self, path: str, number: int | None) -> None:
        def act() -> Any:
            return self.root.create_group(path) if number is None else self.root.create_array(path, data=number)

        if self._blocked(path):
            with pytest.raises(TypeError):
                act()
        elif path in self.nodes:
            with pytest.raises(FileExistsError):
                act()
        else:
            act()
            self._add(path, number)

    @rule(path=PATHS)
    def require(self, path: str) -> None:
        if self._blocked(path) or self.nodes.get(path) is not None:
            with pytest.raises(TypeError):
                self.root.require_group(path)
            return
        self.root.require_group(path)
        self._add(path, None)

    @rule(path=PATHS)
    def delete(self, path: str) -> None:
        if path not in self.nodes:
            with pytest.raises(KeyError):
                del self.root[path]
            return
        del self.root[path]
        self._forget(path)

    @rule(source=PATHS, destination=PATHS)
    def move(self, source: str, destination: str) -> None:
        inside = destination == source or destination.startswith(f"{source}/")
        if source not in self.nodes or inside or destination in self.nodes or self._blocked(destination):
            with pytest.raises(OmnizarrError):
                self.root.move(source, destination)
            return
        self.root.move(source, destination)
        moved = {path: value for path, value in self.nodes.items() if path == source or path.startswith(f"{source}/")}
        kept = {path: self.attributes[path] for path in moved if path in self.attributes}
        self._forget(source)
        for path, value in moved.items():
            self._add(destination + path[len(source) :], value)
        for path, attributes in kept.items():
            self.attributes[destination + path[len(source) :]] = attributes

    @rule(path=PATHS, number=NUMBERS)
    def describe(self, path: str, number: int) -> None:
        if path in self.nodes:
            self.root[path].attrs[f"n{number % 3}"] = number
            self.attributes.setdefault(path, {})[f"n{number % 3}"] = number

    @rule(number=NUMBERS, path=PATHS)
    def write(self, path: str, number: int) -> None:
        if self.nodes.get(path) is not None:
            self.root[path][...] = number  # type: ignore[index]
            self.nodes[path] = number

    @precondition(lambda self: self.root.metadata.consolidated is None)
    @rule(use=st.none() | st.booleans())
    def consolidate(self, use: bool | None) -> None:
        omnizarr.consolidate_metadata(self.store)
        self.root = omnizarr.open_group(self.store, mode="r+", use_consolidated=use)

    @rule()
    def reopen(self) -> None:
        self.root = omnizarr.open_group(self.store, mode="r+")

    @invariant()
    def same(self) -> None:
        for root in (self.root, omnizarr.open_group(self.store, mode="r")):
            found = {}
            for path, node in root.members(max_depth=None):
                assert isinstance(node, (omnizarr.Array, omnizarr.Group))
                found[path] = None if isinstance(node, omnizarr.Group) else int(node[()])
                assert node.attrs == self.attributes.get(path, {})
            assert found == self.nodes
            top = sorted(path for path in self.nodes if "/" not in path)
            assert list(root) == top
            assert len(root) == len(top)
        assert all(path in self.root for path in self.nodes)
        assert "nothing" not in self.root


TestGroupAgainstDict = GroupAgainstDict.TestCase
TestGroupAgainstDict.settings = settings(max_examples=max(15, settings().max_examples // 2), stateful_step_count=15)

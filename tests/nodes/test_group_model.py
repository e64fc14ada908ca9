"""A stateful test: any series of operations on a hierarchy, in any generation, with or without consolidated metadata,
gives the same nodes as a dict of NumPy arrays."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import omnizarr
from omnizarr.errors import NodeExistsError, NodeTypeError, OmnizarrError

NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
NUMBERS = st.integers(-100, 100)
LENGTHS = st.integers(0, 5)
VALUES = st.none() | st.booleans() | NUMBERS | st.text(max_size=2) | st.lists(NUMBERS, max_size=2)


@dataclass
class NodeModel:
    """The expected node: an array if it has data, else a group."""

    data: np.ndarray[Any, Any] | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    written: bool = True
    """Whether it has a document. A group of a draft without one vanishes when no node lies below it any more."""


class HierarchyAgainstDict(RuleBasedStateMachine):
    """Compares a hierarchy with a dict of nodes by path. In v1 the only node is an array at the root."""

    zarr_format: Any = 3

    def __init__(self) -> None:
        super().__init__()
        self.store = omnizarr.MemoryStore()
        self.nodes: dict[str, NodeModel] = {}
        self.alone = self.zarr_format == 1
        self.draft = isinstance(self.zarr_format, str)
        self.consolidates = self.zarr_format in (2, "3-draft-2020", 3)
        if self.alone:
            self.nodes[""] = NodeModel(np.zeros((2, 3)))
            self.root: Any = omnizarr.create_array(
                self.store, shape=(2, 3), dtype="f8", chunks=2, zarr_format=self.zarr_format
            )
        else:
            self.nodes[""] = NodeModel()
            self.root = omnizarr.create_group(self.store, zarr_format=self.zarr_format)

    # -- the model

    def _below(self, path: str) -> list[str]:
        return [known for known in self.nodes if known == path or known.startswith(f"{path}/")]

    def _above(self, path: str) -> list[str]:
        parts = path.split("/")
        return ["/".join(parts[:count]) for count in range(1, len(parts))]

    def _blocked(self, path: str) -> bool:
        return any(group in self.nodes and self.nodes[group].data is not None for group in self._above(path))

    def _forget(self, path: str) -> None:
        for known in self._below(path):
            del self.nodes[known]
        for group in reversed(self._above(path)):
            if group in self.nodes and not self.nodes[group].written and self._below(group) == [group]:
                del self.nodes[group]

    def _add(self, path: str, node: NodeModel) -> None:
        for group in self._above(path):
            self.nodes.setdefault(group, NodeModel(written=not self.draft))
        self.nodes[path] = node

    def _at(self, path: str) -> Any:
        """The handle of a node that exists."""
        return self.root[path] if path else self.root

    def _path(self, path: str) -> str:
        """The path of an existing node, for rules that need one."""
        return "" if self.alone else path

    def _array(self, path: str) -> np.ndarray[Any, Any] | None:
        return self.nodes[path].data if path in self.nodes else None

    # -- nodes

    @rule(path=PATHS, number=NUMBERS)
    def assign(self, path: str, number: int) -> None:
        if self.alone:
            return
        data = np.full((1, 2), float(number))
        if self._blocked(path):
            with pytest.raises(NodeTypeError):
                self.root[path] = data
            return
        self.root[path] = data
        self._forget(path)
        self._add(path, NodeModel(data))

    @rule(path=PATHS, shape=st.none() | st.tuples(LENGTHS, LENGTHS), value=VALUES)
    def create(self, path: str, shape: tuple[int, int] | None, value: Any) -> None:
        attributes = {} if value is None else {"made": value}

        def act() -> Any:
            if self.alone:
                options: dict[str, Any] = {"attributes": attributes, "zarr_format": 1}
                if shape is None:
                    return omnizarr.create_group(self.store, path=path, **options)
                return omnizarr.create_array(self.store, name=path, shape=shape, dtype="f8", **options)
            if shape is None:
                return self.root.create_group(path, attributes=attributes)
            return self.root.create_array(path, shape=shape, dtype="f8", chunks=2, attributes=attributes)

        if self.alone:
            with pytest.raises(OmnizarrError, match="v1"):
                act()
        elif self._blocked(path):
            with pytest.raises(NodeTypeError):
                act()
        elif path in self.nodes:
            with pytest.raises(NodeExistsError):
                act()
        else:
            act()
            self._add(path, NodeModel(None if shape is None else np.zeros(shape), attributes))

    @rule(path=PATHS)
    def require(self, path: str) -> None:
        if self.alone:
            return
        if self._blocked(path) or self._array(path) is not None:
            with pytest.raises(NodeTypeError):
                self.root.require_group(path)
            return
        self.root.require_group(path)
        if path not in self.nodes:
            self._add(path, NodeModel())

    @rule(path=PATHS)
    def delete(self, path: str) -> None:
        if self.alone:
            return
        if path not in self.nodes:
            with pytest.raises(KeyError):
                del self.root[path]
            return
        del self.root[path]
        self._forget(path)

    @rule(source=PATHS, destination=PATHS)
    def move(self, source: str, destination: str) -> None:
        if self.alone:
            return
        inside = destination == source or destination.startswith(f"{source}/")
        if source not in self.nodes or inside or destination in self.nodes or self._blocked(destination):
            with pytest.raises(OmnizarrError):
                self.root.move(source, destination)
            return
        self.root.move(source, destination)
        moved = {destination + path[len(source) :]: self.nodes[path] for path in self._below(source)}
        self._forget(source)
        for path, node in moved.items():
            self._add(path, node)

    # -- attributes and data

    @rule(path=PATHS, value=VALUES, name=NAMES)
    def describe(self, path: str, value: Any, name: str) -> None:
        if (path := self._path(path)) in self.nodes:
            self._at(path).attrs[name] = value
            self.nodes[path].attributes[name] = value
            self.nodes[path].written = True

    @rule(path=PATHS)
    def undescribe(self, path: str) -> None:
        if (path := self._path(path)) in self.nodes:
            self._at(path).attrs.clear()
            self.nodes[path].attributes.clear()
            self.nodes[path].written = True

    @rule(path=PATHS, number=NUMBERS, start=LENGTHS)
    def write(self, path: str, number: int, start: int) -> None:
        data = self._array(path := self._path(path))
        if data is not None:
            self._at(path)[start:, 1:] = number
            data[start:, 1:] = number

    @rule(path=PATHS, shape=st.tuples(LENGTHS, LENGTHS))
    def resize(self, path: str, shape: tuple[int, int]) -> None:
        data = self._array(path := self._path(path))
        if data is not None:
            self._at(path).resize(shape)
            new = np.zeros(shape)
            kept = tuple(slice(min(pair)) for pair in zip(data.shape, shape, strict=True))
            new[kept] = data[kept]
            self.nodes[path].data = new

    @rule(path=PATHS, number=NUMBERS, axis=st.integers(-2, 1))
    def append(self, path: str, number: int, axis: int) -> None:
        data = self._array(path := self._path(path))
        if data is not None:
            more = np.full((2, data.shape[1]) if axis % 2 == 0 else (data.shape[0], 2), float(number))
            self._at(path).append(more, axis=axis)
            self.nodes[path].data = np.concatenate([data, more], axis=axis)

    # -- handles

    @rule(use=st.none() | st.booleans())
    def consolidate(self, use: bool | None) -> None:
        if not self.consolidates:
            with pytest.raises(OmnizarrError):
                omnizarr.consolidate_metadata(self.store)
            return
        omnizarr.consolidate_metadata(self.store)
        if self.zarr_format == "3-draft-2020":
            self.nodes.setdefault("consolidated", NodeModel())
        self.root = omnizarr.open_group(self.store, mode="r+", use_consolidated=use)

    @rule(again=st.sampled_from(["open", "refresh", "pickle"]))
    def reopen(self, again: str) -> None:
        if again == "open":
            self.root = omnizarr.open(self.store, mode="r+")
        elif again == "refresh":
            self.root.refresh()
        else:  # the pickle contains a copy of the store, which rejects writes: continue with a copy of it
            self.root = copy.deepcopy(pickle.loads(pickle.dumps(self.root)))
            self.store = self.root.store

    @invariant()
    def same(self) -> None:
        for root in (self.root, omnizarr.open(self.store, mode="r")):
            found = {"": root} | (dict(root.members(max_depth=None)) if isinstance(root, omnizarr.Group) else {})
            assert sorted(found) == sorted(self.nodes)
            for path, node in found.items():
                expected = self.nodes[path]
                assert node.attrs == expected.attributes
                if expected.data is None:
                    self._check_group(path, node)
                else:
                    assert node[...].tolist() == expected.data.tolist()
                    assert node.same_array(omnizarr.open(node.store, path=path))
        if not self.alone:
            assert "nothing" not in self.root

    def _check_group(self, path: str, group: omnizarr.Group) -> None:
        start = f"{path}/" if path else ""
        members = [known for known in self.nodes if known.startswith(start) and known != path]
        direct = {known[len(start) :]: self.nodes[known] for known in members if "/" not in known[len(start) :]}
        arrays = [name for name, node in sorted(direct.items()) if node.data is not None]
        assert list(group) == sorted(direct)
        assert len(group) == len(direct)
        assert list(group.array_keys()) == [name for name, _ in group.arrays()] == arrays
        assert all(known[len(start) :] in group for known in members)
        assert len(str(group.tree()).splitlines()) == 1 + len(members)


@pytest.mark.parametrize("zarr_format", [1, 2, "3-draft-2020", "3-draft-2022", 3, "n5"])
def test_a_hierarchy_against_dicts(zarr_format: Any) -> None:
    machine = type("Machine", (HierarchyAgainstDict,), {"zarr_format": zarr_format})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=max(12, settings().max_examples // 3), stateful_step_count=15)
    )

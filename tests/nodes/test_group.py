"""`Group`: a mapping of names to nodes, and operations on them."""

from __future__ import annotations

import pickle
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import (
    ArgumentError,
    NodeExistsError,
    NodeNotFoundError,
    NodeTypeError,
    ReadOnlyError,
)
from omnizarr.testing import Fault, FaultyStore


@pytest.fixture(params=["memory", "local"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> omnizarr.Group:
    """A root with the arrays `x`, `g/y`, `g/h/z` and the empty group `e`."""
    root = omnizarr.create_group(omnizarr.MemoryStore() if request.param == "memory" else tmp_path / "data.zarr")
    root.create_array("x", data=[1, 2, 3])
    root.create_array("g/y", data=[[1.5]])
    root.create_array("g/h/z", data=np.arange(4, dtype="uint8"), chunks=2)
    root.create_group("e", attributes={"empty": True})
    return root


def test_it_is_a_mapping(root: omnizarr.Group) -> None:
    assert isinstance(root, MutableMapping)
    assert list(root) == ["e", "g", "x"]
    assert len(root) == 3
    assert list(root.keys()) == ["e", "g", "x"]
    assert [name for name, _ in root.items()] == ["e", "g", "x"]
    assert [type(node) for node in root.values()] == [omnizarr.Group, omnizarr.Group, omnizarr.Array]
    assert root["x"].same_array(dict(root.items())["x"])


@pytest.mark.parametrize("path", ["g/h/z", "/g/h/z", "g//h/z/"])
def test_nested_paths(root: omnizarr.Group, path: str) -> None:
    z = root[path]
    assert z.path == "g/h/z"
    assert z[...].tolist() == [0, 1, 2, 3]  # type: ignore[index]
    assert path in root
    group = root["g"]
    assert group["h/z"].same_array(z)


@pytest.mark.parametrize("path", ["nothing", "g/nothing", "x/y", "nothing/at/all"])
def test_absent_members(root: omnizarr.Group, path: str) -> None:
    assert path not in root
    assert root.get(path) is None
    assert root.get(path, 5) == 5
    for error in (KeyError, FileNotFoundError, NodeNotFoundError):
        with pytest.raises(error):
            root[path]
        with pytest.raises(error):
            del root[path]


@pytest.mark.parametrize("path", ["", "..", "g/../x", "a\0b", "\ud800", 3, None])
def test_invalid_paths(root: omnizarr.Group, path: Any) -> None:
    assert path not in root
    with pytest.raises(ArgumentError):
        root[path]
    with pytest.raises(ArgumentError):
        root.create_group(path)


def test_deleting(root: omnizarr.Group) -> None:
    del root["g/h"]
    assert "g/h/z" not in root
    assert list(root["g"]) == ["y"]  # type: ignore[arg-type]
    del root["g"]
    del root["x"]
    assert list(root) == ["e"]
    assert sorted(root.store.list()) == ["e/zarr.json", "zarr.json"]


def test_deleting_from_within_a_group(root: omnizarr.Group) -> None:
    group = root["g"]
    assert isinstance(group, omnizarr.Group)
    del group["h"]
    assert list(group) == ["y"]
    assert "x" in root


def test_assigning_stores_an_array(root: omnizarr.Group) -> None:
    root["new/one"] = [[1, 2]]
    assert root["new/one"][...].tolist() == [[1, 2]]  # type: ignore[index]
    root["new"] = 5
    assert root["new"][()] == 5  # type: ignore[index]
    root["x"] = root["x"]
    assert root["x"][...].tolist() == [1, 2, 3]  # type: ignore[index]


def test_len_is_current(root: omnizarr.Group) -> None:
    names = iter(root)
    assert next(names) == "e"
    root.create_group("n")
    assert len(root) == 4
    assert list(root) == ["e", "g", "n", "x"]
    del root["n"]
    assert len(root) == 3


def test_mapping_methods(root: omnizarr.Group) -> None:
    root.update({"u": [1], "v": [2]})
    assert root.pop("u").path == "u"
    assert "u" not in root
    assert root.setdefault("v", [5])[...].tolist() == [2]
    root.clear()
    assert len(root) == 0
    assert list(root.store.list()) == ["zarr.json"]


def test_members(root: omnizarr.Group) -> None:
    assert [path for path, _ in root.members()] == ["e", "g", "x"]
    assert [path for path, _ in root.members(max_depth=1)] == ["e", "g", "x", "g/h", "g/y"]
    assert [path for path, _ in root.members(max_depth=None)] == ["e", "g", "x", "g/h", "g/y", "g/h/z"]
    assert all(node.path == path for path, node in root.members(max_depth=None))
    assert (root.nmembers(), root.nmembers(max_depth=1), root.nmembers(max_depth=None)) == (3, 5, 6)
    below = root["g"].members(max_depth=None)  # type: ignore[union-attr]
    assert [(path, node.path) for path, node in below] == [("h", "g/h"), ("y", "g/y"), ("h/z", "g/h/z")]


def test_arrays_and_groups(root: omnizarr.Group) -> None:
    assert [(name, array.path) for name, array in root.arrays()] == [("x", "x")]
    assert [(name, group.path) for name, group in root.groups()] == [("e", "e"), ("g", "g")]
    assert list(root.array_keys()) == ["x"]
    assert list(root.group_keys()) == ["e", "g"]
    assert [array.path for array in root.array_values()] == ["x"]
    assert [group.path for group in root.group_values()] == ["e", "g"]


def test_the_tree(root: omnizarr.Group) -> None:
    expected = "/\n├── e\n├── g\n│   ├── h\n│   │   └── z (4,) uint8\n│   └── y (1, 1) float64\n└── x (3,) int64"
    assert str(root.tree()) == repr(root.tree()) == str(omnizarr.tree(root)) == expected
    assert str(root.tree(level=1)) == "/\n├── e\n├── g\n└── x (3,) int64"
    assert str(root.tree(level=0)) == "/"
    assert str(root["g/h"].tree()) == "h\n└── z (4,) uint8"  # type: ignore[union-attr]
    assert str(omnizarr.tree(root["x"])) == "x (3,) int64"
    assert str(omnizarr.tree(root.store, path="g/h")) == "h\n└── z (4,) uint8"


def test_properties_of_a_group(root: omnizarr.Group) -> None:
    group = root["g"]
    assert isinstance(group, omnizarr.Group)
    assert (group.path, group.name, group.basename) == ("g", "/g", "g")
    assert (group.zarr_format, group.read_only, group.store) == (3, False, root.store)
    assert group.metadata.attributes == {}
    assert repr(group) == f"<Group `g` in {root.store!r}>"
    assert group == omnizarr.open_group(root.store, path="g")
    assert group != root
    assert group != "g"
    with pytest.raises(TypeError):
        hash(group)


def test_pickling(root: omnizarr.Group) -> None:
    again = pickle.loads(pickle.dumps(root["g"]))
    assert list(again) == ["h", "y"]
    assert again["y"][0, 0] == 1.5
    if isinstance(root.store, omnizarr.LocalStore):
        assert again == root["g"]


def test_refresh(root: omnizarr.Group) -> None:
    other = omnizarr.open_group(root.store)
    other.attrs["a"] = 1
    assert root.attrs == {}
    assert root.refresh() is root
    assert root.attrs == {"a": 1}
    group = root["g"]
    root.create_array("g", shape=1, dtype="int8", overwrite=True)
    with pytest.raises(NodeTypeError):
        group.refresh()


# -- require


def test_require_group(root: omnizarr.Group) -> None:
    assert root.require_group("e").attrs == {"empty": True}
    assert root.require_group("new/deep").path == "new/deep"
    assert root.require_group("e", overwrite=True).attrs == {}
    with pytest.raises(NodeTypeError, match="is an array, not a group"):
        root.require_group("x")


def test_require_array(root: omnizarr.Group) -> None:
    assert root.require_array("x", shape=3, dtype="int64").same_array(root["x"])
    assert root.require_array("x", shape=(np.int64(3),), dtype="int32").same_array(root["x"])  # int64 can hold int32
    assert root.require_array("x").same_array(root["x"])
    new = root.require_array("new", shape=(2, 2), dtype="int8", fill_value=3)
    assert new[...].tolist() == [[3, 3], [3, 3]]
    raw = root.require_array("raw", shape=2, dtype="r24")
    assert root.require_array("raw", shape=2, dtype="r24", exact=True).same_array(raw)
    with pytest.raises(NodeExistsError, match="shape"):
        root.require_array("x", shape=4, dtype="int64")
    with pytest.raises(NodeExistsError, match="dtype"):
        root.require_array("x", shape=3, dtype="float64")
    with pytest.raises(NodeExistsError, match="dtype"):
        root.require_array("x", shape=3, dtype="int32", exact=True)
    with pytest.raises(NodeTypeError, match="is a group, not an array"):
        root.require_array("g", shape=3, dtype="int8")
    assert root.require_array("x", shape=4, dtype="int8", overwrite=True).shape == (4,)


# -- move


def test_moving_an_array(root: omnizarr.Group) -> None:
    root.move("g/h/z", "z2")
    assert root["z2"][...].tolist() == [0, 1, 2, 3]  # type: ignore[index]
    assert list(root["g/h"]) == []  # type: ignore[arg-type]
    assert sorted(key for key in root.store.list() if "z2" in key) == ["z2/c/0", "z2/c/1", "z2/zarr.json"]


def test_moving_a_group_with_its_members(root: omnizarr.Group) -> None:
    root["g"].attrs["name"] = "old"
    root.move("g", "a/b/c")
    assert [path for path, _ in root.members(max_depth=None)] == [
        "a",
        "e",
        "x",
        "a/b",
        "a/b/c",
        "a/b/c/h",
        "a/b/c/y",
        "a/b/c/h/z",
    ]
    assert root["a/b/c"].attrs == {"name": "old"}
    assert root["a/b/c/h/z"][...].tolist() == [0, 1, 2, 3]  # type: ignore[index]
    assert not any(key.startswith("g/") for key in root.store.list())


def test_moving_within_a_group_is_relative_to_it(root: omnizarr.Group) -> None:
    group = root["g"]
    assert isinstance(group, omnizarr.Group)
    group.move("h", "i")
    assert list(group) == ["i", "y"]


@pytest.mark.parametrize(
    ("source", "destination", "error"),
    [
        ("nothing", "new", NodeNotFoundError),
        ("x", "e", NodeExistsError),
        ("e", "x/e", NodeTypeError),
        ("g", "g", ArgumentError),
        ("g", "g/h/i", ArgumentError),
        ("g", "zarr.json", ArgumentError),
        ("g", "..", ArgumentError),
        ("", "new", ArgumentError),
    ],
)
def test_rejected_moves_change_nothing(
    root: omnizarr.Group, source: str, destination: str, error: type[Exception]
) -> None:
    before = sorted(root.store.list())
    with pytest.raises(error):
        root.move(source, destination)
    assert sorted(root.store.list()) == before


def test_a_failed_move_keeps_the_node() -> None:
    inner = omnizarr.MemoryStore()
    omnizarr.create_group(inner).create_array("a", data=np.arange(1, 9), chunks=1)
    root = omnizarr.open_group(FaultyStore(inner, [Fault("fail", keys="b/c/5", methods=["set"])]))
    with pytest.raises(OSError, match="b/c/5"):
        root.move("a", "b")
    again = omnizarr.open_group(inner)
    assert list(again) == ["a"]
    assert again["a"][...].tolist() == list(range(1, 9))  # type: ignore[index]


# -- creating


def test_creating_members(root: omnizarr.Group) -> None:
    group = root.create_group("n/m", attributes={"a": (1,)})
    assert group.attrs == {"a": [1]}
    assert group.create_array("deep/z", shape=2, dtype="int8").path == "n/m/deep/z"
    assert isinstance(root["n/m/deep"], omnizarr.Group)
    with pytest.raises(NodeExistsError, match="a group exists at `n`"):
        root.create_group("n")
    with pytest.raises(NodeExistsError, match="an array exists at `x`"):
        root.create_group("x")
    assert root.create_group("n", overwrite=True).nmembers() == 0


def test_storage_options_are_rejected_by_a_group(root: omnizarr.Group) -> None:
    with pytest.raises(ArgumentError, match="storage_options"):
        root.create_array("n", shape=1, dtype="int8", storage_options={"a": 1})


def test_concurrent_creation_of_a_node_has_one_winner() -> None:
    """Another writer may create the node between the check and the write."""
    inner = omnizarr.MemoryStore()
    omnizarr.create_group(inner)

    class Late(omnizarr.store.WrapperStore):
        def get_partial_values(self, requests: Any) -> Any:
            found = super().get_partial_values(requests)
            # Three requests are the last check, of the node and the groups above it.
            if len(requests) == 3 and not inner.exists("g/a/zarr.json"):
                omnizarr.create_group(inner, path="g", attributes={"first": True})
                omnizarr.create_array(inner, name="g/a", data=[1])
            return found

    with pytest.raises(NodeExistsError, match="just created"):
        omnizarr.create_array(Late(inner), name="g/a", shape=3, dtype="int8")
    assert omnizarr.open_array(inner, path="g/a")[...].tolist() == [1]
    assert omnizarr.open_group(inner, path="g").attrs == {"first": True}


# -- read-only groups


def test_nothing_reached_through_a_read_only_group_can_write(root: omnizarr.Group) -> None:
    group = omnizarr.open_group(root.store, mode="r")
    x, g = group["x"], group["g"]
    assert isinstance(x, omnizarr.Array)
    assert isinstance(g, omnizarr.Group)
    before = {key: bytes(root.store.get(key) or b"") for key in root.store.list()}
    attempts = [
        lambda: group.create_array("n", shape=1, dtype="int8"),
        lambda: group.create_array("x", shape=1, dtype="int8", overwrite=True),
        lambda: group.create_group("n"),
        lambda: group.require_group("n"),
        lambda: group.require_array("n", shape=1, dtype="int8"),
        lambda: group.__delitem__("x"),
        lambda: group.__setitem__("n", [1]),
        lambda: group.move("x", "n"),
        lambda: group.clear(),
        lambda: group.attrs.update(a=1),
        lambda: group.update_attributes({"a": 1}),
        lambda: g.create_group("n"),
        lambda: g["h"].create_group("n"),  # type: ignore[union-attr]
        lambda: g.attrs.update(a=1),
        lambda: x.__setitem__(0, 5),
        lambda: x.resize(5),
        lambda: x.append([1]),
        lambda: x.attrs.update(a=1),
        lambda: x.oindex.__setitem__([0], 5),
        lambda: x.vindex.__setitem__([0], 5),
        lambda: x.blocks.__setitem__(0, 5),
        lambda: x.set_basic_selection(0, 5),
        lambda: setattr(x, "shape", (5,)),
        lambda: group.store.set("k", b""),
        lambda: group.store.erase("x/zarr.json"),
        lambda: group.store.erase_prefix(""),
        lambda: group.store.updates.write("k", b"", None),
        lambda: omnizarr.consolidate_metadata(group.store),
        lambda: next(iter(group.arrays()))[1].__setitem__(0, 5),
        lambda: dict(group.members(max_depth=None))["g/y"].__setitem__(0, 5),
        lambda: omnizarr.open_group(group.store, mode="w"),
        lambda: omnizarr.open_array(x.store, path="x", mode="r+"),
        lambda: omnizarr.open_array(x.store, path="x").__setitem__(0, 5),
        lambda: omnizarr.create_array(group.store, name="n", shape=1, dtype="int8"),
        lambda: pickle.loads(pickle.dumps(group)).create_group("n"),
        lambda: pickle.loads(pickle.dumps(x)).__setitem__(0, 5),
    ]
    for number, attempt in enumerate(attempts):
        with pytest.raises(ReadOnlyError):
            print("attempt", number, attempt())  # printed if the call was not rejected
    assert {key: bytes(root.store.get(key) or b"") for key in root.store.list()} == before
    assert (group.read_only, g.read_only, x.read_only) == (True, True, True)

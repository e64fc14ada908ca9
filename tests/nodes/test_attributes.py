"""`Attributes`: a mapping that stores every change at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, MutableMapping
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ArgumentError, ReadOnlyError
from omnizarr.testing import RecordingStore

NodeModel = omnizarr.Array | omnizarr.Group


def an_array(store: Any = None, **options: Any) -> NodeModel:
    return omnizarr.create_array(store, name="a", shape=3, dtype="int8", **options)


def a_group(store: Any = None, **options: Any) -> NodeModel:
    return omnizarr.create_group(store, path="a", **options)


nodes = pytest.mark.parametrize("create", [an_array, a_group])


def stored_attributes(node: NodeModel) -> Any:
    return json.loads(bytes(node.store.get("a/zarr.json") or b""))["attributes"]


@nodes
def test_it_is_a_mapping(create: Callable[..., NodeModel]) -> None:
    attrs = create(attributes={"a": 1, "b": [1, 2]}).attrs
    assert isinstance(attrs, MutableMapping)
    assert attrs["a"] == 1
    assert "b" in attrs
    assert "c" not in attrs
    assert len(attrs) == 2
    assert list(attrs) == ["a", "b"]
    assert dict(attrs) == attrs.asdict() == {"a": 1, "b": [1, 2]}
    assert attrs == {"b": [1, 2], "a": 1}
    assert attrs.get("c", 5) == 5
    assert repr(attrs) == "{'a': 1, 'b': [1, 2]}"
    with pytest.raises(KeyError):
        attrs["c"]


@nodes
def test_every_change_is_stored(create: Callable[..., NodeModel]) -> None:
    node = create()
    attrs = node.attrs
    attrs["a"] = 1
    assert stored_attributes(node) == {"a": 1}
    attrs.update({"b": 2}, c=3)
    assert stored_attributes(node) == {"a": 1, "b": 2, "c": 3}
    attrs.update([("d", 4)])
    del attrs["a"]
    assert stored_attributes(node) == {"b": 2, "c": 3, "d": 4}
    assert attrs.pop("b") == 2
    assert attrs.pop("b", None) is None
    with pytest.raises(KeyError):
        attrs.pop("b")
    with pytest.raises(KeyError):
        del attrs["b"]
    assert attrs.popitem() == ("d", 4)
    assert attrs.setdefault("c", 9) == 3
    assert attrs.setdefault("e", (1,)) == [1]
    assert stored_attributes(node) == {"c": 3, "e": [1]}
    attrs.put({"z": None})
    assert stored_attributes(node) == {"z": None}
    attrs.clear()
    assert stored_attributes(node) == {} == attrs
    with pytest.raises(KeyError):
        attrs.popitem()
    assert node.update_attributes({"q": 1}) is node
    assert stored_attributes(node) == {"q": 1}


@nodes
def test_one_update_is_one_write(create: Callable[..., NodeModel]) -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    node = create(store)
    for change in (
        lambda: node.attrs.update({"a": 1, "b": 2, "c": 3}),
        lambda: node.attrs.put({"a": 1, "b": 2}),
        lambda: node.update_attributes({"d": 4, "e": 5}),
        lambda: node.attrs.clear(),
        lambda: node.attrs.__setitem__("x", 1),
        lambda: node.attrs.setdefault("y", 1),
    ):
        store.reset()
        change()
        assert store.methods() == ["updates.read", "updates.write"]
    store.reset()
    node.attrs.update({})
    assert node.attrs["x"] == 1
    assert store.calls == []


@nodes
def test_values_are_returned_in_their_stored_form(create: Callable[..., NodeModel]) -> None:
    node = create()
    node.attrs.update(t=(1, 2), n=np.float32(0.5), a=np.arange(2), d={"x": (True, None)})
    expected = {"t": [1, 2], "n": 0.5, "a": [0, 1], "d": {"x": [True, None]}}
    assert node.attrs.asdict() == expected == stored_attributes(node)
    assert node.metadata == omnizarr.open(node.store, path="a").metadata


@nodes
def test_a_value_is_a_copy(create: Callable[..., NodeModel]) -> None:
    node = create(attributes={"a": [1], "d": {"x": 1}})
    node.attrs["a"].append(2)
    node.attrs["d"]["x"] = 5
    node.attrs.asdict()["a"].append(3)
    assert node.attrs == {"a": [1], "d": {"x": 1}}
    mine = {"x": [1]}
    node.attrs["m"] = mine
    mine["x"].append(2)
    assert node.attrs["m"] == {"x": [1]}


@nodes
@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"a": {1, 2}}, "attributes.a"),
        ({"a": [1, np.nan]}, r"attributes.a\[1\]"),
        ({1: 2}, "attributes"),
        ({"a": {None: 1}}, "attributes.a"),
        ({"a": b"x"}, "attributes.a"),
    ],
)
def test_values_that_are_not_json_are_rejected(create: Callable[..., NodeModel], changes: Any, place: str) -> None:
    node = create(attributes={"old": 1})
    before = node.store.get("a/zarr.json")
    with pytest.raises(ArgumentError, match=place):
        node.attrs.update(changes)
    with pytest.raises(ArgumentError, match=place):
        node.attrs.put(changes)
    assert node.store.get("a/zarr.json") == before
    assert node.attrs == {"old": 1}


@nodes
@pytest.mark.parametrize("value", [5, "text", [1]])
def test_objects_that_are_not_mappings_are_rejected(create: Callable[..., NodeModel], value: Any) -> None:
    with pytest.raises(ArgumentError, match="attributes"):
        create().attrs.put(value)


@nodes
def test_put_accepts_the_attributes_of_another_node(create: Callable[..., NodeModel]) -> None:
    source = create(attributes={"a": [1]})
    target = create()
    target.attrs.put(source.attrs)
    assert target.attrs == {"a": [1]}


@nodes
def test_changes_of_another_handle_are_kept(create: Callable[..., NodeModel]) -> None:
    node = create(attributes={"a": 1})
    other = omnizarr.open(node.store, path="a")
    node.attrs["b"] = 2
    other.attrs["c"] = 3
    assert stored_attributes(node) == {"a": 1, "b": 2, "c": 3}
    assert other.attrs == {"a": 1, "b": 2, "c": 3}
    assert node.refresh().attrs == {"a": 1, "b": 2, "c": 3}


@nodes
def test_many_threads_lose_no_attribute(create: Callable[..., NodeModel]) -> None:
    node = create()

    def add(number: int) -> None:
        for step in range(5):
            omnizarr.open(node.store, path="a").attrs[f"{number}-{step}"] = step

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stored_attributes(node)) == 20


@nodes
def test_a_read_only_node_rejects_changes(create: Callable[..., NodeModel]) -> None:
    node = create(attributes={"a": 1})
    before = node.store.get("a/zarr.json")
    attrs = omnizarr.open(node.store, path="a", mode="r").attrs
    for change in (
        lambda: attrs.__setitem__("b", 1),
        lambda: attrs.__delitem__("a"),
        lambda: attrs.update(b=1),
        lambda: attrs.put({}),
        lambda: attrs.clear(),
        lambda: attrs.pop("a"),
        lambda: attrs.setdefault("b", 1),
    ):
        with pytest.raises(ReadOnlyError, match="open for reading only"):
            change()
    assert node.store.get("a/zarr.json") == before


def test_a_document_above_the_size_limit_is_rejected() -> None:
    node = an_array()
    with omnizarr.config(max_document_bytes=2000), pytest.raises(ArgumentError, match="more than the limit of 2000"):
        node.attrs["text"] = "x" * 3000
    assert node.attrs == {}


def test_A60_nan_in_attributes_is_read_but_not_written() -> None:
    node = an_array()
    data = bytes(node.store.get("a/zarr.json") or b"").replace(b'"attributes": {}', b'"attributes": {"x": NaN}')
    node.store.set("a/zarr.json", data)
    again = omnizarr.open(node.store, path="a")
    assert np.isnan(again.attrs["x"])
    with pytest.raises(ArgumentError, match=r"`\$.attributes.x` cannot be written as JSON: .* nan.* as text"):
        again.attrs["y"] = 1
    again.attrs.put({"x": "NaN"})
    assert stored_attributes(node) == {"x": "NaN"}

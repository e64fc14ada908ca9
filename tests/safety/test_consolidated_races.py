"""Promise 2: consolidated metadata agrees with the documents after writers created, erased and moved nodes at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import omnizarr
from omnizarr.nodes.metadata.consolidated import Consolidated, _NodeDocuments
from omnizarr.nodes.metadata.key_paths import node_paths
from tests.safety.processes import run_all

CONSOLIDATING: tuple[Any, ...] = (2, "3-draft-2020", 3)


def nodes(store: Any, use: bool) -> dict[str, Any]:
    """The attributes of all nodes, from the consolidated metadata or from the documents."""
    group = omnizarr.open_group(store, mode="r", use_consolidated=use)
    members = {path: member.attrs.asdict() for path, member in group.members(max_depth=None)}
    return {path: attributes for path, attributes in members.items() if not path.startswith("consolidated")}


def before_recording(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object]) -> None:
    """Have another writer act after the next change of documents, before the writer records it."""
    record = getattr(Consolidated, name)

    def late(self: Consolidated, *arguments: Any) -> None:
        monkeypatch.setattr(Consolidated, name, record)
        act()
        record(self, *arguments)

    monkeypatch.setattr(Consolidated, name, late)


@pytest.mark.parametrize("zarr_format", CONSOLIDATING)
def test_a_node_created_again_before_its_erasure_is_recorded(monkeypatch: pytest.MonkeyPatch, zarr_format: Any) -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store, zarr_format=zarr_format).create_array("a/b", shape=2, dtype="u1")
    root = omnizarr.consolidate_metadata(store)
    other = omnizarr.open_group(store)
    before_recording(
        monkeypatch, "record_move", lambda: other.create_array("a/b", shape=2, dtype="u1", attributes={"new": 1})
    )
    del root["a"]
    assert nodes(store, True) == nodes(store, False) == {"a": {}, "a/b": {"new": 1}}


@pytest.mark.parametrize("zarr_format", CONSOLIDATING)
def test_a_node_erased_before_its_move_is_recorded(monkeypatch: pytest.MonkeyPatch, zarr_format: Any) -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store, zarr_format=zarr_format).create_array("a", shape=2, dtype="u1")
    root = omnizarr.consolidate_metadata(store)
    other = omnizarr.open_group(store)
    before_recording(monkeypatch, "record_move", lambda: other.__delitem__("b"))
    root.move("a", "b")
    assert nodes(store, True) == nodes(store, False) == {}


@pytest.mark.parametrize("zarr_format", CONSOLIDATING)
def test_a_node_moved_before_its_creation_is_recorded(monkeypatch: pytest.MonkeyPatch, zarr_format: Any) -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store, zarr_format=zarr_format).create_group("a")
    root = omnizarr.consolidate_metadata(store)
    other = omnizarr.open_group(store)
    before_recording(monkeypatch, "record_nodes", lambda: other.move("a", "b"))
    root.create_array("a/x/y", shape=2, dtype="u1")
    assert nodes(store, True) == nodes(store, False) == {"b": {}, "b/x": {}, "b/x/y": {}}


@pytest.mark.parametrize("zarr_format", CONSOLIDATING)
def test_a_change_that_another_writer_finds_recorded_already(zarr_format: Any) -> None:
    """One writer finds no node and is about to store copies without it. Meanwhile the other creates it, and finds it in
    the old copies, so that it stores nothing."""
    acts: list[Callable[[], object]] = []

    class Interrupted(omnizarr.MemoryStore, keeps_capabilities=True):
        def get_each(self, requests: Any) -> Any:
            yield from list(super().get_each(requests))
            if acts and any("/a" in f"/{key}" for key, _ in requests):
                acts.pop()()

        def get(self, key: str, byte_range: Any = None) -> Any:
            value = super().get(key, byte_range)
            if acts and "/a" in f"/{key}":
                acts.pop()()
            return value

    store = Interrupted()
    omnizarr.create_group(store, zarr_format=zarr_format).create_group("a")
    root = omnizarr.consolidate_metadata(store)
    other = omnizarr.open_group(store)
    consolidated = root._context.consolidated
    assert consolidated is not None
    for key in root._context.dialect.keys("a"):
        store.erase(key)
    acts.append(lambda: other.create_group("a"))
    consolidated.record_nodes(["a"])
    assert not acts
    assert nodes(store, True) == nodes(store, False) == {"a": {}}


@pytest.mark.parametrize("zarr_format", CONSOLIDATING)
@pytest.mark.parametrize("how", ["create", "erase", "move"])
def test_a_change_that_fails_halfway_is_recorded(zarr_format: Any, how: str) -> None:
    failing: list[int] = []

    class Failing(omnizarr.MemoryStore, keeps_capabilities=True):
        def _fail(self, key: str) -> None:
            if failing and "consolidated" not in key and key not in (".zmetadata", "zarr.json"):
                failing[0] -= 1
                if failing[0] < 0:
                    raise OSError("the disk is full")

        def set(self, key: str, value: Any) -> None:
            self._fail(key)
            super().set(key, value)

        def erase(self, key: str) -> None:
            self._fail(key)
            super().erase(key)

    for steps in range(8):
        failing.clear()
        store = Failing()
        omnizarr.create_group(store, zarr_format=zarr_format).create_array("a/b/c", data=[1, 2])
        root = omnizarr.consolidate_metadata(store)
        failing.append(steps)
        try:
            if how == "create":
                root.create_array("x/y/z", shape=2, dtype="u1")
            elif how == "erase":
                del root["a"]
            else:
                root.move("a", "d")
        except (OSError, omnizarr.errors.OmnizarrError):
            pass
        failing.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", omnizarr.errors.OmnizarrWarning)
            assert nodes(store, True) == nodes(store, False), steps


def change_at_random(place: Path, number: int) -> None:
    random = Random(number)
    group = omnizarr.open_group(place)
    for step in range(100):
        name = random.choice("ab")
        try:
            match random.randrange(4):
                case 0:
                    group.create_group(f"{name}/x", attributes={f"{number}": step})
                case 1:
                    group.create_array(name, shape=2, dtype="u1", overwrite=True)
                case 2:
                    del group[name]
                case _:
                    group.move(name, "ab".replace(name, ""))
        except (omnizarr.errors.OmnizarrError, KeyError):
            pass  # another process was faster


@pytest.mark.parametrize("zarr_format", CONSOLIDATING)
def test_consolidated_metadata_agrees_with_the_documents_after_races(tmp_path: Path, zarr_format: Any) -> None:
    omnizarr.create_group(tmp_path / "g", zarr_format=zarr_format)
    omnizarr.consolidate_metadata(tmp_path / "g")
    run_all(change_at_random, [(tmp_path / "g", number) for number in range(3)])
    group = omnizarr.open_group(tmp_path / "g", mode="r", use_consolidated=True)
    copies, dialect = group._context.consolidated, group._context.dialect
    assert copies is not None
    # All documents, also those of a member that one writer created while another replaced its group by an array.
    keys = list(group.store.list_prefix(""))
    paths = node_paths(dialect, "", keys)
    documents = _NodeDocuments(group.store, dialect, paths).put_into({})
    if dialect.consolidated_key("") is None:
        documents = {key: document for key, document in documents.items() if key not in dialect.keys("")}
    hierarchy = dialect.hierarchy_documents()
    assert copies.documents | hierarchy == documents | hierarchy


@pytest.mark.parametrize("zarr_format", [*CONSOLIDATING, "3-draft-2022", "n5"])
@pytest.mark.parametrize("how", ["move", "erase"])
def test_refresh_fails_after_a_read_that_missed_chunks_of_a_moved_node(zarr_format: Any, how: str) -> None:
    """The documents are erased before the first chunk."""
    missed: list[bool] = []

    class Watched(omnizarr.MemoryStore, keeps_capabilities=True):
        def erase(self, key: str) -> None:
            super().erase(key)
            if missed or z[...].tolist() != [1, 2]:
                with pytest.raises(omnizarr.errors.NodeNotFoundError):
                    z.refresh()
                missed.append(True)

    root = omnizarr.create_group(Watched(), zarr_format=zarr_format)
    z = root.create_array("a", data=[1, 2], chunks=1)
    if how == "move":
        root.move("a", "b")
    else:
        del root["a"]
    assert missed

"""Promise 2: consolidated metadata agrees with the documents after writers created, erased and moved nodes at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import omnizarr
from omnizarr.api import hierarchy
from omnizarr.nodes.metadata.consolidated import Consolidated
from tests.safety.processes import run_all

CONSOLIDATING: tuple[Any, ...] = (2, "3-draft-2020", 3)


def nodes(store: Any, use: bool) -> dict[str, Any]:
    """The attributes of all nodes, from the consolidated metadata or from the documents."""
    group = omnizarr.open_group(store, mode="r", use_consolidated=use)
    found = {path: member.attrs.asdict() for path, member in group.members(max_depth=None)}
    return {path: attributes for path, attributes in found.items() if not path.startswith("consolidated")}


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
    copies = omnizarr.open_group(tmp_path / "g", mode="r", use_consolidated=True)._context.consolidated
    group = omnizarr.open_group(tmp_path / "g")
    assert copies is not None
    stored = hierarchy._collect_all(group) | group._context.dialect.hierarchy_documents()
    assert copies.documents | group._context.dialect.hierarchy_documents() == stored


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

"""Extensions in every generation: the drafts name them by URI. An extension that a generation cannot name is rejected
before anything is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from tests.registries import restoring_all

import omnizarr
from omnizarr.errors import ArgumentError, MetadataError
from omnizarr.extending import Axis, DataType, Grid, check_members
from omnizarr.grids.regular import Regular, RegularAxis

URI = "https://example.org/zarr"
DRAFTS: tuple[Any, ...] = ("3-draft-2020", "3-draft-2022")


@dataclass(frozen=True, slots=True)
class Switch(DataType):
    """A data type with its own spelling of fill values."""

    name: str = "ex.switch"
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype("u1"))

    def to_json(self) -> Any:
        return {"name": self.name, "configuration": {"type": "switch"}} if ":" in self.name else self.name

    def parse_fill(self, value: Any, path: str, problems: Any) -> Any:
        if value in ("on", "off"):
            return np.array(value == "on", "u1")
        problems.expected(path, "`on` or `off`", value)
        return None

    def dump_fill(self, fill: Any) -> Any:
        return "on" if fill else "off"


@dataclass(frozen=True, slots=True)
class Tiles(Grid):
    """A chunk grid with its own configuration."""

    name = f"{URI}/tiles"
    sides: tuple[int, ...]

    @classmethod
    def parse(cls, configuration: Any, shape: Any, path: str, problems: Any) -> Tiles | None:
        check_members(configuration, ("type", "sides"), path, problems)
        if not isinstance(configuration.get("sides"), list):
            problems.expected(f"{path}.sides", "a list", configuration.get("sides"))
            return None
        return cls(tuple(configuration["sides"]))

    def to_json(self) -> Any:
        return {"name": self.name, "configuration": {"type": "tiles", "sides": list(self.sides)}}

    def axes(self, shape: Any) -> tuple[Axis, ...]:
        return tuple(map(RegularAxis, shape, self.sides))

    def chunk_shapes(self, shape: Any) -> Any:
        return (self.sides,)

    @property
    def chunks(self) -> tuple[int, ...]:
        return self.sides

    def edges(self, shape: Any) -> tuple[int, ...]:
        return self.sides


@pytest.fixture(autouse=True)
def _register_extensions() -> Iterator[None]:
    with restoring_all():
        omnizarr.register_data_type(Switch)

        @omnizarr.register_data_type(f"{URI}/switch")
        def read(name: str, configuration: Any, path: str, problems: Any) -> Any:
            if configuration == {"type": "switch"}:
                return Switch(name)
            problems.add(path, f"expected a switch, found {configuration}")
            return None

        omnizarr.register_chunk_grid(Tiles)
        yield


BY_URI = {"name": f"{URI}/switch", "configuration": {"type": "switch"}}


def document(store: omnizarr.MemoryStore) -> Any:
    (key,) = (key for key in store.list() if key.endswith("a.array.json"))
    return json.loads(bytes(store.get(key) or b""))


@pytest.mark.parametrize("draft", DRAFTS)
def test_S18_T8_a_data_type_by_uri(draft: Any) -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, name="a", shape=4, dtype=BY_URI, fill_value="on", zarr_format=draft)
    z[1] = 0
    data_type = {"extension": f"{URI}/switch", "type": "switch"}
    data_type |= {"fallback": "r8"} if draft == "3-draft-2022" else {}
    assert document(store)["data_type"] == data_type
    assert document(store)["fill_value"] == "on"
    again = omnizarr.open_array(store, path="a")
    assert again.metadata.data_type == Switch(f"{URI}/switch")
    assert again[...].tolist() == [1, 0, 1, 1]
    again.attrs["x"] = 1
    assert document(store)["data_type"] == data_type


@pytest.mark.parametrize("zarr_format", [1, 2, *DRAFTS])
@pytest.mark.parametrize("dtype", ["ex.switch", BY_URI], ids=["name", "uri"])
def test_a_data_type_that_a_generation_cannot_name_is_rejected(zarr_format: Any, dtype: Any) -> None:
    if zarr_format in DRAFTS and dtype is BY_URI:
        pytest.skip("they can")
    store = omnizarr.MemoryStore()
    with pytest.raises(ArgumentError, match="no data type"):
        omnizarr.create_array(store, shape=4, dtype=dtype, fill_value="on", zarr_format=zarr_format)
    assert list(store.list()) == []


@pytest.mark.parametrize("draft", DRAFTS)
def test_S19_T9_a_chunk_grid_by_uri(draft: Any) -> None:
    store = omnizarr.MemoryStore()
    data = np.arange(20).reshape(4, 5)
    omnizarr.create_array(store, name="a", data=data, chunks=Tiles((3, 3)), zarr_format=draft, chunk_key_encoding=".")
    grid = {"extension": f"{URI}/tiles", "type": "tiles", "sides": [3, 3], "separator": "."}
    assert document(store)["chunk_grid"] == grid
    again = omnizarr.open_array(store, path="a")
    assert again.metadata.grid == Tiles((3, 3))
    assert np.array_equal(again[...], data)
    for wrong in ({"sides": "x"}, {"more": 1}, {"extension": f"{URI}/others"}, {"extension": "regular"}):
        broken = document(store) | {"chunk_grid": grid | wrong}
        (key,) = (key for key in store.list() if key.endswith("a.array.json"))
        other = omnizarr.MemoryStore({key: bytes(store.get(key) or b"") for key in store.list()})
        other.set(key, json.dumps(broken).encode())
        with pytest.raises(MetadataError, match=r"\$\.chunk_grid"):
            omnizarr.open_array(other, path="a")


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_grid_without_a_uri_is_rejected_in_the_drafts(draft: Any) -> None:
    class Named(Regular):
        name = "ex.named"

    store = omnizarr.MemoryStore()
    for chunks in (Named((2,)), [[1, 3]]):
        with pytest.raises(ArgumentError, match="have the same shape"):
            omnizarr.create_array(store, shape=4, dtype="u1", chunks=chunks, zarr_format=draft)
    with pytest.raises(ArgumentError, match="have the same shape"):
        omnizarr.create_array(store, shape=4, dtype="u1", chunks=2, shards=Tiles((4,)), zarr_format=draft)
    assert list(store.list()) == []


def test_v3_accepts_names_and_uris() -> None:
    for dtype in ("ex.switch", BY_URI):
        store = omnizarr.MemoryStore()
        omnizarr.create_array(store, shape=4, dtype=dtype, fill_value="on", chunks=Tiles((3,)))[1] = 0
        again = omnizarr.open_array(store)
        assert again.metadata.grid == Tiles((3,))
        assert again[...].tolist() == [1, 0, 1, 1]

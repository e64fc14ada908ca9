"""Registering from a program: each function as a function and as a decorator, and the names that they reject."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.registries import REGISTRIES, restoring_all

import omnizarr
from omnizarr import extending
from omnizarr.chunk_keys import DefaultKeys, chunk_key_encodings
from omnizarr.codecs import Transpose, Zstd, codecs
from omnizarr.codecs.bytes_to_bytes.crc32c import Crc32c
from omnizarr.dtypes import DataType, data_types
from omnizarr.dtypes.numbers.integer import Integer
from omnizarr.errors import ArgumentError
from omnizarr.formats.document_encoding import JsonEncoding, metadata_encodings
from omnizarr.formats.draft.extensions import extensions
from omnizarr.formats.draft.layouts import chunk_memory_layouts
from omnizarr.grids import Regular, chunk_grids
from omnizarr.transformers import MemoryCache, storage_transformers

URI = "https://example.org/mine"


@pytest.fixture(autouse=True)
def _restore_registries() -> Iterator[None]:
    with restoring_all():
        yield


def make_class(base: type, **members: Any) -> Any:
    """A class as a notebook cell defines it."""
    return type("Mine", (base,), {"__module__": "a_notebook", "__qualname__": "Mine", **members})


BY_CLASS = [
    (omnizarr.register_codec, codecs, Zstd, "name", "mine"),
    (omnizarr.register_chunk_grid, chunk_grids, Regular, "name", "mine"),
    (omnizarr.register_chunk_key_encoding, chunk_key_encodings, DefaultKeys, "name", "mine"),
    (omnizarr.register_storage_transformer, storage_transformers, MemoryCache, "name", "mine"),
    (omnizarr.register_chunk_memory_layout, chunk_memory_layouts, Transpose, "name", URI),
    (omnizarr.register_metadata_encoding, metadata_encodings, JsonEncoding, "uri", URI),
]
IDS = ["codec", "grid", "keys", "transformer", "layout", "encoding"]


@pytest.mark.parametrize(("register", "registry", "base", "member", "name"), BY_CLASS, ids=IDS)
def test_a_class_is_registered_by_its_name(register: Any, registry: Any, base: Any, member: str, name: str) -> None:
    first = make_class(base, **{member: name})
    assert register(first) is first
    assert registry.get(name) is not None
    again = make_class(base, **{member: name})
    assert register()(again) is again  # as a decorator with parentheses
    found = registry.get(name)
    assert (found if isinstance(found, type) else type(found)) is again
    other = make_class(base, **{member: name, "__qualname__": "Other"})
    with pytest.raises(ArgumentError, match="registered already"):
        register(other)
    register(other, replace=True)
    found = registry.get(name)
    assert (found if isinstance(found, type) else type(found)) is other


@pytest.mark.parametrize(("register", "registry", "base", "member", "name"), BY_CLASS, ids=IDS)
@pytest.mark.parametrize("wrong", ["", "Mine", "a b", "x", "foo/bar", "1a"])
def test_R39_invalid_names_are_rejected(
    register: Any, registry: Any, base: Any, member: str, name: str, wrong: str
) -> None:
    with pytest.raises(ArgumentError, match="cannot be the name"):
        register(make_class(base, **{member: wrong}))
    assert registry.get(wrong) is None


@pytest.mark.parametrize("register", [case[0] for case in BY_CLASS], ids=IDS)
@pytest.mark.parametrize("wrong", [3, "text", int, lambda: None, Integer("mine", np.dtype("i1"))])
def test_objects_of_the_wrong_kind_are_rejected(register: Any, wrong: Any) -> None:
    with pytest.raises(ArgumentError):
        register(wrong)


def test_a_codec_with_an_alias() -> None:
    @omnizarr.register_codec(aliases=("my",))
    @dataclass(frozen=True, slots=True)
    class Mine(Crc32c):
        name = "mine"

    z = omnizarr.create_array(store := {}, data=[1, 2, 3], compressors=["my"])
    assert z.compressors == (Mine(),)
    assert b'"mine"' in bytes(store["zarr.json"])
    assert omnizarr.open_array(store)[...].tolist() == [1, 2, 3]


def test_the_core_is_replaced_only_on_request() -> None:
    mine = make_class(Zstd, name="gzip")
    with pytest.raises(ArgumentError, match="codec `gzip` is registered already"):
        omnizarr.register_codec(mine)
    omnizarr.register_codec(mine, replace=True)
    assert codecs.get("gzip") is mine


# -- data types


@dataclass(frozen=True, slots=True)
class Angle(Integer):
    """A data type without configuration."""

    name: str = "angle"
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype("i2"))


@dataclass(frozen=True, slots=True)
class Scaled(Integer):
    """A data type with configuration."""

    core: ClassVar[bool] = False
    scale: int = 1

    def to_json(self) -> Any:
        return {"name": self.name, "configuration": {"scale": self.scale}}


def read_scaled(name: str, configuration: dict[str, Any], path: str, problems: Any) -> DataType | None:
    extending.check_members(configuration, ("scale",), f"{path}.configuration", problems)
    return None if problems else Scaled(name, np.dtype("i4"), configuration.get("scale", 1))


@pytest.mark.parametrize("given", [Angle, Angle(), None], ids=["class", "value", "decorator"])
def test_a_data_type_without_configuration(given: Any) -> None:
    if given is None:
        assert omnizarr.register_data_type()(Angle) is Angle
    else:
        assert omnizarr.register_data_type(given) is given
    z = omnizarr.create_array(store := {}, data=[1, 2, 3], dtype="angle", fill_value=90)
    assert z.metadata.data_type == Angle()
    again = omnizarr.open_array(store)
    assert again.metadata.data_type == Angle()
    assert again[...].tolist() == [1, 2, 3]
    omnizarr.register_data_type(Angle)  # a second time
    with pytest.raises(ArgumentError, match="registered already"):
        omnizarr.register_data_type("angle", read_scaled)


def test_a_data_type_with_a_configuration() -> None:
    assert omnizarr.register_data_type("scaled", read_scaled) is read_scaled
    assert omnizarr.register_data_type("scaled")(read_scaled) is read_scaled
    dtype = {"name": "scaled", "configuration": {"scale": 7}}
    omnizarr.create_array(store := {}, data=[1, 2, 3], dtype=dtype)
    assert omnizarr.open_array(store).metadata.data_type == Scaled("scaled", np.dtype("i4"), 7)
    with pytest.raises(ArgumentError, match="unknown member"):
        omnizarr.create_array({}, shape=3, dtype={"name": "scaled", "configuration": {"x": 7}})


@pytest.mark.parametrize("wrong", [3, int, Scaled, "text"])
def test_objects_that_are_not_data_types_are_rejected(wrong: Any) -> None:
    with pytest.raises(ArgumentError):
        omnizarr.register_data_type("mine", wrong)
    if not isinstance(wrong, str):
        with pytest.raises(ArgumentError):
            omnizarr.register_data_type(wrong)


@pytest.mark.parametrize("name", ["int8", "variable_length_bytes", "struct", "r24", "R24", "a b"])
def test_taken_and_invalid_names_of_data_types_are_rejected(name: str) -> None:
    with pytest.raises(ArgumentError):
        omnizarr.register_data_type(name, read_scaled)
    with pytest.raises(ArgumentError):
        omnizarr.register_data_type("mine", read_scaled, aliases=(name,))
    assert data_types.get("mine") is None


# -- extensions of the drafts


def test_an_extension_of_the_drafts() -> None:
    @omnizarr.register_extension(URI)
    def check(configuration: Any, path: str, problems: Any) -> None:
        if configuration != {"units": "K"}:
            problems.expected(path, "the units", configuration)

    assert extensions.get(URI) is check
    for year in ("3-draft-2020", "3-draft-2022"):
        good = [{"extension": URI, "must_understand": True, "configuration": {"units": "K"}}]
        omnizarr.create_array(store := {}, name="a", data=[1, 2], zarr_format=year, extensions=good)
        assert omnizarr.open_array(store, path="a")[...].tolist() == [1, 2]
        with pytest.raises(ValueError, match="expected the units"):
            omnizarr.create_array(
                {}, name="a", data=[1], zarr_format=year, extensions=[{"extension": URI, "must_understand": True}]
            )
    for wrong in ("units", "", 3):
        with pytest.raises(ArgumentError):
            omnizarr.register_extension(wrong, check)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError):
        omnizarr.register_extension("https://example.org/other", 3)


# -- completeness


def test_every_registry_has_a_function() -> None:
    functions = [name for name in extending.__all__ if name.startswith("register_")]
    groups = {registry.group.removeprefix("omnizarr.") for registry in REGISTRIES}
    assert {f"{name.removeprefix('register_')}s" for name in functions} == groups
    assert [name for name in omnizarr.__all__ if name.startswith("register_")] == functions
    for name in functions:
        assert getattr(omnizarr, name) is getattr(extending, name)
        assert getattr(omnizarr, name).__doc__


def test_extending_exports_all_names_lazily() -> None:
    assert dir(extending) == sorted(extending.__all__)
    for name in extending.__all__:
        assert getattr(extending, name) is not None
    with pytest.raises(AttributeError):
        extending.nothing  # noqa: B018


def test_a_storage_transformer_is_registered_by_its_uri_too() -> None:
    class Mine(MemoryCache):
        name = "example.mine"
        uri = "https://example.org/mine"

    with restoring_all():
        omnizarr.register_storage_transformer(Mine)
        assert storage_transformers.get("example.mine") is storage_transformers.get("https://example.org/mine") is Mine

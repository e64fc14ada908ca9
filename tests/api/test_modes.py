"""Opening: what each mode does with no node, an array, a group, or a node of another kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnizarr
from omnizarr.errors import (
    ArgumentError,
    MetadataError,
    NodeExistsError,
    NodeNotFoundError,
    NodeTypeError,
    ReadOnlyError,
)

MODES = ["r", "r+", "a", "w", "w-"]


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> omnizarr.Store:
    return omnizarr.MemoryStore() if request.param == "memory" else omnizarr.LocalStore(tmp_path / "data.zarr")


# -- no node exists


@pytest.mark.parametrize("mode", ["r", "r+", None])
@pytest.mark.parametrize("function", [omnizarr.open, omnizarr.open_array, omnizarr.open_group])
def test_modes_that_do_not_create(store: omnizarr.Store, mode: Any, function: Any) -> None:
    for options in ({}, {"path": "a/b"}):
        with pytest.raises(NodeNotFoundError):
            function(store, mode=mode, **options)
    assert list(store.list()) == []


@pytest.mark.parametrize("mode", ["a", "w", "w-"])
@pytest.mark.parametrize("path", [None, "a/b"])
def test_modes_that_create(store: omnizarr.Store, mode: Any, path: str | None) -> None:
    group = omnizarr.open_group(store, path=path, mode=mode, attributes={"x": (1,)})
    assert group.attrs == {"x": [1]}
    assert not group.read_only
    z = omnizarr.open_array(store, path="z", mode=mode, shape=3, dtype="int8", fill_value=2)
    assert z[...].tolist() == [2, 2, 2]
    assert isinstance(omnizarr.open(store, path="y", mode=mode, data=[1, 2]), omnizarr.Array)
    assert isinstance(omnizarr.open(store, path="x", mode=mode, shape=3, dtype="int8"), omnizarr.Array)
    assert isinstance(omnizarr.open(store, path="w", mode=mode, attributes={"a": 1}), omnizarr.Group)


def test_open_group_creates_by_default_and_the_others_do_not(store: omnizarr.Store) -> None:
    assert omnizarr.open_group(store).path == ""
    with pytest.raises(NodeNotFoundError):
        omnizarr.open(store, path="a")
    with pytest.raises(NodeNotFoundError):
        omnizarr.open_array(store, path="a")


def test_an_array_needs_a_shape(store: omnizarr.Store) -> None:
    for mode in ("a", "w", "w-"):
        with pytest.raises(ArgumentError, match="shape"):
            omnizarr.open_array(store, mode=mode)
    assert list(store.list()) == []


def test_array_options_without_a_shape_are_rejected(store: omnizarr.Store) -> None:
    with pytest.raises(ArgumentError, match="chunks, dtype") as caught:
        omnizarr.open(store, mode="w", chunks=3, dtype="int8")
    assert "shape" in (caught.value.hint or "")
    assert list(store.list()) == []


@pytest.mark.parametrize("function", [omnizarr.open, omnizarr.open_array])
def test_unknown_options_are_rejected_even_if_nothing_is_created(store: omnizarr.Store, function: Any) -> None:
    omnizarr.create_array(store, shape=3, dtype="int8")
    with pytest.raises(ArgumentError, match="there is no option `chunk`"):
        function(store, mode="r", chunk=3)


# -- a node exists


def test_open_detects_the_kind_of_node(store: omnizarr.Store) -> None:
    omnizarr.create_array(store, name="g/z", data=[1, 2])
    assert isinstance(omnizarr.open(store), omnizarr.Group)
    z = omnizarr.open(store, path="g/z")
    assert isinstance(z, omnizarr.Array)
    z[0] = 5
    assert omnizarr.open(store, path="g/z", mode="r")[...].tolist() == [5, 2]  # type: ignore[index]


@pytest.mark.parametrize("mode", ["r", "r+", "a", None])
def test_the_wrong_kind_is_a_type_error(store: omnizarr.Store, mode: Any) -> None:
    omnizarr.create_array(store, name="g/z", data=[1, 2])
    with pytest.raises(NodeTypeError, match="is an array, not a group") as caught:
        omnizarr.open_group(store, path="g/z", mode=mode)
    assert "open_array" in (caught.value.hint or "")
    with pytest.raises(NodeTypeError, match="is a group, not an array"):
        omnizarr.open_array(store, path="g", mode=mode)
    with pytest.raises(NodeTypeError):
        omnizarr.open(store, path="g", mode=mode, shape=3, dtype="int8")


@pytest.mark.parametrize("mode", ["r+", "a", None])
def test_modes_that_open_what_exists(store: omnizarr.Store, mode: Any) -> None:
    omnizarr.create_group(store, attributes={"x": 1}).create_array("z", data=[1, 2])
    group = omnizarr.open_group(store, mode=mode)
    assert group.attrs == {"x": 1}
    z = omnizarr.open_array(store, path="z", mode=mode, shape=7, dtype="float64")  # only the handle of a new node would
    assert z.shape == (2,)
    z[0] = 9
    group.attrs["y"] = 2
    assert omnizarr.open_array(store, path="z", mode="r")[0] == 9


def test_mode_w_replaces(store: omnizarr.Store) -> None:
    omnizarr.create_group(store, attributes={"x": 1}).create_array("z", data=[1, 2])
    z = omnizarr.open_array(store, path="z", mode="w", shape=3, dtype="int8", chunks=1)
    assert z[...].tolist() == [0, 0, 0]
    assert omnizarr.open_group(store).attrs == {"x": 1}
    assert omnizarr.open_group(store, mode="w").attrs == {}
    assert list(store.list()) == ["zarr.json"]
    assert isinstance(omnizarr.open(store, mode="w", data=[1]), omnizarr.Array)


def test_mode_w_minus_rejects_what_exists(store: omnizarr.Store) -> None:
    omnizarr.create_group(store).create_array("z", data=[1, 2])
    for attempt in (
        lambda: omnizarr.open_group(store, mode="w-"),
        lambda: omnizarr.open_array(store, path="z", mode="w-", shape=3, dtype="int8"),
        lambda: omnizarr.open(store, path="z", mode="w-"),
    ):
        with pytest.raises(NodeExistsError):
            attempt()
    assert omnizarr.open_array(store, path="z")[...].tolist() == [1, 2]


def test_mode_a_does_not_write_over_another_generation(store: omnizarr.Store) -> None:
    store.set("a/.zgroup", b'{"zarr_format": 2}')
    assert omnizarr.open_group(store, path="a", mode="a").zarr_format == 2
    with pytest.raises(NodeExistsError, match="Zarr v2"):
        omnizarr.open_group(store, path="a", mode="a", zarr_format=3)
    assert list(store.list()) == ["a/.zgroup"]


def test_mode_a_does_not_write_over_what_cannot_be_read(store: omnizarr.Store) -> None:
    store.set("zarr.json", b"{")
    with pytest.raises(ValueError, match="not valid JSON"):
        omnizarr.open_group(store, mode="a")
    assert bytes(store.get("zarr.json") or b"") == b"{"


def test_mode_r_never_writes(store: omnizarr.Store) -> None:
    """The tests of groups try everything that can be reached through a read-only handle."""
    omnizarr.create_group(store).create_array("z", data=[1, 2])
    z = omnizarr.open_array(store, path="z", mode="r")
    assert z.read_only
    with pytest.raises(ReadOnlyError, match="array `z` in .* is open for reading only"):
        z[0] = 5
    assert z[...].tolist() == [1, 2]


@pytest.mark.parametrize("mode", ["x", "rw", "R", "", 3, True])
def test_other_modes_are_rejected(store: omnizarr.Store, mode: Any) -> None:
    for function in (omnizarr.open, omnizarr.open_array, omnizarr.open_group):
        with pytest.raises(ArgumentError) as caught:
            function(store, mode=mode)
        assert caught.value.argument == "mode"


# -- stores that cannot be written


def test_a_read_only_store(tmp_path: Path) -> None:
    omnizarr.create_group(tmp_path).create_array("z", data=[1, 2])
    for store in (omnizarr.LocalStore(tmp_path, read_only=True), omnizarr.open(tmp_path, mode="r").store):
        for mode in ("r", "a", None):
            assert omnizarr.open_group(store, mode=mode).read_only
            assert omnizarr.open(store, path="z", mode=mode).read_only
        for mode in ("r+", "w", "w-"):
            with pytest.raises(ReadOnlyError):
                omnizarr.open_group(store, mode=mode)
            with pytest.raises(ReadOnlyError):
                omnizarr.open_array(store, path="z", mode=mode, shape=3, dtype="int8")
        with pytest.raises(NodeNotFoundError):
            omnizarr.open_group(store, path="nothing", mode="a")
    assert omnizarr.open_array(tmp_path, path="z")[...].tolist() == [1, 2]


@pytest.mark.parametrize("zarr_format", [1, 2, "3-draft-2020", "3-draft-2022", 3, "n5"])
def test_zarr_format_values(store: omnizarr.Store, zarr_format: Any) -> None:
    omnizarr.create_array(store, data=[1, 2], zarr_format=zarr_format)
    assert omnizarr.open(store).zarr_format == zarr_format
    assert omnizarr.open(store, zarr_format=zarr_format).zarr_format == zarr_format
    for other in {1, 2, "3-draft-2020", "3-draft-2022", 3, "n5"} - {zarr_format}:
        with pytest.raises((NodeNotFoundError, MetadataError)):
            omnizarr.open(store, zarr_format=other)  # type: ignore[arg-type]
    for wrong in (4, 2.0, True, "3", "3-draft"):
        with pytest.raises(ArgumentError, match="zarr_format"):
            omnizarr.open(store, zarr_format=wrong)  # type: ignore[arg-type]


def test_a_node_of_another_generation_is_replaced_only_on_request(tmp_path: Path) -> None:
    """A v2 hierarchy is kept until the user asks to replace it."""
    (tmp_path / ".zgroup").write_text('{"zarr_format": 2}')
    for create in (
        lambda: omnizarr.create_array(tmp_path, shape=3, dtype="i4"),
        lambda: omnizarr.create_group(tmp_path),
        lambda: omnizarr.open_group(tmp_path, mode="w-"),
        lambda: omnizarr.open_group(tmp_path, mode="a", zarr_format=3),
        lambda: omnizarr.create_array(tmp_path, name="a/b", shape=3, dtype="i4"),
        lambda: omnizarr.create_array(tmp_path, name="a/b", shape=3, dtype="i4", overwrite=True),
        lambda: omnizarr.create_array(tmp_path, name="a", shape=3, dtype="i4", zarr_format="3-draft-2022"),
    ):
        with pytest.raises(omnizarr.OmnizarrError, match="a group of Zarr v2"):
            create()
    assert [file.name for file in tmp_path.iterdir()] == [".zgroup"]
    omnizarr.create_group(tmp_path, overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["zarr.json"]

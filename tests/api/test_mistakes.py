"""Mistakes of users are rejected before anything is stored; no argument is silently ignored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ArgumentError, NodeExistsError, SelectionError
from omnizarr.nodes import ArrayOptions
from omnizarr.store import MemoryStore, PrefixStore


class Words:
    """An array-like object whose elements are not numbers."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(["1", "2", "x", "4"])


def test_invalid_values_are_rejected_before_the_array_is_created(tmp_path: Path) -> None:
    z = omnizarr.zeros(4, dtype="i4", chunks=1)
    with pytest.raises(ValueError, match="invalid literal"):
        z[...] = Words()
    assert z.nchunks_initialized == 0
    with pytest.raises(ValueError, match="invalid literal"):
        z.append(Words())
    assert z.shape == (4,)
    with pytest.raises(ValueError, match="invalid literal"):
        omnizarr.create_array(tmp_path / "new", data=["a"], dtype="i4")
    with pytest.raises(OverflowError):
        omnizarr.create_array(tmp_path / "new", data=[300], dtype="i1")
    with pytest.raises(ArgumentError, match="the shape of `data`"):
        omnizarr.from_array(tmp_path / "new", data=np.arange(10), shape=(4,), chunks=3)
    assert not (tmp_path / "new").exists()


def test_orthogonal_selection_rejects_masks_of_several_dimensions() -> None:
    z = omnizarr.zeros((2, 3, 4))
    with pytest.raises(SelectionError, match="one dimension"):
        z.oindex[np.ones((2, 3), bool)]


def test_out_must_have_the_type_of_the_field() -> None:
    s = omnizarr.array(np.array([(1, 2.5), (3, 4.5)], [("x", "i2"), ("y", "f4")]))
    out = np.zeros(2, "f4")
    assert s.read("y", out=out) is out
    assert out.tolist() == [2.5, 4.5]
    with pytest.raises(ArgumentError, match="can be cast to"):
        s.read("y", out=np.zeros(2, s.dtype))


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [("mod", "mode"), ("on_corupt", "on_corrupt"), ("use_consolidate", "use_consolidated"), ("cach", "cache")],
)
def test_a_misspelt_argument_of_open_gets_a_suggestion(misspelt: str, meant: str) -> None:
    for opener in (omnizarr.open, omnizarr.open_array, omnizarr.open_group):
        with pytest.raises(ArgumentError, match=f"there is no option `{misspelt}`") as caught:
            opener({}, **{misspelt: "r"})
        assert caught.value.hint == f"did you mean `{meant}`?"


def test_contradictory_and_unknown_options_are_rejected() -> None:
    for call in (
        lambda: omnizarr.zeros(3, fill_value=5),
        lambda: omnizarr.ones(3, data=[1, 2, 3]),
        lambda: omnizarr.zeros_like(np.ones(3), fill_value=5),
    ):
        with pytest.raises(ArgumentError, match="all one value takes no"):
            call()
    group = omnizarr.group()
    group.create_array("a", shape=3, dtype="i4")
    with pytest.raises(ArgumentError, match="no option `shpe`"):
        group.require_array("a", shpe=4)
    with pytest.raises(NodeExistsError, match="shape"):
        group.require_array("a", data=np.arange(5))


def test_write_empty_chunks_applies_to_an_opened_handle() -> None:
    store = MemoryStore()
    omnizarr.create_array(store, shape=4, dtype="i4", chunks=2)
    omnizarr.open_array(store)[...] = 0
    assert omnizarr.open_array(store).nchunks_initialized == 0
    omnizarr.open_array(store, write_empty_chunks=True)[...] = 0
    assert omnizarr.open_array(store).nchunks_initialized == 2


def test_saving_an_array_does_not_replace_a_group(tmp_path: Path) -> None:
    omnizarr.save(tmp_path, a=[1], b=[2])
    with pytest.raises(NodeExistsError, match="a group exists"):
        omnizarr.save(tmp_path, [1, 2, 3])
    omnizarr.save_array(tmp_path, [1, 2, 3], overwrite=True)
    omnizarr.save(tmp_path, [4, 5])
    assert omnizarr.load(tmp_path).tolist() == [4, 5]


def test_following_a_hint_works() -> None:
    store = MemoryStore()
    group = omnizarr.create_group(store)
    group.create_group("a")
    group.create_group("b")
    with pytest.raises(NodeExistsError, match='mode="w" replaces it'):
        omnizarr.open_group(store, mode="w-")
    with pytest.raises(NodeExistsError) as caught:
        group.move("a", "b")
    assert caught.value.hint is None


def test_memory_stores_have_distinct_dask_tokens() -> None:
    """The dask token of a memory store must differ from that of a deleted one, whose `id` may be reused."""
    tokens = {repr(omnizarr.zeros(3).__dask_tokenize__()) for _ in range(50)}
    assert len(tokens) == 50
    named = omnizarr.create_group("memory://somewhere")
    assert named.store.location == "memory://somewhere"
    assert omnizarr.open_group(named.store.location) == named


def test_help_shows_the_array_options() -> None:
    import inspect

    assert "store" in inspect.signature(omnizarr.zeros).parameters
    assert "data" not in inspect.signature(omnizarr.zeros).parameters
    assert "ForwardRef" not in str(inspect.signature(omnizarr.create_array))


# -- values of a wrong type


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "create_array": omnizarr.create_array,
    "create_group": omnizarr.create_group,
    "open": omnizarr.open,
    "open_array": omnizarr.open_array,
    "open_group": omnizarr.open_group,
    "empty_like": lambda _, **options: omnizarr.empty_like(omnizarr.create_array(None, shape=3, dtype="i4"), **options),
    "Group.create_array": lambda store, **options: omnizarr.open_group(store).create_array("a", **options),
    "Group.require_array": lambda store, **options: omnizarr.open_group(store).require_array("a", **options),
    "Group.require_group": lambda store, **options: omnizarr.open_group(store).require_group("a", **options),
}
OPTIONS = sorted(
    {"mode", "path", "use_consolidated", "zarr_format", "overwrite", "storage_options", "cache", "on_corrupt"}
    | ArrayOptions.__annotations__.keys() - {"data"}
)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_array_as_an_option_raises_no_error_of_numpy(function: str, option: str) -> None:
    """The truth value of an array is ambiguous, so that careless checks fail with a ValueError of NumPy."""
    options: dict[str, Any] = {"shape": 3, "dtype": "i4"} if function.endswith(("array", "like")) else {}
    for zarr_format in (1, 2, 3, "3-draft-2020", "3-draft-2022"):
        if not function.startswith("Group"):
            options["zarr_format"] = zarr_format
        try:
            FUNCTIONS[function](omnizarr.MemoryStore(), **{**options, option: np.zeros(3)})
        except omnizarr.OmnizarrError:
            pass
        except TypeError as error:
            assert "unexpected keyword argument" in str(error)  # noqa: PT017


@pytest.mark.parametrize("overwrite", ["False", None, 2, np.zeros(2)])
def test_overwrite_takes_only_true_and_false(overwrite: Any) -> None:
    """The text `False` would count as true, and erase the array."""
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, data=[1, 2, 3])
    with pytest.raises(ArgumentError, match="`overwrite`: expected True or False"):
        omnizarr.create_array(store, shape=2, dtype="i4", overwrite=overwrite)
    assert omnizarr.open_array(store)[...].tolist() == [1, 2, 3]


@pytest.mark.parametrize("zarr_format", ["3-draft-2020", "3-draft-2022"])
def test_a_fallback_of_a_wrong_type(zarr_format: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        omnizarr.create_array(None, shape=3, dtype="i4", zarr_format=zarr_format, fallback=np.zeros(3))
    assert caught.value.argument == "fallback"


@pytest.mark.parametrize("given", ["data.zarr", 5, [], object()])
@pytest.mark.parametrize("make", [omnizarr.CacheStore, PrefixStore, omnizarr.MemoryStore, omnizarr.FsspecStore])
def test_a_store_of_a_wrong_object_is_rejected_when_it_is_made(make: Any, given: Any) -> None:
    with pytest.raises(ArgumentError, match="expected a (store|dict|file system of fsspec), found"):
        make(given, "a/") if make is PrefixStore else make(given)

"""Creates, changes and converts random arrays, and checks that every reader of the documents finds the elements.

The only errors that `check_case` accepts are rejections before anything is stored."""

from __future__ import annotations

import warnings
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

import omnizarr
from omnizarr.dtypes import same_bits
from omnizarr.errors import ArgumentError, ChunkError, MetadataError, OmnizarrWarning
from omnizarr.store import MemoryStore
from tests.fuzz.array_options import CONVENTIONS, GENERATIONS, Case, random_case

__all__ = ["check_case", "check_random_case", "create", "same_elements"]

_MOST_REJECTIONS = 500  # N5 accepts one of twelve
_DEFAULT_CODECS: dict[str, Any] = {"filters": "auto", "serializer": "auto", "compressors": "auto", "shards": None}


def check_random_case(data: bytes | int | str) -> Any:
    """Creates an array with options that `data` determines: the first ones that `create_array` accepts. Returns its
    generation. Raises AssertionError if it, or an array that was converted from it, has other elements."""
    random = Random(data)
    generation = random.choice(GENERATIONS)
    for _ in range(_MOST_REJECTIONS):
        if check_case(random_case(random, generation), random):
            return generation
    raise AssertionError(f"{generation}: all options were rejected")


def check_case(case: Case, random: Random) -> bool:
    """Whether an array could be created."""
    array = create(MemoryStore(), case)
    if array is None:
        return False
    _check_reopened(array, case.data)
    # A change of the metadata keeps everything else.
    array.attrs["changed"] = True
    if array.shape:
        array.resize((array.shape[0] + 2, *array.shape[1:]))
    grown = np.full(array.shape, array.metadata.filler, array.dtype)
    grown[tuple(map(slice, case.data.shape))] = case.data
    reopened = _check_reopened(array, grown)
    for generation in random.sample(GENERATIONS, 2):
        _check_conversion(reopened, grown, generation)
    return True


def create(store: Any, case: Case, **options: Any) -> omnizarr.Array | None:
    """The array of a case; None if its options are rejected, which must not store anything."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            array = omnizarr.create_array(store, shape=case.data.shape, **{**case.options, **options})
        except (ArgumentError, MetadataError):
            assert isinstance(store, MemoryStore) is False or not list(store.list()), "a rejected array was stored"
            return None
        try:
            array[...] = case.data
        except (ArgumentError, ChunkError):  # elements that the codec of objects does not accept, for example
            return None
    return array


def _check_reopened(array: omnizarr.Array, data: npt.NDArray[Any]) -> omnizarr.Array:
    """The array from its documents, which must describe the same array without warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reopened = omnizarr.open_array(array.store, allow_pickle=True)
        assert same_elements(reopened[...], data), f"expected {data.tolist()}, found {reopened[...].tolist()}"
    assert reopened.dtype == array.dtype, (reopened.dtype, array.dtype)
    one, other = reopened.metadata.fill, array.metadata.fill
    assert (one is None) == (other is None), (one, other)
    assert one is None or other is None or same_bits(one, other), (one, other)
    assert reopened.attrs.asdict() == array.attrs.asdict()
    return reopened


def _check_conversion(source: omnizarr.Array, data: npt.NDArray[Any], generation: Any) -> None:
    for options in ({}, CONVENTIONS, _DEFAULT_CODECS):
        store = MemoryStore()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "the fill value of .* is undefined", OmnizarrWarning)
            try:
                copy = omnizarr.from_array(store, data=source, zarr_format=generation, **options)
            except (ArgumentError, MetadataError):
                assert not list(store.list()), "a rejected conversion stored something"
                continue
        reopened = _check_reopened(copy, data)
        assert reopened.zarr_format == generation
        assert _own_attributes(copy) == _own_attributes(source)
        assert copy.dimension_names == source.dimension_names
        if source.metadata.fill is not None:
            assert same_bits(copy.metadata.filler, source.metadata.filler)
        return


def _own_attributes(array: omnizarr.Array) -> dict[str, Any]:
    """The attributes without those in which some generations keep the names of dimensions."""
    return {name: value for name, value in array.attrs.asdict().items() if name not in ("_ARRAY_DIMENSIONS", "axes")}


def same_elements(one: Any, other: npt.NDArray[Any]) -> bool:
    """Whether two arrays have equal shapes and elements; the byte order may differ."""
    one = np.asarray(one)
    if one.shape != other.shape:
        return False
    if one.dtype.hasobject or other.dtype.hasobject or one.dtype.kind == "T":
        return bool(one.tolist() == other.tolist())
    return repr(one.astype(other.dtype).tolist()) == repr(other.tolist())

"""Resizing and appending: elements outside the new shape are erased for good, appended elements are kept."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.codecs import Sharding, Transpose
from omnizarr.errors import ArgumentError
from omnizarr.store import CacheStore, LocalStore
from omnizarr.testing import RecordingStore

LAYOUTS: dict[str, dict[str, Any]] = {
    "chunked": {"chunks": (4, 3)},
    "one chunk": {"chunks": (50, 50)},
    "F": {"chunks": (4, 3), "order": "F"},
    "sharded": {"chunks": (2, 3), "shards": (4, 6)},
    "one shard": {"chunks": (2, 3), "shards": (20, 30)},
    "transposed shards": {"chunks": (4, 6), "filters": [Transpose((1, 0))], "serializer": Sharding((3, 2))},
    "compressed shards": {"chunks": (4, 6), "serializer": Sharding((2, 3)), "compressors": ["gzip"]},
    "v2 keys": {"chunks": (4, 3), "chunk_key_encoding": "v2"},
    "rectilinear": {"chunks": ([4, 3, 5], [5, 2, [3, 2]])},
    "rectilinear shards": {"chunks": (2, 3), "shards": ([4, 2, 6], [3, 9])},
}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


def create(shape: tuple[int, ...] = (10, 12), **options: Any) -> tuple[omnizarr.Array, np.ndarray]:
    values = np.arange(1, np.prod(shape) + 1, dtype="int16").reshape(shape)
    z = omnizarr.create_array(None, shape=shape, dtype="int16", fill_value=-1, **options)
    z[...] = values
    return z, values


def numpy_resize(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    new = np.full(shape, -1, values.dtype)
    common = tuple(slice(min(a, b)) for a, b in zip(values.shape, shape, strict=True))
    new[common] = values[common]
    return new


@layouts
@pytest.mark.parametrize("shape", [(5, 12), (10, 5), (5, 5), (0, 12), (4, 6), (1, 1), (15, 3), (3, 20)])
def test_R121_shrinking_and_growing_does_not_bring_values_back(layout: Any, shape: tuple[int, int]) -> None:
    z, values = create(**layout)
    z.resize(shape)
    values = numpy_resize(values, shape)
    np.testing.assert_array_equal(z[...], values)
    z.resize((10, 12))
    np.testing.assert_array_equal(z[...], numpy_resize(values, (10, 12)))
    np.testing.assert_array_equal(omnizarr.open_array(z.store)[...], numpy_resize(values, (10, 12)))


@given(
    st.sampled_from(list(LAYOUTS.values())),
    st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13)), min_size=1, max_size=4),
)
def test_any_series_of_resizes_matches_numpy(layout: Any, shapes: list[tuple[int, int]]) -> None:
    z, values = create(**layout)
    for shape in shapes:
        z.resize(shape)
        values = numpy_resize(values, shape)
    np.testing.assert_array_equal(z[...], values)


def test_R121_chunks_outside_are_erased() -> None:
    z, _ = create(chunks=(4, 3))
    z.resize((4, 3))
    assert sorted(z.store.list()) == ["c/0/0", "zarr.json"]


def test_growing_costs_no_listing() -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    z = omnizarr.create_array(store, shape=4, dtype="int8")
    store.reset()
    z.resize(400)
    assert store.methods() == ["task_lock", "updates.read", "updates.write"]


@pytest.mark.parametrize("shape", [(5, 6), [5, 6], np.array([5, 6])])
def test_shapes_as_users_give_them(shape: Any) -> None:
    z, _ = create(chunks=(4, 3))
    z.resize(shape)
    assert z.shape == (5, 6)
    z.resize(3, 4)
    assert z.shape == (3, 4)
    z.shape = (2, 2)
    assert z.shape == (2, 2)
    assert all(type(length) is int for length in z.shape)


@pytest.mark.parametrize("shape", [(5,), 5, (1, 2, 3), (-1, 2), (2.5, 3), "23", None, (2**63, 1)])
def test_invalid_shapes(shape: Any) -> None:
    z, values = create(chunks=(4, 3))
    with pytest.raises(ArgumentError) as caught:
        z.resize(shape)
    assert caught.value.argument == "new_shape"
    np.testing.assert_array_equal(z[...], values)


def test_an_array_without_dimensions_stays_as_it_is() -> None:
    z = omnizarr.create_array(None, data=5)
    z.resize(())
    assert z[()] == 5


def test_resize_through_a_stale_handle_erases_appended_elements() -> None:
    z, _ = create((4,), chunks=8)
    other = omnizarr.open_array(z.store)
    other.append([50, 60])
    z.resize(3)  # the handle knows four elements, but six are stored
    z.resize(6)
    assert z[...].tolist() == [1, 2, 3, -1, -1, -1]


# -- append


@layouts
@pytest.mark.parametrize("axis", [0, 1, -1, -2, np.int64(1)])
def test_append_on_any_axis(layout: Any, axis: int) -> None:
    z, values = create(**layout)
    more = np.full((3, 12) if axis % 2 == 0 else (10, 3), 7, "int16")
    assert z.append(more, axis=axis) == z.shape
    np.testing.assert_array_equal(z[...], np.concatenate([values, more], axis))
    z.append(more.tolist(), axis=axis)
    np.testing.assert_array_equal(z[...], np.concatenate([values, more, more], axis))


@pytest.mark.parametrize("locking", [True, False])
def test_append_through_a_handle_that_does_not_know_the_length_of_another_axis(locking: bool) -> None:
    store = omnizarr.MemoryStore()
    store.locking = locking
    z = omnizarr.create_array(store, shape=(5, 4), dtype="i2", chunks=(3, 2))
    stale = omnizarr.open_array(store)
    z.append(np.ones((5, 1), "i2"), axis=1)
    assert stale.append(np.full((2, 5), 2, "i2")) == (7, 5)
    assert omnizarr.open_array(store)[4:].tolist() == [[0, 0, 0, 0, 1], [2] * 5, [2] * 5]


def test_append_to_an_empty_array_and_append_nothing() -> None:
    z = omnizarr.create_array(None, shape=(0, 3), dtype="int8", chunks=(2, 2))
    assert z.append([[1, 2, 3]]) == (1, 3)
    assert z.append(np.zeros((0, 3), "int8")) == (1, 3)
    assert z[...].tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("data", [5, [1, 2], [[1, 2]], [[[1] * 12]], np.zeros((0,))])
def test_append_of_data_that_do_not_fit_changes_nothing(data: Any) -> None:
    z, values = create(chunks=(4, 3))
    with pytest.raises(ArgumentError) as caught:
        z.append(data)
    assert caught.value.argument == "data"
    np.testing.assert_array_equal(omnizarr.open_array(z.store)[...], values)


@pytest.mark.parametrize("axis", [2, -3, None, "0", 0.5])
def test_append_on_an_invalid_axis(axis: Any) -> None:
    z, _ = create(chunks=(4, 3))
    with pytest.raises(ArgumentError) as caught:
        z.append(np.zeros((1, 12), "int16"), axis=axis)
    assert caught.value.argument == "axis"
    with pytest.raises(ArgumentError):
        omnizarr.create_array(None, data=5).append([1])


def test_alternating_appends_of_two_handles_are_kept() -> None:
    z = omnizarr.create_array(None, shape=2, dtype="int8", chunks=3)
    other = omnizarr.open_array(z.store)
    z.append([1, 1])
    other.append([2, 2])
    assert z.append([3]) == (7,)
    assert z[...].tolist() == [0, 0, 1, 1, 2, 2, 3]


def test_append_checks_against_the_stored_shape() -> None:
    z = omnizarr.create_array(None, shape=(2, 2), dtype="int8")
    omnizarr.open_array(z.store).resize((2, 3))
    with pytest.raises(ArgumentError, match=r"\(2, 3\)"):
        z.append([[1, 2]])
    z.append([[1, 2, 3]])
    assert z.shape == (3, 3)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("locking", [True, False])
def test_a_cached_handle_appends_after_the_rows_of_others(zarr_format: int, locking: bool, tmp_path: Path) -> None:
    inner = LocalStore(tmp_path, locking=locking)
    other = omnizarr.create_array(inner, shape=2, dtype="i4", chunks=4, fill_value=0, zarr_format=zarr_format)
    other[...] = [1, 2]
    z = omnizarr.open_array(CacheStore(inner, max_age=None))
    assert z[...].tolist() == [1, 2]
    other.append([3, 4, 5])
    z.append([6])
    assert z[...].tolist() == omnizarr.open_array(inner)[...].tolist() == [1, 2, 3, 4, 5, 6]
    other.refresh().append([7])
    z.resize(5)
    assert omnizarr.open_array(inner)[...].tolist() == [1, 2, 3, 4, 5]
    z.resize(8)
    assert z[...].tolist() == [1, 2, 3, 4, 5, 0, 0, 0]


def test_a_cached_handle_cleans_up_by_the_stored_shape(tmp_path: Path) -> None:
    """Otherwise it would erase the rows that another handle appended before the crash of a third one."""
    inner = LocalStore(tmp_path)
    other = omnizarr.create_array(inner, shape=2, dtype="i4", chunks=2, fill_value=0)
    other[...] = 1
    z = omnizarr.open_array(CacheStore(inner, max_age=None))
    assert z.shape == (2,)
    other.append([2, 2])
    with suppress(RuntimeError), inner.task_lock("zarr.json") as task_lock:
        task_lock.begin()
        raise RuntimeError
    z.append([3])
    assert omnizarr.open_array(inner)[...].tolist() == [1, 1, 2, 2, 3]

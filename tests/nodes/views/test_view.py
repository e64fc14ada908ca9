"""Lazy views equal the same selections of NumPy arrays, compose, and are read at once."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import ArgumentError, OutOfBoundsError, SelectionError, TooLargeError
from omnizarr.testing import RecordingStore

DATA: npt.NDArray[Any] = np.arange(20 * 12 * 5, dtype="i4").reshape(20, 12, 5)


def stored(data: npt.NDArray[Any] = DATA) -> omnizarr.Array:
    return omnizarr.create_array(data=data, chunks=tuple(max(1, length // 3) for length in data.shape))


# -- random selections


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))


def slices(length: int) -> st.SearchStrategy[slice]:
    bound = st.none() | st.integers(-length - 2, length + 2)
    return st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, 3, -1, -2]))


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[str, Any]:
    """A kind of selection and a key for an array of this shape."""
    kind = draw(st.sampled_from(["basic", "basic", "fancy", "oindex", "vindex", "mask"]))
    if kind == "mask":
        return "fancy", np.random.default_rng(draw(st.integers(0, 99))).random(shape) < 0.4
    length = draw(st.integers(0, len(shape)))
    points = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    key: list[Any] = []
    for size in shape[:length]:
        basic = slices(size) | (st.integers(-size, size - 1) if size else st.just(slice(None)))
        if kind == "basic" or not size:
            key.append(draw(basic))
        elif kind == "oindex":
            array = st.lists(st.integers(-size, size - 1), max_size=4).map(lambda items: np.array(items, int))
            mask = st.lists(st.booleans(), min_size=size, max_size=size).map(lambda items: np.array(items, bool))
            key.append(draw(basic | array | mask))
        else:
            one = points[-1:] if draw(st.booleans()) else points
            array = st.lists(st.integers(-size, size - 1), min_size=int(np.prod(one)), max_size=int(np.prod(one))).map(
                lambda items, one=one: np.array(items, int).reshape(one)
            )
            key.append(draw(array | basic))
    if kind in ("basic", "fancy"):
        for _ in range(draw(st.integers(0, 1))):
            key.insert(draw(st.integers(0, len(key))), None)
        if draw(st.booleans()):
            key.insert(draw(st.integers(0, len(key))), Ellipsis)
    return kind, tuple(key)


def numpy_result(array: npt.NDArray[Any], kind: str, key: Any) -> Any:
    """What NumPy gives; for the selections that NumPy lacks, what an array gives, which other tests compare."""
    if kind in ("basic", "fancy"):
        return array[key]
    return getattr(omnizarr.create_array(data=array, chunks=-1 if array.shape else "auto"), kind)[key]


def lazy_result(view: omnizarr.LazyView, kind: str, key: Any) -> omnizarr.LazyView:
    return view[key] if kind in ("basic", "fancy") else getattr(view, kind)[key]


def check(view: omnizarr.LazyView, expected: npt.NDArray[Any], data: st.DataObject) -> None:
    """Compares a view with an array, after each of several random selections."""
    for _ in range(data.draw(st.integers(1, 4))):
        kind, key = data.draw(keys(expected.shape))
        try:
            after = np.asarray(numpy_result(expected, kind, key))
        except (SelectionError, IndexError):
            with pytest.raises(SelectionError):
                lazy_result(view, kind, key)
            continue
        assume(after.ndim <= 6)
        view, expected = lazy_result(view, kind, key), after
        assert (view.shape, view.dtype, view.ndim, view.size) == (
            expected.shape, expected.dtype, expected.ndim, expected.size,
        )  # fmt: skip
        assert tuple(map(sum, view.chunks)) == view.shape
    result = view.read()
    np.testing.assert_array_equal(result, expected)
    assert result.shape == expected.shape
    assert result.flags.writeable
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(view)), expected)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_selections_of_selections_equal_those_of_numpy(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    array = np.arange(int(np.prod(shape))).reshape(shape)
    check(stored(array).lazy, array, data)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_concatenations_and_stacks_equal_those_of_numpy(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    join = data.draw(st.sampled_from(["concat", "stack"]))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    parts = []
    for number in range(data.draw(st.integers(1, 3))):
        own = list(shape)
        if join == "concat":
            own[axis] = data.draw(st.integers(0, 4))
        dtype = data.draw(st.sampled_from(["i4", "f8"]))
        parts.append((np.arange(int(np.prod(own))) + 1000 * number).reshape(own).astype(dtype))
    expected = (np.concatenate if join == "concat" else np.stack)(parts, axis)
    arrays: list[Any] = [stored(part) for part in parts]
    if data.draw(st.booleans()):
        arrays[0] = arrays[0].lazy[::-1][::-1]
    view = (omnizarr.concat if join == "concat" else omnizarr.stack)(arrays, axis)
    assert view.shape == expected.shape
    check(view, expected, data)


def test_points_of_a_view_with_arrays_of_indices() -> None:
    view = stored().lazy.oindex[:, [7, 2], [True, False, True, True, False]].vindex[[3, 3, 15]]
    np.testing.assert_array_equal(view, DATA[np.ix_([3, 3, 15], [7, 2], [0, 2, 3])])
    again = view.vindex[[0, 2], :, [1, 0]]
    np.testing.assert_array_equal(again, np.asarray(view)[[0, 2], :, [1, 0]])


# -- reading


def test_a_view_reads_only_its_chunks_and_only_once() -> None:
    inner = omnizarr.MemoryStore()
    omnizarr.create_array(inner, data=DATA, chunks=(5, 4, 5))
    store = RecordingStore(inner)
    z = omnizarr.open_array(store)
    store.reset()
    view = z.lazy[3:17, ::2][4:8, -1][:, 1:3]
    assert view.shape == (4, 2)
    assert store.calls == []
    np.testing.assert_array_equal(np.asarray(view), DATA[7:11, 10, 1:3])
    assert "c/1/2/0" in repr(store.calls)
    assert "c/2/2/0" in repr(store.calls)
    assert store.requests == 2


def test_views_of_large_arrays_cost_nothing() -> None:
    z = omnizarr.create_array(shape=(2**36, 2**20), chunks=(2**24, 2**4), dtype="f8")
    view = z.lazy[::-3][5:10, 7]
    assert view.read().tolist() == [0.0] * 5
    assert len(pickle.dumps(view)) < 4000
    assert z.lazy[:, 0].chunks == ((2**24,) * 2**12,)
    with pytest.raises(TooLargeError, match=r"`view.read\(\)`"):
        _ = z.lazy[: 2**30] + 1


def test_chunks_are_those_of_the_source() -> None:
    z = omnizarr.create_array(shape=(20, 12), chunks=(2, 3), shards=(10, 6), dtype="i4")
    view = z.lazy[3:, ::-2]
    assert view.chunks == ((1, *[2] * 8), (2, 1, 2, 1))
    assert view.shards == ((7, 10), (3, 3))
    assert z.lazy.oindex[[1, 2, 3, 11, 5], :].chunks[0] == (1, 2, 1, 1)
    assert z.lazy[None, 4].chunks == ((1,), (3, 3, 3, 3))
    assert stored(DATA).lazy.shards is None
    joined = omnizarr.concat([z, z.lazy[:5]])
    assert joined.chunks[0] == (*[2] * 10, 2, 2, 1)
    assert joined.shards is not None
    assert joined.shards[0] == (10, 10, 5)


def test_views_take_part_in_expressions() -> None:
    view = stored().lazy[2:4, 3]
    np.testing.assert_array_equal(view + 1, DATA[2:4, 3] + 1)
    np.testing.assert_array_equal(np.mean(view, axis=0), DATA[2:4, 3].mean(axis=0))
    assert [row.tolist() for row in view] == DATA[2:4, 3].tolist()
    assert len(view) == 2
    assert float(view[0, 0]) == DATA[2, 3, 0]
    assert repr(view).startswith("<LazyView shape=(2, 5) dtype=int32 of <Array `/` in MemoryStore(")


def test_views_in_dask(tmp_path: Path) -> None:
    da = pytest.importorskip("dask.array")
    z = omnizarr.create_array(tmp_path, data=DATA, chunks=(5, 4, 5))
    view = z.lazy[3:, ::-1].oindex[:, [1, 4, 7]]
    expected = DATA[3:, ::-1][:, [1, 4, 7]]
    x = view.to_dask(chunks=None)
    assert x.chunks == ((2, 5, 5, 5), (1, 2), (5,))
    np.testing.assert_array_equal(x.compute(), expected)
    np.testing.assert_array_equal(da.from_array(view).compute(), expected)
    assert x.name == z.lazy[3:, ::-1].oindex[:, [1, 4, 7]].to_dask(chunks=None).name
    assert x.name != z.lazy[4:, ::-1].oindex[:, [1, 4, 7]].to_dask(chunks=None).name
    z[0, 0, 0] = 7
    assert x.name != view.to_dask(chunks=None).name
    both = omnizarr.concat([z.lazy[3:], view], axis=1)
    np.testing.assert_array_equal(both.to_dask().sum(axis=1).compute(), np.asarray(both).sum(axis=1))


# -- locations and mistakes


def test_locations_are_opened_for_reading(tmp_path: Path) -> None:
    for name in ("a", "b"):
        omnizarr.create_array(tmp_path / name, data=np.full((2, 3), ord(name)))
    view = omnizarr.concat([tmp_path / "a", str(tmp_path / "b"), omnizarr.LocalStore(tmp_path / "a")])
    assert view[:, 0].read().tolist() == [97, 97, 98, 98, 97, 97]
    assert omnizarr.stack([tmp_path / "a", tmp_path / "b"], axis=-1)[0, 0].read().tolist() == [97, 98]


def test_mistakes() -> None:
    z = stored()
    for key in (20, (0, 0, 0, 0), "field", 1.5, [30]):
        with pytest.raises(SelectionError):
            z.lazy[key]
    with pytest.raises(OutOfBoundsError):
        _ = z.lazy[5:10][5]
    with pytest.raises(SelectionError, match="for reading"):
        z.lazy.oindex[[1]] = 5
    with pytest.raises(SelectionError, match="new axes"):
        _ = z.lazy.vindex[None, [1]]
    with pytest.raises(SelectionError, match="at least one array"):
        _ = z.lazy.vindex[1:3]
    with pytest.raises(SelectionError, match="broadcast together"):
        _ = z.lazy[[1, 2], [1, 2, 3]]
    for arrays, reason in (
        ([], "at least one array"),
        (z, "several arrays"),
        ("a.zarr", "several arrays"),
        ([z, DATA], "found ndarray"),
        ([z, z.lazy[:, :5]], "expected shapes like"),
    ):
        with pytest.raises(ArgumentError, match=reason):
            omnizarr.concat(arrays)
    with pytest.raises(ArgumentError, match="equal shapes"):
        omnizarr.stack([z, z.lazy[:5]])
    with pytest.raises(ArgumentError, match="from -3 to 2"):
        omnizarr.concat([z], axis=3)
    with pytest.raises(ArgumentError, match="no common one"):
        omnizarr.concat([z, omnizarr.create_array(data=np.zeros(DATA.shape, "M8[s]"))])

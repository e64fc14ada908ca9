"""Keys: each kind of key selects the elements that NumPy selects, and invalid keys are selection errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis.extra import numpy as arrays

from omnizarr.errors import OutOfBoundsError, SelectionError
from omnizarr.grids import Rectilinear, Regular
from omnizarr.grids.rectilinear import as_runs
from omnizarr.indexing import (
    Projection,
    Selection,
    block_selection,
    coordinate_selection,
    numpy_selection,
    orthogonal_selection,
    plain_selection,
    split_fields,
)
from omnizarr.indexing.key_items import parse_items
from omnizarr.indexing.mask_key import mask_selection
from omnizarr.indexing.numpy_key import basic_selection

DATA = np.arange(120).reshape(4, 5, 6)


def select(selection: Selection, array: npt.NDArray[Any] = DATA) -> npt.NDArray[Any]:
    """The result of a selection, from an array that is one chunk."""
    result = np.full(selection.shape, -1)
    if selection.empty:
        return result
    projection = Projection(selection.picks, selection.points, Regular(array.shape).axes(array.shape))
    (cell,) = projection
    chunk = array if projection.order is None else array.transpose(projection.order)
    selection.block(result)[cell.outer] = chunk[projection.expression(cell.inner)]
    return result


@given(arrays.basic_indices(DATA.shape, allow_newaxis=True))
def test_basic_keys(key: Any) -> None:
    np.testing.assert_array_equal(select(numpy_selection(key, DATA.shape)), DATA[key])


@given(arrays.basic_indices(DATA.shape, allow_ellipsis=False))
def test_the_fast_path_gives_the_same_selection(key: Any) -> None:
    key = key if isinstance(key, tuple) else (key,)
    plain = plain_selection(key, DATA.shape)
    assert plain is None or plain == basic_selection(parse_items(key, DATA.shape))
    if all(isinstance(item, int) or item.step in (None, 1) for item in key):
        assert plain is not None


@given(arrays.integer_array_indices(DATA.shape, result_shape=arrays.array_shapes(max_dims=2, max_side=4)))
def test_integer_arrays(key: Any) -> None:
    np.testing.assert_array_equal(select(numpy_selection(key, DATA.shape)), DATA[key])
    np.testing.assert_array_equal(select(coordinate_selection(key, DATA.shape)), DATA[key])


@pytest.mark.parametrize(
    "key",
    [
        (slice(1, 3), [0, 4, 4]),
        ([0, 3], slice(None), [5, 1]),
        ([0, 3], ..., [5, 1]),
        (2, slice(None), [5, 1]),
        (None, [0, 3], None, [1, 1]),
        (slice(None, None, -1), [[1], [2]]),
        (True, [1, 2]),
        (DATA[:, 0, 0] > 30, 2),
        (DATA > 60,),
        (1, [], slice(2)),
    ],
)
def test_arrays_beside_other_items(key: Any) -> None:
    np.testing.assert_array_equal(select(numpy_selection(key, DATA.shape)), DATA[key])


def test_orthogonal_keys() -> None:
    rows, columns = [3, 0, 0], np.array([True, False, True, True, False])
    expected = DATA[np.ix_(rows, np.flatnonzero(columns), range(6))][..., ::-2]
    selection = orthogonal_selection((rows, columns, slice(None, None, -2)), DATA.shape)
    np.testing.assert_array_equal(select(selection), expected)
    np.testing.assert_array_equal(select(orthogonal_selection((1, ..., [2, 2]), DATA.shape)), DATA[1][:, [2, 2]])


def test_coordinate_keys_have_the_points_first() -> None:
    selection = coordinate_selection((slice(1, 3), [0, 1, 2], [3, 3, 0]), DATA.shape)
    np.testing.assert_array_equal(select(selection), np.moveaxis(DATA[1:3, [0, 1, 2], [3, 3, 0]], 0, -1))
    np.testing.assert_array_equal(select(coordinate_selection((3, 4, 5), DATA.shape)), DATA[3, 4, 5])


@pytest.mark.parametrize("density", [0.0, 0.001, 0.5, 1.0])
def test_a_mask_over_one_dimension(density: float) -> None:
    """A sparse mask becomes indices, any other stays a mask."""
    array = np.arange(10_000)
    mask = np.random.default_rng(0).random(10_000) < density
    selection = mask_selection((mask,), array.shape)
    assert selection is not None
    assert (np.asarray(selection.picks[0]).dtype == bool) == (density >= 0.5)
    np.testing.assert_array_equal(select(selection, array), array[mask])
    assert mask_selection((mask[1:],), array.shape) is None
    assert mask_selection((mask, 0), (10_000, 1)) is None


def test_block_keys_select_whole_chunks() -> None:
    axes = (*Regular((3,)).axes((4,)), *Rectilinear((as_runs([(1, 2), (4, 1)]),)).axes((5,)))
    assert block_selection((1, slice(1, 3)), axes).picks == (slice(3, 4, 1), slice(1, 5, 1))
    assert block_selection(-2, axes).picks == (slice(0, 3, 1), slice(0, 5, 1))
    assert block_selection((slice(1, 1), 0), axes).shape == (0, 1)


def test_field_names() -> None:
    assert split_fields("a") == ("a", ...)
    assert split_fields(["a", "b"]) == (["a", "b"], ...)
    assert split_fields(("a", slice(3), 1)) == ("a", (slice(3), 1))
    assert split_fields(("a", 0, ["b", "c"])) == (["a", "b", "c"], (0,))
    assert split_fields((0, [1, 2])) == (None, (0, [1, 2]))
    assert split_fields([]) == (None, [])


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ((..., ...), "only one `...`"),
        ((0, 0, 0, 0), "too many indices"),
        (("a",), "not <U1"),
        ((1.5,), "not float64"),
        (([1, [2]],), "cannot be used as an index"),
        ((slice("a", None),), "not a usable slice"),
        ((slice(None, None, 0),), "not a usable slice"),
        ((np.ones(3, bool),), "a mask of length 3 cannot be used on axis 0 with length 4"),
        (([0, 1], [0, 1, 2]), r"shapes \(2,\), \(3,\) cannot be broadcast"),
    ],
)
def test_invalid_keys(key: Any, message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        numpy_selection(key, DATA.shape)


@pytest.mark.parametrize(
    ("key", "axis", "index"), [((4,), 0, 4), ((0, -6), 1, -6), (([0, 9],), 0, 9), ((..., [-7]), 2, -7)]
)
def test_an_index_out_of_bounds_is_named(key: Any, axis: int, index: int) -> None:
    for parse in (numpy_selection, orthogonal_selection, coordinate_selection):
        with pytest.raises(OutOfBoundsError) as caught:
            parse(key, DATA.shape)
        assert (caught.value.axis, caught.value.index) == (axis, index)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("parse", "key", "message"),
    [
        (orthogonal_selection, (None, [1]), "cannot add new axes"),
        (orthogonal_selection, ([[1]],), "arrays of one dimension"),
        (orthogonal_selection, (DATA > 3,), "masks of one dimension"),
        (coordinate_selection, (None, [1]), "cannot add new axes"),
        (coordinate_selection, (slice(None),), "at least one array"),
    ],
)
def test_keys_that_only_numpy_accepts(parse: Any, key: Any, message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        parse(key, DATA.shape)


@pytest.mark.parametrize("key", [(slice(None, None, 2),), ([0],), (None, 0), (...,)])
def test_invalid_block_keys(key: Any) -> None:
    with pytest.raises(SelectionError, match="blocks are selected by integers and by slices"):
        block_selection(key, Regular((3, 3)).axes((4, 5)))

"""`z[key]` and `z[key] = value` do what NumPy does: random arrays and keys, with NumPy as the oracle."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import BroadcastError, OmnizarrError, OutOfBoundsError, SelectionError

# Users rely on this property most: test it with more examples than others.
often = settings(max_examples=max(150, settings().max_examples))

DTYPES = ["int16", "float64", "bool", "complex64", [("a", "i2"), ("b", "f4")]]


@st.composite
def arrays(draw: Any, most_dimensions: int = 4) -> tuple[omnizarr.Array, np.ndarray]:
    """An omnizarr array and a NumPy array with the same elements: chunked or sharded, with partial chunks at the edges,
    on a regular or a rectilinear grid."""
    shape = tuple(draw(st.lists(st.integers(0, 12), max_size=most_dimensions)))
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    chunks: Any = tuple(draw(st.integers(1, max(1, min(length + 3, 7)))) for length in shape)
    while np.prod([-(-length // size) for length, size in zip(shape, chunks, strict=True)]) > 200:
        chunks = tuple(size + 1 for size in chunks)  # more chunks take long and test nothing new
    shards: Any = None
    sharded = draw(st.booleans())
    if draw(st.booleans()):
        stored = tuple(draw(_edges(length, size, sharded)) for length, size in zip(shape, chunks, strict=True))
        chunks, shards = (chunks, stored) if sharded else (stored, None)
    elif sharded:
        shards = tuple(size * draw(st.integers(1, 3)) for size in chunks)
    order = draw(st.sampled_from("CF"))
    compressors = draw(st.sampled_from(["auto", None]))
    z = omnizarr.create_array(
        None, shape=shape, dtype=dtype, chunks=chunks, shards=shards, order=order, compressors=compressors
    )
    a = filled(shape, dtype)
    z[...] = a
    return z, a


@st.composite
def _edges(draw: Any, length: int, size: int, sharded: bool) -> int | list[int]:
    """One chunk length near `size`, or a list of them; multiples of `size` if sharded. Some
    chunks may lie beyond the dimension."""
    of_length = (
        st.integers(1, 3).map(lambda count: count * size) if sharded else st.integers(max(1, size - 2), size + 3)
    )
    if draw(st.integers(0, 3)) == 0:
        return draw(of_length)
    edges = [draw(of_length)]
    while sum(edges) < length or draw(st.integers(0, 3)) == 0:
        edges.append(draw(of_length))
    return edges


def filled(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    numbers = np.arange(1, int(np.prod(shape)) + 1).reshape(shape)
    if dtype.names is None:
        return np.asarray(numbers % 3 == 0) if dtype.kind == "b" else numbers.astype(dtype)
    a = np.zeros(shape, dtype)
    for name in dtype.names:
        a[name] = numbers
    return a


def slices(length: int) -> st.SearchStrategy[slice]:
    bound = st.none() | st.integers(-length - 3, length + 3)
    step = st.none() | st.integers(-4, 4).filter(bool)
    return st.builds(slice, bound, bound, step)


@st.composite
def basic_keys(draw: Any, shape: tuple[int, ...]) -> Any:
    count = draw(st.integers(0, len(shape)))
    items: list[Any] = []
    for length in shape[:count]:
        choices = [slices(length)]
        if length:
            choices.append(st.integers(-length, length - 1))
        items.append(draw(st.one_of(choices)))
    if draw(st.booleans()):
        at = draw(st.integers(0, len(items)))
        rest = shape[len(shape) - (len(items) - at) :] if len(items) > at else ()
        tail: list[Any] = [draw(slices(length)) for length in rest]
        items[at:] = [Ellipsis, *tail]
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), None)
    if len(items) == 1 and draw(st.booleans()):
        return items[0]
    return tuple(items)


@st.composite
def fancy_keys(draw: Any, shape: tuple[int, ...]) -> Any:
    """Arrays of integers and booleans, alone and mixed with other indices."""
    points = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    items: list[Any] = []
    dimension = 0
    while dimension < len(shape) and draw(st.integers(0, 5)):
        length = shape[dimension]
        kind = draw(st.sampled_from(["array", "array", "integer", "slice", "mask", "mask2", "list", "new", "flag"]))
        if kind == "new":
            items.append(None)
            continue
        if kind == "flag":
            items.append(draw(st.sampled_from([True, False, np.True_])))
            continue
        if kind == "mask2" and dimension + 1 < len(shape):
            seed = draw(st.integers(0, 2**16))
            items.append(np.random.default_rng(seed).random(shape[dimension : dimension + 2]) < 0.4)
            dimension += 2
            continue
        if kind == "mask":
            items.append(np.array(draw(st.lists(st.booleans(), min_size=length, max_size=length)), bool))
        elif kind == "slice" or not length:
            items.append(draw(slices(length)))
        elif kind == "integer":
            items.append(draw(st.integers(-length, length - 1)))
        elif kind == "list":
            items.append(draw(st.lists(st.integers(-length, length - 1), max_size=4)))
        else:
            size = int(np.prod(points))
            values = draw(st.lists(st.integers(-length, length - 1), min_size=size, max_size=size))
            dtype = draw(st.sampled_from([np.int64, np.int32, np.int8]))
            items.append(np.array(values, dtype).reshape(points))
        dimension += 1
    if draw(st.integers(0, 3)) == 0:
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
    if len(items) == 1 and draw(st.booleans()):
        return items[0]
    return tuple(items)


def assert_same(got: Any, wanted: Any) -> None:
    assert type(got) is type(wanted)
    assert got.shape == wanted.shape
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


def check_get(z: omnizarr.Array, a: np.ndarray, key: Any) -> None:
    note(f"{z!r} chunks={z.chunks} shards={z.shards} key={key!r}")
    try:
        wanted = a[key]
    except IndexError:
        with pytest.raises(IndexError) as caught:
            z[key]
        assert isinstance(caught.value, OmnizarrError)
    else:
        assert_same(z[key], wanted)


@often
@given(st.data())
def test_basic_get(data: Any) -> None:
    z, a = data.draw(arrays())
    check_get(z, a, data.draw(basic_keys(a.shape)))


@often
@given(st.data())
def test_fancy_get(data: Any) -> None:
    z, a = data.draw(arrays())
    check_get(z, a, data.draw(fancy_keys(a.shape)))


def check_set(z: omnizarr.Array, a: np.ndarray, key: Any, draw: Any) -> None:
    note(f"{z!r} chunks={z.chunks} shards={z.shards} key={key!r}")
    try:
        shape = a[key].shape
    except IndexError:
        with pytest.raises(IndexError):
            z[key] = a.reshape(-1)[:1]
        return
    # Drop leading axes and set others to length 1, so that the value must be broadcast.
    shape = shape[draw(st.integers(0, len(shape))) :]
    shape = tuple(1 if draw(st.integers(0, 3)) == 0 else length for length in shape)
    value = filled(shape, a.dtype)
    if a.dtype.names is None and a.dtype.kind != "b":
        value = -value
    a[key] = value
    z[key] = value
    np.testing.assert_array_equal(z[...], a)


@often
@given(st.data())
def test_basic_set(data: Any) -> None:
    z, a = data.draw(arrays())
    check_set(z, a, data.draw(basic_keys(a.shape)), data.draw)


@often
@given(st.data())
def test_fancy_set(data: Any) -> None:
    z, a = data.draw(arrays(most_dimensions=3))
    check_set(z, a, data.draw(fancy_keys(a.shape)), data.draw)


@often
@given(st.data())
def test_orthogonal(data: Any) -> None:
    """`oindex` indexes each dimension independently, like `np.ix_`."""
    z, a = data.draw(arrays())
    key: list[Any] = []
    mesh: list[Any] = []
    dropped: list[int] = []
    for axis, length in enumerate(a.shape):
        kind = data.draw(st.sampled_from(["slice", "array", "mask", "integer"]))
        if kind == "integer" and length:
            index = data.draw(st.integers(-length, length - 1))
            key.append(index)
            mesh.append([index % length])
            dropped.append(axis)
        elif kind == "slice" or not length:
            piece = data.draw(slices(length))
            key.append(piece)
            mesh.append(np.arange(length)[piece])
        elif kind == "mask":
            mask = np.array(data.draw(st.lists(st.booleans(), min_size=length, max_size=length)))
            key.append(mask)
            mesh.append(np.flatnonzero(mask))
        else:
            indices = np.array(data.draw(st.lists(st.integers(-length, length - 1), max_size=5)), np.intp)
            key.append(indices)
            mesh.append(indices % length)
    note(f"chunks={z.chunks} shards={z.shards} key={key!r}")
    grid = np.ix_(*[np.asarray(m, np.intp) for m in mesh])
    wanted = a[grid] if mesh else a
    squeezed = wanted.reshape([n for axis, n in enumerate(wanted.shape) if axis not in dropped])
    got = z.oindex[tuple(key)]
    assert np.shape(got) == squeezed.shape
    np.testing.assert_array_equal(got, squeezed)
    if mesh:
        value = filled(squeezed.shape, a.dtype)
        a[grid] = value.reshape(wanted.shape)
        z.oindex[tuple(key)] = value
        np.testing.assert_array_equal(z[...], a)


@often
@given(st.data())
def test_pointwise(data: Any) -> None:
    """`vindex` with an array for each dimension, and with a mask."""
    z, a = data.draw(arrays(most_dimensions=3))
    if not a.ndim:
        return
    mask = np.random.default_rng(data.draw(st.integers(0, 2**16))).random(a.shape) < 0.3
    np.testing.assert_array_equal(z.vindex[mask], a[mask])
    np.testing.assert_array_equal(z.get_mask_selection(mask), a[mask])
    if a.size:
        count = data.draw(st.integers(0, 6))
        key = tuple(
            np.array(data.draw(st.lists(st.integers(-n, n - 1), min_size=count, max_size=count)), np.intp)
            for n in a.shape
        )
        np.testing.assert_array_equal(z.vindex[key], a[key])
        value = filled((count,), a.dtype)
        a[key] = value
        z.vindex[key] = value
        np.testing.assert_array_equal(z[...], a)
    a[mask] = np.zeros((), a.dtype)
    z.set_mask_selection(mask, np.zeros((), a.dtype))
    np.testing.assert_array_equal(z[...], a)


@often
@given(st.data())
def test_blocks(data: Any) -> None:
    """`blocks` selects stored chunks by their grid coordinates."""
    z, a = data.draw(arrays())
    sizes = z.shards or z.chunks
    key: list[Any] = []
    wanted: list[slice] = []
    for length, size in zip(a.shape, sizes, strict=True):
        lengths = [size] * -(-length // size) if isinstance(size, int) else size
        count, places = len(lengths), [0, *accumulate(lengths)]
        if count and data.draw(st.booleans()):
            index = data.draw(st.integers(-count, count - 1))
            key.append(index)
            wanted.append(slice(places[index % count], places[index % count + 1]))
        else:
            start, stop = sorted(data.draw(st.tuples(st.integers(0, count), st.integers(0, count))))
            key.append(slice(start, stop))
            wanted.append(slice(places[start], places[stop]))
    np.testing.assert_array_equal(z.blocks[tuple(key)], a[tuple(wanted)])
    value = filled(a[tuple(wanted)].shape, a.dtype)
    a[tuple(wanted)] = value
    z.blocks[tuple(key)] = value
    np.testing.assert_array_equal(z[...], a)


@often
@given(st.data())
def test_fields(data: Any) -> None:
    """A field can be read by name; writing a field does not change the others."""
    z, a = data.draw(arrays())
    if a.dtype.names is None:
        with pytest.raises(SelectionError, match="has no fields"):
            z["a"]
        return
    key = data.draw(basic_keys(a.shape))
    assert_same(z["b"], a["b"])
    assert_same(z[["a", "b"]], a[["a", "b"]])
    items = key if isinstance(key, tuple) else (key,)
    assert_same(z[("b", *items)], a[key]["b"])
    a["b"][key] = -1
    z[("b", *items)] = -1
    np.testing.assert_array_equal(z[...], a)


@often
@given(st.data())
def test_read_into(data: Any) -> None:
    """`read(selection, out=…)` fills the caller's array, contiguous or not."""
    z, a = data.draw(arrays())
    key = data.draw(basic_keys(a.shape) | fancy_keys(a.shape))
    try:
        wanted = np.asarray(a[key])
    except IndexError:
        return
    out = np.zeros(wanted.shape, a.dtype)
    assert z.read(key, out=out) is out
    np.testing.assert_array_equal(out, wanted)
    wide = np.zeros([2 * n for n in wanted.shape], a.dtype)
    strided = wide[(..., *(slice(None, None, 2) for _ in wanted.shape))]
    z.read(key, out=strided)
    np.testing.assert_array_equal(strided, wanted)
    np.testing.assert_array_equal(z.read(key, out=np.zeros(wanted.shape, a.dtype, order="F")), wanted)


def test_out_of_bounds_names_axis_index_and_length() -> None:
    z = omnizarr.zeros((4, 5))
    for key in [(0, 5), (0, [1, 5]), (slice(None), np.array([[5]]))]:
        with pytest.raises(OutOfBoundsError, match="index 5 is out of bounds for axis 1 with length 5") as caught:
            z[key]
        assert (caught.value.axis, caught.value.index, caught.value.length) == (1, 5, 5)
    with pytest.raises(IndexError, match="index -5 is out of bounds for axis 0"):
        z[-5] = 1


def test_out_of_bounds_in_an_empty_selection() -> None:
    """Like NumPy, checks integers even if the selection is empty, but not arrays."""
    a = np.zeros((4, 5))
    for key in [([], [5]), ([], [[5]])]:
        assert_same(omnizarr.array(a)[key], a[key])
    for key in [([], 5), (..., [], 5), (False, 5), (5, np.zeros(5, bool))]:
        for array in (a, omnizarr.array(a)):
            with pytest.raises(IndexError, match="index 5 is out of bounds"):
                array[key]


def test_a_value_that_does_not_fit_changes_nothing() -> None:
    z = omnizarr.ones((4, 5), chunks=(2, 2))
    z[...] = 2
    with pytest.raises(BroadcastError) as caught:
        z[:, 1:3] = np.zeros((4, 3))
    assert isinstance(caught.value, ValueError)
    assert (caught.value.value_shape, caught.value.selection_shape) == ((4, 3), (4, 2))
    with pytest.raises(OverflowError):
        omnizarr.zeros((2,), dtype="int8")[0] = 300  # NumPy raises, too
    assert (z[...] == 2).all()


@pytest.mark.parametrize("key", [1.0, "1", (0, 1.5), [0.5], [[0], [1, 2]], object(), slice(0.5, 2), slice(0, 4, 0)])
def test_invalid_indices_raise_selection_errors(key: Any) -> None:
    with pytest.raises(SelectionError):
        omnizarr.zeros((4, 5))[key]


def test_too_many_indices() -> None:
    with pytest.raises(SelectionError, match="too many indices"):
        omnizarr.zeros((4,))[0, 0]
    with pytest.raises(SelectionError, match="only one"):
        omnizarr.zeros((4,))[..., ...]


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 2)])
@pytest.mark.parametrize("key", [(..., True), (True, ...), (..., False), True, False, (None, True, ..., None)])
def test_lone_booleans(shape: tuple[int, ...], key: Any) -> None:
    a = filled(shape, np.dtype("i2"))
    z = omnizarr.array(a)
    assert_same(z[key], a[key])
    a[key] = 5
    z[key] = 5
    np.testing.assert_array_equal(z[...], a)

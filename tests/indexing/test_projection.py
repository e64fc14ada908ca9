"""Projections: each selected element is in exactly one cell, and cells describe correctly what they take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.grids import Rectilinear, Regular
from omnizarr.grids.rectilinear import as_runs
from omnizarr.indexing import Projection, numpy_selection, orthogonal_selection


def read_by_chunk(a: np.ndarray, chunks: tuple[int, ...], selection: Any) -> np.ndarray:
    """The result of a selection that is read chunk by chunk from a NumPy array."""
    axes = Regular(chunks).axes(a.shape)
    padded = np.full([axis.count * size for axis, size in zip(axes, chunks, strict=True)], -1)
    padded[tuple(slice(0, n) for n in a.shape)] = a
    result = np.full(selection.shape, -2)
    block = selection.block(result)
    projection = Projection(selection.picks, selection.points, axes)
    cells = list(projection)
    assert len(cells) == len(projection)
    assert len({cell.chunk for cell in cells}) == len(cells)
    for cell in cells:
        assert cell.names == tuple(str(index) for index in cell.chunk)
        corner = tuple(slice(i * n, (i + 1) * n) for i, n in zip(cell.chunk, chunks, strict=True))
        chunk = padded[corner]
        inside = a[corner]
        ordered = chunk if projection.order is None else chunk.transpose(projection.order)
        part = ordered[projection.expression(cell.inner)]
        assert not cell.whole or part.size == inside.size
        block[cell.outer] = part
    return result


@given(st.data())
def test_cells_cover_a_selection_once(data: Any) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    chunks = tuple(data.draw(st.integers(1, 5)) for _ in shape)
    a = np.arange(int(np.prod(shape))).reshape(shape)
    np.testing.assert_array_equal(read_by_chunk(a, chunks, numpy_selection((), shape)), a)
    key = tuple(
        data.draw(
            st.builds(
                slice, st.none() | st.integers(-n, n), st.none() | st.integers(-n, n), st.sampled_from([1, 2, -1])
            )
        )
        for n in shape
    )
    selection = numpy_selection(key, shape)
    if not selection.empty:
        np.testing.assert_array_equal(read_by_chunk(a, chunks, selection), a[key])
    points = tuple(np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=4, max_size=4))) for n in shape)
    np.testing.assert_array_equal(read_by_chunk(a, chunks, numpy_selection(points, shape)), a[points])
    np.testing.assert_array_equal(read_by_chunk(a, chunks, orthogonal_selection(points, shape)), a[np.ix_(*points)])


def test_whole_ignores_what_a_chunk_has_outside_the_array() -> None:
    axes = Regular((4,)).axes((10,))
    wholes = [cell.whole for cell in Projection((slice(0, 10, 1),), (), axes)]
    assert wholes == [True, True, True]
    assert [cell.whole for cell in Projection((slice(1, 10, 1),), (), axes)] == [False, True, True]
    assert [cell.whole for cell in Projection((slice(0, 9, 1),), (), axes)] == [True, True, False]
    assert [cell.whole for cell in Projection((slice(0, 10, 2),), (), axes)] == [False, False, False]


def test_a_step_over_whole_chunks_does_not_visit_them() -> None:
    axes = Regular((1,)).axes((10**12,))
    cells = list(Projection((slice(0, 10**12, 10**11),), (), axes))
    assert [cell.chunk for cell in cells] == [(i * 10**11,) for i in range(10)]


def test_points_in_a_grid_with_more_than_2_to_63_chunks() -> None:
    axes = Regular((1, 1)).axes((2**40, 2**40))
    picks = (np.array([5, 2**40 - 1, 5]), np.array([7, 0, 7]))
    cells = list(Projection(picks, (0, 1), axes))
    assert sorted(cell.chunk for cell in cells) == [(5, 7), (2**40 - 1, 0)]


@given(st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=6), min_size=1, max_size=2), st.data())
def test_a_row_with_one_place_has_chunks_of_one_shape(dimensions: Any, data: Any) -> None:
    shape = tuple(map(sum, dimensions))
    axes = Rectilinear(tuple(as_runs((edge, 1) for edge in edges) for edges in dimensions)).axes(shape)
    picks = tuple(slice(data.draw(st.integers(0, 1)), length, 1) for length in shape)
    cells = []
    projection = Projection(picks, (), axes)
    for row in projection.rows(data.draw(st.integers(1, 4))):
        cells += row.cells
        if row.outer is not None:
            shapes = {tuple(edges[i] for edges, i in zip(dimensions, cell.chunk, strict=True)) for cell in row.cells}
            assert len(shapes) == 1
            places = [cell.outer[-1] for cell in row.cells]
            assert row.outer == (*row.cells[0].outer[:-1], slice(places[0].start, places[-1].stop, 1))
    assert sorted(cells, key=lambda cell: cell.chunk) == list(projection)


def test_a_step_over_rectilinear_chunks_does_not_visit_them() -> None:
    axes = Rectilinear((as_runs([(1, 10**12), (2, 10**12)]),)).axes((3 * 10**12,))
    cells = list(Projection((slice(0, 3 * 10**12, 10**12),), (), axes))
    assert [cell.chunk for cell in cells] == [(0,), (10**12,), (15 * 10**11,)]


@pytest.mark.parametrize("most", [1, 7, 100])
@pytest.mark.parametrize(
    "key", [np.s_[3:, ::7], np.s_[:, [1, 5, 399]], np.s_[5, :], ([1, 2, 350] * 20, [5, 8, 200] * 20), np.s_[1:2, 1:2]]
)
def test_a_sample_holds_cells_of_the_projection(key: Any, most: int) -> None:
    selection = numpy_selection(key, (400, 400))
    projection = Projection(selection.picks, selection.points, Regular((3, 5)).axes((400, 400)))
    sample = projection.sample(most)
    assert 1 <= len(sample) <= most
    assert len(sample) == len(projection) or len(sample) > most // 8
    cells = {cell.chunk: repr(cell) for cell in projection}
    assert all(repr(cell) == cells[cell.chunk] for cell in sample)


def test_a_sample_of_a_huge_projection_takes_no_walk_over_it() -> None:
    shape = (10**15, 10**9)
    for key in (np.s_[:], np.s_[11 :: 10**9, ::4], np.s_[5:]):
        selection = numpy_selection(key, shape)
        sample = Projection(selection.picks, selection.points, Regular((7, 3)).axes(shape)).sample(1000)
        assert 100 < len(sample) <= 1000
        assert len({cell.chunk for cell in sample}) == len(sample)
        for cell in sample[:: len(sample) // 7]:
            start, stop = cell.chunk[0] * 7 + cell.inner[0].start, cell.chunk[0] * 7 + cell.inner[0].stop
            taken = range(10**15)[key if isinstance(key, slice) else key[0]]
            inside = taken[cell.outer[0].start : cell.outer[0].stop]
            assert (inside[0], inside[-1]) == (start, range(start, stop, cell.inner[0].step)[-1])

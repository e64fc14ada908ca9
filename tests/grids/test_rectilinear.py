"""The rectilinear grid: edges in documents, and the chunk of every index."""

from __future__ import annotations

import pickle
from itertools import accumulate
from math import gcd, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnizarr._json import Problems
from omnizarr.errors import ArgumentError, OmnizarrError
from omnizarr.grids import Grid, Rectilinear, Regular, parse_grid
from omnizarr.grids.rectilinear import RectilinearAxis, as_runs
from omnizarr.grids.regular import RegularAxis


def document(chunk_shapes: Any, **members: Any) -> dict[str, Any]:
    return {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": chunk_shapes, **members}}


def read(value: Any, shape: tuple[int, ...]) -> tuple[Grid | None, Problems]:
    problems = Problems()
    return parse_grid(value, shape, "$.chunk_grid", problems), problems


def grid_of(*chunk_shapes: Any, shape: tuple[int, ...]) -> Grid:
    found, problems = read(document(list(chunk_shapes)), shape)
    assert found is not None, problems.found
    return found


def axis_of(edges: Any, length: int) -> Any:
    return grid_of(edges, shape=(length,)).axes((length,))[0]


def problem_paths(value: Any, shape: tuple[int, ...]) -> list[str]:
    found, problems = read(value, shape)
    assert found is None
    return [problem.path.removeprefix("$.chunk_grid.configuration.") for problem in problems.found]


EDGES = st.lists(st.integers(1, 9), min_size=1, max_size=12)


# -- documents


def test_the_example_of_the_registry() -> None:
    given_shapes = [4, [1, 2, 3], [[4, 2]], [[1, 3], 3], [4, 4, 4]]
    grid = grid_of(*given_shapes, shape=(6,) * 5)
    assert grid.edges((6,) * 5) == ((4, 2), (1, 2, 3), (4, 2), (1, 1, 1, 3), (4, 2))
    assert [axis.count for axis in grid.axes((6,) * 5)] == [2, 3, 2, 4, 2]
    assert grid.to_json() == document([4, [1, 2, 3], [[4, 2]], [[1, 3], 3], [[4, 3]]])


def test_R67_kind_is_inline_and_nothing_else() -> None:
    assert problem_paths(document([4], kind="reference"), (6,)) == ["kind"]
    assert problem_paths({"name": "rectilinear", "configuration": {"chunk_shapes": [4]}}, (6,)) == ["kind"]
    assert problem_paths(document([4], chunk_shape=[4]), (6,)) == ["chunk_shape"]
    assert problem_paths("rectilinear", (6,)) == ["kind", "chunk_shapes"]


@pytest.mark.parametrize("found", [None, 4, {}, "4", [4], [4, 4, 4]])
def test_R67_one_entry_for_each_dimension(found: Any) -> None:
    assert problem_paths(document(found), (6, 6)) == ["chunk_shapes"]
    assert grid_of(shape=()) == Rectilinear(())


@pytest.mark.parametrize("entry", [0, -1, 2**63, 4.0, True, None, "4", {}])
def test_R68_an_entry_is_a_positive_integer_or_a_list(entry: Any) -> None:
    assert problem_paths(document([6, entry]), (6, 6)) == ["chunk_shapes[1]"]


@pytest.mark.parametrize(
    "item",
    [
        0,
        -1,
        2**63,
        4.0,
        True,
        None,
        "4",
        {},
        [],
        [4],
        [4, 1, 1],
        [0, 2],
        [4, 0],
        [-1, 2],
        [4, 1.0],
        [4, True],
        [[4], 1],
    ],
)
def test_R68_a_list_holds_positive_integers_and_pairs(item: Any) -> None:
    assert problem_paths(document([6, [6, item, "x"]]), (6, 6)) == ["chunk_shapes[1][1]"]


def test_R68_pairs_repeat_a_length_and_integers_repeat_until_the_end() -> None:
    assert grid_of([[4, 2], 1], 4, shape=(9, 9)).edges((9, 9)) == ((4, 4, 1), (4, 4, 1))


@given(EDGES)
def test_R68_edges_are_written_in_the_shortest_form(edges: list[int]) -> None:
    grid = grid_of(edges, shape=(sum(edges),))
    written = grid.to_json()
    assert read(written, (sum(edges),))[0] == grid
    items = written["configuration"]["chunk_shapes"][0]
    expanded: list[int] = []
    for item in items:
        length, count = item if isinstance(item, list) else (item, 1)
        assert not isinstance(item, list) or count > 1
        assert not expanded or expanded[-1] != length
        expanded += [length] * count
    assert expanded == edges
    assert grid_of([[edge, 1] for edge in edges], shape=(sum(edges),)) == grid


def test_R69_edges_that_end_before_the_dimension_are_rejected() -> None:
    found, problems = read(document([4, [4, [1, 3]]]), (100, 8))
    assert found is None
    assert [problem.path for problem in problems.found] == ["$.chunk_grid.configuration.chunk_shapes[1]"]
    assert problems.found[0].message == "the sum of the edges is 7, less than the dimension's length 8"


def test_R69_edges_may_reach_beyond_by_whole_chunks() -> None:
    grid = grid_of([4, 3, 5, 6], shape=(5,))
    assert grid.edges((5,)) == ((4, 1),)
    assert axis_of([4, 3, 5, 6], 5).count == 2
    assert grid.to_json() == document([[4, 3, 5, 6]])
    assert axis_of([3, 4], 0).count == 0
    assert axis_of([], 0).count == 0


def test_R72_a_rectilinear_grid_can_express_a_regular_one() -> None:
    regular = Regular((4, 3))
    grid = grid_of(4, 3, shape=(10, 9))
    assert grid.axes((10, 9)) == regular.axes((10, 9))
    assert list(grid.chunk_shapes((10, 9))) == list(regular.chunk_shapes((10, 9)))
    assert grid.to_json() == document([4, 3])
    assert grid.edges((10, 9)) == ((4, 4, 2), (3, 3, 3))


def test_equal_edges_make_a_regular_axis() -> None:
    assert axis_of([[4, 3]], 10) == RegularAxis(10, 4)
    assert axis_of([4, 4, 4, 9], 10) == RegularAxis(10, 4)
    assert isinstance(axis_of([4, 4, 4, 9], 13), RectilinearAxis)


# -- indices and chunks


def test_R70_the_example_of_the_registry() -> None:
    axes = grid_of([16, 10], [24, 14], shape=(26, 38)).axes((26, 38))
    chunk = tuple(axis.locate(index) for axis, index in zip(axes, (20, 15), strict=True))
    assert chunk == (1, 0)
    starts = [axis.bounds(index)[0] for axis, index in zip(axes, chunk, strict=True)]
    assert [index - start for index, start in zip((20, 15), starts, strict=True)] == [4, 15]


def test_A25_the_lengths_of_a_chunk_are_in_the_order_of_the_dimensions() -> None:
    axes = grid_of([16, 10], [24, 14], shape=(26, 38)).axes((26, 38))
    assert [axis.bounds(index)[1] for axis, index in zip(axes, (0, 1), strict=True)] == [16, 14]


@given(EDGES, st.integers(0, 60))
def test_R70_an_index_is_in_the_first_chunk_that_ends_beyond_it(edges: list[int], length: int) -> None:
    length = min(length, sum(edges))
    axis = axis_of(edges, length)
    ends = list(accumulate(edges))
    expected = [next(chunk for chunk, end in enumerate(ends) if end > index) for index in range(length)]
    assert [axis.locate(index) for index in range(length)] == expected
    assert axis.count == (expected[-1] + 1 if expected else 0)
    indices = np.arange(length)[::-1]
    chunks = axis.locate_many(indices)
    assert chunks.tolist() == expected[::-1]
    assert axis.starts(chunks).tolist() == [ends[chunk] - edges[chunk] for chunk in expected[::-1]]
    assert [axis.bounds(chunk) for chunk in range(axis.count)] == [
        (end - edge, edge) for end, edge in zip(ends[: axis.count], edges, strict=False)
    ]


@given(EDGES, st.data())
def test_the_number_of_chunks_that_a_slice_touches(edges: list[int], data: Any) -> None:
    axis = axis_of(edges, sum(edges))
    start, stop = sorted(data.draw(st.tuples(st.integers(0, sum(edges)), st.integers(0, sum(edges)))))
    indices = range(start, stop, data.draw(st.integers(1, 12)))
    assert axis.touched(indices) == len({axis.locate(index) for index in indices})


@given(EDGES, st.integers(1, 40))
def test_R71_chunks_beyond_the_array_start_where_declared(edges: list[int], beyond: int) -> None:
    """Other writers may store them, and erasing chunks outside the array needs their position."""
    axis = RectilinearAxis(1, as_runs((edge, 1) for edge in [*edges, 50]))
    starts = [0, *accumulate([*edges, 50])]
    assert [axis.bounds(chunk)[0] for chunk in range(len(starts))] == starts
    assert axis.bounds(len(edges) + beyond)[0] == starts[-2] + 50 * beyond


# -- the shapes of chunks


@given(st.lists(EDGES, min_size=1, max_size=3))
@example([[6, 10, 15]])
def test_R71_a_few_shapes_represent_all(dimensions: list[list[int]]) -> None:
    shape = tuple(sum(edges) for edges in dimensions)
    shapes = list(grid_of(*dimensions, shape=shape).chunk_shapes(shape))
    assert len(set(shapes)) == len(shapes)
    assert tuple(map(min, dimensions)) in shapes
    assert tuple(map(max, dimensions)) in shapes
    for edges, representative in zip(dimensions, zip(*shapes, strict=True), strict=True):
        assert set(representative) <= set(edges)
        assert gcd(*representative) == gcd(*edges)
    assert gcd(*map(prod, shapes)) == prod(gcd(*edges) for edges in dimensions)


def test_R71_there_are_never_many_representative_shapes() -> None:
    halved = [2**power * 3 ** (40 - power) for power in range(38, 0, -1)]
    edges = [*range(10**6, 10**6 + 10**4), *halved]
    shapes = list(grid_of(edges, edges, shape=(1, 1)).chunk_shapes((1, 1)))
    assert len(shapes) < 330
    assert list(grid_of([], 4, shape=(0, 4)).chunk_shapes((0, 4))) == []


# -- other shapes of the array


def test_growing_within_the_edges_changes_nothing() -> None:
    grid = grid_of([4, 3, 5], 7, shape=(5, 6))
    for shape in [(12, 100), (0, 0), (1, 1)]:
        assert grid.fitting(shape) == grid


def test_growing_beyond_the_edges_adds_more_of_the_last_length() -> None:
    grid = grid_of([4, 3, 5], 7, shape=(5, 6))
    assert grid.fitting((13, 6)) == grid_of([4, 3, 5, 5], 7, shape=(5, 6))
    assert grid.fitting((10**15, 6)).chunks == ((4, 3, (5, 2 * 10**14 - 1)), 7)


def test_a_dimension_without_edges_cannot_grow() -> None:
    with pytest.raises(ArgumentError, match="cannot grow"):
        grid_of([], shape=(0,)).fitting((1,))


# -- documents that declare more chunks than fit in memory


@pytest.mark.parametrize(
    "entry", [[[1, 10**15]], [2, [1, 10**15]], [[1, 10**15], 3], [[1, 2**63 - 1], [2, 2**63 - 1]], 1]
)
def test_very_many_chunks_take_no_memory(entry: Any) -> None:
    length = 10**15
    grid = grid_of(entry, shape=(length,))
    axis = grid.axes((length,))[0]
    assert 10**15 - 1 <= axis.count <= 10**15
    last = axis.locate(length - 1)
    assert sum(axis.bounds(last)) == length
    assert axis.locate_many(np.array([length - 1])).tolist() == [last]
    assert axis.touched(range(0, length, 3)) > 10**14
    assert len(list(grid.chunk_shapes((length,)))) <= 3
    with pytest.raises(OmnizarrError, match="too many to list"):
        grid.edges((length,))


def test_edges_whose_sum_exceeds_64_bits() -> None:
    huge = 2**63 - 1
    axis = axis_of([5, [huge, huge]], huge)
    assert axis.count == 2
    assert axis.locate_many(np.array([4, 5, huge - 1])).tolist() == [0, 1, 1]
    assert axis.starts(np.array([0, 1])).tolist() == [0, 5]


def test_grids_are_values() -> None:
    grid = grid_of([4, 3, 3], 7, shape=(5, 6))
    assert pickle.loads(pickle.dumps(grid)) == grid
    assert hash(grid) == hash(grid_of([4, [3, 2]], 7, shape=(5, 6)))
    assert grid != grid_of([4, 3, 3], [7], shape=(5, 6))

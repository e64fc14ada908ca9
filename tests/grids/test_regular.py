"""The regular grid, and parsing of chunk grids."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr._json import Problems
from omnizarr.grids import Grid, Regular, chunk_grids, parse_grid
from omnizarr.grids.regular import RegularAxis


def document(chunk_shape: Any) -> dict[str, Any]:
    return {"name": "regular", "configuration": {"chunk_shape": chunk_shape}}


def read(value: Any, shape: tuple[int, ...]) -> tuple[Grid | None, Problems]:
    problems = Problems()
    return parse_grid(value, shape, "$.chunk_grid", problems), problems


def test_every_registered_name_is_tested() -> None:
    assert chunk_grids.names() == ("rectilinear", "regular")


def test_R62_one_positive_length_per_dimension() -> None:
    found, problems = read(document([2, 3]), (10, 10))
    assert found == Regular((2, 3))
    assert found.chunks == (2, 3)
    assert found.to_json() == document([2, 3])
    assert not problems.warnings


@pytest.mark.parametrize(
    ("chunk_shape", "path"),
    [
        *[(None, ""), ("2", ""), ([2, 3.0], ""), ([2, True], ""), ([2], ""), ([2, 3, 4], ""), ({}, "")],
        *[([2, 0], "[1]"), ([-1, 3], "[0]")],
    ],
)
def test_R62_other_chunk_shapes_are_rejected(chunk_shape: Any, path: str) -> None:
    found, problems = read(document(chunk_shape), (10, 10))
    assert found is None
    assert [problem.path for problem in problems.found] == ["$.chunk_grid.configuration.chunk_shape" + path]


def test_A35_a_chunk_of_length_0_is_read_where_the_dimension_has_length_0() -> None:
    found, problems = read(document([0, 4]), (0, 10))
    assert found == Regular((1, 4))
    assert problems.warnings[0].path == "$.chunk_grid.configuration.chunk_shape[0]"


def test_R66_no_dimensions_and_dimensions_without_length() -> None:
    assert Regular(()).axes(()) == ()
    assert [axis.count for axis in Regular((4, 4)).axes((0, 9))] == [0, 3]
    assert read(document([]), ())[0] == Regular(())


@given(st.integers(0, 60), st.integers(1, 70))
def test_R63_chunks_partition_a_dimension(length: int, size: int) -> None:
    axis = RegularAxis(length, size)
    assert axis.count == -(-length // size)
    covered = [index for chunk in range(axis.count) for index in range(*_span(axis, chunk))]
    assert covered[:length] == list(range(length))
    assert len(covered) - length < size
    for index in range(length):
        chunk = axis.locate(index)
        start, stop = _span(axis, chunk)
        assert start <= index < stop
    indices = np.arange(length)
    chunks = axis.locate_many(indices)
    assert chunks.tolist() == [axis.locate(index) for index in range(length)]
    assert axis.starts(chunks).tolist() == [axis.bounds(chunk)[0] for chunk in chunks.tolist()]


def _span(axis: RegularAxis, chunk: int) -> tuple[int, int]:
    start, length = axis.bounds(chunk)
    assert length == axis.size, "R64: a chunk at the edge has its full length"
    return start, start + length


@pytest.mark.parametrize("value", ["regular", {"name": "regular"}, {"name": "regular", "configuration": {}}])
def test_R13_a_regular_grid_needs_its_configuration(value: Any) -> None:
    found, problems = read(value, (10,))
    assert found is None
    assert problems.found[0].path == "$.chunk_grid.configuration.chunk_shape"


@pytest.mark.parametrize("value", [None, 3, [2, 3], {}, {"chunk_shape": [2, 3]}])
def test_R13_other_values_are_rejected(value: Any) -> None:
    found, problems = read(value, (10, 10))
    assert found is None
    assert problems.found


def test_R36_a_chunk_grid_cannot_be_ignored() -> None:
    found, problems = read({**document([2]), "must_understand": False}, (10,))
    assert found is None
    assert problems.found[0].path == "$.chunk_grid.must_understand"


def test_R37_unknown_grids_are_rejected() -> None:
    found, problems = read({"name": "reguler"}, (10,))
    assert found is None
    assert problems.found[0].path == "$.chunk_grid.name"
    assert problems.found[0].message == "unknown chunk grid `reguler`"
    assert problems.found[0].hint == "did you mean `regular`?"


def test_grids_are_values() -> None:
    grid = Regular((2, 3))
    assert pickle.loads(pickle.dumps(grid)) == grid
    assert hash(grid) == hash(Regular((2, 3)))

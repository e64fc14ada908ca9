"""The shortcuts for common selections give the same result as the general code."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.grids.regular import RegularAxis
from omnizarr.indexing import Projection, key_items, numpy_key, only_chunk, pieces


def bounds() -> st.SearchStrategy[int | None]:
    return st.none() | st.integers(-9, 9)


@given(
    shape=st.lists(st.integers(0, 7), max_size=3).map(tuple),
    key=st.lists(
        st.integers(-8, 8) | st.builds(slice, bounds(), bounds(), st.sampled_from([None, 1, 2, -1])), max_size=4
    ),
)
def test_plain_selection_equals_the_general_one(shape: tuple[int, ...], key: list[Any]) -> None:
    quick = numpy_key.plain_selection(tuple(key), shape)
    if quick is not None:
        assert quick == numpy_key.basic_selection(key_items.parse_items(tuple(key), shape))
    else:
        odd = any(isinstance(item, slice) and item.step not in (None, 1) for item in key)
        outside = any(
            isinstance(item, int) and not -length <= item < length for item, length in zip(key, shape, strict=False)
        )
        assert odd or outside or len(key) > len(shape)


@given(
    picks=st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 9), st.integers(1, 3), st.integers(1, 8)), min_size=1, max_size=3
    )
)
def test_only_chunk_equals_the_projection(picks: list[tuple[int, int, int, int]]) -> None:
    taken = [slice(start, start + length, step) for start, length, step, _ in picks]
    axes = [RegularAxis(40, size) for *_, size in picks]
    cells = list(Projection(taken, (), axes))
    found = only_chunk(taken, axes)
    if found is None:
        assert len(cells) > 1 or any(pick.step > 1 for pick in taken)  # a step may skip the next chunk
    else:
        assert [(cell.chunk, cell.inner) for cell in cells] == [found]


@given(
    picks=st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 30), st.integers(1, 5), st.integers(1, 8)), min_size=1, max_size=3
    ),
    most=st.integers(1, 5),
)
def test_lazy_pieces_equal_listed_pieces(picks: list[tuple[int, int, int, int]], most: int) -> None:
    taken = [slice(start, start + length, step) for start, length, step, _ in picks]
    axes = [RegularAxis(50, size) for *_, size in picks]
    listed = Projection(taken, (), axes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "_MOST_LISTED", 0)
        lazy = Projection(taken, (), axes)
    assert len(lazy) == len(listed) == len(list(listed))
    assert list(lazy) == list(listed)
    assert list(lazy.rows(most)) == list(listed.rows(most))


def test_ten_million_chunks_are_not_listed() -> None:
    """A list of them would take 5 GB."""
    rows = Projection([slice(0, 10**8, 1)], (), [RegularAxis(10**8, 10)]).rows(64)
    tracemalloc.start()
    try:
        assert [cell.chunk for cell in next(rows).cells] == [(number,) for number in range(64)]
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()

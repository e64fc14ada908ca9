"""Spans that are fetched together give the same bytes as single requests."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from omnizarr.engine.coalesce import coalesce, get_extents
from omnizarr.store.values import Extent

PLACES = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 40)), max_size=12)


@given(extents=PLACES, gap=st.integers(0, 50), most=st.integers(0, 300))
def test_get_extents_returns_the_bytes_of_each_extent(extents: list[Extent], gap: int, most: int) -> None:
    """Also for extents that overlap, and for extents after the end of the value."""
    value = bytes(range(180))
    requests: list[Extent] = []

    def get(place: Extent) -> bytes:
        requests.append(place)
        return value[place[0] : place[0] + place[1]]

    expected = [value[start : start + length] for start, length in extents]
    assert [bytes(data) for data in get_extents(extents, get, gap, most)] == expected
    assert len(requests) <= len(extents)


@given(extents=PLACES, gap=st.integers(0, 50), most=st.integers(0, 300))
def test_joined_extents_cover_their_members_and_no_more(extents: list[Extent], gap: int, most: int) -> None:
    ranges = coalesce(extents, gap, most)
    assert sorted(position for _, members in ranges for position in members) == list(range(len(extents)))
    for (start, length), members in ranges:
        assert start == min(extents[position][0] for position in members)
        assert start + length == max(sum(extents[position]) for position in members)
        assert length <= most or len(members) == 1


def test_neighbours_are_joined() -> None:
    assert coalesce([(30, 10), (0, 10), (12, 8)], 5, 100) == [((0, 20), [1, 2]), ((30, 10), [0])]
    assert [members for _, members in coalesce([(0, 10), (10, 10), (20, 10)], 0, 20)] == [[0, 1], [2]]

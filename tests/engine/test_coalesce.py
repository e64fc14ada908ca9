"""Ranges that are fetched together give what each would give."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from omnizarr.engine.coalesce import ByteSpan, coalesce, get_spans

PLACES = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 40)), max_size=12)


@given(places=PLACES, gap=st.integers(0, 50), most=st.integers(0, 300))
def test_what_is_fetched_in_few_pieces_is_what_was_asked_for(places: list[ByteSpan], gap: int, most: int) -> None:
    """Also where places overlap, and where the value ends before them."""
    value = bytes(range(180))
    asked: list[ByteSpan] = []

    def get(place: ByteSpan) -> bytes:
        asked.append(place)
        return value[place[0] : place[0] + place[1]]

    expected = [value[start : start + length] for start, length in places]
    assert [bytes(data) for data in get_spans(places, get, gap, most)] == expected
    assert len(asked) <= len(places)


@given(places=PLACES, gap=st.integers(0, 50), most=st.integers(0, 300))
def test_ranges_cover_their_places_and_no_more(places: list[ByteSpan], gap: int, most: int) -> None:
    ranges = coalesce(places, gap, most)
    assert sorted(position for _, members in ranges for position in members) == list(range(len(places)))
    for (start, length), members in ranges:
        assert start == min(places[position][0] for position in members)
        assert start + length == max(sum(places[position]) for position in members)
        assert length <= most or len(members) == 1


def test_neighbours_are_fetched_at_once() -> None:
    assert coalesce([(30, 10), (0, 10), (12, 8)], 5, 100) == [((0, 20), [1, 2]), ((30, 10), [0])]
    assert [members for _, members in coalesce([(0, 10), (10, 10), (20, 10)], 0, 20)] == [[0, 1], [2]]

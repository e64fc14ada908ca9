"""Spans that are fetched together give the same bytes as single requests."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from omnizarr.engine.coalesce import ByteSpan, coalesce, get_spans

PLACES = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 40)), max_size=12)


@given(spans=PLACES, gap=st.integers(0, 50), most=st.integers(0, 300))
def test_get_spans_returns_the_bytes_of_each_span(spans: list[ByteSpan], gap: int, most: int) -> None:
    """Also for spans that overlap, and for spans after the end of the value."""
    value = bytes(range(180))
    requests: list[ByteSpan] = []

    def get(place: ByteSpan) -> bytes:
        requests.append(place)
        return value[place[0] : place[0] + place[1]]

    expected = [value[start : start + length] for start, length in spans]
    assert [bytes(data) for data in get_spans(spans, get, gap, most)] == expected
    assert len(requests) <= len(spans)


@given(spans=PLACES, gap=st.integers(0, 50), most=st.integers(0, 300))
def test_joined_spans_cover_their_members_and_no_more(spans: list[ByteSpan], gap: int, most: int) -> None:
    ranges = coalesce(spans, gap, most)
    assert sorted(position for _, members in ranges for position in members) == list(range(len(spans)))
    for (start, length), members in ranges:
        assert start == min(spans[position][0] for position in members)
        assert start + length == max(sum(spans[position]) for position in members)
        assert length <= most or len(members) == 1


def test_neighbours_are_joined() -> None:
    assert coalesce([(30, 10), (0, 10), (12, 8)], 5, 100) == [((0, 20), [1, 2]), ((30, 10), [0])]
    assert [members for _, members in coalesce([(0, 10), (10, 10), (20, 10)], 0, 20)] == [[0, 1], [2]]

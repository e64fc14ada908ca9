"""Ranges against a model of RFC 9110 that computes with sets of positions."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from omnizarr.serve.ranges import first_part, parse_range
from omnizarr.store.contract import extent_of

numbers = st.one_of(st.integers(0, 12), st.integers(0, 10**30))
spec = st.one_of(
    st.builds("{}-{}".format, numbers, numbers),
    st.builds("{}-".format, numbers),
    st.builds("-{}".format, numbers),
    st.sampled_from(["", " ", "\t", "-", "a-b", "1-2-3", "+1-2", "1 - 2", "٣-٤", "0x1-2"]),
)
header = st.one_of(
    st.builds(
        lambda unit, specs: f"{unit}={','.join(specs)}",
        st.sampled_from(["bytes", "Bytes", "items", "", "bytes "]),
        st.lists(spec, max_size=4),
    ),
    st.text(alphabet="bytes=-0123456789, \t", max_size=20),
    st.none(),
)


def model(text: str | None, size: int) -> list[set[int]] | None:
    """The positions of each range, written down from the grammar; None if the header is ignored."""
    if text is None or not re.fullmatch(r"(?i)bytes[ \t]*=.*", text, re.DOTALL):
        return None
    parts, count = [], 0
    for element in text.split("=", 1)[1].split(","):
        element = element.strip(" \t")
        if not element:
            continue
        count += 1
        whole = re.fullmatch(r"([0-9]*)-([0-9]*)", element)
        if whole is None or whole.group(0) == "-":
            return None
        first, last = whole.groups()
        if first and last and int(last) < int(first):
            return None
        if first:
            stop = min(size, int(last) + 1) if last else size
            parts.append(set(range(min(int(first), size), stop)))
        else:
            parts.append(set(range(max(0, size - int(last)), size)))
    if not count:
        return None
    parts = [part for part in parts if part]
    return None if len(parts) > 1 and sum(map(len, parts)) > size else parts


@given(header, st.integers(0, 12))
def test_ranges_follow_the_model(text: str | None, size: int) -> None:
    parts = parse_range(text, size)
    found = None if parts is None else [set(range(start, start + length)) for start, length in parts]
    assert found == model(text, size)


@given(header, st.integers(0, 12))
def test_the_first_request_to_a_remote_store_gets_the_part(text: str | None, size: int) -> None:
    wanted, parts = first_part(text), parse_range(text, size)
    if wanted is None or not parts:
        return
    assert extent_of(wanted, size) == parts[0]


def test_many_ranges_get_the_whole_value() -> None:
    assert parse_range("bytes=" + ",".join(f"{n}-{n}" for n in range(64)), 1000) is not None
    assert parse_range("bytes=" + ",".join(f"{n}-{n}" for n in range(65)), 1000) is None
    assert parse_range("bytes=" + "," * 10**6, 1000) is None

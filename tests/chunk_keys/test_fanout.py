"""The encoding `fanout`: the keys of its author's implementation, and directories with few entries."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr._json import Problems
from omnizarr.chunk_keys import FanoutKeys, chunk_key_encodings, parse_chunk_keys
from omnizarr.errors import ArgumentError

coordinates = st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 20_000), max_size=4).map(tuple)
widths = st.sampled_from([100, 1000, 10_000, 10**9, 10**18])


def read(configuration: dict[str, Any]) -> tuple[Any, Problems]:
    problems = Problems()
    return parse_chunk_keys({"name": "fanout", "configuration": configuration}, "$", problems), problems


@pytest.mark.parametrize(
    ("chunk", "key"),
    [
        ((), "c"),
        ((0,), "c/0/000"),
        ((12,), "c/0/012"),
        ((999,), "c/0/999"),
        ((1000,), "c/1/001/000"),
        ((1234, 5, 67890), "c/1/001/234/0/005/1/067/890"),
        ((1234, 5, 0, 6789012), "c/1/001/234/0/005/0/000/2/006/789/012"),
        ((123, 3455678, 9123432435), "c/0/123/2/003/455/678/3/009/123/432/435"),
    ],
)
def test_Z13_the_keys_of_the_proposal(chunk: tuple[int, ...], key: str) -> None:
    assert FanoutKeys().key(chunk) == key
    assert FanoutKeys().coordinates(key, len(chunk)) == chunk


@given(first=coordinates, other=coordinates, width=widths)
def test_Z13_keys_sort_like_coordinates(first: tuple[int, ...], other: tuple[int, ...], width: int) -> None:
    rank = min(len(first), len(other))
    keys = FanoutKeys(width)
    one, two = first[:rank], other[:rank]
    by_key = keys.key(one).split("/") < keys.key(two).split("/")
    # The depth marker has one digit up to 100 groups, and a coordinate of 64 bits has at most ten.
    assert by_key == (one < two)


@given(chunk=coordinates, width=widths, data=st.data())
def test_leading_and_directory_describe_the_same_chunks(chunk: tuple[int, ...], width: int, data: Any) -> None:
    keys, rank = FanoutKeys(width), len(chunk)
    key = keys.key(chunk)
    count = data.draw(st.integers(0, rank))
    directory = keys.directory(chunk[:count], rank)
    assert key.startswith(directory)
    if count < rank:
        assert keys.leading(directory, rank) == chunk[:count]
    segments = key.split("/")
    for length in range(len(segments)):
        prefix = "".join(f"{segment}/" for segment in segments[:length])
        leading = keys.leading(prefix, rank)
        assert leading is not None
        assert chunk[: len(leading)] == leading
    assert keys.leading(key + "/", rank) is None


@pytest.mark.parametrize("prefix", ["d/", "c/x/", "c/00/", "c/1/000/", "c/0/12/", "c/0/1234/", "c/9/", "0/", "c/-1/"])
def test_no_chunk_is_below_other_prefixes(prefix: str) -> None:
    assert FanoutKeys().leading(prefix, 2) is None


@pytest.mark.parametrize(
    "key",
    [
        *[
            "c/0/12",
            "c/0/0012",
            "c/1/000/012",
            "c/1/012",
            "c/0/012/0",
            "c/0/012/0/000",
            "c/00/012",
            "c/0/01x",
            "c/²/012",
        ],
        *[
            "c/²/012",
            "c/0/0\uff112",
            "c/0/-12",
            "c/0",
            "c",
            "",
            "c/0/012/",
            "/c/0/012",
            "c/9/" + "/".join(["999"] * 10),
        ],
        *["c/6/" + "/".join(["999"] * 7), "c/0/" + "1" * 5000, "c/" + "0/000/" * 5000],
    ],
)
def test_keys_that_are_not_canonical_have_no_coordinates(key: str) -> None:
    assert FanoutKeys().coordinates(key, 1) is None


def test_the_largest_coordinate_has_a_key() -> None:
    for width in (100, 1000, 10**18):
        keys = FanoutKeys(width)
        assert keys.coordinates(keys.key((2**63 - 1,)), 1) == (2**63 - 1,)


def test_Z13_its_configuration() -> None:
    assert chunk_key_encodings.get("fanout") is FanoutKeys
    assert parse_chunk_keys("fanout", "$", Problems()) == FanoutKeys(1000)
    keys, problems = read({"max_children": 10_000})
    assert keys == FanoutKeys(10_000)
    assert not problems.warnings
    assert keys.to_json() == {"name": "fanout", "configuration": {"max_children": 10_000}}
    for given_, effective in ((250, 100), (1234, 1000), (999, 100)):
        keys, problems = read({"max_children": given_})
        assert keys == FanoutKeys(effective)
        assert [problem.path for problem in problems.warnings] == ["$.configuration.max_children"]


@pytest.mark.parametrize("value", [99, 0, -1000, 1000.0, True, "1000", None, [], 10**19, 10**4000])
def test_Z13_other_numbers_are_rejected(value: Any) -> None:
    keys, problems = read({"max_children": value})
    assert keys is None
    assert [problem.path for problem in problems.found] == ["$.configuration.max_children"]
    with pytest.raises(ArgumentError, match="max_children"):
        FanoutKeys(value)


def test_a_program_gives_a_power_of_ten() -> None:
    with pytest.raises(ArgumentError, match="power of ten"):
        FanoutKeys(250)
    keys, problems = read({"max_childs": 100})
    assert keys is None
    assert problems.found[0].hint == "did you mean `max_children`?"


@pytest.mark.smoke
def test_Z13_an_array_whose_directories_have_few_entries(tmp_path: Path) -> None:
    data = np.arange(3000, dtype="u2")
    z = omnizarr.create_array(tmp_path, data=data, chunks=1, chunk_key_encoding=FanoutKeys(100), compressors=None)
    assert (tmp_path / "c/1/29/99").exists()
    assert max(len(folders) + len(files) for _, folders, files in os.walk(tmp_path)) <= 100
    again = omnizarr.open_array(tmp_path)
    assert again.metadata.chunk_keys == FanoutKeys(100)
    assert np.array_equal(again[...], data)
    assert np.array_equal(again[[5, 2999, 17]], data[[5, 2999, 17]])
    again.append(np.array([7, 8], "u2"))
    assert again[2998:].tolist() == [2998, 2999, 7, 8]
    again.resize(120)
    assert z.refresh()[...].tolist() == data[:120].tolist()
    assert sum(len(files) for _, _, files in os.walk(tmp_path)) == 120  # chunk 0 holds the fill value


def test_shards_under_its_keys() -> None:
    data = np.arange(500)
    z = omnizarr.create_array(None, data=data, chunks=1, shards=2, chunk_key_encoding={"name": "fanout"})
    assert "c/0/249" in set(z.store.list())
    assert np.array_equal(z[...], data)

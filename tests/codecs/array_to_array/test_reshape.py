"""The `reshape` codec."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.codecs.binding import bind, bind_problems, parse_problems, parse_valid, paths_of, spec_of

import omnizarr
from omnizarr.codecs import Reshape, Sharding, Transpose
from omnizarr.errors import ArgumentError, MetadataError


def chunk(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(prod(shape), dtype="i4").reshape(shape)


@pytest.mark.parametrize(
    ("shape", "before", "after"),
    [
        ([[0, 1], [2], 3], (100, 50, 64, 3), (5000, 64, 3)),
        ([[0, 1], 10, [3, 4]], (2, 3, 10, 4, 5), (6, 10, 20)),
        ([-1], (2, 3, 4), (24,)),
        ([[0], -1], (2, 3, 4), (2, 12)),
        ([6, -1], (2, 3, 4), (6, 4)),
        ([1, [0], 1, [1, 2], 1], (2, 3, 4), (1, 2, 1, 12, 1)),
        ([[]], (1, 1), (1,)),
        ([[0, 1], []], (2, 3), (6, 1)),
        ([], (1, 1), ()),
        ([], (), ()),
        ([1, 1], (), (1, 1)),
        ([-1, 2], (4,), (2, 2)),
        ([[1]], (1, 7), (7,)),
    ],
)
def test_R135_shapes(shape: list[Any], before: tuple[int, ...], after: tuple[int, ...]) -> None:
    array = chunk(*before)
    codec = bind(parse_valid("reshape", shape=shape), array)
    assert codec.encoded.shape == codec.encode(array).shape == after
    assert codec.encode(array).tobytes() == array.tobytes()
    assert np.shares_memory(codec.encode(array), array)
    assert codec.decode(codec.encode(array)).shape == before


@pytest.mark.parametrize(
    "shape",
    [
        [[1], [0]],
        [[1, 0], 10, [3, 4]],
        [[3, 4], 10, [0, 1]],
        [[0], [0]],
        [[0, 0]],
        [-1, -1],
        [0],
        [-2],
        [1.0],
        [True],
        ["2"],
        [None],
        [[-1]],
        [[[0]]],
        "3",
        None,
        {"0": 1},
        [1] * 64,
        [2**63],
    ],
)
def test_R135_invalid_shapes(shape: Any) -> None:
    assert paths_of(parse_problems("reshape", {"shape": shape})) == [".configuration.shape"]
    with pytest.raises(ArgumentError, match="reshape"):
        Reshape(shape)


def test_R135_shape_is_required_and_nothing_else_allowed() -> None:
    assert paths_of(parse_problems("reshape", {})) == [".configuration"]
    assert paths_of(parse_problems("reshape", {"shape": [1], "order": "C"})) == [".configuration.order"]


@pytest.mark.parametrize(
    ("shape", "before", "place"),
    [
        ([5], (2, 3), ""),
        ([4, -1], (2, 3), ""),
        ([-1, 5], (2, 3), ""),
        ([[0], 2], (2, 3), ""),
        ([7, -1], (2, 3), ""),
        ([[2]], (2, 3), "[0]"),
        ([[0, 1], [5]], (2, 3), "[1]"),
        ([3, [0]], (2, 3), "[1]"),  # dimension 0 has another position
        ([[1], 2], (2, 3), "[0]"),
        ([[0], 2, [2]], (2, 4, 6), ""),
        ([[0, 2]], (2, 1, 3), None),  # a dimension of length 1 may be left out
        ([[0, 2], 3], (2, 3, 4), "[0]"),
    ],
)
def test_R135_shapes_that_do_not_fit(shape: list[Any], before: tuple[int, ...], place: str | None) -> None:
    if place is None:
        assert bind(Reshape(shape), chunk(*before)).encoded.shape == (6,)
    else:
        assert paths_of(bind_problems(Reshape(shape), chunk(*before))) == [f".configuration.shape{place}"]


def test_A22_dimensions_before_and_after_must_match() -> None:
    """The text of the registry compares one dimension where it means all dimensions before it."""
    assert bind(Reshape([6, [2], 5]), chunk(2, 3, 4, 5)).encoded.shape == (6, 4, 5)
    assert paths_of(bind_problems(Reshape([3, [2], 10]), chunk(2, 3, 4, 5))) == [".configuration.shape[1]"]
    assert paths_of(bind_problems(Reshape([5, [2], 6]), chunk(2, 3, 4, 5))) == [".configuration.shape[1]"]


def test_R135_hostile_lengths_are_only_numbers() -> None:
    assert paths_of(bind_problems(Reshape([2**62, 2**62, -1]), chunk(2, 3))) == [".configuration.shape"]


@given(st.data())
def test_R135_any_factorization_roundtrips(data: st.DataObject) -> None:
    before = tuple(data.draw(st.lists(st.integers(1, 5), max_size=4)))
    array = chunk(*before)
    rest, after = prod(before), []
    while rest > 1:
        after.append(data.draw(st.sampled_from([n for n in range(2, rest + 1) if rest % n == 0])))
        rest //= after[-1]
    codec = bind(Reshape(after), array.transpose())
    assert codec.decode(codec.encode(array.transpose())).tolist() == array.transpose().tolist()


def test_R83_the_fill_value_is_unchanged() -> None:
    spec = spec_of(chunk(2, 3), 7)
    assert bind(Reshape([-1]), spec).encoded.fill is spec.fill


def test_lists_and_tuples_make_equal_codecs() -> None:
    assert Reshape([[np.int64(0)], np.uint8(3)]) == Reshape(((0,), 3))
    assert hash(Reshape([[0], 3])) == hash(Reshape(((0,), 3)))
    assert Reshape(((0,), 3)).configuration() == {"shape": [[0], 3]}


@pytest.mark.smoke
@pytest.mark.parametrize("filters", [[Reshape([[0, 1], 2])], [Transpose((2, 0, 1)), Reshape([2, -1])]])
def test_arrays_in_other_shapes(filters: list[Any]) -> None:
    data = chunk(5, 6, 2)
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, data=data, chunks=(2, 3, 2), filters=filters)
    array = omnizarr.open_array(store)
    assert array[...].tolist() == data.tolist()
    assert array[1:4, ::2, 1].tolist() == data[1:4, ::2, 1].tolist()


def test_a_sharding_codec_after_it_gets_the_new_shape() -> None:
    data = chunk(4, 6)
    store = omnizarr.MemoryStore()
    codecs: dict[str, Any] = {"filters": [Reshape([-1])], "serializer": Sharding((4,), ["bytes"])}
    omnizarr.create_array(store, data=data, chunks=(4, 6), compressors=None, **codecs)
    assert omnizarr.open_array(store)[2:, 1].tolist() == data[2:, 1].tolist()
    with pytest.raises(MetadataError, match=r"\$\.codecs\[1\]\.configuration\.chunk_shape"):
        omnizarr.create_array(
            omnizarr.MemoryStore(), data=data, filters=[Reshape([-1])], serializer=Sharding((2, 3), ["bytes"])
        )

"""The `transpose` codec."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from omnizarr._json import Problems
from omnizarr.codecs.array_to_array.transpose import BoundTranspose, Transpose
from omnizarr.codecs.contract import ChunkSpec


def bound(codec: Transpose, shape: tuple[int, ...]) -> BoundTranspose:
    problems = Problems()
    bound = codec.bind(ChunkSpec(shape, np.dtype("i4"), np.zeros((), "i4")), "$.codecs[0]", problems)
    assert bound is not None, problems.found
    return bound


@pytest.mark.parametrize("order", [order for ndim in range(5) for order in permutations(range(ndim))])
def test_R88_every_permutation(order: tuple[int, ...]) -> None:
    shape = (2, 3, 4, 5)[: len(order)]
    array = np.arange(np.prod(shape, dtype=int), dtype="i4").reshape(shape)
    codec = bound(Transpose(order), shape)
    encoded = codec.encode(array)
    assert codec.order == order
    assert encoded.shape == codec.encoded.shape == tuple(shape[axis] for axis in order)
    for position in np.ndindex(shape):
        assert encoded[tuple(position[axis] for axis in order)] == array[position]
    assert codec.decode(encoded).tolist() == array.tolist()
    assert np.shares_memory(codec.decode(encoded), array)


def test_R88_order_is_required() -> None:
    problems = Problems()
    assert Transpose.parse({}, "$.codecs[0]", problems) is None
    assert "`order` is missing" in problems.found[0].message


@pytest.mark.parametrize("order", [[0, 0], [1, 2], [-1, 0], [0.0, 1], "reverse", None, {"0": 1}, [[0]]])
def test_R88_not_a_permutation(order: object) -> None:
    problems = Problems()
    assert Transpose.parse({"order": order}, "$.codecs[0]", problems) is None
    assert [problem.path for problem in problems.found] == ["$.codecs[0].configuration.order"]


@pytest.mark.parametrize(("word", "order"), [("C", (0, 1, 2)), ("F", (2, 1, 0))])
def test_C_and_F_of_the_drafts_are_accepted_with_a_warning(word: str, order: tuple[int, ...]) -> None:
    problems = Problems()
    codec = Transpose.parse({"order": word}, "$.codecs[0]", problems)
    assert codec is not None
    assert not problems.found
    assert [problem.path for problem in problems.warnings] == ["$.codecs[0].configuration.order"]
    assert bound(codec, (2, 3, 4)).order == order
    assert codec.resolved(3) == Transpose(order)
    assert codec.resolved(3).configuration() == {"order": list(order)}
    assert codec.configuration() == {"order": word}


def test_R25_another_number_of_dimensions_is_a_problem() -> None:
    problems = Problems()
    spec = ChunkSpec((2, 3, 4), np.dtype("i4"), np.zeros((), "i4"))
    assert Transpose((1, 0)).bind(spec, "$.codecs[0]", problems) is None
    assert problems.found[0].path == "$.codecs[0].configuration.order"
    assert problems.found[0].message == "has 2 dimensions, but the array has 3"


def test_any_sequence_of_integers_makes_an_equal_codec() -> None:
    assert Transpose([1, 0]) == Transpose(np.array([1, 0])) == Transpose((1, 0))
    assert hash(Transpose([1, 0])) == hash(Transpose((1, 0)))


def test_the_fill_value_is_unchanged() -> None:
    spec = ChunkSpec((2, 3), np.dtype("i4"), np.array(7, "i4"))
    codec = Transpose((1, 0)).bind(spec, "$", Problems())
    assert codec is not None
    assert codec.encoded.fill is spec.fill

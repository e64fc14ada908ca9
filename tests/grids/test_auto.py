"""Automatic chunk and shard lengths: fast, close to the target size, nearly cubic, without slivers."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnizarr.grids.auto import auto_chunks, auto_shards, target_bytes

MiB = 2**20
SHAPES = st.lists(st.one_of(st.integers(0, 3000), st.integers(0, 2**62)), max_size=12)
SIZES = st.integers(1, 64)


@given(SHAPES, SIZES)
@example([2**62] * 32, 8)
@example([10] * 32, 8)
@example([0, 0], 4)
def test_every_length_is_from_1_to_that_of_the_dimension(shape: list[int], itemsize: int) -> None:
    chunks = auto_chunks(shape, itemsize)
    assert len(chunks) == len(shape)
    assert all(1 <= size <= max(1, length) for size, length in zip(chunks, shape, strict=True))
    assert all(type(size) is int for size in chunks)


@given(SHAPES, SIZES)
@example([2**62], 1)
@example([90, 90, 90], 2)
def test_a_chunk_has_about_the_target_bytes(shape: list[int], itemsize: int) -> None:
    nbytes = math.prod(max(1, length) for length in shape) * itemsize
    size = math.prod(auto_chunks(shape, itemsize)) * itemsize
    assert size <= 1.5 * target_bytes(nbytes)
    assert size >= min(nbytes, target_bytes(nbytes)) / 4


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=4), SIZES)
def test_the_last_chunk_of_a_dimension_is_never_a_sliver(shape: list[int], itemsize: int) -> None:
    for size, length in zip(auto_chunks(shape, itemsize), shape, strict=True):
        padded = -(-length // size) * size
        assert padded <= 1.25 * length


@given(SHAPES, SIZES)
def test_it_is_deterministic(shape: list[int], itemsize: int) -> None:
    assert auto_chunks(shape, itemsize) == auto_chunks(tuple(shape), itemsize)


@pytest.mark.parametrize(
    ("shape", "itemsize", "chunks"),
    [
        ((), 8, ()),
        ((0,), 8, (1,)),
        ((365,), 8, (365,)),
        ((10**12,), 1, (2**23,)),
        ((1000, 1000), 1, (1000, 1000)),
        ((512, 512, 512), 2, (64, 64, 128)),
        ((2048, 2048, 3), 1, (512, 512, 3)),
        ((10**9, 3), 4, (2**18, 3)),
        ((1, 1, 2**62), 8, (1, 1, 2**20)),
        ((0, 721, 1440), 4, (1, 721, 360)),
    ],
)
def test_examples(shape: tuple[int, ...], itemsize: int, chunks: tuple[int, ...]) -> None:
    assert auto_chunks(shape, itemsize) == chunks


def test_equal_dimensions_give_a_near_cube() -> None:
    for length in (100, 333, 512, 1000, 4096):
        chunks = auto_chunks((length,) * 3, 4)
        assert max(chunks) <= 2 * min(chunks)


def test_short_dimensions_are_not_divided() -> None:
    assert auto_chunks((5, 10_000, 10_000), 4)[0] == 5
    assert auto_chunks((10_000, 10_000, 4), 4)[2] == 4


def test_elements_larger_than_the_target_get_a_chunk_each() -> None:
    assert auto_chunks((4, 4), 64 * MiB) == (1, 1)


def test_the_target_grows_with_the_array_between_its_limits() -> None:
    sizes = {power: target_bytes(2**power) for power in (0, 20, 30, 32, 36, 62)}
    assert sizes == {0: MiB, 20: MiB, 30: MiB, 32: 2 * MiB, 36: 8 * MiB, 62: 8 * MiB}


@given(SHAPES, SIZES)
@example([], 8)
@example([2**62] * 32, 1)
def test_a_shard_is_a_whole_number_of_chunks_and_no_more_than_there_are(shape: list[int], itemsize: int) -> None:
    chunks = auto_chunks(shape, itemsize)
    shards = auto_shards(shape, chunks, itemsize)
    assert math.prod(shards) * itemsize <= max(32 * MiB, math.prod(chunks) * itemsize)
    for shard, chunk, length in zip(shards, chunks, shape, strict=True):
        assert shard % chunk == 0
        assert shard < length + chunk or shard == chunk


def test_a_shard_grows_to_32_mib_if_the_array_is_large_enough() -> None:
    assert auto_shards((4096, 4096, 4096), (64, 64, 64), 4) == (256, 256, 128)
    assert auto_shards((100,), (100,), 8) == (100,)

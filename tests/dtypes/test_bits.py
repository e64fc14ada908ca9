"""Comparison bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.dtypes import is_fill, same_bits

QUIET = np.array(np.nan, "f4")
OTHER = np.array(0x7FC00001, "u4").view("f4")

DTYPES = (
    "?",
    "i1",
    "u2",
    "f4",
    "f8",
    "c8",
    "c16",
    "V1",
    "V3",
    "V7",
    "V100",
    "V9000",
    [("a", "u1"), ("b", "f8"), ("c", "V4")],
)


def test_R57_nans_differ_by_their_bits() -> None:
    assert same_bits(QUIET, QUIET.copy())
    assert not same_bits(QUIET, OTHER)


def test_zeros_differ_by_their_sign() -> None:
    assert not same_bits(np.array(0.0), np.array(-0.0))


def test_scalars_of_different_types_differ() -> None:
    assert not same_bits(np.array(0, "i4"), np.array(0, "f4"))


def filled(dtype: Any, shape: tuple[int, ...], start: int = 1) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """A fill value whose bytes differ from each other, and an array full of it."""
    size = np.dtype(dtype).itemsize
    pattern = bytes((start + index) % 256 for index in range(size)) if dtype != "?" else b"\1"
    fill = np.frombuffer(pattern, dtype).reshape(()).copy()
    array = np.empty(shape, dtype)
    array.reshape(-1).view("u1").reshape(-1, size)[...] = np.frombuffer(pattern, "u1")
    return array, fill


def spoil(array: npt.NDArray[Any], index: tuple[int, ...], byte: int = 0) -> None:
    """Changes one byte of one element."""
    element = bytearray(array[index].tobytes())
    element[byte % len(element)] ^= 1
    array[index] = np.frombuffer(bytes(element), array.dtype)[0]


# From a single element to several of the blocks in which memory is compared.
@pytest.mark.parametrize("bytes_in_all", [1, 100, 70_001, 3_000_000])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_changed_byte_is_seen_wherever_it_is(dtype: Any, bytes_in_all: int) -> None:
    count = max(1, bytes_in_all // np.dtype(dtype).itemsize)
    array, fill = filled(dtype, (count,))
    assert is_fill(array, fill)
    for place in {0, 1, 7, 512, 4097, count // 2, count - 2, count - 1}:
        if 0 <= place < count:
            spoiled = array.copy()
            spoil(spoiled, (place,), byte=place)
            assert not is_fill(spoiled, fill), place


VIEWS = {
    "step": lambda array: array[::2, :, ::3],
    "corner": lambda array: array[1:, 2:, 3:],
    "reversed": lambda array: array[::-1, :, ::-1],
    "transposed": lambda array: array.T,
    "permuted": lambda array: array.transpose(1, 2, 0),
    "fortran": np.asfortranarray,
    "one column": lambda array: array[:, :, 0],
    "flat corner": lambda array: array[:1, 2:, 3:],
}


@pytest.mark.parametrize("shape", [(4, 6, 8), (40, 60, 80), (2, 700, 300)], ids=str)
@pytest.mark.parametrize("dtype", ["u1", "f8", "c16", "V3"])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_any_memory_layout(view: Any, dtype: str, shape: tuple[int, ...]) -> None:
    array, fill = filled(dtype, shape)
    seen = view(array)
    assert is_fill(seen, fill)
    for place in {0, seen.size // 2, seen.size - 1}:
        spoiled, _ = filled(dtype, shape)
        spoiled = view(spoiled)
        spoil(spoiled, tuple(int(index) for index in np.unravel_index(place, seen.shape)))
        assert not is_fill(spoiled, fill)


def test_memory_between_the_elements_of_a_view_does_not_count() -> None:
    array, fill = filled("u2", (400, 400))
    array[1::2] = 0
    assert is_fill(array[::2], fill)
    assert not is_fill(array, fill)


def test_unaligned_memory() -> None:
    array = np.frombuffer(b"\0" + np.full(50_000, 7, "f8").tobytes(), "f8", offset=1)
    assert is_fill(array, np.array(7.0))


def test_broadcast_arrays() -> None:
    fill = np.array(5, "i4")
    assert is_fill(np.broadcast_to(fill, (1000, 1000, 1000)), fill)
    assert not is_fill(np.broadcast_to(np.array([5] * 99 + [6], "i4"), (1000, 1000, 100)), fill)


def test_arrays_without_elements_or_dimensions() -> None:
    fill = np.array(5, "i4")
    assert is_fill(np.empty((3, 0), "i4"), fill)
    assert is_fill(np.array(5, "i4"), fill)
    assert not is_fill(np.array(6, "i4"), fill)


def test_nan_and_negative_zero_fill() -> None:
    assert is_fill(np.full(10, QUIET), QUIET)
    assert not is_fill(np.full(10, QUIET), OTHER)
    assert is_fill(np.full(100_000, OTHER), OTHER)
    assert not is_fill(np.full(100_000, -0.0), np.array(0.0))


@given(st.lists(st.integers(0, 1), max_size=30), st.integers(0, 1))
def test_agrees_with_numpy(values: list[int], fill: int) -> None:
    array = np.array(values, "i2")
    assert is_fill(array, np.array(fill, "i2")) == bool((array == fill).all())

"""Bitwise comparison of elements."""

from __future__ import annotations

import pickle
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
    """A fill value with distinct bytes, and an array filled with it."""
    size = np.dtype(dtype).itemsize
    pattern = bytes((start + index) % 256 for index in range(size)) if dtype != "?" else b"\1"
    fill = np.frombuffer(pattern, dtype).reshape(()).copy()
    array = np.empty(shape, dtype)
    array.reshape(-1).view("u1").reshape(-1, size)[...] = np.frombuffer(pattern, "u1")
    return array, fill


def change_byte(array: npt.NDArray[Any], index: tuple[int, ...], byte: int = 0) -> None:
    """Change one byte of one element."""
    element = bytearray(array[index].tobytes())
    element[byte % len(element)] ^= 1
    array[index] = np.frombuffer(bytes(element), array.dtype)[0]


# From a single element to several of the blocks that are compared.
@pytest.mark.parametrize("bytes_in_all", [1, 100, 70_001, 3_000_000])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_changed_byte_is_found_at_any_position(dtype: Any, bytes_in_all: int) -> None:
    count = max(1, bytes_in_all // np.dtype(dtype).itemsize)
    array, fill = filled(dtype, (count,))
    assert is_fill(array, fill)
    for place in {0, 1, 7, 512, 4097, count // 2, count - 2, count - 1}:
        if 0 <= place < count:
            spoiled = array.copy()
            change_byte(spoiled, (place,), byte=place)
            assert not is_fill(spoiled, fill), place


@pytest.mark.parametrize("value", [np.array(b"", "S7"), np.array(b"a", "S3"), np.array("ä", "U10"), np.array("", "U1")])
def test_trailing_zeros_of_text_count(value: npt.NDArray[Any]) -> None:
    """NumPy scalars lose them, and then no chunk would be equal to the fill value."""
    array = np.full((3, 5), value, value.dtype)
    assert is_fill(array, value)
    array[0, 0] = "b"
    assert not is_fill(array, value)


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
        change_byte(spoiled, tuple(int(index) for index in np.unravel_index(place, seen.shape)))
        assert not is_fill(spoiled, fill)


def test_memory_between_the_elements_of_a_view_is_ignored() -> None:
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


# -- text of variable length and objects


TEXT = np.dtypes.StringDType()


def scalar_of(value: Any) -> npt.NDArray[Any]:
    found = np.empty((), object)
    found[()] = value
    return found


def array_of(*values: Any) -> npt.NDArray[Any]:
    found = np.empty(len(values), object)
    for index, value in enumerate(values):
        found[index] = value
    return found


def test_text_is_compared_by_value() -> None:
    fill = np.array("long enough not to lie in the array itself", TEXT)
    assert same_bits(fill, np.array(str(fill[()]), TEXT))
    assert not same_bits(fill, np.array("", TEXT))
    assert is_fill(np.full((3, 4), fill), fill)
    assert is_fill(np.full((3, 4), fill)[::2].T, fill)
    for place in (0, 5, 11):
        array = np.full(12, fill)
        array[place] = "x"
        assert not is_fill(array, fill)
    assert is_fill(np.empty((0, 3), TEXT), fill)
    assert is_fill(np.array("a\0", TEXT), np.array("a\0", TEXT))
    assert not is_fill(np.array("a", TEXT), np.array("a\0", TEXT))
    assert not same_bits(fill, scalar_of(str(fill[()])))


def test_bytes_are_compared_with_their_zeros() -> None:
    assert is_fill(array_of(b"a\0", b"a\0"), scalar_of(b"a\0"))
    assert not is_fill(array_of(b"a\0", b"a"), scalar_of(b"a\0"))
    assert not is_fill(array_of(b"", None), scalar_of(b""))
    assert not is_fill(array_of("", ""), scalar_of(b""))


DIFFERENT = [
    *[None, 0, 0.0, -0.0, False, "", b"", [], (), {}, 1, 1.0, True, float("nan"), 1j, "1", b"1"],
    *[[1], [1.0], [True], [1, 1], [[1]], (1,), {"a": 1}, {"a": 1.0}, {"b": 1}, {"a": 1, "b": 1}],
    *[np.int8(1), np.int16(1), np.float32(0), np.float32(-0.0), np.float32(np.nan), np.datetime64("NaT", "s")],
    *[
        np.arange(3),
        np.arange(3.0),
        np.arange(4),
        np.arange(3)[::-1],
        np.zeros((1, 3), int),
        array_of(1, 2),
        array_of(1, 2.0),
    ],
    *[np.zeros(2), -np.zeros(2), np.full(2, np.nan)],
]


def copied(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("index", range(len(DIFFERENT)))
def test_equal_objects_of_different_types_differ(index: int) -> None:
    value = DIFFERENT[index]
    assert same_bits(scalar_of(value), scalar_of(copied(value)))
    assert is_fill(array_of(value, copied(value), copied(value)), scalar_of(value))
    for other, stranger in enumerate(DIFFERENT):
        if other != index:
            assert not same_bits(scalar_of(value), scalar_of(stranger)), stranger
            assert not is_fill(array_of(value, stranger), scalar_of(value)), stranger


def test_objects_that_cannot_be_compared_differ() -> None:
    class Incomparable:
        def __eq__(self, other: object) -> bool:
            raise TypeError("I am not to be compared")

        __hash__ = None  # type: ignore[assignment]

    assert not same_bits(scalar_of(Incomparable()), scalar_of(Incomparable()))
    deep, deeper = [], []  # type: ignore[var-annotated]
    for _ in range(100_000):
        deep, deeper = [deep], [deeper]
    assert not same_bits(scalar_of(deep), scalar_of(deeper))
    while deep:  # free it level by level, because Python would recurse
        deep, deeper = deep[0], deeper[0]

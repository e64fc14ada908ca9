"""`reduce_block`: compared with a window at a time, for all types and methods, with missing elements and odd sizes."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnizarr.errors import ArgumentError
from omnizarr.tools.pyramids.reduce import METHODS, check_method, reduce_block

_TYPES = ("i1", "u2", ">i4", "i8", "u8", "f2", "f4", ">f8", "c16", "?", "M8[s]", "m8[ms]", "U2", "S2")


def _one_window(elements: list[Any], method: str, dtype: np.dtype[Any], missing: Any) -> Any:
    """The reference: Python's own numbers."""
    if method == "nearest":
        return elements[0]
    valid = [one for one in elements if one == one and (missing is None or one != missing)]
    if not valid:
        return missing if missing is not None else elements[0]
    if method == "max":
        return max(valid)
    if method == "mode":
        counts = Counter(valid)
        most = max(counts.values())
        candidates = [one for one, count in counts.items() if count == most]
        return min(candidates, key=lambda one: (one.real, one.imag) if dtype.kind == "c" else one)
    if dtype.kind in "iu":
        total = sum(map(int, valid))
        return abs(total) // len(valid) * (1 if total >= 0 else -1)
    return sum(map(complex if dtype.kind == "c" else float, valid)) / len(valid)


def _expected(values: np.ndarray, factors: tuple[int, ...], method: str, missing: Any) -> np.ndarray:
    shape = tuple(-(-length // factor) for length, factor in zip(values.shape, factors, strict=True))
    result = np.empty(shape, values.dtype)
    for index in np.ndindex(shape):
        window = tuple(slice(i * factor, (i + 1) * factor) for i, factor in zip(index, factors, strict=True))
        result[index] = _one_window(list(values[window].ravel()), method, values.dtype, missing)
    return result


def _random(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    small = rng.integers(0, 5, shape)
    if dtype.kind in "US":
        return np.array(["a", "b", "c", "dd", ""])[small].astype(dtype)
    if dtype.kind in "iu" and dtype.itemsize == 8 and rng.random() < 0.5:
        return (small * (2**60)).astype(dtype) * (-1 if dtype.kind == "i" else 2)  # sums overflow 64 bits
    if dtype.kind == "i":
        small = small - 2
    values = small.astype(dtype)
    if dtype.kind in "fc":
        values[rng.random(shape) < 0.4] = np.nan
    if dtype.kind in "mM":
        values[rng.random(shape) < 0.4] = "NaT"
    return values


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", _TYPES)
def test_equals_a_window_at_a_time(name: str, method: str) -> None:
    dtype = np.dtype(name)
    try:
        check_method(method, dtype)
    except ArgumentError:
        assert method in ("mean", "max")
        return
    rng = np.random.default_rng(sum((name + method).encode()))
    for factors, use_missing in itertools.product(((2, 2), (3, 2), (1, 4), (1, 1)), (False, True)):
        values = _random(rng, dtype, (5, 7))
        missing = dtype.type(2) if use_missing and dtype.kind in "iuf" else None
        result = reduce_block(values, factors, method, missing)
        assert result.dtype == dtype
        if dtype.kind in "mM":
            values, result = values.astype("i8"), result.astype("i8")
            missing = np.datetime64("NaT").astype("i8")
        expected = _expected(values, factors, method, missing)
        if dtype.kind == "c":
            np.testing.assert_allclose(np.nan_to_num(result), np.nan_to_num(expected), rtol=1e-15)
        else:
            np.testing.assert_array_equal(result, expected)


_SIZES = (st.integers(1, 9), st.integers(1, 9), st.integers(1, 4), st.integers(1, 4))


@given(*_SIZES, st.sampled_from(("mean", "mode", "max")))
@settings(max_examples=50)
def test_all_sizes(rows: int, columns: int, first: int, second: int, method: Any) -> None:
    values = np.random.default_rng(rows * columns).integers(-9, 9, (rows, columns), dtype="i2")
    result = reduce_block(values, (first, second), method)
    np.testing.assert_array_equal(result, _expected(values, (first, second), method, None))


def test_types_beyond_numpy() -> None:
    values = np.array([1, 2, 3, np.nan], ml_dtypes.bfloat16)
    assert reduce_block(values, (2,), "mean").astype("f4").tolist() == [1.5, 3]
    assert reduce_block(np.array([1, 3, 5, 7], ml_dtypes.int4), (4,), "mean").astype("i4").tolist() == [4]
    records = np.array([(1, 2), (3, 4), (5, 6)], "i4,f4")
    assert reduce_block(records, (2,), "nearest").tolist() == [(1, 2), (5, 6)]
    assert reduce_block(np.array(5.0), (), "mean") == 5


@pytest.mark.parametrize(("method", "dtype"), [("mean", "?"), ("mean", "U3"), ("max", "c8"), ("mode", "i4,i4")])
def test_methods_that_make_no_sense(method: str, dtype: str) -> None:
    with pytest.raises(ArgumentError, match="not defined") as error:
        check_method(method, np.dtype(dtype))
    assert error.value.hint is not None
    assert "nearest" in error.value.hint


def test_unknown_method() -> None:
    with pytest.raises(ArgumentError, match="expected one of mean, nearest, mode, max"):
        check_method("median", np.dtype("f4"))

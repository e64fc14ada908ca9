"""The maximum error of each lossy codec, for arbitrary arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import omnizarr
from omnizarr.codecs import BitRound, CastValue, ScaleOffset, Zfp
from omnizarr.codecs import numcodecs_ as family

SHAPES = arrays.array_shapes(max_dims=3, max_side=6)


def floats(dtype: str, most: float) -> Any:
    """Arrays without tiny numbers: relative bounds do not hold below the smallest normal number."""
    numbers = st.floats(-most, most, width=8 * np.dtype(dtype).itemsize)  # type: ignore[arg-type]
    return arrays.arrays(dtype, SHAPES, elements=numbers.filter(lambda one: one == 0 or abs(one) > 1e-30))


def error(data: npt.NDArray[Any], **options: Any) -> npt.NDArray[np.float64]:
    """The absolute error of each element after a write and a read."""
    store: dict[str, bytes] = {}
    omnizarr.create_array(store, data=data, fill_value=0, **{"compressors": None, **options})
    values = omnizarr.open_array(store)[...]
    assert (values.shape, values.dtype) == (data.shape, data.dtype)
    return np.abs(values.astype("f8") - data.astype("f8"))


@given(floats("f4", 2.0**100), st.integers(1, 23))
def test_bitround_of_floats(data: npt.NDArray[Any], keepbits: int) -> None:
    bound = np.abs(data.astype("f8")) * 2.0 ** -(keepbits + 1)
    assert (error(data, filters=BitRound(keepbits)) <= bound).all()
    assert (error(data, filters=family.BitRound(keepbits)) <= bound).all()


@given(arrays.arrays("u4", SHAPES), st.integers(1, 32))
def test_R127_bitround_of_integers(data: npt.NDArray[Any], keepbits: int) -> None:
    # The bound is half of the last kept bit, or the whole bit where rounding up would overflow.
    assert (error(data, filters=BitRound(keepbits)) <= data.astype("f8") * 2.0 ** (1 - keepbits)).all()
    small = data >> np.uint32(1)
    assert (error(small, filters=BitRound(keepbits)) <= small.astype("f8") * 2.0**-keepbits).all()


@pytest.mark.parametrize(
    ("rounding", "most"), [("nearest-even", 0.5), ("nearest-away", 0.5), ("towards-zero", 1), ("towards-positive", 1)]
)
@given(data=floats("f8", 2.0**30))
def test_R128_cast_value_to_integers(data: npt.NDArray[Any], rounding: Any, most: float) -> None:
    result = error(data, filters=CastValue("int32", rounding))
    assert (result <= most).all()


@given(floats("f4", 2.0**100))
def test_R128_cast_value_to_shorter_floats(data: npt.NDArray[Any]) -> None:
    assert (error(data, filters=CastValue("bfloat16")) <= np.abs(data.astype("f8")) * 2.0**-8).all()


@given(floats("f4", 1e6), st.floats(-1000, 1000, width=32), st.floats(0.125, 100, width=32))
def test_R133_scale_offset(data: npt.NDArray[Any], offset: float, scale: float) -> None:
    bound = 5 * 2.0**-24 * (np.abs(data.astype("f8")) + 2 * abs(offset)) + 1e-40
    assert (error(data, filters=ScaleOffset(offset, scale)) <= bound).all()


@given(floats("f8", 1e6), st.integers(0, 6))
def test_quantize(data: npt.NDArray[Any], digits: int) -> None:
    assert (error(data, filters=family.Quantize(digits)) <= 0.5 * 10.0**-digits).all()


@given(floats("f8", 1e6), st.floats(0.5, 1000), st.floats(-1000, 1000))
def test_fixedscaleoffset(data: npt.NDArray[Any], scale: float, offset: float) -> None:
    assert (error(data, filters=family.FixedScaleOffset(scale, offset, astype="<i8")) <= 0.5 / scale + 1e-8).all()


@given(floats("f8", 1e6), st.floats(1e-6, 10))
def test_R139_zfp_fixed_accuracy(data: npt.NDArray[Any], tolerance: float) -> None:
    pytest.importorskip("zfpy")
    for codec in (Zfp("fixed_accuracy", tolerance=tolerance), family.Zfpy(tolerance=tolerance)):
        assert (error(data, serializer=codec) <= tolerance).all()

"""The `bitround` codec."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.codecs.binding import bind, bind_problems, parse_problems, parse_valid, paths_of, spec_of

import omnizarr
from omnizarr.codecs import BitRound, Sharding
from omnizarr.codecs.numcodecs_ import BitRound as NumcodecsBitRound


def rounded(values: Any, dtype: Any, keepbits: int) -> npt.NDArray[Any]:
    array = np.array(values).astype(dtype)
    before = array.copy()
    encoded: npt.NDArray[Any] = bind(BitRound(keepbits), array).encode(array)
    assert array.tobytes() == before.tobytes()
    assert encoded.dtype == array.dtype
    return encoded


# -- the registry's sample data


@pytest.mark.smoke
def test_R127_sample_table_of_integers() -> None:
    result = rounded([0, 1, 10, 11, 100, 123, 200, 208, 209, 255], "u1", 3)
    assert result.tolist() == [0, 1, 10, 12, 96, 128, 192, 192, 224, 224]


def test_R127_sample_table_of_floats() -> None:
    result = rounded([0, 0.1, 1.2, 12.3, 123.4, 1234.5, np.nan, np.inf, -np.inf], "f4", 3)
    assert result.tobytes().hex(" ", 4) == (
        "00000000 0000d03d 0000a03f 00004041 0000f042 0000a044 0000c07f 0000807f 000080ff"
    )


# -- floats

FLOATS = {"float16": (10, "u2"), "float32": (23, "u4"), "float64": (52, "u8"), "bfloat16": (7, "u2")}


def float_type(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(pytest.importorskip("ml_dtypes"), name)) if name == "bfloat16" else np.dtype(name)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("keepbits", [1, 2, 5, 7, 10, 23, 51, 52, 60])
@given(data=st.data())
def test_R127_floats_are_rounded_to_nearest_and_ties_to_even(name: str, keepbits: int, data: st.DataObject) -> None:
    mantissa, bits = FLOATS[name]
    dtype = float_type(name)
    patterns = data.draw(arrays.arrays(bits, 40))
    array = patterns.view(dtype)
    encoded = bind(BitRound(keepbits), array).encode(array)
    drop = mantissa - keepbits
    if drop <= 0:
        assert encoded.tobytes() == array.tobytes()
        return
    with np.errstate(invalid="ignore"):
        numbers, left = array.astype("f8"), encoded.astype("f8")
    assert np.isnan(left[np.isnan(numbers)]).all()
    for before, after, number in zip(patterns.tolist(), encoded.view(bits).tolist(), numbers, strict=True):
        if np.isnan(number):
            continue
        lower = before >> drop << drop
        rest, half = before - lower, 1 << (drop - 1)
        up = rest > half or (rest == half and lower >> drop & 1)
        assert after == lower + (up << drop)  # a carry goes into the exponent


@pytest.mark.parametrize("bits", [0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0x7FC00001, 0x7FBFFFFF])
@pytest.mark.parametrize("keepbits", [1, 3, 22])
def test_R127_no_nan_becomes_a_number(bits: int, keepbits: int) -> None:
    array = np.array([bits], "u4").view("f4")
    assert np.isnan(bind(BitRound(keepbits), array).encode(array)).all()


@given(arrays.arrays("f4", 30, elements=st.floats(-(2.0**100), 2.0**100, width=32)), st.integers(1, 22))
def test_R127_relative_error_of_floats_is_bounded(array: npt.NDArray[Any], keepbits: int) -> None:
    array[np.abs(array) < np.finfo("f4").tiny] = 0  # subnormal numbers have fewer digits
    encoded = bind(BitRound(keepbits), array).encode(array)
    error = np.abs(encoded.astype("f8") - array.astype("f8"))
    assert (error <= np.abs(array.astype("f8")) * 2.0 ** -(keepbits + 1)).all()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("keepbits", [1, 3, 9])
def test_R127_floats_are_rounded_as_numcodecs_rounds_them(dtype: str, keepbits: int) -> None:
    numcodecs = pytest.importorskip("numcodecs")
    array = np.random.default_rng(1).normal(size=200).astype(dtype)
    theirs = numcodecs.BitRound(keepbits).encode(array).view(dtype)
    assert rounded(array, dtype, keepbits).tobytes() == theirs.tobytes()


@pytest.mark.parametrize(("whole", "part"), [("complex64", "f4"), ("complex128", "f8")])
def test_R127_complex_numbers_are_rounded_part_by_part(whole: str, part: str) -> None:
    parts = np.random.default_rng(2).normal(size=40).astype(part)
    assert rounded(parts.view(whole), whole, 4).tobytes() == rounded(parts, part, 4).tobytes()


@pytest.mark.parametrize("name", ["complex_bfloat16", "complex_float16"])
def test_R127_complex_numbers_of_small_floats(name: str) -> None:
    pytest.importorskip("ml_dtypes")
    array = omnizarr.create_array(
        omnizarr.MemoryStore(), shape=(3,), dtype=name, filters=[BitRound(1)], fill_value=[0.0, 0.0]
    )
    part = float_type(name.removeprefix("complex_"))
    plain = np.array([1.1, 1.4, 0.3, -5, 100, 7]).astype(part)
    array[...] = plain.view(array.dtype)
    assert array[...].tobytes() == rounded(plain, part, 1).tobytes()


# -- integers


def oracle(value: int, keepbits: int, bits: int, *, signed: bool) -> int:
    """The result for one integer, by the text of the registry."""
    pattern = value & ((1 << bits) - 1)
    drop = pattern.bit_length() - keepbits
    if drop <= 0:
        return value
    quotient, rest = divmod(pattern, 1 << drop)
    half = 1 << (drop - 1)
    up = rest > half or (rest == half and quotient & 1)
    limit = 1 << (bits - 1 if signed and value >= 0 else bits)
    if up and (quotient + 1) << drop >= limit:
        up = False
    result = (quotient + up) << drop
    return result - (1 << bits) if signed and result >> (bits - 1) else result


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@given(data=st.data(), keepbits=st.integers(1, 65))
def test_R127_integers_keep_bits_from_the_first_set_bit(dtype: str, data: st.DataObject, keepbits: int) -> None:
    array = data.draw(arrays.arrays(dtype, 40))
    info = np.iinfo(dtype)
    array[:4] = [info.min, info.max, 0, info.max - 1]
    encoded = bind(BitRound(keepbits), array).encode(array)
    signed = np.dtype(dtype).kind == "i"
    assert encoded.tolist() == [oracle(int(value), keepbits, info.bits, signed=signed) for value in array]


def test_R127_no_integer_is_rounded_beyond_its_type() -> None:
    assert rounded([127, 126, 121], "i1", 3).tolist() == [112, 112, 112]
    assert rounded([2**63 - 1], "i8", 1).tolist() == [2**62]
    assert rounded([2**64 - 1], "u8", 1).tolist() == [2**63]


def test_R127_the_first_bit_of_a_negative_integer_is_its_sign() -> None:
    assert rounded([-1, -128, -100, -33], "i1", 3).tolist() == [-32, -128, -96, -32]


@pytest.mark.parametrize("dtype", ["M8[us]", "m8[ns]"])
def test_R127_times_are_integers(dtype: str) -> None:
    numbers = np.array([0, 5, 10**15 + 77, -(2**63), -3])
    assert rounded(numbers.view(dtype), dtype, 4).tobytes() == rounded(numbers, "i8", 4).tobytes()
    assert np.isnat(rounded(["NaT"], dtype, 1)).all()


# -- binding


@pytest.mark.parametrize("keepbits", [0, -1, 1.0, True, "3", None, 2**32])
def test_R127_keepbits_must_be_at_least_one(keepbits: Any) -> None:
    assert paths_of(parse_problems("bitround", {"keepbits": keepbits})) == [".configuration.keepbits"]
    with pytest.raises(omnizarr.errors.ArgumentError, match="keepbits"):
        BitRound(keepbits)


def test_R127_keepbits_is_required_and_nothing_else_allowed() -> None:
    assert paths_of(parse_problems("bitround", {})) == [".configuration"]
    assert paths_of(parse_problems("bitround", {"keepbits": 3, "mode": 1})) == [".configuration.mode"]


@pytest.mark.parametrize("dtype", ["?", "S3", "V2", "U2", [("a", "i4")]])
def test_R127_types_without_such_bits_are_rejected(dtype: Any) -> None:
    assert paths_of(bind_problems(BitRound(3), np.zeros(4, dtype))) == [""]


@pytest.mark.parametrize("name", ["int4", "float8_e5m2", "float4_e2m1fn"])
def test_R127_types_outside_the_registrys_list_are_rejected(name: str) -> None:
    library = pytest.importorskip("ml_dtypes")
    assert paths_of(bind_problems(BitRound(3), np.zeros(4, getattr(library, name)))) == [""]


def test_R127_decoding_changes_nothing() -> None:
    array = np.array([0.1, np.nan], "f8")
    assert bind(parse_valid("bitround", keepbits=1), array).decode(array) is array


def test_R83_the_fill_value_is_rounded() -> None:
    codec = bind(BitRound(3), spec_of(np.zeros(4, "u1"), 255))
    assert codec.encoded.fill == 224
    assert codec.encoded.fill.dtype == np.uint8
    assert bind(BitRound(1), spec_of(np.zeros(4, "f4"), 0.1)).encoded.fill == np.float32(0.09375)


def test_A37_a_sharding_codec_after_it_uses_the_rounded_fill_value() -> None:
    store = omnizarr.MemoryStore()
    array = omnizarr.create_array(
        store,
        shape=(8,),
        chunks=(8,),
        dtype="u1",
        fill_value=255,
        filters=[BitRound(3)],
        serializer=Sharding((4,), ["bytes"]),
    )
    array[:4] = [1, 2, 3, 100]
    shard = bytes(store.get("c/0") or b"")
    assert shard[:4] == bytes([1, 2, 3, 96])
    assert shard[20:36] == b"\xff" * 16  # the other half of the shard is empty
    assert omnizarr.open_array(store)[...].tolist() == [1, 2, 3, 96, 224, 224, 224, 224]


# -- aliases


@pytest.mark.parametrize(
    "name", ["https://codec.zarrs.dev/array_to_array/bitround", "https://codec.zarrs.dev/array_to_bytes/bitround"]
)
def test_R127_urls_of_zarrs_are_accepted_as_names(name: str) -> None:
    assert parse_valid(name, keepbits=3) == BitRound(3)


@pytest.mark.parametrize("data_type", ["float32", "uint8", "int16", "complex64"])
def test_R127_the_numcodecs_name_is_accepted(tmp_path: Path, data_type: str) -> None:
    """Before the codec was registered, zarrs wrote it for integers too."""
    data = np.arange(8).astype(data_type)
    made = omnizarr.create_array(tmp_path, data=data, filters=[BitRound(52)], compressors=None)
    document = (tmp_path / "zarr.json").read_text()
    (tmp_path / "zarr.json").write_text(document.replace('"bitround"', '"numcodecs.bitround"').replace("52", "2"))
    array = omnizarr.open_array(tmp_path)
    assert array[...].tobytes() == data.tobytes() == made[...].tobytes()
    array[...] = data
    assert array[...].tobytes() == bind(BitRound(2), data).encode(data).tobytes()


def test_R127_the_numcodecs_name_is_kept_in_documents() -> None:
    codec = parse_valid("numcodecs.bitround", keepbits=0)
    assert isinstance(codec, NumcodecsBitRound)
    assert codec.to_json() == {"name": "numcodecs.bitround", "configuration": {"keepbits": 0}}

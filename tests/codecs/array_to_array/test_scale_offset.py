"""The `scale_offset` codec."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.codecs.binding import bind, bind_problems, parse_problems, parse_valid, paths_of, spec_of

import omnizarr
from omnizarr.codecs import CastValue, ScaleOffset, Sharding
from omnizarr.dtypes import data_type_of
from omnizarr.errors import ArgumentError, ChunkError, CodecError, MetadataError

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SMALL_INTEGERS = ("int2", "int4", "uint2", "uint4")
SMALL_FLOATS = (
    *("bfloat16", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3"),
    *("float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
)


def dtype_of(name: str) -> np.dtype[Any]:
    return data_type_of(name).dtype


def limits(name: str) -> tuple[int, int]:
    bits = int(name.removeprefix("u").removeprefix("int"))
    return (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


# -- the examples of the registry


@pytest.mark.smoke
def test_R133_floats_with_offset_and_scale() -> None:
    array = np.array([5, 15, 4.5, np.nan, np.inf], "f4")
    bound = bind(parse_valid("scale_offset", offset=5, scale=0.1), spec_of(array, 5))
    stored = (array - np.float32(5)) * np.float32(0.1)
    assert bound.encode(array).dtype == np.float32
    assert bound.encode(array).tobytes() == stored.tobytes()
    assert bound.decode(stored).tobytes() == (stored / np.float32(0.1) + np.float32(5)).tobytes()


def test_R133_integers_with_an_offset_fit_into_a_byte() -> None:
    store = omnizarr.MemoryStore()
    filters = [ScaleOffset(offset=1000), CastValue("uint8")]
    data = np.array([1000, 1001, 1255], "u2")
    omnizarr.create_array(store, data=data, fill_value=1000, filters=filters, compressors=None)
    assert bytes(store.get("c/0") or b"") == bytes([0, 1, 255])
    assert omnizarr.open_array(store)[...].tolist() == data.tolist()


def test_R133_doubles_in_a_byte_with_a_code_for_nan() -> None:
    store = omnizarr.MemoryStore()
    cast = CastValue("uint8", scalar_map={"encode": [["NaN", 0]], "decode": [[0, "NaN"]]})
    data = np.array([0.0, 10.0, np.nan, 2540.0])
    omnizarr.create_array(
        store, data=data, fill_value=np.nan, filters=[ScaleOffset(offset=-10, scale=0.1), cast], compressors=None
    )
    assert bytes(store.get("c/0") or b"") == bytes([1, 2, 0, 255])
    values = omnizarr.open_array(store)[...]
    assert np.isnan(values[2])
    assert values[[0, 1, 3]].tolist() == [0.0, 10.0, 2540.0]


def test_R134_fixedscaleoffset_equals_scale_offset_and_cast_value() -> None:
    data = np.linspace(10, 100, 40, dtype="f4")
    old = {"name": "numcodecs.fixedscaleoffset"}
    old["configuration"] = {"astype": "|u1", "dtype": "<f4", "scale": 0.1, "offset": 10}  # type: ignore[assignment]
    chunks = []
    for filters in ([old], [ScaleOffset(offset=10, scale=0.1), CastValue("uint8", out_of_range="wrap")]):
        store = omnizarr.MemoryStore()
        omnizarr.create_array(store, data=data, fill_value=10, filters=filters, compressors=None)
        chunks.append(bytes(store.get("c/0") or b""))
    assert chunks[0] == chunks[1]
    assert set(chunks[0]) == set(range(10))


def test_R133_an_empty_configuration_changes_nothing() -> None:
    array = np.array([1, 2], "i4")
    for codec in (parse_valid("scale_offset"), ScaleOffset()):
        assert codec.to_json() == {"name": "scale_offset"}
        assert bind(codec, array).encode(array).tobytes() == array.tobytes()


# -- integers


@pytest.mark.parametrize("name", [*INTEGERS, *SMALL_INTEGERS])
@given(data=st.data())
def test_R133_integers_are_exact_or_an_error(name: str, data: st.DataObject) -> None:
    if name in SMALL_INTEGERS:
        pytest.importorskip("ml_dtypes")
    low, high = limits(name)
    number = st.sampled_from([low, high, low + 1, high - 1, 0, 1, 2, 3]) | st.integers(low, high)
    number = number.filter(lambda value: low <= value <= high)
    offset, scale = data.draw(number | st.none()), data.draw(number.filter(bool) | st.none() | st.just(1))
    move, factor = offset or 0, 1 if scale is None else scale

    def stored(value: int) -> int | None:
        moved = value - move
        fits = low <= moved <= high and low <= moved * factor <= high
        return moved * factor if fits else None

    def restored(value: int) -> int | None:
        quotient, rest = divmod(value, factor)
        fits = not rest and low <= quotient <= high and low <= quotient + move <= high
        return quotient + move if fits else None

    fill = next((value for value in (0, move, low, high) if stored(value) is not None), None)
    assume(fill is not None)
    bound = bind(ScaleOffset(offset, scale), spec_of(np.zeros(1, dtype_of(name)), fill))
    for value in data.draw(st.lists(number, min_size=1, max_size=12)):
        for function, expected in ((bound.encode, stored(value)), (bound.decode, restored(value))):
            array = np.array([value]).astype(dtype_of(name))
            if expected is None:
                with pytest.raises(CodecError, match="scale_offset"):
                    function(array)
            else:
                assert int(function(array)[0]) == expected
                assert function(array).dtype == array.dtype


def test_R133_integers_of_64_bits_do_not_wrap() -> None:
    array = np.array([2**64 - 1], "u8")
    assert bind(ScaleOffset(offset=2**63), spec_of(array, 2**64 - 1)).encode(array).tolist() == [2**63 - 1]
    doubled = bind(ScaleOffset(scale=2), spec_of(array, 0))
    assert doubled.encode(np.array([2**63 - 1], "u8")).tolist() == [2**64 - 2]
    with pytest.raises(CodecError, match=f"the result for {2**63} does not fit into uint64"):
        doubled.encode(np.array([1, 2**63], "u8"))


def test_R133_division_must_be_exact() -> None:
    bound = bind(ScaleOffset(scale=3), np.zeros(1, "i4"))
    assert bound.decode(np.array([6, -9], "i4")).tolist() == [2, -3]
    with pytest.raises(CodecError, match="7 is not a multiple of the scale 3"):
        bound.decode(np.array([6, 7], "i4"))


def test_R133_the_lowest_integer_cannot_be_negated() -> None:
    bound = bind(ScaleOffset(scale=-1), np.zeros(1, "i1"))
    assert bound.encode(np.array([127, -127], "i1")).tolist() == [-127, 127]
    for function in (bound.encode, bound.decode):
        with pytest.raises(CodecError):
            function(np.array([-128], "i1"))


# -- floats


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@given(data=st.data())
def test_R133_floats_are_computed_in_their_own_type(dtype: str, data: st.DataObject) -> None:
    width = 8 * np.dtype(dtype).itemsize
    finite = st.floats(-100, 100, width=width)  # type: ignore[arg-type]
    array = data.draw(arrays.arrays(dtype, 20, elements=finite))
    offset, scale = data.draw(finite), data.draw(finite.filter(lambda value: abs(value) > 0.01))
    bound = bind(ScaleOffset(offset, scale), array)
    move, factor = np.array(offset, dtype), np.array(scale, dtype)
    assert bound.encode(array).tobytes() == ((array - move) * factor).tobytes()
    assert bound.decode(array).tobytes() == (array / factor + move).tobytes()


def test_R133_overflow_to_infinity_is_an_error() -> None:
    bound = bind(ScaleOffset(scale=2), np.zeros(1, "f2"))
    with pytest.raises(CodecError, match="the result for 65504.0 does not fit into float16"):
        bound.encode(np.array([1, 65504], "f2"))
    assert bound.encode(np.array([np.inf, -np.inf], "f2")).tolist() == [np.inf, -np.inf]
    with pytest.raises(CodecError):
        bind(ScaleOffset(scale=0.5), np.zeros(1, "f2")).decode(np.array([65504], "f2"))


def values_of(name: str) -> npt.NDArray[Any]:
    width = 16 if name == "bfloat16" else 8
    patterns = np.arange(2**width, dtype=f"u{width // 8}")
    if name.startswith(("float4", "float6")):
        patterns = patterns[: 2 ** int(name[5])]
    return patterns[:: max(1, len(patterns) // 64)].view(dtype_of(name))


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_R133_small_floats_are_rounded_after_each_step(name: str) -> None:
    pytest.importorskip("ml_dtypes")
    move, factor = 1.5, 0.5
    bound = bind(ScaleOffset(move, factor), spec_of(np.zeros(1, dtype_of(name))))
    cast = bind(CastValue(name), spec_of(np.zeros(1)))
    for value in values_of(name):
        array = value.reshape(1)
        with np.errstate(invalid="ignore"):
            number = float(value)
        try:
            moved = float(cast.encode(np.array([number - move]))[0])
            expected = float(cast.encode(np.array([moved * factor]))[0])
        except CodecError:
            with pytest.raises(CodecError, match="scale_offset"):
                bound.encode(array)
            continue
        result = float(bound.encode(array)[0])
        assert result == expected or (math.isnan(result) and math.isnan(expected))
        if math.isfinite(result):
            assert Fraction(result) == Fraction(expected)


def test_R133_a_type_without_zero_can_be_scaled() -> None:
    library = pytest.importorskip("ml_dtypes")
    array = np.array([1, 4, 0.5]).astype(library.float8_e8m0fnu)
    bound = bind(ScaleOffset(scale=4), spec_of(array, 1))
    assert bound.encode(array).astype(float).tolist() == [4, 16, 2]
    assert bound.decode(bound.encode(array)).tobytes() == array.tobytes()
    with pytest.raises(CodecError):
        bind(ScaleOffset(offset=1), spec_of(array, 4)).encode(array)


# -- configurations


@pytest.mark.parametrize("member", ["offset", "scale"])
@pytest.mark.parametrize("value", [None, True, [1], {"a": 1}])
def test_R133_operands_must_be_scalars(member: str, value: Any) -> None:
    assert paths_of(parse_problems("scale_offset", {member: value})) == [f".configuration.{member}"]


def test_R133_unknown_members_are_rejected() -> None:
    assert paths_of(parse_problems("scale_offset", {"scale": 1, "dtype": "f4"})) == [".configuration.dtype"]


@pytest.mark.parametrize(
    ("dtype", "members", "place"),
    [
        ("u1", {"offset": -1}, "offset"),
        ("u1", {"scale": 256}, "scale"),
        ("i4", {"scale": 0.5}, "scale"),
        ("f4", {"scale": "half"}, "scale"),
        ("f4", {"scale": 0}, "scale"),
        ("f4", {"scale": "NaN"}, "scale"),
        ("f4", {"offset": "Infinity"}, "offset"),
        ("i4", {"scale": 0}, "scale"),
        ("f2", {"offset": 1e6}, "offset"),
    ],
)
def test_R133_operands_have_the_form_of_fill_values(dtype: str, members: dict[str, Any], place: str) -> None:
    assert paths_of(bind_problems(ScaleOffset(**members), np.zeros(3, dtype))) == [f".configuration.{place}"]


def test_R133_operands_may_be_bit_patterns() -> None:
    bound = bind(parse_valid("scale_offset", scale="0x40000000"), np.zeros(1, "f4"))  # 2.0
    assert bound.encode(np.array([1.5], "f4")).tolist() == [3.0]


def test_operands_may_be_numpy_scalars() -> None:
    assert ScaleOffset(np.float32(0.5), np.int16(3)) == ScaleOffset(0.5, 3)
    with pytest.raises(ArgumentError, match="scale_offset"):
        ScaleOffset([1])  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["?", "c8", "M8[s]", "S2", "V3", [("a", "i4")]])
def test_R133_other_types_than_real_numbers_are_rejected(dtype: Any) -> None:
    assert paths_of(bind_problems(ScaleOffset(1), np.zeros(3, dtype))) == [""]


# -- the fill value


def test_R83_the_fill_value_is_encoded() -> None:
    bound = bind(ScaleOffset(10, 2), spec_of(np.zeros(3, "i2"), 17))
    assert bound.encoded.fill == 14
    assert bound.encoded.fill.dtype == np.int16
    assert bound.encoded.fill.shape == ()


def test_R133_a_fill_value_that_cannot_be_encoded_is_rejected_in_bind() -> None:
    assert "fill value" in bind_problems(ScaleOffset(offset=5), spec_of(np.zeros(3, "u1"), 4))[0][1]
    with pytest.raises(MetadataError, match=r"\$\.codecs\[0\]: codec `scale_offset` cannot encode the fill value"):
        omnizarr.create_array(omnizarr.MemoryStore(), shape=(3,), dtype="u1", filters=[ScaleOffset(offset=5)])


def test_A37_a_sharding_codec_after_it_uses_the_encoded_fill_value() -> None:
    store = omnizarr.MemoryStore()
    array = omnizarr.create_array(
        store,
        shape=(8,),
        chunks=(8,),
        dtype="i2",
        fill_value=-7,
        filters=[ScaleOffset(offset=-7, scale=3)],
        serializer=Sharding((4,), ["bytes"]),
        compressors=None,
    )
    array[4:6] = [-7, 1]
    shard = bytes(store.get("c/0") or b"")
    assert shard[:8] == np.array([0, 24, 0, 0], "<i2").tobytes()
    assert shard[8:24] == b"\xff" * 16  # the first half of the shard is empty
    assert omnizarr.open_array(store)[...].tolist() == [-7, -7, -7, -7, -7, 1, -7, -7]


def test_errors_name_the_array_and_the_chunk() -> None:
    array = omnizarr.create_array(
        omnizarr.MemoryStore(), shape=(4,), chunks=(2,), dtype="u1", fill_value=9, filters=[ScaleOffset(offset=5)]
    )
    with pytest.raises(
        ChunkError, match=r"chunk \(1,\) of array `/` .*codec `scale_offset`: the result for 4 does not"
    ):
        array[...] = [5, 6, 7, 4]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_shapes_and_memory_orders(shape: tuple[int, ...], order: Any) -> None:
    array = np.asarray(np.arange(math.prod(shape), dtype="i4").reshape(shape), order=order)
    bound = bind(ScaleOffset(3, 5), array)
    encoded = bound.encode(array)
    assert encoded.shape == shape
    assert encoded.tolist() == ((array - 3) * 5).tolist()
    assert bound.decode(encoded).tolist() == array.tolist()

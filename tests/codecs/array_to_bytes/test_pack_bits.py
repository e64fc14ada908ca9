"""The `packbits` codec."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.codecs.binding import bind, bind_problems, parse_problems, parse_valid, paths_of

import omnizarr
from omnizarr.codecs import PackBits, Sharding
from omnizarr.dtypes import data_type_of
from omnizarr.errors import ArgumentError, ChunkError, CodecError

WIDTHS = {
    "bool": 1,
    **{f"{sign}int{bits}": bits for sign in ("", "u") for bits in (2, 4, 8, 16, 32, 64)},
    "float4_e2m1fn": 4,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
    "float8_e5m2": 8,
    "float8_e8m0fnu": 8,
    "bfloat16": 16,
    "float16": 16,
    "float32": 32,
    "float64": 64,
}
COMPLEX = {
    "complex_float4_e2m1fn": 4,
    "complex_float6_e2m3fn": 6,
    "complex_float6_e3m2fn": 6,
    "complex_bfloat16": 16,
    "complex_float16": 16,
    "complex_float32": 32,
    "complex_float64": 64,
    "complex64": 32,
    "complex128": 64,
}
"""Bits of each component."""


def dtype_of(name: str) -> np.dtype[Any]:
    return data_type_of(name).dtype


def elements(name: str, patterns: list[int]) -> npt.NDArray[Any]:
    """An array whose components have these bit patterns."""
    dtype = dtype_of(name)
    itemsize = dtype.itemsize // 2 if name in COMPLEX else dtype.itemsize
    return np.array(patterns, f"u{itemsize}").view(dtype)


def oracle(patterns: list[int], first: int, last: int) -> bytes:
    """The packed bytes, computed with one large integer, least significant bit first."""
    length = last - first + 1
    stream = 0
    for index, pattern in enumerate(patterns):
        stream |= (pattern >> first & ((1 << length) - 1)) << (index * length)
    return stream.to_bytes(-(-len(patterns) * length // 8), "little")


@pytest.mark.smoke
def test_R136_booleans_fill_bytes_from_the_least_significant_bit() -> None:
    array = np.array([True, False, False, True, False, False, False, False, True])
    assert bytes(bind(parse_valid("packbits"), array).encode(array)).hex() == "0901"


def test_A20_numcodecs_has_the_opposite_bit_order() -> None:
    array = np.array([True, False, False, True, False, False, False, False, True])
    ours = bytes(bind(parse_valid("packbits", padding_encoding="first_byte"), array).encode(array))
    theirs = bind(parse_valid("numcodecs.packbits"), array).encode(array)
    assert ours.hex() == "070901"
    assert theirs.tobytes().hex() == "079080"


@pytest.mark.parametrize("name", [*WIDTHS, *COMPLEX])
@given(data=st.data())
def test_R136_every_type_and_every_range_of_bits(name: str, data: st.DataObject) -> None:
    pytest.importorskip("ml_dtypes")
    width = (WIDTHS | COMPLEX)[name]
    first = data.draw(st.integers(0, width - 1) | st.none())
    last = data.draw(st.integers(first or 0, width - 1) | st.none())
    count = 2 * data.draw(st.integers(0, 12))
    patterns = data.draw(st.lists(st.integers(0, 2**width - 1), min_size=count, max_size=count))
    array = elements(name, patterns)
    low, high = first or 0, width - 1 if last is None else last
    expected = oracle(patterns, low, high)
    for padding in ("none", "first_byte", "last_byte"):
        codec = bind(PackBits(padding, first, last), array)  # type: ignore[arg-type]
        encoded = bytes(codec.encode(array))
        free = bytes([8 * len(expected) - len(patterns) * (high - low + 1)])
        assert encoded == {"none": b"", "first_byte": free, "last_byte": b""}[padding] + expected + (
            free if padding == "last_byte" else b""
        )
        assert codec.encoded.limit == len(encoded)
        assert codec.encoded.size in (len(encoded), None)
        decoded = codec.decode(encoded)
        kept = [pattern & ((1 << (high + 1)) - (1 << low)) for pattern in patterns]
        if name.startswith("int"):
            kept = [one | ((1 << width) - (1 << high) if one >> high & 1 else 0) for one in kept]
        assert decoded.dtype == array.dtype
        assert decoded.tobytes() == elements(name, kept).tobytes()


def test_R136_signs_are_extended_to_the_width_of_the_type() -> None:
    array = np.array([-5, 3, -2048, 2047], "i2")
    codec = bind(PackBits(last_bit=11), array)
    assert codec.encoded.size == 6
    assert codec.decode(codec.encode(array)).tolist() == array.tolist()
    shifted = bind(PackBits(first_bit=4, last_bit=11), array)
    assert shifted.decode(shifted.encode(array)).tolist() == [-16, 0, -2048, 2032]


def test_R136_other_numbers_are_padded_with_zeros() -> None:
    array = np.array([0xFFFF, 0x0123], "u2")
    codec = bind(PackBits(last_bit=11), array)
    assert codec.decode(codec.encode(array)).tolist() == [0x0FFF, 0x0123]


@pytest.mark.parametrize("name", ["int2", "int4"])
def test_R136_unused_bits_of_small_integers_are_zero_in_memory(name: str) -> None:
    library = pytest.importorskip("ml_dtypes")
    array = np.array([-2, -1, 0, 1]).astype(getattr(library, name))
    decoded = bind(PackBits(), array).decode(bind(PackBits(), array).encode(array))
    assert decoded.tobytes() == array.tobytes()


def test_booleans_other_than_one_are_true() -> None:
    array = np.array([0, 2, 255, 1], "u1").view("?")
    assert bytes(bind(PackBits(), array).encode(array)).hex() == "0e"


@pytest.mark.parametrize("order", ["C", "F"])
def test_R136_elements_in_c_order(order: Any) -> None:
    array = np.asarray(np.arange(12, dtype="u1").reshape(3, 4), order=order)
    assert bytes(bind(PackBits(last_bit=3), array).encode(array)).hex() == "1032547698ba"


def test_R136_no_dimensions_and_no_elements() -> None:
    for array in (np.array(True), np.zeros((0, 3), "i2")):
        codec = bind(PackBits("first_byte"), array)
        assert codec.decode(codec.encode(array)).tolist() == array.tolist()


# -- configurations


@pytest.mark.parametrize("padding", ["none", "first_byte", "last_byte"])
def test_A20_names_of_the_text_and_of_the_schema(padding: str) -> None:
    other = {"first_byte": "start_byte", "last_byte": "end_byte"}.get(padding, padding)
    text = parse_valid("packbits", padding_encoding=padding, first_bit=1, last_bit=5)
    assert parse_valid("packbits", padding_encoding=other, start_bit=1, end_bit=5) == text
    assert "start_bit" not in str(parse_valid("packbits", start_bit=1).to_json())


def test_R136_null_equals_a_missing_member() -> None:
    assert parse_valid("packbits", first_bit=None, last_bit=None) == parse_valid("packbits") == PackBits()
    assert PackBits().to_json() == {"name": "packbits"}


@pytest.mark.parametrize(
    ("configuration", "place"),
    [
        ({"padding_encoding": "middle"}, "padding_encoding"),
        ({"padding_encoding": None}, "padding_encoding"),
        ({"first_bit": -1}, "first_bit"),
        ({"first_bit": 1.5}, "first_bit"),
        ({"last_bit": 64}, "last_bit"),
        ({"last_bit": "7"}, "last_bit"),
        ({"first_bit": 5, "last_bit": 4}, "last_bit"),
        ({"first_bit": 1, "start_bit": 1}, "start_bit"),
        ({"bits": 3}, "bits"),
    ],
)
def test_R136_invalid_configurations(configuration: dict[str, Any], place: str) -> None:
    assert paths_of(parse_problems("packbits", configuration)) == [f".configuration.{place}"]


def test_R136_invalid_arguments() -> None:
    with pytest.raises(ArgumentError, match="expected at least `first_bit` = 5, found 4"):
        PackBits(first_bit=5, last_bit=4)
    with pytest.raises(ArgumentError, match="padding_encoding"):
        PackBits("start_byte")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dtype", "codec", "place"),
    [
        ("u1", PackBits(last_bit=8), "last_bit"),
        ("?", PackBits(first_bit=1), "first_bit"),
        ("c8", PackBits(last_bit=32), "last_bit"),
    ],
)
def test_R136_bits_outside_the_type(dtype: str, codec: PackBits, place: str) -> None:
    assert paths_of(bind_problems(codec, np.zeros(3, dtype))) == [f".configuration.{place}"]


@pytest.mark.parametrize("dtype", ["S3", "V2", "U2", [("a", "i4")], "T"])
def test_R136_unsupported_types(dtype: Any) -> None:
    assert paths_of(bind_problems(PackBits(), np.zeros(3, dtype))) == [""]


# -- damaged data


@pytest.mark.parametrize("padding", ["none", "first_byte", "last_byte"])
def test_encoded_data_of_a_wrong_length(padding: Any) -> None:
    array = np.array([True] * 11)
    codec = bind(PackBits(padding), array)
    encoded = bytes(codec.encode(array))
    for data in (b"", encoded[:-1], encoded + b"\0"):
        with pytest.raises(CodecError, match="packbits"):
            codec.decode(data)


@pytest.mark.parametrize(("padding", "data"), [("first_byte", b"\4\0\0"), ("last_byte", b"\0\0\6")])
def test_R136_the_padding_byte_must_be_right(padding: Any, data: bytes) -> None:
    with pytest.raises(CodecError, match="expected a padding byte of 5 bits"):
        bind(PackBits(padding), np.array([True] * 11)).decode(data)


@pytest.mark.parametrize("padding", ["first_byte", "last_byte"])
def test_R136_zarrs_omits_a_padding_byte_that_is_always_zero(padding: Any) -> None:
    array = np.arange(5, dtype="<u2")
    codec = bind(PackBits(padding), array)
    assert codec.decode(array.tobytes()).tolist() == array.tolist()
    for data in (array.tobytes()[1:], array.tobytes() + b"\0\0"):
        with pytest.raises(CodecError, match="packbits"):
            codec.decode(data)
    some = bind(PackBits(padding, last_bit=14), array)
    with pytest.raises(CodecError, match="packbits"):
        some.decode(bytes(some.encode(array))[:-1])


def test_padding_bits_are_ignored() -> None:
    assert bind(PackBits(), np.array([True] * 3)).decode(b"\xfd").tolist() == [True, False, True]


@given(arrays.arrays("u1", st.integers(0, 20)))
def test_any_bytes_decode_or_raise_codec_error(data: npt.NDArray[Any]) -> None:
    for codec in (PackBits(last_bit=10), PackBits("last_byte", 3, 9)):
        try:
            decoded = bind(codec, np.zeros((3, 3), "i4")).decode(data.tobytes())
        except CodecError:
            continue
        assert decoded.shape == (3, 3)


def test_unpacking_needs_less_than_a_byte_per_bit() -> None:
    array = np.arange(2**18, dtype="u4")
    codec = bind(PackBits(last_bit=18), array)
    tracemalloc.start()
    try:
        encoded = codec.encode(array)
        assert codec.decode(encoded).tobytes() == array.tobytes()
        assert tracemalloc.get_traced_memory()[1] < 6 * array.nbytes
    finally:
        tracemalloc.stop()


def test_arrays_and_shards() -> None:
    data = np.arange(35).reshape(5, 7) % 3 == 0
    for serializer in (PackBits(), Sharding((2, 2), [PackBits("last_byte")])):
        store = omnizarr.MemoryStore()
        omnizarr.create_array(store, data=data, chunks=(4, 4), serializer=serializer)
        assert omnizarr.open_array(store)[...].tolist() == data.tolist()


def test_errors_name_the_array_and_the_chunk() -> None:
    store = omnizarr.MemoryStore()
    array = omnizarr.create_array(store, data=np.ones(9, "?"), serializer=PackBits(), compressors=None)
    store.set("c/0", b"\xff")
    with pytest.raises(ChunkError, match=r"chunk \(0,\) of array `/` .*codec `packbits`: expected 2 bytes, found 1"):
        array[...]

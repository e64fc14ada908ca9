"""The `bytes` codec."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from omnizarr._json import Problems
from omnizarr.codecs.array_to_bytes.bytes_ import BoundBytes, Bytes, has_byte_order
from omnizarr.codecs.contract import ChunkSpec
from omnizarr.errors import CodecError

STRUCT = np.dtype([("a", "u2"), ("raw", "V2"), ("in", [("x", "f4"), ("y", "u1")]), ("sub", "i2", (2,)), ("t", "U1")])


def bound(codec: Bytes, dtype: Any, shape: tuple[int, ...]) -> BoundBytes:
    problems = Problems()
    dtype = np.dtype(dtype)
    bound = codec.bind(ChunkSpec(shape, dtype, np.zeros((), dtype)), "$.codecs[0]", problems)
    assert bound is not None, problems.found
    return bound


@pytest.mark.parametrize(
    ("dtype", "answer"),
    [
        *[(name, False) for name in ("u1", "i1", "?", "S5", "V4", "V16")],
        *[(name, True) for name in ("u2", "f8", "c8", "U1", "M8[ns]", "m8[s]", "f2", ">i4")],
        ([("a", "u1"), ("b", "V8")], False),
        ([("a", "u1"), ("b", [("c", "i2")])], True),
        ([("a", "u1", (3,))], False),
        ([("a", "u2", (3,))], True),
    ],
)
def test_R85_byte_order_matters_for_multi_byte_types(dtype: Any, answer: bool) -> None:
    assert has_byte_order(np.dtype(dtype)) is answer


def test_R85_extension_floats() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert has_byte_order(np.dtype(ml_dtypes.bfloat16))
    assert not has_byte_order(np.dtype(ml_dtypes.float8_e4m3fn))
    assert not has_byte_order(np.dtype(ml_dtypes.int4))
    every = np.arange(2**16, dtype="u2").view(ml_dtypes.bfloat16)
    codec = bound(Bytes("big"), every.dtype, every.shape)
    assert bytes(codec.encode(every)) == every.view("u2").astype(">u2").tobytes()
    assert (codec.decode(codec.encode(every)).view("u2") == every.view("u2")).all()


@pytest.mark.parametrize("dtype", ["i4", "U2", STRUCT])
def test_R85_missing_endian_is_a_problem(dtype: Any) -> None:
    problems = Problems()
    dtype = np.dtype(dtype)
    assert Bytes().bind(ChunkSpec((2,), dtype, np.zeros((), dtype)), "$.codecs[0]", problems) is None
    assert problems.found[0].path == "$.codecs[0].configuration"
    assert "`endian` is missing" in problems.found[0].message


@pytest.mark.parametrize("dtype", ["O", np.dtypes.StringDType()])
def test_types_of_variable_length_are_a_problem(dtype: Any) -> None:
    problems = Problems()
    dtype = np.dtype(dtype)
    assert Bytes("little").bind(ChunkSpec((2,), dtype, np.zeros((), dtype)), "$", problems) is None
    assert len(problems.found) == 1


def test_A39_endian_of_one_byte_types_is_ignored_and_not_written() -> None:
    assert bound(Bytes("big"), "u1", (3,)).plain
    assert Bytes("big").resolved(np.dtype("u1")) == Bytes()
    assert Bytes().resolved(np.dtype("u2")) == Bytes("little")
    assert Bytes("big").resolved(np.dtype("u2")) == Bytes("big")
    assert Bytes().to_json() == {"name": "bytes"}


@pytest.mark.parametrize(
    ("endian", "dtype", "value", "golden"),
    [
        ("little", "u2", [1, 0x0203], "01000302"),
        ("big", "u2", [1, 0x0203], "00010203"),
        ("big", "i2", [-2], "fffe"),
        ("little", "f4", [1.5], "0000c03f"),
        ("big", "c8", [1.5 - 2j], "3fc00000c0000000"),
        ("big", "U2", ["a"], "0000006100000000"),
        ("big", "M8[s]", [1], "0000000000000001"),
        ("big", "m8[D]", [1], "0000000000000001"),
        ("little", "m8[D]", [1], "0100000000000000"),
        ("big", "V3", [b"abc"], "616263"),
        (None, "?", [True, False], "0100"),
        ("big", STRUCT, [(1, b"ab", (1.5, 7), [2, 3], "z")], "000161623fc0000007000200030000007a"),
        ("little", STRUCT, [(1, b"ab", (1.5, 7), [2, 3], "z")], "010061620000c03f07020003007a000000"),
    ],
)
def test_R86_golden_bytes(endian: Any, dtype: Any, value: Any, golden: str) -> None:
    array = np.array(value, dtype)
    codec = bound(Bytes(endian), dtype, array.shape)
    assert bytes(codec.encode(array)).hex() == golden
    decoded = codec.decode(bytes.fromhex(golden))
    assert decoded.dtype == array.dtype
    assert decoded.tobytes() == array.tobytes()


def test_R86_c_order_for_any_memory_layout() -> None:
    array = np.arange(6, dtype="u1").reshape(2, 3)
    assert bytes(bound(Bytes(), "u1", (2, 3)).encode(np.asfortranarray(array))) == bytes(range(6))


def test_native_order_is_plain_and_never_copied() -> None:
    array = np.arange(6.0).reshape(2, 3)
    codec = bound(Bytes(sys.byteorder), "f8", (2, 3))
    assert codec.plain
    encoded = codec.encode(array)
    assert np.shares_memory(np.frombuffer(encoded, "u1"), array)
    decoded = codec.decode(encoded)
    assert np.shares_memory(decoded, array)
    assert not decoded.flags.writeable
    assert (codec.encoded.size, codec.encoded.limit, codec.encoded.itemsize) == (48, 48, 8)


def test_swapped_or_checked_types_are_not_plain() -> None:
    other = "big" if sys.byteorder == "little" else "little"
    assert not bound(Bytes(other), "f8", (2,)).plain
    assert not bound(Bytes(), "?", (2,)).plain
    assert bound(Bytes(other), "V8", (2,)).plain


def test_an_array_in_another_byte_order_is_converted() -> None:
    codec = bound(Bytes("little"), "u2", (2,))
    assert bytes(codec.encode(np.array([1, 2], ">u2"))).hex() == "01000200"


def test_R87_booleans_other_than_one_are_true() -> None:
    codec = bound(Bytes(), "?", (4,))
    data = bytes([0, 1, 2, 255])
    assert codec.decode(data).view("u1").tolist() == [0, 1, 1, 1]
    assert data == bytes([0, 1, 2, 255])
    assert bytes(codec.encode(np.frombuffer(data, "?"))) == bytes([0, 1, 1, 1])


def test_R87_booleans_inside_a_struct() -> None:
    dtype = np.dtype([("n", "u2"), ("in", [("flag", "?"), ("flags", "?", (2,))])])
    codec = bound(Bytes("little"), dtype, (2,))
    good = bytes([7, 0, 1, 0, 1, 9, 0, 0, 0, 0])
    assert codec.decode(good).tobytes() == good
    bad = bytes([7, 0, 3, 0, 9, 9, 0, 0, 4, 0])
    assert codec.decode(bad).tobytes() == bytes([7, 0, 1, 0, 1, 9, 0, 0, 1, 0])


@pytest.mark.parametrize("found", [0, 7, 9, 16])
def test_R87_wrong_length(found: int) -> None:
    with pytest.raises(CodecError, match=f"expected 8 bytes, found {found}") as caught:
        bound(Bytes("little"), "u4", (2,)).decode(bytes(found))
    assert (caught.value.expected, caught.value.found) == (8, found)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2)])
def test_scalars_and_empty_chunks(shape: tuple[int, ...]) -> None:
    codec = bound(Bytes("big"), "u4", shape)
    array = np.full(shape, 5, "u4")
    assert codec.decode(codec.encode(array)).tolist() == array.tolist()
    assert codec.decode(codec.encode(array)).shape == shape


TYPES = st.one_of(
    npst.boolean_dtypes(),
    npst.integer_dtypes(endianness="?"),
    npst.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    npst.complex_number_dtypes(endianness="?", sizes=(64, 128)),
    npst.datetime64_dtypes(endianness="?"),
    npst.byte_string_dtypes(min_len=1, max_len=5),
    npst.unicode_string_dtypes(endianness="?", min_len=1, max_len=5),
    st.sampled_from([np.dtype("V3"), STRUCT, np.dtype([("f", "?"), ("g", ">i4")])]),
)


@settings(max_examples=8 * settings().max_examples)
@given(
    dtype=TYPES,
    shape=npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
    endian=st.sampled_from(["little", "big"]),
    seed=st.integers(0, 2**32 - 1),
    reverse=st.booleans(),
)
def test_roundtrip(dtype: Any, shape: Any, endian: Any, seed: int, reverse: bool) -> None:
    codec = bound(Bytes(endian), dtype, shape)
    raw = np.random.default_rng(seed).integers(0, 2, codec.encoded.size or 0, "u1")
    array = np.ndarray(shape, dtype, raw.tobytes()).copy()
    if dtype.kind == "U":  # few random bit patterns are valid characters
        array[...] = "aé"
    elif dtype == STRUCT:
        array["t"] = "é"
    if reverse:
        array = array.T.copy().T
    encoded = codec.encode(array)
    assert len(encoded) == codec.encoded.size
    decoded = codec.decode(bytes(encoded))
    assert decoded.dtype == dtype
    assert decoded.shape == shape
    assert decoded.tobytes() == array.tobytes()
    if len(shape):
        assert bytes(encoded) == array.astype(dtype.newbyteorder(endian)).tobytes()

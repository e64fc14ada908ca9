"""Properties of fill values of every data type."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr import _json
from omnizarr._json import Problems
from omnizarr.codecs.array_to_bytes.bytes_ import has_byte_order
from omnizarr.dtypes import DataType, Scalar, data_type_of, data_types, from_numpy, parse_data_type, same_bits
from omnizarr.dtypes.numbers.ml_dtypes_ import SUBBYTE_WIDTHS
from omnizarr.dtypes.struct_ import Struct
from omnizarr.errors import ArgumentError

SIMPLE = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "r8", "r24", "r1024"),
)
INNER = [("q", "V2"), ("z", "c8")]
OTHERS = {
    "numpy.datetime64": data_type_of("M8[10us]"),
    "numpy.timedelta64": data_type_of("m8[ns]"),
    "fixed_length_utf32": data_type_of("U3"),
    "null_terminated_bytes": data_type_of("S3"),
    "string": data_type_of("string"),
    "bytes": data_type_of("bytes"),
}
SMALL_FLOATS = (
    *("bfloat16", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3"),
    *("float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
PAIRS = ("complex_float16", *(f"complex_{name}" for name in SMALL_FLOATS))
SMALL = ("int2", "int4", "uint2", "uint4", *SMALL_FLOATS, "float8_e4m3fn", *PAIRS)


def of_name(name: str) -> DataType:
    found = parse_data_type(name, "$", Problems())
    assert found is not None
    return found


EVERY = {
    **{name: data_type_of(name) for name in SIMPLE},
    **OTHERS,
    **{name: of_name(name) for name in SMALL},
    "struct of small ones": data_type_of([("a", of_name("int4").dtype), ("b", of_name("float8_e8m0fnu").dtype)]),
    "struct of others": data_type_of([("d", "M8[s]"), ("m", "m8[3D]"), ("u", "U2"), ("s", "S5"), ("n", [("u", "U1")])]),
    "struct": data_type_of([(name, name.replace("r", "V") if name == "r8" else name) for name in SIMPLE[:15]]),
    "nested": data_type_of([("a", "f2"), ("b", INNER), ("c", [("d", INNER), ("e", "u8")])]),
}

types = pytest.mark.parametrize("data_type", EVERY.values(), ids=EVERY)


def bits_of(data_type: DataType) -> st.SearchStrategy[bytes]:
    """Every bit pattern that an element can have."""
    if isinstance(data_type, Struct):
        return st.tuples(*(bits_of(kind) for _, kind in data_type.fields)).map(b"".join)
    if data_type.name == "bool":
        return st.sampled_from([b"\0", b"\1"])
    if data_type.name in PAIRS:
        part = bits_of(of_name(data_type.name.removeprefix("complex_")))
        return st.tuples(part, part).map(b"".join)
    if data_type.name in SUBBYTE_WIDTHS:
        return st.integers(0, 2 ** SUBBYTE_WIDTHS[data_type.name] - 1).map(lambda number: bytes([number]))
    if data_type.dtype.kind == "U":
        return st.text(st.characters(), max_size=data_type.dtype.itemsize // 4).map(
            lambda text: np.array(text, data_type.dtype).tobytes()
        )
    size = data_type.dtype.itemsize
    random = st.binary(min_size=size, max_size=size)
    if data_type.name.startswith("float") and size > 1:  # random bits are rarely NaN or infinite
        return random | random.map(lambda bits: bits[:-2] + bytes([bits[-2] | 0xF0, bits[-1] | 0x7F]))
    return random


def fills(data_type: DataType) -> st.SearchStrategy[Scalar]:
    """Every value that an element can have."""
    if data_type.name == "string":
        return st.text().map(lambda text: np.array(text, data_type.dtype))
    if data_type.name == "bytes":
        return st.binary().map(lambda data: np.array(data, object))
    return bits_of(data_type).map(lambda bits: np.frombuffer(bits, data_type.dtype).reshape(()))


def test_every_registered_name_is_tested() -> None:
    assert set(data_types.names()) <= set(EVERY)


@types
@given(data=st.data())
def test_parsing_what_was_dumped_gives_the_same_bits(data_type: DataType, data: Any) -> None:
    fill = data.draw(fills(data_type))
    document = _json.dump(data_type.dump_fill(fill))
    problems = Problems()
    found = data_type.parse_fill(_json.parse(document, "fill", limit=10**6), "$.fill_value", problems)
    assert found is not None, problems.found
    assert same_bits(found, fill)
    assert isinstance(found, np.ndarray)
    assert found.ndim == 0
    assert not problems.warnings


@types
@given(data=st.data())
def test_casting_a_scalar_of_the_type_keeps_its_bits(data_type: DataType, data: Any) -> None:
    fill = data.draw(fills(data_type))
    given_values = [fill, fill[()]]
    if data_type.fixed_size:
        given_values.append(fill.astype(fill.dtype.newbyteorder()))
    if data_type.name not in ("null_terminated_bytes", "bytes", "struct"):  # they do not accept text
        given_values.append(data_type.dump_fill(fill))
    for given_value in given_values:
        found = data_type.cast_fill(given_value)
        assert isinstance(found, np.ndarray)
        assert same_bits(found, fill)


@types
def test_R16_default_fill_is_zero_and_can_be_written(data_type: DataType) -> None:
    fill = data_type.default_fill()
    if data_type.dtype.kind in "mM":
        assert np.isnat(fill)
    elif data_type.fixed_size and data_type != EVERY["struct of others"]:
        assert fill.tobytes() == bytes(data_type.dtype.itemsize)
    problems = Problems()
    found = data_type.parse_fill(data_type.dump_fill(fill), "$", problems)
    assert found is not None
    assert same_bits(found, fill)


@types
def test_types_are_values(data_type: DataType) -> None:
    again = pickle.loads(pickle.dumps(data_type))
    assert again == data_type
    assert hash(again) == hash(data_type)
    assert parse_data_type(data_type.to_json(), "$", Problems()) == data_type
    if data_type.name not in ("bytes", *PAIRS):  # several data types have their NumPy dtype
        assert from_numpy(data_type.dtype) == data_type
    if not data_type.only_read:
        assert data_type_of(data_type.to_json()) == data_type
    assert len({data_type, *EVERY.values()}) == len(EVERY)


@pytest.mark.parametrize("name", [*SIMPLE, *OTHERS, *SMALL])
def test_R61_null_is_rejected_for_core_types(name: str) -> None:
    problems = Problems()
    assert EVERY[name].parse_fill(None, "$.fill_value", problems) is None
    assert problems.found[0].path == "$.fill_value"
    with pytest.raises(ArgumentError):
        EVERY[name].cast_fill(None)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from(["NaN", "0x00"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["bool", "int8", "a", "b", "c"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@types
@given(value=anything)
def test_any_json_gives_a_value_or_a_problem(data_type: DataType, value: Any) -> None:
    problems = Problems()
    found = data_type.parse_fill(value, "$.fill_value", problems)
    assert (found is None) == bool(problems)
    if found is not None:
        assert found.dtype == data_type.dtype


@types
@given(value=anything | st.binary(max_size=4) | st.complex_numbers() | st.tuples(st.integers(), st.floats()))
def test_any_python_value_is_cast_or_is_an_argument_error(data_type: DataType, value: Any) -> None:
    try:
        found = data_type.cast_fill(value)
    except ArgumentError:
        return
    assert found.dtype == data_type.dtype


@pytest.mark.parametrize(
    ("name", "multibyte"),
    [
        *[("bool", False), ("int8", False), ("int16", True), ("complex64", True), ("r24", False), ("nested", True)],
        *[("numpy.datetime64", True), ("fixed_length_utf32", True), ("null_terminated_bytes", False)],
        *[("int4", False), ("float8_e5m2", False), ("bfloat16", True), ("complex_float8_e5m2", False)],
        *[("complex_bfloat16", True), ("struct of small ones", False)],
    ],
)
def test_R85_byte_order_matters_for_multibyte_types_only(name: str, multibyte: bool) -> None:
    assert has_byte_order(EVERY[name].dtype) is multibyte

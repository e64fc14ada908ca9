"""The codec `cast_value`: examples, special values, the scalar map, configurations and the fill value."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis.extra import numpy as arrays
from tests.codecs.array_to_array.casts import codec, encoded
from tests.codecs.binding import bind, bind_problems, parse_problems, parse_valid, paths_of, spec_of

import omnizarr
from omnizarr.codecs import CastValue, Sharding
from omnizarr.errors import ArgumentError, ChunkError, CodecError, MetadataError

# -- the examples of the registry


@pytest.mark.smoke
def test_R128_examples_of_the_registry() -> None:
    assert encoded([127.0], "float64", "int8") == [127]
    assert encoded([128.0], "float64", "int8", out_of_range="clamp") == [127]
    assert encoded([128.0], "float64", "int8", out_of_range="wrap") == [-128]
    wrapped = encoded([32768, 32769, -32769], "int32", "int16", out_of_range="wrap")
    assert wrapped == [-32768, -32767, 32767]


def test_R131_out_of_range_is_an_error_without_a_rule() -> None:
    with pytest.raises(CodecError, match=r"codec `cast_value`: 128\.0 is out of the range of int8"):
        encoded([1, 128.0], "float64", "int8")
    with pytest.raises(CodecError, match="32768 is out of the range of int16"):
        encoded([32768], "int32", "int16")


def test_A21_numpy_casts_as_the_registry_writes_them() -> None:
    codec = parse_valid(
        "cast_value",
        data_type="uint8",
        rounding="towards-zero",
        out_of_range="wrap",
        scalar_map={"encode": [["NaN", 0], ["+Infinity", 0], ["-Infinity", 0]]},
    )
    array = np.array([1.9, -1.9, 300.5, np.nan, np.inf, -np.inf, -0.0])
    assert bind(codec, array).encode(array).tolist() == [1, 255, 44, 0, 0, 0, 0]


# -- special values


def test_R130_floats_keep_nan_and_infinities() -> None:
    result = encoded([np.nan, np.inf, -np.inf], "float64", "float32")
    assert math.isnan(result[0])
    assert result[1:] == [math.inf, -math.inf]
    assert math.isnan(encoded([np.nan], "float32", "float64")[0])


@pytest.mark.parametrize(("source", "target"), [("float64", "float32"), ("float16", "float64"), ("float32", "float16")])
def test_R130_zeros_keep_their_sign(source: str, target: str) -> None:
    assert [math.copysign(1, value) for value in encoded([0.0, -0.0], source, target)] == [1, -1]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rule", [{}, {"out_of_range": "clamp"}, {"out_of_range": "wrap"}])
def test_R130_integers_cannot_represent_nan_and_infinities(value: float, rule: dict[str, Any]) -> None:
    with pytest.raises(CodecError, match="int32 cannot represent"):
        encoded([value], "float64", "int32", **rule)


def test_R130_int64_has_more_digits_than_a_double() -> None:
    values = [2**53 + 1, 2**63 - 1, -(2**63), 2**62 + 1]
    assert encoded(values, "int64", "int64") == values
    assert encoded([2**64 - 1], "uint64", "uint64") == [2**64 - 1]
    with pytest.raises(CodecError):  # this double is 2^63, which int64 cannot represent
        encoded([float(2**63)], "float64", "int64")
    assert encoded([float(2**63)], "float64", "int64", out_of_range="clamp") == [2**63 - 1]
    assert encoded([float(2**64)], "float64", "uint64", out_of_range="clamp") == [2**64 - 1]
    assert encoded([float(2**63)], "float64", "int64", out_of_range="wrap") == [-(2**63)]
    assert encoded([-1], "int64", "uint64", out_of_range="wrap") == [2**64 - 1]
    assert encoded([-1], "int64", "uint64", out_of_range="clamp") == [0]
    assert encoded([2**64 - 1], "uint64", "int64", out_of_range="clamp") == [2**63 - 1]


# -- the scalar map


def test_R129_the_scalar_map_precedes_other_rules() -> None:
    rules: dict[str, Any] = {"scalar_map": {"encode": [[300, 7], [1, 2]], "decode": [[2, 1]]}, "out_of_range": "clamp"}
    assert encoded([300, 1, 5, 301], "float64", "uint8", **rules) == [7, 2, 5, 255]


def test_R131_the_first_of_equal_keys_counts() -> None:
    rules = {"scalar_map": {"encode": [["NaN", 1], [5, 2], ["NaN", 3], [5, 4]], "decode": []}}
    assert encoded([np.nan, 5], "float64", "uint8", **rules) == [1, 2]


def test_R131_all_nans_are_equal_and_both_zeros_too() -> None:
    payload = np.array([0x7FF8000000000001, 0xFFF8000000000000], "u8").view("f8")
    rules = {"scalar_map": {"encode": [["NaN", 9], [0, 8]]}}
    encoded = codec("float64", "uint8", **rules).encode(np.concatenate([payload, [0.0, -0.0]]))
    assert encoded.tolist() == [9, 9, 8, 8]


def test_R131_keys_of_64_bits_are_exact() -> None:
    rules = {"scalar_map": {"encode": [[2**53, 1.5], [2**63 - 1, -1.5]]}}
    result = encoded([2**53, 2**53 + 2, 2**63 - 1], "int64", "float64", **rules)
    assert result == [1.5, float(2**53 + 2), -1.5]


def test_R131_the_map_may_contain_python_objects() -> None:
    one = CastValue("uint8", scalar_map={"encode": {math.nan: 0, math.inf: np.uint8(1), -math.inf: 2}})
    other = CastValue("uint8", scalar_map={"encode": [["NaN", 0], ("Infinity", 1), ["-Infinity", 2]]})
    assert one == other
    assert hash(one) == hash(other)
    assert one.configuration()["scalar_map"] == {"encode": [["NaN", 0], ["Infinity", 1], ["-Infinity", 2]]}


def test_R131_many_keys_take_little_time() -> None:
    pairs = [[key, key % 256] for key in range(5000)]
    result = codec("int32", "uint8", scalar_map={"encode": pairs, "decode": [[1, 1]]})
    assert result.encode(np.arange(5000, dtype="i4")).tolist() == [key % 256 for key in range(5000)]


# -- configurations


@pytest.mark.parametrize(
    ("configuration", "places"),
    [
        ({}, [".configuration"]),
        ({"data_type": "uint8", "rounding": "up"}, [".configuration.rounding"]),
        ({"data_type": "uint8", "out_of_range": "ignore"}, [".configuration.out_of_range"]),
        ({"data_type": "uint8", "scale": 1}, [".configuration.scale"]),
        ({"data_type": "no such type"}, [".configuration.data_type"]),
        ({"data_type": "bool"}, [".configuration.data_type"]),
        ({"data_type": "complex64"}, [".configuration.data_type"]),
        ({"data_type": "string"}, [".configuration.data_type"]),
        ({"data_type": "r8"}, [".configuration.data_type"]),
        ({"data_type": "float32", "out_of_range": "wrap"}, [".configuration.out_of_range"]),
        ({"data_type": "uint8", "scalar_map": [1]}, [".configuration.scalar_map"]),
        ({"data_type": "uint8", "scalar_map": {"encode": [[1, 2, 3]]}}, [".configuration.scalar_map"]),
        ({"data_type": "uint8", "scalar_map": {"encode": {"1": 2}}}, [".configuration.scalar_map"]),
        ({"data_type": "uint8", "scalar_map": {"both": []}}, [".configuration.scalar_map.both"]),
    ],
)
def test_R128_invalid_configurations(configuration: dict[str, Any], places: list[str]) -> None:
    assert paths_of(parse_problems("cast_value", configuration)) == places


@pytest.mark.parametrize(
    "arguments",
    [
        {"data_type": "uint8", "rounding": "up"},
        {"data_type": "bool"},
        {"data_type": "float64", "out_of_range": "wrap"},
        {"data_type": "uint8", "scalar_map": {"both": []}},
        {"data_type": "uint8", "scalar_map": 3},
    ],
)
def test_R128_invalid_arguments(arguments: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="cast_value"):
        CastValue(**arguments)


@pytest.mark.parametrize("dtype", ["?", "c8", "M8[s]", "S2", "V3", [("a", "i4")]])
def test_R132_other_types_than_real_numbers_are_rejected(dtype: Any) -> None:
    assert paths_of(bind_problems(CastValue("uint8"), np.zeros(3, dtype))) == [""]


@pytest.mark.parametrize(
    ("scalar_map", "place"),
    [
        ({"encode": [[300, 0], ["zero", 0]]}, "encode[1][0]"),
        ({"encode": [[1, 256]]}, "encode[0][1]"),
        ({"decode": [[0.5, 1]]}, "decode[0][0]"),
        ({"decode": [[0, None]]}, "decode[0][1]"),
        ({"decode": [[0, [1]]]}, "decode[0][1]"),
    ],
)
def test_R131_scalars_have_the_form_of_fill_values(scalar_map: dict[str, Any], place: str) -> None:
    problems = bind_problems(CastValue("uint8", scalar_map=scalar_map), np.zeros(3, "f4"))
    assert paths_of(problems) == [f".configuration.scalar_map.{place}"]


# -- the fill value


def test_R83_the_fill_value_is_cast() -> None:
    bound = bind(CastValue("uint8", rounding="towards-zero"), spec_of(np.zeros(3), 7))
    assert bound.encoded.fill == np.uint8(7)
    assert bound.encoded.fill.dtype == np.uint8


@pytest.mark.parametrize(
    ("fill", "target"), [(0.5, "uint8"), (300, "uint8"), (np.nan, "int8"), (0.1, "float32"), (-1, "uint16")]
)
def test_R132_a_fill_value_that_changes_is_rejected(fill: float, target: str, tmp_path: Path) -> None:
    assert "fill value" in bind_problems(CastValue(target), spec_of(np.zeros(3), fill))[0][1]
    with pytest.raises(MetadataError, match=r"\$\.codecs\[0\]: codec `cast_value`"):
        omnizarr.create_array(tmp_path, shape=(3,), dtype="f8", fill_value=fill, filters=[CastValue(target)])
    assert not list(tmp_path.iterdir())


def test_R132_the_scalar_map_may_restore_the_fill_value() -> None:
    rules = {"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}
    bound = bind(CastValue("uint8", scalar_map=rules), spec_of(np.zeros(3), np.nan))
    assert bound.encoded.fill == 0
    one_way = CastValue("uint8", scalar_map={"encode": [["NaN", 0]]})
    assert "does not keep the fill value" in bind_problems(one_way, spec_of(np.zeros(3), np.nan))[0][1]


def test_A37_a_sharding_codec_after_it_uses_the_encoded_fill_value() -> None:
    store = omnizarr.MemoryStore()
    cast = CastValue("uint8", scalar_map={"encode": [["NaN", 255]], "decode": [[255, "NaN"]]})
    array = omnizarr.create_array(
        store,
        shape=(8,),
        chunks=(8,),
        dtype="f4",
        fill_value=np.nan,
        filters=[cast],
        serializer=Sharding((4,), ["bytes"]),
        compressors=None,
    )
    array[:4] = [1, np.nan, 3, 4]
    shard = bytes(store.get("c/0") or b"")
    assert shard[:4] == bytes([1, 255, 3, 4])
    assert shard[20:36] == b"\xff" * 16  # the other half of the shard is empty
    values = omnizarr.open_array(store)[...]
    assert values[[0, 2, 3]].tolist() == [1, 3, 4]
    assert np.isnan(values[[1, 4, 5, 6, 7]]).all()
    array[:4] = np.nan
    assert store.get("c/0") is None  # a chunk of fill values is not stored


def test_errors_name_the_array_and_the_chunk(tmp_path: Path) -> None:
    array = omnizarr.create_array(tmp_path, shape=(4,), chunks=(2,), dtype="f8", filters=[CastValue("uint8")])
    with pytest.raises(ChunkError, match=r"chunk \(1,\) of array `/` .*codec `cast_value`: 256\.0 is out of the range"):
        array[...] = [1, 2, 3, 256]


def test_damaged_data_that_cannot_be_cast_back() -> None:
    bound = codec("int8", "float32")
    for value in (1e9, np.nan, np.inf):
        with pytest.raises(CodecError, match="cast_value"):
            bound.decode(np.array([value], "f4"))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_shapes_and_memory_orders(shape: tuple[int, ...], order: Any) -> None:
    array = np.asarray(np.arange(math.prod(shape), dtype="f8").reshape(shape), order=order)
    bound = bind(CastValue("int16"), array)
    encoded = bound.encode(array)
    assert encoded.shape == bound.encoded.shape == shape
    assert bound.decode(encoded).tolist() == array.tolist()


@given(arrays.arrays("i2", (5, 7)))
def test_lossless_casts_roundtrip(array: npt.NDArray[Any]) -> None:
    for target in ("int32", "int64", "float32", "float64"):
        bound = bind(CastValue(target), array)
        assert bound.decode(bound.encode(array)).tobytes() == array.tobytes()


def test_arrays_larger_than_a_block() -> None:
    array = np.arange(200_000, dtype="f8").reshape(400, 500)
    bound = bind(CastValue("uint16", out_of_range="wrap"), array)
    assert bound.encode(array).tobytes() == (np.arange(200_000) % 65536).astype("u2").tobytes()

"""Arrays of the ml_dtypes types: all bit patterns, codecs and selections, and the error without ml_dtypes."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import ArgumentError, MissingDependencyError
from omnizarr.nodes import UnreadableNode

WIDTHS = {
    **{f"{sign}int{bits}": bits for sign in ("", "u") for bits in (2, 4)},
    **{f"float8_{name}": 8 for name in ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")},
    "float4_e2m1fn": 4,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
    "bfloat16": 16,
    "float16": 16,
}
PARTS = [name for name in WIDTHS if "float" in name]
NAMES = [*(name for name in WIDTHS if name != "float16"), *(f"complex_{name}" for name in PARTS)]
ONE_BYTE = [name for name, bits in WIDTHS.items() if bits <= 8]

LAYOUTS: dict[str, dict[str, Any]] = {
    "plain": {"compressors": None},
    "big": {"serializer": {"name": "bytes", "configuration": {"endian": "big"}}},
    "compressed": {"compressors": ["zstd", "crc32c"]},
    "shuffled": {"compressors": {"name": "blosc", "configuration": {"cname": "lz4", "shuffle": "bitshuffle"}}},
    "transposed": {"filters": {"name": "transpose", "configuration": {"order": [1, 0]}}},
    "sharded": {"shards": (4, 6)},
}


def dtype_of(name: str) -> np.dtype[Any]:
    part = name.removeprefix("complex_")
    dtype: np.dtype[Any] = np.dtype(part if part == "float16" else getattr(ml_dtypes, part))
    return dtype if part == name else np.dtype([("real", dtype), ("imag", dtype)])


def from_numbers(name: str, numbers: Any) -> npt.NDArray[Any]:
    """Elements with these bits, as far as the type uses them; for a complex type, pairs of them."""
    dtype = dtype_of(name)
    part = dtype["real"] if dtype.names else dtype
    bits = np.asarray(numbers, int) % 2 ** WIDTHS[name.removeprefix("complex_")]
    found = bits.astype(f"u{part.itemsize}").view(part)
    return found.view(dtype) if dtype.names else found


def sample(name: str, *shape: int) -> npt.NDArray[Any]:
    count = math.prod(shape) * (2 if name.startswith("complex") else 1)
    return from_numbers(name, np.arange(count) * 40503 % 65521).reshape(shape)


def same(found: Any, expected: npt.NDArray[Any]) -> bool:
    found = np.asarray(found)
    return found.dtype == expected.dtype and found.shape == expected.shape and found.tobytes() == expected.tobytes()


# -- bits


@pytest.mark.parametrize("name", ONE_BYTE)
def test_R141_R143_every_byte_that_can_be_stored_is_read(name: str) -> None:
    """Unused high bits of a byte are ignored on reading, and have one canonical value on writing."""
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=256, dtype=name, compressors=None)
    every = np.arange(256, dtype="u1")
    store.set("c/0", every.tobytes())
    found = z[...]
    assert same(found, from_numbers(name, every))
    z[...] = found
    written = np.frombuffer(store.get("c/0") or b"", "u1")
    bits = WIDTHS[name]
    assert ((written ^ every) & (2**bits - 1) == 0).all()
    assert len(set(written.tolist())) == 2**bits
    if name in ("int2", "int4"):
        assert (written.view("i1") == found.astype("i1")).all()  # as an 8-bit integer
    else:
        assert written.max() == 2**bits - 1


def test_R141_int4_has_one_bit_pattern_of_minus_one() -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=2, dtype="int4", compressors=None)
    store.set("c/0", b"\xff\x0f")
    assert z[...].astype(int).tolist() == [-1, -1]
    assert z[...].tobytes() == b"\x0f\x0f"


def test_R142_every_bfloat16() -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=2**16, dtype="bfloat16", compressors=None)
    every = np.arange(2**16, dtype="u2")
    z[...] = every.view(ml_dtypes.bfloat16)
    assert bytes(store.get("c/0") or b"") == every.astype("<u2").tobytes()
    assert (z[...].view("u2") == every).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_R86_round_trip(name: str, layout: str, tmp_path: Path) -> None:
    data = sample(name, 5, 7)
    options = {"chunks": (2, 3), **LAYOUTS[layout]}
    omnizarr.create_array(tmp_path, shape=(5, 7), dtype=dtype_of(name) if name in WIDTHS else name, **options)[...] = (
        data
    )
    z = omnizarr.open_array(tmp_path, mode="r+")
    assert z.data_type.name == name
    assert same(z[...], data)
    for key in (np.s_[1], np.s_[1:4, ::2], np.s_[-1, -1], np.s_[::-1, 3], np.s_[..., None], np.s_[[0, 4], [1, 6]]):
        assert same(z[key], np.asarray(data[key]))
    assert same(z.oindex[[0, 3], [1, 2, 5]], data[np.ix_([0, 3], [1, 2, 5])])
    assert same(z.vindex[[0, 3], [1, 5]], data[[0, 3], [1, 5]])
    z[1:3, 2:6] = data[0:2, 0:4]
    data[1:3, 2:6] = data[0:2, 0:4].copy()
    z[4, 1] = z[0, 0]
    data[4, 1] = data[0, 0]
    assert same(z[...], data)
    z.append(data[:2])
    assert same(z[...], np.concatenate([data, data[:2]]))


@pytest.mark.parametrize("name", NAMES)
@given(numbers=st.lists(st.integers(0, 2**16 - 1), min_size=2, max_size=12))
def test_any_bits_round_trip(name: str, numbers: list[int]) -> None:
    data = from_numbers(name, numbers[: len(numbers) // 2 * 2])
    z = omnizarr.create_array({}, shape=data.shape, dtype=name, chunks=2)
    z[...] = data
    assert same(z[...], data)


@pytest.mark.parametrize("name", NAMES)
def test_R85_endian_is_left_out_for_single_bytes(name: str) -> None:
    store = omnizarr.MemoryStore()
    given_codec = {"name": "bytes", "configuration": {"endian": "big"}}
    omnizarr.create_array(store, shape=2, dtype=name, serializer=given_codec, compressors=None)
    wide = name.removeprefix("complex_") in ("bfloat16", "float16")
    codecs = json.loads(bytes(store.get("zarr.json") or b""))["codecs"]
    assert codecs == ([given_codec] if wide else [{"name": "bytes"}])
    document = json.loads(bytes(store.get("zarr.json") or b""))
    document["codecs"] = [{"name": "bytes"}]
    store.set("zarr.json", json.dumps(document).encode())
    if wide:
        with pytest.raises(omnizarr.errors.MetadataError, match="`endian` is missing"):
            omnizarr.open_array(store)
    else:
        assert omnizarr.open_array(store).data_type.name == name


# -- fill values


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sharded", [False, True])
def test_chunks_of_the_fill_value_are_left_out(name: str, sharded: bool) -> None:
    store = omnizarr.MemoryStore()
    fill = sample(name, 9)[8]
    options: dict[str, Any] = {"shards": 4} if sharded else {}
    z = omnizarr.create_array(store, shape=8, dtype=name, chunks=2, fill_value=fill, **options)
    z[...] = np.full(8, fill, z.dtype)
    assert z.nchunks_initialized == 0
    assert same(z[...], np.full(8, fill, z.dtype))
    z[3] = sample(name, 2)[1]
    assert z.nchunks_initialized > 0
    z[3] = fill
    assert z.nchunks_initialized == 0
    assert np.asarray(omnizarr.open_array(store).fill_value).tobytes() == fill.tobytes()


@pytest.mark.parametrize("name", [name for name, bits in WIDTHS.items() if bits < 8])
def test_R141_ignored_bits_do_not_store_a_chunk(name: str) -> None:
    z = omnizarr.create_array({}, shape=4, dtype=name, chunks=2)
    z[...] = np.full(4, 0xC0 if WIDTHS[name] > 4 else 0xF0, "u1").view(dtype_of(name))
    assert z.nchunks_initialized == 0
    s = omnizarr.create_array({}, shape=4, dtype=[("a", dtype_of(name)), ("b", "u1")], chunks=2)
    s["a"] = np.full(4, 0xC0 if WIDTHS[name] > 4 else 0xF0, "u1").view(dtype_of(name))
    assert s.nchunks_initialized == 0


@pytest.mark.parametrize(
    ("name", "given_value", "written"),
    [
        *[("int4", -8, -8), ("uint2", 3.0, 3), ("bfloat16", math.nan, "NaN"), ("bfloat16", "0x7fc1", "0x7fc1")],
        *[("float8_e5m2", -math.inf, "-Infinity"), ("float8_e4m3fnuz", 0.1, 0.1015625), ("float4_e2m1fn", "0x7", 6.0)],
        *[("float8_e8m0fnu", None, 2.0**-127), ("float8_e8m0fnu", "NaN", "NaN"), ("int2", None, 0)],
        *[("complex_bfloat16", 1 - 2j, [1.0, -2.0]), ("complex_float16", ["NaN", "0x7e01"], ["NaN", "0x7e01"])],
        *[("complex_float8_e8m0fnu", None, [2.0**-127, 2.0**-127]), ("complex_float4_e2m1fn", 1.5, [1.5, 0.0])],
    ],
)
def test_fill_values_in_documents(name: str, given_value: Any, written: Any) -> None:
    store = omnizarr.MemoryStore()
    options = {} if given_value is None else {"fill_value": given_value}
    z = omnizarr.create_array(store, shape=2, dtype=name, **options)
    assert json.loads(bytes(store.get("zarr.json") or b""))["fill_value"] == written
    assert same(omnizarr.open_array(store)[...], z[...])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("int4", 8), ("uint4", -1), ("int2", 0.5), ("float4_e2m1fn", math.nan), ("float6_e3m2fn", math.inf)],
        *[
            ("float8_e4m3fnuz", "Infinity"),
            ("bfloat16", 1e39),
            ("float8_e8m0fnu", 0),
            ("complex_float6_e2m3fn", [1, "NaN"]),
        ],
    ],
)
def test_invalid_fill_values_are_rejected_before_anything_is_stored(name: str, value: Any) -> None:
    store = omnizarr.MemoryStore()
    with pytest.raises(ArgumentError, match="fill value of"):
        omnizarr.create_array(store, shape=2, dtype=name, fill_value=value)
    assert list(store.list()) == []


def test_invalid_values_are_rejected_before_anything_is_stored() -> None:
    z = omnizarr.create_array({}, shape=4, dtype="int4", chunks=1)
    with pytest.raises(OverflowError, match="8 is out of bounds for int4"):
        z[...] = [1, 2, 3, 8]
    s = omnizarr.create_array({}, shape=4, dtype=[("a", ml_dtypes.uint2), ("b", ml_dtypes.float4_e2m1fn)], chunks=1)
    with pytest.raises(OverflowError, match="4 is out of bounds for uint2"):
        s["a"] = [1, 2, 3, 4]
    with pytest.raises(ArgumentError, match="has no NaN"):
        s["b"] = [1, 2, 3, math.nan]
    assert z.nchunks_initialized == s.nchunks_initialized == 0


def test_R143_zeros_of_a_type_without_zero_have_zero_bits() -> None:
    assert omnizarr.zeros(2, dtype="float8_e8m0fnu")[...].tobytes() == np.zeros(2, ml_dtypes.float8_e8m0fnu).tobytes()
    assert omnizarr.ones(2, dtype="complex_bfloat16")[...].tobytes().hex() == "803f0000803f0000"


# -- records and complex numbers

RECORD = np.dtype(
    [
        ("a", ml_dtypes.int4),
        ("b", ml_dtypes.bfloat16),
        ("c", [("d", ml_dtypes.float6_e2m3fn), ("e", "f4")]),
        ("f", ml_dtypes.float8_e5m2),
    ]
)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_R149_fields_of_small_numbers(layout: str, tmp_path: Path) -> None:
    data = np.zeros((5, 7), RECORD)
    data["a"], data["b"] = np.arange(35).reshape(5, 7) % 16 - 8, np.linspace(-1, 1, 35).reshape(5, 7)
    data["c"]["d"], data["c"]["e"], data["f"] = -7.5, np.arange(7), math.inf
    omnizarr.create_array(tmp_path, shape=(5, 7), dtype=RECORD, **{"chunks": (2, 3), **LAYOUTS[layout]})[...] = data
    z = omnizarr.open_array(tmp_path, mode="r+")
    assert z.dtype == RECORD
    assert same(z[...], data)
    assert same(z["b"], data["b"])
    z["a"] = np.full((5, 7), -1)
    assert set(z["a"].astype(int).flat) == {-1}
    assert same(z["f"], data["f"])


def test_R149_a_struct_of_small_numbers_is_packed() -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=1, dtype=RECORD, compressors=None)
    z[0] = np.array((-1, 1.0, (-7.5, 1.0), -2.0), RECORD)
    assert bytes(store.get("c/0") or b"").hex() == "ff" + "803f" + "3f" + "0000803f" + "c0"
    document = json.loads(bytes(store.get("zarr.json") or b""))
    assert document["data_type"]["configuration"]["fields"][0] == {"name": "a", "data_type": "int4"}
    assert document["fill_value"] == {"a": 0, "b": 0.0, "c": {"d": 0.0, "e": 0.0}, "f": 0.0}


def test_R144_parts_of_complex_numbers_are_fields() -> None:
    z = omnizarr.zeros(4, dtype="complex_bfloat16", chunks=3)
    z[...] = [1, 2j, 3 + 4j, np.inf]
    z["imag"] = [1, 2, 3, -0.0]
    assert z["real"].astype(float).tolist() == [1, 0, 3, np.inf]
    assert z[2]["imag"] == 3
    z[0] = z[2]
    assert z[...].tobytes().hex() == "40404040" + "00000040" + "40404040" + "807f0080"
    assert omnizarr.zeros_like(z).data_type == z.data_type


# -- types


@pytest.mark.parametrize(
    "given_type", ["bfloat16", ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16), {"name": "bfloat16"}]
)
def test_R142_spellings_of_bfloat16(given_type: Any) -> None:
    z = omnizarr.create_array({}, shape=3, dtype=given_type)
    z[...] = [1, 2.5, -3]
    assert z.dtype == ml_dtypes.bfloat16
    assert z[...].astype(float).tolist() == [1, 2.5, -3]
    assert pickle.loads(pickle.dumps(z.metadata)) == z.metadata


def test_data_type_is_inferred_from_data() -> None:
    for name in ("int4", "bfloat16", "float8_e5m2", "float4_e2m1fn"):
        data = sample(name, 5)
        assert same(omnizarr.array(data)[...], data)
        assert omnizarr.array(data).data_type.name == name
    wide = omnizarr.array(sample("bfloat16", 3), dtype="f4")
    assert wide[...].tolist() == sample("bfloat16", 3).astype("f4").tolist()


@pytest.mark.parametrize("zarr_format", [1, 2, "3-draft-2020", "3-draft-2022"])
@pytest.mark.parametrize("name", ["int4", "bfloat16", "float8_e5m2", "complex_float16"])
def test_older_generations_have_no_small_numbers(zarr_format: Any, name: str) -> None:
    store = omnizarr.MemoryStore()
    for dtype in (name, [("a", dtype_of(name))]):
        if name == "complex_float16" and dtype != name:
            continue  # a record within a record
        with pytest.raises(ArgumentError, match="has no data type"):
            omnizarr.create_array(store, shape=2, dtype=dtype, zarr_format=zarr_format)
        assert list(store.list()) == []


@pytest.mark.parametrize(("name", "fill"), [("bfloat16", 1.5), ("int4", -3), ("float8_e4m3fn", "NaN")])
def test_small_numbers_in_v2_documents_of_tensorstore(name: str, fill: Any) -> None:
    """TensorStore uses a name that no specification has; it is read, and the document keeps it."""
    store = omnizarr.MemoryStore()
    document = {"zarr_format": 2, "dtype": name, "shape": [4], "chunks": [2], "order": "C", "fill_value": fill}
    document |= {"filters": None, "compressor": None}
    store.set(".zarray", json.dumps(document).encode())
    store.set("0", np.array([1, -2], getattr(ml_dtypes, name)).tobytes())
    z = omnizarr.open_array(store, mode="r+")
    assert z.data_type.name == name
    assert z[:2].astype(float).tolist() == [1, -2]
    assert z.data_type.dump_fill(np.asarray(z.fill_value)) == fill
    z[3] = 1
    z.resize(5)
    found = json.loads(bytes(store.get(".zarray") or b""))
    assert found == {**document, "shape": [5], "dimension_separator": "."}


# -- without ml_dtypes


@pytest.fixture
def without_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)


@pytest.mark.usefixtures("without_ml_dtypes")
@pytest.mark.parametrize("name", ["int4", "bfloat16", "complex_float8_e5m2"])
def test_the_error_without_ml_dtypes_says_what_to_install(name: str) -> None:
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, name="other", shape=2, dtype="i4")
    document = json.loads(bytes(store.get("other/zarr.json") or b""))
    fill = [0.0, 0.0] if name.startswith("complex") else 0
    store.set("small/zarr.json", json.dumps({**document, "data_type": name, "fill_value": fill}).encode())
    part = name.removeprefix("complex_")
    for call in (
        lambda: omnizarr.open_array(store, path="small"),
        lambda: omnizarr.create_array(store, name="new", shape=2, dtype=name),
    ):
        with pytest.raises(MissingDependencyError, match=f"data type `{part}` needs the package `ml_dtypes`") as caught:
            call()
        assert caught.value.hint == "run `pip install ml_dtypes`"
    members = dict(omnizarr.open_group(store).members())
    assert isinstance(members["small"], UnreadableNode)
    assert "ml_dtypes" in members["small"].reason
    assert isinstance(members["other"], omnizarr.Array)


@pytest.mark.usefixtures("without_ml_dtypes")
def test_complex_float16_needs_nothing() -> None:
    z = omnizarr.create_array({}, shape=2, dtype="complex_float16", fill_value=1 - 2j)
    assert z[...].tobytes().hex() == "003c00c0003c00c0"


def test_an_outdated_ml_dtypes_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ml_dtypes, "float8_e8m0fnu")
    with pytest.raises(MissingDependencyError, match="needs the package `ml_dtypes~=0.5`"):
        omnizarr.create_array({}, shape=2, dtype="float8_e8m0fnu")


def test_arrays_of_other_types_do_without_ml_dtypes() -> None:
    code = (
        "import sys, omnizarr; z = omnizarr.zeros(3, dtype=[('a', 'i4'), ('b', '?')]); z[0] = (1, True); z[...]; "
        "assert 'ml_dtypes' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

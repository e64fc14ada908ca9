"""The exact stored bytes of a few elements of each type, so that no release changes them unnoticed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import omnizarr
from omnizarr.dtypes import data_types

INF, NAN = float("inf"), float("nan")

LITTLE: dict[str, tuple[list[Any], str]] = {
    "bool": ([False, True], "00 01"),
    "int8": ([0, 1, -1, -128], "00 01 ff 80"),
    "int16": ([1, -2], "0100 feff"),
    "int32": ([1, -2], "01000000 feffffff"),
    "int64": ([1, -2], "0100000000000000 feffffffffffffff"),
    "uint8": ([0, 255], "00 ff"),
    "uint16": ([1, 65534], "0100 feff"),
    "uint32": ([1, 2**32 - 2], "01000000 feffffff"),
    "uint64": ([1, 2**64 - 2], "0100000000000000 feffffffffffffff"),
    "float16": ([1, -0.0, INF, NAN], "003c 0080 007c 007e"),
    "float32": ([1, -0.0, INF, NAN], "0000803f 00000080 0000807f 0000c07f"),
    "float64": ([1, -INF], "000000000000f03f 000000000000f0ff"),
    "complex64": ([1 - 2j], "0000803f 000000c0"),
    "complex128": ([1 - 2j], "000000000000f03f 00000000000000c0"),
    "int2": ([-2, -1, 0, 1], "fe ff 00 01"),
    "int4": ([-8, -1, 0, 7], "f8 ff 00 07"),
    "uint2": ([0, 1, 2, 3], "00 01 02 03"),
    "uint4": ([0, 7, 8, 15], "00 07 08 0f"),
    "bfloat16": ([0, -0.0, 1, -2.5, INF, NAN], "0000 0080 803f 20c0 807f c07f"),
    "float4_e2m1fn": ([0, -0.0, 0.5, 1.5, -6], "00 08 01 03 0f"),
    "float6_e2m3fn": ([0, -0.0, 0.125, 1, -7.5], "00 20 01 08 3f"),
    "float6_e3m2fn": ([0, -0.0, 0.0625, 1, -28], "00 20 01 0c 3f"),
    "float8_e3m4": ([0, -0.0, 1, 15.5, INF, NAN], "00 80 30 6f 70 78"),
    "float8_e4m3": ([0, -0.0, 1, 240, INF, NAN], "00 80 38 77 78 7c"),
    "float8_e4m3b11fnuz": ([0, -0.0, 1, 30, -30, NAN], "00 00 58 7f ff 80"),
    "float8_e4m3fnuz": ([0, -0.0, 1, 240, -240, NAN], "00 00 40 7f ff 80"),
    "float8_e5m2": ([0, -0.0, 1, 57344, INF, NAN], "00 80 3c 7b 7c 7e"),
    "float8_e5m2fnuz": ([0, -0.0, 1, 57344, -57344, NAN], "00 00 40 7f ff 80"),
    "float8_e8m0fnu": ([2.0**-127, 1, 2, 2.0**127, NAN], "00 7f 80 fe ff"),
    "complex_float16": ([1 - 2j, complex(INF, -0.0)], "003c00c0 007c0080"),
    "complex_bfloat16": ([1 - 2.5j, complex(INF, -0.0)], "803f20c0 807f0080"),
    "complex_float4_e2m1fn": ([1.5 - 6j], "03 0f"),
    "complex_float6_e2m3fn": ([1 - 7.5j], "08 3f"),
    "complex_float6_e3m2fn": ([1 - 28j], "0c 3f"),
    "complex_float8_e3m4": ([complex(15.5, -INF)], "6f f0"),
    "complex_float8_e4m3": ([complex(240, -INF)], "77 f8"),
    "complex_float8_e4m3b11fnuz": ([1 - 30j], "58 ff"),
    "complex_float8_e4m3fnuz": ([1 - 240j], "40 ff"),
    "complex_float8_e5m2": ([complex(1, -INF)], "3c fc"),
    "complex_float8_e5m2fnuz": ([1 - 57344j], "40 ff"),
    "complex_float8_e8m0fnu": ([1 + 2j], "7f 80"),
}
"""Elements, and their bytes after `bytes` with `endian` little."""

BIG: dict[str, tuple[list[Any], str]] = {
    "int32": ([1, -2], "00000001 fffffffe"),
    "float64": ([1], "3ff0000000000000"),
    "complex64": ([1 - 2j], "3f800000 c0000000"),
    "bfloat16": ([1, -2.5, NAN], "3f80 c020 7fc0"),
    "complex_float16": ([1 - 2j], "3c00c000"),
    "complex_bfloat16": ([1 - 2.5j], "3f80c020"),
    "int4": ([-1], "ff"),
    "complex_float8_e5m2": ([1 - 2j], "3c c0"),
}

TIMES = np.array([1, -(2**63)])
OTHERS: dict[str, tuple[Any, Any, str]] = {
    "numpy.datetime64": ("M8[s]", TIMES.view("M8[s]"), "0100000000000000 0000000000000080"),
    "numpy.timedelta64": ("m8[ns]", TIMES.view("m8[ns]"), "0100000000000000 0000000000000080"),
    "fixed_length_utf32": ("U2", ["a", "é€"], "61000000 00000000 e9000000 ac200000"),
    "null_terminated_bytes": ("S3", [b"ab"], "616200"),
    "string": ("string", ["a", "é"], "02000000 01000000 61 02000000 c3a9"),
    "bytes": ("bytes", [b"a", b"\xff\x00"], "02000000 01000000 61 02000000 ff00"),
    "struct": ([("a", "u1"), ("b", "<i2"), ("c", "<f4")], [(1, -2, 1.0)], "01 feff 0000803f"),
    "struct of small ones": (
        [("a", ml_dtypes.int4), ("b", ml_dtypes.bfloat16)],
        [(-1, 1.0), (7, -2.5)],
        "ff 803f 07 20c0",
    ),
    "r24": ("r24", np.frombuffer(b"\x01\x02\xff", "V3"), "0102ff"),
}
"""Types with a configuration, or of variable length."""

EVERY = {
    **{name: (name, "little", *found) for name, found in LITTLE.items()},
    **{f"{name}, big": (name, "big", *found) for name, found in BIG.items()},
    **{name: (dtype, "little", *found) for name, (dtype, *found) in OTHERS.items()},
}


def test_every_registered_type_is_here() -> None:
    assert set(data_types.names()) - {"float8_e4m3fn"} <= set(EVERY)  # new arrays cannot have this type


@pytest.mark.parametrize(("dtype", "endian", "elements", "digits"), EVERY.values(), ids=EVERY)
def test_elements_are_stored_as_these_bytes_and_read_from_them(
    dtype: Any, endian: str, elements: Any, digits: str
) -> None:
    store = omnizarr.MemoryStore()
    codec = {"name": "bytes", "configuration": {"endian": endian}}
    serializer = "auto" if dtype in ("string", "bytes") else codec
    z = omnizarr.create_array(store, shape=len(elements), dtype=dtype, serializer=serializer, compressors=None)
    z[...] = elements
    assert bytes(store.get("c/0") or b"") == bytes.fromhex(digits)
    store.set("c/0", bytes.fromhex(digits))
    found = omnizarr.open_array(store)[...]
    if found.dtype.hasobject:
        assert found.tolist() == elements
    else:
        assert found.tobytes() == z.data_type.elements(elements).astype(z.dtype).tobytes()

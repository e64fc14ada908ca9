"""Golden bytes from numcodecs 0.16.6: they must decode, and encoding must equal them where the format fixes the bytes.

They were recorded by running numcodecs on the contents beside them; none comes from its own tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.codecs.binding import bind_array, bind_bytes, object_array

TEXT = b"hello, hello, hello! 1234"
NUMBERS = bytes(range(24))

# fmt: off
COMPRESSED: list[tuple[dict[str, Any], str]] = [
    ({"id": "zlib", "level": 1}, "7801cb48cdc9c9d751c840a214150c8d8c4d00708007e0"),
    ({"id": "gzip", "level": 1}, "1f8b08003705fb6a04ffcb48cdc9c9d751c840a214150c8d8c4d00d64002b119000000"),
    ({"id": "bz2", "level": 1},
     "425a6831314159265359bc245efb000007990060043c000244a0002190d00201a69a19c718535a50cd3c0f8bb9229c28485e122f7d80"),
    ({"id": "lzma"},
     ("fd377a585a000004e6d6b4460200210116000000742fe5a3e0001800125d00341949ee8def8c8732028ad4ee84a3d82a40000000"
     "940ad57e48b64c1a00012e19c714ea4f1fb6f37d010000000004595a")),
    ({"id": "lzma", "format": 2, "preset": 0},
     "5d00000400ffffffffffffffff00341949db855cd1d64842d5b88a28c6e003dfa9ffffa9540000"),
    ({"id": "lzma", "format": 3, "filters": [{"id": 33, "preset": 1}]},
     "e0001800135d00341949db855cd1d64842d5b88a28c6df3a397900"),
    ({"id": "lz4", "acceleration": 1}, "190000007868656c6c6f2c20070060212031323334"),
    ({"id": "zstd", "level": 1}, "28b52ffd20199d00006868656c6c6f2c202120313233340100e28a11"),
    ({"id": "zstd", "level": 1, "checksum": True}, "28b52ffd24199d00006868656c6c6f2c202120313233340100e28a1137f58eec"),
    ({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
     "0201330119000000190000002900000068656c6c6f2c2068656c6c6f2c2068656c6c6f212031323334"),
]
CHECKED: list[tuple[dict[str, Any], str, str]] = [  # bytes before the text, bytes after the text
    ({"id": "crc32"}, "d64002b1", ""),
    ({"id": "crc32", "location": "end"}, "", "d64002b1"),
    ({"id": "crc32c"}, "", "5d3d6b93"),
    ({"id": "crc32c", "location": "start"}, "5d3d6b93", ""),
    ({"id": "adler32"}, "e0078070", ""),
    ({"id": "adler32", "location": "end"}, "", "e0078070"),
    ({"id": "fletcher32"}, "", "ba2c5fdc"),
    ({"id": "jenkins_lookup3"}, "", "69a3ee0c"),
    ({"id": "jenkins_lookup3", "initval": 7}, "", "523a5e1a"),
]
MOVED: list[tuple[dict[str, Any], str]] = [
    ({"id": "shuffle"}, "0004080c10140105090d111502060a0e121603070b0f1317"),
    ({"id": "shuffle", "elementsize": 8}, "000810010911020a12030b13040c14050d15060e16070f17"),
    ({"id": "shuffle", "elementsize": 1}, "000102030405060708090a0b0c0d0e0f1011121314151617"),
    ({"id": "base64"}, b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX".hex()),
]
ARRAYS: list[tuple[dict[str, Any], str, list[Any], str, str]] = [  # the fourth column is the stored type
    ({"id": "delta", "dtype": "<i4", "astype": "<i2"}, "i4", [100, 90, 300, -5], "<i2", "6400f6ffd200cffe"),
    ({"id": "delta", "dtype": "|u1"}, "u1", [250, 5, 0, 255], "|u1", "fa0bfbff"),
    ({"id": "delta", "dtype": ">i2", "astype": ">i2"}, "i2", [1, 3, 2, -7], ">i2", "00010002fffffff7"),
    ({"id": "delta", "dtype": "<f4"}, "f4", [1.5, 2.0, -3.25, 0.0], "<f4", "0000c03f0000003f0000a8c000005040"),
    ({"id": "fixedscaleoffset", "offset": 1000, "scale": 10, "dtype": "<f8", "astype": "|u1"},
     "f8", [1000.0, 1000.25, 1000.35, 1001.0], "|u1", "0002040a"),
    ({"id": "fixedscaleoffset", "offset": 0.5, "scale": 2.5, "dtype": "<f4", "astype": ">i2"},
     "f4", [0.5, -7.0, 100.25, 0.7], ">i2", "0000ffed00f90000"),
    ({"id": "quantize", "digits": 1, "dtype": "<f8"}, "f8", [0.1, 0.3333, -2.71, 1e6], "<f8",
     "000000000000c03f000000000000d43f00000000008005c00000000080842e41"),
    ({"id": "quantize", "digits": 2, "dtype": "<f8", "astype": "<f4"}, "f8", [0.1, 0.3333, -2.71, 1e6], "<f4",
     "0000d03d0000ac3e00802dc000247449"),
    ({"id": "bitround", "keepbits": 3}, "f4", [0.1, 1.0625, -2.71, 1e6], "<f4", "0000d03d0000803f000030c000007049"),
    ({"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<f8"}, "f8", [0.1, -3.5, 1e300], "<f4",
     "cdcccc3d000060c00000807f"),
    ({"id": "astype", "encode_dtype": ">i2", "decode_dtype": "<i4"}, "i4", [1, -2, 70000], ">i2", "0001fffe1170"),
    ({"id": "packbits"}, "?", [1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 1], "|u1", "0598a0"),
    ({"id": "packbits"}, "?", [1, 1, 1, 1, 1, 1, 1, 1], "|u1", "00ff"),
    ({"id": "categorize", "labels": ["male", "female"], "dtype": "<U6"}, "U6", ["female", "male", "other", ""], "|u1",
     "02010000"),
]
OBJECTS: list[tuple[dict[str, Any], list[Any], tuple[int, ...], str]] = [
    ({"id": "json2"}, ["a", None, {"b": [1, 2.5]}, True, -7, "ü"], (2, 3),
     b'[["a",null,{"b":[1,2.5]}],[true,-7,"\\u00fc"],"|O",[2,3]]'.hex()),
    ({"id": "json2"}, ["x"], (), b'["x","|O",[]]'.hex()),
    ({"id": "msgpack2"}, ["a", None, {"b": [1, 2.5]}, True, -7, "ü"], (2, 3),
     "9493a161c081a1629201cb400400000000000093c3f9a2c3bca27c4f920203"),
    ({"id": "msgpack2"}, [b"\xff", 1.5], (2,), "94c401ffcb3ff8000000000000a27c4f9102"),
    ({"id": "vlen-array", "dtype": "<i2"}, [[1, 2], None, [], [-3]], (4,),
     "040000000400000001000200000000000000000002000000fdff"),
]
FLOATS = np.arange(6, dtype="f4").reshape(2, 3)
ZFP_LOSSY = "7a667005260000100000c0ca05711c9c428a0020010000000000000000000000"
ZFP_EXACT = "7a6670052600001000000088091289994432090000000000"
PCO = "70636f2103008201040103050000001000000000004c0000c8206309993e00"
# fmt: on


def name(value: object) -> str | None:
    return " ".join(map(str, value.values())) if isinstance(value, dict) else ""


@pytest.mark.parametrize(("config", "stored"), COMPRESSED, ids=name)
def test_compressed_text(config: dict[str, Any], stored: str) -> None:
    for size in (len(TEXT), None):
        codec = bind_bytes(config, size)
        assert bytes(codec.decode(bytes.fromhex(stored))) == TEXT
        assert bytes(codec.decode(codec.encode(TEXT))) == TEXT


@pytest.mark.parametrize(("config", "before", "behind"), CHECKED, ids=name)
def test_checksums(config: dict[str, Any], before: str, behind: str) -> None:
    stored = bytes.fromhex(before) + TEXT + bytes.fromhex(behind)
    codec = bind_bytes(config, len(TEXT))
    assert bytes(codec.decode(stored)) == TEXT
    assert bytes(codec.encode(TEXT)) == stored


@pytest.mark.parametrize(("config", "stored"), MOVED, ids=name)
def test_other_bytes_codecs(config: dict[str, Any], stored: str) -> None:
    codec = bind_bytes(config, len(NUMBERS))
    assert bytes(codec.encode(NUMBERS)).hex() == stored
    assert bytes(codec.decode(bytes.fromhex(stored))) == NUMBERS


LOSSY = {
    "fixedscaleoffset": {"f8": [1000.0, 1000.2, 1000.4, 1001.0], "f4": [0.5, -7.1, 100.1, 0.5]},
    "quantize": {"f8": None},
    "bitround": {"f4": None},
    "astype": {"f8": [np.float32(0.1), -3.5, np.inf], "i4": [1, -2, 4464]},
    "categorize": {"U6": ["female", "male", "", ""]},
}


@pytest.mark.parametrize(("config", "dtype", "items", "stored_as", "stored"), ARRAYS, ids=name)
def test_filters(config: dict[str, Any], dtype: str, items: list[Any], stored_as: str, stored: str) -> None:
    array = np.array(items, dtype)
    codec = bind_array(config, array)
    encoded = codec.encode(array)
    assert encoded.astype(stored_as).tobytes().hex() == stored
    decoded = codec.decode(np.frombuffer(bytes.fromhex(stored), stored_as).astype(codec.encoded.dtype))
    kept = LOSSY.get(config["id"], {}).get(dtype, items)
    expected = encoded if kept is None else np.array(kept)
    assert decoded.tolist() == expected.astype(dtype).tolist()


@pytest.mark.parametrize(("config", "items", "shape", "stored"), OBJECTS, ids=name)
def test_objects(config: dict[str, Any], items: list[Any], shape: tuple[int, ...], stored: str) -> None:
    array = object_array(items, shape)
    codec = bind_array(config, array)
    assert bytes(codec.encode(array)).hex() == stored
    decoded = codec.decode(bytes.fromhex(stored))
    assert decoded.shape == shape
    if config["id"] == "vlen-array":
        assert [element.tolist() for element in decoded] == [[1, 2], [], [], [-3]]
        assert {element.dtype for element in decoded} == {np.dtype("i2")}
    else:
        assert decoded.tolist() == array.tolist()


@pytest.mark.parametrize(("mode", "stored"), [({}, ZFP_EXACT), ({"mode": 4, "tolerance": 0.01}, ZFP_LOSSY)], ids=name)
def test_zfp(mode: dict[str, Any], stored: str) -> None:
    pytest.importorskip("zfpy")
    codec = bind_array({"id": "zfpy", **mode}, FLOATS)
    assert np.abs(codec.decode(bytes.fromhex(stored)) - FLOATS).max() <= mode.get("tolerance", 0)
    assert np.abs(codec.decode(codec.encode(FLOATS)) - FLOATS).max() <= mode.get("tolerance", 0)


def test_pco() -> None:
    pytest.importorskip("pcodec")
    array = np.arange(6, dtype="i4") * 100
    assert bind_array({"id": "pcodec"}, array).decode(bytes.fromhex(PCO)).tolist() == array.tolist()


# numcodecs before 0.6 did not store the shape. These releases cannot be installed any more, so both are hand-written.


def test_legacy_json_and_msgpack_have_no_shape() -> None:
    array = object_array(["a", None, [1], "b"], (2, 2))
    text = b'[["a",null],[[1],"b"],"|O"]'
    assert bind_array({"id": "json"}, array).decode(text).tolist() == array.tolist()
    assert bytes(bind_array({"id": "json"}, array).encode(array)) == text
    assert bind_array({"id": "json"}, array).decode(b'["a",null,[1],"b","|O"]').tolist() == array.tolist()
    pytest.importorskip("msgpack")
    packed = bytes.fromhex("93 92a161c0 929101a162 a27c4f")
    assert bind_array({"id": "msgpack"}, array).decode(packed).tolist() == array.tolist()
    assert bytes(bind_array({"id": "msgpack"}, array).encode(array)) == packed

"""Golden bytes of every v3 codec, so that no release changes the stored format unnoticed.

Compressors may produce other bytes with newer libraries, so for them the recorded streams must decode. The zfp streams
come from the snapshot data of zarrs. All others were compared with other implementations, where these exist, when they
were recorded. `numcodecs_/test_golden.py` covers the codecs of numcodecs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from omnizarr._json import Problems
from omnizarr.codecs import Chain, ChunkSpec, codecs, parse_codecs
from omnizarr.dtypes import data_type_of


def named(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration} if configuration else {"name": name}


LITTLE, BIG, CRC32C = named("bytes", endian="little"), named("bytes", endian="big"), named("crc32c")
SWAPPED = named("transpose", order=[1, 0])
NAN_IS_LOW = {"encode": [["NaN", -128]], "decode": [[-128, "NaN"]]}

GRID = [[0, 1, 2], [-1, 300, -32768]]
FLOATS = [0.1, -2.5, float("nan"), 1e9]
TRUTHS = [True, False, True, True, False, False, False, True, True]

# fmt: off
EXACT: list[tuple[str, Any, list[dict[str, Any]], str]] = [  # encode and decode are exact inverses
    ("int16", GRID, [LITTLE], "0000 0100 0200 ffff 2c01 0080"),
    ("int16", GRID, [BIG], "0000 0001 0002 ffff 012c 8000"),
    ("int16", GRID, [LITTLE, CRC32C], "0000 0100 0200 ffff 2c01 0080 b19b691e"),
    ("int16", GRID, [SWAPPED, BIG], "0000 ffff 0001 012c 0002 8000"),
    ("int16", GRID, [named("reshape", shape=[-1, 2]), SWAPPED, LITTLE], "0000 0200 2c01 0100 ffff 0080"),
    ("int16", GRID, [named("cast_value", data_type="float32"), LITTLE],
     "00000000 0000803f 00000040 000080bf 00009643 000000c7"),
    ("int32", GRID, [named("scale_offset", offset=-40000, scale=3), LITTLE],
     "c0d40100 c3d40100 c6d40100 bdd40100 44d80100 c0540000"),
    ("int16", GRID, [named("sharding_indexed", chunk_shape=[1, 3], codecs=[LITTLE], index_codecs=[LITTLE, CRC32C])],
     "0000 0100 0200 ffff 2c01 0080 0000000000000000 0600000000000000 0600000000000000 0600000000000000 589b908d"),
    ("int16", GRID, [named("sharding_indexed", chunk_shape=[2, 1], codecs=[BIG, CRC32C], index_codecs=[BIG],
                           index_location="start")],
     ("0000000000000030 0000000000000008 0000000000000038 0000000000000008 0000000000000040 0000000000000008"
      "0000 ffff 153cf946 0001 012c c0007a93 0002 8000 33e3cbfc")),
    ("int16", GRID, [named("n5_default", codecs=[SWAPPED, BIG])],
     "0000 0002 00000002 00000003 0000 ffff 0001 012c 0002 8000"),
    ("int16", GRID, [LITTLE, named("conditional", codecs=[named("gzip", level=5), CRC32C], header_bits=16)],
     "0000 0000 0100 0200 ffff 2c01 0080"),
    ("bool", TRUTHS, [named("packbits")], "8d01"),
    ("bool", TRUTHS, [named("packbits", padding_encoding="first_byte")], "07 8d01"),
    ("string", ["a", "", "ñ"], [named("vlen-utf8")], "03000000 01000000 61 00000000 02000000 c3b1"),
    ("bytes", [b"a", b"", b"\xff\0"], [named("vlen-bytes")], "03000000 01000000 61 00000000 02000000 ff00"),
    ("bytes", [b"a", b"", b"\xff\0"], [named("vlen-utf8")], "03000000 01000000 61 00000000 02000000 ff00"),  # zarrs
    ("string", ["a", "", "ñ"], [named("vlen-bytes")], "03000000 01000000 61 00000000 02000000 c3b1"),  # zarrs
    ("string", ["a", "", "ñ"], [named("zarrs.vlen_v2")], "03000000 01000000 61 00000000 02000000 c3b1"),
    ("string", ["a", "", "ñ"], [named("zarrs.vlen", data_codecs=[named("bytes")], index_codecs=[LITTLE],
                                      index_data_type="uint32")],
     "1000000000000000 00000000 01000000 01000000 03000000 61 c3b1"),
    ("string", ["a", "", "ñ"], [named("zarrs.vlen", data_codecs=[named("bytes")], index_codecs=[BIG],
                                      index_data_type="uint64", index_location="end")],
     ("61 c3b1 0000000000000000 0000000000000001 0000000000000001 0000000000000003 2000000000000000")),
    ("int16", [GRID], [named("zarrs.squeeze"), LITTLE], "0000 0100 0200 ffff 2c01 0080"),
]
LOSSY: list[tuple[str, Any, list[dict[str, Any]], str, Any]] = [  # the bytes decode to another array
    ("int16", GRID, [named("packbits", first_bit=1, last_bit=9, padding_encoding="last_byte")], "000004f86f0900 02",
     [[0, 0, 2], [-2, 300, 0]]),
    ("int16", GRID, [named("bitround", keepbits=2), LITTLE], "0000 0100 0200 00c0 0001 0080",
     [[0, 1, 2], [-16384, 256, -32768]]),
    ("int16", GRID, [named("cast_value", data_type="uint8", out_of_range="wrap"), named("bytes")], "000102ff2c00",
     [[0, 1, 2], [255, 44, 0]]),
    ("float32", FLOATS, [named("bitround", keepbits=3), LITTLE], "0000d03d 000020c0 0000c07f 0000704e",
     [0.1015625, -2.5, float("nan"), 1006632960.0]),
    ("float32", FLOATS, [named("scale_offset", offset=5, scale=0.1), LITTLE], "48e1fabe 000040bf 0000c07f 20bcbe4c",
     [0.09999990463256836, -2.5, float("nan"), 1e9]),
    ("float32", FLOATS, [named("cast_value", data_type="int8", rounding="towards-negative", out_of_range="clamp",
                               scalar_map=NAN_IS_LOW), named("bytes")], "00fd807f", [0, -3, float("nan"), 127]),
]
# fmt: on


def bound(data_type: str, array: npt.NDArray[Any], documents: list[dict[str, Any]]) -> Chain:
    problems = Problems()
    spec = ChunkSpec(array.shape, array.dtype, data_type_of(data_type).default_fill())
    chain = Chain.bind(parse_codecs(documents, "$.codecs", problems), spec, "$.codecs", problems)
    assert chain is not None, problems.found
    assert not problems.found
    return chain


def elements(data_type: str, values: Any) -> npt.NDArray[Any]:
    return np.array(values, data_type_of(data_type).dtype)


@pytest.mark.parametrize(("data_type", "values", "documents", "stored"), EXACT)
def test_bytes_of_lossless_codecs(data_type: str, values: Any, documents: list[dict[str, Any]], stored: str) -> None:
    array = elements(data_type, values)
    chain = bound(data_type, array, documents)
    assert bytes(chain.encode(array)) == bytes.fromhex(stored)
    assert chain.decode(bytes.fromhex(stored)).tolist() == array.tolist()


@pytest.mark.parametrize(("data_type", "values", "documents", "stored", "left"), LOSSY)
def test_bytes_of_lossy_codecs(
    data_type: str, values: Any, documents: list[dict[str, Any]], stored: str, left: Any
) -> None:
    array = elements(data_type, values)
    chain = bound(data_type, array, documents)
    assert bytes(chain.encode(array)) == bytes.fromhex(stored)
    assert chain.decode(bytes.fromhex(stored)).tobytes() == elements(data_type, left).tobytes()


# -- recorded streams of compressors

TEXT = b"hello, hello, hello! 1234" * 8
ROWS = 24 * np.arange(4)[:, None] + np.arange(6)

# fmt: off
STREAMS: list[tuple[dict[str, Any], str]] = [
    (named("gzip", level=5), "1f8b08000000000000ffcb48cdc9c9d751c840a214150c8d8c4d3286960400a8c6cc81c8000000"),
    (named("zstd", level=3), "28b52ffd20c8dd00006868656c6c6f2c202120313233340400199e1440066a72455c3102"),
    (named("zstd", level=3, checksum=True),
     "28b52ffd24c8dd00006868656c6c6f2c202120313233340400199e1440066a72455c3102646704f4"),
    (named("blosc", cname="lz4", clevel=5, shuffle="noshuffle", blocksize=0),
     "02012001c8000000c800000032000000140000001a0000007868656c6c6f2c2007006f212031323334190097502031323334"),
    (named("blosc", cname="blosclz", clevel=5, shuffle="shuffle", typesize=4, blocksize=0),
     ("02011104c8000000c80000004c000000140000003400000038686f652c6c20346c686f6521336c206c686f32652c6c206c31e01018"
      "e0161ee00a37e01c56e00537e0218e06686f652c6c2034")),
    (named("blosc", cname="zlib", clevel=5, shuffle="shuffle", typesize=2, blocksize=0),
     ("02017102c8000000c80000003a0000001400000022000000785ecbc8c95748cdd1c90052462650466a8ea2a17106f5248852"
      "44a10400e2dc3ef9")),
    (named("blosc", cname="lz4hc", clevel=5, shuffle="shuffle", typesize=2, blocksize=0),
     ("02013102c8000000c80000003d000000140000002500000070686c6f20656c2c070023323409005f656c2131331900380f5700"
      "44041900506c6f203234")),
]
ZFP: list[tuple[str, int, float, str]] = [  # added to the rows, and multiplied
    ("float32", 0, 0.5, "1522242210a910215185a80000000000"),
    ("float64", 108, 0.5, "1930b154450548064c2c554180920000"),
    ("uint8", 0, 1, "68a18840042d1455880a000000000000"),
    ("uint8", 108, 1, "08a92844105211880a00000000000000"),
    ("int16", 108, 1, "10c050452102010c5504a20200000000"),
    ("uint32", 0, 1, "1f000040222000f90000001201054a02"),
    ("uint32", 108, 1, "1f0000b0544505c80700002c554180920000000000000000"),
    ("int64", 0, 1, "3f00000000000080444000f2030000000000004804142809"),
]
# fmt: on


@pytest.mark.parametrize(("document", "stored"), STREAMS)
def test_streams_of_compressors_decode(document: dict[str, Any], stored: str) -> None:
    array = np.frombuffer(TEXT, "u1")
    chain = bound("uint8", array, [named("bytes"), document])
    assert chain.decode(bytes.fromhex(stored)).tobytes() == TEXT
    assert chain.decode(bytes(chain.encode(array))).tobytes() == TEXT


@pytest.mark.parametrize(("data_type", "first", "factor", "stored"), ZFP)
def test_R139_streams_of_zarrs(data_type: str, first: int, factor: float, stored: str) -> None:
    pytest.importorskip("zfpy")
    array = ((ROWS + first) * factor).astype(data_type)
    chain = bound(data_type, array, [named("zfp", mode="reversible")])
    assert chain.decode(bytes.fromhex(stored)).tobytes() == array.tobytes()
    assert bytes(chain.encode(array)) == bytes.fromhex(stored)


def test_R140_every_registered_codec_is_tested() -> None:
    here = [documents for *_, documents, _ in EXACT] + [documents for _, _, documents, *_ in LOSSY]
    shown = {document["name"] for documents in here for document in documents}
    shown |= {document["name"] for document, _ in STREAMS} | {"zfp"}
    known = {name for name in codecs.names() if not name.startswith(("numcodecs.", "https://"))}
    assert shown == known


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("array_to_array/bitround", "bitround"),
        ("array_to_bytes/pcodec", "numcodecs.pcodec"),
        ("array_to_bytes/vlen_bytes", "vlen-bytes"),
        ("array_to_bytes/vlen_utf8", "vlen-utf8"),
        ("array_to_bytes/zfp", "zfp"),
        ("array_to_bytes/zfpy", "numcodecs.zfpy"),
        ("bytes_to_bytes/bz2", "numcodecs.bz2"),
        ("bytes_to_bytes/fletcher32", "numcodecs.fletcher32"),
    ],
)
def test_urls_of_zarrs_are_aliases(address: str, name: str) -> None:
    result = codecs.get(f"https://codec.zarrs.dev/{address}")
    assert result is not None
    assert result is codecs.get(name)
    assert result.name == name


@pytest.mark.parametrize(("alias", "name"), [("endian", "bytes"), ("zarrs.reshape", "reshape"), ("zarrs.zfp", "zfp")])
def test_aliases(alias: str, name: str) -> None:
    assert codecs.get(alias) is codecs.get(name)


def test_A45_all_numcodecs_codecs_of_zarr_python_exist() -> None:
    ids = """
        blosc lz4 zstd zlib gzip bz2 lzma shuffle crc32 crc32c adler32 fletcher32 jenkins_lookup3
        delta bitround fixedscaleoffset quantize packbits astype pcodec zfpy
    """
    assert [id for id in ids.split() if codecs.get(f"numcodecs.{id}") is None] == []

"""The `n5_default` codec."""

from __future__ import annotations

import gzip
import json
import struct
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
from omnizarr.codecs import Blosc, Bytes, Crc32c, Gzip, N5Default, Sharding, Transpose, Zstd
from omnizarr.codecs.numcodecs_ import Base64
from omnizarr.errors import ArgumentError, ChunkError, CodecError

BIG = {"name": "bytes", "configuration": {"endian": "big"}}
GZIP = {"name": "gzip", "configuration": {"level": 5}}
SWAPPED = {"name": "transpose", "configuration": {"order": [1, 0]}}


def codec(ndim: int, *compressors: Any) -> N5Default:
    return N5Default((Transpose(tuple(reversed(range(ndim)))), Bytes("big"), *compressors))


def block(array: npt.NDArray[Any], *, mode: int = 0) -> bytes:
    """A block as the N5 specification defines it: the first dimension varies fastest."""
    header = struct.pack(f">HH{array.ndim}I", mode, array.ndim, *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes("F")


@pytest.mark.smoke
def test_R138_a_block_is_a_header_and_big_endian_elements() -> None:
    array = np.arange(6, dtype="i2").reshape(2, 3)
    bound = bind(parse_valid("n5_default", codecs=[SWAPPED, BIG]), array)
    assert bytes(bound.encode(array)).hex(" ", 2) == "0000 0002 0000 0002 0000 0003 0000 0003 0001 0004 0002 0005"
    assert bytes(bound.encode(array)) == block(array)
    assert bound.decode(block(array)).tolist() == array.tolist()


def test_A43_lengths_are_in_the_order_of_the_arrays_shape() -> None:
    array = np.arange(24, dtype="u1").reshape(4, 3, 2)
    assert bytes(bind(codec(3), array).encode(array))[:16].hex(" ", 4) == "00000003 00000004 00000003 00000002"


@given(
    array=arrays.arrays(
        st.sampled_from(["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]),
        arrays.array_shapes(min_dims=1, max_dims=4, max_side=4),
    ),
    compressor=st.sampled_from([None, Gzip(5), Zstd(3), Crc32c(), Blosc("lz4", 5, "shuffle", 4)]),
)
def test_R138_roundtrip(array: npt.NDArray[Any], compressor: Any) -> None:
    bound = bind(codec(array.ndim, *([] if compressor is None else [compressor])), array)
    encoded = bytes(bound.encode(array))
    assert bound.decode(encoded).tobytes() == array.tobytes()
    assert len(encoded) <= bound.encoded.limit
    if compressor is None:
        assert encoded == block(array)


@pytest.mark.parametrize("shape", [(2, 3), (4, 1), (1, 1), (4, 5), (3, 5)])
@pytest.mark.parametrize("compress", [False, True])
def test_R138_short_blocks_are_padded(shape: tuple[int, int], compress: bool) -> None:
    array = np.arange(1, shape[0] * shape[1] + 1, dtype="i4").reshape(shape)
    bound = bind(codec(2, Gzip()) if compress else codec(2), spec_of(np.zeros((4, 5), "i4"), -7))
    data = block(array)
    got = bound.decode(data[:12] + gzip.compress(data[12:]) if compress else data)
    assert got.shape == (4, 5)
    assert got[: shape[0], : shape[1]].tolist() == array.tolist()
    assert (got == -7).sum() == 20 - array.size


@pytest.mark.parametrize("shape", [(6, 5), (4, 9), (7, 2), (3, 8)])
def test_R138_long_blocks_are_cropped(shape: tuple[int, int]) -> None:
    array = np.arange(1, shape[0] * shape[1] + 1, dtype="f4").reshape(shape)
    got = bind(codec(2), np.zeros((4, 5), "f4")).decode(block(array))
    expected = np.zeros((4, 5), "f4")
    expected[: shape[0], : shape[1]] = array[:4, :5]
    assert got.tolist() == expected.tolist()


def test_R138_no_dimensions() -> None:
    array = np.array(7, "i4")
    bound = bind(codec(0), array)
    assert bytes(bound.encode(array)).hex() == "0000000000000007"
    assert bound.decode(bound.encode(array)).tolist() == 7


# -- configurations


@pytest.mark.parametrize(
    ("codecs", "place"),
    [
        (None, ""),
        ([], ""),
        ([SWAPPED], "[1].configuration.endian"),  # the parser adds `bytes`, little-endian
        ([BIG], ""),
        ([BIG, GZIP], "[0]"),
        ([SWAPPED, GZIP, BIG], "[1]"),
        ([SWAPPED, {"name": "bytes", "configuration": {"endian": "little"}}], "[1].configuration.endian"),
        ([SWAPPED, {"name": "packbits"}], "[1]"),
        ([SWAPPED, BIG, GZIP, GZIP], ""),
        ([SWAPPED, BIG, SWAPPED], "[2]"),
        ([SWAPPED, BIG, {"name": "no such", "must_understand": False}], "[2]"),
        ([{"name": "transpose", "configuration": {"order": "F"}}, BIG], "[0].configuration.order"),
        ([SWAPPED, BIG, {"name": "gzip", "configuration": {"level": 10}}], "[2].configuration.level"),
    ],
)
def test_R138_invalid_codecs(codecs: Any, place: str) -> None:
    configuration = {} if codecs is None else {"codecs": codecs}
    assert paths_of(parse_problems("n5_default", configuration)) == [f".configuration.codecs{place}"]


def test_R138_unknown_members_are_rejected() -> None:
    assert paths_of(parse_problems("n5_default", {"codecs": [SWAPPED, BIG], "mode": 0})) == [".configuration.mode"]


@pytest.mark.parametrize(
    "codecs",
    [
        Gzip(),
        3,
        [],
        [Bytes("big")],
        [Transpose((1, 0)), Bytes("little")],
        [Transpose("F"), Bytes("big")],
        [Transpose((1, 0)), Bytes("big"), Base64()],
        [Transpose((1, 0)), Bytes("big"), Blosc()],
    ],
)
def test_R138_invalid_arguments(codecs: Any) -> None:
    with pytest.raises(ArgumentError, match="codec `n5_default`: `codecs`"):
        N5Default(codecs)


@pytest.mark.parametrize("order", [[0, 1], [0], [2, 1, 0], [1, 0, 2]])
def test_R138_all_dimensions_must_be_reversed(order: list[int]) -> None:
    problems = bind_problems(N5Default((Transpose(order), Bytes("big"))), np.zeros((2, 3), "i4"))
    assert paths_of(problems) == [".configuration.codecs[0].configuration.order"]


def test_R138_the_byte_order_may_be_left_out_for_single_bytes() -> None:
    codec = N5Default((Transpose((1, 0)), Bytes()))
    assert bytes(bind(codec, np.ones((1, 2), "u1")).encode(np.ones((1, 2), "u1")))[-2:] == b"\1\1"
    assert paths_of(bind_problems(codec, np.ones((1, 2), "u2"))) == [".configuration.codecs[1].configuration"]


@pytest.mark.parametrize("dtype", ["?", "f2", "c8", "S3", "V2", "M8[s]", [("a", "i4")]])
def test_R138_unsupported_types(dtype: Any) -> None:
    assert paths_of(bind_problems(codec(1), np.zeros(3, dtype))) == [""]


def test_R138_unsupported_lengths() -> None:
    from omnizarr.codecs import ChunkSpec

    assert paths_of(bind_problems(codec(1), ChunkSpec((2**32,), np.dtype("u1"), np.zeros((), "u1")))) == [""]


# -- damaged data

GOOD = block(np.arange(6, dtype="i2").reshape(2, 3))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected a header of 12 bytes, found 0 bytes"),
        (GOOD[:11], "expected a header of 12 bytes, found 11 bytes"),
        (b"\0\1" + GOOD[2:], r"mode 1 \(varlength\)"),
        (b"\0\2" + GOOD[2:], r"mode 2 \(object\)"),
        (b"\0\7" + GOOD[2:], r"mode 7 \(unknown\)"),
        (GOOD[:2] + b"\0\3" + GOOD[4:], "a block of 2 dimensions, found 3"),
        (GOOD[:4] + bytes(4) + GOOD[8:], r"shape \(0, 3\)"),
        (GOOD[:4] + b"\xff" * 8 + GOOD[12:], r"shape \(4294967295, 4294967295\)"),
        (GOOD[:-1], "expected 12 bytes, found 11"),
        (GOOD + b"\0", "expected 12 bytes, found 13"),
        (GOOD[:12], "expected 12 bytes, found 0"),
    ],
)
def test_R138_damaged_blocks(data: bytes, message: str) -> None:
    with pytest.raises(CodecError, match=message):
        bind(codec(2), np.zeros((2, 3), "i2")).decode(data)


def test_blocks_are_limited_by_max_chunk_bytes() -> None:
    header = struct.pack(">HH2I", 0, 2, 1000, 1000)
    with omnizarr.config(max_chunk_bytes=10**6):
        bound = bind(codec(2, Gzip()), np.zeros((2, 3), "i2"))
    with pytest.raises(CodecError, match="of 1 to 1000000 bytes"):
        bound.decode(header + gzip.compress(bytes(2 * 10**6)))


def test_R138_new_arrays_have_the_chunk_keys_of_n5() -> None:
    options: dict[str, Any] = {"data": np.ones((3, 4), "i2"), "serializer": codec(2), "compressors": None}
    for keys in (None, {"name": "v2", "separator": "/"}):
        store = omnizarr.MemoryStore()
        omnizarr.create_array(store, chunks=(2, 4), chunk_key_encoding=keys, **options)
        assert sorted(store.list_prefix("")) == ["0/0", "1/0", "zarr.json"]
    for keys in ("default", "v2", {"name": "v2", "separator": "."}):
        with pytest.raises(ArgumentError, match=r"codec `n5_default` needs .*\"separator\": \"/\""):
            omnizarr.create_array(None, chunk_key_encoding=keys, **options)


def test_R138_a_header_cannot_declare_more_than_the_limit() -> None:
    """The limit is lower than that for chunks, which is four gigabytes by default."""
    bound = bind(codec(1), np.zeros(7, "u1"))
    with pytest.raises(CodecError, match="of 1 to 134217728 bytes"):
        bound.decode(struct.pack(">HHI", 0, 1, 2**27 + 1))
    with pytest.raises(CodecError, match="expected 134217728 bytes, found 0"):
        bound.decode(struct.pack(">HHI", 0, 1, 2**27))


@given(st.binary(max_size=40))
def test_any_bytes_decode_or_raise_codec_error(data: bytes) -> None:
    for result in (bind(codec(2), np.zeros((2, 3), "i2")), bind(codec(2, Gzip()), np.zeros((2, 3), "i2"))):
        for one in (data, GOOD[:12] + data):
            try:
                assert result.decode(one).shape == (2, 3)
            except CodecError:
                pass


# -- in arrays


def test_R138_the_example_of_the_registry(tmp_path: Path) -> None:
    data = np.random.default_rng(7).normal(size=(256, 128)).astype("f4")
    omnizarr.create_array(
        tmp_path,
        data=data,
        chunks=(256, 128),
        serializer=codec(2, Zstd(0)),
        compressors=None,
        chunk_key_encoding={"name": "v2", "separator": "/"},
    )
    (stored,) = json.loads((tmp_path / "zarr.json").read_text())["codecs"]
    assert stored["name"] == "n5_default"
    assert [one["name"] for one in stored["configuration"]["codecs"]] == ["transpose", "bytes", "zstd"]
    assert (tmp_path / "0" / "0").read_bytes()[:12].hex(" ", 4) == "00000002 00000100 00000080"
    assert omnizarr.open_array(tmp_path)[...].tobytes() == data.tobytes()


def test_R138_short_and_whole_blocks_at_the_end_of_an_array(tmp_path: Path) -> None:
    data = np.arange(1, 36, dtype="u2").reshape(5, 7)
    array = omnizarr.create_array(tmp_path, data=data, chunks=(3, 4), serializer=codec(2), compressors=None)
    (tmp_path / "1" / "1").write_bytes(block(data[3:, 4:]))  # a short block, as the Java implementation writes it
    assert array[...].tolist() == data.tolist()
    assert array[4:, 5].tolist() == data[4:, 5].tolist()
    array[4, 6] = 1000
    assert len((tmp_path / "1" / "1").read_bytes()) == 12 + 2 * 12  # the write stores a whole chunk
    assert array[3:, 4:].tolist() == [data[3, 4:].tolist(), [*data[4, 4:6].tolist(), 1000]]


def test_in_shards() -> None:
    data = np.arange(24, dtype="f8").reshape(4, 6)
    store = omnizarr.MemoryStore()
    omnizarr.create_array(store, data=data, chunks=(4, 6), serializer=Sharding((2, 3), [codec(2, Gzip())]))
    assert omnizarr.open_array(store)[1:3].tolist() == data[1:3].tolist()


def test_errors_name_the_array_and_the_chunk() -> None:
    store = omnizarr.MemoryStore()
    array = omnizarr.create_array(store, data=np.ones((2, 3)), serializer=codec(2), compressors=None)
    store.set("0/0", b"\0\1" + bytes(10))
    with pytest.raises(
        ChunkError, match=r"chunk \(0, 0\) of array `/` .*codec `n5_default`: expected a block of mode 0"
    ):
        array[...]

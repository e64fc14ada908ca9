"""The `blosc` codec."""

from __future__ import annotations

import json
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr._json import Problems
from omnizarr.codecs.bytes_to_bytes import blosc as module
from omnizarr.codecs.bytes_to_bytes.blosc import Blosc, BoundBlosc
from omnizarr.codecs.contract import ByteSpec
from omnizarr.errors import ArgumentError, CodecError

CORPUS = Path(__file__).parents[2] / "corpora"
COMPRESSORS = ["lz4", "lz4hc", "blosclz", "zlib", "zstd"]
SHUFFLES = ["noshuffle", "shuffle", "bitshuffle"]
CONTENT = np.arange(500, dtype="<u4").tobytes()

# 24 bytes 0, 1, 2, …: stored uncompressed
STORED = bytes.fromhex("02013304180000001800000028000000") + bytes(range(24))
# 256 bytes of 7: one block of LZ4, byte-shuffled elements of 4 bytes
LZ4 = bytes.fromhex("020131040001000000010000230000001400000 00b0000001f070100e7500707070707".replace(" ", ""))


def bound(codec: Blosc, size: int | None, limit: int = 2**20, itemsize: int = 4) -> BoundBlosc:
    return codec.bind(ByteSpec(size, limit if size is None else size, itemsize), "$", Problems())


def frame(content: bytes = CONTENT, **arguments: Any) -> bytes:
    return bytes(bound(Blosc(**arguments), len(content)).encode(content))


def test_R90_golden_bytes() -> None:
    assert bound(Blosc(), 24).decode(STORED) == bytes(range(24))
    assert bound(Blosc(), 256).decode(LZ4) == b"\7" * 256


def test_R91_automatic_choices_are_made_from_the_element_size() -> None:
    assert Blosc().resolved(4) == Blosc(shuffle="shuffle", typesize=4)
    assert Blosc().resolved(1) == Blosc(shuffle="bitshuffle", typesize=1)
    assert Blosc().resolved(0) == Blosc(shuffle="bitshuffle", typesize=1)
    assert Blosc(typesize=2).resolved(1) == Blosc(shuffle="shuffle", typesize=2)
    assert Blosc(shuffle="noshuffle").resolved(8) == Blosc(shuffle="noshuffle", typesize=8)
    assert Blosc().resolved(8).configuration() == {
        "cname": "lz4",
        "clevel": 5,
        "shuffle": "shuffle",
        "typesize": 8,
        "blocksize": 0,
    }


def test_A27_every_member_may_be_missing() -> None:
    problems = Problems()
    assert Blosc.parse({}, "$", problems) == Blosc("lz4", 5, "noshuffle", None, 0)
    assert Blosc.parse({"shuffle": "shuffle"}, "$", problems) == Blosc(shuffle="shuffle")
    assert not problems.found


@pytest.mark.parametrize(("number", "name"), [(0, "noshuffle"), (1, "shuffle"), (2, "bitshuffle"), (-1, None)])
def test_numbers_for_shuffle_are_accepted_with_a_warning(number: int, name: Any) -> None:
    problems = Problems()
    configuration = {"cname": "zstd", "clevel": 1, "shuffle": number, "blocksize": 0}
    assert Blosc.parse(configuration, "$", problems) == Blosc("zstd", 1, name)
    assert not problems.found
    assert [problem.path for problem in problems.warnings] == ["$.configuration.shuffle"]


@pytest.mark.parametrize("shuffle", [3, -2, True, None, "auto"])
def test_R90_invalid_values_for_shuffle(shuffle: object) -> None:
    problems = Problems()
    assert Blosc.parse({"shuffle": shuffle}, "$", problems) is None
    assert [problem.path for problem in problems.found] == ["$.configuration.shuffle"]


def test_R90_typesize_is_ignored_without_shuffling() -> None:
    problems = Problems()
    assert Blosc.parse({"shuffle": "noshuffle", "typesize": 0}, "$", problems) == Blosc(shuffle="noshuffle")
    assert Blosc.parse({"shuffle": "shuffle", "typesize": -1}, "$", problems) is None


@given(
    content=st.one_of(
        st.binary(max_size=300), st.builds(lambda part, n: part * n, st.binary(max_size=9), st.integers(0, 2000))
    ),
    cname=st.sampled_from(COMPRESSORS),
    clevel=st.integers(0, 9),
    shuffle=st.sampled_from([*SHUFFLES, None]),
    typesize=st.sampled_from([None, 1, 2, 3, 4, 8, 16, 255, 256, 1000]),
    blocksize=st.sampled_from([0, 1, 128, 1000, 2**20]),
)
def test_roundtrip(content: bytes, **arguments: Any) -> None:
    encoded = frame(content, **arguments)
    assert bound(Blosc(), len(content)).decode(encoded) == content
    assert bound(Blosc(), None).decode(memoryview(encoded)) == content
    out = memoryview(bytearray(len(content)))
    assert bound(Blosc(), len(content)).decode(encoded, out) == content


def test_decode_into_out() -> None:
    out = memoryview(bytearray(len(CONTENT)))
    assert bound(Blosc(), len(CONTENT)).decode(frame(), out) is out
    assert out == CONTENT
    for length in (len(CONTENT) - 1, len(CONTENT) + 1):  # a buffer of another size is ignored
        assert bound(Blosc(), None).decode(frame(), memoryview(bytearray(length))) == CONTENT


@pytest.mark.parametrize("cname", COMPRESSORS)
def test_R92_decoding_ignores_the_configuration(cname: Any) -> None:
    other = Blosc("zlib", 1, "noshuffle", 3, 256)
    assert bound(other, len(CONTENT)).decode(frame(cname=cname, shuffle="bitshuffle")) == CONTENT


def test_numcodecs_reads_and_writes_the_same_frames() -> None:
    numcodecs = pytest.importorskip("numcodecs")
    for cname in COMPRESSORS:
        for number, shuffle in enumerate(SHUFFLES):
            theirs = numcodecs.Blosc(cname, 5, number)
            assert theirs.decode(frame(cname=cname, shuffle=shuffle)) == CONTENT
            assert bound(Blosc(), len(CONTENT)).decode(theirs.encode(np.frombuffer(CONTENT, "u4"))) == CONTENT


def test_R93_data_too_long_for_a_frame() -> None:
    class Long(bytes):
        def __len__(self) -> int:
            return 2**31 - 16

    with pytest.raises(CodecError, match="at most 2147483631 bytes for a frame, found 2147483632"):
        bound(Blosc(), None).encode(Long())


def test_a_compressor_that_the_library_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imagecodecs", None)
    available = module._library().list_compressors()
    if "snappy" in available:
        pytest.skip("the installed library has all compressors")
    with pytest.raises(CodecError, match=r"does not support compressor `snappy`, only .*lz4"):
        bound(Blosc(cname="snappy"), 4).encode(b"abcd")
    snappy = bytearray(LZ4)
    snappy[2] = 2 << 5 | 1
    with pytest.raises(CodecError, match="does not support compressor `snappy`"):
        bound(Blosc(), 256).decode(snappy)


def test_imagecodecs_decodes_snappy() -> None:
    """The frame is one that TensorStore wrote."""
    pytest.importorskip("imagecodecs")
    stored = CORPUS / "v2" / "tensorstore-0.1.86" / "codecs" / "blosc-snappy"
    frame, elements = (stored / "0.0").read_bytes(), omnizarr.open_array(stored)[...].tobytes()
    codec = bound(Blosc("snappy"), len(elements))
    assert bytes(codec.decode(frame)) == elements
    assert bytes(codec.decode(frame, memoryview(bytearray(len(elements))))) == elements
    part = codec.decode_part(lambda start, length: frame[start : start + length], len(frame), 100, 60)
    assert bytes(part) == elements[100:160]
    for length in range(len(frame)):
        with pytest.raises(CodecError):
            codec.decode(frame[:length])
    for position in range(16, len(frame)):
        damaged = bytearray(frame)
        damaged[position] ^= 0xFF
        try:
            assert len(codec.decode(damaged)) == len(elements)
        except CodecError:
            pass


@pytest.mark.parametrize("cname", COMPRESSORS)
def test_truncated_and_extended_frames_are_errors(cname: Any) -> None:
    data = frame(cname=cname)
    for length in [*range(40), *range(40, len(data), 37)]:
        with pytest.raises(CodecError):
            bound(Blosc(), len(CONTENT)).decode(data[:length])
    for rest in (b"\0", data):
        with pytest.raises(CodecError, match=f"expected a frame of {len(data)} bytes"):
            bound(Blosc(), len(CONTENT)).decode(data + rest)


def test_unexpected_length() -> None:
    for size in (0, len(CONTENT) - 1, len(CONTENT) + 1):
        with pytest.raises(CodecError, match=f"expected {size} bytes, found {len(CONTENT)}"):
            bound(Blosc(), size).decode(frame())
    with pytest.raises(CodecError, match="expected at most 1999 bytes, found 2000"):
        bound(Blosc(), None, 1999).decode(frame())


@pytest.mark.parametrize("size", [2**31 - 1, 2**31, 2**32 - 1])
def test_R93_a_header_with_too_large_a_size(size: int) -> None:
    stated = STORED[:4] + size.to_bytes(4, "little") + STORED[8:]
    with pytest.raises(CodecError, match="a frame of at most"):
        bound(Blosc(), None, limit=2**33).decode(stated)


def test_frames_of_blosc2_are_rejected_with_their_format() -> None:
    data = bytearray(LZ4)
    data[0] = 5
    with pytest.raises(CodecError, match="found format 5"):
        bound(Blosc(), 256).decode(data)


def test_blocks_that_do_not_split_evenly_are_rejected() -> None:
    content = bytes(1010)
    data = bytearray(frame(content, cname="blosclz", typesize=1))
    assert not data[2] & 0x10
    data[3] = 3  # 1010 is not a multiple of it
    with pytest.raises(CodecError, match="expected a block size"):
        bound(Blosc(), 1010).decode(data)


@settings(max_examples=8 * settings().max_examples)
@given(
    cname=st.sampled_from(COMPRESSORS),
    shuffle=st.sampled_from(SHUFFLES),
    typesize=st.sampled_from([1, 2, 4, 17]),
    blocksize=st.sampled_from([0, 256]),
    changes=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=6),
    words=st.lists(st.tuples(st.integers(1, 12), st.integers(-(2**31), 2**31 - 1) | st.integers(-4, 400)), max_size=2),
    cut=st.none() | st.integers(16, 300),
)
def test_malicious_frames_decode_to_the_right_size_or_raise_codec_error(
    cname: Any, shuffle: Any, typesize: int, blocksize: int, changes: Any, words: Any, cut: int | None
) -> None:
    data = bytearray(frame(cname=cname, shuffle=shuffle, typesize=typesize, blocksize=blocksize))[:cut]
    for position, value in changes:
        data[position % len(data)] = value
    for word, number in words:
        if 4 * word + 4 <= len(data):
            struct.pack_into("<i", data, 4 * word, number)
    # pass the checks of omnizarr, so that the library must detect the damage
    data[0] = 2
    struct.pack_into("<I", data, 4, len(CONTENT))
    struct.pack_into("<I", data, 12, len(data))
    try:
        assert len(bound(Blosc(), len(CONTENT)).decode(bytes(data))) == len(CONTENT)
    except CodecError:
        pass


@given(st.binary(max_size=64))
def test_any_bytes_decode_or_raise_codec_error(data: bytes) -> None:
    for start in (b"", LZ4[:16], LZ4[:4]):
        try:
            bound(Blosc(), None, 1000).decode(start + data)
        except CodecError:
            pass


def test_threads_of_the_library_are_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module._library(), "use_threads", None)
    module._library.cache_clear()
    assert module._library().use_threads is False


def test_concurrent_use() -> None:
    contents = [np.arange(part, part + 5000, dtype="u4").tobytes() for part in range(40)]
    with ThreadPoolExecutor(8) as pool:
        frames = list(pool.map(lambda part: frame(contents[part], cname=COMPRESSORS[part % 5]), range(40)))
        assert list(pool.map(bound(Blosc(), 20000).decode, frames)) == contents


def test_creating_an_array_with_an_unsupported_compressor_fails() -> None:
    """Creating an array fails at once, not at the first chunk. Existing arrays can still be opened."""
    if "snappy" in import_module("numcodecs.blosc").list_compressors():
        pytest.skip("this build of the library has snappy")
    with pytest.raises(ArgumentError, match="does not support `snappy`"):
        Blosc("snappy").resolved(4)
    assert Blosc("snappy").bind(ByteSpec(8, 8, 4), "$", Problems()) is not None


def test_R92_a_document_of_n5_zarr() -> None:
    written = {"cname": "zstd", "clevel": 5, "shuffle": "shuffle", "blocksize": 0, "typesize": 0, "nthreads": 1}
    problems = Problems()
    codec = Blosc.parse(written, "$", problems)
    assert codec == Blosc("zstd", 5, "shuffle", None, 0)
    assert not problems.found
    assert [warning.path for warning in problems.warnings] == ["$.configuration.typesize", "$.configuration.nthreads"]
    stored: dict[str, bytes] = {}
    data = np.arange(100, dtype="i4")
    omnizarr.create_array(stored, data=data, chunks=10, compressors=Blosc("zstd", 5, "shuffle", 4))
    document = json.loads(stored["zarr.json"])
    document["codecs"][1]["configuration"] = written
    stored["zarr.json"] = json.dumps(document).encode()
    with pytest.warns(omnizarr.OmnizarrWarning, match="typesize"):
        z = omnizarr.open_array(stored)
    assert z[...].tolist() == data.tolist()
    z[5] = 7  # a write uses the size of an element
    z.attrs["a"] = 1
    assert json.loads(stored["zarr.json"])["codecs"][1]["configuration"].get("nthreads") is None
    assert omnizarr.open_array(stored)[4:7].tolist() == [4, 7, 6]

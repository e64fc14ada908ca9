"""The bytes → bytes codecs of numcodecs: comparison with the library, roundtrips, damage and decompression bombs."""

from __future__ import annotations

import bz2
import importlib.util
import lzma
import tracemalloc
import zlib
from typing import Any

import numcodecs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.codecs.binding import bind_bytes, config_problems, from_config

from omnizarr.codecs.contract import ByteSpec
from omnizarr.errors import CodecError

CONFIGS: list[dict[str, Any]] = [
    {"id": "zlib"},
    {"id": "zlib", "level": 0},
    {"id": "zlib", "level": -1},
    {"id": "gzip", "level": 9},
    {"id": "bz2"},
    {"id": "bz2", "level": 9},
    {"id": "lzma"},
    {"id": "lzma", "preset": 0, "check": 0},
    {"id": "lzma", "preset": 1 | 2**31, "check": 10},
    {"id": "lzma", "format": 2},
    {"id": "lzma", "format": 3, "filters": [{"id": 33, "preset": 1}]},
    {"id": "lzma", "format": 3, "filters": [{"id": 3, "dist": 4}, {"id": 33, "dict_size": 2**16, "lc": 2}]},
    {"id": "lz4"},
    {"id": "lz4", "acceleration": 50},
    {"id": "zstd", "level": 1},
    {"id": "zstd", "level": -3, "checksum": True},
    {"id": "blosc"},
    {"id": "blosc", "cname": "zstd", "shuffle": 2},
    {"id": "blosc", "cname": "zlib", "shuffle": -1, "blocksize": 64},
    {"id": "shuffle"},
    {"id": "shuffle", "elementsize": 0},
    {"id": "shuffle", "elementsize": 2},
    {"id": "shuffle", "elementsize": 100},
    {"id": "crc32"},
    {"id": "crc32", "location": "end"},
    {"id": "adler32"},
    {"id": "adler32", "location": "end"},
    {"id": "crc32c"},
    {"id": "crc32c", "location": "start"},
    {"id": "fletcher32"},
    {"id": "jenkins_lookup3"},
    {"id": "jenkins_lookup3", "initval": 2**32 - 1},
    {"id": "base64"},
]
CHECKED = [config for config in CONFIGS if config["id"] in ("crc32", "crc32c", "adler32", "fletcher32")]
COMPRESSORS = [config for config in CONFIGS if config["id"] in ("zlib", "gzip", "bz2", "lzma", "lz4", "zstd", "blosc")]


def name(config: dict[str, Any]) -> str:
    return " ".join(map(str, config.values()))


def library(config: dict[str, Any]) -> Any:
    if config["id"] == "crc32c" and importlib.util.find_spec("google_crc32c") is None:
        pytest.skip("numcodecs needs google-crc32c for it")
    return numcodecs.get_codec(config)


def whole_elements(content: bytes, config: dict[str, Any]) -> bytes:
    """`content`, truncated to whole elements for `shuffle`."""
    return content[: len(content) // 200 * 200] if config["id"] == "shuffle" else content


contents = st.one_of(
    st.binary(min_size=1, max_size=400),
    st.builds(lambda part, times: part * times, st.binary(min_size=1, max_size=9), st.integers(1, 400)),
)


@pytest.mark.parametrize("config", CONFIGS, ids=name)
@given(content=contents)
def test_omnizarr_and_numcodecs_read_each_other(config: dict[str, Any], content: bytes) -> None:
    content = whole_elements(content, config)
    if not content:
        return  # numcodecs does not support this case
    theirs = library(config)
    for size in (len(content), None):
        ours = bind_bytes(config, size)
        encoded = bytes(ours.encode(memoryview(content)))
        assert bytes(theirs.decode(encoded)) == content
        written = bytes(theirs.encode(content))
        assert bytes(ours.decode(written)) == content
        out = np.empty(len(content), np.uint8).data
        assert bytes(ours.decode(bytearray(written), out)) == content
        if config["id"] not in ("zlib", "gzip", "blosc"):  # omnizarr uses other libraries or type sizes for these
            assert encoded == written


@pytest.mark.parametrize("config", CONFIGS, ids=name)
@given(content=st.one_of(st.just(b""), contents))
def test_roundtrip_and_encoded_size(config: dict[str, Any], content: bytes) -> None:
    content = whole_elements(content, config)
    for size in (len(content), None):
        codec = bind_bytes(config, size)
        encoded = codec.encode(content)
        assert codec.encoded.size in (None, len(encoded))
        assert len(encoded) <= codec.encoded.limit
        assert bytes(codec.decode(encoded)) == content
        assert bytes(codec.decode(memoryview(encoded))) == content


@pytest.mark.parametrize("config", CONFIGS, ids=name)
def test_unexpected_sizes(config: dict[str, Any]) -> None:
    content = bytes(range(200)) * 2
    encoded = bind_bytes(config, len(content)).encode(content)
    for size, limit in ((200, 200), (600, 600), (None, 399)):
        with pytest.raises(CodecError):
            bind_bytes(config, size, limit).decode(encoded)


@pytest.mark.parametrize("config", CHECKED, ids=name)
@given(content=st.binary(min_size=1, max_size=60), draw=st.data())
def test_checksums_detect_a_changed_bit(config: dict[str, Any], content: bytes, draw: st.DataObject) -> None:
    codec = bind_bytes(config, len(content))
    data = bytearray(codec.encode(content))
    bit = draw.draw(st.integers(0, 8 * len(data) - 1))
    data[bit // 8] ^= 1 << bit % 8
    with pytest.raises(CodecError, match="damaged"):
        codec.decode(data)


@pytest.mark.parametrize("config", CONFIGS, ids=name)
@given(noise=st.binary(max_size=80), draw=st.data())
def test_any_bytes_decode_or_raise_codec_error(config: dict[str, Any], noise: bytes, draw: st.DataObject) -> None:
    content = b"0123456789" * 20
    good = bytes(bind_bytes(config, len(content)).encode(content))
    at = draw.draw(st.integers(0, len(good)))
    for data in (noise, good[:at], good[:at] + noise, good[:at] + noise + good[at + len(noise) :]):
        for size in (len(content), None):
            try:
                decoded = bind_bytes(config, size, 1000).decode(data)
            except CodecError:
                continue
            assert len(decoded) == size if size else len(decoded) <= 1000


BOMB = 2**26
BOMBS = {
    "zlib": zlib.compress(bytes(BOMB), 9),
    "gzip": zlib.compress(bytes(BOMB), 9),
    "bz2": bz2.compress(bytes(BOMB)),
    "lzma": lzma.compress(bytes(BOMB), preset=0),
    "lz4": (2**31 - 1).to_bytes(4, "little") + bytes(100),
}


@pytest.mark.parametrize("id", BOMBS)
@pytest.mark.parametrize("size", [1000, None])
def test_a_decompression_bomb_allocates_little_memory(id: str, size: int | None) -> None:
    codec = bind_bytes({"id": id}, size, 1000)
    codec.encode(b"libraries are loaded now")
    tracemalloc.start()
    try:
        with pytest.raises(CodecError):
            codec.decode(BOMBS[id])
        assert tracemalloc.get_traced_memory()[1] < 8_000_000  # bzip2 and the smallest LZMA preset need this much
    finally:
        tracemalloc.stop()


def test_lzma_limits_the_dictionary_size_in_the_data() -> None:
    stream = bytearray(lzma.compress(b"hello", lzma.FORMAT_ALONE, preset=0))
    stream[1:5] = (2**32 - 1).to_bytes(4, "little")  # the dictionary size in a .lzma header
    codec = bind_bytes({"id": "lzma", "format": 2}, 5)
    tracemalloc.start()
    try:
        with pytest.raises(CodecError, match="[Mm]emory"):
            codec.decode(stream)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_lzma_limits_the_dictionary_size_in_the_document() -> None:
    config = {"id": "lzma", "format": 3, "filters": [{"id": 33, "dict_size": 3 * 2**29}]}
    tracemalloc.start()
    try:
        codec = bind_bytes(config, 5)
        assert codec.decode(codec.encode(b"hello")) == b"hello"
        assert tracemalloc.get_traced_memory()[1] < 64_000_000
    finally:
        tracemalloc.stop()


def test_lzma_reads_xz_with_filters_which_numcodecs_cannot_read() -> None:
    config = {"id": "lzma", "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]}
    written = numcodecs.get_codec(config).encode(b"0123" * 30)
    assert bind_bytes(config, 120).decode(written) == b"0123" * 30


@pytest.mark.parametrize(
    ("id", "compress"),
    [("bz2", bz2.compress), ("lzma", lzma.compress), ("zlib", zlib.compress), ("gzip", zlib.compress)],
)
@given(parts=st.lists(st.binary(max_size=300), min_size=1, max_size=5), zeros=st.sampled_from([0, 4, 8]))
def test_several_streams_and_trailing_zeros(id: str, compress: Any, parts: list[bytes], zeros: int) -> None:
    data = b"".join(map(compress, parts)) + bytes(zeros)
    whole = b"".join(parts)
    assert bind_bytes({"id": id}, len(whole)).decode(data) == whole
    assert bind_bytes({"id": id}, None, len(whole)).decode(memoryview(data)) == whole
    with pytest.raises(CodecError):
        bind_bytes({"id": id}, len(whole) + 1).decode(data)
    with pytest.raises(CodecError):
        bind_bytes({"id": id}, len(whole)).decode(data + b"rest")


def test_the_message_for_a_truncated_stream() -> None:
    for id, compress in (("bz2", bz2.compress), ("lzma", lzma.compress), ("zlib", zlib.compress)):
        with pytest.raises(CodecError) as caught:
            bind_bytes({"id": id}, 1000).decode(compress(bytes(1000))[:-3])
        assert str(caught.value) == f"codec `{id}`: the data end in the middle of a stream"


def test_A49_the_first_bytes_distinguish_zlib_and_gzip() -> None:
    as_zlib, as_gzip = zlib.compress(b"hello"), zlib.compress(b"hello", wbits=31)
    for id in ("gzip", "zlib"):
        assert bind_bytes({"id": id}, 5).decode(as_zlib) == b"hello"
        assert bind_bytes({"id": id}, 5).decode(as_gzip) == b"hello"
    assert bytes(bind_bytes({"id": "zlib"}, 5).encode(b"hello"))[:1] == b"\x78"
    assert bytes(bind_bytes({"id": "gzip"}, 5).encode(b"hello"))[:2] == b"\x1f\x8b"


def test_checksums_do_not_copy_in_decode() -> None:
    for config in CHECKED:
        codec = bind_bytes(config, 5)
        data = codec.encode(b"hello")
        assert np.shares_memory(np.frombuffer(codec.decode(data), "u1"), np.frombuffer(data, "u1"))


def test_checksums_and_shuffle_have_fixed_sizes() -> None:
    for config in CHECKED:
        assert bind_bytes(config, 8, itemsize=4).encoded == ByteSpec(12, 12, 4)
    assert bind_bytes({"id": "shuffle"}, 8, itemsize=4).encoded == ByteSpec(8, 8)


def test_jenkins_hashes_a_prefix_that_is_not_stored() -> None:
    theirs = numcodecs.JenkinsLookup3(initval=3, prefix=b"abc").encode(b"hello")
    config = {"id": "jenkins_lookup3", "initval": 3, "prefix": [97, 98, 99]}
    assert from_config(config).to_config() == {"initval": 3, "prefix": [97, 98, 99]}
    assert bind_bytes(config, 5).encode(b"hello") == theirs
    assert bind_bytes(config, 5).decode(theirs) == b"hello"


def test_shuffle_needs_whole_elements() -> None:
    assert config_problems({"id": "shuffle"}, ByteSpec(10, 10)) == [
        ("$.configuration.elementsize", "expected a divisor of 10 bytes, found 4")
    ]
    with pytest.raises(CodecError, match="expected whole elements"):
        bind_bytes({"id": "shuffle"}, None).encode(b"12345")


def test_lz4_and_shuffle_decode_into_out() -> None:
    content = bytes(range(100))
    for config in ({"id": "lz4"}, {"id": "shuffle"}):
        codec = bind_bytes(config, 100)
        out = np.zeros(100, np.uint8).data
        assert codec.decode(codec.encode(content), out) is out
        assert bytes(out) == content

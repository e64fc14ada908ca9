"""The `conditional` codec."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.codecs.binding import bind, bind_problems, parse_problems, parse_valid, paths_of

import omnizarr
from omnizarr.codecs import Blosc, Bytes, ByteSpec, Conditional, Crc32c, Gzip, Sharding, Zstd
from omnizarr.codecs.numcodecs_ import Base64, Shuffle
from omnizarr.errors import ArgumentError, ChunkError, CodecError

DULL, NOISE = bytes(200), np.random.default_rng(5).bytes(200)
GZIP = {"name": "gzip", "configuration": {"level": 5}}
CRC32C = {"name": "crc32c"}
SHUFFLE = {"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}


def codec(*codecs: Any, size: int | None = 200, **members: Any) -> Any:
    return bind(Conditional(tuple(codecs), **members), ByteSpec(size, 200))


# -- the mask


def test_R137_the_mask_records_the_applied_codecs() -> None:
    bound = bind(parse_valid("conditional", codecs=[SHUFFLE, GZIP, CRC32C]), ByteSpec(8, 8))
    plain = bytes(range(8))
    shuffled = bytes([0, 4, 1, 5, 2, 6, 3, 7])
    assert bytes(bound.decode(b"\0" + plain)) == plain
    assert bytes(bound.decode(b"\1" + shuffled)) == plain
    assert bytes(bound.decode(b"\2" + gzip.compress(plain))) == plain
    assert bytes(bound.decode(b"\3" + gzip.compress(shuffled))) == plain
    checked = bytes(bind(Crc32c(), ByteSpec(None, 100)).encode(gzip.compress(shuffled)))
    assert bytes(bound.decode(b"\7" + checked)) == plain


@pytest.mark.parametrize(("codecs", "length"), [(0, 0), (1, 1), (8, 1), (9, 2), (17, 3)])
def test_R137_the_mask_has_a_bit_per_codec_in_whole_bytes(codecs: int, length: int) -> None:
    bound = bind(parse_valid("conditional", codecs=[CRC32C] * codecs), ByteSpec(4, 4))
    assert bytes(bound.decode(bytes(length) + b"abcd")) == b"abcd"
    assert len(codec(*[Crc32c()] * codecs, size=4, decision="never_apply").encode(b"abcd")) == length + 4


def test_R137_bit_0_is_in_the_first_byte() -> None:
    result = codec(*[Crc32c()] * 9, size=4, decision="always_apply")
    encoded = bytes(result.encode(b"abcd"))
    assert encoded[:2] == b"\xff\x01"
    assert len(encoded) == 2 + 4 + 9 * 4
    assert bytes(result.decode(encoded)) == b"abcd"
    ninth = bytes(bind(Crc32c(), ByteSpec(4, 4)).encode(b"abcd"))
    assert bytes(result.decode(b"\0\1" + ninth)) == b"abcd"


def test_R137_a_longer_mask_allows_more_codecs_later() -> None:
    codec = parse_valid("conditional", codecs=[GZIP], header_bits=24)
    assert codec.configuration()["header_bits"] == 24
    encoded = bytes(bind(codec, ByteSpec(200, 200)).encode(NOISE))
    assert encoded == bytes(3) + NOISE
    later = parse_valid("conditional", codecs=[GZIP, CRC32C], header_bits=24)
    assert bytes(bind(later, ByteSpec(200, 200)).decode(encoded)) == NOISE


@pytest.mark.parametrize("mask", [2, 0x80, 0xFF])
def test_R137_bits_beyond_the_codecs_are_errors(mask: int) -> None:
    with pytest.raises(CodecError, match="expected a mask for 1 codecs"):
        codec(Gzip()).decode(bytes([mask]) + DULL)


# -- decisions


@pytest.mark.smoke
def test_R137_incompressible_data_are_stored_unchanged() -> None:
    result = codec(Gzip())
    assert bytes(result.encode(NOISE)) == b"\0" + NOISE
    assert bytes(result.encode(DULL))[0] == 1
    for data in (DULL, NOISE):
        assert bytes(result.decode(result.encode(data))) == data


def test_R137_all_codecs_or_none() -> None:
    numbers = np.arange(50, dtype="<u4").tobytes()
    result = codec(Shuffle(4), Zstd(1))
    assert bytes(result.encode(numbers))[0] == 3
    assert bytes(result.encode(NOISE)) == b"\0" + NOISE
    assert bytes(result.decode(result.encode(numbers))) == numbers


@pytest.mark.parametrize(("decision", "mask"), [("always_apply", 1), ("never_apply", 0)])
def test_R137_invalid_decisions(decision: Any, mask: int) -> None:
    result = codec(Gzip(), decision=decision)
    for data in (DULL, NOISE):
        assert bytes(result.encode(data))[0] == mask
        assert bytes(result.decode(result.encode(data))) == data


def test_R137_the_decision_is_not_part_of_documents() -> None:
    one, other = Conditional((Gzip(),), decision="never_apply"), Conditional((Gzip(),))
    assert one == other
    assert one.to_json() == other.to_json()


@given(st.binary(max_size=60), st.sampled_from([(Gzip(),), (Shuffle(1), Zstd()), (Crc32c(),), (), (Zstd(), Crc32c())]))
def test_any_bytes_roundtrip(data: bytes, codecs: tuple[Any, ...]) -> None:
    for size in (len(data), None):
        for decision in ("compress_if_smaller", "always_apply", "never_apply"):
            bound = bind(Conditional(codecs, decision=decision), ByteSpec(size, len(data)))
            encoded = bound.encode(data)
            assert bytes(bound.decode(encoded)) == data
            assert len(encoded) <= bound.encoded.limit


# -- configurations


@pytest.mark.parametrize(
    ("configuration", "places"),
    [
        ({}, ["codecs"]),
        ({"codecs": GZIP}, ["codecs"]),
        ({"codecs": [GZIP, {"name": "bytes"}]}, ["codecs[1]"]),
        ({"codecs": [{"name": "transpose", "configuration": {"order": [0]}}]}, ["codecs[0]"]),
        ({"codecs": [{"name": "gzip", "configuration": {"level": 11}}]}, ["codecs[0].configuration.level"]),
        ({"codecs": [{"name": "shuffle", "configuration": {"element_size": 4}}]}, ["codecs[0].name"]),
        ({"codecs": [{"name": "no such", "must_understand": False}]}, ["codecs[0]"]),
        ({"codecs": [GZIP], "header_bits": 4}, ["header_bits"]),
        ({"codecs": [GZIP], "header_bits": 0}, ["header_bits"]),
        ({"codecs": [GZIP], "header_bits": -8}, ["header_bits"]),
        ({"codecs": [GZIP], "header_bits": 8.0}, ["header_bits"]),
        ({"codecs": [GZIP], "header_bits": None}, ["header_bits"]),
        ({"codecs": [GZIP] * 9, "header_bits": 8}, ["header_bits"]),
        ({"codecs": [GZIP], "header_bits": 2**40}, ["header_bits"]),
        ({"codecs": [GZIP], "mask": 1}, ["mask"]),
    ],
)
def test_R137_invalid_configurations(configuration: dict[str, Any], places: list[str]) -> None:
    assert paths_of(parse_problems("conditional", configuration)) == [f".configuration.{place}" for place in places]


def test_A42_the_codec_of_the_registrys_example_is_not_registered() -> None:
    problems = parse_problems("conditional", {"codecs": [{"name": "shuffle", "configuration": {"element_size": 4}}]})
    assert problems == [(".configuration.codecs[0].name", "unknown codec `shuffle`")]


@pytest.mark.parametrize(
    "arguments",
    [
        {"codecs": Gzip()},
        {"codecs": 3},
        {"codecs": [Bytes("little")]},
        {"codecs": [Base64()]},
        {"codecs": [Gzip()], "header_bits": 7},
        {"codecs": [Gzip()], "decision": "sometimes"},
    ],
)
def test_R137_invalid_arguments(arguments: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="codec `conditional`"):
        Conditional(**arguments)


def test_codecs_may_be_given_by_name() -> None:
    assert Conditional(["gzip", {"name": "crc32c"}]) == Conditional((Gzip(), Crc32c()))  # type: ignore[arg-type]


def test_problems_of_a_nested_codec_have_its_path() -> None:
    problems = bind_problems(Conditional((Shuffle(4), Shuffle(3))), ByteSpec(200, 200))
    assert paths_of(problems) == [".configuration.codecs[1].configuration.elementsize"]


def test_it_may_be_nested() -> None:
    nested = parse_valid("conditional", codecs=[{"name": "conditional", "configuration": {"codecs": [GZIP]}}])
    assert bytes(bind(nested, ByteSpec(200, 200)).decode(b"\1\0" + DULL)) == DULL


def test_resolved_options_of_nested_codecs_are_recorded() -> None:
    store = omnizarr.MemoryStore()
    array = omnizarr.create_array(store, shape=(4,), dtype="i4", compressors=[Conditional((Blosc(),))])
    recorded = array.metadata.codecs[-1].configuration()["codecs"][0]["configuration"]
    assert recorded["typesize"] == 4
    assert recorded["shuffle"] == "shuffle"


# -- damaged data


@pytest.mark.parametrize("data", [b"", b"\1", b"\0", b"\0" + DULL[:-1], b"\0" + DULL + b"\0", b"\1" + NOISE])
def test_data_that_are_too_short_too_long_or_damaged(data: bytes) -> None:
    with pytest.raises(CodecError):
        codec(Gzip()).decode(data)


def test_nested_codecs_respect_the_limit() -> None:
    bomb = b"\1" + gzip.compress(bytes(10**7))
    with pytest.raises(CodecError):
        codec(Gzip()).decode(bomb)
    with pytest.raises(CodecError):
        codec(Gzip(), size=None).decode(bomb)
    twice = b"\3" + gzip.compress(gzip.compress(bytes(10**7)))
    with pytest.raises(CodecError):
        codec(Gzip(), Gzip()).decode(twice)


# -- in arrays


@pytest.mark.parametrize("size", [10, 4000])
def test_chunks_of_an_array(size: int) -> None:
    store = omnizarr.MemoryStore()
    data = np.concatenate([np.zeros(size, "u1"), np.frombuffer(np.random.default_rng(6).bytes(size), "u1")])
    omnizarr.create_array(store, data=data, fill_value=9, chunks=(size,), compressors=[Conditional((Gzip(9),))])
    assert len(store.get("c/1") or b"") == size + 1
    assert len(store.get("c/0") or b"") < 100 or size < 100
    array = omnizarr.open_array(store)
    assert array[...].tobytes() == data.tobytes()
    assert array[5 : size + 3].tobytes() == data[5 : size + 3].tobytes()


def test_shards_of_such_chunks() -> None:
    store = omnizarr.MemoryStore()
    data = np.arange(64, dtype="u2").reshape(8, 8)
    serializer = Sharding((2, 4), ["bytes", Conditional((Zstd(),)), Crc32c()])
    omnizarr.create_array(store, data=data, chunks=(4, 8), serializer=serializer)
    assert omnizarr.open_array(store)[3:, 2].tolist() == data[3:, 2].tolist()


def test_errors_name_the_array_and_the_chunk() -> None:
    store = omnizarr.MemoryStore()
    array = omnizarr.create_array(store, data=np.ones(9, "u1"), compressors=[Conditional((Gzip(),))])
    store.set("c/0", b"\x08" + bytes(9))
    with pytest.raises(ChunkError, match=r"chunk \(0,\) of array `/` .*codec `conditional`: expected a mask for 1"):
        array[...]


def test_it_follows_a_codec_with_bytes_as_output() -> None:
    with pytest.raises(ArgumentError):
        omnizarr.create_array(omnizarr.MemoryStore(), shape=(2,), dtype="u1", filters=[Conditional((Gzip(),))])
